"""Controls a tab of a Chromium context. Loads a page in the tab, waits, scrolls and reads the page. The tab
loads one page after another. The scripts of a finished page are stopped, and the tab is navigated to
about:blank if no other page needs the tab. If a page redirects, or if its script opens another page, the URL
of the other page is returned. Only the steps of a page, such as clicks, may open another page in the browser
itself. Content other than HTML is read as received. Images, fonts and media are loaded only if the settings
require them. The module `frames` reads the frames of a page, and the module `captures` stores responses to
scripts, console lines and screenshots.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Error

from gossamer.collectors.browser.actions import StepRunner
from gossamer.collectors.browser.fingerprint import CORES, BrowserFingerprint, user_agent_override
from gossamer.collectors.browser.frames import WORLD, Frames
from gossamer.collectors.browser.human import LOOK_S, Gesture, look_around
from gossamer.collectors.browser.scrolling import Scroller
from gossamer.collectors.browser.step_elements import StepFailed
from gossamer.collectors.browser.step_tab import ChromiumStepTab
from gossamer.collectors.http.transfer import ACCEPT, content_type_gate
from gossamer.model.content_type import essence
from gossamer.model.page import REDIRECTS, Headers
from gossamer.model.rendering import Render, Scroll, Step
from gossamer.model.request import Request, split
from gossamer.url.routes import route_of, same_route, with_route

ROUTE_EVENTS = ("hashchange", "popstate")
"""The window events to which JavaScript routers listen if they use URL fragments."""
KINDS = {"images": "Image", "fonts": "Font", "media": "Media"}
HTML = ("", "text/html", "application/xhtml+xml")
MAX_RELOADS = 3
"""The maximum number of times that a page may reload itself, for example after it has checked whether scripts
run."""
MAX_REQUESTS = 200
"""The default of the maximum number of requests that a page may make to its own host."""
MAX_NAVIGATIONS = 20
"""The maximum number of documents that steps may open."""


def basic_credentials(headers: Mapping[str, str]) -> str:
    """Returns the value of an `Authorization` header with a user and a password, or ''.

    >>> basic_credentials({"authorization": "Basic eDp5"}), basic_credentials({"Authorization": "Bearer x"})
    ('Basic eDp5', '')
    """
    found = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
    return found if found[:6].lower() == "basic " else ""


class Watch:
    """Handles the requests of one page. `fresh`: whether the page's browser context has no cache yet. `main`:
    the status and headers of the main document. `raw`: the body of content other than HTML. `target`: the URL
    that the page's scripts open instead of the page, or None. `away`: an event that is set when the document
    has loaded, or when `target` gets a value. `refused`: the main document's content type if the type was
    refused, otherwise ''. `own`: the number of requests to the page's own host, except those for the document
    itself. If the page makes more than `most` such requests, the others fail."""

    def __init__(
        self,
        tab: Tab,
        request: Request,
        headers: Mapping[str, str],
        fresh: bool,
        most: int = MAX_REQUESTS,
    ) -> None:
        self._tab, self._cdp, self._request = tab, tab.cdp, request
        self._headers = {name: value for name, value in headers.items() if name.lower() != "cookie"}
        if not fresh:
            self._headers = {"Cache-Control": "no-cache"} | self._headers
        self._first, self._origin = "", split(request.url)[:2]
        self._basic = basic_credentials(headers)
        self.own, self.most = 0, most
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
        self.reloads = False
        """Whether the page still reloaded itself after MAX_RELOADS reloads."""
        self.problem = ""
        """The exception that prevented the handling of a request, or ''."""

    async def start(self, render: Render) -> None:
        """Starts to intercept the page's requests."""
        self._tab.watch, self._blocked = self, render.block
        stages = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
        self._unloaded = {kind for word, kind in KINDS.items() if word not in render.load}
        paused = [{"resourceType": kind} for kind in self._unloaded]
        paused.append({"urlPattern": "*/favicon.ico*"})
        paused.append({"urlPattern": f"{'://'.join(self._origin)}/*"})
        await self._tab.catch(stages + paused, render.block)

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
            url, kind = event["request"]["url"], event["resourceType"]
            main = kind == "Document" and event.get("frameId") == self._tab.frame
            refused = kind in self._unloaded or "/favicon.ico" in url or (not main and self.blocks(url))
            if not (refused or main or event.keys() & {"responseErrorReason", "responseStatusCode"}):
                refused = self.exceeds(url)
            if refused:
                await self._fail(event, "BlockedByClient")
            elif not main or "responseErrorReason" in event:
                await self._continue(event)
            elif "responseStatusCode" in event:
                await self._response(event)
            else:
                await self._document(event)
        except Error:
            pass
        except Exception as error:  # noqa: BLE001 - a request must not stay paused, whatever its URL and headers are
            self.problem = f"{type(error).__name__}: {error}"
            with contextlib.suppress(Error):
                await self._fail(event, "Failed")

    async def _continue(self, event: dict[str, Any]) -> None:
        """Continues a request. A request to the page's origin carries the credentials of the origin, as it
        would after a visitor has typed them. The credentials are not sent to the target of a redirect."""
        change: dict[str, Any] = {}
        asked, answered = event["request"], event.keys() & {"responseErrorReason", "responseStatusCode"}
        if self._basic and not answered and self.may_know(asked["url"], asked["headers"]):
            headers = asked["headers"] | {"Authorization": self._basic}
            change["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
        await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"], **change})

    def may_know(self, url: str, names: Iterable[str]) -> bool:
        """Returns whether a request may carry the credentials of the page's origin. `names`: the names of the
        request's headers."""
        return split(url)[:2] == self._origin and "authorization" not in map(str.lower, names)

    def exceeds(self, url: str) -> bool:
        """Counts a request of the page, except those for its document. Returns whether the page has made too
        many requests to its own host."""
        if not url.startswith("http") or split(url)[:2] != self._origin:
            return False
        self.own += 1
        return self.own > self.most

    def blocks(self, url: str) -> bool:
        """Returns whether a URL's host is blocked. This check is needed in addition to Chromium's own block
        list. Chromium's list does not apply to the documents of frames, or to requests of frames that have
        their own process."""
        host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        return any(host == one or host.endswith(f".{one}") for one in self._blocked)

    def admits(self, url: str, method: str) -> bool:
        """Decides on a request of the main frame for a document. gossamer itself causes the first request.
        Reloads of the same URL are allowed, up to a limit. During the page's steps, requests for other pages
        of the host are allowed, up to a limit. All other requests are refused. If the page requests another
        URL by GET, this URL is returned as a redirect."""
        url = url.partition("#")[0]
        self._first = self._first or url
        if self.follows and split(url)[:2] == split(self._first)[:2] and self.asked < MAX_NAVIGATIONS:
            return True
        if self.asked and (url != self._first or self.asked > MAX_RELOADS):
            if method == "GET" and url != self._first:
                self.target = self.target or url
                self.away.set()
            self.reloads = self.reloads or url == self._first
            return False
        return True

    async def _document(self, event: dict[str, Any]) -> None:
        """Handles a request of the main frame for a document."""
        asked = event["request"]
        if not self.admits(asked["url"], asked["method"]):
            await self._fail(event, "Aborted")
            return
        again = self.asked > 0
        if again and self.follows:
            self.asked += 1
            await self._continue(event)
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
        kind = essence(found.get("content-type"))
        if status in REDIRECTS and "location" in found and self.follows:
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
        elif status in REDIRECTS and "location" in found:
            await self._fail(event, "Aborted")
        elif kind in HTML and "attachment" not in found.get("content-disposition", ""):
            await self._tab.wake()
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
        elif content_type_gate(ACCEPT)(kind):
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
QUIET_TIMEOUT_S is the maximum number of seconds to wait for a quiet page after the load event, or after a step, unless
the page took longer to load."""
IDLE_S = 0.5
UNCHANGED_S = 0.35
"""The number of seconds after which a page counts as built if its scripts add nothing to it. React shows what was
loaded up to 300 ms after it arrived."""
WATCH_CHANGES = """{
  const watch = () => new MutationObserver(() => { globalThis.changed = performance.now(); })
    .observe(document, { childList: true, characterData: true, subtree: true });
  if (top === self) document.addEventListener("readystatechange", watch, { once: true });
}"""
"""JavaScript that notes when scripts last changed the page, after its document was parsed."""
SINCE_CHANGE = """() => new Promise((done) => requestIdleCallback(() => {
  const body = Reflect.get(Document.prototype, "body", document);
  if (globalThis.changed !== undefined) done(performance.now() - globalThis.changed);
  else if (!body || Reflect.get(HTMLElement.prototype, "innerText", body).trim()) done(null);
  else if (!Document.prototype.querySelector.call(document, "script, iframe, frame, object, [onload], meta[http-equiv]")) done(null);
  else {
    const { loadEventEnd, responseEnd } = performance.getEntriesByType("navigation")[0];
    const loaded = Math.max(loadEventEnd, ...performance.getEntriesByType("resource").map((one) => one.responseEnd));
    done(performance.now() - loaded - Math.max(650, loadEventEnd - responseEnd));
  }
}))"""
"""JavaScript that waits until no task of the page's scripts is due. Returns the milliseconds since scripts last
changed the page, or null if they never did. A page without text gets a second to begin after its last resource, or as
long as it took to load, if it has scripts or a refresh."""
POLL_INTERVAL_S = 0.01
MAX_RESPONSES = 1000
"""The maximum number of responses that a step can wait for."""
SIZES = """() => {
  const top = Reflect.get(Document.prototype, "scrollingElement", document);
  return [innerWidth, innerHeight, top ? top.scrollHeight - top.scrollTop - innerHeight : 0];
}"""
"""JavaScript that returns the width and height of the window, and the pixels of the page below the window."""
_ENDLESS = ("eventsource", "websocket", "ping", "media")


class Rendering:
    """Loads and reads one page. `watch` handles the page's requests. `wire`: the maximum number of bytes of a
    body. `received`: returns the number of bytes that the page has loaded. `told`: messages for the attempt.
    `show`: the folder for a picture before and after each step, or None."""

    show: Path | None = None
    frames: type[Frames] = Frames
    """The class that reads the document with its frames."""

    def __init__(self, tab: Tab, watch: Watch, wire: int, received: Callable[[], int]) -> None:
        self._tab, self._page, self._watch = tab, tab.page, watch
        self._wire, self._received, self.told = wire, received, list[str]()
        self._under_way: set[Any] = set()
        self._changed = time.monotonic()
        self.late, self._there, self._loading = "", False, False
        self._ends = self._spare = 0.0
        self._render = Render()
        self.responses = deque[str](maxlen=MAX_RESPONSES)
        tab.listen(
            {
                "framenavigated": self._come,
                "load": self._loaded,
                "request": self._begun,
                "requestfinished": self._answered,
                "requestfailed": self._over,
            }
        )

    async def load(self, url: str, render: Render, ends: float) -> None:
        """Opens the URL, then waits until the conditions of `render` are met, or until the monotonic time
        `ends`. Raises Playwright's Error if there is no document."""
        began = time.monotonic()
        self._ends, self._spare = ends, (ends - began) / 8
        await self._page.goto(url, wait_until="commit", timeout=0)
        with contextlib.suppress(TimeoutError):  # if a request hangs, wait for half of the time
            async with asyncio.timeout((ends - time.monotonic()) / 2):
                await self._watch.away.wait()
        if render.wait == "idle":
            await self._quiet(IDLE_S, ends)
        else:
            await self._quiet(QUIET_S, quiet_until(began, ends, self._watch.away.is_set()))
        if self._watch.target is None:
            await self._acts(render, ends)

    async def _acts(self, render: Render, ends: float) -> None:
        """Waits until the conditions of `render` are met, then performs the steps of `render`. If a condition
        or step is not completed in time, `late` names this condition or step, and what was there instead.
        Raises StepFailed."""
        self._ends, self._render = ends, render
        waits: tuple[Step, ...] = () if render.wait in ("load", "idle") else (Step("wait", render.wait),)
        waits += (Step("until", render.until),) if render.until else ()
        looks = len(waits)
        waits += (Step("scroll"),) if render.scroll else ()
        acting = StepRunner(self._tab.steps, self, ends, render.human, self.show)
        for place, step in enumerate((*waits, *render.steps, None)):
            if place == looks and render.human:
                await self._look(ends)
            if step is None or self.is_left():
                break
            number = place - len(waits) + 1
            self._watch.follows, words = number > 0, step.words()
            label = f"step {number} of {len(render.steps)} ({words})" if number > 0 else words
            self.late = f"{label}: the page did not answer"
            try:
                await acting.do(step, label, max(0, number))
            except StepFailed as failed:
                self.late = str(failed)
                raise
        self.late = ""

    async def settle(self) -> None:
        """Waits for the requests that a step caused."""
        await self._quiet(QUIET_S, min(self._ends, time.monotonic() + QUIET_TIMEOUT_S))

    async def idle(self) -> None:
        """Waits until the page has sent no requests for a while."""
        await self._quiet(IDLE_S, self._ends)

    async def scroll_down(self) -> None:
        """Scrolls to the end of the page."""
        await self._scroll(self._ends, self._render)

    def is_left(self) -> bool:
        """Returns whether the page leads to a page that the tab does not open."""
        return self._watch.target is not None

    async def url(self, asked: str) -> str:
        """Returns the page's URL after the steps, or the requested URL if no steps were performed."""
        if not self._watch.follows:
            return asked
        now = (await self._tab.steps.address()).partition("#")[0]
        return now if now.startswith(("http://", "https://")) else asked

    async def read(self, most: int) -> tuple[bytes | int, str]:
        """Returns the current document, encoded in UTF-8, and the protocol, such as `h2`. If the document has
        more than `most` characters, returns the document's length instead of the document."""
        frames = self.frames(self._tab, self._watch.blocks)
        try:
            text, protocol = await frames.read(
                reading_script(), most, max(self._ends - time.monotonic(), self._spare)
            )
        except Error:  # the document is read as the browser writes it, without frames and shadow roots
            whole = await frames.serialized()
            text, protocol = len(whole) if len(whole) > most else whole, ""
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

    def _answered(self, request: Any) -> None:
        self.responses.append(str(request.url))
        self._over(request)

    def _over(self, request: Any) -> None:
        self._under_way.discard(request)
        self._changed = time.monotonic()

    async def _quiet(self, seconds: float, ends: float) -> None:
        """Waits until the page has had no open requests and no loading documents for `seconds`, or until the
        monotonic time `ends`. Returns early if a script opens another page."""
        while (now := time.monotonic()) < ends and self._watch.target is None:
            wait = POLL_INTERVAL_S
            if (
                not self._under_way
                and not (self._loading and self._watch.follows)
                and now - self._changed >= seconds
            ):
                wait = await self._unchanged_in(ends)
                if wait <= 0 and not self._under_way:
                    return
            await asyncio.sleep(min(max(wait, POLL_INTERVAL_S), ends - now))

    async def _unchanged_in(self, ends: float) -> float:
        """Returns the seconds after which the page counts as built if its scripts do not change it until then.
        Returns 0 if the page counts as built now."""
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + ends - time.monotonic()):
                since = await self._tab.evaluate(SINCE_CHANGE)
                return 0.0 if since is None else UNCHANGED_S - since / 1000
        return 0.0

    async def _look(self, ends: float) -> None:
        """Looks at the page as a person does. A page that navigates away meanwhile is no error."""
        self.late = ""
        with contextlib.suppress(Error):
            width, height, below = await self._tab.evaluate(SIZES)
            seconds = min(LOOK_S, (ends - time.monotonic()) / 3)
            await self._tab.perform(look_around(width, height, below, seconds))
        await self._quiet(QUIET_S, min(ends, time.monotonic() + QUIET_TIMEOUT_S))

    async def _scroll(self, ends: float, render: Render) -> None:
        """Scrolls to the end of the page."""
        script, scroll = reading_script(), render.scroll or Scroll()
        found = await Scroller(
            self._tab.steps, script, scroll, render.human, self._under_way, self._wire, self._received
        ).run(ends)
        if found:
            self.told.append(found)


