"""Checks that a worker's reader handles 1,000,000 documents that are made to be costly to parse (Linux).

    python benchmarks/hostile_pages.py [--count 1000000] [--from 0] [--seed 1] [--state FILE]

tests/e2e/hostile_documents.py makes the documents. This module mixes, repeats and mutates families of markup
(adoption agency, foster parenting, tables, templates, selects, base, attributes, entities, comments, scripts)
and cases of tree construction. The documents are read in parts of 10,000, with one printed line per part.
With `--state`, a run that was stopped continues after its last complete part. The exit code is 1 if this
process grows by more than 64 MiB plus 8 times the largest document, if its event loop is blocked for more
than 150 ms of CPU time, or if an exception is raised.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from e2e.hostile_documents import Feeder  # noqa: E402 - it lies beside the tests

PART = 10_000
HELD = 0.15


def note(state: Path | None, done: int, seed: int) -> None:
    """Writes the number of the next document to the state file."""
    if state is not None:
        state.write_text(json.dumps({"next": done, "seed": seed}))


async def feed(first: int, count: int, seed: int, state: Path | None) -> bool:
    """Reads the documents from `first` on. Returns whether all limits were kept."""
    feeder, right, cpu = Feeder(), True, time.process_time()
    try:
        for at in range(first, first + count, PART):
            last = min(at + PART, first + count)
            await feeder.feed(range(at, last), seed)
            right = right and feeder.growth <= feeder.allowed and feeder.held[0] <= HELD
            print(
                f"| {last - first:,} | {sum(feeder.apart.values()):,} | {feeder.errors['too-complex']} | {feeder.errors['crash']} | "
                f"{feeder.held[0] * 1000:.0f} ms ({feeder.held[1]}) | {feeder.long} | {feeder.growth / 2**20:.0f} MiB | "
                f"{feeder.allowed / 2**20:.0f} MiB | {time.process_time() - cpu:.0f} s |",
                flush=True,
            )
            note(state, last, seed)
    finally:
        await feeder.close()
    return right


def main() -> None:
    """Reads all documents, or with a state file the remaining ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="where it is noted how far it came")
    options = parser.parse_args()
    first, count = options.first, options.count
    if options.state is not None and options.state.exists():
        known = json.loads(options.state.read_text())
        if known["seed"] == options.seed:
            first, count = known["next"], options.count - (known["next"] - options.first)
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, seed {options.seed}, from {first:,}\n"
    )
    print(
        "| documents | read apart | too-complex | crash | loop held (by) | above 150 ms | grew by | allowed | CPU |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    sys.exit(0 if asyncio.run(feed(first, count, options.seed, options.state)) else 1)


if __name__ == "__main__":
    main()
