"""Performs steps in a tab of Chromium: runs gossamer's script in the frames of the page, also in frames that have
their own process, and notes the windows and dialogs that the page opens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from playwright.async_api import Error

from gossamer.collectors.browser.frames import WORLD, HasFrames, attach_frame, exception_line, has_session
from gossamer.collectors.browser.human import Gesture

MAX_NOTES = 20
"""The maximum number of windows and dialogs of a page that are noted."""


class HasMouse(HasFrames, Protocol):
    """A tab with a page, a mouse and a keyboard."""

    async def perform(self, gestures: Iterable[Gesture]) -> None:
        """Moves the mouse and presses keys."""


class TabFrame(NamedTuple):
    """A frame of a tab. `cdp`: the session of the process that shows the frame. `name`: the ID of the frame.
    `is_alone`: whether the frame is the topmost frame of its process."""

    cdp: Any
    name: str
    is_alone: bool


class ChromiumStepTab:
    """The steps of a tab of Chromium (`StepTab`)."""

    def __init__(self, tab: HasMouse) -> None:
        self._tab, self.page, self.cdp = tab, tab.page, tab.cdp
        self.notes: list[str] = []

    def listen(self) -> None:
        """Starts to note the windows and dialogs that the page opens."""
        self.cdp.on("Page.windowOpen", self._opens)
        self.cdp.on("Page.javascriptDialogOpening", self._asks)

    async def evaluate(self, function: str, *given: int, frame: TabFrame | None = None) -> Any:
        """Calls a JavaScript function in an isolated world of a frame or of the page, and returns its result.
        Raises Playwright's Error."""
        found = await self._called(f"({function})({', '.join(map(str, given))})", frame, True)
        return found["result"].get("value")

    async def _called(self, expression: str, frame: TabFrame | None, by_value: bool) -> dict[str, Any]:
        cdp, name = (self.cdp, self._tab.frame) if frame is None else frame[:2]
        world = await cdp.send("Page.createIsolatedWorld", {"frameId": name, "worldName": WORLD})
        asked = {"expression": expression, "contextId": world["executionContextId"]}
        found: dict[str, Any] = await cdp.send(
            "Runtime.evaluate", asked | {"returnByValue": by_value, "awaitPromise": True}
        )
        if "exceptionDetails" in found:
            raise Error(exception_line(found))
        return found

    async def frame_of(self, function: str, frame: TabFrame | None = None) -> TabFrame | None:
        """Returns the frame inside of the iframe that a JavaScript function returns, or None if there is no
        frame yet. Raises Playwright's Error."""
        cdp = self.cdp if frame is None else frame.cdp
        found = (await self._called(f"({function})()", frame, False))["result"].get("objectId")
        name = found and (await cdp.send("DOM.describeNode", {"objectId": found}))["node"].get("frameId")
        if not name:
            return None
        with contextlib.suppress(Error):
            await cdp.send("Page.createIsolatedWorld", {"frameId": name, "worldName": WORLD})
            return TabFrame(cdp, name, False)
        # a frame of another origin has its own process and its own session
        if not (found := await has_session(self._tab, name)):
            for one in self.page.frames[1:]:
                with contextlib.suppress(Error):
                    await attach_frame(self._tab, one)
            found = name in self._tab.sessions
        return TabFrame(self._tab.sessions[name], name, True) if found else None

    async def page_value(self, expression: str, frame: TabFrame | None = None) -> Any:
        """Returns the plain value of a JavaScript expression of the page's own scripts. Raises Playwright's
        Error, also for a frame that shares the process of the page."""
        if frame is not None and not frame.is_alone:
            raise Error("the frame has no session")
        cdp = self.cdp if frame is None else frame.cdp
        found = await cdp.send("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        if "exceptionDetails" in found:
            raise Error(exception_line(found))
        return found["result"].get("value")

    async def perform(self, gestures: Iterable[Gesture]) -> None:
        """Moves the mouse and presses keys. Raises Playwright's Error."""
        await self._tab.perform(gestures)

    async def address(self) -> str:
        """Returns the URL that the tab shows."""
        return str(self.page.url)

    async def picture(self) -> bytes:
        """Returns a PNG of the visible part of the page. Raises Playwright's Error."""
        data: bytes = await self.page.screenshot(timeout=0)
        return data

    def _opens(self, event: dict[str, Any]) -> None:
        self._note(f"the page opened a window with {event['url'] or 'about:blank'}, which was closed")

    def _asks(self, event: dict[str, Any]) -> None:
        self._note(
            f"the page opened a dialog ({event['type']}: {event['message'][:80]}), which was dismissed"
        )

    def _note(self, line: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(line)
