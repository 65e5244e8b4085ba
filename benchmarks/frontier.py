"""Measures the cost of the frontier: server CPU time, memory, and claims among many idle hosts.

    python benchmarks/frontier.py [--urls 1000000] [--pending 10000000] [--only STEP]

The server's CPU time is read from the store (INFO: used_cpu_user + used_cpu_sys), with the append-only file
on. The goals are:

- at most 2 us for adding a known URL, 10 us for a new URL, and 40 us for a claim and its settling
- at most 5 B per URL in the seen set, also just after a new generation begins
- at most 80 B per pending URL in addition to its path and its referrer's path
- claims that do not depend on the number of idle hosts
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.frontier.cold import ColdFiles, Spiller, set_hot_limit
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import make_entry
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Adds, Settle
from gossamer.store.embedded import Embedded
from gossamer.store.store import Store, connect

MARKS = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)
"""The numbers of URLs at which the memory of the seen set is printed."""


async def cpu(store: Store) -> float:
    """Returns the CPU seconds that the server has used."""
    info = await store.client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def memory(store: Store) -> int:
    """Returns the memory of the store's data in bytes."""
    return int((await store.client.info("memory"))["used_memory"])


def links(frontier: Frontier, marks: list[int], hosts: list[str], path: int = 42) -> Adds:
    """Returns the links of one batch, about 40 per host, with paths of the given length."""
    adds: Adds = {}
    for i in range(0, len(marks), 40):
        flat: list[Any] = []
        for mark in marks[i : i + 40]:
            flat += (
                *frontier.remainder(mark),
                make_entry("https", f"/{mark:016x}".ljust(path, "x"), 2, f"/{mark % 977}".ljust(path, "y")),
            )
        adds.setdefault((0, random.choice(hosts), 0, "http", "o", ""), []).extend(flat)
    return adds


async def adding(store: Store, seen: str, urls: int) -> None:
    frontier = Frontier(store, f"add-{seen}", Policy(seen=seen))
    rng = random.Random(7)
    hosts = [f"h{i}.example" for i in range(2000)]
    known: list[int] = []
    for _ in range(0, urls, 400):
        marks = [rng.getrandbits(64) for _ in range(400)]
        batch = links(frontier, marks, hosts)
        await frontier.add(batch)
        if not known:
            known = marks
    before = await cpu(store)
    for _ in range(100):
        await frontier.add(links(frontier, [rng.getrandbits(64) for _ in range(400)], hosts))
    spent = (await cpu(store) - before) / 40_000 * 1e6
    before = await cpu(store)
    for _ in range(100):
        await frontier.add(links(frontier, known, hosts))
    again = (await cpu(store) - before) / 40_000 * 1e6
    print(f"{seen:8} {urls:>9,} URLs: new {spent:5.2f} us, known {again:5.2f} us of server CPU")


async def seen_memory(store: Store, seen: str, urls: int) -> None:
    """Measures the seen set alone. The queued URLs are deleted before each measurement.

    Measurements are frequent just after the set has grown.
    """
    await store.client.config_set("lazyfree-lazy-user-del", "no")
    crawl = f"seen-{seen}"
    frontier, rng = Frontier(store, crawl, Policy(seen=seen)), random.Random(11)
    group = (0, "a.example", 0, "http", "o", "")
    await frontier.add({group: [*frontier.remainder(1), b"h00"]})
    base, done, grown, generations = await memory(store), 0, 0, 1
    worst, at = 0.0, 0
    while done < urls:
        flat: list[Any] = []
        for _ in range(500):
            flat += (*frontier.remainder(rng.getrandbits(64)), b"h00")
        await frontier.add({group: flat})
        done += 500
        if done % 5000 == 0:
            await store.client.delete(f"{{b:000}}{crawl}:q:a.example:0")
            found: Any = await store.client.hgetall(f"{{b:000}}{crawl}:g")
            state = {k.decode(): int(v) for k, v in found.items()}
            if state["n"] != generations:
                grown, generations = done, state["n"]
            size = (await memory(store) - base) / done
            if size > worst and done >= 1_000_000:
                worst, at = size, done
            if done in MARKS or done == urls or (grown and done in (grown - 5000, grown, grown + 50_000)):
                lost = done + 1 - sum(n for field, n in state.items() if field[0] == "c")
                print(
                    f"{seen:8} {done:>10,} URLs: {size:5.2f} B a URL; lost {lost}, expected {state['lost'] / 1e12:.3f}"
                    f"; {generations} generations, {sum(n for field, n in state.items() if field[0] == 's'):,} sets or pages"
                )
    print(f"{seen:8} worst from 1,000,000 on, looked at every 5,000: {worst:.2f} B a URL at {at:,}")


