"""The order of hosts in a real Valkey. Of the hosts that may start, the one with the most urgent URL is
claimed first, and every 16th claim takes the host that has been due for the longest time. Changes apply to the
next claim."""

from __future__ import annotations

import random
from typing import Any

import pytest

from frontier.claims import Beds, paths
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim, Claimed, ClaimOrder
from gossamer.store import keys
from gossamer.store.store import Store
from support.repetitions import repetitions

LATER = 1_000_000
"""The delay, in milliseconds, of a host that must not become due during a test."""


def url(host: str, path: int = 0) -> str:
    return f"https://{host}.example/{path}"


def name(claim: Claim) -> str:
    return claim.host.split(".")[0]


def polite(bed: Beds, **policy: Any) -> Any:
    """Returns a bed whose hosts allow one request at a time, so that each claim is the turn of one host."""
    return bed(**({"per_host": 1, "delay": LATER} | policy))


async def has_order(store: Store, crawl: str = "c", bucket: int = 0) -> bool:
    return bool(await store.client.exists(f"{keys.tag(bucket)}{crawl}:u:http"))


async def claimed(b: Any, k: int, order: ClaimOrder) -> Claimed:
    return b.frontier.claimed(0, await b.store.run("claim", 0, *b.frontier.claiming(k, order)))


async def test_the_most_urgent_host_is_first_and_every_16th_is_due_longest(bed: Beds) -> None:
    b = polite(bed)
    await b.add(*(url(f"low{n:02}") for n in range(20)), priority=-1)
    await b.add(*(url(f"mid{n:02}") for n in range(10)))
    await b.add(*(url(f"top{n:02}") for n in range(10)), priority=7)
    found = [name(claim)[:3] for claim in await b.claim(24)]
    assert found == ["top"] * 10 + ["mid"] * 5 + ["low"] + ["mid"] * 5 + ["low"] * 3


async def test_turns_go_on_from_call_to_call(bed: Beds) -> None:
    b, found = polite(bed), []
    await b.add(*(url(f"low{n}") for n in range(9)))
    await b.add(*(url(f"top{n}") for n in range(32)), priority=1)
    while len(found) < 32:
        found += [name(claim) for claim in (await claimed(b, 3, ClaimOrder(len(found)))).claims]
    assert [n for n, one in enumerate(found) if one[:3] == "low"] == [15, 31]
    assert {one for one in found if one[:3] == "low"} <= {f"low{n}" for n in range(9)}


async def test_hosts_of_one_level_come_by_their_time_and_need_no_second_order(
    bed: Beds, store: Store
) -> None:
    b = polite(bed)
    for n in range(6):
        await b.add(url(f"h{n}"), priority=3)
        await b.later(10)
    assert [name(claim) for claim in await b.claim(4)] == ["h0", "h1", "h2", "h3"]
    assert not await has_order(store)


async def test_a_floor_leaves_lower_hosts(bed: Beds) -> None:
    b = polite(bed)
    await b.add(url("low"), priority=-3)
    await b.add(url("mid"))
    await b.add(url("top"), priority=2)
    assert [name(claim) for claim in (await claimed(b, 9, ClaimOrder(None, 2))).claims] == ["top"]
    got = await claimed(b, 9, ClaimOrder(None, 0))
    assert [name(claim) for claim in got.claims] == ["mid"]
    assert (got.rank, got.next_at <= got.now) == (-3, True)
    assert [name(claim) for claim in (await claimed(b, 9, ClaimOrder(15, 2))).claims] == ["low"]


async def test_nothing_starves_while_urgent_urls_keep_coming(bed: Beds) -> None:
    b, low, turns = polite(bed), set[str](), 0
    await b.add(*(url(f"low{n}") for n in range(12)))
    while len(low) < 12:
        await b.add(*(url(f"top{turns + n}") for n in range(20)), priority=9)
        got = (await claimed(b, 4, ClaimOrder(turns))).claims
        assert len(got) == 4
        turns += len(got)
        low |= {name(claim) for claim in got if name(claim)[:3] == "low"}
        await b.later(1)
    assert turns <= 12 * 16 + 4, "each 16th turn was one of theirs"


async def test_hosts_with_both_kinds_of_urls_pass_few_ordinary_ones(bed: Beds) -> None:
    b = polite(bed, delay=0)
    for n in range(
        40
    ):  # both kinds on half of the hosts, urgent ones on a quarter, ordinary ones on a quarter
        for path in range(10):
            await b.add(url(f"h{n:02}", path), priority=5 * ((path if n % 4 > 1 else n) % 2))
    found: list[int] = []
    while len(found) < 400:
        for claim in (await claimed(b, 4, ClaimOrder(len(found)))).claims:
            found.append(claim.request.priority)
            await b.end(claim, delay=0)
    assert sum(found[:200]) >= 5 * 185, "every 8th claim of a host and every 8th host: 175"
    assert sum(found) == 5 * 200


