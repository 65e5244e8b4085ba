"""Tests of politeness, measured at the server: intervals between requests, concurrent requests, a single
robots.txt request before all others, Retry-After, and one budget for two crawls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.runs import job, stalls
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from web import Hit, preset, serve
from web.judge import by_host, delays, faults, robots_first, violations


async def test_fifty_hosts_of_mixed_delays_and_two_processes(tmp_path: Path) -> None:
    """On a busy machine, a delayed request may arrive shortly before the next one. The test therefore
    fails only if all three attempts are wrong."""
    for turn in range(3):
        with serve(preset("hosts50")) as web:
            one = job(
                web.plan.seeds(), tmp_path / str(turn), processes=2, delay=(0.25, 0.25), concurrency=128
            )
            (tmp_path / str(turn)).mkdir()
            summary = await crawl(one)
            log = web.log()
        assert faults(log, web.plan, orphans=False) == []
        assert robots_first(log, web.plan) == []
        assert summary.adds_up()
        if not (close := violations(log, delays(web.plan, 0.25))):
            return
    assert close == []


@pytest.mark.parametrize("delay", [None, (0.0, 0.0)])
async def test_robots_floors_hold_whatever_the_delay(
    tmp_path: Path, delay: tuple[float, float] | None
) -> None:
    for turn in range(3):
        (tmp_path / str(turn)).mkdir()
        with serve(preset("hosts50", hosts=8, pages=6, spread=0.02)) as web:
            await crawl(job(web.plan.seeds(), tmp_path / str(turn), processes=2, delay=delay, per_host=4))
            log = web.log()
        asked = delays(web.plan, 0.25 if delay is None else 0.0)
        least = {host: seconds for host, seconds in asked.items() if seconds}
        assert least
        close = [one for one in violations(log, least, per_host=4) if one.kind == "gap"]
        close += [one for one in violations(log, {}, per_host=4) if one.kind == "at-once"]
        if not close:
            return
    assert close == []


async def test_two_crawls_share_the_budget_of_a_host(tmp_path: Path, shared_store: str) -> None:
    plan = preset("tiny", hosts=2, pages=8, links=6, hrefs=6, robots=("delay",), crawl_delay=(0.2,))
    with serve(plan) as web:
        jobs = [
            job(
                web.plan.seeds(),
                tmp_path,
                store=shared_store,
                name=name,
                output=f"{name}.jsonl",
                data=str(tmp_path / name),
            )
            for name in ("a", "b")
        ]
        async with stalls() as held:
            one, two = await asyncio.gather(*(crawl(each) for each in jobs))
        log = web.log()
    assert one.pages == two.pages == 16
    assert violations(log, delays(web.plan), stalls=held) == []
    assert robots_first(log, web.plan) == []


async def test_two_crawls_on_one_folder_share_it_too(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=2, pages=8, links=6, hrefs=6)) as web:
        jobs = [
            job(web.plan.seeds(), tmp_path, name=n, output=f"{n}.jsonl", delay=(0.2, 0.2)) for n in ("a", "b")
        ]
        async with stalls() as held:
            one, two = await asyncio.gather(*(crawl(each) for each in jobs))
        log = web.log()
    assert one.pages == two.pages == 16
    assert violations(log, delays(web.plan, 0.2), stalls=held) == []
    assert robots_first(log, web.plan) == []


def after(log: list[Hit], host: str, path: str) -> float:
    """Return the seconds between the first response for a path and the host's next request."""
    hits = by_host(log)[host]
    at = next(k for k, hit in enumerate(hits) if hit.path == path)
    return (hits[at + 1].seen - hits[at].end) / 1e9


async def test_retry_after_is_obeyed_by_the_whole_host(tmp_path: Path) -> None:
    with serve(
        preset("small", hosts=1, pages=4, features=("flaky",), robots=("missing",), retry_after=2)
    ) as web:
        summary = await crawl(job(web.plan.seeds(), tmp_path))
        log, host = web.log(), web.plan.authority(0)
    assert faults(log, web.plan, orphans=False) == []
    assert (summary.dead, summary.errors) == (0, {})
    assert after(log, host, "/f/429-once.html") >= 1.96
    assert after(log, host, "/f/503-once.html") >= 1.96


def test_the_default_is_polite() -> None:
    assert (Settings().delay, Settings().per_host, Settings().ignore_robots) == (None, 1, False)
