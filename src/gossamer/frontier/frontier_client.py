"""The client through which a worker uses the frontier. The client's main methods are `add`, `claim`,
`settle`, `renew` and `requeue_expired`. Each method converts its arguments, calls one Lua script and decodes
the reply.

The methods that settle claims or add links work on many buckets at once. A call that settles claims or adds
links takes effect exactly once, even if its reply is lost. A reply may be lost, and a failover may promote a
replica that lacks the last writes. Therefore a call is repeated until its reply has arrived. If the store has
replicas, the call is also repeated until one replica has the writes of the call. The reply to a repeated
settle shows whether the first call succeeded. After a successful first call, the output already has the new
length, or the tokens are already settled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from gossamer.errors import Away, ConfigError, GossamerError, Moved, Stale
from gossamer.frontier.multi_bucket import AllBucketsFrontier, BucketCalls, HostBudgetSums
from gossamer.frontier.policy import Policy
from gossamer.frontier.robots_results import RobotsResults
from gossamer.model.request import Request, unpack
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Adds, Claim, Claimed, ClaimOrder, Commit, Settle
from gossamer.store.client import UnconfirmedReply
from gossamer.store.connection import RUN
from gossamer.store.keys import tag
from gossamer.store.keys import totals as totals_key
from gossamer.store.reconnect import OutageWaiter
from gossamer.store.store import Store
from gossamer.store.store_check import write_durably

CHUNK_URLS = 500
"""Maximum number of URLs in one call of a script. A call with this many URLs takes only a few
milliseconds."""
UNFOLLOWED = 60
"""Number of times that a call is repeated if no replica confirms the call's writes. If the caller waits for
the end of store outages, the call is repeated without a limit."""
FILLED = "fill|"
"""The prefix of field names in the hash of committed lengths. Fields with this prefix exist while a crawl
copies its kept rows to a new output. Kept rows are the rows that the crawl keeps in its data folder
(`sinks.rows_in_data_folder`). The value of such a field is a byte offset in the file that contains the kept
rows. The rows before this offset have already been copied to the new output."""
Outcome = tuple[int, int, int] | Stale | Moved
_encode = msgspec.msgpack.Encoder().encode


class Settler:
    """Sends the calls of one frontier that settle claims and add links."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store, self._crawl = frontier, frontier.store, frontier.crawl

    async def add(self, adds: Adds) -> tuple[int, int, int]:
        """Adds links. Returns the numbers of new, known and parked URLs."""
        return await self._add(_chunks(adds), adds)

    async def revisit(self, adds: Adds, batch: int) -> None:
        """Queues the known URLs of a batch for another visit. Each batch is queued only once. A batch has at
        most CHUNK_URLS URLs."""
        chunks = _chunks(adds)
        assert len({bucket for bucket, _ in chunks}) == len(chunks), "a batch has one call in each bucket"
        calls = [
            (bucket, (self._crawl, *await self._frontier.adding(bucket, {}), batch, *args))
            for bucket, args in chunks
        ]
        await call_until_confirmed(self._store, "revisit", calls)

    async def settle(self, commits: Sequence[Commit]) -> list[Outcome]:
        """Settles each commit completely or not at all. Returns the outcome of each commit.

        One call settles all commits on one server. If one of these commits fails, the call settles none of
        them. If a commit has lost tokens, its outcome is Stale with these tokens, and the outcome of the
        other commits is Stale without tokens. If a file has an unexpected length, the outcome of every commit
        of the call is Moved.
        """
        before: list[tuple[int, list[Any]]] = []
        blocks: list[tuple[Any, ...]] = []
        merged: Adds = {}
        for commit in commits:
            links: list[Any] = []
            for bucket, args in _chunks(commit.adds):
                if bucket == commit.bucket and not links:
                    links = args
                else:
                    before.append((bucket, args))
            merged |= commit.adds
            shares = (await self._frontier.adding(commit.bucket, commit.adds))[4:]
            blocks.append((*shares, *self._ends(commit), *links))
        changes = self._store.client.servers.changes
        if before:
            await self._add(before, merged)
        how = self._crawl, *(await self._frontier.adding(0, {}))[:4], tag(0) if self._store.together else ""
        servers = await buckets_by_server(
            self._store, list(dict.fromkeys(commit.bucket for commit in commits))
        )
        if len(servers) > 1 and any(commit.files for commit in commits):
            return [
                Stale([]) for _ in commits
            ]  # the rows were written together, but their buckets are now on several servers
        groups = [
            [j for j, commit in enumerate(commits) if commit.bucket in group] for group in map(set, servers)
        ]
        calls = [
            (
                commits[group[0]].bucket,
                (
                    *how,
                    len(group),
                    *(x for j in group for x in (tag(commits[j].bucket), len(blocks[j]), *blocks[j])),
                ),
            )
            for group in groups
        ]
        outcomes: dict[int, Outcome] = {}
        for group, (reply, repeated) in zip(
            groups, await call_until_confirmed(self._store, "settle", calls, servers), strict=True
        ):
            outcomes |= zip(group, self._outcomes([commits[j] for j in group], reply, repeated), strict=True)
        while (
            before and changes != self._store.client.servers.changes
        ):  # the store may have lost the links since
            changes = self._store.client.servers.changes
            await self._add(before, merged)
        return [outcomes[j] for j in range(len(commits))]

    async def _add(self, chunks: Sequence[tuple[int, list[Any]]], adds: Adds) -> tuple[int, int, int]:
        """The chunks are added one after another if the store has several buckets and some links lead to
        discovered hosts, because discovered hosts share the crawl's page budget (`shares`). Otherwise, the
        chunks are added in parallel."""
        total = [0, 0, 0]
        discovered = self._store.buckets > 1 and any("o" not in flags for _, _, _, _, flags, _ in adds)
        for part in ([chunk] for chunk in chunks) if discovered else [chunks]:
            calls = [
                (bucket, (self._crawl, *await self._frontier.adding(bucket, adds), *args))
                for bucket, args in part
            ]
            for (bucket, _), (got, _) in zip(
                calls, await call_until_confirmed(self._store, "add", calls), strict=True
            ):
                total = [a + b for a, b in zip(total, got, strict=False)]
                self._frontier.shares.took(bucket, got[3], got[4])
        return total[0], total[1], total[2]

    def _ends(self, commit: Commit) -> list[Any]:
        """Returns the script arguments that settle claims. The arguments contain file lengths, counts,
        totals, bytes per host, tokens and URLs."""
        # a quality count of 0 is also sent, so that the store lists each field, even a field that no item has
        # (`model.quality`)
        changes = [x for pair in commit.counts.items() if pair[1] or pair[0][:2] == "q|" for x in pair]
        hosts = commit.hosts.items() if self._frontier.policy.host_bytes >= 0 else ()
        ends: list[Any] = []
        visited: list[Any] = []
        for s in commit.settles:
            how = self._frontier.policy.ends(s)
            ends += (s.token, how, s.since, s.delay, s.pace, s.host_wait, s.wait, s.reason, _line(s.detail))
            if s.mark is not None and s.end == ClaimEnd.DONE:
                visited += (s.token, *self._frontier.remainder(s.mark), s.depth)
        lengths = [x for triple in commit.files for x in triple]
        return [
            len(commit.files),
            *lengths,
            len(changes) // 2,
            *changes,
            len(commit.totals),
            *(x for pair in commit.totals.items() for x in pair),
            len(hosts),
            *(x for pair in hosts for x in pair),
            len(commit.settles),
            *ends,
            len(visited) // 4,
            *visited,
        ]

    def _outcomes(self, commits: Sequence[Commit], got: Any, repeated: bool) -> list[Outcome]:
        if got[0] == b"stale":
            stale = [Stale([]) for _ in commits]
            for place, token in zip(got[1::2], got[2::2], strict=True):
                stale[place - 1].tokens.append(int(token))
            return [*stale]
        if got[0] == b"file":
            moved = Moved(got[1].decode(), int(got[2]))
            done = any((path, new) == (moved.file, moved.length) for c in commits for path, _, new in c.files)
            return [(0, 0, 0) if repeated and done else moved for _ in commits]
        for j, commit in enumerate(commits):
            self._frontier.shares.took(commit.bucket, got[5 * j + 4], got[5 * j + 5])
        return [(got[5 * j + 1], got[5 * j + 2], got[5 * j + 3]) for j in range(len(commits))]


