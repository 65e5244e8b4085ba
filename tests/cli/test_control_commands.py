"""Tests of the control commands on a store that contains a running, a stopped and a finished crawl."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer import url as urls
from gossamer.cli.commands import run
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import Request, pack
from gossamer.model.visit import Settle
from gossamer.politeness.scores import WorkerScore
from gossamer.state.scores import Scores
from gossamer.store import keys
from gossamer.store.keys import bucket_of
from gossamer.store.store import BUCKETS_SERVER, Store, connect

A, B = "a.example", "b.test:8080"
QUICK = Policy(delay=0, obey_robots=False, per_host=100)


class Desk:
    """Runs commands on one store, and returns their output."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self.capsys = url, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = run([*words, "--store", self.url])
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *words: str) -> Any:
        code, out, _ = self(*words, "--json")
        assert code == 0
        return json.loads(out)

    def do(self, act: Callable[[Store], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            store = connect(self.url)
            await store.open(BUCKETS_SERVER, urls.psl_hash())
            try:
                return await act(store)
            finally:
                await store.close()

        return asyncio.run(inside())


@pytest.fixture
def desk(
    valkey_url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    return Desk(valkey_url, capsys)


async def fill(
    store: Store, name: str, state: str = "running", pages: int = 6, pid: int | None = None
) -> None:
    """Create a crawl with pages on two hosts. The pages of host A are done, dead or waiting for a retry;
    those of host B wait for their first visit."""
    crawls = Crawls(store)
    await crawls.begin(name, Spec([f"https://{A}/"]), [])
    if pid is not None:
        await store.client.hset(
            keys.record(name), "door", json.dumps({"pid": pid, "host": os.uname().nodename})
        )  # type: ignore[misc] # redis's types join both kinds
    frontier = Frontier(store, name, QUICK)
    adds: Any = {}
    for n in range(pages):
        for host in (A, B):
            request = Request(f"https://{host}/{n}")
            mark = urls.fingerprint(urls.canonical(request.url) or "", store.seed)
            adds.setdefault((bucket_of(host, store.buckets), host, 0, "http", "o", ""), []).extend(
                (*frontier.remainder(mark), pack(request)[1])
            )
    await frontier.add(adds)
    buckets = dict.fromkeys(bucket_of(host, store.buckets) for host in (A, B))
    claims = [claim for bucket in buckets for claim in (await frontier.claim(bucket, 100)).claims]
    for claim in claims:
        n = int(claim.request.url[-1])
        action = "b" if claim.host == B or n > 3 else "dxrk"[n]
        counts = {"d": {"pages": 1, "succeeded": 1, "bytes": 5}, "k": {"skip:robots": 1}}.get(action, {})
        await frontier.settle(
            claim.bucket,
            [Settle(claim.token, action, reason="dns", detail="no such name", wait=3_600_000)],
            counts,
            {},
        )
    if state != "running":
        await crawls.set(name, state)


def test_status_lists_crawls_and_adds_up(desk: Desk) -> None:
    assert desk("status")[0] == 0
    desk.do(lambda store: fill(store, "one"))
    desk.do(lambda store: fill(store, "two", "stopped"))
    code, out, _ = desk("status")
    assert code == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["crawl", "state"], ["one", "running"], ["two", "stopped"]]
    for row in rows[1:]:
        found, pages, redirected, failed, dead, pending, skipped = map(int, row[2:9])
        assert found == pages + redirected + failed + dead + pending + skipped == 12
    found = desk.json("status", "one")
    assert found["found"] == found["pages"] + found["redirected"] + found["failed"] + found["dead"] + found[
        "pending"
    ] + sum(found["skipped"].values())
    assert {host["host"] for host in found["slowest_hosts"]} == {A, B}
    assert "12 URLs on 2 hosts" in desk("status", "one")[1]


def test_status_shows_how_many_pages_each_process_gets_at_once(desk: Desk) -> None:
    async def work(store: Store) -> None:
        await fill(store, "one")
        scores = Scores(store, "one")
        now = await scores.now()
        for name, age in (("w@a.1", 0.0), ("w@dead.3", 60.0)):
            record = WorkerScore(name, at=now - age, concurrency=81, limit="latency")
            await scores.tell(name, msgspec.json.encode(record))

    desk.do(work)
    found = desk.json("status", "one")["workers"]
    assert {name: (one["concurrency"], one["limit"]) for name, one in found.items()} == {
        "w@a.1": (81, "latency"),
    }
    shown = desk("status", "one")[1]
    assert re.search(r"w@a\.1 +81 +latency: visits wait for responses", shown)
    assert "w@dead" not in shown


def test_a_crawl_whose_process_died_is_not_shown_as_running(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", pid=2**22 - 1))
    assert desk.json("status")[0]["state"] == "stopped"
    assert "process died" in desk("status", "one")[1]


@pytest.mark.parametrize("verb", ["status", "pause", "resume", "stop", "cancel", "priority", "dead"])
def test_an_unknown_crawl_is_named_beside_those_there_are(desk: Desk, verb: str) -> None:
    desk.do(lambda store: fill(store, "one"))
    words = {"priority": ["priority", "nine", "1"], "dead": ["dead", "list", "nine"]}.get(
        verb, [verb, "nine"]
    )
    code, out, err = desk(*words)
    assert (code, out) == (2, "")
    assert err == "gossamer: no crawl is named 'nine'; there are: one\n"


def state(desk: Desk, name: str = "one") -> str:
    return str(desk.json("status", name)["state"])


def test_pause_and_resume(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", pid=os.getpid()))
    code, _, err = desk("pause", "one")
    assert (code, state(desk)) == (0, "paused")
    assert "gossamer resume one" in err
    assert "paused already" in desk("pause", "one")[2]
    assert "goes on" in desk("resume", "one")[2]
    assert state(desk) == "running"
    assert "running already" in desk("resume", "one")[2]


@pytest.mark.parametrize("ended", ["stopped", "finished", "limited", "cancelled"])
def test_each_verb_on_a_crawl_that_has_ended(desk: Desk, ended: str) -> None:
    desk.do(lambda store: fill(store, "one", ended))
    assert f"nothing to pause, it is {ended}" in desk("pause", "one")[2]
    assert f"nothing to stop, it is {ended}" in desk("stop", "one")[2]
    code, _, err = desk("finish", "one")
    assert code == 0
    assert f"it is {ended}" in err
    assert ("--retries none" in err) is (ended in ("stopped", "limited"))
    code, _, err = desk("resume", "one")
    assert code == 0
    assert f"gossamer crawl https://{A}/ --name one" in err
    assert ("--fresh" in err) is (ended in ("finished", "cancelled"))
    code, _, err = desk("cancel", "one")
    assert code == 0
    summary = desk.json("status", "one")
    if ended in ("stopped", "limited"):
        assert "9 pending URLs are dropped" in err
        assert (summary["state"], summary["pending"], summary["failed"], summary["pages"]) == (
            "cancelled",
            0,
            9,
            1,
        )
    else:
        assert (summary["state"], summary["failed"]) == (ended, 0)


def test_finish_ends_the_waits_of_a_running_crawl(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", pid=os.getpid()))
    assert "retries nothing more" in desk("finish", "one")[2]
    assert desk.do(lambda store: Crawls(store).look("one"))[0] == "finishing"
    assert state(desk) == "running"


def test_stop_and_cancel_of_a_crawl_whose_process_died(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", pid=2**22 - 1))
    assert "its process had died" in desk("stop", "one")[2]
    assert desk.do(lambda store: Crawls(store).state("one"))[0] == "stopped"
    desk.do(lambda store: fill(store, "two", pid=2**22 - 1))
    assert "dropped" in desk("cancel", "two")[2]
    assert state(desk, "two") == "cancelled"


@pytest.mark.parametrize(
    ("verb", "asked", "ends"), [("stop", "stopping", "stopped"), ("cancel", "cancelling", "cancelled")]
)
def test_stop_and_cancel_wait_for_the_process_that_runs_it(
    desk: Desk, verb: str, asked: str, ends: str
) -> None:
    desk.do(lambda store: fill(store, "one", pid=os.getpid()))

    async def obey(store: Store) -> None:
        crawls = Crawls(store)
        for _ in range(1000):
            if (await crawls.state("one"))[0] == asked:
                break
            await asyncio.sleep(0.01)
        await crawls.set("one", ends)

    import threading

    worker = threading.Thread(target=lambda: desk.do(obey))
    worker.start()
    code, _, err = desk(verb, "one")
    worker.join()
    assert code == 0
    assert f"one: {ends}" in err
    assert state(desk) == ends


def test_dead_letters(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    code, out, _ = desk("dead", "list")
    assert code == 0
    assert "dns" in out
    assert f"https://{A}/1" in out
    assert json.loads(desk("dead", "list", "one", "--json")[1])["detail"] == "no such name"
    assert "no such name" in desk("dead", "show", f"https://{A}/1")[1]
    assert desk("dead", "show", "77")[0] == 2
    assert desk("dead", "list", "--reason", "timeout")[2] == "gossamer: no dead letters\n"
    code, _, err = desk("dead", "list", "--reason", "timout")
    assert code == 2
    assert "did you mean timeout?" in err
    assert desk("dead", "list", "--since", "x")[0] == 2
    assert desk.json("dead", "requeue", "--dry-run") == {"crawl": "one", "letters": 1, "dry_run": True}
    assert "1 dead letters queued again" in desk("dead", "requeue", "--since", "1h", "--host", A)[1]
    assert desk.json("status", "one")["pending"] == 10
    desk.do(lambda store: fill(store, "two"))
    assert "several crawls exist: one, two; name one" in desk("dead", "drop")[2]
    assert desk.json("dead", "drop", "two")["letters"] == 1
    assert desk.json("status", "two")["failed"] == 1


def test_requeued_letters_of_a_finished_crawl_can_be_fetched(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", "finished"))
    assert "run the crawl's command" in desk("dead", "requeue")[1]
    assert state(desk) == "stopped"


def test_hosts(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert "queued 6 at priority 0" in desk("host", "show", B)[1]
    assert desk.json("host", "show", f"https://{B}/x")["host"] == B
    assert "paused for 2h" in desk("host", "pause", B, "--for", "2h")[1]
    assert 7100 < desk.json("host", "show", B)["paused"] <= 7200
    assert desk("host", "resume", B)[0] == 0
    assert desk.json("host", "show", B)["paused"] == 0
    assert desk("host", "rate", B, "2.5", "--per-host", "3")[0] == 0
    found = desk.json("host", "show", B)
    assert (found["fixed_delay"], found["at_once"]) == (2.5, 3)
    assert desk("host", "rate", B, "auto", "--per-host", "0")[0] == 0
    found = desk.json("host", "show", B)
    assert (found["fixed_delay"], found["at_once"]) == (None, None)
    assert desk("host", "show", "nobody.example") == (
        2,
        "",
        "gossamer: no crawl knows the host nobody.example\n",
    )
    assert desk("host", "rate", B, "slow")[0] == 2
    assert desk("host", "show", "a b")[0] == 2


def test_priorities(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert "8 URLs have priority 4" in desk("priority", "one", "4")[1]
    assert desk.json("priority", "one", "-2", "--match", "/[01]$", "--host", B, "--dry-run")["urls"] == 2
    assert desk.json("priority", "one", "9", "--match", "/0$")["urls"] == 1
    assert desk.json("host", "show", B)["crawls"][0]["levels"] == {"9": 1, "4": 5}
    assert desk("priority", "one", "1", "--match", "(")[0] == 2
    assert desk("priority", "one", "high")[0] == 2


def test_a_store_that_does_not_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["status", "--store", f"unix://{tmp_path}/nobody.sock"])
    assert code == 8
    assert "does not answer" in capsys.readouterr().err


def test_a_folder_without_crawls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["status", "--data", str(tmp_path / "none")])
    assert code == 2
    assert "there is no crawl in" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_status_tells_what_the_seen_set_may_have_lost(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert desk.json("status", "one")["expected_lost"] == 0
    assert "seen-set" not in desk("status", "one")[1]
    desk.do(lambda store: store.client.hset("{b:000}one:g", "lost", 3 * 10**12))
    assert desk.json("status", "one")["expected_lost"] == 3
    assert "about 3 new URLs" in desk("status", "one")[1]
