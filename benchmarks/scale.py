"""CPU a page of a fleet with 1, 2, 4 and 8 worker processes on one store.

    python benchmarks/scale.py [--processes 1,2,4,8] [--rounds 5] [--hosts 20] [--pages 400] [--known]

`gossamer worker --processes N` with its store, a Valkey, and its broker, another one; a crawl of the test web
(pages as those of `real2k`: 46 KB, gzip, 41 links; no delay, 8 at once a host, rows to a folder of JSON
lines) is submitted to it. Counted is the CPU time, user and system, of the worker's main process and its
children, of the store and of the broker, from just before the submit until the crawl has ended, after a small
crawl that has warmed up each process: what a start costs is told apart. Not counted are the web and the
command that submits. Rounds are interleaved; ratios are of medians; goal: 1.15 times that of one process.

A process looks for work by the clock, also when it has none. On a machine with fewer free cores than
processes a crawl takes longer, and that share of a page grows with the seconds, not with the pages. So it is
measured before each crawl, on the same processes, while a crawl of theirs has nothing that is due, and the
table has both: as it is, and without it.

What cores take from one another has nothing to do with us: so in each round as many bare loops
(`peers/bare_loop.py`: the same client and parser, no store) get the same pages of the same web, each its
share; their ratio is the floor of ours.

`--known`: CPU of the store alone for a page of 41 known links and a new one, all of them sent to it; goal:
125 us.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import redis

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fleet_workers import Fleet, Server, Worker, until
from web import preset, serve

BARE = Path(__file__).parent / "peers" / "bare_loop.py"
CLOCK = 8.0
"""Seconds for which processes with nothing to do are looked at."""
Parts = tuple[Worker, Server, Server]
"""The worker, its store, its broker."""
TICK = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """Seconds of CPU so far; of a `Run` microseconds a page."""

    worker: float
    store: float
    broker: float

    def less(self, other: Spent) -> Spent:
        """What was spent since."""
        return Spent(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


class Run(NamedTuple):
    """One crawl: microseconds a page, seconds, processes that worked, seconds of CPU of the start."""

    each: Spent
    wall: float
    pages: int
    parts: int
    start: float
    clock: float
    """Milliseconds of CPU, of all that is counted, a second of a process that has nothing to do."""

    @property
    def all(self) -> float:
        """All that is counted, in microseconds a page."""
        return sum(self.each)

    def net(self, processes: int) -> float:
        """The same without what the clock costs, had the processes nothing to do all the time: the least that
        it can be."""
        return self.all - self.clock * 1000 * processes * self.wall / self.pages


def of_process(pid: int) -> float:
    """Seconds of a process and of its children that ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK
    return 0.0


def of_server(server: Server) -> float:
    """Seconds of a Valkey."""
    with redis.Redis(port=server.port) as client:
        info: Any = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def spent(worker: Worker, store: Server, broker: Server) -> Spent:
    """CPU of all parts until now."""
    return Spent(
        sum(map(of_process, (worker.process.pid, *worker.children()))),
        of_server(store),
        of_server(broker),
    )


@contextlib.contextmanager
def warm(folder: Path, processes: int) -> Iterator[tuple[Fleet, list[str], Parts]]:
    """A fleet all of whose processes have crawled something."""
    with (
        Server(folder / "store") as store,
        Server(folder / "broker") as broker,
        Fleet(folder, store.url(0), [broker.url(0)], "60s") as fleet,
        serve(preset("tiny", hosts=16, pages=20)) as web,
    ):
        worker = fleet.worker("w", processes=processes)
        for number in range(10):
            name = fleet.submit(
                *web.plan.seeds(), name=f"warm{number}", output=f"warm{number}/", delay="0.05"
            )
            fleet.ended(name, 120)
            if len(list((folder / f"warm{number}").glob("*.jsonl"))) == processes:
                break
        yield fleet, web.plan.seeds(), (worker, store, broker)


def waiting(fleet: Fleet, parts: Parts, processes: int, seeds: list[str]) -> float:
    """Milliseconds of CPU a second and process while a crawl has nothing that is due."""
    name = fleet.submit(*seeds, name="waits", delay="300")
    time.sleep(4)
    before, began = spent(*parts), time.monotonic()
    time.sleep(CLOCK)
    used, took = sum(spent(*parts).less(before)), time.monotonic() - began
    fleet.run("cancel", name)
    fleet.ended(name)
    return used / took / processes * 1000


