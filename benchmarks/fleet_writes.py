"""Measures the rows per second that eight worker processes write into PostgreSQL and into MongoDB's protocol.

    python benchmarks/fleet_writes.py [--processes 8] [--hosts 40] [--pages 1000] [--only postgresql,mongodb]

The fleet is that of scale.py: `gossamer worker --processes 8` with a Valkey as its store and another Valkey as
its broker. It crawls small pages (4 KB, 10 links, one row per page) without delay, first into a folder of JSON
lines (the floor), then into each database. The databases are those of the tests: PostgreSQL with its defaults,
and FerretDB for MongoDB's protocol. The web, the databases and the fleet share the cores of one machine. For
each output, the benchmark prints the rows, the rows per second, the ratio to the floor, and how many rows are
missing, foreign or double. The exit code is 1 if any row is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from scale import warm

from sinks.databases.database_servers import running
from web import preset, serve


def crawled(processes: int, seeds: list[str], place: str) -> tuple[float, list[str], str]:
    """Crawls into a database, or into a folder if `place` is `jsonl`.

    Returns the seconds, the URLs of all rows, and the version of the database.
    """
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-writes-") as folder,
        warm(Path(folder), processes) as (fleet, _, _),
    ):

        def crawl(output: str) -> float:
            began = time.monotonic()
            fleet.ended(fleet.submit(*seeds, name="main", output=output, delay="0", per_host="8"), 1800)
            return time.monotonic() - began

        if place == "jsonl":
            return crawl("main/"), [row["url"] for row in fleet.rows("main")], "-"
        with running(place) as server:
            return crawl(server.spec), [row["url"] for row in server.found("page")], server.version()


def main() -> int:
    """Prints a table, one line per output."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--only", default="postgresql,mongodb")
    options = parser.parse_args()
    plan = preset(
        "real2k", hosts=options.hosts, pages=options.pages, robots=("allow",), size=4000, links=10, hrefs=12
    )
    wrong, floor = 0, 0.0
    print(
        f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, {options.processes} processes\n\n"
        "| output | version | rows | seconds | rows/s | of JSON lines | missing | foreign | double |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        flush=True,
    )
    with serve(plan) as web:
        wanted = web.plan.must_fetch()
        for place in ("jsonl", *options.only.split(",")):
            seconds, rows, version = crawled(options.processes, web.plan.seeds(), place)
            faults = (len(wanted - set(rows)), len(set(rows) - wanted), len(rows) - len(set(rows)))
            wrong += sum(faults)
            pace = len(rows) / seconds
            floor = floor or pace
            cells = (
                place,
                version,
                len(rows),
                f"{seconds:.0f}",
                f"{pace:.0f}",
                f"{pace / floor:.2f}",
                *faults,
            )
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
