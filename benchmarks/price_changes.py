"""Measures whether the price history finds each change once, on its day, and nothing else.

    python benchmarks/price_changes.py [--seeds 20] [--first 1]

Each seed is a simulation of 10,000 products in 40 shops over 10 days
(`tests/uses/prices/simulated_shops.py`). A simulation has 500 scripted changes of seven kinds: price,
availability, regular price, seller, currency, gone, moved. A simulation also has noise: 100 products with A/B
prices and 100 with alternating sellers, for which each visit shows one of two values at random. 1 of 1,000
visits shows a glitch (0, 9,999, a tenth), and 4 of 1,000 visits fail or are inconclusive. On one day each,
one shop is redesigned, one shop is in maintenance, one shop blocks, and one shop moves. The table shows the
numbers of found, lost and false changes, and of second visits. The floor compares each visit with the last
one, on the same visits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import EventKind, Observation
from uses.prices.simulated_shops import DAY_S, Shops
from uses.prices.test_simulated_changes import DAYS, SHOP_EVENTS, Clock, run_day


class Comparing(Shops):
    """Shops that also count the changes between consecutive visits of the first passes.

    A tool without second visits would report this number of changes.
    """

    last: dict[str, tuple[object, ...]]
    naive: int

    def visit(self, key: str, day: int, time: float, confirming: bool = False) -> Observation:
        seen = super().visit(key, day, time, confirming)
        if not confirming:
            values = (
                seen.state,
                seen.price,
                seen.currency,
                seen.regular_price,
                seen.availability,
                seen.seller,
            )
            self.naive += key in self.last and self.last[key] != values
            self.last[key] = values
        return seen


def simulate(seed: int) -> tuple[int, int, int, int, int]:
    """Runs one simulation.

    Returns the numbers of scripted, lost and false changes, of the changes that the floor reports, and of
    second visits.
    """
    shops, clock = Comparing.make(10_000, 500, DAYS, seed), Clock()
    assert isinstance(shops, Comparing)
    shops.last, shops.naive = {}, 0
    found: Counter[tuple[str, EventKind, int]] = Counter()
    second_visits = 0
    with tempfile.TemporaryDirectory() as folder, History(f"{folder}/prices.db", clock) as history:
        history.list_targets(shops.targets())
        for day in range(DAYS):
            shops.begin_day(day)
            events, second = run_day(history, shops, day, clock)
            second_visits += second
            for event in events:
                if event.kind != EventKind.FIRST:
                    found[event.target or event.shop, event.kind, int(event.time // DAY_S)] += 1
    scripted = {(change.key, change.kind, change.day) for change in shops.script} | SHOP_EVENTS
    wrong = sum(count for one, count in found.items() if one not in scripted)
    twice = sum(count - 1 for one, count in found.items() if one in scripted)
    return len(scripted), len(scripted - set(found)), wrong + twice, shops.naive, second_visits


def main() -> None:
    """Prints one line for each seed, and a line of sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed; the others follow it")
    given = parser.parse_args()
    sums = [0, 0, 0, 0, 0]
    print(f"{'seed':>6} {'scripted':>9} {'lost':>5} {'false':>6} {'floor reports':>14} {'second visits':>14}")
    for seed in range(given.first, given.first + given.seeds):
        counts = simulate(seed)
        sums = [one + other for one, other in zip(sums, counts, strict=True)]
        print(f"{seed:6} {counts[0]:9} {counts[1]:5} {counts[2]:6} {counts[3]:14} {counts[4]:14}", flush=True)
    visits = given.seeds * DAYS * 10_000
    print(
        f"{'all':>6} {sums[0]:9} {sums[1]:5} {sums[2]:6} {sums[3]:14} {sums[4]:14} ({sums[4] / visits:.1%} of the visits)"
    )
    sys.exit(1 if sums[1] + sums[2] > sums[0] / 1000 else 0)


if __name__ == "__main__":
    main()
