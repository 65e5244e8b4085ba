"""A worker process is replaced after a number of slices, after some time, or when it uses too much memory.
The replacement loses nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.fleet_workers import Fleet, until
from web import preset, serve

KEEPER = """
from gossamer import Site
site = Site("hoard", seeds={seeds!r})
hoard = []
@site.page()
def page(page):
    hoard.append(bytearray(b"x") * 8_000_000)
    yield {{"url": page.url}}
    yield from page.follow("a")
"""
SLICES, TIME, MEMORY = "recycle_slices=1", "recycle_time=4s", "recycle_memory=260M"


@pytest.mark.parametrize("bound", [SLICES, TIME, MEMORY])
def test_a_process_is_replaced(fleet: Fleet, tmp_path: Path, bound: str) -> None:
    fleet.slice = "3s"
    with serve(preset("tiny", hosts=2, pages=30, latency=0.01)) as web:
        (tmp_path / "hoard.py").write_text(KEEPER.format(seeds=web.plan.seeds()))
        worker = fleet.worker("w", "--sites", ".", "-s", bound)
        fleet.ready(1)
        target = ["hoard.py"] if bound == MEMORY else web.plan.seeds()
        fleet.submit(*target, name="c", output="out/", delay="0.15")
        first = until("it has a process", worker.children)
        until(
            "the process is replaced", lambda: worker.children() and not {*first} & {*worker.children()}, 60
        )
        summary = fleet.ended("c")
    assert (summary["state"], summary["dead"]) == ("finished", 0)
    rows = Counter(row.get("requested_url") or row["url"] for row in fleet.rows())
    assert len(rows) == summary["pages"]
    assert set(rows.values()) == {1}
    assert "Traceback" not in worker.said()


def test_a_process_that_is_not_near_a_bound_stays(fleet: Fleet) -> None:
    fleet.slice = "3s"
    with serve(preset("tiny", hosts=2, pages=20, latency=0.01)) as web:
        worker = fleet.worker("w")
        fleet.ready(1)
        first = worker.children()
        fleet.submit(*web.plan.seeds(), name="c", output="out/", delay="0.15")
        fleet.ended("c")
        assert worker.children() == first
