"""Measures the report on prices (`gossamer prices report`) over a history with a million changes.

    python benchmarks/price_report.py [--changes 1000000] [--offers 50000] [--history FILE]

The history is that of `price_history.py`. The history is written into FILE unless FILE exists, so a second
call only measures. Reading and rendering run 10 times each. The table shows the median and the maximum wall
time and the median CPU time in ms, for all shops and for one shop. The floor is one `SELECT count(*)` over
the targets.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from price_history import DAY_S, DAYS, fill

from gossamer.uses.prices.history import History
from gossamer.uses.prices.report import read_report
from gossamer.uses.prices.report_html import render_report
from gossamer.uses.prices.target_filter import TargetFilter

ROUNDS = 10


def measure(name: str, work: Callable[[], object]) -> None:
    """Prints the median and the maximum time of a call, and its median CPU time."""
    times, used = [], []
    for _ in range(ROUNDS):
        start, before = time.perf_counter(), time.process_time()
        work()
        times.append(1000 * (time.perf_counter() - start))
        used.append(1000 * (time.process_time() - before))
    print(f"{name:<34}{statistics.median(times):>10.1f}{max(times):>10.1f}{statistics.median(used):>10.1f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--changes", type=int, default=1_000_000)
    options.add_argument("--offers", type=int, default=50_000)
    options.add_argument("--history", type=Path, help="the file of the history")
    given = options.parse_args()
    now = float(DAYS * DAY_S)
    with tempfile.TemporaryDirectory() as folder:
        path = given.history or Path(folder) / "prices.db"
        if not path.exists():
            with History(str(path)) as history:
                fill(history, given.offers, given.changes)
        measure_report(path, given, now)


def measure_report(path: Path, given: argparse.Namespace, now: float) -> None:
    """Prints the table for a history."""
    with History(str(path)) as history:
        print(
            f"{given.changes:,} changes of {given.offers:,} offers{'median ms':>14}{'worst ms':>10}{'CPU ms':>10}"
        )
        measure("floor: count of targets", lambda: history.query("SELECT count(*) FROM price_targets"))
        measure("read, all shops, 30 days", lambda: read_report(history, now=now))
        measure(
            "read, one shop, 30 days",
            lambda: read_report(history, now=now, chosen=TargetFilter(shop="shop1.example")),
        )
        report = read_report(history, now=now)
        measure("render", lambda: render_report(report))
        print(f"{len(render_report(report)) / 1000:.0f} kB of HTML")


if __name__ == "__main__":
    main()
