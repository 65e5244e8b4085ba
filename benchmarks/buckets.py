"""Measures the cost of many buckets as CPU time of the worker and the store per page.

    python benchmarks/buckets.py [--rounds 3] [--hosts 50] [--pages 40] [--idle 20] [--output out.jsonl]

The stores have 1, 64 and 1,024 buckets on one server, and 1,024 buckets on a Cluster. One worker crawls the
same web with each store in turn. The pages are like those of `real2k`, the delay is 0, and each host allows 4
requests at once. The worker's CPU time is that of its process from its first claim to its end. The store's
CPU time is the sum over its servers (INFO cpu). The table shows the medians of the interleaved rounds. The
goal is 1.15 times the CPU time with 1 bucket. With `--idle`, each worker of the first round then runs for
that many seconds without work.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.runs import job
from gossamer import url as urls
from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.runner import begin, end
from gossamer.app.seeding import prepare, seed
from gossamer.store.store import FOR_EVER, Store, connect
from gossamer.store.store_check import wait_until_ready
from support.cluster import cluster
from support.processes import Process
from web import preset, serve

KINDS = {"1": 1, "64": 64, "1024": 1024, "1024 on a Cluster": 1024}


async def cpu_of(store: Store) -> float:
    """Returns the CPU seconds that the servers have used."""
    infos = [await server.client.info("cpu") for server in await store.client.servers.all()]
    return sum(float(info["used_cpu_user"]) + float(info["used_cpu_sys"]) for info in infos)


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def work(
    url: str, buckets: int, seeds: list[str], folder: Path, output: str, idle: float
) -> dict[str, float]:
    """Runs one crawl. Returns the CPU time of this process and of the store, and the number of pages."""
    store = connect(url, patience=FOR_EVER)
    await wait_until_ready(store, 5)
    await store.open(buckets, urls.psl_hash())
    setup, given = prepare(job(seeds, folder, per_host=4, output=output))
    record, _ = await begin(setup, store, setup.job)
    await seed(setup, store, given, record)
    stop = asyncio.Event()
    crawl_worker = CrawlWorker(setup, store, "w", stop)
    before, store_before = own_cpu(), await cpu_of(store)
    outcome = await crawl_worker.run()
    spent, store_spent = own_cpu() - before, await cpu_of(store) - store_before
    await crawl_worker.close()
    pages = (await end(setup, store, outcome)).pages
    found = {"worker": spent / pages * 1e6, "store": store_spent / pages * 1e6, "pages": pages}
    if idle:
        frontier = crawl_worker.frontier
        await frontier.store.client.zadd("{b:000}c:r:http", {"later.example": 4e12})
        crawl_worker = CrawlWorker(setup, store, "w", stop)
        before, store_before = own_cpu(), await cpu_of(store)
        asyncio.get_running_loop().call_later(idle, stop.set)
        await crawl_worker.run()
        found["idle worker"] = (own_cpu() - before) / idle * 1e3
        found["idle store"] = (await cpu_of(store) - store_before) / idle * 1e3
        await crawl_worker.close()
    await store.close()
    return found


@contextlib.contextmanager
def store_of(kind: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        if "Cluster" in kind:
            with cluster() as many:
                yield many.url
        else:
            server = Process(Path(folder), "--save", "", "--appendonly", "yes").ready()
            try:
                yield f"redis://127.0.0.1:{server.port}"
            finally:
                server.kill()


def once(kind: str, seeds: list[str], output: str, idle: float) -> dict[str, float]:
    with store_of(kind) as url, tempfile.TemporaryDirectory(prefix="gt-") as folder:
        words = [sys.executable, __file__, "--work", url, str(KINDS[kind]), folder, output, str(idle), *seeds]
        found: dict[str, float] = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
        return found


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        import uvloop

        url, buckets, folder, output, idle, *seeds = sys.argv[2:]
        print(json.dumps(uvloop.run(work(url, int(buckets), seeds, Path(folder), output, float(idle)))))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("rounds", 3), ("hosts", 50), ("pages", 40), ("idle", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--output", default="out.jsonl")
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with serve(preset("real2k", hosts=options.hosts, pages=options.pages)) as web:
        for n in range(options.rounds):
            for kind in KINDS:
                found[kind].append(once(kind, web.plan.seeds(), options.output, options.idle if not n else 0))
    base = 0.0
    for kind, rounds in found.items():
        worker, store = (statistics.median(one[name] for one in rounds) for name in ("worker", "store"))
        base = base or worker + store
        idle = "".join(
            f", {name} {rounds[0][name]:.2f} ms a second"
            for name in ("idle worker", "idle store")
            if name in rounds[0]
        )
        print(
            f"{kind:>18} buckets: worker {worker:5.0f} us a page, store {store:4.0f} us, together {(worker + store) / base:.2f}{idle}"
        )


if __name__ == "__main__":
    main()
