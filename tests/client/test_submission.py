"""Tests of `gossamer.submit`: a script submits a crawl to a fleet of real workers, and waits for the crawl
or stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer import Site
from gossamer.client.submission import stop_submitted
from gossamer.errors import ConfigError, CrawlFailed, UsageError
from support.fleet_workers import Fleet, Server, until
from web import Web, preset, serve

pytestmark = pytest.mark.timeout(120)
PAGES = 12


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", pages=PAGES)) as web:
        yield web


@pytest.fixture(scope="module")
def shared_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Start a fleet with one worker."""
    folder = tmp_path_factory.mktemp("fleet")
    with Server(folder / "server") as server, Fleet(folder, server.url(0), [server.url(1)]) as fleet:
        fleet.worker()
        fleet.ready(1)
        yield fleet


@pytest.fixture
def fleet(shared_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Set the environment variables of the workers for this process, so that it finds the store and the
    broker of the fleet."""
    for name, value in shared_fleet.env().items():
        if name.startswith("GOSSAMER_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(shared_fleet.folder)
    return shared_fleet


def test_waiting_returns_the_summary_of_the_ended_crawl(web: Web, fleet: Fleet) -> None:
    summary = gossamer.submit(
        web.url(), output="waited/", name="waited", delay="0", allow_private="127.0.0.0/8", wait=True
    )
    assert (summary.crawl, summary.state) == ("waited", "finished")
    rows = fleet.rows("waited")
    assert len(rows) == len({row["url"] for row in rows}) == summary.pages >= PAGES


def test_without_waiting_it_returns_at_once_and_the_workers_go_on(web: Web, fleet: Fleet) -> None:
    summary = gossamer.submit(web.url(), name="later", delay="0.2", allow_private="127.0.0.0/8")
    assert summary.crawl == "later"
    assert summary.state in ("running", "paused")
    assert fleet.ended("later")["state"] == "finished"


def test_a_site_of_an_importable_module_and_requests_with_keys(web: Web, fleet: Fleet) -> None:
    """The workers import the site from a module, and each request carries a description of its page, as in
    a price run."""
    pages = [f"{web.url()}?visit={number}" for number in range(3)]
    seeds = [{"url": web.url(), "key": page, "carry": {"page": page}} for page in pages]
    summary = gossamer.submit(
        "module:gossamer.uses.prices.price_site",
        seeds,
        output="items/",
        name="items",
        delay="0",
        scope="page",
        allow_private="127.0.0.0/8",
        wait=True,
    )
    assert (summary.state, summary.items) == ("finished", 3)
    assert sorted(row["page"] for row in fleet.rows("items")) == pages


def test_a_crawl_that_comes_to_nothing_raises(fleet: Fleet) -> None:
    with serve(preset("tiny", pages=1)) as gone:
        address = gone.url()
    with pytest.raises(CrawlFailed):
        gossamer.submit(
            address,
            name="nothing",
            delay="0",
            allow_private="127.0.0.0/8",
            setting=["retries=0.1"],
            wait=True,
        )


async def test_the_coroutine_can_be_cancelled_and_the_crawl_goes_on(web: Web, fleet: Fleet) -> None:
    task = asyncio.create_task(
        gossamer.submit_async(web.url(), name="alone", delay="0.3", allow_private="127.0.0.0/8", wait=True)
    )
    await asyncio.to_thread(until, "a page is visited", lambda: _is_begun(fleet, "alone"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended = await asyncio.to_thread(fleet.ended, "alone")
    assert ended["state"] == "finished"


def test_stop_submitted_waits_until_the_workers_have_ended_the_crawl(web: Web, fleet: Fleet) -> None:
    gossamer.submit(web.url(), name="stopped", delay="2", allow_private="127.0.0.0/8")
    until("a page is visited", lambda: fleet.json("status", "stopped")["pages"])
    assert stop_submitted("stopped")
    assert fleet.json("status", "stopped")["state"] == "stopped"
    assert not stop_submitted("stopped")
    assert not stop_submitted("never submitted")


def test_what_cannot_be_submitted_is_refused_at_once(web: Web, fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a Site that a script made"):
        gossamer.submit(Site("made-here"), web.url())
    with pytest.raises(TypeError, match="dely"):
        gossamer.submit(web.url(), dely="1")  # type: ignore[call-arg]


def test_without_a_store_it_says_what_is_missing(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOSSAMER_STORE", raising=False)
    with pytest.raises(ConfigError, match="submit needs the fleet's store"):
        gossamer.submit(web.url())


def _is_begun(fleet: Fleet, crawl: str) -> bool:
    try:
        return bool(fleet.status(crawl)["pages"])
    except AssertionError:
        return False
