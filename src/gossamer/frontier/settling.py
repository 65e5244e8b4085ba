"""Ending claims and taking links in, in many buckets at once, exactly also where a reply is lost.

A reply may be lost, and a server may be replaced by a replica that had not heard of a call. So a call is
repeated until its reply came and a replica has what it wrote (where there are replicas). That a repeated
settle had been done the first time is seen by what it finds: the length of a file is the one that it was to
set, or its tokens are ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.errors import Away, GossamerError, Moved, Stale
from gossamer.frontier.bucket_calls import BucketCalls
from gossamer.model.visit import Adds, Commit
from gossamer.store.client import Unsure
from gossamer.store.keys import tag
from gossamer.store.store import Store

CHUNK = 500
"""URLs in one call of a script, so that it stays under a few milliseconds."""
UNFOLLOWED = 60
"""Times that a call is repeated because no replica has it, where nobody is patient."""
Outcome = tuple[int, int, int] | Stale | Moved
_encode = msgspec.msgpack.Encoder().encode


class Settling:
    """The settles and adds of one frontier."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store, self._crawl = frontier, frontier.store, frontier.crawl

    async def add(self, adds: Adds) -> tuple[int, int, int]:
        """Add links; returns new, known, parked."""
        return await self._add(_chunks(adds), adds)

    async def settle(self, commits: Sequence[Commit]) -> list[Outcome]:
        """Settle each commit, all or nothing; what became of each. Those on one server are settled together:
        one that fails lets none of them through, then the others are Stale without tokens."""
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
        if before:
            await self._add(before, merged)
        how = self._crawl, *(await self._frontier.adding(0, {}))[:4], tag(0) if self._store.together else ""
        servers = await grouped(self._store, list(dict.fromkeys(commit.bucket for commit in commits)))
        if len(servers) > 1 and any(commit.files for commit in commits):
            return [
                Stale([]) for _ in commits
            ]  # a server took over some of them since their rows were written together
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
            groups, await surely(self._store, "settle", calls, servers), strict=True
        ):
            outcomes |= zip(group, self._outcomes([commits[j] for j in group], reply, repeated), strict=True)
        return [outcomes[j] for j in range(len(commits))]

    async def _add(self, chunks: Sequence[tuple[int, list[Any]]], adds: Adds) -> tuple[int, int, int]:
        """Side by side; but one after another where discovered hosts have shares of the whole crawl
        (`shares`)."""
        total = [0, 0, 0]
        discovered = self._store.buckets > 1 and any("o" not in flags for _, _, _, _, flags, _ in adds)
        for part in ([chunk] for chunk in chunks) if discovered else [chunks]:
            calls = [
                (bucket, (self._crawl, *await self._frontier.adding(bucket, adds), *args))
                for bucket, args in part
            ]
            for (bucket, _), (got, _) in zip(calls, await surely(self._store, "add", calls), strict=True):
                total = [a + b for a, b in zip(total, got, strict=False)]
                self._frontier.shares.took(bucket, got[3], got[4])
        return total[0], total[1], total[2]

    def _ends(self, commit: Commit) -> list[Any]:
        """The arguments that end claims: files, counts, bytes of hosts, tokens, URLs visited."""
        # a field that no item has is to be known, too: `gossamer.model.quality`
        changes = [x for pair in commit.counts.items() if pair[1] or pair[0][:2] == "q|" for x in pair]
        hosts = commit.hosts.items() if self._frontier.policy.host_bytes >= 0 else ()
        ends: list[Any] = []
        visited: list[Any] = []
        for s in commit.settles:
            how = self._frontier.policy.ends(s)
            ends += (s.token, how, s.since, s.delay, s.pace, s.host_wait, s.wait, s.reason, _line(s.detail))
            if s.mark is not None and s.action == "d":
                visited += (s.token, *self._frontier.remainder(s.mark), s.depth)
        lengths = [x for triple in commit.files for x in triple]
        return [
            len(commit.files),
            *lengths,
            len(changes) // 2,
            *changes,
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


async def surely(
    store: Store, verb: str, calls: Sequence[tuple[int, Sequence[Any]]], buckets: Sequence[Sequence[int]] = ()
) -> list[tuple[Any, bool]]:
    """Call a script on buckets until each reply is sure: (reply, whether it was called more than once).
    Raises what waiting does not mend; Away where nobody waits. `buckets`: those that each call is about; when
    they come to lie on several servers, it ends as stale without tokens."""
    out: list[tuple[Any, bool]] = [(None, False)] * len(calls)
    left, turn = list(range(len(calls))), 0
    while left:
        replies = await store.run_all(verb, [calls[j] for j in left], confirm=True)
        again: list[int] = []
        trouble: GossamerError | None = None
        for j, reply in zip(left, replies, strict=True):
            out[j] = (reply, turn > 0)
            if isinstance(reply, Unsure):
                again.append(j)
            elif isinstance(reply, GossamerError):
                again.append(j)
                trouble = reply
        if trouble is not None:
            await store.wait(trouble)
            if buckets:
                apart = [j for j in again if len(await grouped(store, buckets[j])) > 1]
                out = [([b"stale"], True) if j in apart else one for j, one in enumerate(out)]
                again = [j for j in again if j not in apart]
        elif again:
            if turn >= UNFOLLOWED and not store.patient:
                raise Away("no replica of the store takes up what is written: see its log")
            await asyncio.sleep(min(0.05 * 2**turn, 1.0))
        left, turn = again, turn + 1
    return out


async def grouped(store: Store, buckets: Sequence[int]) -> list[list[int]]:
    """Buckets in groups that lie on one server; waits until all are served. Raises Away where nobody waits."""
    while True:
        try:
            return await store.by_server(buckets)
        except Away as error:
            await store.wait(error)


def _line(detail: str) -> str:
    return " ".join(detail.split())[:500]


def _chunks(adds: Adds) -> list[tuple[int, list[Any]]]:
    """Arguments of the add groups (as in `links.lua`), by bucket, at most CHUNK URLs a call."""
    out: list[tuple[int, list[Any]]] = []
    room: dict[int, tuple[int, list[Any]]] = {}
    for (bucket, host, level, lane, flags, voucher), flat in adds.items():
        for first in range(0, len(flat), CHUNK * 3):
            part = flat[first : first + CHUNK * 3]
            n, entries = len(part) // 3, part[2::3]
            used, args = room.get(bucket, (CHUNK, []))
            if used + n > CHUNK:
                used, args = 0, []
                out.append((bucket, args))
            part[1::3], part[2::3] = map(str, part[1::3]), map(len, entries)
            args += (host, level, lane, flags, voucher, _encode(part), b"".join(entries))
            room[bucket] = (used + n, args)
    return out
