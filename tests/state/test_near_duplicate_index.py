"""The index of near duplicates. All processes get the same groups, however often they ask, and the memory
stays within the documented limit."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from gossamer.model import minhash
from gossamer.model.minhash import GroupQuery, Placed, Sketch, make_sketch
from gossamer.state.near_duplicate_index import NearDuplicateIndex
from gossamer.store.store import Store, connect

WORDS = [f"word{n}" for n in range(2000)]


def page(name: int, words: list[str], kind: str = "page", nearly: bool = True) -> GroupQuery:
    text = " ".join(words)
    same = random.Random(text).randbytes(8)
    return GroupQuery(kind, name, Sketch(same, make_sketch(text) if nearly else b""))


def text(seed: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=200)


def edited(words: list[str], at: int = 100) -> list[str]:
    return [*words[:at], "edited", *words[at + 1 :]]


def names(placed: list[Placed]) -> list[tuple[str, str | None]]:
    return [(one.group, one.copy) for one in placed]


@pytest.fixture(params=[1, 64])
async def spread(any_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A store of one bucket or of many buckets, on a server and on a Cluster."""
    store = connect(any_url)
    await store.open(request.param, "test")
    yield store
    await store.close()


async def test_copies_are_in_the_group_of_the_first(spread: Store) -> None:
    index = NearDuplicateIndex(spread, "c")
    first, other, copy, almost, strange = await index.place(
        [page(1, text(1)), page(2, text(2)), page(3, text(1)), page(4, edited(text(1))), page(5, text(3))]
    )
    assert (first.copy, copy.copy, almost.copy) == (None, "exact", "near")
    assert first.group == copy.group == almost.group
    assert copy.likeness == 1.0
    assert minhash.MIN_LIKENESS <= (almost.likeness or 0) < 1
    assert len({first.group, other.group, strange.group}) == 3
    later = await NearDuplicateIndex(spread, "c").place(
        [page(6, edited(text(1), 50)), page(7, text(2)), page(8, text(4))]
    )
    assert names(later) == [(first.group, "near"), (other.group, "exact"), (later[2].group, None)]


async def test_placed_again_it_is_who_it_was(store: Store) -> None:
    """A page that is visited again after a kill is not a copy of itself."""
    asked = [page(n, edited(text(n % 5), 30 * (n // 5))) for n in range(20)]
    before = await NearDuplicateIndex(store, "c").place(asked)
    assert await NearDuplicateIndex(store, "c").place(asked) == before
    assert await NearDuplicateIndex(store, "c").place(asked[::-1]) == before[::-1]
    assert [one.copy for one in before] == [None] * 5 + ["near"] * 15


@pytest.mark.parametrize("words", range(1, 11))
async def test_a_kill_at_any_call_loses_no_page(
    store: Store, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies after `words` calls of the script. The pages that it placed are placed again."""
    monkeypatch.setattr("gossamer.state.near_duplicate_index.CHUNK_OPERATIONS", 4)
    monkeypatch.setattr("gossamer.state.near_duplicate_index.MAX_LOOKS", 2)
    calls, run = 0, store.run_all

    async def dying(verb: str, asked: list[object], **how: bool) -> list[object]:
        nonlocal calls
        out = []
        for one in asked:
            calls += 1
            if calls > words:
                raise ConnectionAbortedError
            out += await run(verb, [one], **how)  # type: ignore[list-item]
        return out

    asked = [page(1, text(1)), page(2, edited(text(1))), page(3, text(2))]
    with monkeypatch.context() as patched:
        patched.setattr(store, "run_all", dying)
        with pytest.raises(ConnectionAbortedError):
            await NearDuplicateIndex(store, "c").place(asked)
    placed = await NearDuplicateIndex(store, "c").place(asked)
    assert [one.copy for one in placed] == [None, "near", None]
    assert await NearDuplicateIndex(store, "c").place([page(4, text(1)), page(5, text(2))]) == [
        Placed(placed[0].group, "exact", 1.0),
        Placed(placed[2].group, "exact", 1.0),
    ]


async def test_who_asks_at_once_makes_one_group(spread: Store) -> None:
    """Of several copies that are placed at the same time, one is the first of its group."""
    one, *others = [NearDuplicateIndex(spread, "c") for _ in range(4)]
    for seed in range(20):
        found = await asyncio.gather(
            *(
                index.place([page(100 * seed + n, edited(text(seed), 10 * n))])
                for n, index in enumerate([one, *others])
            )
        )
        groups = {placed.group for (placed,) in found}
        assert len(groups) == 1, f"texts of seed {seed} are in several groups"
        assert [placed.copy for (placed,) in found].count(None) == 1


async def test_a_page_that_changed_stays_the_first_of_its_group(store: Store) -> None:
    index = NearDuplicateIndex(store, "c")
    (first,) = await index.place([page(1, text(1))])
    assert await index.place([page(1, edited(text(1)))]) == [first]
    (follower,) = await index.place([page(2, edited(text(1)))])
    assert (follower.group, follower.copy) == (first.group, "exact")


async def test_kinds_and_crawls_are_apart(store: Store) -> None:
    index = NearDuplicateIndex(store, "c")
    placed = await index.place([page(1, text(1)), page(2, text(1), kind="book")])
    placed += await NearDuplicateIndex(store, "d").place([page(3, text(1))])
    assert [one.copy for one in placed] == [None, None, None]


async def test_full_it_still_compares(store: Store) -> None:
    """A full index stores nothing more, and reports that."""
    index = NearDuplicateIndex(store, "c", most=10)
    before = await index.place([page(n, text(n)) for n in range(10)])
    assert all(one.kept for one in before)
    known, new, again = (
        (await index.place([page(20, text(3))]))[0],
        (await index.place([page(21, text(21))]))[0],
        (await index.place([page(22, text(21))]))[0],
    )
    assert (known.group, known.copy) == (before[3].group, "exact")
    assert [(one.copy, one.kept) for one in (new, again)] == [(None, False), (None, False)]


async def test_only_the_same_is_found_where_only_that_is_kept(store: Store) -> None:
    index = NearDuplicateIndex(store, "c")
    placed = await index.place(
        [page(n, words, nearly=False) for n, words in enumerate([text(1), edited(text(1)), text(1)])]
    )
    assert [one.copy for one in placed] == [None, None, "exact"]


async def test_a_page_takes_at_most_200_bytes(store: Store, any_url: str) -> None:
    index, chance = NearDuplicateIndex(store, "c"), random.Random(1)
    await index.place([page(1, text(1))])
    before = (await store.client.info("memory"))["used_memory"]
    some = [
        GroupQuery("page", chance.getrandbits(64), Sketch(chance.randbytes(8), chance.randbytes(63) + b"\0"))
        for _ in range(10_000)
    ]
    for at in range(0, len(some), 250):
        assert all(one.copy is None for one in await index.place(some[at : at + 250]))
    if "cluster" not in any_url:  # a Cluster has several servers, each with its own memory
        assert ((await store.client.info("memory"))["used_memory"] - before) / len(some) <= 200
    sample = chance.sample(some, 500)
    again = await index.place(
        [
            GroupQuery("page", chance.getrandbits(64), Sketch(chance.randbytes(8), one.sketch.near))
            for one in sample
        ]
    )
    assert all(one.copy == "near" for one in again), "parts that were split lost nothing"
