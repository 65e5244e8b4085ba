"""Cancels, kills and ends crawls of a simulated fleet, and checks after each that no slot of a host is lost.

    python benchmarks/lost_slots.py [--rounds 2000] [--seed 1]

A round is a crawl of 90 URLs on 30 hosts with 4 slots each, by three workers in one process on a real Valkey server.
At a random moment the crawl is cancelled (its queue is dropped), removed, or left alone; workers go on with what they
have claimed, add links, and learn the end late; one worker may be killed, so that its leases expire (0.3 s). Then the
slots of all hosts are compared with the leases, and the next crawl of the same hosts must get their slots.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.errors import GossamerError
from gossamer.frontier.crawls import drop_queue, forget_crawl
from gossamer.frontier.lost_slots import wrong_hosts
from gossamer.store.store import Store, connect
from support.fleet_workers import Server
from support.frontiers import Bed

HOSTS = [f"https://h{n}.example" for n in range(30)]
POLICY = {"per_host": 4, "delay": 0, "first_delay": 0, "lease": 300}
PATIENCE_S = 40.0


async def work(bed: Bed, chance: random.Random, ends: asyncio.Event, settled: list[int], number: int) -> None:
    """Claims and settles URLs until the crawl has ended, and a little longer."""
    added = 0
    while not ends.is_set() or chance.random() < 0.7:
        claims = await bed.claim(chance.randint(1, 4))
        for claim in claims:
            await asyncio.sleep(chance.random() * 0.002)
            with contextlib.suppress(GossamerError):  # the lease is lost
                await bed.end(claim)
            settled.append(claim.token)
            if chance.random() < 0.3 and added < 20:
                added += 1
                await bed.add(f"{chance.choice(HOSTS)}/{number}-{added}")
        if not claims:
            await asyncio.sleep(0.001)


async def one_round(store: Store, number: int, chance: random.Random) -> tuple[str, bool, bool]:
    """Returns the end of the crawl, whether slots and leases agreed at once, and whether the next crawl started."""
    name, ends = f"c{number}", asyncio.Event()
    beds = [Bed(store, name, **POLICY) for _ in range(3)]
    await beds[0].add(*(f"{host}/{n}" for host in HOSTS for n in range(3)))
    settled: list[int] = []
    tasks = [asyncio.create_task(work(bed, chance, ends, settled, n)) for n, bed in enumerate(beds)]
    moment = chance.randint(0, 70)
    while len(settled) < moment:  # noqa: ASYNC110 - several workers add to it
        await asyncio.sleep(0.001)
    end = chance.choice(("cancel", "remove", "kill", "end"))
    if end == "kill":
        tasks[0].cancel()
    if end in ("cancel", "remove"):
        await (drop_queue if end == "cancel" else forget_crawl)(store, name)
        ends.set()
    else:
        await asyncio.sleep(0.02)
        ends.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    agreed = not await wrong_hosts(store, correct=False)
    until = time.monotonic() + PATIENCE_S
    following = Bed(store, f"n{number}", **POLICY)
    await following.add(*(f"{host}/next-{n}" for host in HOSTS for n in range(4)))
    got = Counter[str]()
    while time.monotonic() < until and sum(got.values()) < 4 * len(HOSTS):
        await beds[1].frontier.requeue_expired(0)
        got.update(claim.host for claim in await following.claim())
        await asyncio.sleep(0.01)
    for one in (name, f"n{number}"):
        await forget_crawl(store, one)
    return end, agreed, sum(got.values()) == 4 * len(HOSTS)


async def run(rounds: int, seed: int) -> None:
    chance, seen = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "s") as server:
        store = connect(server.url(0))
        await store.open(1, "test")
        for number in range(rounds):
            end, agreed, started = await one_round(store, number, chance)
            seen[end] += 1
            seen["slots and leases differ"] += not agreed
            seen["the next crawl did not get all slots"] += not started
            left = await wrong_hosts(store, correct=True)
            seen["hosts that differ at the end"] += len(left)
        await store.close()
    for what, count in sorted(seen.items()):
        print(f"{what:40}{count:6}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(time.strftime("%Y-%m-%d, ", time.gmtime()) + "python " + " ".join(sys.argv))
    asyncio.run(run(given.rounds, given.seed))
