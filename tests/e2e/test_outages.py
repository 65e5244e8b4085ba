"""A crawl survives the loss of its store without intervention: no page is lost, no row is written twice,
and no host is requested too soon."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.runs import job, rows
from gossamer import url as urls
from support.cluster import cluster
from support.fleet_in_process import Workers, at
from support.processes import Process
from support.sentinel import watched
from web import Web, preset, serve
from web.judge import Violation, delays, faults, violations

DELAY, LEAST = 0.25, 0.2
"""The seconds between two requests to a host, and the shortest interval that the test accepts. After a
lost claim, the next request would follow immediately. A busy machine may shorten an interval by some ms."""
PLAN = preset("tiny", hosts=20, pages=15)


@contextlib.contextmanager
def single(folder: Path) -> Iterator[Process]:
    server = Process(folder, "--save", "", "--appendonly", "yes").ready()
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def restarted(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The store is killed, and restarted 2 s later."""
    with single(folder) as server:

        def act() -> None:
            server.kill()
            time.sleep(2)
            server.start()

        yield f"redis://127.0.0.1:{server.port}", act


@contextlib.contextmanager
def stopped(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The store does not respond for 5 s, as after a network failure."""
    with single(folder) as server:

        def act() -> None:
            server.halt()
            time.sleep(5)
            server.go_on()

        yield f"redis://127.0.0.1:{server.port}", act


@contextlib.contextmanager
def failed_over(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The master of a Sentinel group is killed."""
    with watched() as service:
        yield service.url, service.servers[0].kill


@contextlib.contextmanager
def frozen(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The master of a Sentinel group stops responding, and its connections stay open."""
    with watched() as service:
        yield service.url, service.servers[0].halt


@contextlib.contextmanager
def of_a_cluster(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A master of a Cluster is killed."""
    with cluster(replicas=1) as many:
        yield many.url, many.nodes[0].kill


def written(folder: Path) -> list[str]:
    return [urls.canonical(row["url"]) or "" for file in folder.glob("out*") for row in rows(file)]


def wrong(web: Web, folder: Path) -> list[object]:
    """Return missing pages, intervals that are too short, and duplicate rows."""
    log, found = web.log(), written(folder)
    missing = [line for line in faults(log, web.plan, orphans=False) if " 0 times" in line]
    return [
        *missing,
        *violations(log, delays(web.plan, LEAST)),
        *(url for url in set(found) if found.count(url) > 1),
    ]


@pytest.mark.parametrize("outage", [restarted, stopped, failed_over, frozen, of_a_cluster])
async def test_a_crawl_outlives_its_store(
    tmp_path: Path,
    outage: Callable[[Path], contextlib.AbstractContextManager[tuple[str, Callable[[], None]]]],
) -> None:
    found: list[object] = []
    # on a busy machine, a delayed request may arrive shortly before the next one, so the test passes if one
    # of two crawls is clean
    for folder in (
        tmp_path / "1",
        tmp_path / "2",
    ):
        folder.mkdir()
        with serve(PLAN) as web, outage(folder) as (url, act):
            workers = Workers(job(web.plan.seeds(), folder, delay=(DELAY, DELAY)), url, 2)
            strike = asyncio.create_task(at(web, 100, act))
            summary = await asyncio.wait_for(workers.run(), 90)
            await strike
            found = wrong(web, folder)
        assert (summary.state, summary.pages) == ("finished", 300)
        assert len(written(folder)) == 300
        assert summary.adds_up()
        assert [one for one in found if not isinstance(one, Violation)] == []
        if not found:
            break
    assert found == []


async def test_a_stop_is_obeyed_while_the_store_is_away_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve(PLAN) as web, single(tmp_path) as server:
        one = job(web.plan.seeds(), tmp_path, delay=(DELAY, DELAY))
        workers = Workers(one, f"redis://127.0.0.1:{server.port}", 2)
        running = asyncio.create_task(workers.run())
        await at(web, 100, server.kill)
        await asyncio.sleep(1)
        assert not running.done()
        asked = time.monotonic()
        workers.stop.set()
        while not workers.outcomes:
            await asyncio.sleep(0.05)
            assert time.monotonic() - asked < 20
        assert workers.outcomes == ["stopped", "stopped"]
        server.start()
        assert (await asyncio.wait_for(running, 20)).pages < 300
        again = Workers(one, f"redis://127.0.0.1:{server.port}", 2)
        summary = await asyncio.wait_for(again.run(), 90)
        assert summary.pages == len(written(tmp_path)) == 300
        assert wrong(web, tmp_path) == []