async def test_an_urgent_url_raises_a_host_that_waits_already(bed: Beds, store: Store) -> None:
    b = polite(bed)
    await b.add(*(url(f"h{n}") for n in range(9)))
    assert not await has_order(store)
    await b.add(url("h5", 1), priority=4)
    assert await has_order(store)
    (first, *_) = await b.claim(3)
    assert (name(first), paths([first])) == ("h5", ["/1"])


async def test_urls_of_a_lower_level_come_after_those_that_wait_already(bed: Beds) -> None:
    b = polite(bed)
    await b.add(*(url(f"low{n}") for n in range(3)), priority=-2)
    await b.add(*(url(f"h{n}") for n in range(3)))
    await b.later(50)
    await b.add(*(url(f"last{n}") for n in range(3)), priority=-9)
    assert [name(claim)[:3] for claim in await b.claim(7)] == ["h0", "h1", "h2", *["low"] * 3, "las"]


async def test_a_changed_priority_moves_hosts_both_ways(bed: Beds, store: Store) -> None:
    b, steer = polite(bed), OperatorCommands(store)
    await b.add(*(url(f"h{n}") for n in range(6)))
    assert await steer.priority("c", 5, host="h4.example") == 1
    assert await steer.priority("c", -5, host="h0.example") == 1
    assert [name(claim) for claim in await b.claim(6)] == ["h4", "h1", "h2", "h3", "h5", "h0"]


async def test_a_retry_raises_its_host_when_it_is_due(bed: Beds) -> None:
    b = polite(bed, delay=0)
    await b.add(url("late"), priority=5)
    (claim,) = await b.claim(1)
    await b.add(url("late", 1), *(url(f"h{n}") for n in range(8)))
    await b.end(claim, "r", wait=LATER)
    (first,) = await b.claim(1)
    assert name(first) == "h0"
    await b.end(first, "b")
    await b.later(2 * LATER)
    (first,) = await b.claim(1)
    assert (name(first), first.attempt) == ("late", 1)


async def test_only_a_retry_gives_its_host_its_level(bed: Beds) -> None:
    b = polite(bed, delay=0)
    await b.add(url("again"), priority=5)
    (claim,) = await b.claim(1)
    await b.add(*(url(f"h{n}") for n in range(8)))
    await b.end(claim, "r", wait=LATER)
    await b.later(2 * LATER)
    assert name((await b.claim(1))[0]) == "again"


async def test_hosts_of_all_heaps_are_in_one_order(bed: Beds) -> None:
    b = polite(bed)
    for lane in ("http", "slow", "http@eu"):
        adds: Adds = {}
        for level in (0, 3):
            for n in range(3):
                host, stored = pack(Request(f"https://{lane.strip('@')}{level}{n}.example/"))
                half = b.frontier.remainder(hash((host, "s")) & (2**64 - 1))
                adds[0, host, level, lane, "o", ""] = [*half, stored]
        await b.frontier.add(adds)
    found = [claim.request.priority for claim in (await claimed(b, 18, ClaimOrder(None))).claims]
    assert found == [3] * 9 + [0] * 9
    assert await b.adds_up()


async def test_hosts_that_are_left_to_better_workers_are_not_taken(bed: Beds) -> None:
    b, other = polite(bed), polite(bed)
    other.frontier.waits = (60_000, 60_000)
    await b.add(url("low"))
    await b.add(url("high"), priority=2)
    await b.later(90_000)
    await b.add(url("top"), priority=5)
    assert [name(claim) for claim in await other.claim(3)] == ["high", "low"]


async def test_a_host_that_moves_to_another_lane_leaves_its_place(bed: Beds, store: Store) -> None:
    plain, eyes = polite(bed, lanes=("http",)), polite(bed, lanes=("browser",))
    await plain.add(url("a"), url("a", 1), url("b"))
    await plain.add(url("a", 2), url("c"), priority=5)
    claims = await plain.claim(3)
    for one in claims:
        if name(one) == "a":
            await plain.frontier.handover(0, one.host, "browser")
        await plain.end(one, "b")
    order = {h.decode() for h in await store.client.zrange("{b:000}c:u:http", 0, -1)}
    assert order == {"b.example", "c.example"}
    assert [name(claim) for claim in await eyes.claim(3)] == ["a"]


async def test_distant_priorities_are_ordered_too(bed: Beds) -> None:
    b, levels = polite(bed), (-1_000_000, -999, -256, 0, 300, 310, 1000, 20_000, 999_999)
    for level in random.Random(1).sample(levels, len(levels)):
        await b.add(url(f"h{level}"), priority=level)
    got = (await claimed(b, 20, ClaimOrder(None))).claims
    assert [claim.request.priority for claim in got] == sorted(levels, reverse=True)


