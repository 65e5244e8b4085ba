"""Measures the CPU time per page of a fleet with 1, 2, 4 and 8 worker processes on one store.

    python benchmarks/scale.py [--processes 1,2,4,8] [--rounds 5] [--hosts 20] [--pages 400] [--known]

The fleet is `gossamer worker --processes N` with a Valkey as its store and another Valkey as its broker. The
crawl is submitted to the fleet. The pages of the crawl are like those of `real2k`: 46 KB, gzip and 41 links.
The delay is 0, each host allows 8 requests at once, and the rows are written to a folder of JSON lines. The
CPU time (user and system) is that of the worker's main process and its children, of the store and of the
broker, from just before the submission until the end of the crawl. A small crawl has warmed up each process
before, so the cost of a start is reported separately. The web and the command that submits are not counted.
The rounds are interleaved, and the ratios are those of medians. The goal is 1.15 times the CPU time of one
process.

A process checks for work at regular intervals, even if there is none. On a machine with fewer free cores than
processes, a crawl takes longer. The cost of these checks per page then grows with the duration, although the
number of pages is the same. Therefore the benchmark measures this cost before each crawl, on the same
processes, during a crawl without due URLs. The table shows the CPU time with and without this cost.

Cores also slow each other down without any influence of gossamer. Therefore each round also runs as many bare
loops (`peers/bare_loop.py`: the same client and parser, no store). The bare loops fetch the same pages of the
same web, and each loop gets its share. The ratio of the bare loops is the floor.

`--known` measures the CPU time of the store alone for a page of 41 known links and a new one, all of which
are sent to the store. The goal is 125 us.
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
"""The number of seconds for which idle processes are measured."""
Parts = tuple[Worker, Server, Server]
"""The worker, its store and its broker."""
TICK = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """CPU seconds so far. In a `Run`, these are CPU microseconds per page."""

    worker: float
    store: float
    broker: float

    def less(self, other: Spent) -> Spent:
        """Returns the difference from an earlier measurement."""
        return Spent(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


class Run(NamedTuple):
    """A crawl: microseconds per page, seconds, number of working processes, and CPU seconds of the start."""

    each: Spent
    wall: float
    pages: int
    parts: int
    start: float
    clock: float
    """The CPU milliseconds per second of an idle process, including its share of the store and the broker."""

    @property
    def all(self) -> float:
        """Returns the CPU microseconds per page of all parts together."""
        return sum(self.each)

    def net(self, processes: int) -> float:
        """Returns a lower bound of the CPU microseconds per page without idle cost.

        The bound assumes that the processes check for work as often as idle processes for the whole crawl.
        """
        return self.all - self.clock * 1000 * processes * self.wall / self.pages


def of_process(pid: int) -> float:
    """Returns the CPU seconds of a process and of its ended children."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK
    return 0.0


def of_server(server: Server) -> float:
    """Returns the CPU seconds of a Valkey."""
    with redis.Redis(port=server.port) as client:
        info: Any = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def spent(worker: Worker, store: Server, broker: Server) -> Spent:
    """Returns the CPU seconds of all parts so far."""
    return Spent(
        sum(map(of_process, (worker.process.pid, *worker.children()))),
        of_server(store),
        of_server(broker),
    )


@contextlib.contextmanager
def warm(folder: Path, processes: int) -> Iterator[tuple[Fleet, list[str], Parts]]:
    """Yields a fleet in which each process has already crawled something."""
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
    """Returns the CPU milliseconds per second and process during a crawl without due URLs."""
    name = fleet.submit(*seeds, name="waits", delay="300")
    time.sleep(4)
    before, began = spent(*parts), time.monotonic()
    time.sleep(CLOCK)
    used, took = sum(spent(*parts).less(before)), time.monotonic() - began
    fleet.run("cancel", name)
    fleet.ended(name)
    return used / took / processes * 1000


def run(processes: int, seeds: list[str]) -> Run:
    """Runs one crawl with `processes` processes."""
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
    """Returns the CPU microseconds per page of `processes` bare loops without their starts.

    The loops run at the same time. Each gets its share of the URLs.
    """
    with tempfile.TemporaryDirectory(prefix="gossamer-scale-") as folder:
        loops = []
        for number in range(processes):
            share, rows = Path(folder) / f"{number}.txt", Path(folder) / f"{number}.jsonl"
            share.write_text("\n".join(urls[number::processes]))
            loops.append(subprocess.Popen([sys.executable, BARE, share, rows], stdout=subprocess.PIPE))
        return sum(float(loop.communicate()[0]) for loop in loops) / len(urls) * 1e6


async def known(pages: int) -> float:
    """Returns the CPU microseconds of the store for a page of 41 known links and a new one."""
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
    """Measures and prints a table."""
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
