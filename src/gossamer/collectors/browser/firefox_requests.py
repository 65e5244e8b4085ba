"""Watches the requests of a page in Firefox by WebDriver BiDi, as `tab.Watch` does for Chromium."""

from __future__ import annotations

import base64
import contextlib
import time
from typing import Any

from gossamer.collectors.browser.bidi_connection import BidiError
from gossamer.collectors.browser.tab import HTML, Watch
from gossamer.collectors.http.transfer import ACCEPT, content_type_gate
from gossamer.model.content_type import essence
from gossamer.model.page import REDIRECTS
from gossamer.model.rendering import Render
from gossamer.model.request import split

KINDS = {"images": ("image",), "fonts": ("font",), "media": ("audio", "video", "track")}
MARK, SOON = "https://mark.invalid/", 1.0
"""MARK is a URL that gossamer's script requests in the page. When the event of the request for MARK arrives,
all earlier events have arrived. gossamer waits for the event for at most SOON seconds, because a page may not
be allowed to make requests."""


class GeckoWatch(Watch):
    """Watches a page's requests through BiDi events, as `Watch` does for Chromium."""

    _tab: Any

    async def start(self, render: Render) -> None:
        """Starts to intercept the page's requests."""
        self._unwanted = [kind for word, kinds in KINDS.items() if word not in render.load for kind in kinds]
        self._tab.watch, self._blocked, self.whole = self, render.block, False

    async def _answer(self, event: dict[str, Any]) -> None:
        try:
            await self._decide(event)
        except BidiError:
            pass  # a request of a closed page needs no response
        except Exception as error:  # noqa: BLE001 - as in Chromium
            self.problem = f"{type(error).__name__}: {error}"
            with contextlib.suppress(BidiError):
                await self._fail(event, "")

    async def _decide(self, event: dict[str, Any]) -> None:
        """Continues or aborts a paused request. Raises BidiError."""
        asked, send = event["request"], self._tab.wire.send
        main = event["context"] == self._tab.frame and bool(event.get("navigation"))
        main = main and asked.get("destination") not in ("object", "embed")
        if "response" in event:
            await (
                self._response(event) if main else send("network.continueResponse", request=asked["request"])
            )
        elif asked.get("destination") in self._unwanted or (
            not main and (self._refuses(asked["url"]) or self.exceeds(asked["url"]))
        ):
            await self._fail(event, "")
        elif main:
            await self._document(event)
        else:
            await send("network.continueRequest", request=asked["request"], **self._known(asked))

    def _known(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Returns the headers of a request with the credentials of the page's origin, or {} if the headers
        stay as they are. Firefox keeps changed headers after a redirect, so the credentials are removed if the
        redirect leads to another origin."""
        if not self._basic:
            return {}
        own = [(one["name"], one["value"]) for one in asked["headers"]]
        if self.may_know(asked["url"], [name for name, _ in own]):
            headers = [*own, ("Authorization", {"type": "string", "value": self._basic})]
        elif split(asked["url"])[:2] != self._origin:
            headers = [(name, value) for name, value in own if value.get("value") != self._basic]
        else:
            headers = own
        return (
            {"headers": [{"name": name, "value": value} for name, value in headers]} if headers != own else {}
        )

    def _refuses(self, url: str) -> bool:
        return url == MARK or url.endswith("/favicon.ico") or self.blocks(url)

    async def _document(self, event: dict[str, Any]) -> None:
        """Handles a request of the main frame for a document."""
        asked = event["request"]
        if not self.admits(asked["url"], asked["method"]):
            return await self._fail(event, "")
        again = self.asked > 0
        if again and self.follows:
            self.asked += 1
            await self._tab.wire.send(
                "network.continueRequest", request=asked["request"], **self._known(asked)
            )
            return None
        self.asked += 1
        given = {name.lower() for name in self._headers}
        own = {
            one["name"]: one["value"]["value"] for one in asked["headers"] if one["name"].lower() not in given
        }
        change: dict[str, Any] = {
            "headers": [
                {"name": name, "value": {"type": "string", "value": value}}
                for name, value in (own | self._headers).items()
            ]
        }
        if not again and (self._request.method != "GET" or self._request.body is not None):
            change["method"] = self._request.method
            change["body"] = {"type": "string", "value": self._request.body or ""}
        await self._tab.wire.send("network.continueRequest", request=asked["request"], **change)
        self.asked_at = time.perf_counter()
        return None

    async def _response(self, event: dict[str, Any]) -> None:
        """Handles the main document's response. If the response is HTML, the browser loads it. A redirect is
        followed during the page's steps, and otherwise returned to the caller. The body of other accepted
        content is read as received. All other responses are refused."""
        self.asked_at = time.perf_counter()  # as in Chromium
        said, request, send = event["response"], event["request"]["request"], self._tab.wire.send
        headers = [(one["name"].lower(), str(one["value"]["value"])) for one in said["headers"]]
        asked = {name.lower() for name in self._headers}
        # Firefox asks by itself whether a document in its cache is still right, and then shows that document
        kept = int(said["status"]) == 304 and asked.isdisjoint(("if-none-match", "if-modified-since"))
        if kept and not any(name == "content-type" for name, _ in headers):
            headers.append(("content-type", "text/html"))
        self.main = 200 if kept else int(said["status"]), headers
        found = dict(reversed(headers))
        kind = essence(found.get("content-type"))
        redirected = self.main[0] in REDIRECTS and "location" in found
        if redirected and not self.follows:
            await self._fail(event, "")
        elif redirected or (kind in HTML and "attachment" not in found.get("content-disposition", "")):
            await send("network.continueResponse", request=request)
        elif content_type_gate(ACCEPT)(kind):
            # the load event may arrive before the body is complete, so wait for the body instead
            self.whole = True
            await send("network.continueResponse", request=request)
            got = (await send("network.getData", dataType="response", request=request))["bytes"]
            self.raw = _bytes(got)
            self.away.set()
        else:
            self.refused = kind
            await self._fail(event, "")

    async def _fail(self, event: dict[str, Any], reason: str) -> None:
        await self._tab.wire.send("network.failRequest", request=event["request"]["request"])


def _bytes(value: dict[str, str]) -> bytes:
    """Returns a BiDi value as bytes."""
    return base64.b64decode(value["value"]) if value["type"] == "base64" else value["value"].encode()
