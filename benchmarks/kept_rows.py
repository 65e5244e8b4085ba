"""Nothing found is lost by how it was asked for: 200 random sequences of previews, outputs, stops, passes that
visit again and exports. After each step every output must hold what the summary and the kept rows say.

    python benchmarks/kept_rows.py [--sequences 200] [--first 0] [--steps 7]

Prints the counts of steps; exit 1 at the first sequence that fails, with its seed.
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
    """All sequences, then the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("sequences", 200), ("first", 0), ("steps", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    made: Counter[str] = Counter()
    began = time.monotonic()
    for seed in range(options.first, options.first + options.sequences):
        with tempfile.TemporaryDirectory() as folder:
            try:
                steps = asyncio.run(ask(seed, Path(folder), options.steps))
            except (AssertionError, GossamerError) as error:
                sys.exit(f"sequence {seed}: {error}")
        made.update(step.split()[0] for step in steps)
    print(f"{options.sequences} sequences, {made.total()} steps, {time.monotonic() - began:.0f} s: exact")
    print("| step | made |\n| --- | ---: |")
    for name, count in sorted(made.items()):
        print(f"| {name} | {count} |")


if __name__ == "__main__":
    main()
