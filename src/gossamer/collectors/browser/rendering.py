"""A page in a browser: gone to, waited for, scrolled, read as it then stands."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import lru_cache
from importlib import resources
from typing import Any

from gossamer.collectors.browser.actions import Acting
from gossamer.collectors.browser.frames import Frames
from gossamer.collectors.browser.navigation import Watch
from gossamer.collectors.browser.tab import Tab
from gossamer.model.browser_actions import Step
from gossamer.model.rendering import Render

QUIET, MORE = 0.05, 3.0
"""After the load event: seconds without a request under way, and the most that is waited for them."""
IDLE = 0.5
POLL = 0.01
STEPS = 100
"""Scrolls at most."""
_ENDLESS = ("eventsource", "websocket", "ping", "media")


class Rendering:
    """The load of one page, whose main document is watched."""

    def __init__(self, tab: Tab, watch: Watch) -> None:
        self._tab, self._page, self._watch = tab, tab.page, watch
        self._under_way: set[Any] = set()
        self._changed = time.monotonic()
        self.late, self._there, self._loading = "", False, False
        self._ends = self._spare = 0.0
        tab.listen(
            {
                "framenavigated": self._come,
                "load": self._loaded,
                "request": self._begun,
                "requestfinished": self._over,
                "requestfailed": self._over,
            }
        )

    async def load(self, url: str, render: Render, ends: float) -> None:
        """Go there and wait as it says, until `ends` on the monotonic clock. Raises Playwright's Error where
        no document came."""
        self._ends, self._spare = ends, (ends - time.monotonic()) / 8
        await self._page.goto(url, wait_until="commit", timeout=0)
        with contextlib.suppress(TimeoutError):  # what hangs for half of the time is not waited for
            async with asyncio.timeout((ends - time.monotonic()) / 2):
                await self._watch.away.wait()
        if render.wait == "idle":
            await self._quiet(IDLE, ends)
        else:
            await self._quiet(QUIET, min(ends, time.monotonic() + MORE))
        if self._watch.target is None:
            await self._acts(render, ends)

    async def _acts(self, render: Render, ends: float) -> None:
        """Wait for what is to come, then do the steps. What never comes is named in `late`."""
        acting = Acting(
            self._page,
            ends,
            render.human,
            lambda: self._quiet(QUIET, min(ends, time.monotonic() + MORE)),
            lambda: self._quiet(IDLE, ends),
            lambda: self._scroll(ends),
        )
        waits: tuple[Step, ...] = () if render.wait in ("load", "idle") else (Step("wait", render.wait),)
        waits += (Step("until", render.until),) if render.until else ()
        waits += (Step("scroll"),) if render.scroll else ()
        steps = waits + render.steps
        for place, step in enumerate(steps):
            self._watch.follows = place >= len(waits)
            self.late = _missing(step)
            await acting.do((step,))
        self.late = ""

    def url(self, asked: str) -> str:
        """Where steps led, else what was asked for."""
        now = str(self._page.url).partition("#")[0]
        return now if self._watch.follows and now.startswith(("http://", "https://")) else asked

    async def read(self, most: int) -> tuple[bytes | int, str]:
        """The document now, in UTF-8, or its length when it is over `most` characters; the protocol as `h2`."""
        frames = Frames(self._tab, self._watch.blocks)
        text, protocol = await frames.read(script(), most, max(self._ends - time.monotonic(), self._spare))
        if isinstance(text, int):
            return text, protocol
        body: bytes = text.encode("utf-8", "replace")
        # a mark, for the headers and the document may name the encoding in which it came
        return body if body.isascii() else b"\xef\xbb\xbf" + body, protocol

    def _come(self, frame: Any) -> None:
        if frame == self._page.main_frame:
            self._there = self._loading = True

    def _loaded(self, _: Any) -> None:
        self._loading, self._changed = False, time.monotonic()
        if self._there:  # else it is the last page's
            self._watch.away.set()

    def _begun(self, request: Any) -> None:
        if request.resource_type not in _ENDLESS:
            self._under_way.add(request)
            self._changed = time.monotonic()

    def _over(self, request: Any) -> None:
        self._under_way.discard(request)
        self._changed = time.monotonic()

    async def _quiet(self, seconds: float, ends: float) -> None:
        """Until no request was under way for so long, nor a document that a step led to, or `ends`."""
        while (now := time.monotonic()) < ends and self._watch.target is None:
            if (
                not self._under_way
                and not (self._loading and self._watch.follows)
                and now - self._changed >= seconds
            ):
                return
            await asyncio.sleep(POLL)

    async def _scroll(self, ends: float) -> None:
        """To the end, as long as it grows."""
        before = -1.0
        for _ in range(STEPS):
            height = await self._page.evaluate(
                "() => { const top = document.scrollingElement; if (!top) return 0;"
                " window.scrollTo(0, top.scrollHeight); return top.scrollHeight; }"
            )
            if height == before or time.monotonic() >= ends:
                return
            before = height
            self._changed = time.monotonic()
            await self._quiet(IDLE, ends)


def _missing(step: Step) -> str:
    """What is said where it takes too long."""
    if step.act == "pause":
        return f"no time was left for a pause of {step.what} s"
    return f"{step.what[:100]} never was true" if step.act == "until" else f"the page has no {step.what}"


@lru_cache(1)
def script() -> str:
    """What reads a document."""
    return resources.files("gossamer.collectors.browser").joinpath("rendered.js").read_text("utf-8")
