"""Measures how long a crawl pauses when a store's master is killed.

    python benchmarks/failover.py [--rounds 3] [--hosts 40] [--pages 60]

The time runs from `kill -9` of the master to the first request for one of its hosts that its successor
allows. Two workers crawl the test web with a delay of 0.25 s per host. The master is killed after 400
requests. Only hosts whose bucket was on that master count, and only requests that start at least half a
second after the kill, when all earlier requests have ended. Each line also contains the number of lost pages
and of gaps that are too short.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.runs import job
from gossamer.store.keys import bucket_of, tag
from support.cluster import cluster
from support.fleet_in_process import Workers, at
from support.sentinel import watched
from web import preset, serve
from web.judge import delays, violations

DELAY = 0.25


@contextlib.contextmanager
def sentinel(milliseconds: int) -> Iterator[tuple[str, Callable[[], None], Callable[[str], bool]]]:
    with watched(down_after=milliseconds) as service:
        yield service.url, service.servers[0].kill, lambda host: True


@contextlib.contextmanager
def of_cluster(milliseconds: int) -> Iterator[tuple[str, Callable[[], None], Callable[[str], bool]]]:
    with cluster(replicas=1, node_timeout=milliseconds) as many:
        victim = many.nodes[0]
        yield many.url, victim.kill, lambda host: many.master_of(tag(bucket_of(host, 1024))) is victim


KINDS = {
    "Sentinel, down after 2 s": (sentinel, 2000),
    "Sentinel, down after 5 s": (sentinel, 5000),
    "Cluster, node timeout 2 s": (of_cluster, 2000),
    "Cluster, node timeout 5 s": (of_cluster, 5000),
}


async def once(kind: str, options: argparse.Namespace) -> tuple[float, str]:
    """Returns the length of the pause in seconds, and a text with the faults of the crawl."""
    make, milliseconds = KINDS[kind]
    plan = preset("tiny", hosts=options.hosts, pages=options.pages)
    with (
        serve(plan) as web,
        make(milliseconds) as (url, kill, touched),
        tempfile.TemporaryDirectory(prefix="gt-") as folder,
    ):
        killed = 0

        def strike() -> None:
            nonlocal killed
            killed = time.monotonic_ns()
            kill()

        workers = Workers(job(web.plan.seeds(), Path(folder), delay=(DELAY, DELAY)), url, 2)
        striking = asyncio.create_task(at(web, 400, strike))
        summary = await workers.run()
        await striking
        log = web.log()
    after = min(hit.seen for hit in log if hit.seen > killed + 5e8 and touched(hit.host))
    lost, gaps = options.hosts * options.pages - summary.pages, len(violations(log, delays(plan, DELAY)))
    return (after - killed) / 1e9, f"{lost} pages lost, {gaps} gaps too short"


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("rounds", 3), ("hosts", 40), ("pages", 60)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    for kind in KINDS:
        found = [await once(kind, options) for _ in range(options.rounds)]
        times = [seconds for seconds, _ in found]
        ends = ", ".join(sorted({end for _, end in found}))
        print(
            f"{kind}: first page after {statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f}); {ends}",
            flush=True,
        )


if __name__ == "__main__":
    asyncio.run(main())
