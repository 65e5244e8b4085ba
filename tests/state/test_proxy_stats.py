"""The shared state of proxies. The script follows the rules of `identity.standing`, workers get the results
of other workers, and each session is bound once."""

from __future__ import annotations

import asyncio
import random

import pytest

from gossamer.proxies.proxy_health import HOST, PROXY, BreakerRule, ProxyHealth, ProxyReport
from gossamer.state.proxy_stats import ProxyStatistics
from gossamer.store import keys
from gossamer.store.store import Store


def telling(seen: ProxyReport, rule: BreakerRule) -> tuple[object, ...]:
    return (seen.good, seen.bad, seen.seconds, seen.tail, *rule)


async def test_the_script_keeps_the_rules(store: Store) -> None:
    rng, one = random.Random(3), ProxyStatistics(store, "c")
    mine = {key: ProxyHealth() for key in ("a:1", "b:2\te.com", "@acme")}
    rules = {"a:1": PROXY, "b:2\te.com": HOST, "@acme": BreakerRule(4, 5, 40)}
    opened = 0
    for _ in range(60):
        seen = {}
        for key in rng.sample(sorted(mine), 2):
            good, bad = rng.choice(((0, 1), (0, 2), (0, 3), (1, 1), (2, 0)))
            seen[key] = ProxyReport(good, bad, good * rng.random(), rng.randint(0, bad) if good else bad)
        now, _ = await one.exchange({key: telling(value, rules[key]) for key, value in seen.items()})
        for key, value in seen.items():
            mine[key].felt(value, now, rules[key])
        kept = {
            key: ProxyHealth.of(value.decode())
            for key, value in zip(mine, await store.client.hmget(keys.PROXIES[0], list(mine)), strict=True)
            if value
        }
        for key, standing in kept.items():
            told, known = standing, mine[key]
            assert (told.row, told.outs, told.until, told.at) == (
                known.row,
                known.outs,
                known.until,
                known.at,
            )
            assert (told.good, told.bad, told.latency) == pytest.approx(
                (known.good, known.bad, known.latency), abs=0.02
            )
            opened += told.until > now
    assert opened


async def test_each_hears_once_of_what_the_others_saw(store: Store) -> None:
    one, other = ProxyStatistics(store, "c"), ProxyStatistics(store, "d")
    fault = telling(ProxyReport(0, 3, 0.0, 3), PROXY)
    await one.exchange({f"p:{n}": fault for n in range(1200)})
    now, heard = await other.exchange({})
    assert len(heard) == 1200
    assert ProxyHealth.of(heard["p:7"]).until > now
    assert (await other.exchange({}))[1] == {}
    await one.exchange({"p:7": telling(ProxyReport(1, 0, 0.2, 0), PROXY)})
    _, heard = await other.exchange({"q:1": fault})
    assert set(heard) == {"p:7", "q:1"}
    assert ProxyHealth.of(heard["p:7"]).until == 0


async def test_a_session_is_bound_once_and_anew_when_its_proxy_is_gone(store: Store) -> None:
    workers = [ProxyStatistics(store, "c") for _ in range(8)]
    bound = await asyncio.gather(*(one.bind("e.com", f"p:{n}", "", 60) for n, one in enumerate(workers)))
    assert len(set(bound)) == 1
    again = await asyncio.gather(
        *(one.bind("e.com", f"q:{n}", bound[0], 60) for n, one in enumerate(workers))
    )
    assert len(set(again)) == 1
    assert again[0].startswith("q:")
    assert await workers[0].bind("f.com", "p:9", "", 60) == "p:9"
    assert await ProxyStatistics(store, "other").bind("e.com", "p:9", "", 60) == "p:9"
    assert await store.client.pttl(keys.session("c", "e.com")) <= 60_000


async def test_what_nobody_saw_for_a_week_is_forgotten(store: Store) -> None:
    one = ProxyStatistics(store, "c")
    now, _ = await one.exchange(
        {"old:1": telling(ProxyReport(1), PROXY), "new:1": telling(ProxyReport(1), PROXY)}
    )
    await store.client.zadd(keys.PROXIES[1], {"old:1": now - 8 * 86_400_000})
    await one.exchange({})
    assert set(await store.client.hkeys(keys.PROXIES[0])) == {b"new:1"}
    assert await store.client.pttl(keys.PROXIES[0]) > 0


async def test_one_worker_does_the_checks(store: Store) -> None:
    assert [await ProxyStatistics(store, "c").turn("pool", f"w{n}") for n in range(3)] == [True, False, False]
