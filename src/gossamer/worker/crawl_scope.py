"""One process's copy of a crawl's scope. The scope grows when a seed is redirected to another host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from gossamer import url as urls
from gossamer.frontier.crawls import NO_CHANGES, LiveChanges
from gossamer.model.request import is_infrastructure
from gossamer.model.verdict import Drop
from gossamer.model.visit import Claim
from gossamer.url import patterns
from gossamer.url.scope import Scope
from gossamer.worker.link_intake import LinkIntake


class SeedRedirects(Protocol):
    """The interface to the store's list of seed redirects, which all workers of a crawl share
    (`frontier.crawls`). `look` returns the crawl's state, a list of redirects as (source, target) pairs, and the
    encoded changes of the running crawl. `anchor` adds a redirect."""

    async def look(self, name: str) -> tuple[str, list[tuple[str, str]], bytes]: ...

    async def anchor(self, name: str, source: str, target: str) -> None: ...


class ParkedLinks(Protocol):
    """The interface to the refused links, which the frontier keeps until all seeds have a response
    (`frontier.frontier_client`). `admit` queues the refused links to a host."""

    async def admit(self, bucket: int, host: str) -> int: ...

    async def may_redirect_seeds(self) -> bool: ...


class SeedHosts:
    """Decides whether a host counts as a seed host. Links to any other host need a voucher. If the scope is
    `any`, only hosts with the same registered domain as a seed are seed hosts. In every other scope, all
    hosts are seed hosts."""

    def __init__(self, seeds: Iterable[str], *, anywhere: bool) -> None:
        self._domain = lru_cache(10_000)(urls.registered_domain)
        self._anywhere = anywhere
        self._domains = {self._domain(urls.host(seed)) for seed in seeds}

    def __call__(self, host: str) -> bool:
        return not self._anywhere or self._domain(host) in self._domains

    def add(self, host: str) -> None:
        """Adds the registered domain of a host, for example the target of a seed's redirect."""
        self._domains.add(self._domain(host))


class CrawlScope:
    """The scope of one crawl in this process.

    - `rules`: the URL filters that the seeds define. - `intake`: filters links with `rules` and adds the
      accepted links to the frontier. - `seeds`: decides whether a host is a seed host.
    - `bucket`: maps a host to its bucket. - `admits`: whether previously refused links to a host are added to
      the frontier after a seed was redirected to this host.
    - `is_open`: whether the scope of a link depends on the page that contains the link. If the scope is open,
      redirects of seeds do not change the scope.
    """

    def __init__(
        self,
        crawl: str,
        rules: Scope,
        intake: LinkIntake,
        seeds: SeedHosts,
        redirects: SeedRedirects,
        parked: ParkedLinks,
        bucket: Callable[[str], int],
        *,
        admits: bool,
    ) -> None:
        self.rules, self.intake = rules, intake
        self._crawl, self._seeds, self._redirects, self._parked = crawl, seeds, redirects, parked
        self._bucket, self._admits, self._is_open = bucket, admits, intake.is_open
        self._known: set[tuple[str, str]] = set()
        self.live = NO_CHANGES
        """The limits and exclusions that were changed while the crawl runs."""
        self._encoded_live = b""

    def allows_port(self, host: str) -> bool:
        """Returns whether the crawler may connect to the port of `host[:port]`."""
        return self.rules.allows_port(host)

    async def refresh(self) -> str:
        """Extends the scope by the seed redirects that other workers recorded, and follows changed exclusions. Returns the
        crawl's state."""
        state, redirects, live = await self._redirects.look(self._crawl)
        for source, target in redirects:
            await self._grow(source, target)
        if live != self._encoded_live:
            self._encoded_live, self.live = live, LiveChanges.decode(live)
            self.rules = self.rules.excluding(self.live.exclude)
            self.intake.widen(self.rules)
        return state

    def refusal(self, claim: Claim) -> Drop | None:
        """Returns the reason why a URL that waited in the queue is not visited any more, or None. Only exclusions that were
        added while the crawl runs count, and they apply to seeds, too."""
        for pattern in self.rules.later:
            if patterns.found(pattern, claim.request.url, on_timeout=True) and not is_infrastructure(
                claim.request
            ):
                return Drop(skip="filter", detail=f"--exclude {pattern.pattern}")
        return None

    async def redirected(self, source: str, target: str) -> None:
        """Records a redirect of a seed for all workers, and adds the target's host to the scope."""
        if (source, target) not in self._known and not self._is_open:
            await self._redirects.anchor(self._crawl, source, target)
            await self._grow(source, target)

    def widen(self, seeds: Sequence[str]) -> None:
        """Adds seeds to the scope in this process."""
        self.rules = self.rules.with_seeds(seeds)
        for seed in seeds:
            self._seeds.add(urls.host(seed))
        self.intake.widen(self.rules)

    async def repeat(self) -> None:
        """Records all redirects of seeds again, and clears the caches of links, because the store may have
        lost its last writes."""
        self.intake.forget()
        self.intake.hold()
        for source, target in list(self._known):
            await self._redirects.anchor(self._crawl, source, target)
            await self._admit(target)

    async def release(self) -> None:
        """Stops keeping refused links once all seeds have a response, because no seed can be redirected any
        more."""
        if self.intake.holds and not await self._parked.may_redirect_seeds():
            self.intake.release()

    async def _grow(self, source: str, target: str) -> None:
        """Adds a redirect target's host to the scope, and queues the refused links to this host."""
        if (source, target) not in self._known:
            self._known.add((source, target))
            await self._admit(target)
            self.rules = self.rules.re_anchored(source, target)
            self._seeds.add(urls.host(target))
            self.intake.widen(self.rules)

    async def _admit(self, target: str) -> None:
        if self._admits:
            host = urls.host(target)
            await self._parked.admit(self._bucket(host), host)
