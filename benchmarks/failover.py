"""How long a crawl stands still when a store's master dies: from its `kill -9` to the first page asked for
with its successor's leave.

    python benchmarks/failover.py [--rounds 3] [--hosts 40] [--pages 60]

Two workers crawl the test web with a delay of 0.25 s a host; after 400 requests the master is killed. Counted
are the hosts whose bucket it had, from half a second after the kill (requests under way are then over). Each
line says how it ended, too.
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
    """Seconds that its hosts stood still, and what became of the crawl."""
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
