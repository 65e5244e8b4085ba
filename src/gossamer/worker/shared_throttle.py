"""A request budget that hosts with the same address or registered domain share (`--polite-by`). Before each
request, a worker must take a turn, which is a permit for one request from this budget. After the request, the
worker gives the turn back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.model.page import Failure, Page
from gossamer.model.visit import Claim, Visit
from gossamer.politeness.robots_access import Access


class ThrottleGroups(Protocol):
    """The interface to the shared budgets (`state.host_groups`). `enter` requests a turn. It returns the
    turn's token, and 0 or the seconds to wait. `leave` gives a turn back."""

    async def enter(self, name: str, delay: float) -> tuple[str, float]: ...
    async def leave(self, name: str, token: str, since: float, delay: float) -> None: ...


class SharedThrottle:
    """Takes and gives back turns for the claims of one crawl. `group` returns the name of the budget that a
    host shares. It returns None if the host shares no budget, or if its budget is not known yet."""

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
        """Takes a turn for a claim. Returns 0 if the turn was granted, otherwise the number of seconds for
        which the host must wait."""
        name = await self._group(claim.host)
        if name is None:
            return 0.0
        token, wait = await self._groups.enter(name, max(claim.delay, claim.floor))
        if not wait:
            self._turns[claim.bucket, claim.token] = name, token
        return wait

    def wrap(self, go: Callable[[Claim], Awaitable[Visit]]) -> Callable[[Claim], Awaitable[Visit]]:
        """Wraps the visit function `go` so that the claim's turn is given back after the visit."""

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
        """Fetches robots.txt, then gives the claim's turn back."""
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
        """Gives the turn of a claim back. `began`: the monotonic time at which the request began, or 0 if no
        request was made. `delay`: the minimum number of seconds between the start of that request and the
        next request."""
        turn = self._turns.pop((claim.bucket, claim.token), None)
        if turn is not None:
            since = time.monotonic() - began if began else -1.0
            await self._groups.leave(*turn, since, max(delay, claim.floor))
