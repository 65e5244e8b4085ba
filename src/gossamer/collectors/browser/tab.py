"""A tab of a context: one page after another has it; between them it lies still, then blank: nothing of a
page acts when it is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from playwright.async_api import Error

from gossamer.collectors.browser.fingerprint import CORES, Worn, agent

SOON = 5.0
"""Seconds that a page lies still where nobody wants the tab; to make it blank at once costs a third of a
page."""
BLANK, END = 3.0, 5.0
"""Seconds in which a tab is still, or blank, again; else it is closed, which may take so long."""


class TabListener(Protocol):
    """What hears of a page while it has the tab."""

    def paused(self, event: dict[str, Any]) -> None:
        """A request waits (CDP `Fetch.requestPaused`)."""


class Tab:
    """Listens once for as long as it lives; `watch` and `hears` are the page's that has it now."""

    def __init__(self, page: Any, cdp: Any) -> None:
        self.page, self.cdp = page, cdp
        self.frame = ""
        self.watch: TabListener | None = None
        self.hears: dict[str, Callable[[Any], None]] = {}
        self._heard: set[str] = set()
        self._patterns: Sequence[dict[str, str]] = ()
        self._hosts: tuple[str, ...] = ()
        self._crashed = self._still = self._blanking = False
        self._blank: asyncio.Task[None] | None = None
        self._sent: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, context: Any, worn: Worn | None = None) -> Tab:
        """A new one, which wears an identity. Raises Playwright's Error."""
        page = await context.new_page()
        tab = cls(page, await context.new_cdp_session(page))
        tree = await tab.cdp.send("Page.getFrameTree")
        tab.frame = tree["frameTree"]["frame"]["id"]
        await tab.cdp.send("Network.enable")
        tab.cdp.on("Fetch.requestPaused", tab._paused)
        if worn is not None:
            await tab.cdp.send("Emulation.setUserAgentOverride", agent(worn))
            await tab.cdp.send("Emulation.setHardwareConcurrencyOverride", {"hardwareConcurrency": CORES})
        page.on("crash", tab._crash)
        return tab

    async def catch(self, patterns: Sequence[dict[str, str]], hosts: tuple[str, ...]) -> None:
        """Which requests wait for `watch` (CDP `Fetch.enable`), and from which hosts nothing is loaded."""
        if hosts != self._hosts:
            urls = [
                f"*://{star}{host}{port}/*" for host in hosts for star in ("", "*.") for port in ("", ":*")
            ]
            await self.cdp.send("Network.setBlockedURLs", {"urls": urls})
            self._hosts = hosts
        if patterns != self._patterns:
            await self.cdp.send("Fetch.enable", {"patterns": patterns})
            self._patterns = patterns

    async def rest(self) -> bool:
        """The page is over: no script of it runs any more, and soon the tab is blank; whether it can be had
        again.

        Raises TimeoutError where the browser does not let go of it.
        """
        self.watch, self.hears = None, {}
        if not self._crashed and not self.page.is_closed():
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(BLANK):
                    await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": True})
                    await self.cdp.send("Page.stopLoading")
                    self._still = True
                    self._blank = asyncio.ensure_future(self._later())
                    return True
        await self.close()
        return False

    async def ready(self) -> bool:
        """A page wants it; whether it can have it."""
        if self._blank is not None:
            if self._blanking:
                await asyncio.wait([self._blank])
            self._blank.cancel()
            self._blank = None
        return not self._crashed and not self.page.is_closed()

    async def wake(self) -> None:
        """The next page's document is about to come: scripts run again."""
        if self._still:
            await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": False})
            self._still = False

    async def _later(self) -> None:
        """Blank, when nobody wanted it for a while: what lies there costs nothing."""
        await asyncio.sleep(SOON)
        self._blanking = True
        try:
            async with asyncio.timeout(BLANK):
                await self.page.goto("about:blank", timeout=0)
                await self.wake()
        except (Error, TimeoutError):
            self._crashed = True
        finally:
            self._blanking = False

    async def close(self) -> None:
        """Let go of it. Raises TimeoutError."""
        if self._blank is not None:
            self._blank.cancel()
        async with asyncio.timeout(END):
            await self.page.close()

    def listen(self, hears: dict[str, Callable[[Any], None]]) -> None:
        """The page that has the tab hears these, too."""
        for name in hears:
            if name not in self._heard:
                self._heard.add(name)
                self.page.on(name, self._hearer(name))
        self.hears |= hears

    def _hearer(self, name: str) -> Callable[[Any], None]:
        def hear(what: Any) -> None:
            if call := self.hears.get(name):
                call(what)

        return hear

    def _paused(self, event: dict[str, Any]) -> None:
        if self.watch is not None:
            self.watch.paused(event)
            return
        task = asyncio.ensure_future(self._refuse(event))  # a page that is over asks for nothing
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    async def _refuse(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(Error):
            await self.cdp.send(
                "Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "Aborted"}
            )

    def _crash(self, _page: Any) -> None:
        self._crashed = True
