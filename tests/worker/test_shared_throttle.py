"""A budget that the hosts of a domain share, in whole crawls: robots.txt, pages, retries and two workers."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from gossamer.politeness.pace import Delay
from gossamer.state.host_groups import HostGroups
from gossamer.worker.shared_throttle import SharedThrottle
from worker.worker_parts import Make, Net, failure, links, until

HOSTS = [f"{n}.shop.example" for n in range(4)]
SEEDS = tuple(f"http://{host}/" for host in HOSTS)


async def domain(host: str) -> str | None:
    return f"domain:{host.split('.', 1)[1]}"


async def test_the_hosts_of_a_domain_take_turns(road: Make) -> None:
    net = Net(
        {seed: links("/1", "/2") for seed in SEEDS} | {f"http://{HOSTS[0]}/1": [failure("reset"), "x"]},
        wait=0.01,
    )
    made = [
        road(net, seeds=SEEDS, obey=True, fixed=Delay(0.05, 0.05), retries=(0.01,), output=f"{n}.jsonl")
        for n in "ab"
    ]
    for one in made:
        one.visitor.shared_throttle = SharedThrottle(HostGroups(one.store, 1, 5), domain)
    await made[0].add(*SEEDS)
    assert await asyncio.gather(*(one.run() for one in made)) == ["finished", "finished"]
    assert len(net.asked) == 4 + 12 + 1, (
        "robots.txt, pages, a retry: nothing was asked twice for being refused a turn"
    )
    assert min(b - a for a, b in pairwise(sorted(net.times))) >= 0.045
    n = await made[0].counts()
    assert (n["pages"], n["retried"], n.get("dead", 0)) == (12, 1, 0)
    assert await made[0].adds_up()


async def test_other_domains_have_turns_of_their_own(road: Make) -> None:
    seeds = ("http://a.one.example/", "http://a.two.example/")
    net = Net(wait=0.05)
    one = road(net, seeds=seeds, fixed=Delay(5, 5))
    one.visitor.shared_throttle = SharedThrottle(HostGroups(one.store, 1, 5), domain)
    await one.add(*seeds)
    await one.run()
    assert abs(net.times[1] - net.times[0]) < 4  # less than the delay of 5


async def test_a_visit_that_breaks_gives_its_turn_back(road: Make) -> None:
    net = Net({SEEDS[0]: RuntimeError("a bug")})
    one = road(net, seeds=SEEDS)
    one.visitor.shared_throttle = SharedThrottle(HostGroups(one.store, 1, 60), domain)
    await one.add(*SEEDS[:2])
    work = asyncio.create_task(one.run())
    await until(lambda: SEEDS[1] in net.asked)
    one.stop.set()
    await work
    assert len(one.surprises) == 1
    assert not [k for k in await one.store.client.hgetall("{domain:shop.example}") if k.startswith(b"t")]
