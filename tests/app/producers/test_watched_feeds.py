"""Tests of watched sitemaps and feeds: they are requested repeatedly with their validators, and only new
or changed URLs are visited."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import AsyncMock

import pytest

from e2e.runs import job
from gossamer.app import seeding
from gossamer.app.producers.watched_feeds import WatchedFeed
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.errors import UsageError
from gossamer.model.page import Page


class Shop(http.server.BaseHTTPRequestHandler):
    """Serves pages, and documents whose ETag is their own hash."""

    documents: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[tuple[str, int]]] = []

    def do_GET(self) -> None:
        body = self.documents.get(self.path, "<title>a page</title>" if self.path.startswith("/p") else None)
        tag = f'"{hash(body)}"'
        status = 404 if body is None else 304 if self.headers.get("If-None-Match") == tag else 200
        self.asked.append((self.path, status))
        self.send_response(status)
        if self.path in self.documents:
            self.send_header("ETag", tag)
        data = (body or "").encode() if status == 200 else b""
        self.send_header("Content-Type", "application/xml" if self.path in self.documents else "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.documents, Shop.asked = {}, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def sitemap(root: str, pages: dict[str, str]) -> str:
    entries = "".join(
        f"<url><loc>{root}{path}</loc><lastmod>{at}</lastmod></url>" for path, at in pages.items()
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def pages() -> Counter[str]:
    return Counter(path for path, _ in Shop.asked if path.startswith("/p"))


async def until(test: Any, what: str) -> None:
    for _ in range(600):
        if test():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what}: {Shop.asked}")


async def test_only_new_and_changed_entries_are_visited(tmp_path: Path, shop: str) -> None:
    first = {"/p1": "2026-01-01", "/p2": "2026-01-01", "/p3": "2026-01-01"}
    Shop.documents["/map.xml"] = sitemap(shop, first)
    one = job([f"sitemap:{shop}/map.xml"], tmp_path, watch=0.3)
    stop = asyncio.Event()
    running = asyncio.create_task(crawl(one, stop=stop))
    await until(lambda: pages() == Counter(["/p1", "/p2", "/p3"]), "the first pass")
    await until(lambda: Shop.asked.count(("/map.xml", 304)) > 2, "it is asked for with its ETag")
    assert pages() == Counter(["/p1", "/p2", "/p3"])
    Shop.documents["/map.xml"] = sitemap(shop, {**first, "/p2": "2026-02-02", "/p4": "2026-02-02"})
    await until(lambda: pages()["/p4"], "a new entry")
    await until(lambda: pages()["/p2"] == 2, "a changed entry")
    assert not running.done(), "it does not end by itself"
    stop.set()
    summary = await running
    assert (summary.state, summary.pages, summary.pending) == ("stopped", 5, 0)
    running = asyncio.create_task(crawl(one, stop=(stop := asyncio.Event())))
    met = Shop.asked.count(("/map.xml", 304))
    await until(lambda: Shop.asked.count(("/map.xml", 304)) > met, "it goes on with the ETag that it had")
    stop.set()
    assert (await running).pages == 5
    assert pages() == Counter({"/p1": 1, "/p2": 2, "/p3": 1, "/p4": 1})


async def test_of_an_index_only_what_changed_is_read_again(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.app.producers.watched_feeds.REQUEST_INTERVAL_S", 0.0)

    def index(a: str, b: str) -> str:
        inner = f"<sitemap><loc>{shop}/a.xml</loc><lastmod>{a}</lastmod></sitemap>"
        inner += f"<sitemap><loc>{shop}/b.xml</loc><lastmod>{b}</lastmod></sitemap>"
        return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</sitemapindex>'

    Shop.documents |= {"/index.xml": index("2026-01-01", "2026-01-01")}
    Shop.documents |= {
        "/a.xml": sitemap(shop, {"/pa": "2026-01-01"}),
        "/b.xml": sitemap(shop, {"/pb": "2026-01-01"}),
    }
    stop = asyncio.Event()
    running = asyncio.create_task(crawl(job([f"sitemap:{shop}/index.xml"], tmp_path, watch=0.2), stop=stop))
    await until(lambda: len(pages()) == 2, "both sitemaps")
    Shop.documents |= {
        "/index.xml": index("2026-01-01", "2026-03-03"),
        "/b.xml": sitemap(shop, {"/pb": "2026-03-03"}),
    }
    await until(lambda: pages()["/pb"] == 2, "what changed")
    stop.set()
    await running
    read = Counter(path for path, _ in Shop.asked)
    assert (read["/a.xml"], read["/b.xml"], pages()["/pa"]) == (1, 2, 1)


async def test_a_sitemap_that_is_away_for_a_while_is_asked_for_again(tmp_path: Path, shop: str) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(crawl(job([f"feed:{shop}/feed"], tmp_path, watch=0.2), stop=stop))
    await until(lambda: Shop.asked.count(("/feed", 404)) > 1, "it is asked for")
    Shop.documents["/feed"] = f"<rss><channel><item><link>{shop}/p1</link></item></channel></rss>"
    await until(lambda: pages()["/p1"], "its entry")
    stop.set()
    assert (await running).pages == 1


async def test_a_sitemap_of_an_index_that_could_not_be_read_is_read_in_the_next_turn(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unread sitemap is requested again even if its index contains an unchanged `lastmod`, and even if
    this index is part of another index."""
    monkeypatch.setattr("gossamer.app.producers.watched_feeds.REQUEST_INTERVAL_S", 0.0)

    def index(*names: str) -> str:
        inner = "".join(
            f"<sitemap><loc>{shop}/{name}</loc><lastmod>2026-01-01</lastmod></sitemap>" for name in names
        )
        return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</sitemapindex>'

    Shop.documents |= {"/index.xml": index("inner.xml"), "/inner.xml": index("a.xml", "b.xml")}
    Shop.documents["/a.xml"] = sitemap(shop, {"/pa": "2026-01-01"})
    stop = asyncio.Event()
    running = asyncio.create_task(crawl(job([f"sitemap:{shop}/index.xml"], tmp_path, watch=0.2), stop=stop))
    await until(lambda: Shop.asked.count(("/b.xml", 404)) > 2, "what is away is asked for")
    Shop.documents["/b.xml"] = sitemap(shop, {"/pb": "2026-01-01"})
    await until(lambda: pages()["/pb"], "it came back")
    turns = Shop.asked.count(("/index.xml", 304))
    await until(lambda: Shop.asked.count(("/index.xml", 304)) > turns + 2, "more turns")
    stop.set()
    await running
    read = Counter(Shop.asked)
    assert (read["/a.xml", 200], read["/b.xml", 200], pages()["/pa"]) == (1, 1, 1)
    assert Shop.asked[-1] == ("/index.xml", 304), "what was read is not asked for again"


