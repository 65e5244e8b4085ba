"""The document of a tab with what its frames hold: those of its origin it reads itself, each of another
origin is read where it runs, and put in its place. What hangs, fails, is too large, blocked or would not stay
in its place is left out."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from playwright.async_api import Error
from turbohtml import parse

from gossamer.collectors.browser.tab import Tab

MOST, LOOKED, LARGE, SECONDS = 32, 128, 2 << 20, 2.0
"""Frames of other origins of a page that are read, and those among which they are sought; characters of one;
seconds for all."""
_CAPTCHAS = re.compile(
    r"https?://(?:(?:challenges\.cloudflare|(?:[\w-]+\.)*(?:hcaptcha|arkoselabs|captcha-delivery))\.com[:/]"
    r"|www\.(?:google\.com|recaptcha\.net)/recaptcha/)"
)
"""They ask, and have nothing to read: a page with one is judged by its own words."""

_MERGED, MERGES = re.compile(r"<(?:body|html)[\s/]", re.IGNORECASE), 16
"""Start tags that a parser adds to those of the page, at a cost; so many at most."""


class FrameContent(NamedTuple):
    """What a frame holds, with marks where frames in it stand, and what those hold, by number."""

    text: str
    frames: dict[int, FrameContent]


class Frames:
    """Those of one page. `blocks`: whether nothing is to come from a URL."""

    def __init__(self, tab: Tab, blocks: Callable[[str], bool]) -> None:
        self._tab, self._blocks = tab, blocks
        self._mark = secrets.token_hex(8)
        self._places = re.compile(f'<div data-frame="{self._mark}(\\d+)"></div>')
        self._script, self._left, self._ends = "", MOST, 0.0
        self._sessions: dict[str, Any] = {}

    async def read(self, script: str, most: int, seconds: float) -> tuple[str | int, str]:
        """The document, or its length when it is over `most` characters, and its protocol, by the script that
        reads one; its frames within `seconds`. Raises Playwright's Error where there is no document."""
        self._script = script
        text, protocol, count, world = await self._document(self._tab.cdp, self._tab.frame, most)
        if isinstance(text, int) or not count:
            return text, protocol
        self._ends = asyncio.get_running_loop().time() + min(seconds, SECONDS)
        await asyncio.gather(*(self._attach(frame) for frame in self._tab.page.frames[1:LOOKED]))
        held = await self._within(self._tab.cdp, world, count)
        return self._whole(FrameContent(text, held), most), protocol

    async def _document(
        self, cdp: Any, frame: str, most: int, inner: bool = False
    ) -> tuple[str | int, str, int, int]:
        """What the script says of a frame's document, and the world it ran in."""
        world = (await cdp.send("Page.createIsolatedWorld", {"frameId": frame}))["executionContextId"]
        told: dict[str, Any] = {"contextId": world, "returnByValue": True}
        told["expression"] = f"({self._script})({most}, {self._mark!r}, {str(inner).lower()})"
        if inner:
            told["timeout"] = SECONDS * 1000
        found = await cdp.send("Runtime.evaluate", told)
        text, protocol, count = found["result"]["value"]
        return text, protocol, count, world

    async def _attach(self, frame: Any) -> None:
        """A frame with a process of its own has a session of its own, which ends with the frame."""
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout_at(self._ends):
                session = await self._tab.page.context.new_cdp_session(frame)
                told = await session.send("Target.getTargetInfo")
                self._sessions[told["targetInfo"]["targetId"]] = session

    async def _within(self, cdp: Any, world: int, count: int) -> dict[int, FrameContent]:
        """What the frames of a document hold which the script just ran in."""
        count = min(count, self._left)
        self._left -= count
        try:
            async with asyncio.timeout_at(self._ends):
                first = {"expression": f"globalThis[{self._mark!r}].slice(0, {count})", "contextId": world}
                found = (await cdp.send("Runtime.evaluate", first))["result"]["objectId"]
                own = await cdp.send("Runtime.getProperties", {"objectId": found, "ownProperties": True})
        except (Error, TimeoutError, KeyError):
            return {}
        elements = {
            int(one["name"]): one["value"]["objectId"] for one in own["result"] if one["name"].isdecimal()
        }
        held = await asyncio.gather(*(self._held(cdp, element) for element in elements.values()))
        return {number: one for number, one in zip(elements, held, strict=True) if one is not None}

    async def _held(self, cdp: Any, element: str) -> FrameContent | None:
        """What the frame of an element holds."""
        try:
            async with asyncio.timeout_at(self._ends):
                frame = (await cdp.send("DOM.describeNode", {"objectId": element}))["node"]["frameId"]
                cdp = self._sessions.get(frame, cdp)
                text, url, count, world = await self._document(cdp, frame, LARGE, True)
        except (Error, TimeoutError, KeyError):
            return None
        if isinstance(text, int) or not text or self._blocks(url) or _CAPTCHAS.match(url):
            return None
        if not await asyncio.to_thread(fits, text):
            return None
        return FrameContent(text, await self._within(cdp, world, count) if count else {})

    def _whole(self, held: FrameContent, room: int) -> str:
        """A text with those of its frames for which there is room, the first ones first; '' where there is
        none for itself."""
        parts = self._places.split(held.text)
        room -= sum(map(len, parts[::2]))
        if room < 0:
            return ""
        for place in range(1, len(parts), 2):
            one = held.frames.get(int(parts[place]))
            parts[place] = self._whole(one, room) if one is not None else ""
            room -= len(parts[place])
        return "".join(parts)


def fits(text: str) -> bool:
    """Whether HTML of one element ends with it wherever it is put, and says nothing of the page around it.

    >>> fits("<div><p>a</div>"), fits("<div><!--a</div>"), fits("<div><plaintext></div>"), fits("<div><base href=/></div>")
    (True, False, False, False)
    """
    if len(_MERGED.findall(text)) > MERGES:
        return False
    tree = parse(f"{text}<i></i>")
    found = tree.select("body > *")
    return len(found) == 2 and found[1].tag == "i" and not tree.select("base, meta[name], meta[http-equiv]")
