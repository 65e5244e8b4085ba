"""Turns of hosts that share a resource, in a real Valkey: any number of clients, dead clients, many waiting
clients."""

from __future__ import annotations

import asyncio
import itertools
import random
from importlib import resources

from gossamer.state.host_groups import HostGroups
from gossamer.store.keys import group
from gossamer.store.store import Store

NAME = "ip:192.0.2.1"


async def test_turns_are_a_delay_apart_whoever_asks(store: Store) -> None:
    starts: list[float] = []
    out = most = 0

    async def client(groups: HostGroups, rng: random.Random) -> None:
        nonlocal out, most
        done = 0
        while done < 4:
            token, wait = await groups.enter(NAME, 0.02)
            if wait:
                await asyncio.sleep(wait)
                continue
            # ms, by the store's clock
            starts.append(float(await store.client.hget(group(NAME), "n") or 0) - 20)
            out += 1
            most = max(most, out)
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(rng.choice((0.001, 0.03)))
            out -= 1
            done += 1
            await groups.leave(NAME, token, asyncio.get_running_loop().time() - began, 0.02)

    await asyncio.gather(*(client(HostGroups(store, 1, 5), random.Random(n)) for n in range(8)))
    assert (len(starts), most) == (32, 1)
    assert min(b - a for a, b in itertools.pairwise(sorted(starts))) >= 19, (
        "whole milliseconds on either side"
    )


async def test_waiters_are_told_times_apart(store: Store) -> None:
    groups = HostGroups(store, 1, 5)
    assert (await groups.enter(NAME, 0.5))[1] == 0
    waits = [(await groups.enter(NAME, 0.5))[1] for _ in range(5)]
    assert min(b - a for a, b in itertools.pairwise(waits)) > 0.45
    many = [(await groups.enter(NAME, 0.5))[1] for _ in range(300)]
    assert max(many) <= 60.001, "nobody is sent away for longer, however many wait"


async def test_several_at_once(store: Store) -> None:
    groups = HostGroups(store, 2, 5)
    turns = [await groups.enter(NAME, 0.0) for _ in range(3)]
    assert [wait == 0 for _, wait in turns] == [True, True, False]
    await groups.leave(NAME, turns[0][0], 0.1, 0.0)
    assert (await groups.enter(NAME, 0.0))[1] == 0


async def test_a_dead_workers_turn_is_over_by_itself(store: Store) -> None:
    token, _ = await HostGroups(store, 1, 30).enter(NAME, 0.0)
    other = HostGroups(store, 1, 5)
    assert (await other.enter(NAME, 0.0))[1] > 0
    await store.client.hincrby(group(NAME), f"t{token}", -30_000)
    assert (await other.enter(NAME, 0.0))[1] == 0
    assert await store.client.pttl("{ip:192.0.2.1}") > 0


async def test_the_next_start_counts_from_the_real_one(store: Store) -> None:
    groups = HostGroups(store, 1, 5)
    token, _ = await groups.enter(NAME, 10.0)
    await groups.leave(NAME, token, 20.0, 50.0)
    wait = (await groups.enter(NAME, 50.0))[1]
    assert 10 < wait <= 30.001, "the delay that was learned, from when it was asked"
    token, wait = await groups.enter("domain:example.com", 10.0)
    await groups.leave("domain:example.com", token, -1, 0.1)
    assert (await groups.enter("domain:example.com", 0.1))[1] > 1, (
        "no request was made: the start stays as it was said"
    )


async def test_who_asks_again_as_the_reply_was_lost_has_the_same_turn(store: Store) -> None:
    groups = HostGroups(store, 1, 5)
    token, _ = await groups.enter(NAME, 10.0)
    script = (resources.files("gossamer.frontier") / "lua" / "host_group_enter.lua").read_text()
    assert await store.once("EVAL", script, 1, group(NAME), token, 1, 10_000, 5_000) == 0
    assert await store.once("EVAL", script, 1, group(NAME), "another", 1, 10_000, 5_000) > 0
