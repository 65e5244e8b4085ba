"""Measures the order between hosts: how soon urgent pages are fetched, and the cost of the order for the
store.

    python benchmarks/order.py [--rounds 3] [--against REVISION] [--only urgent|cost]

`urgent` crawls 200 urgent and 200 ordinary URLs on 80 hosts. Each host has 5 URLs of one kind. Responses take
50 ms, 4 visits run at once, and requests to a host start at least 0.2 s apart. The urgent hosts alone could
therefore use all visits. The pages are counted at the web server. The table shows how many of the first 200
pages are urgent, and after which page 190 urgent pages were fetched. The stores are the embedded store, a
server with 64 buckets and a Cluster of three servers. The two revisions take turns. If each sixteenth page
is an ordinary one, 188 of the first 200 pages are urgent. The number can be higher, because each sixteenth page
belongs to the host that has been due longest, and that host may be an urgent one.

The last crawl has 40 hosts with 10 URLs each and no delay: urgent and ordinary URLs alternate on 20 hosts, 10 hosts
have only urgent ones, and 10 only ordinary ones.

`cost` counts the store's instructions (valgrind, cachegrind) per URL that is claimed and settled, in batches
of 64, and per poll of 64 buckets, four of which have hosts. One crawl has only one level of priority, and
another crawl has urgent URLs at every fourth host. The result is the difference between a run with twice the
work and a run with the single work, so the start of the server and the added URLs do not count. The goal is
that a page of a crawl of one level costs at most 1.01 times as much as in the other revision.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
_COUNTED = re.compile(r"I +refs: +([\d,]+)")
HOSTS, PAGES = 300, 1200
"""The number of hosts in the workload of `cost`, and the number of its pages per part."""


@contextmanager
def source_of(revision: str) -> Iterator[Path]:
    """Yields the `src` folder of a git revision."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder) / "src"


async def workload(url: str, levels: int, parts: int, polls: int) -> None:
    """Adds URLs, claims and settles PAGES of the URLs per part, and polls 64 buckets."""
    from gossamer.frontier.frontier_client import Frontier, Policy
    from gossamer.model.request import make_entry
    from gossamer.model.verdict import ClaimEnd
    from gossamer.model.visit import Adds, Settle
    from gossamer.store.store import connect

    store = connect(url)
    await store.open(64, "benchmark")
    frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False))
    adds: Adds = {}
    rng = random.Random(1)
    for n in range(HOSTS):
        level = 5 if levels > 1 and n // 4 % 4 == 0 else 0
        group = (n % 4, f"h{n}.example", level, "http", "o", "")
        flat: list[Any] = []
        for page in range(20):
            flat += (*frontier.remainder(rng.getrandbits(64)), make_entry("https", f"/{page}", 2, ""))
        adds[group] = flat
    await frontier.add(adds)
    done = bucket = 0
    while done < parts * PAGES:
        bucket = (bucket + 1) % 4
        got = await frontier.claim(bucket, 64)
        settles = [Settle(c.token, ClaimEnd.DONE, since=5) for c in got.claims]
        await frontier.settle(bucket, settles, {"pages": len(settles)}, {})
        done += len(settles)
    for _ in range(polls):
        await frontier.all_buckets.due()
    await store.close()


def instructions(source: Path, levels: int, parts: int, polls: int = 0) -> int:
    """Returns a server's instructions for that workload, run by the package in `source`."""
    from conftest import valkey_binary, wait_for

    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path, log = f"{folder}/v.sock", f"{folder}/valgrind.log"
        valgrind = [
            *("valgrind", "--tool=cachegrind", "--cache-sim=no"),
            *("--cachegrind-out-file=/dev/null", f"--log-file={log}"),
        ]
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"]
        words += ["--io-threads", "1", "--hz", "1", "--dynamic-hz", "no"]
        server = subprocess.Popen([*valgrind, valkey_binary(), *words], stdout=subprocess.DEVNULL)
        try:
            wait_for(path, server)
            call = [sys.executable, __file__, "--work", f"unix://{path}", str(levels), str(parts), str(polls)]
            subprocess.run(call, env={**os.environ, "PYTHONPATH": str(source)}, check=True)
        finally:
            server.terminate()
            server.wait()
        found = _COUNTED.search(Path(log).read_text())
        assert found is not None
        return int(found[1].replace(",", ""))


