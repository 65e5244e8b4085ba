"""Exactly the right rows in every output: ten `kill -9` of the worker and ten of the store itself within one
crawl of 20,000 items.

    python benchmarks/stores.py [--only postgresql,kafka] [--hosts 20] [--pages 1000] [--kills 10] [--seed 1]

The servers are those of tests/sinks/databases, each with its own disk, begun again after each kill; the command is
begun again after each kill of the worker, and nothing else is done. Of files the store is the crawl's own,
and their parts are small (200 KB), so that many are closed. A line for each output: server and version, rows
expected, rows found in it, their keys, keys missing or foreign. Exit 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sinks.databases.database_servers import PLACES, running
from sinks.databases.file_outputs import FILES
from sinks.databases.kill_crawl import crawled

EVERY = PLACES | FILES


def main() -> None:
    """All stores, one after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(EVERY))
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=1000, help="of each host; each is an item")
    parser.add_argument("--kills", type=int, default=10, help="of the worker, and as many of the store")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}\n"
    )
    print(
        "| store | version | kills of worker, store | rows expected | found | keys | wrong keys | seconds |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    right = True
    for name in options.only.split(","):
        with running(name, EVERY) as place, tempfile.TemporaryDirectory(prefix="gt-") as folder:
            version = place.version()
            told = crawled(
                place, Path(folder), options.hosts, options.pages, options.kills, random.Random(options.seed)
            )
        right &= told.expected == told.found == told.different and not told.wrong
        print(
            f"| {place.name} | {version} | {told.workers}, {told.stores} | {told.expected} | {told.found} | {told.different} "
            f"| {told.wrong} | {told.seconds:.0f} |",
            flush=True,
        )
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
