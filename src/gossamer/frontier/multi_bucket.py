"""The frontier over all buckets of a store. A script has access only to its own bucket, so this module
combines the buckets.

Reading all buckets takes one call per server. Scripts that change buckets are sent in one pipeline per
server. An outage of one bucket does not delay the other buckets. The failed bucket is skipped, and is tried
again in the next round.

If a crawl has a page, byte or rate limit, its workers take turns to claim. A turn is a short lock in the
first bucket. The worker that holds the turn sums the counts of all buckets. To compute the limit of one
bucket, the worker subtracts the pages, bytes and open claims of the other buckets from the crawl's limit.
This method makes the page limit exact with any number of workers. The first bucket stores the state of the
rate cap. If a crawl has no page, byte or rate limit, its workers do not take turns.

The page budget of a discovered host depends on the crawl's pages in all buckets. Therefore each call of `add`
passes three sums to the script. Each sum covers all buckets except the bucket of the call. The first sum
counts all fetched pages. The second sum counts the pages of hosts without a voucher. The third sum counts the
pages of hosts with one voucher. The client reads the sums from the store at intervals. Between two reads, the
client adds its own changes to the sums. The script does not need the three sums if the crawl has no
discovered hosts, or if the store has only one bucket.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Protocol

from gossamer.errors import Away, GossamerError
from gossamer.frontier.policy import Policy
from gossamer.model.visit import Adds, Claimed, ClaimOrder, DueBucket, Settle
from gossamer.store.client import UnconfirmedReply
from gossamer.store.keys import tag, totals
from gossamer.store.reconnect import OutageWaiter
from gossamer.store.store import Store


class AllBuckets(Protocol):
    """Reads the counts of a crawl in all buckets. `AllBucketsFrontier` implements this protocol."""

    async def counts(self, *names: str) -> list[list[int]]: ...


class BucketSums(Protocol):
    """Sums the counts of a crawl over all buckets except one bucket. `HostBudgetSums` implements this
    protocol."""

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]: ...

    def took(self, bucket: int, strangers: int, singles: int) -> None: ...


class BucketCalls(Protocol):
    """Builds the script arguments for one crawl and decodes the replies. `frontier_client.Frontier`
    implements this protocol."""

    store: Store
    crawl: str
    policy: Policy
    waits: tuple[int, int]

    @property
    def patience(self) -> OutageWaiter: ...

    @property
    def all_buckets(self) -> AllBuckets: ...

    @property
    def shares(self) -> BucketSums: ...

    def remainder(self, fingerprint: int) -> tuple[int, int]: ...

    async def adding(self, bucket: int, adds: Adds) -> tuple[str | int, ...]: ...

    def claiming(
        self,
        k: int,
        order: ClaimOrder = ...,
        limit: int | None = None,
        size_limit: int | None = None,
        rate: float | None = None,
        ended: Sequence[Settle] = ...,
    ) -> Any: ...

    def claimed(self, bucket: int, got: Any) -> Claimed: ...

    def freeing(self, settles: Sequence[Settle]) -> Any: ...

    def requeuing(self) -> Any: ...


TURN_TIMEOUT_MS = 5000
"""Maximum number of milliseconds for which a worker may hold the turn to claim URLs (see the module
docstring). If a worker dies while it holds the turn, another worker may take the turn after this time."""
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class LimitTurns:
    """Claims URLs for one worker of a crawl that has limits. The workers of the crawl take turns. A claim
    waits only while another worker has the turn. If the store is down, a claim raises Away at once."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store = frontier, frontier.store
        self._key = f"{tag(0)}{frontier.crawl}:turn"
        self._counts = f"{tag(0)}{frontier.crawl}:n"

    async def claim(self, asks: Sequence[tuple[int, int]], orders: Mapping[int, ClaimOrder]) -> list[Claimed]:
        """Claims from several buckets, one after another, within the crawl's page, byte and rate limits. Each
        pair in `asks` contains a bucket, and the number of claims to make in this bucket.

        After half of TURN_TIMEOUT_MS, returns without claiming from the remaining buckets.
        """
        p, found = self._frontier.policy, list[Claimed]()
        async with self._turn() as began:
            counts = await self._frontier.all_buckets.counts("pages", "bytes", "leases")
            pages, size, out = (sum(one[j] for one in counts) for j in range(3))
            reached = "pages" if 0 <= p.limit <= pages else "bytes" if 0 <= p.size_limit <= size else ""
            if reached:
                return [Claimed(0, -1, reached, [], asks[0][0])]
            left, tat, now = await self._allowed(sum(k for _, k in asks), p.rate)
            if left <= 0:
                return [Claimed(now, int(tat + 1000 / p.rate) + 1, "", [], bucket) for bucket, _ in asks]
            for bucket, k in asks:
                if left <= 0 or time.monotonic() - began > TURN_TIMEOUT_MS / 2000:
                    break
                own_pages, own_size, own_out = counts[bucket]
                limit = max(p.limit - (pages - own_pages) - (out - own_out), 0) if p.limit >= 0 else -1
                size_limit = p.size_limit - (size - own_size) if p.size_limit >= 0 else -1
                order = orders.get(bucket, ClaimOrder())
                one = await self._claim(bucket, min(k, left), order, limit, size_limit)
                n = len(one.claims)
                left, out, counts[bucket][2], tat = (
                    left - n,
                    out + n,
                    own_out + n,
                    tat + (n * 1000 / p.rate if p.rate else 0),
                )
                found.append(one)
            if p.rate > 0:
                await self._store.once("HSET", self._counts, "tat", repr(tat))
        return found

    async def _claim(self, bucket: int, k: int, order: ClaimOrder, limit: int, size_limit: int) -> Claimed:
        call = (bucket, self._frontier.claiming(k, order, limit, size_limit, 0.0))
        (reply,) = await self._store.run_all("claim", [call], confirm=True)
        if isinstance(reply, Exception):
            raise reply
        one = self._frontier.claimed(bucket, reply.reply if isinstance(reply, UnconfirmedReply) else reply)
        one.sure = not isinstance(reply, UnconfirmedReply)
        one.limit = ""  # not final, because open claims of other buckets may still fail
        return one

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[float]:
        """Waits until this worker gets the turn. The worker has the turn until the `with` block ends. Yields
        the monotonic time when the turn began."""
        mine = secrets.token_hex(8)
        while True:
            began = time.monotonic()
            if await self._store.once("SET", self._key, mine, "NX", "PX", TURN_TIMEOUT_MS):
                break
            await asyncio.sleep(0.005)  # another worker has the turn
        try:
            yield began
        finally:
            await self._store.once("EVAL", _LEAVE, 1, self._key, mine)

    async def _allowed(self, k: int, rate: float) -> tuple[int, float, int]:
        """Returns three values. The first value is the number of claims that the rate cap allows, up to `k`.
        The second value is the theoretical arrival time (TAT) in ms. TAT is a term of the generic cell rate
        algorithm, and means the time until which earlier claims have used up the rate cap. The third value is
        the store's time in ms.
        """
        if rate <= 0:
            return k, 0.0, 0
        now, kept = await self._store.once("EVAL", _CLOCK, 1, self._counts)
        tat = max(float(kept or 0), now - max(100, 1000 / rate))
        return min(k, int((now - tat) * rate / 1000 + 1e-3)), tat, now


