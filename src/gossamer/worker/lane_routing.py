"""Which lane a host waits in, where some workers of a fleet have a browser and some have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from gossamer.model.visit import Claim
from gossamer.sites import host_rules
from gossamer.sites.loading import LoadedSite

BROWSER = "browser"
"""The lane of the workers that have one."""


class Handover(Protocol):
    """The frontier's verb."""

    async def handover(self, bucket: int, host: str, lane: str) -> bool: ...


class Lanes:
    """Moves hosts. `usual`: host -> the lane that its site or the crawl names."""

    def __init__(self, frontier: Handover, usual: Callable[[str], str]) -> None:
        self._frontier, self._usual = frontier, usual

    async def away(self, claim: Claim) -> None:
        """A claim's host waits for workers with a browser."""
        await self._frontier.handover(claim.bucket, claim.host, BROWSER)

    async def home(self, claim: Claim) -> None:
        """It waits for its usual workers again: none of its pages needs a browser any more."""
        await self._frontier.handover(claim.bucket, claim.host, self._usual(claim.host))


def moving(frontier: Handover, sites: Sequence[LoadedSite], lane: str, ladder: Sequence[str]) -> Lanes | None:
    """Lanes for a crawl of these sites, `lane` and `ladder` where they say nothing; None where a site is
    bound to one whose workers need the browser themselves."""
    for one in sites:
        if one.site.says_lane and BROWSER in (one.site.ladder if one.site.says_ladder else ladder):
            return None
    return Lanes(frontier, lru_cache(10_000)(lambda host: host_rules.needs(sites, host).lane or lane))
