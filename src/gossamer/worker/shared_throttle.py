"""Limits the requests to hosts that share an address or registered domain (`--polite-by`). The hosts with the
same address or registered domain share one budget. Before each request, a worker acquires a turn, which is a
permit for one request from the budget. After the request, the worker releases the turn."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.model.page import Failure, Page
from gossamer.model.visit import Claim, Visit
from gossamer.politeness.robots_access import Access


class ThrottleGroups(Protocol):
    """The interface to the shared budgets (`state.host_groups`). `enter` requests a turn, and returns the
    turn's token and the seconds to wait. If the turn was granted, the seconds to wait are 0. `leave` releases
    a turn."""

    async def enter(self, name: str, delay: float) -> tuple[str, float]: ...
    async def leave(self, name: str, token: str, since: float, delay: float) -> None: ...


class SharedThrottle:
    """Acquires and releases turns for the claims of one crawl. `group` returns the name of a host's budget,
    or None if the host shares no budget or the budget is not known yet."""

    def __init__(
        self,
        groups: ThrottleGroups,
        group: Callable[[str], Awaitable[str | None]],
        failed: Callable[[str], None] | None = None,
    ) -> None:
        """`failed`: a function that is called with the IP address of a host that did not answer."""
        self._groups, self._group, self._failed = groups, group, failed
        self._turns: dict[tuple[int, int], tuple[str, str]] = {}

    async def enter(self, claim: Claim) -> float:
        """Acquires a turn (a permit for one request) for a claim. Returns 0 if the turn was granted or not
        needed, otherwise the number of seconds to wait before the next try."""
        name = await self._group(claim.host)
        if name is None:
            return 0.0
        token, wait = await self._groups.enter(name, max(claim.delay, claim.floor))
        if not wait:
            self._turns[claim.bucket, claim.token] = name, token
        return wait

    def wrap(self, go: Callable[[Claim], Awaitable[Visit]]) -> Callable[[Claim], Awaitable[Visit]]:
        """Wraps the visit function `go` so that the claim's turn is released after the visit."""

        async def turned(claim: Claim) -> Visit:
            began, delay = time.monotonic(), claim.delay
            try:
                visit = await go(claim)
                began, delay = visit.began, visit.settle.delay / 1000
                if (
                    self._failed is not None
                    and visit.settle.reason in ("connect", "timeout")
                    and (turn := self._turn(claim))
                ):
                    self._failed(turn[0].partition(":")[2])
                return visit
            finally:
                await self._leave(claim, began, delay)

        return turned

    async def robots(
        self, claim: Claim, fetch: Callable[[Claim], Awaitable[tuple[Page | Failure, float, Access]]]
    ) -> tuple[Page | Failure, float, Access]:
        """Fetches robots.txt for a claim, then releases the turn that the claim has acquired."""
        began, delay = time.monotonic(), claim.delay
        try:
            result, began, found = await fetch(claim)
            delay = max(delay, found.crawl_delay)
            return result, began, found
        finally:
            await self._leave(claim, began, delay)

    def _turn(self, claim: Claim) -> tuple[str, str] | None:
        return self._turns.get((claim.bucket, claim.token))

    async def _leave(self, claim: Claim, began: float, delay: float) -> None:
        """Releases the turn that a claim has acquired. `began`: the monotonic time at which the claim's
        request began, or 0 if no request was made. `delay`: the minimum number of seconds between the starts
        of the claim's request and the next request."""
        turn = self._turns.pop((claim.bucket, claim.token), None)
        if turn is not None:
            since = time.monotonic() - began if began else -1.0
            await self._groups.leave(*turn, since, max(delay, claim.floor))
