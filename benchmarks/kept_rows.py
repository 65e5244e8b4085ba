"""Checks that crawls keep all rows in 200 random sequences of steps.

    python benchmarks/kept_rows.py [--sequences 200] [--first 0] [--steps 7] [--undeclared]

The steps are previews, outputs, stops, passes that visit pages again, and exports. After each step, every
output must contain exactly the rows that the summary and the kept rows imply. The benchmark prints the number
of steps of each kind. The exit code is 1 at the first sequence that fails, and the seed of the sequence is
printed. `--undeclared`: the items have no item class.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.random_outputs import ask
from gossamer.errors import GossamerError


def main() -> None:
    """Runs all sequences, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("sequences", 200), ("first", 0), ("steps", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--undeclared", action="store_true")
    options = parser.parse_args()
    made: Counter[str] = Counter()
    began = time.monotonic()
    for seed in range(options.first, options.first + options.sequences):
        with tempfile.TemporaryDirectory() as folder:
            try:
                steps = asyncio.run(ask(seed, Path(folder), options.steps, declared=not options.undeclared))
            except (AssertionError, GossamerError) as error:
                sys.exit(f"sequence {seed}: {error}")
        made.update(step.split()[0] for step in steps)
    print(f"{options.sequences} sequences, {made.total()} steps, {time.monotonic() - began:.0f} s: exact")
    print("| step | made |\n| --- | ---: |")
    for name, count in sorted(made.items()):
        print(f"| {name} | {count} |")


if __name__ == "__main__":
    main()
