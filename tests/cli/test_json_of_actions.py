"""Tests of `--json` for commands that change something: they print one object to stdout and nothing to
stderr."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.test_control_commands import A, B, Desk, desk, fill, state
from gossamer.state.workers import WORKERS, WorkerRecord, WorkerRecords
from gossamer.store.store import Store

__all__ = ["desk"]


def act(desk: Desk, *words: str) -> Any:
    code, out, err = desk(*words, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    assert found.pop("said")
    return found


def test_steering_a_crawl(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", pid=os.getpid()))
    assert act(desk, "pause", "one") == {"crawl": "one", "state": "paused"}
    assert act(desk, "resume", "one") == {"crawl": "one", "state": "running"}
    assert act(desk, "weight", "one", "3") == {"crawl": "one", "weight": 3}
    desk.do(lambda store: fill(store, "two", "stopped"))
    assert act(desk, "stop", "two")["state"] == "stopped"
    assert act(desk, "cancel", "two")["state"] == state(desk, "two") == "cancelled"


def test_steering_a_host(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert act(desk, "host", "pause", B, "--for", "2h") == {"host": B, "paused": True, "seconds": 7200}
    assert act(desk, "host", "pause", B) == {"host": B, "paused": True, "seconds": None}
    assert act(desk, "host", "resume", B) == {"host": B, "paused": False}
    assert act(desk, "host", "rate", B, "2", "--per-host", "3") == {"host": B, "delay": 2, "per_host": 3}
    assert act(desk, "host", "rate", B, "30/m")["delay"] == 2
    assert act(desk, "host", "rate", B, "auto") == {"host": B, "delay": None, "per_host": None}
    assert act(desk, "host", "rung", B, "browser") == {"host": B, "rung": "browser"}
    assert act(desk, "host", "rung", B, "auto") == {"host": B, "rung": None}


def test_steering_the_hosts_of_a_site(desk: Desk, tmp_path: Path) -> None:
    desk.do(lambda store: fill(store, "one"))
    site = tmp_path / "shop.py"
    site.write_text(f"from gossamer import Site\nsite = Site('shop', hosts=['{A}', '{B}'])\n")
    act(desk, "host", "rate", str(site), "2")
    assert [desk.json("host", "show", host)["fixed_delay"] for host in (A, B)] == [2, 2]
    waiting = sum(desk.json("priority", "one", "7", "--host", host)["urls"] for host in (A, B))
    assert desk.json("priority", "one", "8", "--host", str(site))["urls"] == waiting > 0
    site.write_text("from gossamer import Site\nsite = Site('shop')\n")
    code, _, err = desk("host", "rate", str(site), "2")
    assert (code, "names no host" in err) == (2, True), err
    code, _, err = desk("host", "rate", str(tmp_path / "missing.py"), "2")
    assert (code, "there is no site file" in err) == (2, True), err
    assert act(desk, "host", "rate", "https://shop.py", "2")["host"] == "shop.py"


def test_schedules(desk: Desk) -> None:
    added = act(
        desk, "schedule", "add", "nightly", "30 4 * * *", "https://a.example/", "--tz", "Europe/Berlin"
    )
    assert (added["schedule"], added["did"], added["scheduler"]) == ("nightly", "added", None)
    assert added["next"] == desk.json("schedule", "list")[0]["next"]
    assert act(desk, "schedule", "pause", "nightly") == {"schedule": "nightly", "did": "paused"}
    assert act(desk, "schedule", "resume", "nightly") == {"schedule": "nightly", "did": "resumed"}
    assert act(desk, "schedule", "remove", "nightly") == {"schedule": "nightly", "did": "removed"}


def test_workers_are_told(desk: Desk) -> None:
    worker = WorkerRecord(name="w@here", host="here", pid=1, lanes=["http"], processes=1, version="1")
    desk.do(lambda store: WorkerRecords(store).beat(worker))
    assert act(desk, "workers", "drain", "w") == {"order": "drain", "workers": ["w@here"]}
    assert act(desk, "workers", "stop", "all") == {"order": "stop", "workers": ["w@here"]}


@pytest.mark.parametrize("option", ["--tz", "--missed", "--jitter", "--spread", "--overlap"])
def test_an_empty_option_of_a_schedule_is_no_default(desk: Desk, option: str) -> None:
    assert desk("schedule", "add", "nightly", "30 4 * * *", "https://a.example/", option, "")[0] == 2
    assert desk.json("schedule", "list") == []


def test_of_a_worker_of_another_version_no_times_are_made_up(desk: Desk) -> None:
    async def comes(store: Store) -> None:
        worker: Any = store.client.hset(WORKERS, "new@host", '{"format":9}')
        await worker

    desk.do(comes)
    row = desk("workers", "list")[1].splitlines()[1].split()
    assert (row[:2], row[-4:]) == (["new@host", "unread"], ["-", "-", "0", "unknown"])


def test_a_run_by_hand_that_cannot_begin_is_over_at_once(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("https://a.example/\n")
    assert desk("schedule", "add", "s", "30 4 * * *", "urls.txt")[0] == 0
    assert desk.json("schedule", "run", "s", "--quiet")["pending"] == 1
    assert desk("schedule", "add", "t", "30 4 * * *", "urls.txt")[0] == 0
    (tmp_path / "urls.txt").unlink()
    assert desk("schedule", "run", "t")[0] == 2
    row = next(one for one in desk.json("schedule", "list") if one["schedule"] == "t")
    assert (row["open"], row["outcome"], row["failed"]) == ([], "failed", 1)
    assert "urls.txt: no such file" in row["reason"]
