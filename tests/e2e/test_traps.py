"""Tests of endless URL spaces: all real pages are fetched, and hardly any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.runs import job
from gossamer.app.runner import crawl
from support.repetitions import first_case
from web import preset, serve
from web.judge import by_host, faults, robots_first, wasted


@pytest.mark.parametrize(
    ("scope", "processes", "shared"),
    first_case(
        [("host", 2, False), ("any", 1, False), ("any", 2, True), ("host", 1, False), ("any", 2, False)], 3
    ),
)
async def test_traps_cost_at_most_a_twentieth(
    tmp_path: Path, shared_store: str, scope: str, processes: int, shared: bool
) -> None:
    """The web contains a calendar, session ids, growing paths and a thousand spam hosts. The shared store
    has 64 buckets."""
    with serve(preset("traps")) as web:
        store = shared_store if shared else None
        summary = await crawl(
            job(web.plan.seeds(), tmp_path, per_host=16, scope=scope, processes=processes, store=store)
        )
        log = web.log()
    assert faults(log, web.plan) == []
    assert robots_first(log, web.plan) == []
    assert wasted(log, web.plan) <= 0.05
    assert summary.adds_up()
    assert (summary.state, summary.pending) == ("finished", 0)
    assert summary.skipped["trap"] > 50
    hosts = len(by_host(log))
    assert hosts == 2 if scope == "host" else 2 < hosts <= 40
    assert (scope == "any") == ("budget" in summary.skipped)
