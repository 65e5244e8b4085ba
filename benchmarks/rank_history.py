"""Measures whether the rank history finds each move of a position once, on its day, and nothing else.

    python benchmarks/rank_history.py [--keywords 200] [--days 60] [--seeds 3] [--url postgresql://...]

Each seed is a simulation of 200 keywords over 60 days (`tests/uses/ranks/simulated_days.py`). Per day, 12 %
of the positions move, 3 % of the checks fail, and 2 % meet a captcha. On day 30, the layout of the pages
changes. On day 33, the data file contains the new layout, and the stored pages are parsed again. The pages
are HTML that the real parser reads. The output contains the number of scripted moves that were visible, the
number of moves that the history lacks, has wrong or has on another day, and the number of positions from
failed checks. The number of fetched pages is compared with the number of pages that contain the first 30
results of each check. The floor is a tracker that records an unreadable page as "not in the results". The
false moves of this tracker are counted on the same checks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.reparse import parse_again
from uses.conftest import Clock
from uses.ranks.simulated_days import KNOWN_AGAIN, OWN, PAGES, Simulation, on_fetched, parse, wrong


def naive_moves(simulation: Simulation, days: int) -> int:
    """Returns the number of false moves that the floor reports.

    A move is false if nothing moved, or if the reported position is not the true one.
    """
    truth, false = simulation.truth, 0
    for one in simulation.keywords:
        last: int | None = None
        for day in range(days):
            key = day, one.search.id
            place = truth.positions[key]
            seen = None if key in truth.blind or key in truth.drifted else place
            if day and seen != last and (seen != place or last != truth.positions[day - 1, one.search.id]):
                false += 1
            last = seen
    return false


def simulate(keywords: int, days: int, seed: int, url: str) -> None:
    """Runs one simulation, and prints its line."""
    clock = Clock()
    began = time.process_time()
    with RankHistory(url, clock) as history:
        simulation = Simulation(history, clock, keywords, seed)
        corrected = 0
        for day in range(days):
            if day == KNOWN_AGAIN:
                done = parse_again(history, "new", lambda body, engine, at: parse(body, engine, at, "new"))
                corrected = done.corrected
            simulation.day(day)
        errors = wrong(simulation, days)
        truth = simulation.truth
        unseen = truth.blind | {key for key in truth.drifted if not on_fetched(truth, key)}
        moves = sum(one.domain == OWN and one.kind in ("rank", "entered", "lost") for one in history.events())
        from_failed = sum(error[0] == "a position from a failed check" for error in errors)
    whole = keywords * days * PAGES
    print(
        f"seed {seed}: {keywords} keywords, {days} days, {len(truth.blind)} failed checks, {len(truth.drifted)} checks with "
        f"an unknown layout ({corrected} positions corrected; {len(unseen - truth.blind)} of its pages do not have the "
        f"domain): {moves} moves found, {len(errors)} missing, wrong or on another day, {from_failed} positions from failed "
        f"checks; {simulation.requests:,} pages instead of {whole:,} ({simulation.requests / whole:.0%}); the floor: "
        f"{naive_moves(simulation, days)} false moves; CPU {time.process_time() - began:.0f} s"
    )
    for error in errors[:10]:
        print("  ", error)


def main() -> None:
    """Prints a line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keywords", type=int, default=200)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--url", help="an empty database, for one seed (default: SQLite files)")
    options = parser.parse_args()
    for seed in range(1 if options.url else options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            simulate(options.keywords, options.days, seed, options.url or f"{folder}/ranks.db")


if __name__ == "__main__":
    main()
