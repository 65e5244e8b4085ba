"""The rung of a request: the collector that gets it, and the identity that is lent to it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from gossamer.blocks import Block
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.interfaces import Collector, Given
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request


class LendsIdentity(Protocol):
    """What a request is lent: headers (those asked for, credentials of a seed, cookies), a guise; and where
    Set-Cookie goes."""

    def lend(self, request: Request) -> Lent: ...

    def took(self, page: Page, guise: Guise | None) -> None: ...

    def forget(self, domain: str) -> None: ...


class LendsProxies(Protocol):
    """Lends proxies (`identity.lending`)."""

    def blocked(self, name: str, host: str) -> None: ...

    async def through(
        self,
        request: Request,
        go: Callable[[str, Callable[[], bool]], Awaitable[Page | Failure]],
        apart: float,
    ) -> Page | Failure: ...


class Rung(NamedTuple):
    """One way to get a page, by its name on the ladder."""

    name: str
    collector: Collector
    identity: LendsIdentity
    proxies: LendsProxies | None = None
    elsewhere: bool = False
    """Not here: other workers of the fleet have it."""

    async def collect(self, request: Request, apart: float = 0.0) -> Page | Failure:
        """Fetch one URL, through a proxy where there are some; the cookies of the answer are the identity's.
        `apart`: seconds between two tries that the host sees."""

        async def go(proxy: str | None = None, goes_on: Callable[[], bool] = lambda: True) -> Page | Failure:
            headers, guise = self.identity.lend(request)
            if proxy is not None:
                guise = msgspec.structs.replace(guise or Guise(), proxy=proxy)
            result = await self.collector.collect(request, headers, guise)
            if isinstance(result, Failure):
                return msgspec.structs.replace(result, rung=self.name)
            result.rung = self.name
            if goes_on():
                self.identity.took(result, guise)
            return result

        if self.proxies is not None:
            return await self.proxies.through(request, go, apart)
        if request.proxy:
            detail = f"it wants a {request.proxy} proxy, and the crawl has none: --proxies FILE"
            return Failure("proxy", detail, time.time(), 0.0, final=True, sent=False)
        return await go()

    def keeps(self, request: Request, headers: Mapping[str, str]) -> None:
        """Keep the cookies of request headers, as if the host had set them."""
        set_cookie = [
            ("set-cookie", f"{one.strip()}; Path=/")
            for name, value in headers.items()
            if name.lower() == "cookie"
            for one in value.split(";")
        ]
        if set_cookie:
            page = Page(request.url, 200, set_cookie, b"", time.time(), 0.0, 0)
            self.identity.took(page, self.identity.lend(request).guise)

    def blocked(self, page: Page, block: Block, host: str) -> None:
        """A page turned out to be a block page; an empty one, or a log-in, says nothing of the address that
        we came from."""
        if self.proxies is not None and page.proxy is not None and block.kind not in ("empty", "login"):
            self.proxies.blocked(page.proxy, host)


class Ways(Protocol):
    """The rungs of a crawl (`dialling`)."""

    @property
    def given(self) -> Given: ...
    @property
    def held(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def disguised(self) -> bool: ...
    def pages(self, request: Request) -> Rung: ...


Rungs = Callable[[Request], Rung]
"""The rung that a request is made on."""
Allowed = Callable[[Request], tuple[str, ...]]
"""The rungs that a request may be made on, the cheapest first."""


class NoIdentity:
    """No headers, no cookies: as robots.txt is asked for by a crawler that says who it is."""

    def lend(self, request: Request) -> Lent:
        """Nothing."""
        return Lent({})

    def took(self, page: Page, guise: Guise | None) -> None:
        """Nothing is kept."""

    def forget(self, domain: str) -> None:
        """Nothing was kept."""


class Bare:
    """The headers that people gave, and no cookies: sessions are the unlocker's own."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def lend(self, request: Request) -> Lent:
        """Those headers."""
        return Lent(dict(self._given(request)))

    def took(self, page: Page, guise: Guise | None) -> None:
        """Nothing is kept."""

    def forget(self, domain: str) -> None:
        """Nothing was kept."""
