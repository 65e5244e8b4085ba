"""Pages that wait for a service worker, and pages that set a cookie and reload themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from gossamer.blocks import block
from gossamer.blocks.site_rules import worth_keeping
from gossamer.collectors.http_cache import CacheCollector
from gossamer.model.page import Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request

pytestmark = IN_MODULE

SHOW = "document.querySelector('p').textContent = "


@pytest.mark.parametrize(
    "script",
    [
        f"('serviceWorker' in navigator ? navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready) : Promise.resolve()).then(() => {{ {SHOW}'kettle' }})",
        f"(async () => {{ try {{ await navigator.serviceWorker.ready }} catch {{}} {SHOW}'kettle' }})()",
        f"if (navigator.serviceWorker) navigator.serviceWorker.ready.then(() => {{ {SHOW}'kettle' }}); else {SHOW}'kettle'",
        f"{SHOW}'kettle ' + typeof ServiceWorkerContainer + document.createElement('iframe').contentWindow",
    ],
)
async def test_no_page_waits_for_a_service_worker(stage: Stage, shared: Shared, script: str) -> None:
    """The host is this machine's address, because only such http pages have service workers at all."""
    stage.pages |= {
        "/": f"<p>loading</p><script>{script}</script>",
        "/sw.js": (200, {"content-type": "text/javascript"}, "self.addEventListener('fetch', () => {})"),
    }
    shared.looks["127.0.0.1"] = Render(until="document.querySelector('p').textContent != 'loading'")
    got = await page(shared.collector, stage.url())
    assert (got.late, b"<p>kettle" in got.body) == ("", True)
    assert "/sw.js" not in stage.paths()
    assert b"object" not in got.body.partition(b"<script")[0]


def blocked(got: Page) -> str:
    """Return the block that a crawl sees in a page, or ''."""
    found = block(got.status, got.headers, got.body, got.url, settled=got.settled)
    return str(found or "")


WALL = "<script>if (!document.cookie.includes('seen=1')) { document.cookie = 'seen=1; path=/'; location.reload() }</script>"


async def test_a_short_page_behind_a_cookie_wall_is_no_block(stage: Stage, shared: Shared) -> None:
    shared.looks["wall.test"] = Render()
    stage.pages["/p"] = lambda: (
        f"<p>kettle</p>{WALL}" if "seen=1" in stage.seen[-1][1].get("cookie", "") else WALL
    )
    got = await page(shared.collector, stage.url("/p", "wall.test"))
    assert (b"kettle" in got.body, got.requests, got.settled) == (True, 2, True)
    assert blocked(got) == ""
    without = Page(got.url, 200, [("content-type", "text/html")], got.body, 0.0, 0.0, 0)
    assert blocked(without) == "generic challenge", "without a browser it is the wall"


async def test_a_stored_page_behind_a_wall_is_no_block_either(
    stage: Stage, shared: Shared, tmp_path: Path
) -> None:
    cache = CacheCollector(shared.collector, str(tmp_path / "kept"), None, worth_keeping, "browser")
    stage.pages["/p"] = f"<p>kettle</p>{WALL}"
    for requests in (2, 0):
        got = await cache.collect(Request(stage.url("/p", "kept.test")), {})
        assert isinstance(got, Page)
        assert (got.requests, blocked(got)) == (requests, "")


@pytest.mark.parametrize("text", ["", "<p>One moment</p>"])
async def test_a_wall_that_never_opens_stays_a_block(stage: Stage, shared: Shared, text: str) -> None:
    stage.pages["/p"] = f"{text}<script>document.cookie = 'seen=1; path=/'; location.reload()</script>"
    got = await page(shared.collector, stage.url("/p", "shut.test"))
    assert (got.settled, blocked(got)) == (False, "generic challenge")
