"""Cancels, stops, kills and ends small crawls of a real fleet, and checks after each that no slot of a host is lost.

    python benchmarks/lost_slots_fleet.py [--rounds 100] [--seed 1] [--together 5] [--rows FILE]

Three `gossamer worker` processes crawl 60 URLs on five hosts of a local web, with 4 slots a host. At a random moment
the crawl is cancelled or stopped, or it goes on until its end. In two of five rounds a worker gets SIGKILL, and
another one starts. After the crawl, slots must equal leases within 40 s, and the next crawl of the same hosts must get
a page within 40 s. `--together` rounds, each on its own hosts, share the fleet. A run with the same `--rows` and seed
makes only the missing rounds. `lost_slots.py` makes many more rounds, with simulated workers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lost_slots import PATIENCE_S, told
from queues import HOSTS, Web

from gossamer.app.open_store import open_url
from gossamer.client.submission import submit_to_fleet
from gossamer.frontier.crawls import ENDED, forget_crawl
from gossamer.frontier.lost_slots import wrong_hosts
from gossamer.frontier.summary import summary
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.store import Store
from support.fleet_workers import Fleet, Server

HOSTS_PER_ROUND, URLS, WORKERS = 5, 12, 3


class Bench:
    """The fleet, its store, and a web."""

    def __init__(self, fleet: Fleet, store: Store, web: Web) -> None:
        self.fleet, self.store, self.web, self.started = fleet, store, web, 0
        self.replacing = threading.Lock()

    def start_worker(self) -> None:
        """Starts a worker."""
        self.started += 1
        self.fleet.worker(f"w{self.started}")

    def replace_worker(self, chance: random.Random) -> None:
        """Kills a worker, and starts another one."""
        with self.replacing:  # rounds that run together may choose the same worker
            worker = chance.choice(self.fleet.workers)
            worker.kill()
            self.fleet.workers.remove(worker)
            self.start_worker()

    async def submit(self, name: str, urls: list[str]) -> None:
        """Submits a crawl."""
        options: dict[str, Any] = {"name": name, "scope": "page", "delay": 0.05, "per_host": 4}
        options |= {"allow_private": "127.0.0.0/8", "store": self.fleet.store, "broker": self.fleet.brokers}
        await submit_to_fleet(urls, (), options, wait=False, say=lambda _: None)


async def seconds_until(true: Callable[[], Awaitable[bool]], limit: float) -> float | None:
    """Returns after how many seconds a condition is true, or None if that takes longer than `limit`."""
    began = time.monotonic()
    while not await true():
        if time.monotonic() - began > limit:
            return None
        await asyncio.sleep(0.2)
    return round(time.monotonic() - began, 1)


async def one_round(crawl_worker: Bench, seed: int, number: int, place: int) -> dict[str, Any]:
    """Makes a round on the hosts of a place. Returns its row."""
    chance, name, store = random.Random(f"{seed} {number}"), f"c{number}", crawl_worker.store
    numbers = range(place * HOSTS_PER_ROUND, (place + 1) * HOSTS_PER_ROUND)
    urls = [
        crawl_worker.web.url(host + HOSTS * (number * 100 + n)) for n in range(URLS + 1) for host in numbers
    ]
    hosts = {url.split("/")[2] for url in urls}
    end, kills = chance.choice(("cancelling", "stopping", "finish")), chance.random() < 0.4

    async def ended(crawl: str) -> bool:
        return (await summary(store, crawl)).state in ENDED

    async def agrees() -> bool:
        return not any(one.host in hosts for one in await wrong_hosts(store, correct=False))

    async def has_page() -> bool:
        return (await summary(store, f"n{number}")).pages > 0

    await crawl_worker.submit(name, urls[HOSTS_PER_ROUND:])
    await asyncio.sleep(chance.random() * 3)
    if kills:
        await asyncio.to_thread(crawl_worker.replace_worker, chance)
    if end != "finish":
        await FleetCrawls(store).turn(name, "running", end, "by the benchmark")
    ended_s = await seconds_until(lambda: ended(name), 120)
    differ = [str(one) for one in await wrong_hosts(store, correct=False) if one.host in hosts]
    agreed_s = await seconds_until(agrees, PATIENCE_S)
    await crawl_worker.submit(f"n{number}", urls[:HOSTS_PER_ROUND])
    next_s = await seconds_until(has_page, PATIENCE_S)
    await seconds_until(lambda: ended(f"n{number}"), 120)
    for one in (name, f"n{number}"):
        await forget_crawl(store, one)
    return {
        "round": number,
        "end": end,
        "killed": kills,
        "ended_s": ended_s,
        "differ": differ,
        "agreed_s": agreed_s,
        "next_s": next_s,
    }


async def run(bench_of: Fleet, web: Web, todo: list[int], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Makes rounds. Returns their rows."""
    numbers, found = iter(todo), []
    store = await open_url(bench_of.store, embedded=False)
    crawl_worker = Bench(bench_of, store, web)
    for _ in range(WORKERS):
        crawl_worker.start_worker()

    async def in_turn(place: int) -> None:
        for number in numbers:
            row = {"seed": given.seed, **await one_round(crawl_worker, given.seed, number, place)}
            found.append(row)
            if given.rows is not None:
                with given.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")

    async with asyncio.TaskGroup() as group:
        for place in range(given.together):
            group.create_task(in_turn(place))
    await store.close()
    return found


def report(rows: list[dict[str, Any]]) -> None:
    """Prints counts of all rounds."""
    ends = Counter(row["end"] + (", one worker killed" if row["killed"] else "") for row in rows)
    for what, count in (
        *sorted(ends.items()),
        ("the crawl did not end", sum(row["ended_s"] is None for row in rows)),
        (
            "slots and leases differ at once",
            sum("flight" in told(row) or "robots" in told(row) for row in rows),
        ),
        ("they differ after 40 s", sum(row["agreed_s"] is None for row in rows)),
        ("the next crawl gets no page in 40 s", sum(row["next_s"] is None for row in rows)),
    ):
        print(f"{what:40}{count:6}")
    print(f"{'longest wait for that page, s':40}{max((row['next_s'] or 0 for row in rows), default=0):6}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--together", type=int, default=5, help="at most 10")
    parser.add_argument("--rows", type=Path)
    given = parser.parse_args()
    print(time.strftime("%Y-%m-%d, ", time.gmtime()) + "python " + " ".join(sys.argv))
    rows: list[dict[str, Any]] = []
    if given.rows is not None and given.rows.exists():
        rows = [row for line in given.rows.open() if (row := json.loads(line))["seed"] == given.seed]
    todo = sorted(set(range(given.rounds)) - {row["round"] for row in rows})
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-slots-") as name,
        Server(Path(name) / "store") as store,
        Server(Path(name) / "broker") as broker,
        Fleet(Path(name), store.url(0), [broker.url(0)], "60s") as fleet,
        Web() as web,
    ):
        rows += asyncio.run(run(fleet, web, todo, given))
    report(rows)


if __name__ == "__main__":
    main()
