"""Credits of unlockers: limits that hold for any number of processes, even if some die, a gate, and a
breaker."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from gossamer.frontier.crawls import forget_crawl
from gossamer.state.credits import CreditLimits, Credits
from gossamer.store.keys import tag
from gossamer.store.store import Store, connect

FAULT, SHUT = "f10,30000,900000", "f1,30000,900000"


def purse(
    store: Store,
    crawl: str = "c",
    at_once: int = 100,
    day: int | None = None,
    most: int | None = None,
    hold: float = 60,
) -> Credits:
    return Credits(store, crawl, "zenrows", CreditLimits(at_once, day, most), hold)


async def whys(one: Credits, *costs: int) -> list[str]:
    return [(await one.reserve(cost)).why for cost in costs]


async def test_a_crawl_spends_no_more_than_it_may(store: Store) -> None:
    one = purse(store, most=30)
    got = await one.reserve(25)
    assert await whys(one, 5, 1) == ["", "busy"], "what is reserved may yet come back"
    await one.repay(got.token, 10, "g")
    assert await whys(one, 15, 1) == ["", "busy"]
    assert (await one.spent())[:3] == (30, 30, 2)
    assert await whys(purse(store, "other", most=30), 30) == [""], "another crawl has its own"
    assert await whys(purse(store, most=31), 1) == [""], "a larger bound goes on"


async def test_what_is_spent_is_spent(store: Store) -> None:
    for bounds, why in (({"most": 10}, "crawl"), ({"day": 20}, "day")):
        one = purse(store, **bounds)  # type: ignore[arg-type]
        await one.repay((await one.reserve(10)).token, 10, "g")
        found = await one.reserve(1)
        assert found.why == why
    assert 0 < found.wait <= 86_400, "until midnight, UTC"


async def test_a_day_is_shared_by_all_crawls_and_ends(store: Store) -> None:
    first, second = purse(store, "a", day=10), purse(store, "b", day=10)
    await first.repay((await first.reserve(7)).token, 7, "g")
    assert await whys(second, 4, 3) == ["day", ""]
    key = f"{tag(0)}@credits"
    today = next(k for k in await store.client.hkeys(key) if k.startswith(b"day:"))
    number = int(today.rsplit(b":", 1)[1])
    await store.client.hset(key, f"day:zenrows:{number - 5}", 10)
    await store.client.hdel(key, today)
    assert await whys(second, 3) == [""]
    left = [k for k in await store.client.hkeys(key) if k.startswith(b"day:")]
    assert left == [today], "days long gone are forgotten"


async def test_a_call_that_nobody_settles_stays_spent_and_keeps_its_place_for_a_while(store: Store) -> None:
    one = purse(store, at_once=1, most=100, hold=0.3)
    dead, unknown = await one.reserve(10), "busy"
    while unknown == "busy":
        got = await one.reserve(20)
        unknown = got.why
    assert unknown == ""
    await one.repay(got.token, None, FAULT)
    assert (await one.reserve(1)).why == "busy", "an unknown end keeps its place"
    while (await one.reserve(1)).why == "busy":
        await store.client.ping()
    await one.repay(dead.token, 0, "g")
    assert (await one.spent()).crawl == 31, "a dead worker that wakes gets nothing back"


async def test_a_lost_reply_costs_nothing_twice(store: Store) -> None:
    args = ("c", "zenrows", "token", 10, 5, -1, -1, 60_000)
    assert (
        await store.run("unlocker_reserve", 0, *args)
        == await store.run("unlocker_reserve", 0, *args)
        == [b"", 0]
    )
    one = purse(store)
    assert (await one.spent()).crawl == 10
    for _ in range(2):
        await one.repay("token", 4, "g")
    assert (await one.spent())[:3] == (4, 4, 0)


async def test_the_gate(store: Store) -> None:
    one, other = purse(store, at_once=2), purse(store, "b", at_once=2)
    got = await one.reserve(1)
    assert await whys(other, 1, 1) == ["", "busy"], "all crawls share it"
    await one.repay(got.token, 1, "g")
    assert await whys(one, 1, 1) == ["", "busy"]


async def test_calls_without_an_answer_hold_half_of_the_places(store: Store) -> None:
    one = purse(store, at_once=4, hold=60)
    for _ in range(4):
        await one.repay((await one.reserve(1)).token, None, FAULT)
    assert await whys(one, 1, 1, 1) == ["", "", "busy"], "their connections broke"
    calls = f"{tag(0)}@calls:zenrows"
    soon = 1000 * (await store.client.time())[0] + 40_000
    for token in await store.client.hkeys(calls):
        await store.client.hset(calls, token, f"{soon} 1 1 c")
    assert await whys(one, 1, 1, 1) == ["", "", "busy"], "they have lasted for 20 s"
    for token in await store.client.hkeys(calls):
        await store.client.hset(calls, token, f"{soon} 1 1 c")
    assert await whys(one, 1) == ["busy"], "there are never more than 8"


async def test_the_breaker(store: Store) -> None:
    one = purse(store)
    for n in range(10):
        assert ((await one.repay((await one.reserve(1)).token, 0, FAULT)).wait > 0) is (n == 9), (
            "the tenth fault in a row"
        )
    shut = await one.reserve(1)
    assert (shut.why, 0 < shut.wait <= 36) == ("open", True)
    assert (await one.spent()).shut > 0
    key = f"{tag(0)}@unlocker:zenrows"
    text = (await store.client.get(key)).decode().split(",")
    await store.client.set(key, ",".join([*text[:3], "1", *text[4:]]))  # the time of the open state is over
    assert await whys(one, 1, 1) == ["", "open"], "one probe at a time"
    (probe,) = await store.client.hkeys(f"{tag(0)}@calls:zenrows")
    assert await one.repay(probe.decode(), 1, "g") == (0, 0)
    assert await whys(one, 1, 1) == ["", ""]


async def test_what_is_no_page_s_fault_opens_it_at_once(store: Store) -> None:
    one = purse(store)
    assert 29 < (await one.repay((await one.reserve(1)).token, 0, SHUT, "key")).wait <= 36


async def test_a_forgotten_crawl_begins_with_nothing_spent(store: Store) -> None:
    one = purse(store, most=5)
    late = await one.reserve(5)
    await forget_crawl(store, "c")
    assert await whys(one, 5) == [""]
    await one.repay(late.token, 0, "g")
    assert (await one.spent()).day >= 5


WORKER = """
import asyncio, os, random, sys
from gossamer.state.credits import CreditLimits, Credits
from gossamer.store.store import connect

