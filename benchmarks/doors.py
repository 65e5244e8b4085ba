"""Checks the doors for other services' clients while the server and the worker are killed twenty times.

    python benchmarks/doors.py [--pages 5000] [--kills 20] [--seed 1]

firecrawl-py, firecrawl-mcp and python-scrapyd-api, as they are published, each crawl one local site through one `gossamer
serve`, which hands the crawls to a fleet of one worker. The kills are `kill -9`, in turn of the server and the worker,
spread over the progress of the crawls. The benchmark prints the number of polls while the crawls run, the largest of
them, and for each client the pages that are missing, twice or strange. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from web.doors.under_kills import MAX_POLL_BYTES, crawl_under_kills


def main() -> int:
    """Runs the benchmark. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        found = crawl_under_kills(Path(folder), options.pages, options.kills, options.seed)
    kills = ", ".join(f"{number} of the {what}" for what, number in found.kills.items())
    print(
        f"3 clients, {options.pages} pages each, kills: {kills}; {found.seconds:.0f} s; {found.polls} polls while the "
        f"crawls run, the largest {found.largest_poll} bytes (at most {MAX_POLL_BYTES}); "
        + ("; ".join(found.wrong) or "nothing missing, twice or strange"),
        flush=True,
    )
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
