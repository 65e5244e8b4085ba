"""The verbs over many buckets at once: one call a server where only looking is meant, one pipeline a server
where scripts act.

No bucket waits for another: what fails in passing is left out and comes again in the next round.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.errors import Away, GossamerError
from gossamer.frontier.bucket_calls import BucketCalls
from gossamer.frontier.limit_turns import Turns
from gossamer.model.visit import Claimed, Settle
from gossamer.store.client import Unsure
from gossamer.store.keys import tag

LOOK, LONG, MOST = 10.0, 5_000, 8
"""Seconds between looks for leases of crawls that nobody runs; ms that they must be over; buckets that are
looked at in one."""


class Everywhere:
    """One crawl's frontier in all buckets of its store."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store, self._crawl = frontier, frontier.store, frontier.crawl
        self._turns = Turns(frontier)
        self._looked, self._from, self._outages = 0.0, 0, 0

    async def due(self, buckets: Sequence[int] | None = None) -> dict[int, float]:
        """Seconds from now until a host may start, of the buckets (all, or these) in which hosts wait."""
        return await self._heads(self._frontier.policy.heaps(self._frontier.waits), buckets)

    async def claim(self, asks: Sequence[tuple[int, int]]) -> list[Claimed]:
        """About k claims of each bucket (bucket, k), in their order; without those that could not be asked."""
        if self._store.buckets > 1 and self._frontier.policy.limited:
            try:
                return await self._turns.claim(asks)
            except Away as error:
                self._store.note(error)
                return []
        calls = [(bucket, self._frontier.claiming(k)) for bucket, k in asks]
        replies = await self._store.run_all("claim", calls, confirm=True)
        found = []
        for (bucket, _), reply in zip(asks, replies, strict=True):
            got = reply.reply if isinstance(reply, Unsure) else reply
            if self._came(got):
                one = self._frontier.claimed(bucket, got)
                one.sure = not isinstance(reply, Unsure)
                found.append(one)
        return found

    async def sweep(self) -> None:
        """Return the claims whose lease ran out."""
        over = [bucket for bucket, wait in (await self._heads("l", None)).items() if wait <= 0]
        for reply in await self._store.run_all(
            "sweep", [(bucket, self._frontier.sweeping()) for bucket in over]
        ):
            self._came(reply)
        if time.monotonic() >= self._looked + LOOK:
            await self._sweep_others()

    async def _sweep_others(self) -> None:
        """Claims of a crawl that died hold slots of hosts that we wait for, too, and nobody else would return
        them."""
        self._looked, outages = time.monotonic(), self._frontier.patience.outages
        if outages != self._outages:  # who lives renews first
            self._outages = outages
            return
        buckets = [(self._from + j) % self._store.buckets for j in range(min(MOST, self._store.buckets))]
        self._from = (buckets[-1] + 1) % self._store.buckets
        calls = [
            (group[place], (name.decode(), *self._frontier.sweeping()[1:]))
            for group, reply in await self._at_servers("lapsed", buckets, LONG)
            if self._came(reply)
            for place, name in zip(reply[::2], reply[1::2], strict=True)
        ]
        for reply in await self._store.run_all("sweep", calls):
            self._came(reply)

    async def left(self) -> tuple[int, int]:
        """URLs that are open (and producers that may add some), and URLs that were ever added."""
        counts = await self.counts("open", "added", "producers")
        return sum(one[0] + one[2] for one in counts), sum(one[1] for one in counts)

    async def counts(self, *names: str) -> list[list[int]]:
        """Some counts of the crawl, bucket by bucket; the last may be `leases` or `producers`. Raises Away."""
        out: list[list[int]] = [[] for _ in range(self._store.buckets)]
        for buckets, reply in await self._at_servers("counts", None, len(names), *names):
            if isinstance(reply, GossamerError):
                raise reply
            for j, bucket in enumerate(buckets):
                out[bucket] = reply[j * len(names) : (j + 1) * len(names)]
        return out

    async def renew(self, held: Mapping[int, Sequence[int]], *, dead: bool = False) -> list[tuple[int, int]]:
        """Keep the leases of tokens, by bucket, or (`dead`: who held them is) let them run out now; returns
        (bucket, token) of those that were lost."""
        lost = []
        lease = 0 if dead else self._frontier.policy.lease
        calls = [(bucket, (self._crawl, lease, *tokens)) for bucket, tokens in held.items()]
        for (bucket, _), reply in zip(calls, await self._store.run_all("renew", calls), strict=True):
            if self._came(reply):
                lost += [(bucket, int(token)) for token in reply]
        return lost

    async def landed(self, settles: Mapping[int, Sequence[Settle]]) -> None:
        """Free the slots of requests that are over, by bucket."""
        calls = [(bucket, self._frontier.landing(some)) for bucket, some in settles.items()]
        for reply in await self._store.run_all("landed", calls):
            self._came(reply)

    async def _heads(self, what: str, buckets: Sequence[int] | None) -> dict[int, float]:
        due: dict[int, float] = {}
        for asked, reply in await self._at_servers("heads", buckets, what):
            if self._came(reply):
                now = reply[0]
                due |= {asked[j]: (at - now) / 1000 for j, at in zip(reply[1::2], reply[2::2], strict=True)}
        return due

    async def _at_servers(
        self, verb: str, buckets: Sequence[int] | None, *args: Any
    ) -> list[tuple[list[int], Any]]:
        """Call a script once for all buckets that a server has: (its buckets, its reply)."""
        try:
            groups = await self._store.by_server(buckets)
        except Away as error:
            return [(list(buckets or range(self._store.buckets)), error)]
        calls = [(group[0], (self._crawl, *args, *map(tag, group))) for group in groups]
        return list(zip(groups, await self._store.run_all(verb, calls), strict=True))

    def _came(self, reply: Any) -> bool:
        """Whether there is a reply; raises what is more than an outage, and an outage where nobody waits."""
        if isinstance(reply, GossamerError):
            self._store.note(reply)
            return False
        return True
