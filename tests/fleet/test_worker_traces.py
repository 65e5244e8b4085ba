"""Traces of a fleet, which the child processes of a worker send."""

from __future__ import annotations

from support.fleet_workers import Fleet, until
from support.spans import spans, visits
from support.web_receiver import receiving
from web import preset, serve


def test_children_of_a_worker_send_their_spans(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=2, pages=3)) as web, receiving() as got:
        more = ("-s", f"traces={got.url}", "-s", "trace_sample=1")
        fleet.worker("w", "--processes", "2", *more)
        fleet.ready(1)
        fleet.submit(*web.plan.seeds(), name="c", output="out/", delay="0.05")
        fleet.ended("c")
        pages = {row["url"] for row in fleet.rows()}
        until("all pages have a span", lambda: pages <= visits(spans(got)).keys(), 30)
    assert len(pages) == 6