async def claims(store: Store, ready: int, idle: int) -> None:
    """Measures claims and settles beside `idle` hosts that wait for their next due time."""
    frontier = Frontier(store, f"claim-{idle}", Policy(delay=0, per_host=8, obey_robots=False))
    rng = random.Random(3)
    for i in range(ready):
        marks = [rng.getrandbits(64) for _ in range(4000)]
        for j in range(0, 4000, 400):
            await frontier.add(links(frontier, marks[j : j + 400], [f"ready{i}.example"]))
    later = int(time.time() * 1000) + 3_600_000
    for i in range(0, idle, 500):
        pipe = store.client.pipeline()
        for j in range(i, min(i + 500, idle)):
            pipe.zadd(f"{{b:000}}claim-{idle}:r:http", {f"idle{j}.example": later})
        await pipe.execute()
    before, done = await cpu(store), 0
    while done < 20_000:
        got = await frontier.claim(0, 64)
        done += len(got.claims)
        await frontier.settle(
            0, [Settle(c.token, ClaimEnd.DONE, since=5) for c in got.claims], {"pages": len(got.claims)}, {}
        )
    spent = (await cpu(store) - before) / done * 1e6
    print(f"claim and settle, {ready} ready and {idle:,} idle hosts: {spent:5.1f} us of server CPU a page")


async def claimed(frontier: Frontier, store: Store, pages: int, host: str = "") -> tuple[float, int]:
    """Claims and settles `pages` pages.

    Returns the server's CPU microseconds per page, and the number of claims for hosts other than `host`.
    """
    before, done, others = await cpu(store), 0, 0
    while done < pages:
        got = await frontier.claim(0, 64)
        done += len(got.claims)
        others += sum(claim.host != host for claim in got.claims)
        await frontier.settle(
            0, [Settle(c.token, ClaimEnd.DONE, since=5) for c in got.claims], {"pages": len(got.claims)}, {}
        )
        if not got.claims:
            await asyncio.sleep(0.002)
    return (await cpu(store) - before) / done * 1e6, others


async def filled(store: Store, urls: int, hosts: int, cold: ColdFiles | None = None) -> Frontier:
    """Returns a frontier in which `urls` URLs wait.

    The URLs are in the store's memory, or, with `cold`, on disk except for the first 256 URLs per host.
    """
    hot = 256 if cold is not None else 0
    frontier = Frontier(store, "large", Policy(delay=0, per_host=8, obey_robots=False))
    await set_hot_limit(store, "large", hot)
    base, began, used, rng = await memory(store), time.monotonic(), await cpu(store), random.Random(1)
    for first in range(0, urls, 20_000):
        adds: Adds = {}
        for n in range(first, min(first + 20_000, urls)):
            group = (0, f"host-{n // 20 * 7919 % hosts}.example", 0, "http", "o", "")
            stored = make_entry("https", f"/{n:016x}".ljust(42, "x"), 2, f"/{n % 977}".ljust(42, "y"))
            adds.setdefault(group, []).extend((*frontier.remainder(rng.getrandbits(64)), stored))
        await frontier.add(adds)
        if cold is not None:
            await Spiller(store, "large", cold, hot).drain()
    spent, size = await cpu(store) - used, await memory(store) - base
    kept = cold.path.stat().st_size if cold is not None and cold.path.exists() else 0
    print(
        f"{urls:,} pending on {hosts:,} hosts: {size / 2**20:,.0f} MiB in the store, {size / urls:.1f} B a URL, {kept / 2**20:,.0f} MiB "
        f"cold; added in {time.monotonic() - began:.0f} s, {spent / urls * 1e6:.1f} us of server CPU a URL",
        flush=True,
    )
    return frontier


async def large_cold(store: Store, urls: int) -> None:
    """Measures the memory of the store when most URLs of each host are on disk."""
    with tempfile.TemporaryDirectory() as folder:
        cold = ColdFiles(Path(folder) / "cold.sqlite")
        await filled(store, urls, 1000, cold)
        await cold.close()