_CLOCK = """local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('HGET', KEYS[1], 'tat')}"""


READ_INTERVAL_S = 0.05
"""Seconds between two reads of the sums over all buckets. The sums lack the pages that other workers have
added since the last read, so a host may exceed its share of the crawl's pages."""
_COUNTS = ("pages", "strangers", "singles")


class HostBudgetSums:
    """The counts of one crawl in each bucket, as this client last read them, and their sums."""

    def __init__(self, store: Store, all_buckets: AllBucketsFrontier) -> None:
        self._store, self._all_buckets = store, all_buckets
        self._known: list[list[int]] = []
        self._sums = [0, 0, 0]
        self._read_at = 0.0

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]:
        """Returns three sums over all buckets except `bucket`. The sums count the fetched pages, the pages of
        hosts without a voucher, and the pages of hosts with one voucher. A voucher is a registered domain in
        good standing that links to the host."""
        if self._store.buckets == 1:
            return 0, 0, 0
        if not self._known or time.monotonic() - self._read_at > READ_INTERVAL_S:
            self._known = await self._all_buckets.counts(*_COUNTS)
            self._sums = [sum(counts[j] for counts in self._known) for j in range(3)]
            self._read_at = time.monotonic()
        pages, strangers, singles = (self._sums[j] - self._known[bucket][j] for j in range(3))
        return pages, strangers, singles

    def took(self, bucket: int, strangers: int, singles: int) -> None:
        """Updates the sums after this client has called `add` for `bucket`. `strangers`: the number of pages
        that the call added for hosts without a voucher. `singles`: the number of pages that the call added
        for hosts with one voucher."""
        if self._known:
            for j, n in ((1, strangers), (2, singles)):
                self._known[bucket][j] += n
                self._sums[j] += n


