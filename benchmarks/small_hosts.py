"""Measures the CPU time per page of a crawl of very many hosts with a few pages each, including robots.txt.

    python benchmarks/small_hosts.py [--hosts 5000] [--pages 2] [--rounds 3] [--against FOLDER]

Each host has a robots.txt with 20 rules, a start page, and `--pages` further pages. The delay is 0, and
responses are immediate. The CPU time (user and system) is that of all processes of the command, including the
embedded store. `--against` is the `src` folder of another revision. The rounds are interleaved, and the ratio
is the median of their ratios. Revisions without the setting `auto` run with 64 visits at once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from answers import Plan, serving
from concurrency import crawl
from measured import COMPILED


def cost(plan: Plan, source: str | None) -> float:
    """Returns the CPU milliseconds per page of one crawl."""
    COMPILED.pop("PYTHONPATH", None)
    if source:
        COMPILED["PYTHONPATH"] = source
    with serving(plan) as web, tempfile.TemporaryDirectory() as name:
        used = crawl(Path(name), web, "--delay", "0")
        rows = sum(1 for _ in (Path(name) / "out.jsonl").open("rb"))
    assert rows == plan.hosts * (plan.pages + 1), rows
    return used.cpu / rows * 1e3


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=5000)
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against")
    options = parser.parse_args()
    plan = Plan(options.pages, hosts=options.hosts, robots=True)
    ours, theirs = list[float](), list[float]()
    for _ in range(options.rounds):
        ours.append(cost(plan, None))
        if options.against:
            theirs.append(cost(plan, options.against))
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}; "
        f"{options.hosts} hosts x {options.pages + 1} pages and robots.txt; {options.rounds} rounds\n"
    )
    print("| way | CPU ms a page | of the rounds |\n| --- | ---: | --- |")
    for way, each in (("this tree", ours), ("--against", theirs)):
        if each:
            print(
                f"| {way} | {statistics.median(each):.3f} | {', '.join(f'{one:.3f}' for one in sorted(each))} |"
            )
    if theirs:
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        print(f"\nratio {ratio:.2f}")


if __name__ == "__main__":
    main()
