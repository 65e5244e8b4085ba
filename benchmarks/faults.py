"""Checks that crawls lose and repeat no rows and never fail silently during 200 faults.

    python benchmarks/faults.py [--crawls 20] [--faults 10] [--first 1] [--pages 100] [--short] [--only FAULT] [--seed N[.M]] [--list]

There are 20 crawls with the embedded store. Each crawl has its own web of 8 hosts, output formats, number of
processes and disk. Ten faults hit each crawl one after another, and the same command continues the crawl
after each fault. A command that cannot continue exactly must end with a message of one line. Then the
benchmark undoes the fault, or runs `gossamer doctor --repair` if the message names it, and continues the
crawl. If a crawl ends with exit code 0, each format must contain each page exactly once. This benchmark
requires Linux. As root, half of the crawls have a small disk of their own.

To repeat a fault, use for example `--seed 7 --only aof_torn`. These options run the crawl of seed 7 with only
the fault `aof_torn`, at the same moment. If the crawl of a seed has no such fault, the fault comes at an
early moment. The exit code is 1 if anything is missing, duplicate, silent or left behind.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e import faults
from e2e.faulted_crawl import OUTCOMES, Strike, trial


def main() -> None:
    """Runs all crawls, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("crawls", 20), ("faults", 10), ("first", 1), ("pages", 100)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--short", action="store_true", help="pauses of 1 to 4 s instead of 1 to 120 s")
    parser.add_argument("--only", default="", help="names of faults, with commas")
    parser.add_argument("--seed", default="", help="the crawl of one seed (N, or N.M as it is printed)")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(faults.FAULTS))
        return
    only = [name for name in options.only.split(",") if name]
    if unknown := set(only) - set(faults.FAULTS):
        sys.exit(f"no such fault: {', '.join(sorted(unknown))}; --list names them all")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # runs the cleanup below
    faults.pauses = faults.SHORT if options.short else faults.LONG
    seeds = (
        [int(options.seed.split(".")[0])]
        if options.seed
        else range(options.first, options.first + options.crawls)
    )
    began, strikes = time.monotonic(), list[Strike]()
    folder = Path(tempfile.mkdtemp(prefix="gt-"))
    try:
        for seed in seeds:
            dealt = faults.deal(seed, options.faults)
            if only:
                numbers = {kind: number for number, kind, _ in dealt}
                dealt = [(numbers.get(name, at), name, faults.FAULTS[name]) for at, name in enumerate(only)]
            dealt.sort(key=lambda one: one[0])
            trial(
                folder,
                seed,
                dealt,
                max(options.faults, len(dealt)),
                pages=options.pages,
                say=say,
                into=strikes,
            )
    finally:
        crawls = len({strike.seed.split(".")[0] for strike in strikes})
        print(table(strikes))
        print(
            f"{len(strikes)} faults over {crawls} crawls in {time.monotonic() - began:.0f} s: {totals(strikes)}",
            flush=True,
        )
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if any(strike.wrong() for strike in strikes) else 0)


def say(line: str) -> None:
    print(line, flush=True)


def totals(strikes: list[Strike]) -> str:
    """Returns a line with the number of each outcome, over all faults."""
    return ", ".join(f"{sum(one.outcomes.get(name, 0) for one in strikes)} {name}" for name in OUTCOMES)


def table(strikes: list[Strike]) -> str:
    """Returns a table with the number of each outcome per kind of fault.

    The outcomes include survived, repaired and refused faults, missing pages, duplicate rows, silent ends and
    orphaned processes.
    """
    lines = ["| fault | struck | " + " | ".join(OUTCOMES) + " |", "| --- |" + " ---: |" * (len(OUTCOMES) + 1)]
    for kind in dict.fromkeys(name for name in faults.FAULTS if any(one.kind == name for one in strikes)):
        of = [one for one in strikes if one.kind == kind]
        counts = [str(sum(one.outcomes.get(name, 0) for one in of) or "") for name in OUTCOMES]
        lines.append(f"| {kind} | {len(of)} | " + " | ".join(counts) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
