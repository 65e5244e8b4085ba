"""A tight depth limit, kept to the letter: a page is as deep as the shortest way to it, also when that is
found late.

Pages are asked for side by side, so a long way may be followed before a short one is found. The frontier
keeps the least depth of each URL (`frontier/lua/depths.lua`). One that still waits is visited at the least
depth. One that was visited already is queued again, and read again: its links are taken at the lesser depth;
it is no page and no row a second time. The pages read last are at hand, so that this seldom costs a request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, Visit
from gossamer.worker.link_intake import Taker

DEEP = 50
"""Depth limits below this are kept so."""
ROOM = 32 << 20
"""Bytes of pages at hand."""


class Nearer:
    """The depths of one crawl's claims."""

    def __init__(self, frontier: FrontierVerbs, taker: Taker, room: int = ROOM) -> None:
        self._frontier, self._taker, self._left = frontier, taker, room
        self._pages: OrderedDict[int, Page] = OrderedDict()

    async def visit(
        self,
        claim: Claim,
        go: Callable[[Claim], Awaitable[Visit]],
        read: Callable[[Claim, Page], Awaitable[Visit]],
    ) -> Visit:
        """A visit at the least depth; what is to be read again and is at hand is not asked for."""
        mark = self._taker.mark(claim.request)
        least = await self._frontier.nearest(claim.bucket, mark)
        if least is not None and least < claim.request.depth:
            claim.request = msgspec.structs.replace(claim.request, depth=least)
        page = self._pages.get(mark) if claim.again else None
        if page is None:
            return self.ends(await go(claim))
        visit = self.ends(await read(claim, page))
        visit.counts["bytes"], visit.attempts = 0, []
        return visit

    def keep(self, request: Request, page: Page) -> None:
        """Have a page at hand; the oldest go."""
        mark = self._taker.mark(request)
        if (older := self._pages.pop(mark, None)) is not None:
            self._left += len(older.body)
        self._left -= len(page.body)
        self._pages[mark] = page
        while self._left < 0:
            self._left += len(self._pages.popitem(last=False)[1].body)

    def ends(self, visit: Visit) -> Visit:
        """A visit as it is settled: its depth is remembered, or it counts for nothing but its links."""
        claim = visit.claim
        if not claim.again:
            visit.settle.mark, visit.settle.depth = self._taker.mark(claim.request), claim.request.depth
            return visit
        return read_again(visit)


def read_again(visit: Visit) -> Visit:
    """The visit of a page that was visited before: it counts for nothing but its links."""
    if visit.claim.again:
        read = visit.settle.action == "d" and "found" in visit.counts
        visit.rows = []
        visit.counts = {
            k: n
            for k, n in visit.counts.items()
            if k == "bytes" or (read and (k == "found" or k[:5] == "skip:"))
        }
        if visit.settle.action not in ("r", "b"):
            visit.counts["infra"] = -1
            visit.settle.action = "d" if visit.settle.action == "x" else visit.settle.action
    return visit
