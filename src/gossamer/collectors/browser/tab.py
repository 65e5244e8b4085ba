"""Controls a tab of a Chromium context. Loads a page in the tab, waits, scrolls and reads the page. The tab
loads one page after another. The scripts of a finished page are stopped, and the tab is navigated to
about:blank if no other page needs the tab. If a page redirects, or if its script opens another page, the URL
of the other page is returned. Only the steps of a page, such as clicks, may open another page in the browser
itself. Content other than HTML is read as received. Images, fonts and media are loaded only if the settings
require them. The content of each frame is inserted into the document at the frame's place. A frame of the
same origin is read together with the page. A frame of another origin is read in its own process. Frames that
hang, fail, are too large, are blocked or would break the document are left out. If the settings require them,
responses to scripts, console lines and a screenshot are captured, all within limits.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from playwright.async_api import Error
from turbohtml import parse

from gossamer.collectors.browser.actions import StepRunner
from gossamer.collectors.browser.fingerprint import CORES, BrowserFingerprint, user_agent_override
from gossamer.collectors.http.transfer import ACCEPT
from gossamer.config.redaction import mask
from gossamer.model.page import Captured, Headers
from gossamer.model.rendering import SHOTS, Render, Step
from gossamer.model.request import Request, split
from gossamer.url.patterns import found
from gossamer.url.routes import route_of, same_route, with_route

ROUTE_EVENTS = ("hashchange", "popstate")
"""The window events to which JavaScript routers listen if they use URL fragments."""
MAX_FRAMES, MAX_SEARCHED_FRAMES, MAX_FRAME_BYTES, FRAMES_TIMEOUT_S = 32, 128, 2 << 20, 2.0
"""MAX_FRAMES is the maximum number of frames of other origins that are read per page. MAX_SEARCHED_FRAMES is
the maximum number of frames of a page that are examined. MAX_FRAME_BYTES is the maximum number of characters
of one frame. FRAMES_TIMEOUT_S is the maximum number of seconds for reading all frames of a page."""
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


class Frames:
    """Reads the frames of one page. `blocks`: a function that returns whether a URL is blocked."""

    def __init__(self, tab: Tab, blocks: Callable[[str], bool]) -> None:
        self._tab, self._blocks = tab, blocks
        self._mark = secrets.token_hex(8)
        self._places = re.compile(f'<div data-frame="{self._mark}(\\d+)"></div>')
        self._script, self._left, self._ends = "", MAX_FRAMES, 0.0
        self._sessions: dict[str, Any] = {}

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
        await asyncio.gather(*(self._attach(frame) for frame in self._tab.page.frames[1:MAX_SEARCHED_FRAMES]))
        held = await self._within(self._tab.cdp, world, count)
        return self._whole(FrameContent(text, held), most), protocol

    async def _document(
        self, cdp: Any, frame: str, most: int, inner: bool = False
    ) -> tuple[str | int, str, int, int]:
        """Runs the reading script in a frame. Returns four values. The first value is the frame's text, or
        the text's length if the text is too long. The second value is the protocol of the page, or the URL of
        an inner frame. The third value is the number of inner frames. The fourth value is the id of the
        isolated world in which the script ran."""
        world = (await cdp.send("Page.createIsolatedWorld", {"frameId": frame}))["executionContextId"]
        told: dict[str, Any] = {"contextId": world, "returnByValue": True}
        told["expression"] = f"({self._script})({most}, {self._mark!r}, {str(inner).lower()})"
        if inner:
            told["timeout"] = FRAMES_TIMEOUT_S * 1000
        found = await cdp.send("Runtime.evaluate", told)
        text, protocol, count = found["result"]["value"]
        return text, protocol, count, world

    async def _attach(self, frame: Any) -> None:
        """Opens a CDP session for a frame that has its own process. The session ends when the frame is
        removed."""
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout_at(self._ends):
                session = await self._tab.page.context.new_cdp_session(frame)
                told = await session.send("Target.getTargetInfo")
                self._sessions[told["targetInfo"]["targetId"]] = session

    async def _within(self, cdp: Any, world: int, count: int) -> dict[int, FrameContent]:
        """Returns the contents of a document's frames, by number. The caller must first run the reading
        script in the document."""
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
        """Returns the content of the frame in a frame element, or None if the frame is left out."""
        try:
            async with asyncio.timeout_at(self._ends):
                frame = (await cdp.send("DOM.describeNode", {"objectId": element}))["node"]["frameId"]
                cdp = self._sessions.get(frame, cdp)
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


MAX_CAPTURED_RESPONSES, MAX_CONSOLE_LINES, MAX_LINE_CHARS = 50, 20, 300
"""The maximum numbers of captured responses, of console lines, and of characters per line."""
SAID = ("log", "info", "warning", "error", "assert", "debug")
"""The types of console messages that a page's scripts write. Console messages of other types come from the
browser, for example a message about a blocked request."""
RESPONSES_TIMEOUT_S = 5.0
"""Seconds for which a loaded page waits for captured responses that are still arriving."""


class Capture:
    """Captures responses, console lines and a screenshot of one page. `most`: the maximum total size of the
    captured responses, in bytes. `folder`: the folder for screenshots."""

    def __init__(self, tab: Any, render: Render, most: int, folder: Path | None) -> None:
        self._tab, self._render, self._left, self._folder = tab, render, most, folder
        self._under_way: list[asyncio.Task[Captured | None]] = []
        self.console: list[str] = []
        self.captured: tuple[Captured, ...] = ()
        self.screenshot: str | None = None
        hears: dict[str, Callable[[Any], None]] = {}
        if render.capture:
            hears["response"] = self._answer
        if render.console:
            hears |= {"console": self._said, "pageerror": self._broke}
        tab.listen(hears)

    async def end(self) -> None:
        """Collects the captured responses and takes the screenshot. Responses that do not arrive in time are
        left out."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=RESPONSES_TIMEOUT_S)
            found = [task.result() for task in self._under_way if task.done() and not task.cancelled()]
            self.captured = tuple(one for one in found if one is not None)
        if self._render.screenshot and self._folder is not None:
            with contextlib.suppress(Error):
                picture = await self._picture(self._render.screenshot)
                self.screenshot = await asyncio.to_thread(save_screenshot, picture, self._folder)

    def close(self) -> None:
        """Stops capturing."""
        for task in self._under_way:
            task.cancel()

    async def _picture(self, what: str) -> bytes:
        page, patience = self._tab.page, RESPONSES_TIMEOUT_S * 1000
        if what in SHOTS:
            shot: bytes = await page.screenshot(full_page=what == "full", timeout=patience)
        else:
            shot = await page.locator(what).first.screenshot(timeout=patience)
        return shot

    def _answer(self, response: Any) -> None:
        if (
            response.request.resource_type in ("xhr", "fetch")
            and len(self._under_way) < MAX_CAPTURED_RESPONSES
            and any(found(one, response.url, on_timeout=False) for one in self._render.capture)
        ):
            self._under_way.append(asyncio.ensure_future(self._body(response)))

    async def _body(self, response: Any) -> Captured | None:
        with contextlib.suppress(Error):  # a closed page has no response bodies
            if int(response.headers.get("content-length", 0)) > self._left:
                return None
            body = await response.body()
            if len(body) <= self._left:
                self._left -= len(body)
                return Captured(response.url, response.status, response.headers.get("content-type", ""), body)
        return None

    def _said(self, message: Any) -> None:
        if message.type in SAID and "ERR_BLOCKED_BY_CLIENT" not in message.text:
            self._line(f"{message.type}: {message.text}")

    def _broke(self, error: Any) -> None:
        self._line(f"exception: {error}")

    def _line(self, text: str) -> None:
        if len(self.console) < MAX_CONSOLE_LINES:
            self.console.append(mask(" ".join(text.split()))[:MAX_LINE_CHARS])