def quiet_until(began: float, ends: float, is_loaded: bool) -> float:
    """Returns the monotonic time until which to wait for a quiet page: QUIET_TIMEOUT_S from now, or if the page is
    loaded, as long as it took to load since `began`. On a busy machine, scripts that build the page are slow too."""
    now = time.monotonic()
    return min(ends, now + max(QUIET_TIMEOUT_S, (now - began) * is_loaded))


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
        self.sessions: dict[str, Any] = {}
        self.steps = ChromiumStepTab(self)
        self._heard: set[str] = set()
        self._patterns: Sequence[dict[str, str]] = ()
        self._hosts: tuple[str, ...] = ()
        self._crashed = self._still = self._blanking = False
        self._blank: asyncio.Task[None] | None = None
        self._sent: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, context: Any, fingerprint: BrowserFingerprint | None = None) -> Tab:
        """Opens a tab that shows the fingerprint `fingerprint`. Raises Playwright's Error."""
        page = await context.new_page()
        tab = cls(page, await context.new_cdp_session(page))
        tree = await tab.cdp.send("Page.getFrameTree")
        tab.frame = tree["frameTree"]["frame"]["id"]
        await tab.cdp.send("Network.enable")
        await tab.cdp.send("Page.enable")
        watch = {"source": WATCH_CHANGES, "worldName": WORLD}
        await tab.cdp.send("Page.addScriptToEvaluateOnNewDocument", watch)
        tab.cdp.on("Fetch.requestPaused", tab._paused)
        tab.cdp.on("Fetch.authRequired", tab._challenged)
        tab.steps.listen()
        if fingerprint is not None:
            await tab.cdp.send("Emulation.setUserAgentOverride", user_agent_override(fingerprint))
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
            await self.cdp.send("Fetch.enable", {"patterns": patterns, "handleAuthRequests": True})
            self._patterns = patterns

    async def rest(self) -> bool:
        """Frees the tab after a page has used it. Stops the page's scripts, and navigates the tab to
        about:blank after a few seconds. Returns whether other pages can use the tab. Raises TimeoutError if
        the tab cannot be closed."""
        self.watch, self.hears, self.sessions = None, {}, {}
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

    async def evaluate(self, function: str, *given: int) -> Any:
        """Calls a JavaScript function in an isolated world of the page, and returns its result. Raises
        Playwright's Error."""
        return await self.steps.evaluate(function, *given)

    async def perform(self, gestures: Iterable[Gesture]) -> None:
        """Performs the gestures of a person. Raises Playwright's Error."""
        mouse, keyboard = self.page.mouse, self.page.keyboard
        for kind, x, y, seconds, key in gestures:
            if kind == "move":
                await mouse.move(x, y)
            elif kind == "wheel":
                await mouse.wheel(0, y)
            elif kind in ("down", "up"):
                await (mouse.down() if kind == "down" else mouse.up())
            elif kind in ("text", "key"):
                await (keyboard.type(key) if kind == "text" else keyboard.press(key))
            await asyncio.sleep(seconds)

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
        # no page uses the tab, so the request is refused
        self._send("Fetch.failRequest", event, errorReason="Aborted")

    def _challenged(self, event: dict[str, Any]) -> None:
        """Answers a server that asks for a user and a password. gossamer has already sent the credentials that
        it knows. Without an answer, Chromium would show no body."""
        self._send("Fetch.continueWithAuth", event, authChallengeResponse={"response": "CancelAuth"})

    def _send(self, command: str, event: dict[str, Any], **more: Any) -> None:
        """Answers a paused request in the background. Errors are ignored, because the page may be closed."""

        async def send() -> None:
            with contextlib.suppress(Error):
                await self.cdp.send(command, {"requestId": event["requestId"], **more})

        task = asyncio.ensure_future(send())
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    def _crash(self, _page: Any) -> None:
        self._crashed = True