async def test_whoever_crawls_hears_of_it_once_while_it_lasts(tmp_path: Path, shop: str) -> None:
    Shop.documents["/map.xml"] = sitemap(shop, {"/p1": "2026-01-01"})
    stop, heard = asyncio.Event(), list[str]()
    one = job([f"sitemap:{shop}/map.xml", f"feed:{shop}/feed"], tmp_path, watch=0.1)
    running = asyncio.create_task(crawl(one, stop=stop, receivers=ExtraReceivers(warn=heard.append)))
    await until(lambda: Shop.asked.count(("/feed", 404)) > 4 and pages(), "some turns")
    stop.set()
    await running
    assert heard == [f"watch {shop}/feed: {shop}/feed answered 404"]


async def test_an_answer_that_is_no_sitemap_or_half_of_one_loses_no_change(tmp_path: Path, shop: str) -> None:
    whole = {"/p1": "2026-01-01", "/p2": "2026-01-01", "/p3": "2026-01-01"}
    Shop.documents["/map.xml"] = sitemap(shop, whole)
    stop = asyncio.Event()
    running = asyncio.create_task(crawl(job([f"sitemap:{shop}/map.xml"], tmp_path, watch=0.2), stop=stop))
    await until(lambda: len(pages()) == 3, "the first pass")
    for bad in ("<html>We are back soon</html>", sitemap(shop, whole)[:150], ""):
        asked = len(Shop.asked)
        Shop.documents["/map.xml"] = bad
        await until(lambda since=asked: len(Shop.asked) > since + 1, "it was read")
    Shop.documents["/map.xml"] = sitemap(shop, {**whole, "/p3": "2026-02-02"})
    await until(lambda: pages()["/p3"] == 2, "what changed meanwhile")
    stop.set()
    summary = await running
    assert pages() == Counter({"/p1": 1, "/p2": 1, "/p3": 2})
    assert (summary.pages, summary.skipped) == (4, {}), "what comes back as it was is not offered again"


class Answers:
    """A collector that always returns the same response."""

    def __init__(self, answer: Any) -> None:
        self.collect = AsyncMock(return_value=answer)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, "did not answer"),
        (404, "answered 404"),
        (304, ""),
        (200, "contains no sitemap or feed entries"),
    ],
)
async def test_what_cannot_be_read_is_said(status: int | None, said: str) -> None:
    url = "https://a.example/feed"
    watched = WatchedFeed(url, 60)
    await watched.open(Answers(None if status is None else Page(url, status, [], b"", 0.0, 0.0, 0)))  # type: ignore[arg-type] # only what is asked of it
    batch = await anext(aiter(watched.batches(None)))
    assert batch.trouble == (said and f"{url} {said}")


def test_watch_is_for_sitemaps_and_feeds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--watch is for sitemap:URL, feed:URL and api:URL"):
        seeding.prepare(job(["https://a.example/"], tmp_path, watch=5.0))