def save_screenshot(picture: bytes, folder: Path) -> str:
    """Stores a screenshot and returns the path of its file. The file's name is a hash of the content. Raises
    OSError."""
    path = folder / f"{hashlib.blake2b(picture, digest_size=16).hexdigest()}.png"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_bytes(picture)
        aside.replace(path)
    return str(path)


KINDS = {"images": "Image", "fonts": "Font", "media": "Media"}
REDIRECTS = (301, 302, 303, 307, 308)
HTML = ("", "text/html", "application/xhtml+xml")
MAX_RELOADS = 3
"""The maximum number of times that a page may reload itself, for example after it has checked whether scripts
run."""
MAX_NAVIGATIONS = 20
"""The maximum number of documents that steps may open."""


class Watch:
    """Handles the requests of one page. `fresh`: whether the page's browser context has no cache yet. `main`:
    the status and headers of the main document. `raw`: the body of content other than HTML. `target`: the URL
    that the page's scripts open instead of the page, or None. `away`: an event that is set when the document
    has loaded, or when `target` gets a value. `refused`: the main document's content type if the type was
    refused, otherwise ''."""

    def __init__(self, tab: Tab, request: Request, headers: Mapping[str, str], fresh: bool) -> None:
        self._tab, self._cdp, self._request = tab, tab.cdp, request
        self._headers = {name: value for name, value in headers.items() if name.lower() != "cookie"}
        if not fresh:
            self._headers = {"Cache-Control": "no-cache"} | self._headers
        self._first = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked = 0
        self.asked_at = 0.0
        self.main: tuple[int, Headers] | None = None
        self.raw: bytes | None = None
        self.refused = ""
        self._blocked: tuple[str, ...] = ()
        self.follows = False
        """Whether a step in this tab may navigate to other pages of the same host."""
        self.target: str | None = None
        self.away = asyncio.Event()

    async def start(self, render: Render) -> None:
        """Starts to intercept the page's requests."""
        self._tab.watch, self._blocked = self, render.block
        stages = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
        blocked = [{"resourceType": kind} for word, kind in KINDS.items() if word not in render.load]
        blocked.append({"urlPattern": "*/favicon.ico*"})
        await self._tab.catch(stages + blocked, render.block)

    async def end(self) -> None:
        """Stops listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def paused(self, event: dict[str, Any]) -> None:
        """Starts to handle a request that the browser has paused."""
        task = asyncio.ensure_future(self._answer(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, event: dict[str, Any]) -> None:
        """Continues or aborts a paused request. Errors are ignored, because the requests of a closed page
        need no decision."""
        try:
            if event["resourceType"] != "Document" or (
                event.get("frameId") != self._tab.frame and self.blocks(event["request"]["url"])
            ):
                await self._fail(event, "BlockedByClient")
            elif event.get("frameId") != self._tab.frame or "responseErrorReason" in event:
                await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            elif "responseStatusCode" in event:
                await self._response(event)
            else:
                await self._document(event)
        except Error:
            pass

    def blocks(self, url: str) -> bool:
        """Returns whether a URL's host is blocked. This check is needed in addition to Chromium's own block
        list. Chromium's list does not apply to the documents of frames, or to requests of frames that have
        their own process."""
        host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        return any(host == one or host.endswith(f".{one}") for one in self._blocked)

    async def _document(self, event: dict[str, Any]) -> None:
        """Handles a request of the main frame for a document. gossamer itself causes the first request.
        Reloads of the same URL are allowed, up to a limit. During the page's steps, requests for other pages
        of the host are allowed, up to a limit. All other requests are aborted. If the page requests another
        URL by GET, this URL is returned as a redirect."""
        asked = event["request"]
        url = asked["url"].partition("#")[0]
        self._first = self._first or url
        if self.follows and split(url)[:2] == split(self._first)[:2] and self.asked < MAX_NAVIGATIONS:
            self.asked += 1
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            return
        if (again := self.asked > 0) and (url != self._first or self.asked > MAX_RELOADS):
            if asked["method"] == "GET" and url != self._first:
                self.target = self.target or url
                self.away.set()
            await self._fail(event, "Aborted")
            return
        self.asked += 1
        given = {name.lower() for name in self._headers}
        headers = {
            name: value for name, value in asked["headers"].items() if name.lower() not in given
        } | self._headers
        change: dict[str, Any] = {
            "headers": [{"name": name, "value": value} for name, value in headers.items()]
        }
        if not again:
            change["method"] = self._request.method
            if self._request.body is not None:
                change["postData"] = base64.b64encode(
                    self._request.body.encode("utf-8", "surrogatepass")
                ).decode()
        await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"], **change})
        self.asked_at = time.perf_counter()

    async def _response(self, event: dict[str, Any]) -> None:
        """Handles the main document's response. HTML is loaded by the browser. A redirect is followed during
        the page's steps, and otherwise returned to the caller. The body of other accepted content is read as
        received. All other responses are refused."""
        # the host has received the request by now, so the delay before the next request begins here
        self.asked_at = time.perf_counter()
        headers = [(one["name"].lower(), one["value"]) for one in event.get("responseHeaders", ())]
        status = int(event["responseStatusCode"])
        self.main = status, headers
        found = dict(reversed(headers))
        kind = found.get("content-type", "").partition(";")[0].strip().lower()
        if status in REDIRECTS and "location" in found and self.follows:
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
        elif status in REDIRECTS and "location" in found:
            await self._fail(event, "Aborted")
        elif kind in HTML and "attachment" not in found.get("content-disposition", ""):
            await self._tab.wake()
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
        elif kind.startswith(ACCEPT) or "+xml" in kind or "+json" in kind:
            got = await self._cdp.send("Fetch.getResponseBody", {"requestId": event["requestId"]})
            self.raw = base64.b64decode(got["body"]) if got["base64Encoded"] else got["body"].encode()
            await self._fail(event, "Aborted")
        else:
            self.refused = kind
            await self._fail(event, "Aborted")

    async def _fail(self, event: dict[str, Any], reason: str) -> None:
        await self._cdp.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": reason})


QUIET_S, QUIET_TIMEOUT_S = 0.05, 3.0
"""QUIET_S is the number of seconds without open requests after which a loaded page counts as quiet.
QUIET_TIMEOUT_S is the maximum number of seconds to wait for a quiet page after the load event."""
IDLE_S = 0.5
POLL_INTERVAL_S = 0.01
MAX_SCROLLS = 100
"""The maximum number of scrolls."""
_ENDLESS = ("eventsource", "websocket", "ping", "media")


class Rendering:
    """Loads and reads one page. `watch` handles the page's requests."""

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
        """Opens the URL, then waits until the conditions of `render` are met, or until the monotonic time
        `ends`. Raises Playwright's Error if there is no document."""
        self._ends, self._spare = ends, (ends - time.monotonic()) / 8
        await self._page.goto(url, wait_until="commit", timeout=0)
        with contextlib.suppress(TimeoutError):  # if a request hangs, wait for half of the time
            async with asyncio.timeout((ends - time.monotonic()) / 2):
                await self._watch.away.wait()
        if render.wait == "idle":
            await self._quiet(IDLE_S, ends)
        else:
            await self._quiet(QUIET_S, min(ends, time.monotonic() + QUIET_TIMEOUT_S))
        if self._watch.target is None:
            await self._acts(render, ends)

    async def _acts(self, render: Render, ends: float) -> None:
        """Waits until the conditions of `render` are met, then performs the steps of `render`. If a condition
        or step is not completed in time, `late` contains a message about this condition or step."""
        acting = StepRunner(
            self._page,
            ends,
            render.human,
            lambda: self._quiet(QUIET_S, min(ends, time.monotonic() + QUIET_TIMEOUT_S)),
            lambda: self._quiet(IDLE_S, ends),
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
        """Returns the page's URL after the steps, or the requested URL if no steps were performed."""
        now = str(self._page.url).partition("#")[0]
        return now if self._watch.follows and now.startswith(("http://", "https://")) else asked

    async def read(self, most: int) -> tuple[bytes | int, str]:
        """Returns the current document, encoded in UTF-8, and the protocol, such as `h2`. If the document has
        more than `most` characters, returns the document's length instead of the document."""
        frames = Frames(self._tab, self._watch.blocks)
        text, protocol = await frames.read(
            reading_script(), most, max(self._ends - time.monotonic(), self._spare)
        )
        if isinstance(text, int):
            return text, protocol
        body: bytes = text.encode("utf-8", "replace")
        # add a byte order mark, because the headers and the document may name another encoding
        return body if body.isascii() else b"\xef\xbb\xbf" + body, protocol

    async def handles_routes(self) -> bool:
        """Returns whether the page's scripts listen to changes of the URL's fragment."""
        with contextlib.suppress(Error, KeyError):
            window = await self._tab.cdp.send("Runtime.evaluate", {"expression": "window"})
            told = {"objectId": window["result"]["objectId"]}
            heard = await self._tab.cdp.send("DOMDebugger.getEventListeners", told)
            return any(one["type"] in ROUTE_EVENTS for one in heard["listeners"])
        return False

    def route(self, asked: str) -> str:
        """Returns the URL with the route (fragment) that the page now shows. Returns the requested URL if the
        page still shows the requested route, if it shows no route, or if it shows another document."""
        document = asked.partition("#")[0]
        now = str(self._page.url)
        if now.partition("#")[0] != document or not route_of(now) or same_route(now, asked):
            return asked
        return with_route(document, now)

    def _come(self, frame: Any) -> None:
        if frame == self._page.main_frame:
            self._there = self._loading = True

    def _loaded(self, _: Any) -> None:
        self._loading, self._changed = False, time.monotonic()
        if self._there:  # otherwise, the event belongs to the previous page's document
            self._watch.away.set()

    def _begun(self, request: Any) -> None:
        if request.resource_type not in _ENDLESS:
            self._under_way.add(request)
            self._changed = time.monotonic()

    def _over(self, request: Any) -> None:
        self._under_way.discard(request)
        self._changed = time.monotonic()

    async def _quiet(self, seconds: float, ends: float) -> None:
        """Waits until the page has had no open requests and no loading documents for `seconds`, or until the
        monotonic time `ends`. Returns early if a script opens another page."""
        while (now := time.monotonic()) < ends and self._watch.target is None:
            if (
                not self._under_way
                and not (self._loading and self._watch.follows)
                and now - self._changed >= seconds
            ):
                return
            await asyncio.sleep(POLL_INTERVAL_S)

    async def _scroll(self, ends: float) -> None:
        """Scrolls to the bottom repeatedly until the page stops growing."""
        before = -1.0
        for _ in range(MAX_SCROLLS):
            height = await self._page.evaluate(
                "() => { const top = document.scrollingElement; if (!top) return 0;"
                " window.scrollTo(0, top.scrollHeight); return top.scrollHeight; }"
            )
            if height == before or time.monotonic() >= ends:
                return
            before = height
            self._changed = time.monotonic()
            await self._quiet(IDLE_S, ends)


def _missing(step: Step) -> str:
    """Returns the message about a step that was not completed in time."""
    if step.act == "pause":
        return f"no time was left for a pause of {step.what} s"
    return f"{step.what[:100]} never became true" if step.act == "until" else f"the page has no {step.what}"


@lru_cache(1)
def reading_script() -> str:
    """Returns the JavaScript that reads a document."""
    return resources.files("gossamer.collectors.browser").joinpath("rendered.js").read_text("utf-8")


KEPT_PAGE_S = 5.0
"""Seconds for which a finished page stays in the tab if no other page needs the tab. Navigating the tab to
about:blank immediately would take a third of the time that a page takes."""
BLANK_TIMEOUT_S, CLOSE_TIMEOUT_S = 3.0, 5.0
"""BLANK_TIMEOUT_S is the maximum number of seconds for stopping a tab's scripts, and for navigating the tab
to about:blank. CLOSE_TIMEOUT_S is the number of seconds within which a tab must close."""


class TabListener(Protocol):
    """Handles the paused requests of the page that uses the tab."""

    def paused(self, event: dict[str, Any]) -> None:
        """Handles a paused request (CDP `Fetch.requestPaused`)."""


class Tab:
    """A tab of the browser. The tab registers only one handler per event, which calls the current page's
    handler. `watch`: the object that handles the page's paused requests. `hears`: the page's event handlers,
    by event name."""

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
    async def open(cls, context: Any, worn: BrowserFingerprint | None = None) -> Tab:
        """Opens a tab that shows the fingerprint `worn`. Raises Playwright's Error."""
        page = await context.new_page()
        tab = cls(page, await context.new_cdp_session(page))
        tree = await tab.cdp.send("Page.getFrameTree")
        tab.frame = tree["frameTree"]["frame"]["id"]
        await tab.cdp.send("Network.enable")
        tab.cdp.on("Fetch.requestPaused", tab._paused)
        if worn is not None:
            await tab.cdp.send("Emulation.setUserAgentOverride", user_agent_override(worn))
            await tab.cdp.send("Emulation.setHardwareConcurrencyOverride", {"hardwareConcurrency": CORES})
        page.on("crash", tab._crash)
        return tab

    async def catch(self, patterns: Sequence[dict[str, str]], hosts: tuple[str, ...]) -> None:
        """Makes the browser pause the requests that match `patterns` (CDP `Fetch.enable`), and blocks the
        hosts in `hosts`."""
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
        """Frees the tab after a page has used it. Stops the page's scripts, and navigates the tab to
        about:blank after a few seconds. Returns whether other pages can use the tab. Raises TimeoutError if
        the tab cannot be closed."""
        self.watch, self.hears = None, {}
        if not self._crashed and not self.page.is_closed():
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(BLANK_TIMEOUT_S):
                    await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": True})
                    await self.cdp.send("Page.stopLoading")
                    self._still = True
                    self._blank = asyncio.ensure_future(self._later())
                    return True
        await self.close()
        return False

    async def leave(self, url: str) -> None:
        """Navigates the tab to about:blank if `url` has a fragment and the tab already shows the document at
        `url`. Without this step, the browser would only change the fragment and not load the document
        again."""
        if "#" in url and str(self.page.url).partition("#")[0] == url.partition("#")[0]:
            await self.page.goto("about:blank", timeout=BLANK_TIMEOUT_S * 1000)

    async def ready(self) -> bool:
        """Prepares the tab for the next page, and cancels a planned navigation to about:blank. Returns
        whether the next page can use the tab."""
        if self._blank is not None:
            if self._blanking:
                await asyncio.wait([self._blank])
            self._blank.cancel()
            self._blank = None
        return not self._crashed and not self.page.is_closed()

    async def wake(self) -> None:
        """Enables scripts again for the next page."""
        if self._still:
            await self.cdp.send("Emulation.setScriptExecutionDisabled", {"value": False})
            self._still = False

    async def _later(self) -> None:
        """Navigates the tab to about:blank if no other page has used the tab for a few seconds. A blank tab
        uses no CPU time."""
        await asyncio.sleep(KEPT_PAGE_S)
        self._blanking = True
        try:
            async with asyncio.timeout(BLANK_TIMEOUT_S):
                await self.page.goto("about:blank", timeout=0)
                await self.wake()
        except (Error, TimeoutError):
            self._crashed = True
        finally:
            self._blanking = False

    async def close(self) -> None:
        """Closes the tab. Raises TimeoutError."""
        if self._blank is not None:
            self._blank.cancel()
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await self.page.close()

    def listen(self, hears: dict[str, Callable[[Any], None]]) -> None:
        """Adds event handlers for the page that uses the tab."""
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
        task = asyncio.ensure_future(self._refuse(event))  # no page uses the tab, so the request is refused
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    async def _refuse(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(Error):
            await self.cdp.send(
                "Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "Aborted"}
            )

    def _crash(self, _page: Any) -> None:
        self._crashed = True