async def call_until_confirmed(
    store: Store, verb: str, calls: Sequence[tuple[int, Sequence[Any]]], buckets: Sequence[Sequence[int]] = ()
) -> list[tuple[Any, bool]]:
    """Calls a script until each reply is confirmed. Returns one pair for each call. The first element is the
    reply. The second element is True if the script was called more than once.

    An error that waiting cannot fix is raised immediately. During an outage, raises Away if the caller does
    not wait for the end of outages. For each call, `buckets` contains a list of the call's buckets. If a
    failover has moved the buckets of one call to several servers, this call gets the reply `stale` without
    tokens.
    """
    out: list[tuple[Any, bool]] = [(None, False)] * len(calls)
    left, turn = list(range(len(calls))), 0
    while left:
        replies = await store.run_all(verb, [calls[j] for j in left], confirm=True)
        again: list[int] = []
        trouble: GossamerError | None = None
        for j, reply in zip(left, replies, strict=True):
            out[j] = (reply, turn > 0)
            if isinstance(reply, UnconfirmedReply):
                again.append(j)
            elif isinstance(reply, GossamerError):
                again.append(j)
                trouble = reply
        if trouble is not None:
            await store.wait(trouble)
            if buckets:
                apart = [j for j in again if len(await buckets_by_server(store, buckets[j])) > 1]
                out = [([b"stale"], True) if j in apart else one for j, one in enumerate(out)]
                again = [j for j in again if j not in apart]
        elif again:
            if turn >= UNFOLLOWED and not store.patient:
                raise Away("no replica of the store confirms its writes: see its log")
            await asyncio.sleep(min(0.05 * 2**turn, 1.0))
        left, turn = again, turn + 1
    return out


