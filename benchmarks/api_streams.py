"""Measures the memory of `gossamer serve` while it streams the rows of a crawl in each format.

    python benchmarks/api_streams.py [--pages 100] [--items 10000] [--in DIR]

One crawl makes `--items` items per page, so each of its visits has as many rows. The benchmark streams all items as NDJSON, CSV
and Parquet, each from a `serve` of its own, and prints the rows, the bytes, the seconds, and the resident memory of `serve` before
the stream and at its peak (`VmHWM`). The bound is 100 MB. The exit code is 1 if a stream exceeds it or lacks rows. `--in`: keeps
the crawl in this folder for further runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from operations.many_rows import FORMATS, fill, stream

BOUND_MB = 100.0


def main() -> None:
    """Crawls, streams, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--in", type=Path, dest="folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        fill(folder, options.pages, options.items)
        found = [stream(folder, form) for form in FORMATS]
    wanted = options.pages * options.items
    print(f"{datetime.now(UTC):%Y-%m-%d}: {wanted:,} items, {options.items:,} per visit")
    print(
        "| format | rows | MB sent | s | serve before, MB | serve at its peak, MB | its child at its peak, MB |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for form, one in zip(FORMATS, found, strict=True):
        sent, took = f"{one.size / 1e6:.0f}", f"{one.seconds:.0f}"
        print(
            f"| {form} | {one.rows:,} | {sent} | {took} | {one.before:.0f} | {one.peak:.0f} | {one.child:.0f} |"
        )
    if any(one.rows != wanted or one.peak > BOUND_MB for one in found):
        sys.exit(f"a stream lacks rows, or its serve took more than {BOUND_MB:.0f} MB")


if __name__ == "__main__":
    main()