def cost(against: str, rounds: int) -> None:
    """Prints instructions per page and per poll of both revisions."""
    with source_of(against) as old:
        table: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
        for _ in range(rounds):
            for name, source in ((against, old), ("here", ROOT / "src")):
                for levels in (1, 2):
                    once = instructions(source, levels, 1)
                    pages = (instructions(source, levels, 2) - once) / PAGES
                    polls = (instructions(source, levels, 1, 200) - once) / 200
                    each = table.setdefault((name, levels), ([], []))
                    each[0].append(pages)
                    each[1].append(polls)
    for levels in (1, 2):
        for part, what in enumerate(("a page claimed and settled", "a poll of 64 buckets, 4 with hosts")):
            before, after = (statistics.median(table[name, levels][part]) for name in (against, "here"))
            print(
                f"{levels} level{'s' * (levels > 1)}, {what}: {before:,.0f} and {after:,.0f} instructions of "
                f"the store, {after / before:.3f} times",
                flush=True,
            )


def crawled(source: Path, where: str, hosts: int) -> tuple[int, int]:
    """Runs the crawl of the test on `hosts` hosts with the package in `source`.

    Returns the number of urgent pages among the first 200, and the number of the page that completes 190
    urgent pages.
    """
    from e2e.test_order_between_hosts import PLAN
    from support.cluster import cluster
    from support.fleet_workers import Server
    from web import serve

    with ExitStack() as stack:
        web = stack.enter_context(serve(PLAN))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = ""
        if where == "64 buckets":
            store = stack.enter_context(Server(folder / "server")).url(0)
        elif where == "Cluster":
            store = stack.enter_context(cluster()).url
        call = [
            sys.executable,
            __file__,
            "--crawl",
            web.plan.to_json(),
            web.control,
            str(folder),
            store,
            str(hosts),
        ]
        done = subprocess.run(
            call, env={**os.environ, "PYTHONPATH": str(source)}, check=True, capture_output=True, text=True
        )
        kinds = json.loads(done.stdout.splitlines()[-1])
    return sum(kinds[:200]), [n for n, urgent in enumerate(kinds, 1) if urgent][189]


def one_crawl(plan: str, control: str, folder: str, store: str, hosts: int) -> None:
    """Runs the crawl in a subprocess. Prints for each page whether it was urgent."""
    from e2e.test_order_between_hosts import DELAY, MIXED, run
    from web import Web
    from web.plan import load

    delay = 0.0 if hosts == MIXED else DELAY
    print(
        json.dumps(run(Web(load(plan), control, 0), Path(folder), store or None, hosts, delay=(delay, delay)))
    )


def urgent(against: str, rounds: int) -> None:
    """Prints how soon the urgent pages were fetched, for both revisions."""
    from e2e.test_order_between_hosts import HOSTS, MIXED

    with source_of(against) as old:
        for where, hosts in (
            ("embedded", HOSTS),
            ("64 buckets", HOSTS),
            ("Cluster", HOSTS),
            ("embedded", MIXED),
        ):
            found: dict[str, list[tuple[int, int]]] = {against: [], "here": []}
            for _ in range(rounds):
                for name, source in ((against, old), ("here", ROOT / "src")):
                    found[name].append(crawled(source, where, hosts))
            for name, each in found.items():
                first, last = ([one[part] for one in each] for part in (0, 1))
                print(
                    f"{where}, {hosts} hosts, {name}: urgent of the first 200 pages {', '.join(map(str, first))}; "
                    f"190 urgent ones were done with page {', '.join(map(str, last))}",
                    flush=True,
                )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", default="HEAD")
    parser.add_argument("--only", default="")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--crawl", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        url, *numbers = options.work
        asyncio.run(workload(url, *map(int, numbers)))
        return
    if options.crawl:
        plan, control, folder, store, hosts = options.crawl
        one_crawl(plan, control, folder, store, int(hosts))
        return
    print(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC")
    if options.only in ("", "urgent"):
        urgent(options.against, options.rounds)
    if options.only in ("", "cost"):
        cost(options.against, options.rounds)


if __name__ == "__main__":
    main()