SLOTS_AFTER_S = 30.0
"""A client first looks for slots that no lease holds after this number of seconds (`lost_slots`)."""
LOOK_INTERVAL_S, MAX_LEASE_DELAY_MS, MAX_SEARCHED_BUCKETS = 10.0, 5_000, 8
"""Each client searches for expired leases of abandoned crawls every LOOK_INTERVAL_S seconds. An abandoned
crawl has no living process. The search finds leases that expired at least MAX_LEASE_DELAY_MS ms ago.
MAX_SEARCHED_BUCKETS is the number of buckets per search."""


class AllBucketsFrontier:
    """The frontier of one crawl in all buckets of its store."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store, self._crawl = frontier, frontier.store, frontier.crawl
        self._turns = LimitTurns(frontier)
        self._looked, self._from, self._outages = 0.0, 0, 0
        self._slots_at = time.monotonic() + SLOTS_AFTER_S

    async def due(self, buckets: Sequence[int] | None = None) -> dict[int, DueBucket]:
        """Maps each bucket to its `DueBucket`. Leaves out buckets in which no host waits. Reads all buckets
        if `buckets` is None."""
        return await self._heads(self._frontier.policy.heaps(self._frontier.waits), buckets)

    async def claim(
        self,
        asks: Sequence[tuple[int, int]],
        orders: Mapping[int, ClaimOrder] = MappingProxyType({}),
        uncommitted: Mapping[int, Sequence[Settle]] = MappingProxyType({}),
    ) -> list[Claimed]:
        """Claims URLs from several buckets, in the order of `asks`. Each pair in `asks` contains a bucket,
        and the approximate number of claims to make in this bucket. Buckets that could not be reached are
        left out. `orders`: maps buckets to the order of their hosts (`TURN FLOOR` of `claim.lua`). All other
        buckets use the default order. `uncommitted`: maps each bucket to the records of requests that have ended.
        Before claiming, the method frees the slots that the ended requests occupy at their hosts."""
        if self._store.buckets > 1 and self._frontier.policy.has_total_limits:
            if uncommitted:
                await self.free_slots(uncommitted)
            try:
                return await self._turns.claim(asks, orders)
            except Away as error:
                self._store.note(error)
                return []
        calls = [
            (
                bucket,
                self._frontier.claiming(
                    k, orders.get(bucket, ClaimOrder()), ended=uncommitted.get(bucket, ())
                ),
            )
            for bucket, k in asks
        ]
        replies = await self._store.run_all("claim", calls, confirm=True)
        found = []
        for (bucket, _), reply in zip(asks, replies, strict=True):
            got = reply.reply if isinstance(reply, UnconfirmedReply) else reply
            if self._came(got):
                one = self._frontier.claimed(bucket, got)
                one.sure = not isinstance(reply, UnconfirmedReply)
                found.append(one)
        return found

    async def end_waits(self, k: int) -> list[Claimed]:
        """Claims up to `k` URLs of each bucket that wait for a retry, and the other URLs of hosts whose
        robots.txt cannot be read, that fail constantly, or that asked for a pause. A worker ends these claims
        without a request."""
        p = self._frontier.policy
        args = (self._crawl, p.heaps((0, 0)), "take", k, p.lease)
        calls = [(bucket, args) for bucket in range(self._store.buckets)]
        replies = await self._store.run_all("waiting_urls", calls)
        return [
            self._frontier.claimed(bucket, reply)
            for (bucket, _), reply in zip(calls, replies, strict=True)
            if self._came(reply)
        ]

    async def requeue_expired(self) -> None:
        """Requeues expired claims of this crawl. In addition, requeues expired claims of crawls whose process
        died, at most once every LOOK_INTERVAL_S seconds, and frees slots that no lease holds."""
        over = [bucket for bucket, head in (await self._heads("l", None)).items() if head.wait <= 0]
        for reply in await self._store.run_all(
            "requeue_expired", [(bucket, self._frontier.requeuing()) for bucket in over]
        ):
            self._came(reply)
        if time.monotonic() >= self._looked + LOOK_INTERVAL_S:
            await self._sweep_others()
        if time.monotonic() >= self._slots_at:
            from gossamer.frontier import lost_slots  # a short crawl does not need it

            self._slots_at = await lost_slots.sweep(self._store)

    async def _sweep_others(self) -> None:
        """Requeues expired claims of crawls whose process died.

        A dead crawl has no process that could requeue the claims of the dead crawl. Until another crawl
        requeues them, the claims occupy slots of hosts. The crawl of this client may be waiting for slots of
        the same hosts.
        """
        self._looked, outages = time.monotonic(), self._frontier.patience.outages
        if outages != self._outages:  # after an outage, living workers must renew their leases first
            self._outages = outages
            return
        buckets = [
            (self._from + j) % self._store.buckets
            for j in range(min(MAX_SEARCHED_BUCKETS, self._store.buckets))
        ]
        self._from = (buckets[-1] + 1) % self._store.buckets
        calls = [
            (group[place], (name.decode(), *self._frontier.requeuing()[1:]))
            for group, reply in await self._at_servers("abandoned_crawls", buckets, MAX_LEASE_DELAY_MS)
            if self._came(reply)
            for place, name in zip(reply[::2], reply[1::2], strict=True)
        ]
        for reply in await self._store.run_all("requeue_expired", calls):
            self._came(reply)

    async def left(self) -> tuple[int, int]:
        """Returns two numbers. The first number counts the open URLs plus the producers that may add more
        URLs. The second number counts all URLs that were ever added."""
        counts = await self.counts("open", "added", "producers")
        return sum(one[0] + one[2] for one in counts), sum(one[1] for one in counts)

    async def counts(self, *names: str) -> list[list[int]]:
        """Returns the counts with these names, for each bucket of the crawl. The last name may also be
        `leases` (the number of open claims) or `producers` (the number of active producers). Raises Away."""
        out: list[list[int]] = [[] for _ in range(self._store.buckets)]
        for buckets, reply in await self._at_servers("counts", None, len(names), *names):
            if isinstance(reply, GossamerError):
                raise reply
            for j, bucket in enumerate(buckets):
                out[bucket] = reply[j * len(names) : (j + 1) * len(names)]
        return out

    async def renew(self, held: Mapping[int, Sequence[int]], *, dead: bool = False) -> list[tuple[int, int]]:
        """Renews the leases of tokens. `held` maps each bucket to tokens. If `dead` is true, the holder of
        the leases has died, and the call makes the leases expire at once. Returns the bucket and the token of
        each lost lease."""
        lost = []
        lease = 0 if dead else self._frontier.policy.lease
        calls = [(bucket, (self._crawl, lease, *tokens)) for bucket, tokens in held.items()]
        for (bucket, _), reply in zip(calls, await self._store.run_all("renew_leases", calls), strict=True):
            if self._came(reply):
                lost += [(bucket, int(token)) for token in reply]
        return lost

    @property
    def store_changes(self) -> int:
        """A number that changes whenever the store may have lost writes (`Servers.changes`)."""
        return self._store.client.servers.changes

    async def lacks(self, settled: Mapping[int, int]) -> bool:
        """Returns whether the store has lost one of these settled claims, because it went back to an earlier
        state. `settled` maps buckets to tokens. The claim is then still leased, or its token was never
        granted. Raises Away."""
        pipe = self._store.client.pipeline(transaction=False)
        for bucket, token in settled.items():
            pipe.hexists(f"{tag(bucket)}{self._crawl}:lp", token)
            pipe.hget(f"{tag(bucket)}{self._crawl}:n", "token")
        replies = await self._store.guard(pipe.execute())
        return any(
            leased or int(last or 0) < token
            for leased, last, token in zip(replies[::2], replies[1::2], settled.values(), strict=True)
        )

    async def count_loss(self) -> None:
        """Counts in the totals that a worker noticed that the store lost writes."""
        await self._store.guard(self._store.client.hincrby(totals(0), "went_back", 1))

    async def free_slots(self, settles: Mapping[int, Sequence[Settle]]) -> None:
        """Frees the slots that finished requests occupy at their hosts. `settles` maps each bucket to the
        records of these requests."""
        calls = [(bucket, self._frontier.freeing(some)) for bucket, some in settles.items()]
        for reply in await self._store.run_all("free_slots", calls):
            self._came(reply)

    async def _heads(self, what: str, buckets: Sequence[int] | None) -> dict[int, DueBucket]:
        due: dict[int, DueBucket] = {}
        for asked, reply in await self._at_servers("due_buckets", buckets, what):
            if self._came(reply):
                now = reply[0]
                due |= {
                    asked[j]: DueBucket((at - now) / 1000, rank)
                    for j, at, rank in zip(reply[1::3], reply[2::3], reply[3::3], strict=True)
                }
        return due

    async def _at_servers(
        self, verb: str, buckets: Sequence[int] | None, *args: Any
    ) -> list[tuple[list[int], Any]]:
        """Calls a script once per server for all of the server's buckets. For each server, returns the
        server's buckets and the reply of the script."""
        try:
            groups = await self._store.by_server(buckets)
        except Away as error:
            return [(list(buckets or range(self._store.buckets)), error)]
        calls = [(group[0], (self._crawl, *args, *map(tag, group))) for group in groups]
        return list(zip(groups, await self._store.run_all(verb, calls), strict=True))

    def _came(self, reply: Any) -> bool:
        """Returns True if `reply` is the reply of a script, and False if `reply` is an error that reports an
        outage for whose end the client waits. Raises `reply` if it is any other error."""
        if isinstance(reply, GossamerError):
            self._store.note(reply)
            return False
        return True
