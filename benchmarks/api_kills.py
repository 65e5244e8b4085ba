"""Kills `gossamer serve` at many moments, and checks that nothing is done twice and that no event is missing.

    python benchmarks/api_kills.py [--moments 200] [--spread 3] [--at-once 10]

In each round, a crawl is created and 30 dead letters are dropped at once, each with an idempotency key, while a client reads the
events. `serve` is killed after a part of `--spread` seconds, started again at the same port, and the requests are repeated. The
exit code is 1 if a crawl runs twice or not at all, a letter is lost or counted twice, or the events that the client got are not
those of the store. Most of the time is a wait for the lease of the killed request's key (30 s), so `--at-once` rounds run at the
same time, each with a store of its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cli.command_line import Pages
from cli.conftest import stop_store
from operations.killed_rounds import kill_rounds
from support.answers import answering


def main() -> None:
    """Runs all rounds, and prints the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--spread", type=float, default=3.0)
    parser.add_argument("--at-once", type=int, default=10)
    options = parser.parse_args()
    moments = [options.spread * n / options.moments for n in range(options.moments)]
    shares = [moments[n :: options.at_once] for n in range(options.at_once)]
    began = time.monotonic()
    with answering(Pages) as port, ThreadPoolExecutor(options.at_once) as pool:
        web = f"http://127.0.0.1:{port}"
        try:
            events = sum(pool.map(lambda share: rounds(web, share), filter(None, shares)))
        except AssertionError as error:
            sys.exit(f"not exact: {error}")
    print(
        f"{datetime.now(UTC):%Y-%m-%d}: serve killed at {len(moments)} moments of create, bulk and stream in "
        f"{time.monotonic() - began:.0f} s: nothing done twice or lost, {events} events without a gap"
    )


def rounds(web: str, moments: list[float]) -> int:
    """Kills at some moments, with a store of its own. Returns the number of events."""
    with tempfile.TemporaryDirectory() as made:
        try:
            return kill_rounds(Path(made), web, moments)
        finally:
            stop_store(Path(made))


if __name__ == "__main__":
    main()