async def buckets_by_server(store: Store, buckets: Sequence[int]) -> list[list[int]]:
    """Groups buckets by the server that holds them. Waits until each bucket has a server. During an outage,
    raises Away if the caller does not wait for the end of outages."""
    while True:
        try:
            return await store.by_server(buckets)
        except Away as error:
            await store.wait(error)


def _line(detail: str) -> str:
    return " ".join(detail.split())[:500]


def _chunks(adds: Adds) -> list[tuple[int, list[Any]]]:
    """Returns (bucket, arguments) pairs for the script calls that add links. The arguments have the format of
    `links.lua`. The arguments of one call contain at most CHUNK_URLS URLs."""
    out: list[tuple[int, list[Any]]] = []
    room: dict[int, tuple[int, list[Any]]] = {}
    for (bucket, host, level, lane, flags, voucher), flat in adds.items():
        for first in range(0, len(flat), CHUNK_URLS * 3):
            part = flat[first : first + CHUNK_URLS * 3]
            n, entries = len(part) // 3, part[2::3]
            used, args = room.get(bucket, (CHUNK_URLS, []))
            if used + n > CHUNK_URLS:
                used, args = 0, []
                out.append((bucket, args))
            part[1::3], part[2::3] = map(str, part[1::3]), map(len, entries)
            args += (host, level, lane, flags, voucher, _encode(part), b"".join(entries))
            room[bucket] = (used + n, args)
    return out


__all__ = ["Frontier", "Policy"]

_USUAL_ORDER = ClaimOrder()
DEPTH_HASHES = 16_384
"""Number of hashes that store depths, summed over all buckets."""


