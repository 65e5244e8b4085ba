"""Checks that every output has exactly the right rows after kills of the worker and of the store of rows.

    python benchmarks/stores.py [--only postgresql,kafka] [--hosts 20] [--pages 1000] [--kills 10] [--seed 1]

One crawl of 20,000 items gets ten `kill -9` of the worker and ten of the store. The servers are those of
tests/sinks/databases. Each server has its own disk and is restarted after each kill. After a kill of the
worker, the command is started again without any other action. If the output is a file, the crawl's own store
is killed instead, and parts have only 200 KB, so many parts are closed. The benchmark prints one line per
output: server and version, expected rows, rows in the output, number of keys, and missing or foreign keys.
The exit code is 1 if anything is wrong.
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
    """Runs all stores one after another."""
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
