"""Any machine can read a fleet's attempts, rows, metrics and logs, even if a worker was killed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.fleet_workers import Fleet, until
from web import preset, serve


def samples(page: str) -> dict[str, float]:
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if not line.startswith("#")
    }


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def elsewhere(fleet: Fleet, *words: str, code: int = 0) -> str:
    """Runs a command with a data folder that does not contain the crawl, as on another machine."""
    return fleet.run(*words, "--data", str(fleet.folder / "elsewhere"), code=code)


def assert_rates_and_levels(fleet: Fleet) -> None:
    """Checks that the status of crawl c shows the rate of the region and the concurrency of both workers."""
    status = json.loads(elsewhere(fleet, "status", "c", "--json"))
    (shown,) = status["now"]["lanes"]
    assert (shown["lanes"], shown["region"]) == ("http", "eu")
    assert shown["pages_per_second"]["1m"] > 0
    assert {name.partition("@")[0] for name in status["workers"]} == {"w", "v"}
    assert {one["concurrency"] for one in status["workers"].values()} == {4}
    assert {one["limit"] for one in status["workers"].values()} <= {"hosts", "latency", "fixed", "processor"}


def test_a_killed_worker_takes_no_settled_attempt_with_it(fleet: Fleet, tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=12, pages=20, latency=0.3)) as web:
        # four slow requests at a time are fewer than the hosts allow, so both workers have work
        few = ("-s", "concurrency=4", "--log-format", "json")
        first = fleet.worker("w", "--data", "one", *few)
        second = fleet.worker("v", "--data", "two", "--region", "eu", *few)
        fleet.ready(2)
        fleet.submit(*web.plan.seeds(), name="c", output="out/", delay="0.1")
        until(
            "both have settled attempts",
            lambda: len({one["worker"] for one in lines(elsewhere(fleet, "attempts", "c", "--json"))}) == 2,
        )
        until("the rate of the region is shown", lambda: " eu " in elsewhere(fleet, "status", "c"))
        assert_rates_and_levels(fleet)
        first.kill()
        gone = until("the worker is missed", lambda: "worker_gone" in second.said(), 60)
        summary = fleet.ended("c")
    assert gone
    rows = fleet.rows()
    assert summary["pages"] == len(rows) == 240

    attempts = lines(elsewhere(fleet, "attempts", "c", "--json", "--limit", "0"))
    done = Counter(
        one["url"] for one in attempts if one["outcome"] == "done" and "robots.txt" not in one["url"]
    )
    assert {row["url"] for row in rows} == done.keys()
    assert {one["worker"].partition("@")[0] for one in attempts} == {"w", "v"}
    table = elsewhere(fleet, "attempts", "c", "--by", "worker,hour")
    assert re.search(r"w@\S+ \d\d ", table)
    (groups,) = lines(elsewhere(fleet, "attempts", "c", "--by", "worker,region", "--json"))
    of_regions = [one["group"].split(" ") for one in groups]
    assert {(worker.partition("@")[0], region) for worker, region in of_regions} == {
        ("w", "none"),
        ("v", "eu"),
    }

    pages = lines(elsewhere(fleet, "export", "c", str(tmp_path / "all.jsonl"), "--what", "pages", "--json"))
    assert pages[0]["rows"] == 240
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 240

    found = samples(elsewhere(fleet, "metrics", "--once"))
    counted = sum(n for name, n in found.items() if name.startswith("gossamer_pages_total"))
    requests = sum(n for name, n in found.items() if name.startswith("gossamer_requests_total"))
    robots = sum(n for name, n in found.items() if name.startswith("gossamer_robots_fetches_total"))
    assert counted == 240
    assert requests - robots == 240
    assert sum(done.values()) >= 240
    assert found['gossamer_pages_total{lane="http",region="eu"}'] > 0
    assert found[f'gossamer_worker_up{{worker="v@{os.uname().nodename}",region="eu"}}'] == 1

    def told() -> list[dict[str, Any]]:
        # the first worker may have ended the crawl before it died
        return lines(second.said()) + lines(first.said())

    until(  # a process polls the store every 2 s
        "the end is logged",
        lambda: any(one["event"] == "crawl_state" and one["state"] == "finished" for one in told()),
    )
    assert {"message", "worker_gone"} <= {one["event"] for one in lines(second.said())}
    assert all(one["ts"] and one["level"] for one in told())


def test_an_empty_answer_says_why(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=1, pages=3)) as web:
        seeds = web.plan.seeds()
        fleet.submit(*seeds, name="idle", output="out/")
        status = fleet.json("status", "idle")
        assert status["now"]["idle"]["reason"] == "no-worker"
        fleet.worker()
        fleet.ended("idle")
    assert "no crawl" in elsewhere(fleet, "attempts", "nope", code=2)
    assert elsewhere(fleet, "items", "idle", "--json") == ""
    assert elsewhere(fleet, "attempts", "idle", "--status", "599", "--json") == ""


def test_attempts_go_to_their_own_output_where_there_is_one(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=1, pages=5)) as web:
        fleet.worker()
        fleet.ready(1)
        fleet.submit(*web.plan.seeds(), name="c", output="out/", attempts="log/")
        fleet.ended("c")
    assert len(list((fleet.folder / "log").glob("*.jsonl"))) == 1
    found = lines(elsewhere(fleet, "attempts", "c", "--json"))
    assert len([one for one in found if "robots.txt" not in one["url"]]) == 5


@pytest.mark.parametrize("form", ["out/:csv", "out.parquet"])
def test_rows_of_part_folders_are_read_anywhere(fleet: Fleet, form: str) -> None:
    with serve(preset("tiny", hosts=2, pages=6)) as web:
        fleet.worker()
        fleet.ready(1)
        fleet.submit(*web.plan.seeds(), name="c", output=form)
        fleet.ended("c")
    said = json.loads(
        elsewhere(fleet, "export", "c", str(fleet.folder / "all.jsonl"), "--what", "pages", "--json")
    )
    assert said["rows"] == 12


def test_dead_letters_of_all_crawls_are_listed(fleet: Fleet) -> None:
    fleet.worker()
    fleet.ready(1)
    for name in ("a", "b"):
        fleet.submit("http://127.0.0.1:1/", name=name, output="out/")
    for name in ("a", "b"):
        fleet.ended(name)
    found = lines(elsewhere(fleet, "dead", "list", "--all", "--json"))
    assert [one["crawl"] for one in found] == ["a", "b"]
    assert "--all lists all crawls" in elsewhere(fleet, "dead", "list", "a", "--all", code=2)
