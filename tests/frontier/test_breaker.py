"""The circuit breaker in the Lua scripts. The scripts follow the state table of the Python model and let the
same requests through."""

from __future__ import annotations

import asyncio
import random

import pytest

from frontier.claims import A, Beds, paths
from gossamer.frontier.operator import OperatorCommands
from gossamer.model.visit import Settle
from gossamer.politeness.breaker import Breaker, HostTrouble
from gossamer.store.store import Store
from support.repetitions import repetitions

QUICK = {"faults": 3, "open_first": 30, "open_longest": 200}
SLOW = {"faults": 3, "open_first": 30_000, "open_longest": 200_000}


async def kept(store: Store, host: str = "a.example") -> Breaker:
    raw = await store.client.hget(f"{{b:000}}h:{host}", "b")
    return Breaker.of((raw or b"").decode())


async def now(store: Store) -> int:
    seconds, micros = await store.client.time()
    return int(seconds) * 1000 + int(micros) // 1000


@pytest.mark.parametrize("uncommitted", [False, True])
@pytest.mark.parametrize("seed", range(repetitions(4, 2)))
async def test_the_scripts_do_what_the_table_says(
    bed: Beds, store: Store, seed: int, uncommitted: bool
) -> None:
    rng = random.Random(seed)
    b = bed(**QUICK)
    await b.add(*(f"{A}/{i}" for i in range(400)))
    held, model = [], Breaker(most=3, first=30, longest=200)
    for _ in range(150):
        held += await b.claim(rng.choice((1, 2, 5)))
        if held and rng.random() < 0.8:
            claim = held.pop(rng.randrange(len(held)))
            said = rng.choice(("f", "f", "d", "d", "e", "", "b", "g")) if rng.random() < 0.9 else "g"
            settle = Settle(claim.token, "x", since=0, health=said, reason="connect")
            before = await now(store)
            if uncommitted:
                await b.frontier.free_slots(0, [settle])
            await b.frontier.settle(0, [settle], {}, {})
            after, real = await now(store), await kept(store)
            at = before if model.state(before) == model.state(after) else None
            if at is None:  # the state changed just now, so either answer is correct
                model = Breaker(most=3, first=30, longest=200, **{f: getattr(real, f) for f in FIELDS})
                continue
            model.felt(at, said, "connect")
            wait = model.ends - at
            assert model.ends == real.ends or at + wait - 1 <= real.ends <= after + wait * 1.2 + 1
            assert (model.faults, model.openings, model.share, model.hard, model.why) == (
                real.faults,
                real.openings,
                real.share,
                real.hard,
                real.why,
            ) or (real.faults, real.ends, model.faults, model.ends) == (0, 0, 0, 0)
            model.ends, model.since, model.share, model.hard = real.ends, real.since, real.share, real.hard
        if rng.random() < 0.2:
            await asyncio.sleep(rng.choice((0.01, 0.05)))


FIELDS = ("faults", "openings", "since", "ends", "share", "hard", "why")


async def fail(b: Beds, n: int, said: str = "f", action: str = "x") -> None:
    for claim in (await b.claim(n))[:n]:  # type: ignore[attr-defined] # a bed
        await b.end(claim, action, since=0, health=said, reason="connect")  # type: ignore[attr-defined]


async def test_an_open_breaker_lets_nobody_through_and_then_one_at_a_time(bed: Beds, store: Store) -> None:
    b, other = bed(**SLOW), bed("other", **SLOW)
    await b.add(*(f"{A}/{i}" for i in range(20)))
    await other.add(f"{A}/o1", f"{A}/o2")
    await fail(b, 3)
    got = await b.claimed()
    assert (got.claims, await other.claim()) == ([], []), "all crawls"
    assert 0 < got.next_at - got.now <= 36_000
    await b.later(40_000)
    (probe,) = await b.claim()
    assert HostTrouble.of(probe.trouble).failing > 0
    assert (await b.claim(), await other.claim()) == ([], []), "one probe at a time"
    await b.end(probe, "r", since=0, health="f", reason="connect", wait=0)
    assert await b.claim() == []
    await b.later(80_000)
    (probe,) = await other.claim()
    await other.end(probe, health="g")
    assert len(await b.claim()) > 5, "closed"
    assert await b.adds_up()


async def test_a_probe_that_comes_to_nothing_is_followed_by_another(bed: Beds) -> None:
    b = bed(lease=50_000, **SLOW)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    await fail(b, 3)
    await b.later(40_000)
    (probe,) = await b.claim()
    await b.end(probe, "b")
    (_dies,) = await b.claim()
    await b.later(60_000)
    await b.frontier.requeue_expired(0)
    assert len(await b.claim()) == 1


async def test_a_host_that_is_given_up_ends_its_urls_unasked(bed: Beds, store: Store) -> None:
    b = bed(**SLOW | {"delay": 5_000, "per_host": 1, "open_longest": 60_000})
    await b.add(*(f"{A}/{i}" for i in range(60)))
    for _ in range(3):
        (claim,) = await b.claim()
        await b.end(claim, "x", health="f", reason="connect", delay=5_000)
        await b.later(6_000)
    for _ in range(3):
        await b.later(75_000)
        (probe,) = await b.claim()
        await b.end(probe, "x", health="d", reason="connect", delay=0)
    assert (await kept(store)).why == "connect"
    gate = await b.claim()
    assert {(claim.kind, HostTrouble.of(claim.trouble).given_up) for claim in gate} == {("gate", "connect")}
    assert len(gate) == 16
    for claim in gate:
        await b.end(claim, "x", since=-1, reason="connect")
    assert len(await b.claim()) == 16, "at once: nobody was asked"
    assert await b.adds_up()


async def test_an_operator_closes_it(bed: Beds, store: Store) -> None:
    b = bed(**SLOW)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    await fail(b, 3)
    assert await b.claim() == []
    await OperatorCommands(store).pause("a.example", 0.0)
    assert (await kept(store)).state(0) == "open", "a pause leaves it"
    await OperatorCommands(store).resume("a.example")
    assert len(paths(await b.claim())) == 6
    assert await kept(store) == Breaker()


async def test_good_hosts_keep_nothing(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(*(f"{A}/{i}" for i in range(9)))
    for claim in await b.claim():
        await b.end(claim, health="g")
    assert await store.client.hget("{b:000}h:a.example", "b") is None


async def test_trouble_is_forgotten_after_enough_good_answers(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(*(f"{A}/{i}" for i in range(40)))
    await fail(b, 4)
    claims = await b.claim()
    assert (await kept(store)).hard
    for claim in claims[:20]:
        await b.end(claim, health="g")
    assert await store.client.hget("{b:000}h:a.example", "b") is None
    assert (await store.client.zcard("{b:000}c:r:http"), await store.client.zcard("{b:000}c:r:http!")) == (
        0,
        0,
    )
    for claim in claims[20:]:
        await b.end(claim, "b")
    assert (await store.client.zcard("{b:000}c:r:http"), await store.client.zcard("{b:000}c:r:http!")) == (
        1,
        0,
    )
