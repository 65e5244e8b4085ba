"""Routes hosts to the workers that can process them. Not every worker of a fleet has a browser, so hosts that
need a browser wait in a separate lane. If some workers lack a site file, the hosts of this site are reserved
for the workers that have the file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import Protocol

from gossamer.items.assets import rule_of
from gossamer.model.request import FILE
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.sites import host_rules
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.remote_sites import owner_names, site_group

BROWSER = "browser"
"""The name of the lane of workers that have a browser."""


class Handover(Protocol):
    """The method of the frontier that moves a host to another lane. `handover` returns whether the host was
    in a different lane before."""

    async def handover(self, bucket: int, host: str, lane: str) -> bool: ...


class LaneRouter:
    """Moves hosts between lanes. `usual` returns the lane of a host according to the settings of its site or
    of the crawl."""

    def __init__(self, frontier: Handover, usual: Callable[[str], str]) -> None:
        self._frontier, self._usual = frontier, usual

    async def away(self, claim: Claim) -> None:
        """Moves a claim's host to the lane of workers with a browser."""
        await self._frontier.handover(claim.bucket, claim.host, BROWSER)

    async def home(self, claim: Claim) -> None:
        """Moves a claim's host back to its usual lane after its pages no longer need a browser."""
        await self._frontier.handover(claim.bucket, claim.host, self._usual(claim.host))


def lanes_of(
    frontier: Handover, sites: Sequence[LoadedSite], lane: str, ladder: Sequence[str]
) -> LaneRouter | None:
    """Returns the `LaneRouter` of a crawl. `lane` and `ladder` are the defaults for sites that do not set a
    lane or ladder.

    Returns None if a site sets its own lane and has a browser in its ladder. If a site sets its own lane, the
    user must make sure that the workers of this lane have a browser.
    """
    for one in sites:
        if one.site.says_lane and BROWSER in (one.site.ladder if one.site.says_ladder else ladder):
            return None
    return LaneRouter(
        frontier, lru_cache(10_000)(lambda host: host_rules.host_needs(sites, host).lane or lane)
    )


class SiteRouter:
    """Requeues the claims of hosts whose site file this worker lacks. `sites`: all sites of the crawl.
    `lacks`: the names of the sites whose files this worker lacks. `tell` announces a group of sites whose
    hosts are reserved for workers that have the site files. `shut` requeues a robots.txt claim without
    fetching robots.txt."""

    def __init__(
        self,
        frontier: Handover,
        sites: Sequence[LoadedSite],
        lacks: Collection[str],
        tell: Callable[[str], Awaitable[None]],
        shut: Callable[[Claim, float], Awaitable[None]],
    ) -> None:
        self._frontier, self._lacks, self._tell, self._shut = frontier, lacks, tell, shut
        self._owners = lru_cache(10_000)(partial(owner_names, sites))
        self.told: set[str] = set()
        """The groups of sites that this worker has announced to the store."""

    async def took(self, batch: list[Claim], put: Callable[[Visit], None]) -> bool:
        """Requeues a batch of claims and reserves their host for other workers, if this worker lacks the file
        of one of the host's sites. Returns whether the batch was requeued."""
        apart = next(filter(None, map(self._group, batch)), "")
        if not apart:
            return False
        if apart not in self.told:  # the group is announced before its first host is reserved
            await self._tell(apart)
            self.told.add(apart)
        await self._frontier.handover(batch[0].bucket, batch[0].host, f"+{apart}")
        for claim in batch:
            if claim.kind == "robots":
                await self._shut(claim, 0.0)
            else:
                put(Visit(claim, Settle(claim.token, ClaimEnd.REQUEUED)))
        return True

    async def again(self, known: Collection[str]) -> None:
        """If the store no longer contains an announced group, announces the group again. `known`: the groups
        that the store contains."""
        for lost in self.told.difference(known):
            await self._tell(lost)

    def _group(self, claim: Claim) -> str:
        names = self._owners(claim.host)
        if claim.request.use == FILE and (named_by := rule_of(claim.request).site):
            names = names | {named_by}
        return site_group(names, self._lacks)
