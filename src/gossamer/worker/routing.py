"""Which lane a host waits in, where some workers of a fleet have a browser and some have none.

Hosts of sites whose files some workers of a fleet lack: these set them apart for those that have them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import Protocol

from gossamer.items.assets import rule_of
from gossamer.model.request import FILE
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.sites import host_rules
from gossamer.sites.loading import LoadedSite
from gossamer.sites.remote_sites import group, owners

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


class Apart:
    """Gives back what is of sites that are lacked here. `sites`: all of the crawl; `tell` says that there are
    hosts apart for a group of sites; `shut` gives back a claim of a robots.txt."""

    def __init__(
        self,
        frontier: Handover,
        sites: Sequence[LoadedSite],
        lacks: Collection[str],
        tell: Callable[[str], Awaitable[None]],
        shut: Callable[[Claim, float], Awaitable[None]],
    ) -> None:
        self._frontier, self._lacks, self._tell, self._shut = frontier, lacks, tell, shut
        self._owners = lru_cache(10_000)(partial(owners, sites))
        self.told: set[str] = set()
        """The groups that hosts were set apart for here."""

    async def took(self, batch: list[Claim], put: Callable[[Visit], None]) -> bool:
        """Whether the claims of a host were given back: it waits for others from now on."""
        apart = next(filter(None, map(self._group, batch)), "")
        if not apart:
            return False
        if apart not in self.told:  # before the first host waits there
            await self._tell(apart)
            self.told.add(apart)
        await self._frontier.handover(batch[0].bucket, batch[0].host, f"+{apart}")
        for claim in batch:
            if claim.kind == "robots":
                await self._shut(claim, 0.0)
            else:
                put(Visit(claim, Settle(claim.token, "b")))
        return True

    async def again(self, known: Collection[str]) -> None:
        """Say so again where the store does not know it any more."""
        for lost in self.told.difference(known):
            await self._tell(lost)

    def _group(self, claim: Claim) -> str:
        names = self._owners(claim.host)
        if claim.request.use == FILE and (named_by := rule_of(claim.request).site):
            names = names | {named_by}
        return group(names, self._lacks)
