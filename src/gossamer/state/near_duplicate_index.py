"""The index of exact and near duplicates in one crawl. All processes of the crawl look up texts in the index
and add new texts to it.

Texts that duplicate each other form a group. Only the first text of a group is stored, as a hash of the text
(14 bytes), eight bands of its sketch (10 bytes each), and the sketch itself (70 bytes). The hashes, bands and
sketches are spread over the buckets.

The lookup of a batch takes one round trip. If some texts may be similar, the lookup takes a second round
trip. A new text takes two more round trips, because its sketch is first stored as provisional and then as
final. If a process finds a provisional sketch that is similar to its own text, the process waits until the
sketch is final. Therefore, if several processes begin a group at once, exactly one text becomes the first
text of the group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from random import random

import xxhash

from gossamer.frontier.frontier_client import call_until_confirmed
from gossamer.model import minhash
from gossamer.model.minhash import GroupQuery, Placed
from gossamer.store.store import Store

DEFAULT_MAX_GROUPS = 1_000_000
"""Maximum number of groups stored per crawl, unless the crawl sets another limit."""
CHUNK_OPERATIONS = 400
"""Maximum number of operations in one script call. The limit keeps the duration of a script call at a few
milliseconds."""
MAX_LOOKS, MAX_PAUSE_S = 50, 0.02
"""MAX_LOOKS is the maximum number of times that a process reads a provisional sketch of another process.
MAX_PAUSE_S is the maximum number of seconds between two reads of a provisional sketch. If a sketch is still
provisional after the last read, the process that wrote the sketch counts as dead."""
Key = tuple[str, int, bytes]
"""The key of an entry in the index. The tuple contains the name of a map in `near_duplicates.lua`, the
bucket, and the key within the map."""
Word = tuple[str, Key, bytes]
"""An operation of the script `near_duplicates.lua`, as a tuple of the operation's name, the key and a
value."""


class _One:
    """A text that must be assigned to a group. `id` identifies the text. Equal texts have an equal key
    `same`. Similar texts have some of the keys `bands` in common. The sketch of this text is stored under the
    key `own`."""

    def __init__(self, asked: GroupQuery, buckets: int) -> None:
        self.near = asked.sketch.near
        self.id = asked.name.to_bytes(8, "little")[:6]
        self.own = _own(self.id, buckets)
        kind = asked.kind.encode() + b"\0"
        self._kind, self._buckets = kind, buckets
        self.same, self.bands = _key("e", kind + asked.sketch.same, 8, buckets), self._found(self.near)
        self.keys = [self.same, *self.bands]

    def left(self, near: bytes) -> list[Key]:
        """`near` is the sketch of an older version of this text. Returns the keys for those bands of the
        older sketch that the current sketch does not contain."""
        return [key for key in self._found(near) if key not in self.bands]

    def _found(self, near: bytes) -> list[Key]:
        return [_key("b", self._kind + band, 4, self._buckets) for band in minhash.bands(near)]


class NearDuplicateIndex:
    """The index of one crawl. The index stores about `most` groups. When the index is full, new texts are
    still compared with the stored groups, but no new group is stored."""

    def __init__(self, store: Store, crawl: str, most: int = DEFAULT_MAX_GROUPS) -> None:
        self._store, self._crawl = store, crawl
        self._room = -(-most // store.buckets)

    async def place(self, asked: Sequence[GroupQuery]) -> list[Placed]:
        """Assigns each text to a group, and returns the groups in the order of the texts. A text that is
        already the first of its group stays the first. Raises the errors of the store."""
        ones = [_One(one, self._store.buckets) for one in asked]
        holders, sketches, sizes = await self._look(ones)
        first, out = dict[bytes, _One](), list[Placed]()
        for one in ones:
            placed = _place(one, holders, sketches)
            if placed.copy is None and holders[one.same] != one.id:
                placed = placed._replace(kept=sizes[one.same[1]] < self._room)
                if placed.kept:
                    first[one.id], sketches[one.id] = one, one.near
                    holders |= {key: holders[key] or one.id for key in one.keys}
            out.append(placed)
        if yielded := await self._keep(list(first.values()), holders) if first else set():
            again = [j for j, placed in enumerate(out) if placed.group in yielded]
            for j, placed in zip(again, await self.place([asked[j] for j in again]), strict=True):
                out[j] = placed
        return out

    async def _look(
        self, ones: Sequence[_One]
    ) -> tuple[dict[Key, bytes], dict[bytes, bytes], dict[int, int]]:
        """Returns three dicts. The first dict maps each key to the ID of the text that is stored under the
        key. The second dict maps the ID of each of these texts to the sketch of the text. The third dict maps
        each bucket to the number of groups in the bucket.

        Briefly waits for sketches that are still provisional.
        """
        keys = list(dict.fromkeys(key for one in ones for key in one.keys))
        for turn in range(MAX_LOOKS + 1):
            held, sizes = await self._say([("g", key, b"") for key in keys])
            holders = dict(zip(keys, held, strict=True))
            others = {
                holders[key] for one in ones if one.near for key in one.keys if holders[key] != one.id
            } - {b""}
            sketches = await self._sketches(others)
            unsure = {id_ for id_ in others if sketches.get(id_, b"\1")[-1] & 1}
            if not unsure or turn == MAX_LOOKS:
                break
            await asyncio.sleep(MAX_PAUSE_S * random())
        if unsure:  # the process that wrote these sketches is considered dead
            words: list[Word] = [
                ("w", _own(id_, self._store.buckets), mark_final(sketches[id_]))
                for id_ in unsure & sketches.keys()
            ]
            lost = [key for key, id_ in holders.items() if id_ in unsure - sketches.keys()]
            await self._say([*words, *(("d", key, holders[key]) for key in lost)])
            holders |= dict.fromkeys(lost, b"")
        return holders, sketches, sizes

    async def _sketches(self, ids: Iterable[bytes]) -> dict[bytes, bytes]:
        wanted = sorted(ids)
        held, _ = await self._say([("g", _own(one, self._store.buckets), b"") for one in wanted])
        return {one: found for one, found in zip(wanted, held, strict=True) if found}

    async def _keep(self, ones: Sequence[_One], expected: dict[Key, bytes]) -> set[str]:
        """Stores the first texts of new groups. If another process began the same group at the same time,
        only one of the processes keeps the group. Returns the groups that this process gives up."""
        written: list[Word] = [("w", one.own, mark_provisional(one.near)) for one in ones if one.near]
        words: list[Word] = [("p", key, one.id) for one in ones for key in one.keys]
        held, _ = await self._say([*written, *words])
        lost: dict[bytes, dict[Key, bytes]] = {}
        for (_, key, own), holder in zip(words, held[len(written) :], strict=True):
            if holder not in (b"", own) and expected[key] == own:
                lost.setdefault(own, {})[key] = holder
        theirs = await self._sketches({holder for keys in lost.values() for holder in keys.values()})
        former = dict(zip((one.id for one in ones if one.near), held, strict=False))
        yielded, out = set[str](), list[Word]()
        for one in ones:
            if one.id in lost and _yields(one, lost[one.id], expected, theirs):
                yielded.add(one.id.hex())
                out += [("d", key, one.id) for key in one.keys] + (
                    [("d", one.own, mark_provisional(one.near))] if one.near else []
                )
            elif one.near:
                out.append(("w", one.own, one.near))
                if was := former[one.id]:  # the text has changed since it was last assigned to a group
                    out += [("d", key, one.id) for key in one.left(was)]
        await self._say(out)
        return yielded

    async def _say(self, words: Sequence[Word]) -> tuple[list[bytes], dict[int, int]]:
        """Runs operations in the store. Returns the results in the order of the operations, and the number of
        groups in each bucket."""
        places: dict[int, list[int]] = {}
        for j, (_, (_, bucket, _), _) in enumerate(words):
            places.setdefault(bucket, []).append(j)
        parts = [
            (b, all_[at : at + CHUNK_OPERATIONS])
            for b, all_ in places.items()
            for at in range(0, len(all_), CHUNK_OPERATIONS)
        ]
        calls = [
            (
                bucket,
                (
                    self._crawl,
                    *(x for j in part for x in (words[j][0], words[j][1][0], words[j][1][2], words[j][2])),
                ),
            )
            for bucket, part in parts
        ]
        answers, sizes = [b""] * len(words), dict[int, int]()
        for (bucket, part), (reply, _) in zip(
            parts, await call_until_confirmed(self._store, "near_duplicates", calls), strict=True
        ):
            sizes[bucket] = reply[0]
            for j, answer in zip(part, reply[1:], strict=True):
                answers[j] = answer
        return answers, sizes


def _key(map_: str, text: bytes, width: int, buckets: int) -> Key:
    found = xxhash.xxh3_64_digest(text)
    return map_, int.from_bytes(found[4:], "little") % buckets, found[:width]


def _own(id_: bytes, buckets: int) -> Key:
    return "s", int.from_bytes(id_[4:], "little") % buckets, id_


def _place(one: _One, holders: dict[Key, bytes], sketches: dict[bytes, bytes]) -> Placed:
    """Determines the group of a text from the stored keys and sketches. If the text's own ID is already
    stored under one of the text's keys, the text is the first of its group."""
    if one.id in (found := [holders[key] for key in one.keys]):
        return Placed(one.id.hex())
    if found[0]:
        return Placed(found[0].hex(), "exact", 1.0)
    alike = [
        (minhash.likeness(one.near, sketches[id_]), id_)
        for id_ in dict.fromkeys(found[1:])
        if id_ in sketches
    ]
    share, best = max(alike, default=(0.0, b""))
    return Placed(best.hex(), "near", share) if share else Placed(one.id.hex())