class Frontier:
    """The frontier of one crawl in a store. The methods of this class are the operations of the frontier."""

    def __init__(self, store: Store, crawl: str, policy: Policy | None = None) -> None:
        self.store = store
        self.crawl = crawl
        self.policy = policy or Policy()
        self.waits = (0, 0)
        """This worker may claim a host only after the host has been ready for this many milliseconds
        (`worker_score`). The first number applies to easy hosts, and the second number applies to hard
        hosts."""
        self.all_buckets = AllBucketsFrontier(self)
        self.shares = HostBudgetSums(store, self.all_buckets)
        self._settler, self._robots = Settler(self), RobotsResults(store)

    def set_waits(self, waits: tuple[int, int]) -> None:
        """Sets for how many milliseconds a host must have been ready before this worker may claim the host.
        The first number applies to easy hosts, and the second number to hard hosts."""
        self.waits = waits

    def change_policy(self, **changes: Any) -> None:
        """Changes fields of the crawl's policy. Later calls use the changed policy."""
        self.policy = msgspec.structs.replace(self.policy, **changes)

    def remainder(self, fingerprint: int) -> tuple[int, int]:
        """Splits the fingerprint of a URL into two numbers. The seen set is spread over many Redis sets. The
        first number selects the Redis set, and the second number is the member of the Redis set."""
        if self.policy.seen == "exact":
            return fingerprint >> 32, fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint
        low = fingerprint & 0xFFFFFFFF
        return fingerprint >> 32, low - (1 << 32) if low >> 31 else low

    @property
    def patience(self) -> OutageWaiter:
        """Returns the object that waits for the end of an outage of the store."""
        return self.store.client.patience

    async def check_same(self) -> None:
        """Raises StoreChanged if another store has replaced the store that was opened."""
        await self.store.check_same()

    async def together(self, buckets: Sequence[int]) -> list[list[int]]:
        """Groups buckets by server. Either all commits of a group are settled, or none."""
        return await buckets_by_server(self.store, buckets)

    @property
    def _depths(self) -> int:
        """The number of Redis hashes that store the depths of a bucket's URLs, or 0 if depths are not
        stored."""
        return max(1, DEPTH_HASHES // self.store.buckets) if self.policy.depths else 0

    async def adding(self, bucket: int, adds: Adds) -> tuple[str | int, ...]:
        """Returns the first arguments of the scripts that add URLs (`add`, `settle`, `admit_held_links`)."""
        p = self.policy
        discovered = p.host_pages >= 0 and any("o" not in flags for _, _, _, _, flags, _ in adds)
        elsewhere = await self.shares.elsewhere(bucket) if discovered else (0, 0, 0)
        return p.seen, max(1, p.sets // self.store.buckets), p.host_pages, self._depths, *elsewhere

    async def admit(self, bucket: int, host: str) -> int:
        """Adds the links to `host` that the frontier has held back, and returns the number of these links.
        Links to `host` were out of scope until a seed was redirected to `host`."""
        return int(
            await self.store.run("admit_held_links", bucket, self.crawl, *await self.adding(bucket, {}), host)
        )

    async def may_redirect_seeds(self) -> bool:
        """Returns whether some seeds have no response yet. A seed without a response may still be
        redirected."""
        return sum(one[0] for one in await self.all_buckets.counts("seeds")) > 0

    async def nearest(self, bucket: int, fingerprint: int) -> int | None:
        """Returns the smallest depth at which a URL was found so far, or None if no depth is stored. Depths
        are stored only if `Policy.depths` is set."""
        high, low = self.remainder(fingerprint)
        key = f"{tag(bucket)}{self.crawl}:d:{high * self._depths >> 32}"
        found = await self.store.guard(cast(Any, self.store.client.hget(key, str(low))))
        return None if found is None else int(found) % 100

    async def add(self, adds: Adds) -> tuple[int, int, int]:
        """Adds links. The change is durable if the store has replicas. Returns the numbers of new, already
        known and parked links."""
        return await self._settler.add(adds)

    async def revisit(self, adds: Adds, batch: int) -> None:
        """Queues known URLs for another visit, without a check of the seen set. The change is durable if the
        store has replicas. Sending a batch again changes nothing. `batch` is the number of the batch, and
        must be higher than the number of each earlier batch. A batch has at most CHUNK_URLS URLs. Each link
        in `adds` must have the flag `v` of `add.lua`."""
        await self._settler.revisit(adds, batch)

    async def known(self, bucket: int, fingerprint: int) -> bool:
        """Returns whether the seen set of the bucket contains this fingerprint. `bucket` is the bucket of the
        URL's host."""
        return bool(
            await self.store.run(
                "is_seen", bucket, self.crawl, self.policy.seen, *self.remainder(fingerprint)
            )
        )

    async def claim(self, bucket: int, k: int) -> Claimed:
        """Claims approximately `k` URLs of hosts that are ready in this bucket. The result may contain more
        than `k` URLs, because one claim may include several URLs of a host (`Policy.gate`)."""
        p = self.policy
        if self.store.buckets > 1 and p.has_total_limits:
            return (await self.all_buckets.claim([(bucket, k)]))[0]
        return self.claimed(bucket, await self.store.run("claim", bucket, *self.claiming(k)))

    def claiming(
        self,
        k: int,
        order: ClaimOrder = _USUAL_ORDER,
        limit: int | None = None,
        size_limit: int | None = None,
        rate: float | None = None,
        ended: Sequence[Settle] = (),
    ) -> Any:
        """Returns the arguments of the script `claim.lua`. The arguments `limit`, `size_limit` and `rate`
        replace the policy's limits if they are not None. `ended`: the records of requests that have ended.
        The script frees the slots of these requests before it claims URLs."""
        p = self.policy
        return (
            self.crawl,
            p.heaps(self.waits),
            k,
            p.lease,
            p.delay,
            p.first_delay,
            p.per_host,
            int(p.obey_robots),
            p.limit if limit is None else limit,
            p.size_limit if size_limit is None else size_limit,
            p.rate if rate is None else rate,
            p.gate,
            p.of_a_host,
            str(order),
            *self.freeing(ended)[1:],
            RUN,  # the last argument, because the connection replaces it
        )

    def claimed(self, bucket: int, got: Any) -> Claimed:
        """Decodes the reply of `claim`."""
        claims = [_claim(bucket, *got[j : j + 12]) for j in range(4, len(got), 12)]
        return Claimed(got[0], got[1], got[2].decode(), claims, bucket, rank=got[3])

    async def settle(
        self,
        bucket: int,
        settles: Sequence[Settle],
        counts: dict[str, int],
        adds: Adds,
        files: Iterable[tuple[str, int, int]] = (),
    ) -> tuple[int, int, int]:
        """Settles claims of one bucket completely or not at all. The call also stores the counts, the links
        and the file lengths of these claims. `files` contains (path, committed length, new length) tuples.
        The script call that settles the claims also adds the first chunk of links that belong to this bucket.
        All other links are added earlier, in separate calls. Returns the numbers of new, already known and
        parked links of the first chunk. If the method raises Stale or Moved, no claim was settled.
        """
        (outcome,) = await self.settle_all([Commit(bucket, settles, counts, adds, tuple(files))])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def settle_all(self, commits: Sequence[Commit]) -> list[tuple[int, int, int] | Stale | Moved]:
        """Settles several buckets at once. Each bucket is settled completely or not at all. Returns a list
        with one outcome for each commit, in the order of `commits`. An outcome is either a return value of
        `settle`, or a Stale or Moved error, which is returned and not raised."""
        return await self._settler.settle(commits)

    async def free_slots(self, bucket: int, settles: Sequence[Settle]) -> int:
        """Frees the slots that finished requests occupy at their hosts. This method may be called before the
        rows of these requests are durable. Returns the number of claims that were still leased."""
        return int(await self.store.run("free_slots", bucket, *self.freeing(settles)))

    def freeing(self, settles: Sequence[Settle]) -> Any:
        """Returns the arguments of `free_slots`."""
        return self.crawl, *(
            x
            for s in settles
            for x in (s.token, s.since, s.delay, s.pace, s.host_wait, self.policy.says(s), s.reason)
        )

    async def renew(self, bucket: int, tokens: Sequence[int]) -> list[int]:
        """Renews leases. Returns the tokens whose leases were lost."""
        lost = await self.store.run("renew_leases", bucket, self.crawl, self.policy.lease, *tokens)
        return [int(token) for token in lost]

    async def requeue_expired(
        self, bucket: int, limit: int = 1000, nobody_lives: bool = False, blamed: Iterable[int] = ()
    ) -> tuple[int, int, int, int]:
        """Requeues expired claims. Returns four numbers. The first number counts the requeued claims. The
        second number counts the open URLs plus the active producers. The third number counts all URLs that
        were ever added. The fourth number counts the open infrastructure requests.

        An infrastructure request fetches a sitemap or feed, or reads a page again. `nobody_lives`: whether no
        process of the crawl is alive. If `nobody_lives` is true, every claim is requeued, even if the lease
        of the claim has not expired, and a crash is counted only for the tokens in `blamed`. A worker was
        parsing the pages of these tokens when the worker died.
        """
        got = await self.store.run("requeue_expired", bucket, *self.requeuing(limit, nobody_lives), *blamed)
        return got[0], got[1], got[2], got[3]

    def requeuing(self, limit: int = 1000, nobody_lives: bool = False) -> Any:
        """Returns the arguments of `requeue_expired`."""
        hold = self.policy.delay if self.policy.delay >= 0 else self.policy.first_delay
        return self.crawl, limit, hold, int(nobody_lives)

    async def handover(self, bucket: int, host: str, lane: str) -> bool:
        """Moves a host to the workers of another lane. `lane` may also be `+SITE+SITE`, which moves the host
        to the workers that have the files of these sites. Returns False if the host already belonged to these
        workers."""
        return bool(await self.store.run("move_host", bucket, self.crawl, host, lane))

    async def robots(
        self, claim: Claim, *, version: int, holds: int, crawl_delay: int, settle: Settle, rules: bytes = b""
    ) -> bool:
        """Stores the outcome of a claim of the kind `robots`, which fetches robots.txt. Returns False if the
        lease was already lost. Times are in milliseconds."""
        scheme = "s" if claim.request.url.startswith("https:") else "h"
        args = (
            self.crawl,
            claim.token,
            scheme,
            version,
            holds,
            crawl_delay,
            settle.since,
            settle.delay,
            settle.pace,
            settle.host_wait,
            rules,
            self.policy.says(settle),
            settle.reason,
        )
        return await self._robots.put(claim.bucket, args)

    async def rules(self, bucket: int, host: str, scheme: str) -> bytes | None:
        """Returns the stored robots rules of an origin (scheme `h` or `s`)."""
        found = await self.store.guard(self.store.client.get(f"{tag(bucket)}o:{scheme}:{host}"))
        return found if isinstance(found, bytes) else None

    async def lengths(self, files: Sequence[str]) -> list[int | None]:
        """Returns the committed length of each file in bytes. If the buckets store different lengths for a
        file, the largest length is returned. The length of a file is None if no length was committed."""
        pipe = self.store.client.pipeline(transaction=False)
        for bucket in range(self.store.buckets):
            pipe.hmget(f"{tag(bucket)}{self.crawl}:f", list(files))
        found = await self.store.guard(pipe.execute())
        return [
            max((int(x) for x in known if x is not None), default=None) for known in zip(*found, strict=True)
        ]

    async def all_lengths(self) -> dict[str, int]:
        """Returns the committed length in bytes of every output of the crawl, by path."""
        pipe = self.store.client.pipeline(transaction=False)
        for bucket in range(self.store.buckets):
            pipe.hgetall(f"{tag(bucket)}{self.crawl}:f")
        lengths: dict[str, int] = {}
        for known in await self.store.guard(pipe.execute()):
            for path, length in known.items():
                name = path.decode("utf-8", "surrogateescape")
                if not name.startswith(FILLED):
                    lengths[name] = max(lengths.get(name, 0), int(length))
        return lengths

    async def renamed(self, was: str, file: str, length: int) -> None:
        """Moves the committed length of an output from its old path to its new path."""
        await self.base(file, length)
        if (offset := (await self.filling()).get(was)) is not None:
            await self.fill(file, offset)
            await self.filled([was])
        await self.no_length(was)

    async def no_length(self, file: str) -> None:
        """Removes the committed length of an output."""
        pipe = self.store.client.pipeline(transaction=False)
        for bucket in range(self.store.buckets):
            pipe.hdel(f"{tag(bucket)}{self.crawl}:f", file)
        await self.store.guard(pipe.execute())

    async def count(self, changes: dict[str, int], bucket: int = 0) -> None:
        """Changes counts without settling claims, for example for refused seeds."""
        pipe = self.store.client.pipeline()
        for field, by in changes.items():
            if by:
                pipe.hincrby(f"{tag(bucket)}{self.crawl}:n", field, by)
            if by > 0 and field.startswith("skip:"):
                pipe.hincrby(totals_key(bucket), field, by)
        await self.store.guard(pipe.execute())

    async def base(self, file: str, length: int) -> None:
        """Commits the original length of a file in bytes, that is, the length before this crawl writes its
        first row to the file. When this call returns, the length is durable. The commit must survive a power
        failure. Without the committed length, the crawl could not distinguish its own rows from rows of
        another program. After a crash, the crawl would leave its own rows in the file, and write them a
        second time.
        """
        await write_durably(self.store, "HSETNX", f"{tag(0)}{self.crawl}:f", file, str(length))

    async def fill(self, file: str, offset: int, length: int | None = None) -> None:
        """Records that the kept rows up to `offset` have been copied to a new output. If `length` is given,
        commits `length` as the current length of the output. `offset` is a position in the file that contains
        the kept rows. The offset and the length are in bytes."""
        grown = [] if length is None else [file, str(length)]
        await write_durably(
            self.store, "HSET", f"{tag(0)}{self.crawl}:f", f"{FILLED}{file}", str(offset), *grown
        )

    async def filling(self) -> dict[str, int]:
        """Returns the outputs to which the kept rows are still being copied, with an offset for each output.
        The rows before this offset in the file of kept rows have already been copied to the output."""
        found = await self.store.guard(self.store.client.hgetall(f"{tag(0)}{self.crawl}:f"))
        names = {name.decode("utf-8", "surrogateescape"): int(offset) for name, offset in found.items()}
        return {name.removeprefix(FILLED): n for name, n in names.items() if name.startswith(FILLED)}

    async def filled(self, files: Sequence[str]) -> None:
        """Records that all kept rows have been copied to the given outputs."""
        if files:
            names = [f"{FILLED}{file}" for file in files]
            await self.store.guard(self.store.client.hdel(f"{tag(0)}{self.crawl}:f", *names))


def _claim(
    bucket: int,
    token: int,
    host: bytes,
    level: bytes,
    kind: bytes,
    robots: Any,
    pace: bytes,
    delay: Any,
    floor: Any,
    rate: Any,
    vouchers: Any,
    trouble: bytes,
    entry: bytes,
) -> Claim:
    name = host.decode()
    sort, strange = kind.decode(), ""
    if sort == "robots":
        request = unpack(name, entry + b"\x93\xab/robots.txt\x00\xc0", int(level))
    else:
        try:
            request = unpack(name, entry, int(level))
        except ConfigError as error:
            request, strange = Request(f"http://{name}/"), str(error)
    return Claim(
        token,
        bucket,
        name,
        request,
        sort,
        entry[1] - 48,
        entry[2] - 48,
        int(robots),
        pace.decode(),
        int(delay) / 1000,
        int(floor or 0) / 1000,
        int(rate) / 1000 if int(rate) >= 0 else None,
        int(vouchers or 0),
        entry[:1].isupper(),
        trouble.decode(),
        strange,
    )
