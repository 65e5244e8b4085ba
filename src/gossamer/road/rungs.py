"""The rung of a request: the collector that gets it, and the identity that is lent to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from gossamer.guise import Guise, Lent
from gossamer.page import Failure, Page
from gossamer.parts import Collector, Given
from gossamer.request import Request


class Identity(Protocol):
    """What a request is lent: headers (those asked for, credentials of a seed, cookies), a guise; and where Set-Cookie goes."""

    def lend(self, request: Request) -> Lent: ...

    def took(self, page: Page, guise: Guise | None) -> None: ...


class Rung(NamedTuple):
    """One way to get a page, by its name on the ladder."""

    name: str
    collector: Collector
    identity: Identity

    async def collect(self, request: Request) -> Page | Failure:
        """Fetch one URL; the cookies of the answer are the identity's."""
        lent = self.identity.lend(request)
        result = await self.collector.collect(request, *lent)
        if isinstance(result, Failure):
            return msgspec.structs.replace(result, rung=self.name)
        result.rung = self.name
        self.identity.took(result, lent.guise)
        return result


Rungs = Callable[[Request], Rung]
"""The rung that a request is made on."""
Allowed = Callable[[Request], tuple[str, ...]]
"""The rungs that a request may be made on, the cheapest first."""


class Nobody:
    """No headers, no cookies: as robots.txt is asked for by a crawler that says who it is."""

    def lend(self, request: Request) -> Lent:
        """Nothing."""
        return Lent({})

    def took(self, page: Page, guise: Guise | None) -> None:
        """Nothing is kept."""


class Bare:
    """The headers that people gave, and no cookies: sessions are the unlocker's own."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def lend(self, request: Request) -> Lent:
        """Those headers."""
        return Lent(dict(self._given(request)))

    def took(self, page: Page, guise: Guise | None) -> None:
        """Nothing is kept."""
