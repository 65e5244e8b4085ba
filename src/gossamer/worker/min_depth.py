"""Makes depth limits exact: a page's depth is its shortest distance from a seed, even if a shorter path is
found after the page was fetched.

Pages are fetched concurrently, so a long path may be followed before a short one is found. The frontier keeps
the minimum depth of each URL (`frontier/lua/min_depth.lua`). A URL that was not visited yet is visited at its
minimum depth. If the minimum depth of a visited URL decreases, the URL is queued again and its page is read
again. When the page is read again, its links get a smaller depth. A repeated read writes no second row and
does not count the page again. The most recent pages are cached, so a page can usually be read again without a
request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Visit
from gossamer.worker.link_intake import LinkIntake

MAX_EXACT_DEPTH = 50
"""Depths are exact only if the depth limit (option `--depth`) is lower than this number."""
MAX_CACHED_BYTES = 32 << 20
"""Maximum total size in bytes of the cached pages."""


class MinDepthVisits:
    """Visits each URL of a crawl with the minimum depth of the URL. `room`: maximum total size in bytes of
    the cached pages."""

    def __init__(
        self, frontier: FrontierVerbs, link_intake: LinkIntake, room: int = MAX_CACHED_BYTES
    ) -> None:
        self._frontier, self._link_intake, self._left = frontier, link_intake, room
        self._pages: OrderedDict[int, Page] = OrderedDict()

    async def visit(
        self,
        claim: Claim,
        go: Callable[[Claim], Awaitable[Visit]],
        read: Callable[[Claim, Page], Awaitable[Visit]],
    ) -> Visit:
        """Visits a claim at its minimum depth. If the URL was visited before and its page is still cached,
        calls `read` with the cached page, and makes no request. Otherwise, calls `go`, which makes a full
        visit."""
        mark = self._link_intake.mark(claim.request)
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
        """Caches a page, and removes the oldest pages if the cache is full."""
        mark = self._link_intake.mark(request)
        if (older := self._pages.pop(mark, None)) is not None:
            self._left += len(older.body)
        self._left -= len(page.body)
        self._pages[mark] = page
        while self._left < 0:
            self._left += len(self._pages.popitem(last=False)[1].body)

    def ends(self, visit: Visit) -> Visit:
        """Prepares a visit before the visit's claim is settled. The first visit of a URL records its depth.
        If the URL was visited before, only the links of the page are kept."""
        claim = visit.claim
        if not claim.again:
            visit.settle.mark, visit.settle.depth = self._link_intake.mark(claim.request), claim.request.depth
            return visit
        return read_again(visit)


def read_again(visit: Visit) -> Visit:
    """Returns the visit unchanged if the URL is visited for the first time. For a repeated visit, removes the
    visit's rows, and keeps only the counts of bytes and of links."""
    if visit.claim.again:
        read = visit.settle.end == ClaimEnd.DONE and visit.is_read
        visit.rows, visit.is_page = [], False
        visit.counts = {
            k: n
            for k, n in visit.counts.items()
            if k == "bytes" or (read and (k == "found" or k[:5] == "skip:"))
        }
        if visit.settle.end not in (ClaimEnd.RETRY, ClaimEnd.REQUEUED):
            visit.counts["infra"] = -1
            if visit.settle.end == ClaimEnd.DEAD:
                visit.settle.end = ClaimEnd.DONE
    return visit
