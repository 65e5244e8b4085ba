"""Tests of whole crawls: every reachable page is fetched exactly once, no forbidden page is fetched,
spellings of a URL are merged, and every found URL is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.runs import job, rows, watched, wrong_rows
from support.repetitions import first_case
from web import serve
from web.docs import reachable
from web.judge import faults, fetched, robots_first
from web.plan import Plan
from web.presets import POLITE, preset
from web.truth import expected, with_fate

EVERYTHING = tuple(sorted({*POLITE, "keepalive", "slow", "seed-redirect"} - {"sitemaps"}))


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_site_of_plain_pages(tmp_path: Path, processes: int) -> None:
    with serve(preset("tiny", hosts=3, pages=60)) as web:
        summary, looked = await watched(job(web.plan.seeds(), tmp_path, processes=processes))
        log = web.log()
    assert faults(log, web.plan) == []
    assert robots_first(log, web.plan) == []
    assert wrong_rows(found := rows(tmp_path / "out.jsonl"), web.plan) == []
    assert len(found) == summary.pages == summary.succeeded == 180
    assert looked
    assert [one for one in [*looked, summary] if not one.adds_up()] == []


@pytest.mark.parametrize(("depth", "shared"), first_case([(2, False), (3, True), (1, False), (2, True)], 2))
async def test_a_depth_limit_with_many_requests_side_by_side(
    tmp_path: Path, shared_store: str, depth: int, shared: bool
) -> None:
    plan = preset("tiny", hosts=2, pages=150, links=4, hrefs=8, fanout=3, latency=0.02, spread=0.9)
    with serve(plan) as web:
        store = shared_store if shared else None
        one = job(web.plan.seeds(), tmp_path, depth=depth, per_host=16, processes=2, store=store)
        summary, looked = await watched(one, store)
        got = fetched(web.log())
        least = {url: expected(web.plan, url) for url in with_fate(web.plan, ("once",))}
    wanted = {url for url, page in least.items() if page and page.depth is not None and page.depth <= depth}
    assert {url for url in got if not url.endswith("/robots.txt")} == wanted
    assert 0 < len(wanted) < len(least)
    assert len(rows(tmp_path / "out.jsonl")) == summary.pages == len(wanted)
    assert [line for line in [*looked, summary] if not line.adds_up()] == []


def odd_web(without: tuple[str, ...] = ()) -> Plan:
    """Return a web with unusual features and politeness rules on a few pages."""
    features = tuple(name for name in EVERYTHING if name not in without)
    return preset(
        "small", hosts=3, pages=12, features=features, crawl_delay=(0.05,), retry_after=0, slow=0.05
    )


# a status of 429 or 503 slows requests to the host for half a minute, so only one case includes it
@pytest.mark.parametrize(("processes", "without"), [(1, ()), (2, ("flaky", "status"))])
async def test_redirects_statuses_cookies_variants_and_failures(
    tmp_path: Path, processes: int, without: tuple[str, ...]
) -> None:
    with serve(odd_web(without)) as web:
        summary, looked = await watched(job(web.plan.seeds(), tmp_path, processes=processes))
        log = web.log()
    assert faults(log, web.plan, orphans=False) == []
    assert robots_first(log, web.plan) == []
    assert wrong_rows(rows(tmp_path / "out.jsonl"), web.plan) == []
    assert [one for one in [*looked, summary] if not one.adds_up()] == []
    assert (summary.state, summary.pending) == ("finished", 0)


@pytest.mark.parametrize("processes", [1, 2])
async def test_a_shared_store_with_64_buckets(tmp_path: Path, shared_store: str, processes: int) -> None:
    with serve(preset("tiny", hosts=7, pages=25)) as web:
        one = job(web.plan.seeds(), tmp_path, store=shared_store, processes=processes)
        summary, looked = await watched(one, shared_store)
        log = web.log()
    assert faults(log, web.plan) == []
    assert wrong_rows(found := rows(tmp_path / "out.jsonl"), web.plan) == []
    assert len(found) == summary.pages == 175
    assert [one for one in [*looked, summary] if not one.adds_up()] == []


async def test_a_real_documentation_site(tmp_path: Path, documentation: Path) -> None:
    reach = reachable(str(documentation))
    with serve(Plan(folder=str(documentation))) as web:
        summary, looked = await watched(job(web.plan.seeds(), tmp_path, per_host=16))
        log = web.log()
    counts = fetched(log)
    asked = {url.removeprefix(web.plan.origin(0)): n for url, n in counts.items()}
    assert {page: asked.get(page, 0) for page in reach.pages if asked.get(page) != 1} == {}
    assert {path: n for path, n in asked.items() if n != 1} == {}
    found = rows(tmp_path / "out.jsonl")
    pages = {row["url"].removeprefix(web.plan.origin(0)) for row in found if row["status"] == 200}
    assert reach.pages - pages == set()
    assert len(found) == len({row["url"] for row in found}) == summary.pages
    assert [one for one in [*looked, summary] if not one.adds_up()] == []
