"""Measures a price history (`uses/prices`) with a million changes: reports, series, recording and rules.

    python benchmarks/price_history.py [--changes 1000000] [--offers 50000] [--url FILE]

The history covers 50,000 offers of 10,000 products in 40 shops over a year. The functions of a run write the
history. Each report is read 20 times. The table shows the median and the maximum time in ms. The floor of
each report is one `SELECT count(*)` over an index of the same database. `--url postgresql://...` measures
PostgreSQL.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from gossamer.uses.prices import failing, offer_rows, series
from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Event, EventKind, Observation, OfferState, PriceTarget
from gossamer.uses.prices.price_alerts import evaluate
from gossamer.uses.prices.rules import parse_rules
from gossamer.uses.prices.target_filter import TargetFilter

DAY_S = 86_400
DAYS = 365
ROUNDS = 20
SHOPS = 40


def fill(history: History, offers: int, changes: int) -> None:
    """Writes the targets, the offers and their changes."""
    chance = random.Random(1)
    made = []
    targets = []
    for number in range(offers):
        shop = f"shop{number % SHOPS}.example"
        key = f"https://{shop}/p/{number}"
        targets.append(PriceTarget(key=key, url=key, shop=shop, product=f"product{number // 5}", tags=("a",)))
        price = Decimal(chance.randint(500, 99_999)) / 100
        made.append(
            Offer(
                id=offer_rows.offer_id(key, ""),
                target=key,
                shop=shop,
                url=key,
                price=price,
                currency="EUR",
                availability="InStock",
                name=f"Product {number}",
                since=1.0,
                last_seen=float(DAYS * DAY_S - chance.randint(0, 3 * DAY_S)),
                last_checked=1.0,
            )
        )
    history.list_targets(targets)
    with history.database.transaction():
        for start in range(0, changes, 50_000):
            points, events = [], []
            for number in range(start, min(start + 50_000, changes)):
                offer = made[number % offers]
                before = Offer(target=offer.target, price=offer.price, currency="EUR")
                factor = Decimal(chance.choice(["0.9", "0.95", "1.05", "1.1", "1.3", "0.75"]))
                offer.price = max(Decimal("1"), (before.price or 1) * factor).quantize(Decimal("0.01"))
                offer.since = number / changes * DAYS * DAY_S + 1
                points.append(offer_rows.point_of(offer, before))
                events.append(
                    Event(
                        kind=EventKind.PRICE,
                        time=offer.since,
                        target=offer.target,
                        shop=offer.shop,
                        before=str(before.price),
                        after=str(offer.price),
                    )
                )
            offer_rows.write_points(history.database, points)
            offer_rows.write_events(history.database, events, 1)
        offer_rows.write_offers(history.database, made)
        failing.write_failing(
            history.database,
            [
                failing.Failing(
                    one.target, one.shop, "gone", 1.0, 2.0, 3, 4, 1, 1, "", ("gone: http-4xx 404",)
                )
                for one in made[:2000]
            ],
            (),
        )
        history.database.execute("ANALYZE")


def measured(read: Callable[[], object]) -> tuple[float, float]:
    """Returns the median and the maximum time of a report in ms."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        read()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times), max(times)


def reports(history: History, offers: int) -> dict[str, Callable[[], object]]:
    """Returns the reports by name."""
    base, now = history.database, float(DAYS * DAY_S)
    chance = random.Random(2)

    def key() -> str:
        number = chance.randrange(offers)
        return f"https://shop{number % SHOPS}.example/p/{number}"

    return {
        "floor: count of an index": lambda: base.rows(
            "SELECT count(*) FROM price_failing WHERE state = 'gone'"
        ),
        "series of an offer, a year": lambda: series.read_series(base, key()),
        "30-day statistics of an offer": lambda: series.read_statistics(base, key(), now=now),
        "series of 100 offers": lambda: [series.read_series(base, key()) for _ in range(100)],
        "biggest moves, a day": lambda: series.biggest_moves(base, after=now - DAY_S, before=now),
        "biggest moves, a month": lambda: series.biggest_moves(base, after=now - 30 * DAY_S, before=now),
        "biggest moves, a year": lambda: series.biggest_moves(base, after=0, before=now),
        "biggest moves of one shop, a month": lambda: series.biggest_moves(
            base, after=now - 30 * DAY_S, before=now, chosen=TargetFilter(shop="shop3.example")
        ),
        "market of a product": lambda: series.read_market(base, f"product{chance.randrange(offers // 5)}"),
        "stale offers, first 1,000": lambda: series.stale_offers(base, before=now - DAY_S),
        "share seen within 24 h": lambda: series.fresh_share(base, now=now),
        "failing targets, first 1,000": lambda: failing.list_failing(base),
        "events of a day": lambda: history.events(after=now - DAY_S, before=now),
        "events of a target": lambda: history.events(target=key()),
    }


def recording(history: History, offers: int) -> str:
    """Records one unchanged visit of each offer. Returns a line with the time."""
    now = float((DAYS + 1) * DAY_S)
    known = history.offers()
    batch = [
        Observation(
            target=one.target,
            time=now,
            state=OfferState.PRICED,
            url=one.url,
            price=one.price,
            currency="EUR",
            availability="InStock",
            name=one.name,
        )
        for one in known
    ]
    history.begin_run()
    begun, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(batch), 500):
        history.record(batch[start : start + 500])
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return f"unchanged visits in batches of 500: {1e6 * cpu / offers:.0f} us of CPU a visit, {offers / wall:,.0f} a second"


RULES = """
[rules.below]
when = "below 50"
[rules.falls]
when = "falls 5%"
[rules.fake]
when = "fake discount"
[rules.lowest]
when = "lowest of 30 days"
[rules.cheapest]
when = "cheapest changes"
"""


def evaluating(history: History, offers: int) -> str:
    """Evaluates five rules twice: after a year without rules, and again without new changes.

    Returns a line with the times.
    """
    book, clock = parse_rules(RULES), lambda: float((DAYS + 1) * DAY_S)
    times = []
    for _ in range(2):
        cpu = time.process_time()
        alerts = evaluate(history, book, ["receiver"], clock)
        times.append(f"{time.process_time() - cpu:.1f} s of CPU, {len(alerts):,} alerts")
    return f"five rules on {offers:,} targets: after all changes {times[0]}; after nothing new {times[1]}"


def main() -> None:
    """Fills a history, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--offers", type=int, default=50_000)
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, History(given.url or f"{folder}/prices.db") as history:
        begun = time.perf_counter()
        fill(history, given.offers, given.changes)
        size = 0 if given.url else sum(path.stat().st_size for path in Path(folder).iterdir())
        print(
            f"{given.changes:,} changes of {given.offers:,} offers, written in {time.perf_counter() - begun:.0f} s, "
            f"{size / 1e6:.0f} MB"
        )
        print(f"{'report':40} {'median ms':>10} {'worst ms':>10}")
        worst = 0.0
        for name, read in reports(history, given.offers).items():
            middle, most = measured(read)
            worst = max(worst, middle)
            print(f"{name:40} {middle:10.2f} {most:10.2f}")
        print(recording(history, given.offers))
        print(evaluating(history, given.offers))
    if worst > 100:
        sys.exit(f"a report takes {worst:.0f} ms")


if __name__ == "__main__":
    main()