async def work(url, ledger, bounds):
    store = connect(url)
    await store.open(1, "test")
    one = Credits(store, "c", "zenrows", bounds, 1.0)
    async def calls():
        while True:
            got = await one.reserve(most := random.choice((1, 5, 10, 25)))
            if got.why in ("crawl", "day"):
                return
            if got.why:
                await asyncio.sleep(got.wait / 10)
                continue
            cost = random.randint(0, most)
            os.write(ledger, b"%d\\n" % cost)  # the provider charges now
            await asyncio.sleep(random.random() / 200)
            unknown = random.random() < 0.05
            await one.repay(got.token, None if unknown else cost, "g")
    await asyncio.gather(*(calls() for _ in range(4)))
    await store.close()

url, path, at_once, day, most = sys.argv[1:]
ledger = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
asyncio.run(work(url, ledger, CreditLimits(int(at_once), int(day), int(most))))
"""


async def test_eight_processes_share_a_thousand_credits_and_some_are_killed(
    valkey_url: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    words = [sys.executable, "-c", WORKER, valkey_url, str(ledger), "64", "10000", "1000"]

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        )

    workers, killed = [begin() for _ in range(8)], 0
    try:
        spent = 0
        while any(worker.poll() is None for worker in workers):
            await asyncio.sleep(0.02)
            lines = ledger.read_bytes().split() if ledger.exists() else []
            spent = sum(map(int, lines))
            assert spent <= 1000
            if len(lines) > 10 * (killed + 1) and killed < 4:
                victim = random.randrange(8)
                if workers[victim].poll() is None:
                    workers[victim].send_signal(signal.SIGKILL)
                    workers[victim].wait()
                    killed += 1
                    workers[victim] = begin()
        assert [worker.returncode for worker in workers] == [0] * 8
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert killed == 4
    lines = ledger.read_bytes().split()
    charged = sum(map(int, lines))
    store = connect(valkey_url)
    booked = (await purse(store).spent()).day
    await store.close()
    assert charged <= booked <= 1000
    assert booked > 975, "all of it was of use, but for what is less than a call may cost"
