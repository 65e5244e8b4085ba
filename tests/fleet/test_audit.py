"""Tests of `gossamer audit --crawl` on the pages that the workers of a fleet stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.fleet_workers import Fleet
from web import preset, serve

COMMON = ("--allow-private", "127.0.0.0/8", "--quiet", "--delay", "0.01")


def audited(fleet: Fleet, url: str, crawl: str, *words: str) -> dict[str, Any]:
    away = ("--data", str(fleet.folder / "elsewhere"), "-q", "--json", "-o", "report.html")
    done: dict[str, Any] = json.loads(fleet.run("audit", url, "--crawl", crawl, *away, *words))
    return done


@pytest.mark.parametrize("output", ["raw/:warc", "objects:raw"])
def test_pages_that_a_fleet_stored_are_audited(fleet: Fleet, output: str) -> None:
    with serve(preset("tiny", hosts=2, pages=8)) as web:
        fleet.worker("w")
        fleet.worker("v")
        fleet.ready(2)
        seeds = web.plan.seeds()
        fleet.run("submit", *seeds, *COMMON, "--name", "c", "-o", "out/", "-o", output)
        fleet.ended("c")
    host = seeds[0].split("/")[2]
    pages = {row["url"] for row in fleet.rows() if row.get("status") == 200 and f"//{host}/" in row["url"]}
    # the web servers have stopped, so the audit can only use the stored pages
    done = audited(fleet, seeds[0], "c")
    assert done["state"] == "finished"
    assert done["pages"] == len(pages)
    assert (fleet.folder / "report.html").stat().st_size > 1000
    states = {one["id"]: one["state"] for one in done["checks"]}
    assert {states[name] for name in ("external-broken", "image-broken", "llms-txt")} == {"skipped"}
    again = audited(fleet, seeds[0], "c")
    assert (again["audit"], again["new"], again["fixed"]) == (2, 0, 0)


def test_pages_that_were_not_stored_are_no_findings(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=1, pages=12)) as web:
        fleet.worker("w")
        fleet.ready(1)
        seed = web.plan.seeds()[0]
        fleet.run("submit", seed, *COMMON, "--name", "c", "-o", "raw/:warc", "--limit", "4")
        fleet.ended("c")
    done = audited(fleet, seed, "c")
    assert 0 < done["pages"] < 12
    assert not done["whole"]
    assert "are not among the stored pages" in done["reasons"][0]
    assert not any(one["count"] for one in done["checks"] if one["id"] in ("broken-link", "page-4xx"))


def test_a_crawl_without_whole_pages_is_refused_in_one_line(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=1, pages=3)) as web:
        fleet.worker("w")
        fleet.ready(1)
        seed = web.plan.seeds()[0]
        fleet.run("submit", seed, *COMMON, "--name", "c", "-o", "out/", "--text")
        fleet.ended("c")
    said = fleet.run("audit", seed, "--crawl", "c", "--data", "elsewhere", "-q", code=2)
    assert said.splitlines() == [said.strip()]
    assert "c stored no whole pages, and an audit needs them: submit it with -o raw/:warc" in said
    assert "no crawl is named 'x'" in fleet.run("audit", seed, "--crawl", "x", "-q", code=2)
