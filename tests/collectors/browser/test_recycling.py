"""A browser that hangs, dies or has loaded its maximum of pages is replaced, and leaves no process behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import BOTH, TOTAL_S, Make, Stage, failure, here, page
from gossamer.collectors.browser import chromium, tab
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.collectors.browser.orphan_browsers import find_orphan_browsers
from gossamer.config.optional_deps import install_command
from gossamer.egress.resolver import Resolver
from gossamer.errors import BrowserFailed, ConfigError
from gossamer.model.rendering import Render
from gossamer.model.request import Request


@pytest.fixture
async def browser(program: str | None) -> AsyncIterator[Make]:
    """Yield `browser(**options)`, which creates a collector that starts a browser of its own."""
    made: list[BrowserCollector] = []

    def make(**more: Any) -> BrowserCollector:
        options: dict[str, Any] = {"agent": "test/1", "domain": lambda host: host, "total": TOTAL_S}
        options |= {"program": program, "render": lambda _: Render()} | more
        made.append(BrowserCollector(Resolver(["127.0.0.0/8"], lookup=here), **options))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def browsers() -> set[int]:
    """Return the main processes of the browsers that this process started."""
    parents, found = {}, set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(status.parent.name), status.read_text().rpartition(")")[2].split()
            words = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        parents[pid] = int(rest[1])
        chromium = b"--remote-debugging-pipe" in words and b"--type=" not in words
        if chromium or (b"--remote-debugging-port" in words and not words.startswith(b"sh")):
            found.add(pid)

    def ours(pid: int) -> bool:
        while pid > 1:
            pid = parents.get(pid, 0)
            if pid == os.getpid():
                return True
        return False

    return {pid for pid in found if ours(pid)}


async def gone(pids: set[int]) -> None:
    """Wait until none of the processes is running."""
    async with asyncio.timeout(40):
        while browsers() & pids:  # noqa: ASYNC110 - processes tell no event
            await asyncio.sleep(0.05)


@BOTH
async def test_a_browser_that_is_killed_is_replaced(stage: Stage, browser: Make) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow() -> str:
        loop.call_soon_threadsafe(asked.set)
        return "<script>while (true) {}</script>" if len(stage.seen) < 2 else "<p>again</p>"

    stage.pages["/"] = slow
    collector = browser()
    visit = asyncio.ensure_future(collector.collect(Request(stage.url()), {}))
    await asked.wait()
    first = browsers()
    assert len(first) == 1
    os.kill(next(iter(first)), signal.SIGKILL)
    lost = await visit
    assert (lost.reason, lost.final, lost.sent) == ("reset", False, True)
    assert b"<p>again</p>" in (await page(collector, stage.url())).body
    assert not browsers() & first
    await collector.close()
    await gone(browsers())


def arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


async def test_a_browser_names_its_process(stage: Stage, browser: Make) -> None:
    """A mark in the browser's arguments lets `gossamer clean` find the browser if the process that started
    it was killed."""
    stage.pages["/"] = "<p>well</p>"
    collector = browser()
    await page(collector, stage.url())
    (pid,) = browsers()
    assert f"--gossamer-pid={os.getpid()}" in arguments(pid)
    assert pid not in [one.pid for one in find_orphan_browsers(0, time.time())]


async def test_a_page_that_hangs_is_ended(stage: Stage, browser: Make) -> None:
    stage.pages |= {"/hangs": "<script>while (true) {}</script>", "/": "<p>well</p>"}
    collector = browser(pages=2)
    await page(collector, stage.url())  # the start of the browser is over
    collector._total = 5.0
    hanging = asyncio.create_task(failure(collector, stage.url("/hangs")))
    async with asyncio.timeout(TOTAL_S):
        while "/hangs" not in stage.paths():  # noqa: ASYNC110 - the server's thread tells no event
            await asyncio.sleep(0.01)
    collector._total = TOTAL_S
    assert b"<p>well</p>" in (await page(collector, stage.url())).body
    hangs = await hanging
    assert (hangs.reason, hangs.final) == ("timeout", False)
    assert b"<p>well</p>" in (await page(collector, stage.url())).body


async def test_a_browser_that_stands_still_is_replaced(
    stage: Stage, browser: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "CLOSE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(tab, "CLOSE_TIMEOUT_S", 1.0)
    stage.pages["/"] = "<p>well</p>"
    collector = browser()
    await page(collector, stage.url())
    first = browsers()
    collector._total = 1.0
    os.kill(next(iter(first)), signal.SIGSTOP)
    assert (await failure(collector, stage.url())).reason == "timeout"
    collector._total = TOTAL_S
    assert b"<p>well</p>" in (await page(collector, stage.url())).body
    await gone(first)
    assert len(browsers()) == 1


async def test_a_browser_has_so_many_pages(stage: Stage, browser: Make) -> None:
    stage.pages["/"] = "<p>well</p>"
    collector = browser(recycle=2, pages=2)
    await asyncio.gather(*(page(collector, stage.url()) for _ in range(2)))
    first = browsers()
    await page(collector, stage.url())
    await gone(first)
    assert len(browsers()) == 1


async def test_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage, browser: Make
) -> None:
    with pytest.raises(ConfigError, match="apt-get install chromium"):
        browser(program="/nowhere/chromium")
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no library >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(BrowserFailed, match="does not start"):
        await browser(program=str(broken)).collect(Request(stage.url()), {})
    monkeypatch.setitem(__import__("sys").modules, "playwright.async_api", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("browser"))):
        browser()
    assert BrowserCollector.name == "browser"
