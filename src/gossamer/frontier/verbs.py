"""The verbs of the frontier, as a worker calls them: values in, one script, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from gossamer.errors import Moved, Stale
from gossamer.frontier.keys import tag
from gossamer.frontier.policy import Policy
from gossamer.frontier.shares import Shares
from gossamer.frontier.store import Store
from gossamer.frontier.turns import Turns
from gossamer.request import unpack
from gossamer.visit import Adds, Claim, Claimed, Settle

__all__ = ["Frontier", "Policy"]

CHUNK = 500
"""URLs in one call of a script, so that it stays under a few milliseconds."""
DEPTHS = 16_384
"""Hashes that keep depths, all buckets together."""


class Frontier:
    """One crawl's frontier in a store."""

    def __init__(self, store: Store, crawl: str, policy: Policy | None = None) -> None:
        self.store = store
        self.crawl = crawl
        self.policy = policy or Policy()
        self._turns = Turns(store, crawl)
        self._shares = Shares(store, crawl)
        self.waits = (0, 0)
        """Milliseconds that an easy and a hard host must have waited before it is claimed here (`road.merit`)."""

    def remainder(self, fingerprint: int) -> tuple[int, int]:
        """The two halves of a fingerprint as the seen-set wants them: which set, which member."""
        if self.policy.seen == "exact":
            return fingerprint >> 32, fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint
        low = fingerprint & 0xFFFFFFFF
        return fingerprint >> 32, low - (1 << 32) if low >> 31 else low

    @property
    def _depths(self) -> int:
        """Hashes of a bucket that keep depths."""
        return max(1, DEPTHS // self.store.buckets) if self.policy.depths else 0

    async def _adding(self, bucket: int, adds: Adds) -> tuple[str | int, ...]:
        """How URLs are taken in: the first arguments of add, settle and admit."""
        p = self.policy
        discovered = p.host_pages >= 0 and any("o" not in flags for _, _, _, _, flags, _ in adds)
        elsewhere = await self._shares.elsewhere(bucket) if discovered else (0, 0, 0)
        return p.seen, max(1, p.sets // self.store.buckets), p.host_pages, self._depths, *elsewhere

    async def _add(self, bucket: int, adds: Adds, args: list[Any]) -> list[int]:
        got: list[int] = await self.store.run("add", bucket, self.crawl, *await self._adding(bucket, adds), *args)
        self._shares.took(bucket, got[3], got[4])
        return got

    async def admit(self, bucket: int, host: str) -> int:
        """A seed was redirected to this host: take the links to it that were refused before; returns how many."""
        return int(await self.store.run("admit", bucket, self.crawl, *await self._adding(bucket, {}), host))

    async def unanswered(self) -> bool:
        """Whether a seed may yet be redirected: some have no answer so far."""
        pipe = self.store.client.pipeline(transaction=False)
        for bucket in range(self.store.buckets):
            pipe.hget(f"{tag(bucket)}{self.crawl}:n", "seeds")
        return sum(int(n or 0) for n in await self.store.guard(pipe.execute())) > 0

    async def nearest(self, bucket: int, fingerprint: int) -> int | None:
        """The least depth at which a URL was found so far, where depths are kept."""
        high, low = self.remainder(fingerprint)
        key = f"{tag(bucket)}{self.crawl}:d:{high * self._depths >> 32}"
        found = await self.store.guard(cast(Any, self.store.client.hget(key, str(low))))
        return None if found is None else int(found) % 100

    async def add(self, adds: Adds) -> tuple[int, int, int]:
        """Add links; returns new, known, parked."""
        total = [0, 0, 0]
        for bucket, args in _chunks(adds):
            got = await self._add(bucket, adds, args)
            total = [a + b for a, b in zip(total, got, strict=False)]
        return total[0], total[1], total[2]

    async def known(self, bucket: int, fingerprint: int) -> bool:
        """Whether the seen-set has this fingerprint (of a URL whose host lies in the bucket)."""
        return bool(await self.store.run("known", bucket, self.crawl, self.policy.seen, *self.remainder(fingerprint)))

    async def claim(self, bucket: int, k: int) -> Claimed:
        """Up to about k claims of hosts that are ready in this bucket (a gate may bring more)."""
        p = self.policy
        if self.store.buckets > 1 and (p.limit >= 0 or p.size_limit >= 0 or p.rate > 0):
            return await self._claim_in_turn(bucket, k)
        return await self._claim(bucket, k, p.limit, p.size_limit, p.rate)

    async def _claim(self, bucket: int, k: int, limit: int, size_limit: int, rate: float) -> Claimed:
        p = self.policy
        got = await self.store.run(
            "claim", bucket, self.crawl, p.heaps(self.waits), k, p.lease, p.delay, p.first_delay, p.per_host,
            int(p.obey_robots), limit, size_limit, rate, p.gate,
        )  # fmt: skip
        claims = [_claim(bucket, *got[j : j + 12]) for j in range(3, len(got), 12)]
        return Claimed(got[0], got[1], got[2].decode(), claims)

    async def _claim_in_turn(self, bucket: int, k: int) -> Claimed:
        """A claim whose limits other buckets share (`turns`)."""
        p, turns = self.policy, self._turns
        async with turns.turn():
            pages, size, others, other_size = await turns.elsewhere(bucket)
            if 0 <= p.limit <= pages or 0 <= p.size_limit <= size:
                return Claimed(0, -1, "pages" if 0 <= p.limit <= pages else "bytes", [])
            tat = 0.0
            if p.rate > 0:
                k, tat, now = await turns.allowed(k, p.rate)
                if k <= 0:
                    return Claimed(now, int(tat + 1000 / p.rate) + 1, "", [])
            limit = max(p.limit - others, 0) if p.limit >= 0 else -1
            size_limit = p.size_limit - other_size if p.size_limit >= 0 else -1
            got = await self._claim(bucket, k, limit, size_limit, 0.0)
            if p.rate > 0:
                await turns.spent(tat, len(got.claims), p.rate)
        got.limit = ""  # what is out in other buckets may still come to nothing
        return got

    async def settle(
        self,
        bucket: int,
        settles: Sequence[Settle],
        counts: dict[str, int],
        adds: Adds,
        files: Iterable[tuple[str, int, int]] = (),
    ) -> tuple[int, int, int]:
        """End claims of one bucket with their counts, links and file lengths (path, committed, new): all or nothing.

        Links of other buckets and those beyond one chunk go before it. Raises Stale or Moved, having settled nothing.
        """
        own: list[Any] = []
        for other, args in _chunks(adds):
            if other == bucket and not own:
                own = args
            else:
                await self._add(other, adds, args)
        changes = [x for pair in counts.items() if pair[1] for x in pair]
        ends: list[Any] = []
        visited: list[Any] = []
        for s in settles:
            ends += (s.token, self.policy.ends(s), s.since, s.delay, s.pace, s.host_wait, s.wait, s.reason, _line(s.detail))  # fmt: skip
            if s.mark is not None and s.action == "d":
                visited += (s.token, *self.remainder(s.mark), s.depth)
        lengths = [x for triple in files for x in triple]
        got = await self.store.run(
            "settle", bucket, self.crawl, *await self._adding(bucket, adds), len(lengths) // 3, *lengths,
            len(changes) // 2, *changes, len(settles), *ends, len(visited) // 4, *visited, *own,
        )  # fmt: skip
        if got[0] == b"stale":
            raise Stale([int(token) for token in got[1:]])
        if got[0] == b"file":
            raise Moved(got[1].decode(), int(got[2]))
        self._shares.took(bucket, got[4], got[5])
        return got[1], got[2], got[3]

    async def landed(self, bucket: int, settles: Sequence[Settle]) -> int:
        """Free the slots of requests that are over while their rows are not durable yet."""
        flat = [
            x for s in settles for x in (s.token, s.since, s.delay, s.pace, s.host_wait, self.policy.says(s), s.reason)
        ]  # fmt: skip
        return int(await self.store.run("landed", bucket, self.crawl, *flat))

    async def renew(self, bucket: int, tokens: Sequence[int]) -> list[int]:
        """Keep leases; returns the tokens that were lost meanwhile."""
        lost = await self.store.run("renew", bucket, self.crawl, self.policy.lease, *tokens)
        return [int(token) for token in lost]

    async def sweep(self, bucket: int, limit: int = 1000, nobody_lives: bool = False) -> tuple[int, int, int, int]:
        """Return claims whose lease ran out; (returned, open, added, infrastructure)."""
        hold = self.policy.delay if self.policy.delay >= 0 else self.policy.first_delay
        got = await self.store.run("sweep", bucket, self.crawl, limit, hold, int(nobody_lives))
        return got[0], got[1], got[2], got[3]

    async def robots(
        self, claim: Claim, *, version: int, holds: int, crawl_delay: int, settle: Settle, rules: bytes = b""
    ) -> bool:
        """Keep the outcome of a robots claim; False when the claim was no longer ours. Times in milliseconds."""
        scheme = "s" if claim.request.url.startswith("https:") else "h"
        return bool(
            await self.store.run(
                "robots", claim.bucket, self.crawl, claim.token, scheme, version, holds, crawl_delay,
                settle.since, settle.delay, settle.pace, settle.host_wait, rules,
                self.policy.says(settle), settle.reason,
            )
        )  # fmt: skip

    async def rules(self, bucket: int, host: str, scheme: str) -> bytes | None:
        """The stored robots rules of an origin (scheme `h` or `s`)."""
        found = await self.store.guard(self.store.client.get(f"{tag(bucket)}o:{scheme}:{host}"))
        return found if isinstance(found, bytes) else None

    async def lengths(self, bucket: int, files: Sequence[str]) -> list[int | None]:
        """Committed length of each file in bytes, None where nothing was committed yet."""
        found = await self.store.guard(self.store.client.hmget(f"{tag(bucket)}{self.crawl}:f", list(files)))
        return [None if x is None else int(x) for x in found]

    async def count(self, changes: dict[str, int], bucket: int = 0) -> None:
        """Change counts outside a settle (refused seeds)."""
        pipe = self.store.client.pipeline()
        for field, by in changes.items():
            if by:
                pipe.hincrby(f"{tag(bucket)}{self.crawl}:n", field, by)
        await self.store.guard(pipe.execute())

    async def base(self, file: str, length: int) -> None:
        """Commit the first length of a file in bytes, before any row of ours is in it; it is durable on return.

        If a power cut took it back, the rows would be taken for somebody else's, and would be kept and written again.
        """
        await self.store.durably("HSETNX", f"{tag(0)}{self.crawl}:f", file, str(length))


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
    sort = kind.decode()
    if sort == "robots":
        request = unpack(name, entry + b"\x93\xab/robots.txt\x00\xc0", int(level))
    else:
        request = unpack(name, entry, int(level))
    return Claim(
        token, bucket, name, request, sort, entry[1] - 48, entry[2] - 48, int(robots), pace.decode(),
        int(delay) / 1000, int(floor or 0) / 1000, int(rate) / 1000 if int(rate) >= 0 else None, int(vouchers or 0),
        entry[:1].isupper(), trouble.decode(),
    )  # fmt: skip


def _line(detail: str) -> str:
    return " ".join(detail.split())[:500]


def _chunks(adds: Adds) -> list[tuple[int, list[Any]]]:
    """Arguments of the add groups, by bucket, at most CHUNK URLs a call."""
    out: list[tuple[int, list[Any]]] = []
    room: dict[int, tuple[int, list[Any]]] = {}
    for (bucket, host, level, lane, flags, voucher), flat in adds.items():
        for first in range(0, len(flat), CHUNK * 3):
            part = flat[first : first + CHUNK * 3]
            n = len(part) // 3
            used, args = room.get(bucket, (CHUNK, []))
            if used + n > CHUNK:
                used, args = 0, []
                out.append((bucket, args))
            args += (host, level, lane, flags, voucher, n)
            args += part
            room[bucket] = (used + n, args)
    return out
