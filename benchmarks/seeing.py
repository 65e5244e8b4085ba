# ruff: noqa: E402 - the path of the tests is set first
"""Measures the cost of a scrape of a large fleet, and of a log line that is not written.

    python benchmarks/seeing.py

The store has 50 domains, 8 lanes, 200 workers and 10 running crawls on 64 buckets. The CPU time of the
exporter and the server together shows the cost of a scrape even on a machine with other load.
`instructions.py` measures the cost of counting and shipping a page.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.response_times import BOUNDS_S
from gossamer.model.verdict import ERRORS
from gossamer.model.visit import Commit
from gossamer.observability import logs
from gossamer.observability.metrics import text_of
from gossamer.observability.snapshot import Observer
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store.store import connect
from support.fleet_workers import Server

ROUNDS = 30


async def fill(store: object) -> None:
    """Writes ten crawls, 200 workers, 8 lanes and 50 domains into the store, over all buckets."""
    frontier = None
    for n in range(10):
        await Crawls(store).begin(f"crawl-{n}", Spec([f"http://h{n}.example/"]), [])  # type: ignore[arg-type]
    for bucket in range(64):
        totals: dict[str, int] = {}
        for collector in ("http", "impersonated", "browser", "zyte", "archive"):
            totals |= {f"requests|{collector}|{word}": 5 for word in ("ok", *ERRORS[bucket % 4 :: 4])}
            totals |= {f"le|{collector}|{j}": 5 for j in range(len(BOUNDS_S) + 1)}
            totals |= {f"{what}|{collector}": 5 for what in ("seconds", "wire", "decoded")}
        totals |= {
            f"domain|d{n}.example|{result}": 5 for n in range(50) for result in ("ok", "blocked", "error")
        }
        totals |= {f"lane|lane{n}|eu": 5 for n in range(8)} | {f"retried|{word}": 1 for word in ERRORS}
        counts = {"pages": 5, "found": 9, "open": 4, "items": 5} | {f"err:{word}": 1 for word in ERRORS}
        counts |= {"q|shop|p": 5, "q|shop|i|book": 5} | {f"q|shop|f|book|field{n}": 5 for n in range(20)}
        frontier = Frontier(store, f"crawl-{bucket % 10}", Policy())  # type: ignore[arg-type]
        await frontier.settle_all([Commit(bucket, [], counts, {}, totals=totals)])
    for n in range(200):
        one = WorkerRecord(
            name=f"worker-{n}@machine-{n}",
            host="",
            pid=1,
            lanes=[f"lane{n % 8}"],
            processes=4,
            version="1",
            region="eu",
        )
        await WorkerRecords(store).beat(one)  # type: ignore[arg-type]


async def server_cpu(store: object) -> float:
    """Returns the CPU seconds that the server has used."""
    (server,) = await store.client.servers.all()  # type: ignore[attr-defined]
    info = await server.client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def scrape(url: str) -> None:
    """Prints the time and the size of a scrape."""
    store = connect(url, patience=0.0, embedded=False)
    await store.open(64, "psl")
    await fill(store)
    observer, looks, pages = Observer(store), [], []
    await observer.look()
    cpu = time.process_time() + await server_cpu(store)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = await observer.look()
        looked = time.perf_counter()
        page = text_of(found)
        pages.append(time.perf_counter() - looked)
        looks.append(looked - began)
    cpu = (time.process_time() + await server_cpu(store) - cpu) / ROUNDS
    series = sum(not line.startswith("#") for line in page.splitlines())
    print(f"series {series} (at most 2,500), page {len(page) / 1000:.0f} KB (at most 300)")
    print(
        f"a scrape {1000 * (statistics.median(looks) + statistics.median(pages)):.1f} ms (at most 20): "
        f"reading the store {1000 * statistics.median(looks):.1f}, making the page {1000 * statistics.median(pages):.1f}; "
        f"CPU of exporter and store {1000 * cpu:.1f} ms"
    )
    await store.close()


def log_line() -> None:
    """Prints the cost of a log line that is not written, beside an f-string and `logging`."""
    logs.start_logs("json", "warning")
    logger, n = logging.getLogger("benchmark"), 200_000
    logger.setLevel(logging.WARNING)

    def timed(call: object) -> float:
        began = time.perf_counter()
        for _ in range(n):
            call()  # type: ignore[operator]
        return (time.perf_counter() - began) / n * 1e6

    own = timed(lambda: logs.log_event("page_fetched", crawl="c", host="a.example", url="http://a.example/"))
    std = timed(lambda: logger.info("page %s", "http://a.example/"))
    print(f"a line that is not written: {own:.2f} us (at most 3); logging's own {std:.2f} us")


def main() -> None:
    """Runs both measurements."""
    with TemporaryDirectory() as folder, Server(Path(folder) / "server") as server:
        asyncio.run(scrape(server.url(0)))
    log_line()


if __name__ == "__main__":
    main()
