"""1,000,000 documents made to be costly to parse, through a worker's reader: memory, the loop, errors
(Linux).

    python benchmarks/hostile_pages.py [--count 1000000] [--from 0] [--seed 1] [--state FILE]

The documents are those of tests/e2e/hostile_documents.py: families of markup (adoption agency, foster
parenting, tables, templates, selects, base, attributes, entities, comments, scripts) and cases of tree
construction, mixed, repeated, mutated. Runs in parts of 10,000, one line each; with `--state` a run that was
ended goes on after its last whole part. Exit 1 when this process grew by more than 64 MiB and 8 times the
largest document, the loop was held for more than 150 ms of CPU time, or anything raised.
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
    """Write down how far it came."""
    if state is not None:
        state.write_text(json.dumps({"next": done, "seed": seed}))


async def feed(first: int, count: int, seed: int, state: Path | None) -> bool:
    """Documents from `first` on; whether all went well."""
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
    """All of them, or what is left."""
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