def run(processes: int, seeds: list[str]) -> Run:
    """One crawl by so many processes."""
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-scale-") as folder,
        warm(Path(folder), processes) as made,
    ):
        fleet, waits, parts = made
        clock = waiting(fleet, parts, processes, waits)
        before, began = spent(*parts), time.monotonic()
        name = fleet.submit(*seeds, name="main", output="main/", delay="0", per_host="8")
        with redis.Redis(port=parts[1].port) as client:
            until("it ends", lambda: client.hget(f"gossamer:crawl:{name}", "state") == b"finished", 600)
        wall, used = time.monotonic() - began, spent(*parts).less(before)
        rows = [row["url"] for row in fleet.rows("main")]
        twice = {url: n for url, n in Counter(rows).items() if n > 1}
        if twice:
            kept = shutil.copytree(folder, f"{folder}-kept", ignore=shutil.ignore_patterns("*.sock"))
            print(f"{len(twice)} rows twice; all that was written lies in {kept}", flush=True)
        each = Spent(*(part / len(set(rows)) * 1e6 for part in used))
        return Run(
            each, wall, len(set(rows)), len(list((fleet.folder / "main").iterdir())), before.worker, clock
        )


def bare(processes: int, urls: list[str]) -> float:
    """As many bare loops at once, each with its share of the URLs: microseconds of CPU a page, what a start
    costs left out."""
    with tempfile.TemporaryDirectory(prefix="gossamer-scale-") as folder:
        loops = []
        for number in range(processes):
            share, rows = Path(folder) / f"{number}.txt", Path(folder) / f"{number}.jsonl"
            share.write_text("\n".join(urls[number::processes]))
            loops.append(subprocess.Popen([sys.executable, BARE, share, rows], stdout=subprocess.PIPE))
        return sum(float(loop.communicate()[0]) for loop in loops) / len(urls) * 1e6


async def known(pages: int) -> float:
    """CPU of the store in microseconds for a page of 41 known links and a new one."""
    from gossamer import url as urls
    from gossamer.frontier.frontier_client import Frontier, Policy
    from gossamer.model.request import Request, pack
    from gossamer.model.verdict import ClaimEnd
    from gossamer.model.visit import Adds, Settle
    from gossamer.store.store import connect

    def adds(paths: list[int]) -> Adds:
        found: Adds = {}
        for path in paths:
            url = f"http://site{path % 50}.example/catalogue/section/page-{path}.html"
            host, entry = pack(Request(url, 1))
            flat = found.setdefault((0, host, 0, "http", "o", ""), [])
            flat += [*frontier.remainder(urls.fingerprint(url, store.seed)), entry]
        return found

    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "s") as server:
        store = connect(server.url(0))
        await store.open(1, "test")
        frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False, per_host=64))
        for first in range(0, 20_000, 500):
            await frontier.add(adds(list(range(first, first + 500))))
        used, done, fresh = of_server(server), 0, 1_000_000
        while done < pages:
            claims = (await frontier.claim(0, 64)).claims
            links = [(done * 41 + j * 37) % 20_000 for j in range(41 * len(claims))]
            links += range(fresh, fresh + len(claims))
            fresh += len(claims)
            counts = {"pages": len(claims)}
            await frontier.settle(
                0, [Settle(one.token, ClaimEnd.DONE) for one in claims], counts, adds(links)
            )
            done += len(claims)
        each = (of_server(server) - used) / done * 1e6
        await store.close()
    return each


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", default="1,2,4,8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--known", action="store_true")
    options = parser.parse_args()
    if options.known:
        print([f"{asyncio.run(known(4_000)):.1f} us" for _ in range(options.rounds)])
        return
    counts = [int(one) for one in options.processes.split(",")]
    runs: dict[int, list[Run]] = {count: [] for count in counts}
    floors: dict[int, list[float]] = {count: [] for count in counts}
    with serve(preset("real2k", hosts=options.hosts, pages=options.pages, robots=("allow",))) as web:
        urls = sorted(web.plan.must_fetch())
        for number in range(options.rounds):
            for count in counts if number % 2 == 0 else reversed(counts):
                runs[count].append(one := run(count, web.plan.seeds()))
                floors[count].append(bare(count, urls))
                print(
                    f"{number} {count}: {one.all:.0f} us a page, bare {floors[count][-1]:.0f}; {one}",
                    flush=True,
                )
    first = statistics.median(one.all for one in runs[counts[0]])
    floor = statistics.median(floors[counts[0]])
    least = statistics.median(one.net(counts[0]) for one in runs[counts[0]])
    print(
        "processes  worker  store  broker  together  ratio  lowest to highest  without the clock  ratio  clock  pages/s  bare  ratio"
    )
    for count, found in runs.items():
        worker, store, broker = (
            statistics.median(part) for part in zip(*(one.each for one in found), strict=True)
        )
        all_, clock = (
            statistics.median(one.all for one in found),
            statistics.median(one.clock for one in found),
        )
        speed = statistics.median(one.pages / one.wall for one in found)
        each = sorted(one.all for one in found)
        own = statistics.median(floors[count])
        net = statistics.median(one.net(count) for one in found)
        print(
            f"{count:9} {worker:7.0f} {store:6.0f} {broker:7.1f} {all_:9.0f} {all_ / first:6.2f}"
            f"  {each[0]:8.0f} to {each[-1]:.0f} {net:10.0f} {net / least:8.2f} {clock:6.1f} ms/s {speed:6.0f}"
            f" {own:6.0f} {own / floor:5.2f}"
        )


if __name__ == "__main__":
    main()
