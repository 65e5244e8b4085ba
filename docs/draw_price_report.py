"""Draws the picture of the price report: `python docs/draw_price_report.py` writes
`docs/images/price-report.png`.

The program watches six made-up products in four shops for 45 days. On some days, an offer's price changes or
the offer sells out. The picture shows the report of these days in Chromium. `--html FILE` keeps the report.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from report_picture import draw_report

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from gossamer.uses.prices.report import read_report
from gossamer.uses.prices.report_html import render_report

DAY, START, DAYS = 86_400.0, 1_790_000_000.0, 45
SHOPS = ("alpenkontor.example", "citymarkt.example", "nordwaren.example", "tool-depot.example")
PRODUCTS = {
    "Espresso machine E61": 899,
    "Cordless drill 18 V": 149,
    "Rain jacket, men": 119,
    "Kettle 1.7 l": 49,
    "Bluetooth speaker": 79,
    "Desk lamp LED": 39,
}
VISITS = 14
"""The number of visits to each page per run, which is enough to confirm a change."""


def days_of(rng: random.Random) -> Iterator[dict[str, tuple[Decimal, str]]]:
    """Yields the price and the stock of each offer, day by day."""
    offers = {
        f"{product} @ {shop}": [Decimal(base) * Decimal(rng.choice((95, 98, 100, 103))) / 100, "InStock"]
        for product, base in PRODUCTS.items()
        for shop in SHOPS
    }
    for _ in range(DAYS):
        for offer in offers.values():
            if rng.random() < 0.012:
                factor = Decimal(rng.choice((85, 90, 94, 96, 104, 107, 112))) / 100
                offer[0] = (Decimal(offer[0]) * factor).quantize(Decimal(1)) - Decimal("0.01")
            if rng.random() < 0.02:
                offer[1] = "OutOfStock" if offer[1] == "InStock" else "InStock"
        yield {key: (Decimal(price), str(stock)) for key, (price, stock) in offers.items()}


def fill(history: History) -> None:
    """Writes the visits of all days into the history."""
    pairs = [(product, shop) for product in PRODUCTS for shop in SHOPS]
    history.list_targets(
        [
            PriceTarget(key=f"{product} @ {shop}", url=f"https://{shop}/{n}", shop=shop, product=product)
            for n, (product, shop) in enumerate(pairs)
        ]
    )
    for day, offers in enumerate(days_of(random.Random(5))):
        history.begin_run()
        for number in range(VISITS):
            history.record(
                [
                    Observation(
                        target=key,
                        time=START + day * DAY + number * 60,
                        state=OfferState.PRICED,
                        price=price,
                        currency="EUR",
                        availability=stock,
                        name=key.partition(" @ ")[0],
                        confirming=number > 0,
                    )
                    for key, (price, stock) in offers.items()
                ]
            )
        history.end_run()


def report_of_days(folder: Path) -> str:
    """Returns the report of all days."""
    now = [START]
    with History(f"{folder}/prices.db", clock=lambda: now[0]) as history:
        fill(history)
        now[0] = START + DAYS * DAY
        return render_report(read_report(history, now=now[0], days=30))


if __name__ == "__main__":
    draw_report(__doc__, "price-report.png", 1560, report_of_days)
