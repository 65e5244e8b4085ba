"""Rate caps of a lane and of the fleet, in a real Valkey. Any number of workers stays within a cap and uses
it fully, and a cap can be changed during a crawl."""

from __future__ import annotations

import asyncio

import pytest

from frontier.claims import A, Beds
from gossamer.state.rates import CHECK_INTERVAL_S, Caps, Rates
from gossamer.store.store import Store


async def worked(
    store: Store, seconds: float, workers: int, lanes: tuple[str, ...] = ("http",), use: float = 1.0
) -> list[float]:
    """Returns the times at which workers used permits. Each worker takes a few permits at a time and returns
    some of them."""
    used: list[float] = []
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    async def work(caps: Caps) -> None:
        while loop.time() < end:
            got = await caps.take(7)
            spend = round(got * use)
            used.extend([loop.time()] * spend)
            await caps.back(got - spend)
            await asyncio.sleep(0.003)

    await asyncio.gather(*(work(Caps(store, lanes)) for _ in range(workers)))
    return used


@pytest.mark.parametrize("use", [1.0, 0.5])
@pytest.mark.parametrize("rate", [5.0, 80.0, 600.0])
async def test_a_cap_is_kept_and_used(store: Store, rate: float, use: float) -> None:
    await Rates(store).set("fleet", rate)
    used = await worked(store, 1.0, 5, use=use if rate > 10 else 1.0)
    burst = max(1.0, rate / 10)
    assert rate * 0.6 - 1 <= len(used) <= rate + burst + 1
    for n, at in enumerate(used):
        assert len([x for x in used[n:] if x - at <= 0.25]) <= rate * 0.25 + burst + 2


async def test_the_narrower_of_two_caps_decides(store: Store) -> None:
    rates = Rates(store)
    await rates.set("fleet", 500.0)
    await rates.set("slow", 20.0)
    slow, fast = await asyncio.gather(worked(store, 0.6, 2, ("slow",)), worked(store, 0.6, 2, ("http",)))
    assert len(slow) <= 20 * 0.6 + 3
    assert len(fast) > 100
    assert await rates.all() == {"fleet": 500.0, "slow": 20.0}


async def test_a_cap_comes_and_goes_while_workers_work(store: Store) -> None:
    caps = Caps(store, ("http",))
    assert await caps.take(100) == 100
    await Rates(store).set("http", 10.0)
    await asyncio.sleep(CHECK_INTERVAL_S + 0.05)
    assert await caps.take(100) == 1
    assert await caps.take(100) == 0
    await Rates(store).set("http", None)
    await asyncio.sleep(CHECK_INTERVAL_S + 0.05)
    assert await caps.take(100) == 100
    assert await store.client.exists("gossamer:rates") == 0


@pytest.mark.parametrize("rate", [0.5, 3.0])
async def test_a_crawl_of_less_than_ten_requests_a_second_goes_on(bed: Beds, rate: float) -> None:
    b = bed(rate=rate)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    assert len(await b.claim()) == 1
    got = await b.claimed()
    assert (got.claims, got.next_at - got.now > 200) == ([], True)
