"""Tests of `--revisit`: the crawl never ends, visits its pages again when they are due, and stores only
changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import begin, job, kill, store_pid
from e2e.test_refresh import Shop, shop
from gossamer.app import revisit_loop
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.errors import UsageError
from gossamer.recrawl.known_pages import TABLE_NAME
from gossamer.recrawl.page_table import PageTable

__all__ = ["shop"]
FAST: dict[str, Any] = {"revisit": "auto", "revisit_budget": "200/s", "min_age": 1.0}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisit_loop, "TICK_S", 0.05)
    monkeypatch.setattr(revisit_loop, "REPORT_INTERVAL_S", 0.5)


@contextlib.asynccontextmanager
async def running(shop: Shop, folder: Path, **given: Any) -> AsyncIterator[list[str]]:
    """Run a crawl until the block ends, then stop the crawl. Yield its warnings."""
    stop, told = asyncio.Event(), list[str]()
    options = FAST | given
    work = asyncio.create_task(
        crawl(job([shop.url], folder, **options), stop=stop, receivers=ExtraReceivers(warn=told.append))
    )
    try:
        yield told
    finally:
        stop.set()
        summary = await work
    assert summary.adds_up()
    assert summary.state == "stopped"


async def until(shows: Callable[[], bool]) -> None:
    for _ in range(600):
        if shows():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came")


def rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / "out.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def test_pages_are_visited_again_and_only_changes_are_stored(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 304] >= 2 and shop.answers["/13", 200] >= 3)
        assert len(rows(tmp_path)) == 22, "nothing changed, so no row is written twice"
        shop.pages["/3"] += " and more"
        shop.pages["/15"] += "<a href=/child>c</a>"
        shop.pages["/child"] = "<title>Child</title>"
        await until(lambda: len(rows(tmp_path)) >= 25 and shop.answers["/child", 200] >= 2)
    paths = [row["url"].removeprefix(shop.url) for row in rows(tmp_path)[22:]]
    assert sorted(paths) == ["15", "3", "child"]


async def test_a_page_behind_a_redirect_is_visited_again(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/new", 200] >= 3)
        shop.pages["/new"] += "<p>words"
        await until(lambda: len(rows(tmp_path)) == 23)
    assert rows(tmp_path)[22]["requested_url"] == f"{shop.url}old"


async def test_a_page_that_is_gone_is_forgotten_after_three_visits(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/5", 304] >= 1)
        del shop.pages["/5"]
        await until(lambda: shop.answers["/5", 404] >= 3)
        seen = shop.answers["/6", 304]
        await until(lambda: shop.answers["/6", 304] >= seen + 5)
        assert shop.answers["/5", 404] == 3
    assert [row["status"] for row in rows(tmp_path) if row["url"].endswith("/5")] == [200, 404]


async def test_the_same_command_goes_on_with_what_was_known(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 304] >= 1)
    shop.answers.clear()
    shop.pages["/3"] += " and more"
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 200] >= 1 and shop.answers["/4", 304] >= 2)
    assert len(rows(tmp_path)) == 23


async def test_a_finished_crawl_becomes_one_that_never_ends_and_back(shop: Shop, tmp_path: Path) -> None:
    summary = await crawl(job([shop.url], tmp_path))
    assert summary.state == "finished"
    shop.answers.clear()
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 304] >= 2)
    assert shop.answers["/3", 200] == 0, "its validators were known"
    again = await crawl(job([shop.url], tmp_path))
    assert again.state == "finished"
    summary = await crawl(job([shop.url], tmp_path, refresh=True))
    assert (summary.pages, summary.unchanged) == (22, 22)


async def test_a_fixed_window_that_the_budget_cannot_keep_is_refused(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 304] >= 1 and len(rows(tmp_path)) == 22)
    given = job([shop.url], tmp_path, revisit="1m", revisit_budget="5/m", min_age=1.0)
    with pytest.raises(UsageError, match=r"22 pages need 33,347 visits a day, and the budget allows 7,200"):
        await crawl(given)


async def test_a_table_holds_each_page_once(shop: Shop, tmp_path: Path) -> None:
    async with running(shop, tmp_path):
        await until(lambda: shop.answers["/3", 304] >= 3)
    table = PageTable(tmp_path / "data" / "c" / TABLE_NAME)
    assert table.sums.counts(0)["pages"] == 22
    table.close()


async def test_links_between_pages_are_counted_once(shop: Shop, tmp_path: Path) -> None:
    shop.pages["/1"] += "<a href=/3>three</a><a href=/3#top>three</a><a href=https://other.example/>other</a>"
    async with running(shop, tmp_path, importance=("inlinks",)):
        await until(lambda: shop.answers["/3", 304] >= 2 and shop.answers["/13", 200] >= 3)
    with sqlite3.connect(tmp_path / "data" / "c" / TABLE_NAME) as base:
        found = Counter(pages for (pages,) in base.execute("SELECT pages FROM inlinks"))
        assert base.execute("SELECT count(*) FROM pages WHERE instr(line, 'links')").fetchone() == (0,)
    base.close()
    assert found == {1: 20, 2: 1}, "the start page links to 21 pages, and one of them to /3"


async def test_a_newer_lastmod_of_a_watched_sitemap_is_a_signal(shop: Shop, tmp_path: Path) -> None:
    def sitemap(day: int) -> str:
        entries = "".join(
            f"<url><loc>{shop.url}{n}</loc><lastmod>2026-11-{day if n == 7 else 1:02}</lastmod></url>"
            for n in range(9)
        )
        return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"

    shop.pages["/map.xml"] = sitemap(1)
    stop = asyncio.Event()
    options = {"revisit": "auto", "revisit_budget": "20/s", "min_age": 1.0, "watch": 1.0}
    work = asyncio.create_task(crawl(job([f"sitemap:{shop.url}map.xml"], tmp_path, **options), stop=stop))
    await until(lambda: shop.answers["/7", 304] >= 1)
    read, shop.pages["/map.xml"] = shop.answers["/map.xml", 200], sitemap(2)
    await until(lambda: shop.answers["/map.xml", 200] > read + 1)
    seen = shop.answers["/7", 304]
    await until(lambda: shop.answers["/7", 304] > seen + 1)
    stop.set()
    await work
    table = PageTable(tmp_path / "data" / "c" / TABLE_NAME)
    assert table.facts.get("signals.signals") + sum(one.signals for one in table.sums.sample(99)) >= 1
    assert table.sums.counts(0)["pages"] == 9
    table.close()


@pytest.mark.parametrize("victim", ["crawl", "store", "both"])
async def test_a_kill_loses_no_page_and_writes_no_row_twice(shop: Shop, tmp_path: Path, victim: str) -> None:
    how = ["--revisit", "auto", "--revisit-budget", "100/s", "--min-age", "1s", "--delay", "0", "--name", "c"]
    where = ["--data", str(tmp_path / "data"), "-o", str(tmp_path / "out.jsonl"), "--quiet"]
    words = ["crawl", shop.url, *how, *where, "--allow-private", "127.0.0.0/8"]
    process = begin(words)
    for round_ in range(2):
        shop.answers.clear()
        await until(lambda: all(shop.answers[f"/{n}", 304] >= 2 for n in range(10)))
        if round_ == 0:
            store = store_pid(tmp_path / "data")
            if victim != "store":
                kill(process.pid)
                await asyncio.to_thread(process.communicate)
            if victim != "crawl":
                kill(store)
            if process.poll() is not None:
                process = begin(words)
    process.send_signal(signal.SIGINT)
    await asyncio.to_thread(process.communicate)
    assert len(rows(tmp_path)) == len({row["url"] for row in rows(tmp_path)}) == 22
    table = PageTable(tmp_path / "data" / "c" / TABLE_NAME)
    counts = table.sums.counts(0)
    table.close()
    assert counts["pages"] == 22


async def test_a_shared_store_with_many_buckets(shop: Shop, tmp_path: Path, valkey_url: str) -> None:
    async with running(shop, tmp_path, store=valkey_url):
        await until(lambda: shop.answers["/3", 304] >= 2 and shop.answers["/13", 200] >= 3)
    assert len(rows(tmp_path)) == 22