async def floor(store: Store, hosts: int, pages: int) -> float:
    """Measures plain commands on the keys of random hosts that a claim and its settling access.

    Returns the server's CPU microseconds per page.
    """
    before, at = await cpu(store), "{b:000}"
    for _ in range(pages // 50):
        pipe = store.client.pipeline(transaction=False)
        for host in [f"host-{n}.example" for n in random.choices(range(hosts), k=50)]:
            pipe.hmget(f"{at}h:{host}", ["i", "n", "m", "p"])
            pipe.hset(f"{at}h:{host}", "k", "5")
            pipe.hmget(f"{at}large:h:{host}", ["q", "y"])
            pipe.lindex(f"{at}large:q:{host}:0", 0)
            pipe.exists(f"{at}large:t:{host}")
            pipe.zadd(f"{at}large:r:http", {host: random.random() * 1e12})
        await pipe.execute()
    return (await cpu(store) - before) / pages * 1e6


async def large(store: Store, urls: int) -> None:
    """Compares claims in a frontier of `urls` URLs (100 per host) with claims in a frontier of 10,000 URLs.

    The two frontiers are in separate stores and take turns. The floor consists of plain commands on the same
    stores.
    """
    with tempfile.TemporaryDirectory() as folder:
        other = Embedded(Path(folder))
        small = connect(await asyncio.to_thread(other.start))
        await small.open(1, "benchmark")
        both = [(small, await filled(small, 10_000, 100)), (store, await filled(store, urls, urls // 100))]
        for one, _ in both:
            while (await one.client.info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110 - it copies what is touched
                await asyncio.sleep(0.5)
        for what in ("as it was filled", "once each host was claimed"):
            costs: list[list[float]] = [[], [], [], []]
            for _ in range(15):
                for which, (one, frontier) in enumerate(both):
                    costs[which].append((await claimed(frontier, one, 200))[0])
                    costs[2 + which].append(await floor(one, (100, urls // 100)[which], 200))
            few, many, low, high = map(statistics.median, costs)
            print(
                f"claim and settle, one URL a host and call, 15 turns, {what}: {few:.1f} us of server CPU a page at 10,000 pending, "
                f"{many:.1f} us at {urls:,}: {many / few:.2f} times; plain commands on the same keys "
                f"{low:.1f} us, {high:.1f} us: {high / low:.2f} times; CPU in the kernel of the large one so far "
                f"{(await store.client.info('cpu'))['used_cpu_sys']:.0f} s",
                flush=True,
            )
            await claimed(both[1][1], store, urls // 100)
        await small.close()
        other.leave()


async def giant(store: Store, urls: int) -> None:
    """Measures the claims of 1,000 small hosts with a delay, alone and beside a host with very many URLs."""
    for many in (0, urls):
        await store.client.execute_command("FLUSHALL", "SYNC")
        await store.open(1, "benchmark")
        frontier, rng = Frontier(store, "giant", Policy(delay=50, obey_robots=False)), random.Random(1)
        await set_hot_limit(store, "giant", 512)
        hosts = [f"small-{n}.example" for n in range(1000)]
        with tempfile.TemporaryDirectory() as folder:
            cold = ColdFiles(Path(folder) / "cold.sqlite")
            spiller = Spiller(store, "giant", cold, 512)
            for _ in range(0, many, 20_000):
                await frontier.add(
                    links(frontier, [rng.getrandbits(64) for _ in range(20_000)], ["giant.example"])
                )
                await spiller.drain()
            for host in hosts:
                await frontier.add(links(frontier, [rng.getrandbits(64) for _ in range(40)], [host]))
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                task = group.create_task(spiller.run())
                cost, others = await claimed(frontier, store, 20_000, "giant.example")
                task.cancel()
            wall = time.monotonic() - began
            await cold.close()
        print(
            f"1,000 small hosts, giant of {many:,}: {cost:.1f} us of server CPU a page, small hosts {others / wall:,.0f} pages/s"
        )


async def pending(store: Store, urls: int, hosts: int) -> None:
    frontier = Frontier(store, "pending", Policy())
    rng = random.Random(5)
    names = [f"host-{i}.example" for i in range(hosts)]
    base = await memory(store)
    for _ in range(urls // 400):
        await frontier.add(links(frontier, [rng.getrandbits(64) for _ in range(400)], names))
    size = (await memory(store) - base) / urls
    print(
        f"pending: {size:.1f} B a URL with its seen entry and host, of which path and referrer's path 84 B; overhead {size - 84:.1f} B"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--pending", type=int, default=10_000_000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        embedded = Embedded(Path(folder))
        store = connect(await asyncio.to_thread(embedded.start))
        await store.open(1, "benchmark")
        steps: dict[str, Callable[[], Any]] = {
            "claims": lambda: claims(store, 10, 0),
            "idle": lambda: claims(store, 10, 100_000),
            "adding": lambda: adding(store, "default", 200_000),
            "adding-exact": lambda: adding(store, "exact", 200_000),
            "adding-bloom": lambda: adding(store, "bloom", 200_000),
            "large": lambda: large(store, options.pending),
            "large-cold": lambda: large_cold(store, options.pending // 10),
            "giant": lambda: giant(store, 1_000_000),
            "pending": lambda: pending(store, 200_000, 4000),
            "seen": lambda: seen_memory(store, "default", options.urls),
            "seen-bloom": lambda: seen_memory(store, "bloom", options.urls),
        }
        for name, step in steps.items():
            if options.only in ("", name):
                await store.client.execute_command("FLUSHALL", "SYNC")
                await store.open(1, "benchmark")
                await step()
        await store.close()
        embedded.leave()


if __name__ == "__main__":
    asyncio.run(main())
