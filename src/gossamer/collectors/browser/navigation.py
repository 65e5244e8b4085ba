"""The main document of a page, watched over: a redirect or a script's way to another page is given back, not
followed; what is no HTML is read as it came. Images, fonts and media are not loaded unless they are asked
for."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from typing import Any

from playwright.async_api import Error

from gossamer.collectors.browser.tab import Tab
from gossamer.collectors.http.transfer import ACCEPT
from gossamer.model.page import Headers
from gossamer.model.rendering import Render
from gossamer.model.request import Request, split

KINDS = {"images": "Image", "fonts": "Font", "media": "Media"}
REDIRECTS = (301, 302, 303, 307, 308)
HTML = ("", "text/html", "application/xhtml+xml")
RELOADS = 3
"""Times that a page may load itself anew, as after a test whether scripts run."""
STEPS = 20
"""Documents that steps may lead to."""


class Watch:
    """Over one page. `fresh`: its context has no cache yet. `main`: status and headers; `raw`: the body of
    what is no HTML; `target`: where a script leads, then `away` is set; `refused`: the content type that was
    not read."""

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
        """A step may lead to other pages of the same host, in place."""
        self.target: str | None = None
        self.away = asyncio.Event()

    async def start(self, render: Render) -> None:
        """From now on the page's requests are seen."""
        self._tab.watch, self._blocked = self, render.block
        stages = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
        blocked = [{"resourceType": kind} for word, kind in KINDS.items() if word not in render.load]
        blocked.append({"urlPattern": "*/favicon.ico*"})
        await self._tab.catch(stages + blocked, render.block)

    async def end(self) -> None:
        """Nothing more is heard."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def paused(self, event: dict[str, Any]) -> None:
        """A request waits for what is said of it."""
        task = asyncio.ensure_future(self._answer(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, event: dict[str, Any]) -> None:
        """Say what becomes of a request that waits; when the page is gone, nobody asks any more."""
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
        """Whether a frame's host is blocked: Chromium's own list speaks of what frames load, not of frames,
        nor does it hold in theirs."""
        host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        return any(host == one or host.endswith(f".{one}") for one in self._blocked)

    async def _document(self, event: dict[str, Any]) -> None:
        """The main frame asks for a document: the first is ours, the same again is let through, another is
        given back."""
        asked = event["request"]
        url = asked["url"].partition("#")[0]
        self._first = self._first or url
        if self.follows and split(url)[:2] == split(self._first)[:2] and self.asked < STEPS:
            self.asked += 1
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            return
        if (again := self.asked > 0) and (url != self._first or self.asked > RELOADS):
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
        """The main document's answer: HTML goes on into the page, all else ends here."""
        # the host had it by now at the latest: its next delay begins here
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
