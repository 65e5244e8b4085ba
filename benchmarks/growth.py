"""Checks that CPU time per page and memory do not grow during one long crawl of the test web (Linux).

    python benchmarks/growth.py [--pages 200000] [--slice 10000] [--size 12000]

The crawl has one process, the embedded store, 64 requests at once and no delay. The crawl obeys robots.txt
and writes page records. Each page has 41 different links, 2 of which are new, so the crawl finds new URLs
until about halfway. For each slice, the table shows the CPU time of the crawler and the store per page, as
counted by the kernel, and the resident memory of both at the end of the slice. The goals are that the last
slices cost no more than the second one, and that the crawler uses less than 150 MiB. The memory of the store
grows with the number of known URLs. The exit code is 1 if pages are missing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
LONGEST = 1200


class Sample(NamedTuple):
    """A sample: rows written, CPU seconds and resident MiB of crawler and store, and seconds since the start."""

    rows: int
    crawler: float
    store: float
    rss: float
    store_rss: float
    at: float


def used(pid: int) -> tuple[float, float]:
    """Returns the CPU seconds and the resident MiB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / TICK, resident * PAGE / 2**20


class Rows:
    """Counts the lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self.path, self.at, self.count = path, 0, 0

    def now(self) -> int:
        """Returns the number of lines so far."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.at)
                while part := file.read(1 << 20):
                    self.at += len(part)
                    self.count += part.count(b"\n")
        return self.count


def watch(process: subprocess.Popen[bytes], folder: Path) -> list[Sample]:
    """Takes ten samples per second until the process ends."""
    samples, rows, began, store = [Sample(0, 0, 0, 0, 0, 0)], Rows(folder / "out.jsonl"), time.monotonic(), 0
    while process.poll() is None and time.monotonic() - began < LONGEST:
        try:
            store = store or int(json.loads((folder / "data" / "store" / "run.json").read_text())["pid"])
            count = rows.now()
            (crawler, rss), (server, server_rss) = used(process.pid), used(store)
            samples.append(Sample(count, crawler, server, rss, server_rss, time.monotonic() - began))
        except (OSError, ValueError, KeyError, IndexError):
            pass  # the store has not started yet, or has ended
        time.sleep(0.1)
    if process.poll() is None:
        process.kill()
    return samples


def slices(samples: list[Sample], width: int) -> list[tuple[Sample, Sample]]:
    """Returns the samples nearest to the start and the end of each slice."""
    marks = [
        next((s for s in samples if s.rows >= n), None) for n in range(0, samples[-1].rows + width, width)
    ]
    found = [mark for mark in marks if mark is not None]
    if samples[-1].rows - found[-1].rows > width / 2:
        found.append(samples[-1])
    return [(a, b) for a, b in itertools.pairwise(found) if b.rows > a.rows]


def report(samples: list[Sample], width: int) -> None:
    """Prints the table, and whether the goals are met."""
    print("| pages | us CPU a page | crawler | store | pages/s | crawler MiB | store MiB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    costs = []
    for a, b in slices(samples, width):
        n = b.rows - a.rows
        crawler, store = (b.crawler - a.crawler) / n * 1e6, (b.store - a.store) / n * 1e6
        costs.append(crawler + store)
        print(
            f"| {b.rows:,} | {crawler + store:.0f} | {crawler:.0f} | {store:.0f} | {n / (b.at - a.at):,.0f} "
            f"| {b.rss:.0f} | {b.store_rss:.0f} |"
        )
    early, late = statistics.median(costs[1:4]), statistics.median(costs[-3:])
    first = next((s.rss for s in samples if s.rows >= width), 0.0)
    print(
        f"\nlast three slices to the second, third and fourth: {late / early:.2f}; "
        f"crawler at {width:,} pages {first:.0f} MiB, most {max(s.rss for s in samples):.0f} MiB"
    )


def main() -> None:
    """Runs and watches the crawl, and prints the report."""
    from web import preset, serve

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--slice", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=12_000, help="bytes of a page")
    options = parser.parse_args()
    plan = preset("big", pages=options.pages, size=options.size, fanout=2, hrefs=60, robots=("allow",))
    with tempfile.TemporaryDirectory() as name, serve(plan) as web:
        folder = Path(name)
        command = [
            sys.executable,
            "-m",
            "gossamer",
            "crawl",
            web.url(),
            "--data",
            str(folder / "data"),
            "--quiet",
        ]
        command += [
            "--delay",
            "0",
            "--per-host",
            "80",
            "--concurrency",
            "64",
            "--allow-private",
            "127.0.0.0/8",
        ]
        process = subprocess.Popen([*command, "-o", str(folder / "out.jsonl")], start_new_session=True)
        samples = watch(process, folder)
        rows = Rows(folder / "out.jsonl").now()
        print(
            f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}; "
            f"{rows:,} of {options.pages:,} pages of {options.size:,} bytes in {samples[-1].at:.0f} s, exit {process.returncode}\n"
        )
        report(samples, options.slice)
    sys.exit(0 if rows == options.pages and not process.returncode else 1)


if __name__ == "__main__":
    main()