def _yields(
    one: _One, lost: dict[Key, bytes], expected: dict[Key, bytes], theirs: dict[bytes, bytes]
) -> bool:
    """Decides between two processes that began a group for similar texts at the same time. Returns whether
    this process must give up its group.

    Two similar texts share some band keys. The other process can find the text of this process only if at
    least one of the shared keys still contains the ID of this process's text. If the other process cannot
    find that text, this process gives up its group. If each process can find the text of the other process,
    the process whose text has the smaller ID keeps its group.
    """
    if one.same in lost:
        return True
    mine = {key for key in one.bands if expected[key] == one.id and key not in lost}
    for id_ in set(lost.values()):
        if not (near := theirs.get(id_)):
            return True  # the other process has removed the sketch of its text, or has not stored it yet
        common = {
            key
            for key, a, b in zip(one.bands, minhash.bands(one.near), minhash.bands(near), strict=True)
            if a == b
        }
        if minhash.likeness(one.near, near) and (id_ < one.id or not common & mine):
            return True
    return False


def mark_provisional(near: bytes) -> bytes:
    """Returns the sketch, marked as provisional. A sketch is provisional until the process that stored the
    sketch has decided to keep the group of the text."""
    return near[:-1] + bytes((near[-1] | 1,))


def mark_final(near: bytes) -> bytes:
    """Returns the sketch, marked as final."""
    return near[:-1] + bytes((near[-1] & 254,))
