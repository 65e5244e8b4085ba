"""Reads the frames of a page in a tab, and inserts the content of each frame into the document at the frame's
place. A frame of the same origin is read together with the page, and a frame of another origin is read in its
own process. Frames that hang, fail, are too large, are blocked or would break the document are left out."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from playwright.async_api import Error
from turbohtml import parse

MAX_FRAMES, MAX_SEARCHED_FRAMES, MAX_FRAME_BYTES, FRAMES_TIMEOUT_S = 32, 128, 2 << 20, 2.0
"""MAX_FRAMES is the maximum number of frames of other origins that are read per page. MAX_SEARCHED_FRAMES is
the maximum number of frames of a page that are examined. MAX_FRAME_BYTES is the maximum number of characters
of one frame. FRAMES_TIMEOUT_S is the maximum number of seconds for reading all frames of a page."""
WORLD = "gossamer"
"""The name of the isolated world in which gossamer's scripts run. The page's scripts cannot change this
world."""
_CAPTCHAS = re.compile(
    r"https?://(?:(?:challenges\.cloudflare|(?:[\w-]+\.)*(?:hcaptcha|arkoselabs|captcha-delivery))\.com[:/]"
    r"|www\.(?:google\.com|recaptcha\.net)/recaptcha/)"
)
"""Matches the URLs of captcha frames. gossamer does not read captcha frames, because they contain no useful
text, and block detection uses only the text of the page itself."""

_MERGED, MERGES = re.compile(r"<(?:body|html)[\s/]", re.IGNORECASE), 16
"""_MERGED matches the start tags `body` and `html`, which an HTML parser merges into the page's own tags. A
frame with more than MERGES of these tags is left out, because merging takes time."""


class FrameContent(NamedTuple):
    """The content of a frame. `text`: the frame's HTML, with numbered placeholders for inner frames.
    `frames`: the contents of the inner frames, by number."""

    text: str
    frames: dict[int, FrameContent]


class HasFrames(Protocol):
    """A tab with a page. `cdp`: the session of the Chrome DevTools Protocol. `page`: Playwright's page.
    `frame`: the ID of the main frame. `sessions`: the sessions of frames that have their own process, by the ID of
    the frame."""

    cdp: Any
    page: Any
    frame: str
    sessions: dict[str, Any]


class Frames:
    """Reads the frames of one page. `blocks`: a function that returns whether a URL is blocked."""

    def __init__(self, tab: HasFrames, blocks: Callable[[str], bool]) -> None:
        self._tab, self._blocks = tab, blocks
        self._mark = secrets.token_hex(8)
        self._places = re.compile(f'<div data-frame="{self._mark}(\\d+)"></div>')
        self._script, self._left, self._ends = "", MAX_FRAMES, 0.0

    async def read(self, script: str, most: int, seconds: float) -> tuple[str | int, str]:
        """Reads the document with the reading script. Returns the document and the protocol, such as `h2`. If
        the document has more than `most` characters, returns the document's length instead of the document.
        Frames are left out if they have not been read within `seconds` or FRAMES_TIMEOUT_S, whichever is
        shorter. Raises Playwright's Error if there is no document."""
        self._script = script
        text, protocol, count, world = await self._document(self._tab.cdp, self._tab.frame, most)
        if isinstance(text, int) or not count:
            return text, protocol
        self._ends = asyncio.get_running_loop().time() + min(seconds, FRAMES_TIMEOUT_S)
        await self._attach_all()
        held = await self._within(self._tab.cdp, world, count)
        return self._whole(FrameContent(text, held), most), protocol

    async def serialized(self) -> str:
        """Returns the document as the browser writes it. Raises Playwright's Error."""
        root = (await self._tab.cdp.send("DOM.getDocument", {"depth": 0}))["root"]["nodeId"]
        return str((await self._tab.cdp.send("DOM.getOuterHTML", {"nodeId": root}))["outerHTML"])

    async def _document(
        self, cdp: Any, frame: str, most: int, inner: bool = False
    ) -> tuple[str | int, str, int, int]:
        """Runs the reading script in a frame. Returns four values. The first value is the frame's text, or
        the text's length if the text is too long. The second value is the protocol of the page, or the URL of
        an inner frame. The third value is the number of inner frames. The fourth value is the id of the
        isolated world in which the script ran."""
        made = await cdp.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})
        world = made["executionContextId"]
        told: dict[str, Any] = {"contextId": world, "returnByValue": True}
        told["expression"] = f"({self._script})({most}, {self._mark!r}, {str(inner).lower()})"
        if inner:
            told["timeout"] = FRAMES_TIMEOUT_S * 1000
        found = await cdp.send("Runtime.evaluate", told)
        if "exceptionDetails" in found:
            raise Error(f"the page cannot be read: {exception_line(found)}")
        text, protocol, count = found["result"]["value"]
        return text, protocol, count, world

    async def _attach_all(self) -> None:
        """Opens sessions for the frames that have their own process."""

        async def attach(frame: Any) -> None:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout_at(self._ends):
                    await attach_frame(self._tab, frame)

        await asyncio.gather(*map(attach, self._tab.page.frames[1:MAX_SEARCHED_FRAMES]))

    async def _within(self, cdp: Any, world: int, count: int) -> dict[int, FrameContent]:
        """Returns the contents of a document's frames, by number. The caller must first run the reading
        script in the document."""
        count = min(count, self._left)
        self._left -= count
        try:
            async with asyncio.timeout_at(self._ends):
                elements = await self._elements(cdp, world, count)
        except (Error, TimeoutError, KeyError):
            return {}
        held = await asyncio.gather(*(self._held(cdp, element) for element in elements.values()))
        return {number: one for number, one in zip(elements, held, strict=True) if one is not None}

    async def _elements(self, cdp: Any, world: int, count: int) -> dict[int, str]:
        """Returns the first `count` frame elements of a document, by number."""
        first = {"expression": f"globalThis[{self._mark!r}].slice(0, {count})", "contextId": world}
        found = (await cdp.send("Runtime.evaluate", first))["result"]["objectId"]
        own = await cdp.send("Runtime.getProperties", {"objectId": found, "ownProperties": True})
        return {
            int(one["name"]): one["value"]["objectId"] for one in own["result"] if one["name"].isdecimal()
        }

    async def _frame_in(self, cdp: Any, element: str) -> tuple[Any, str]:
        """Returns the frame in a frame element: the session of its process, and its ID."""
        frame = (await cdp.send("DOM.describeNode", {"objectId": element}))["node"]["frameId"]
        return self._tab.sessions.get(frame, cdp), frame

    async def _held(self, cdp: Any, element: str) -> FrameContent | None:
        """Returns the content of the frame in a frame element, or None if the frame is left out."""
        try:
            async with asyncio.timeout_at(self._ends):
                cdp, frame = await self._frame_in(cdp, element)
                text, url, count, world = await self._document(cdp, frame, MAX_FRAME_BYTES, True)
        except (Error, TimeoutError, KeyError):
            return None
        if isinstance(text, int) or not text or self._blocks(url) or _CAPTCHAS.match(url):
            return None
        if not await asyncio.to_thread(is_complete_anywhere, text):
            return None
        return FrameContent(text, await self._within(cdp, world, count) if count else {})

    def _whole(self, held: FrameContent, room: int) -> str:
        """Returns the frame's text with the inner frames inserted in order. An inner frame is left out if the
        text would exceed `room` characters. Returns '' if the frame's own text exceeds `room`."""
        parts = self._places.split(held.text)
        room -= sum(map(len, parts[::2]))
        if room < 0:
            return ""
        for place in range(1, len(parts), 2):
            one = held.frames.get(int(parts[place]))
            parts[place] = self._whole(one, room) if one is not None else ""
            room -= len(parts[place])
        return "".join(parts)


