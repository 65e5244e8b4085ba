"""Runs that schedulers launch onto a fleet: first by the leader, and after its death by the standby."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import fork_server
from support.fleet_workers import Fleet, Server, until
from support.moving_clock import moved_store
from web import Web, preset, serve


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=4, pages=30, robots=("allow",))) as web:
        yield web


class Scheduler:
    """One `gossamer scheduler` process."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self.log = fleet.folder / f"scheduler{number}"
        words = [sys.executable, "-m", "gossamer", "scheduler", "--json"]
        with self.log.open("wb") as log:
            self.process = fork_server.Popen(words, env=fleet.env(), cwd=fleet.folder, stdout=log, stderr=log)

    def said(self, event: str) -> list[dict[str, Any]]:
        """Returns the logged events of one kind."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        self.process.kill()
        self.process.wait()


def test_a_due_run_goes_onto_the_fleet_whoever_leads(tmp_path: Path, web: Web) -> None:
    with (
        moved_store() as moved,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, moved.url, [broker.url(0)]) as fleet,
    ):
        moved.set("2026-11-21T03:58:30Z")
        fleet.worker(processes=2)
        fleet.ready(1)
        words = ["--allow-private", "127.0.0.0/8", "--delay", "0.05", "-o", "{run}/"]
        fleet.run("schedule", "add", "nightly", "0,1 4 * * *", *web.plan.seeds(), *words)
        schedulers = []
        try:
            schedulers.append(Scheduler(fleet, 0))
            until("one leads", lambda: schedulers[0].said("leads"))
            schedulers.append(Scheduler(fleet, 1))
            until("one stands by", lambda: schedulers[1].said("stands by"))
            moved.set("2026-11-21T04:00:01Z")
            until("the run is under way", lambda: fleet.rows("20261121T0400"))
            schedulers[0].kill()
            until("the other one leads", lambda: schedulers[1].said("ended"))
            moved.set("2026-11-21T04:01:01Z")
            until("the next run ends", lambda: len(schedulers[1].said("ended")) == 2)
        finally:
            for one in schedulers:
                one.kill()
        for one, run in zip(("taken up", "begun"), ("20261121T0400", "20261121T0401"), strict=True):
            assert [event["crawl"] for event in schedulers[1].said(one)] == [f"nightly-{run}"]
            rows = [row["url"] for row in fleet.rows(run)]
            assert len(rows) == len(set(rows)) == fleet.json("status", f"nightly-{run}")["pages"] == 120
        (row,) = fleet.json("schedule", "list")
        assert (row["runs"], row["failed"], row["outcome"]) == (2, 0, "finished")


def test_runs_of_a_refresh_share_a_crawl_and_store_only_changes(tmp_path: Path, web: Web) -> None:
    with (
        moved_store() as moved,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, moved.url, [broker.url(0)]) as fleet,
    ):
        moved.set("2026-11-21T03:58:30Z")
        fleet.worker(processes=2)
        fleet.ready(1)
        known = ("--refresh", "--known", str(tmp_path / "known"))
        words = [*known, "--allow-private", "127.0.0.0/8", "--delay", "0.05", "-o", "{run}/"]
        fleet.run("schedule", "add", "nightly", "0,1 4 * * *", *web.plan.seeds(), *words)
        scheduler = Scheduler(fleet, 0)
        try:
            until("it leads", lambda: scheduler.said("leads"))
            for number, minute in enumerate(("00", "01"), 1):
                moved.set(f"2026-11-21T04:{minute}:01Z")
                until("the run ends", lambda number=number: len(scheduler.said("ended")) == number)
        finally:
            scheduler.kill()
        assert [event["crawl"] for event in scheduler.said("ended")] == ["nightly", "nightly"]
        assert [event["state"] for event in scheduler.said("ended")] == ["finished", "finished"]
        assert len({row["url"] for row in fleet.rows("20261121T0400")}) == 120
        assert fleet.rows("20261121T0401") == []
        assert fleet.json("status", "nightly")["unchanged"] == 120
