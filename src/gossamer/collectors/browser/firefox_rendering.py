"""Loads and reads a page in Firefox by WebDriver BiDi, as `tab.Rendering` does for Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gossamer.collectors.browser.bidi_connection import BidiError
from gossamer.collectors.browser.firefox_frames import GeckoFrames
from gossamer.collectors.browser.firefox_requests import MARK, SOON
from gossamer.collectors.browser.tab import IDLE_S as STILL
from gossamer.collectors.browser.tab import (
    MAX_RESPONSES,
    QUIET_S,
    Rendering,
    Watch,
    quiet_until,
)
from gossamer.model.rendering import Render


class GeckoRendering(Rendering):
    """Loads and reads a page through BiDi events, as `Rendering` does for Chromium."""

    frames = GeckoFrames
    _tab: Any

    def __init__(self, tab: Any, watch: Watch, wire: int, received: Callable[[], int]) -> None:
        self._tab, self._page, self._watch = tab, tab, watch
        self._wire, self._received, self.told = wire, received, list[str]()
        self._under_way: set[Any] = set()
        self._changed = time.monotonic()
        self.late, self._there, self._loading = "", True, False
        self._ends, self._spare, self._render = 0.0, 0.0, Render()
        self.responses = deque[str](maxlen=MAX_RESPONSES)
        self._marked = asyncio.Event()
        tab.hears = {
            "network.beforeRequestSent": self._asks,
            "network.responseCompleted": self._has,
            "network.fetchError": self._has,
            "browsingContext.load": self._came,
        }

    async def handles_routes(self) -> bool:
        """Returns False, because WebDriver BiDi does not list event listeners."""
        return False

    def route(self, asked: str) -> str:
        """Returns the requested URL. In Firefox, gossamer does not track how a page changes the fragment of
        its URL."""
        return asked

    async def load(self, url: str, render: Render, ends: float) -> None:
        """Opens the URL, then waits until the conditions of `render` are met, or until the monotonic time
        `ends`. Raises BidiError if there is no document."""
        began = time.monotonic()
        self._ends, self._spare = ends, (ends - began) / 8
        await self._tab.wire.send("browsingContext.navigate", context=self._tab.frame, url=url, wait="none")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout((ends - time.monotonic()) / 2):
                await self._watch.away.wait()
        if self._watch.target is None and self._watch.raw is None:
            await self._hears()
        idle = render.wait == "idle"
        await self._quiet(
            STILL if idle else QUIET_S, ends if idle else quiet_until(began, ends, self._watch.away.is_set())
        )
        if self._watch.target is None and self._watch.raw is None:
            await self._acts(render, ends)

    async def _hears(self) -> None:
        """Waits until the events of the page's requests have arrived. Some of these events may arrive later
        than the load event."""
        self._marked.clear()
        with contextlib.suppress(BidiError, TimeoutError):
            async with asyncio.timeout(SOON):
                await self._tab.evaluate(f"() => {{ fetch({MARK!r}, {{mode: 'no-cors'}}).catch(() => 0); }}")
                await self._marked.wait()

    def _asks(self, params: dict[str, Any]) -> None:
        if params["request"]["url"] == MARK:
            return self._marked.set()
        if (
            not params["request"]["url"].startswith("data:")
            and params["request"].get("initiatorType") != "beacon"
        ):
            self._under_way.add(params["request"]["request"])
            self._changed = time.monotonic()
        return None

    def _has(self, params: dict[str, Any]) -> None:
        if "response" in params:
            self.responses.append(params["request"]["url"])
        self._under_way.discard(params["request"]["request"])
        self._changed = time.monotonic()

    def _came(self, params: dict[str, Any]) -> None:
        if (
            params["context"] == self._tab.frame
            and self._watch.main is not None
            and not getattr(self._watch, "whole", False)
        ):
            self._watch.away.set()