async def attach_frame(tab: HasFrames, frame: Any) -> None:
    """Opens a session for a frame that has its own process, unless the tab has one already. A session has its own
    isolated world, so all of gossamer's scripts in a frame use the same session. The session ends when the frame
    is removed or its process changes. Raises Playwright's Error if the frame has no process of its own."""
    session = await tab.page.context.new_cdp_session(frame)
    name = (await session.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
    if await has_session(tab, name):
        await session.detach()
    else:
        tab.sessions[name] = session


async def has_session(tab: HasFrames, name: str) -> bool:
    """Returns whether the tab has a session of a frame that still has the process of the session."""
    with contextlib.suppress(Error, KeyError):
        await tab.sessions[name].send("Target.getTargetInfo")
        return True
    return False


def exception_line(found: dict[str, Any]) -> str:
    """Returns the first line of the exception that CDP's `Runtime.evaluate` reports in its result.

    >>> exception_line({"exceptionDetails": {"text": "Uncaught", "exception": {"description": "Error: no\\n at x"}}})
    'Error: no'
    """
    told = found["exceptionDetails"]
    return str(told.get("exception", {}).get("description") or told.get("text", "")).partition("\n")[0]


def is_complete_anywhere(text: str) -> bool:
    """Returns whether `text` is the HTML of one complete element, which can be inserted anywhere in a page.
    Returns False if the HTML contains elements that affect the whole page, such as `base` or `meta`.

    >>> is_complete_anywhere("<div><p>a</div>"), is_complete_anywhere("<div><!--a</div>")
    (True, False)
    """
    if len(_MERGED.findall(text)) > MERGES:
        return False
    tree = parse(f"{text}<i></i>")
    found = tree.select("body > *")
    return len(found) == 2 and found[1].tag == "i" and not tree.select("base, meta[name], meta[http-equiv]")
