"""Prices of targets in cards on other pages of their shops, such as listings and related products. Such a price is a second
source for the price on the target's own page."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

import msgspec

import gossamer
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.model import Observation

LISTING = "listing"
"""The second source of a price that a card states."""
MAX_AGE_S = 2 * 86_400.0
"""The number of seconds for which a card supports a price."""
_UPSERT = (
    "INSERT INTO price_listed (target, price, currency, time) VALUES (?, ?, ?, ?) ON CONFLICT (target) DO UPDATE "
    "SET price = excluded.price, currency = excluded.currency, time = excluded.time "
    "WHERE excluded.time >= price_listed.time"
)


class Listed(NamedTuple):
    """The last price that a card stated for a target. `time`: of the visit of the card's page, in seconds since the epoch."""

    price: Decimal | None
    currency: str | None
    time: float


def write_listed(database: Database, visits: Iterable[Observation]) -> None:
    """Stores the prices that the pages of visits state for targets of the history."""
    found = [(seen, one) for seen in visits for one in seen.listed]
    urls = {url for _, one in found for url in _forms(one.url)}
    if not urls:
        return
    keys: dict[str, list[str]] = {}
    for key, url in database.rows_in("SELECT key, url FROM price_targets WHERE url IN (?)", urls):
        keys.setdefault(url, []).append(key)
    rows = [
        (key, one.price, one.currency, seen.time)
        for seen, one in found
        for url in dict.fromkeys(_forms(one.url))
        for key in keys.get(url, ())
        if key != seen.target
    ]
    database.many(_UPSERT, rows)


def _forms(url: str) -> tuple[str, str]:
    """Returns a URL as written and in its canonical form."""
    return url, gossamer.url.canonical(url) or url


def read_listed(database: Database, targets: Iterable[str]) -> dict[str, Listed]:
    """Returns the last listed prices of targets, by the target's key."""
    columns = "SELECT target, price, currency, time FROM price_listed"
    rows = database.rows_in(f"{columns} WHERE target IN (?)", targets)
    return {key: Listed(amount(price), currency, time) for key, price, currency, time in rows}


def supported(seen: Observation, listed: Listed | None) -> Observation:
    """Returns an observation with the listing as its second source, if the card states the price that the page shows."""
    if (
        listed is None
        or seen.second_source
        or seen.variant
        or seen.price is None
        or seen.price != listed.price
        or (listed.currency and seen.currency and listed.currency != seen.currency)
        or abs(seen.time - listed.time) > MAX_AGE_S
    ):
        return seen
    return msgspec.structs.replace(seen, second_source=LISTING)
