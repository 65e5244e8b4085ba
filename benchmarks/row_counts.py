"""Checks what whole crawls count as new, changed, unchanged, gone and refused, in random runs into nine outputs.

    python benchmarks/row_counts.py [--machine 19] [--fleet 6] [--first 0] [--runs 3] [--outputs kafka s3 ...]

`--machine` and `--fleet`: the number of sequences into each output. A sequence has `--runs` runs, between which
the site changes. Some runs are stopped, or their processes are killed, or the server of the output is killed and
comes back within seconds. After each run, the counts of the summary
must equal those that the contents of the output before and after the run show. All runs of the fleet share one
fleet. The exit code is 1 if a sequence fails, and its seed is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.changing_items import Places
from e2e.random_counts import OUTPUTS, Machine, OnFleet, Runner, Web, serving, try_runs
from gossamer.errors import GossamerError
from support.fleet_workers import Fleet, Server


def main() -> None:
    """Runs all sequences, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("machine", 19), ("fleet", 6), ("first", 0), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--outputs", nargs="+", choices=OUTPUTS, default=OUTPUTS)
    options = parser.parse_args()
    made: Counter[tuple[str, str, str]] = Counter()
    failed, began = 0, time.monotonic()
    with ExitStack() as opened:
        top = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        places, web = opened.enter_context(Places(top / "servers")), opened.enter_context(serving())
        for seed in range(options.first, options.first + options.machine):
            failed += _try(
                seed, options.runs, top / f"machine-{seed}", web, Machine(web), places, made, options.outputs
            )
        if options.fleet:
            server = opened.enter_context(Server(top / "server"))
            fleet = Fleet(top / "fleet", server.url(0), [server.url(1)])
            fleet.folder.mkdir()
            runner = OnFleet(opened.enter_context(fleet), web)
            for seed in range(options.first, options.first + options.fleet):
                failed += _try(seed, options.runs, fleet.folder, web, runner, places, made, options.outputs)
    print(f"{made.total()} runs, {failed} sequences failed, {time.monotonic() - began:.0f} s")
    print("| runs on | output | event | runs |\n| --- | --- | --- | ---: |")
    for (where, output, event), count in sorted(made.items()):
        print(f"| {where} | {output} | {event} | {count} |")
    sys.exit(1 if failed else 0)


def _try(
    seed: int,
    runs: int,
    folder: Path,
    web: Web,
    runner: Runner,
    places: Places,
    made: Counter[tuple[str, str, str]],
    outputs: Sequence[str],
) -> int:
    """Runs one sequence into each output. Returns how many failed."""
    where, failed = ("a fleet" if isinstance(runner, OnFleet) else "one machine"), 0
    short = where.rpartition(" ")[2]  # part of the name, because both write to the same servers
    for output in (name for name in runner.outputs if name in outputs):
        crawl = folder / f"{output}-{seed}-{short}"
        crawl.mkdir(parents=True)
        try:
            events = asyncio.run(try_runs(seed, output, crawl, web, runner, places, runs))
        except (AssertionError, GossamerError, TimeoutError) as error:
            failed += 1
            print(f"{where}, {output}, seed {seed}: {error!r}", flush=True)
            traceback.print_exc()
        else:
            made.update({(where, output, event): count for event, count in events.items()})
    return failed


if __name__ == "__main__":
    main()
