"""Endless spaces: the real pages are all fetched, and next to nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.runs import job
from gossamer.door import crawl
from web import preset, serve
from web.judge import by_host, faults, robots_first, wasted


@pytest.mark.parametrize(("scope", "processes"), [("host", 1), ("host", 2), ("any", 1), ("any", 2)])
async def test_traps_cost_at_most_a_twentieth(tmp_path: Path, scope: str, processes: int) -> None:
    with serve(preset("traps")) as web:
        summary = await crawl(job(web.plan.seeds(), tmp_path, per_host=16, scope=scope, processes=processes))
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
