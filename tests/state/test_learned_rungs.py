"""The first process that learns the rung of a host shares it with all other processes."""

from __future__ import annotations

import asyncio

from gossamer.state.learned_rungs import LearnedRungs
from gossamer.store.store import Store


async def test_all_learn_as_one(store: Store) -> None:
    ours, theirs = LearnedRungs(store), LearnedRungs(store)
    assert await ours.known("a.example") == ""
    assert await theirs.learn("a.example", lambda text: text + "1") == "1"
    assert await ours.learn("a.example", lambda text: text + "2") == "12", (
        "on what is known, not on what was read before"
    )
    assert await theirs.known("b.example") == ""
    assert await ours.learn("a.example", lambda text: "") == ""
    assert await LearnedRungs(store).known("a.example") == ""


async def test_nothing_learned_at_the_same_time_is_lost(store: Store) -> None:
    many = [LearnedRungs(store) for _ in range(20)]
    await asyncio.gather(
        *(one.learn("a.example", lambda text: str(int(text or 0) + 1)) for one in many for _ in range(5))
    )
    assert await LearnedRungs(store).known("a.example") == "100"


async def test_what_is_known_is_not_asked_again(store: Store) -> None:
    learning = LearnedRungs(store)
    await learning.learn("a.example", lambda text: "x")
    used = store.used
    for _ in range(10):
        assert await learning.known("a.example") == "x"
        assert await learning.learn("a.example", lambda text: text) == "x"
    assert store.used == used
