"""Long queues. Entries beyond the limit wait in a cold store and come back in order, exactly once, even after
crashes."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from frontier.claims import A, Beds, paths
from gossamer.errors import ConfigError
from gossamer.frontier.cold import Cold, ColdFiles, ColdServer, Spiller, set_hot_limit
from gossamer.frontier.crawls import Spec, drop_queue, forget_crawl
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.stats import CrawlStatistics
from gossamer.frontier.url_lookup import UrlLookup
from gossamer.store.store import Store, connect
from support.repetitions import repetitions

HOT = 4


@pytest.fixture(params=["files", "server"])
async def cold(request: pytest.FixtureRequest, tmp_path: Path, other_server: str) -> AsyncIterator[Cold]:
    made: Cold = ColdFiles(tmp_path / "cold.sqlite")
    if request.param == "server":
        made = ColdServer(connect(other_server), "c")
        await made.drop()
    yield made
    await made.close()


@pytest.fixture
async def spiller(store: Store, cold: Cold) -> Spiller:
    await set_hot_limit(store, "c", HOT)
    return Spiller(store, "c", cold, HOT)


async def hot(store: Store, host: str, level: int = 0) -> int:
    return int(await store.client.llen(f"{{b:000}}c:q:{host}:{level}"))


async def all_claimed(one: Any, spiller: Spiller, k: int = 1) -> list[str]:
    """Returns the paths in the order of their claims, while the spiller runs."""
    found: list[str] = []
    for _ in range(1000):
        await spiller.round()
        got = await one.claim(k)
        for claim in got:
            found += paths([claim])
            await one.end(claim)
        if not got and not (await one.counts())["open"]:
            return found
    raise AssertionError("it does not end")


async def test_a_queue_is_bound_and_its_order_stays(bed: Beds, store: Store, spiller: Spiller) -> None:
    one = bed(per_host=1)
    for n in range(50):
        await one.add(f"{A}/{n}")
        assert await hot(store, "a.example") <= HOT
        if n % 7 == 0:
            await spiller.round()
    await one.add(*(f"{A}/{n}" for n in range(50, 60)))
    assert (await one.counts())["open"] == 60
    assert await all_claimed(one, spiller) == [f"/{n}" for n in range(60)]
    assert await one.adds_up()
    left = {key.decode() for key in await store.client.keys("{b:000}c:*")}
    assert not left & {"{b:000}c:o", "{b:000}c:rf", "{b:000}c:k:a.example"}


async def test_urgent_urls_with_a_cold_tail_put_their_host_first(
    bed: Beds, store: Store, spiller: Spiller
) -> None:
    one, steer = bed(per_host=1, delay=1_000_000), OperatorCommands(store, spiller)
    for host in ("x", "y", "z"):
        await one.add(*(f"https://{host}.example/{n}" for n in range(5 * HOT)))
    await spiller.round()
    await one.add(*(f"https://y.example/new{n}" for n in range(5 * HOT)), priority=3)
    assert [claim.host for claim in await one.claim(1)] == ["y.example"]
    assert await steer.priority("c", 9, host="z.example") == 5 * HOT
    (claim, *_) = await one.claim(1)
    assert (claim.host, claim.request.priority) == ("z.example", 9)
    for turn in range(1, 5 * HOT):  # as long as the host has such URLs, in memory or in the cold store
        await one.end(claim)
        await spiller.round()
        await one.later(2_000_000)
        host = (await store.client.zrange("{b:000}c:u:http", 0, 0))[0]
        assert host == b"z.example"
        await one.add(f"https://x.example/more{turn}")
        (claim,) = await one.claim(1)


async def test_a_higher_priority_does_not_wait_behind_the_cold_tail(bed: Beds, spiller: Spiller) -> None:
    one = bed(per_host=1)
    await one.add(*(f"{A}/low{n}" for n in range(40)))
    await spiller.round()
    await one.add(*(f"{A}/high{n}" for n in range(20)), priority=7)
    order = await all_claimed(one, spiller)
    assert len(order) == len(set(order)) == 60
    assert [path for path in order if "low" in path] == [f"/low{n}" for n in range(40)]
    assert [path for path in order if "high" in path] == [f"/high{n}" for n in range(20)]
    first = order.index("/high19")
    assert sum("low" in path for path in order[:first]) <= 3, "every 16th turn is the lowest level's"


async def test_many_priorities_are_bound_as_well(bed: Beds, store: Store, spiller: Spiller) -> None:
    one = bed(per_host=1)
    for n in range(100):
        await one.add(f"{A}/{n}", priority=n)
        assert int(await store.client.hget("{b:000}c:h:a.example", "q")) <= 4 * HOT
    order = await all_claimed(one, spiller)
    assert sorted(order) == sorted(f"/{n}" for n in range(100))
    assert {f"/{n}" for n in range(90, 100)} <= set(order[: 4 * HOT + 20])
    assert await one.adds_up()


async def test_retries_and_what_goes_to_the_front_are_never_spilled(
    bed: Beds, store: Store, spiller: Spiller
) -> None:
    one = bed(per_host=1)
    await one.add(*(f"{A}/{n}" for n in range(30)))
    (claim,) = await one.claim(1)
    await one.end(claim, "b")
    await one.add(f"{A}/front", flags="of")
    (claim,) = await one.claim(1)
    assert paths([claim]) == ["/front"]
    await one.end(claim, "r", wait=0, reason="dns")
    order = await all_claimed(one, spiller)
    assert order[0] == "/0"
    assert order.index("/front") <= HOT + 1
    assert sorted(order) == sorted([*(f"/{n}" for n in range(30)), "/front"])


class Killed(Exception):
    """Raised where the simulated process dies."""


class Dying:
    """A cold store whose caller sometimes dies before or after a step."""

    def __init__(self, cold: Cold, rng: random.Random) -> None:
        self.cold, self.rng = cold, rng

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.cold, name)

        async def step(*words: Any) -> Any:
            if self.rng.random() < 0.2:
                raise Killed
            answer = await verb(*words)
            if self.rng.random() < 0.2:
                raise Killed
            return answer

        return step


@pytest.mark.parametrize("seed", range(repetitions(6, 3)))
async def test_whenever_a_spiller_dies_each_url_comes_once(
    bed: Beds, store: Store, cold: Cold, seed: int
) -> None:
    rng = random.Random(seed)
    await set_hot_limit(store, "c", HOT)
    one, given, found = bed(per_host=2), 0, list[str]()

    async def spill() -> None:
        try:
            spiller = Spiller(store, "c", Dying(cold, rng), HOT)
            spiller._trim_at = 0.0
            for _ in range(rng.randrange(4)):
                await spiller.round()
                spiller._trim_at = 0.0
        except Killed:
            pass

    async def work() -> None:
        for claim in await one.claim(rng.choice((1, 2, 9))):
            action = rng.choice("dddddrb")
            if action == "d":
                found.append(claim.request.url)
            await one.end(claim, action, wait=0, reason="dns")

    for _ in range(150):
        for _ in range(rng.randrange(3)):
            fresh = [f"https://h{rng.randrange(3)}.example/{given + n}" for n in range(rng.randrange(1, 12))]
            given += len(fresh)
            await one.add(*fresh, priority=rng.choice((0, 0, 0, 5, -1)))
        await asyncio.gather(spill(), spill(), work())
        n = await one.counts()
        assert n.get("open", 0) == given - len(found)
    spiller = Spiller(store, "c", cold, HOT)
    for _ in range(3000):
        await spiller.round()
        await work()
        if len(found) == given:
            break
    assert len(found) == len(set(found)) == given
    assert (await one.counts())["open"] == 0
    assert await store.client.hget("{b:000}c:g", "out") == b"0"
    assert await one.adds_up()


async def test_what_the_cold_store_lost_ends_as_failed(
    bed: Beds, store: Store, spiller: Spiller, cold: Cold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.frontier.cold.LOST_AFTER_S", 0.0)
    one = bed()
    await one.add(*(f"{A}/{n}" for n in range(30)))
    await spiller.drain()
    await cold.drop()
    assert len(await all_claimed(one, spiller)) == HOT
    n = await one.counts()
    assert (n["open"], n["failed"], n["err:expired"]) == (0, 30 - HOT, 30 - HOT)
    assert await one.adds_up()


async def test_a_cold_store_is_not_left_behind(bed: Beds, store: Store, spiller: Spiller) -> None:
    one = bed()
    await one.add(*(f"{A}/{n}" for n in range(30)))
    with pytest.raises(ConfigError, match="26 URLs of crawl c wait in its cold store"):
        await set_hot_limit(store, "c", 0)


async def placed(store: Store, cold: Cold, one: Any, path: str) -> Any:
    url = f"{A}/{path}"
    locator = UrlLookup(store, "c", Spec([A]), lambda text: text, cold)
    return await locator.locate(url, hash((url, "s")) & (2**64 - 1))


@pytest.mark.parametrize("moved", [False, True])
async def test_explain_finds_a_cold_url(
    bed: Beds, store: Store, spiller: Spiller, cold: Cold, moved: bool
) -> None:
    one = bed()
    await one.add(*(f"{A}/{n}" for n in range(30)))
    if moved:
        await spiller.drain()
    place = await placed(store, cold, one, "20")
    assert (place.state, place.level, place.position) == ("cold", 0, 20)
    assert (await placed(store, cold, one, "2")).state == "pending"
    view = await CrawlStatistics(store).host("a.example")
    assert view.crawls == []  # there is no crawl record
    assert (
        await UrlLookup(store, "c", Spec([A]), str).locate(f"{A}/20", hash((f"{A}/20", "s")) & (2**64 - 1))
    ).state == "cold"


async def test_priorities_of_cold_urls_change(bed: Beds, store: Store, spiller: Spiller) -> None:
    one = bed(per_host=1)
    await one.add(*(f"{A}/{kind}{n}" for n in range(30) for kind in ("x", "y")))
    steer = OperatorCommands(store, spiller)
    pattern = re.compile("/y")
    assert await steer.priority("c", 9, host="a.example", match=pattern, dry_run=True) == 30
    assert await steer.priority("c", 9, host="a.example", match=re.compile("/z")) == 0
    assert await steer.priority("c", 9, host="a.example", match=pattern) == 30
    order = await all_claimed(one, spiller)
    assert [path for path in order if "y" in path] == [f"/y{n}" for n in range(30)]
    assert [path for path in order if "x" in path] == [f"/x{n}" for n in range(30)]
    assert order.index("/y29") <= 34, "every 16th turn is the lowest level's"
    assert await one.adds_up()


async def test_what_is_cancelled_is_gone_from_the_cold_store(
    bed: Beds, store: Store, spiller: Spiller, cold: Cold
) -> None:
    one = bed()
    await one.add(*(f"{A}/{n}" for n in range(30)))
    await spiller.drain()
    assert await drop_queue(store, "c", cold) == 30
    assert await cold.read(0, "a.example", 0, 0, 100) == []
    assert not await spiller.round()
    assert await one.adds_up()


async def test_a_new_crawl_of_the_same_name_takes_no_rows_of_the_old_one(
    bed: Beds, store: Store, spiller: Spiller
) -> None:
    one = bed()
    await one.add(*(f"{A}/old{n}" for n in range(30)))
    await spiller.drain()
    await forget_crawl(store, "c")  # the cold store did not get the deletion
    await set_hot_limit(store, "c", HOT)
    await one.add(*(f"{A}/new{n}" for n in range(30)))
    assert sorted(await all_claimed(one, spiller)) == sorted(f"/new{n}" for n in range(30))
