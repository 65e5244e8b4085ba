"""A substitute for the browser on the web of walls, for measurements with many seeds, where a real browser
would be too slow.

It has the TLS and HTTP/2 fingerprint of a browser, from the impersonated rung. It does the few things that
the scripts of the walls do: compute a sum, set a cookie, reload a page, and fetch rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin

import msgspec

from gossamer.collectors.impersonated import ImpersonatedCollector
from gossamer.identity.browsers import browser_for
from gossamer.identity.headers import browser_headers
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request, split
from walls.pages import worked

SUM = re.compile(rb"let x=(\d+);")


class StandIn:
    """A collector that replaces the browser."""

    name = "browser"

    def __init__(self, resolver: Any, **options: Any) -> None:
        self._http, self._passes = ImpersonatedCollector(resolver, **options), dict[str, str]()
        self._browser = browser_for(("chrome",), "stand-in")

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Returns a page in the state after its script has run."""
        page = await self._get(request)
        if isinstance(page, Failure) or (found := SUM.search(page.body)) is None:
            return self._named(page)
        nonce = int(found[1])
        if b"document.cookie" in page.body:
            self._passes[split(request.url)[1]] = f"pass={nonce}.{worked(nonce)}"
            return self._named(await self._get(request))
        path = quote(split(request.url)[2], safe="")
        rows = await self._get(Request(urljoin(request.url, f"/rows?p={path}&n={nonce}&x={worked(nonce)}")))
        if isinstance(rows, Page):
            page.body = page.body.replace(b"<div id=root></div>", b"<div id=root>" + rows.body + b"</div>")
        return self._named(page)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _named(self, got: Page | Failure) -> Page | Failure:
        return msgspec.structs.replace(got, collector=self.name, session=None)

    async def _get(self, request: Request) -> Page | Failure:
        one = self._browser
        cookies = self._passes.get(split(request.url)[1], "")
        worn = browser_headers(
            one, request.url, referrer=None, passed=(), domain=lambda host: host, given=None, cookies=cookies
        )
        return await self._http.collect(request, worn, Guise(one.name, one.target, one.http2, "stand-in"))
