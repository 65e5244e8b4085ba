"""Reads the frames of a page in Firefox by WebDriver BiDi, as `frames.Frames` does for Chromium. All frames of a tab
are reached by the connection of the browser, so a session here is the ID of the document's frame."""

from __future__ import annotations

from typing import Any

from gossamer.collectors.browser.bidi_connection import BidiError
from gossamer.collectors.browser.frames import Frames


class GeckoFrames(Frames):
    """Reads the frames of one page."""

    _tab: Any

    async def serialized(self) -> str:
        """See `Frames.serialized`. Raises BidiError."""
        return str(await self._tab.evaluate("() => document.documentElement.outerHTML"))

    async def _attach_all(self) -> None:
        """Does nothing, because frames need no sessions of their own."""

    async def _document(
        self, _session: str | None, frame: str, most: int, inner: bool = False
    ) -> tuple[str | int, str, int, int]:
        reader = f"() => ({self._script})({most}, {self._mark!r}, {str(inner).lower()})"
        text, protocol, count = await self._tab.evaluate(reader, frame=frame)
        return text, protocol, count, 0

    async def _elements(self, _session: str | None, _world: int, count: int) -> dict[int, str]:
        return {number: f"() => globalThis[{self._mark!r}][{number}]" for number in range(count)}

    async def _frame_in(self, session: str | None, element: str) -> tuple[str, str]:
        found = await self._tab.frame_of(element, session)
        if found is None:
            raise BidiError("the frame has no content")
        return found, found