async def test_hosts_beyond_very_many_levels_come_by_their_time(bed: Beds) -> None:
    b = polite(bed)
    for level in range(100):
        await b.add(url(f"h{level}"), url(f"h{level}", 1), priority=level)
    for claim in await b.claim(100):
        await b.end(claim, delay=LATER)  # 100 levels have hosts that wait for their delay
    assert await b.claim(5) == []
    for n, order in enumerate((ClaimOrder(), ClaimOrder(None, -200))):
        await b.add(url(f"last{n}"), priority=-200)
        got = await claimed(b, 5, order)
        assert [name(claim) for claim in got.claims] == [f"last{n}"], "no 100 levels are looked at"


async def test_places_that_an_older_worker_left_wrong_do_no_harm(bed: Beds, store: Store) -> None:
    b = polite(bed)
    await b.add(*(url(f"h{n}") for n in range(5)))
    await b.add(url("h3", 1), priority=5)
    await store.client.zrem("{b:000}c:u:http", "h1.example")
    await store.client.zadd("{b:000}c:u:http", {"gone.example": -(2**42) * 9 + 1})
    assert sorted(name(claim) for claim in await b.claim(9)) == ["h0", "h1", "h2", "h3", "h4"]
    assert await store.client.zscore("{b:000}c:u:http", "gone.example") is None


async def test_a_host_with_more_urgent_urls_may_take_them_all_at_once(bed: Beds) -> None:
    b = bed(per_host=20, delay=0)
    await b.add(*(url("top", n) for n in range(12)), priority=5)
    for n in range(7):
        await b.add(*(url(f"h{n}", p) for p in range(12)))
    found = [claim.request.priority for claim in await b.claim(24)]
    assert (found[:12], len(found)) == ([5] * 12, 24)


async def test_cancelled_crawls_leave_no_order(bed: Beds, store: Store) -> None:
    from gossamer.frontier.crawls import drop_queue

    b = polite(bed)
    await b.add(url("a"), url("b"), priority=5)
    await b.add(url("c"))
    assert await drop_queue(store, "c") == 3
    assert not [key async for page in store.scan("{b:000}c:[ur]*") for key in page]


class Model:
    """A simple model of a bucket's hosts: their queued levels and their next start times."""

    def __init__(self) -> None:
        self.queued: dict[str, list[int]] = {}
        self.start: dict[str, float] = {}

    def due(self) -> list[str]:
        return [host for host, levels in self.queued.items() if levels and self.start[host] < LATER / 2]

    def order(self, k: int, order: ClaimOrder) -> list[str]:
        """Returns the hosts of the next claim."""
        by_time = sorted(self.due(), key=lambda host: (self.start[host], host))
        by_rank = sorted(by_time, key=lambda host: -max(self.queued[host]))
        by_rank = [h for h in by_rank if order.floor is None or max(self.queued[h]) >= order.floor]
        found: list[str] = []
        while len(found) < k:
            low = order.turn is not None and (order.turn + len(found)) % 16 == 15
            left = [host for host in (by_time if low else by_rank) if host not in found]
            left = left or [host for host in by_rank if host not in found]
            if not left:
                return found
            found.append(left[0])
        return found


@pytest.mark.parametrize("seed", range(repetitions(12)))
async def test_any_order_is_that_of_a_simple_model(bed: Beds, store: Store, seed: int) -> None:
    """Adds, claims, ends and priority changes in random order. Each claim takes the hosts that the simple
    model expects."""
    rng, model, number = random.Random(seed), Model(), 0
    b, steer = polite(bed), OperatorCommands(store)
    hosts = [f"h{n:02}.example" for n in range(30)]
    model.queued, model.start = {host: [] for host in hosts}, dict.fromkeys(hosts, 0.0)
    for _ in range(60):
        for host in rng.sample(hosts, 4):
            level, number = rng.choice((0, 0, 0, 4, -3, 9)), number + 1
            await b.add(f"https://{host}/{number}", priority=level)
            model.queued[host].append(level)
        if rng.random() < 0.3:
            host, level = rng.choice(hosts), rng.choice((-3, 0, 9))
            await steer.priority("c", level, host=host)
            model.queued[host] = [level] * len(model.queued[host])
        model.start = await starts(store, hosts)
        order = ClaimOrder(rng.choice((None, 0, 3, 7)), rng.choice((None, None, 0, 4)))
        k = rng.randrange(1, 12)
        want = model.order(k, order)
        held = (await claimed(b, k, order)).claims
        assert [claim.host for claim in held] == want
        for claim in held:
            model.queued[claim.host].remove(claim.request.priority)
            await b.end(claim, "d")
        if rng.random() < 0.5:
            await b.later(2 * LATER)
    assert (await crawl_counts(store, "c"))["open"] == sum(map(len, model.queued.values()))


async def starts(store: Store, hosts: list[str]) -> dict[str, float]:
    """Returns when each host may start, in ms from now, according to the heap by time."""
    seconds, micros = await store.client.time()
    now = int(seconds) * 1000 + int(micros) // 1000
    scores = await store.client.zmscore("{b:000}c:r:http", *hosts)
    return {host: LATER if at is None else float(at) - now for host, at in zip(hosts, scores, strict=True)}
