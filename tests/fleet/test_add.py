"""Tests of `gossamer add` with crawls of a fleet that are finished, running, stopped or cancelled, and of
`add` killed while it adds URLs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support import fork_server
from support.fleet_workers import Fleet, until
from support.shelf import Shelf, serving_shelf


@pytest.fixture
def web() -> Iterator[str]:
    with serving_shelf() as url:
        yield url


def balanced(one: dict[str, Any]) -> dict[str, Any]:
    parts = ("pages", "redirected", "failed", "dead", "pending")
    assert one["found"] == sum(one[part] for part in parts) + sum(one["skipped"].values())
    return one


def adding(fleet: Fleet, name: str) -> subprocess.Popen[str]:
    """Starts an `add` that reads from standard input, which stays open."""
    words = [sys.executable, "-m", "gossamer", "add", name, "-"]
    pipe = subprocess.PIPE
    return fork_server.Popen(
        words, env=fleet.env(), cwd=fleet.folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_the_fleet_resumes_a_finished_crawl(fleet: Fleet, web: str) -> None:
    fleet.worker("w1")
    fleet.worker("w2")
    name = fleet.submit(f"{web}/", output="out/", delay="0.01", name="c")
    assert fleet.ended(name)["pages"] == 3
    added = fleet.json("add", name, f"{web}/r/7", f"{web}/p/1", "--id", "42")
    assert (added["added"], added["duplicates"], added["state"], added["running"]) == (1, 1, "running", True)
    until("the page", lambda: "/p/7" in Shelf.asked)
    summary = balanced(fleet.ended(name))
    assert (summary["state"], summary["pages"], summary["redirected"]) == ("finished", 4, 1)
    rows = [row for row in fleet.rows() if row.get("id") == "42"]
    assert [row["url"] for row in rows] == [f"{web}/p/7"]
    assert len(fleet.rows()) == 4
    lines = map(json.loads, fleet.run("attempts", name, "--json").splitlines())
    assert sorted(one["outcome"] for one in lines if one.get("id") == "42") == ["done", "redirected"]


def test_workers_that_start_later_take_it_up(fleet: Fleet, web: str) -> None:
    worker = fleet.worker()
    name = fleet.submit(f"{web}/", output="out/", delay="0.01", name="c")
    fleet.ended(name)
    worker.kill()
    assert "the fleet fetches it" in fleet.run("add", name, f"{web}/p/7")
    assert balanced(fleet.json("status", name))["pending"] == 1
    fleet.worker("other")
    assert fleet.ended(name)["pages"] == 4


def test_an_urgent_url_is_next_on_its_host(fleet: Fleet, web: str) -> None:
    Shelf.links = 300
    fleet.worker()
    name = fleet.submit(f"{web}/", output="out/", delay="0.2", name="c")
    until("pages", lambda: len(Shelf.asked) > 4)
    fleet.run("add", name, f"{web}/p/urgent", "--priority", "9")
    before = len(Shelf.asked)
    until("the urgent page", lambda: "/p/urgent" in Shelf.asked)
    assert Shelf.asked.index("/p/urgent") <= before + 1  # a worker may hold one claim already


def test_a_stopped_crawl_stays_stopped_and_names_its_command(fleet: Fleet, web: str) -> None:
    Shelf.links = 300
    fleet.worker()
    name = fleet.submit(f"{web}/", output="out/", delay="0.2", name="c")
    until("pages", lambda: len(Shelf.asked) > 4)
    fleet.run("stop", name)
    fleet.ended(name)
    assert f"the crawl is stopped: continue with gossamer submit {web}/" in fleet.run(
        "add", name, f"{web}/p/x"
    )


def test_an_add_that_is_killed_and_repeated_adds_each_url_once(fleet: Fleet, web: str) -> None:
    fleet.worker()
    name = fleet.submit(f"{web}/", output="out/", delay="0.5", name="c")
    fleet.ended(name)
    total = 30_000
    text = "".join(f"{web}/q/{n}\n" for n in range(total))
    process = adding(fleet, name)
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()
    until("URLs", lambda: fleet.status(name)["pending"] > 5000)
    process.kill()
    process.communicate()
    (fleet.folder / "list.txt").write_text(text)
    again = fleet.json("add", name, "list.txt")
    assert again["added"] + again["duplicates"] == total
    status = balanced(fleet.json("status", name))
    assert status["pages"] + status["pending"] == 3 + total
    asked = [path for path in Shelf.asked if path.startswith("/q/")]
    assert len(asked) == len(set(asked))


def test_a_crawl_that_is_cancelled_ends_the_add(fleet: Fleet, web: str) -> None:
    fleet.worker()
    name = fleet.submit(f"{web}/", output="out/", delay="0.5", name="c")
    fleet.ended(name)
    process = adding(fleet, name)
    assert process.stdin is not None
    process.stdin.write("".join(f"{web}/q/{n}\n" for n in range(100)))
    process.stdin.flush()
    until("URLs", lambda: fleet.status(name)["pending"] > 50)
    fleet.run("cancel", name)
    process.wait(30)
    assert process.stderr is not None
    assert "was ended while URLs were added: 100 URLs added" in process.stderr.read()
    assert process.returncode == 11
    process.communicate()
    summary = balanced(fleet.json("status", name))
    assert (summary["state"], summary["pending"]) == ("cancelled", 0)
