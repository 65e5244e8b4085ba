"""The records that a price history sends to outputs: the confirmed values of offers, and the events."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.record_stream import KeyedRow, RecordKind, keyed_rows


class PriceRecord(msgspec.Struct, kw_only=True):
    """The values of an offer since a confirmed change. The first visit of an offer is a change, too."""

    id: str
    """The id of the record, which is its key: the id of the offer and the time."""
    time: datetime
    """The time of the visit that first showed the values."""
    target: str
    variant: str
    shop: str
    product: str | None
    name: str | None
    url: str
    state: str
    """The state of the target, such as `priced` (docs/prices.md)."""
    price: Decimal | None
    was: Decimal | None
    """The price before the change, or None if the price did not change or its currency changed."""
    currency: str | None
    regular_price: Decimal | None
    unit_price: Decimal | None
    unit: str | None
    availability: str | None
    seller: str | None
    shipping: Decimal | None
    tax_included: bool | None
    source: str | None
    """The place of the page from which the price was read, for example `json-ld`."""
    confidence: float | None


def _prices(database: Database, after: int, last: int) -> list[KeyedRow]:
    rows = database.rows(
        "SELECT p.offer, p.time, o.target, o.variant, o.shop, t.product, o.name, o.url, p.state, p.price, p.was, "
        "p.currency, p.regular_price, p.unit_price, p.unit, p.availability, p.seller, p.shipping, p.tax_included, "
        "p.source, p.confidence FROM price_points p JOIN price_offers o ON o.id = p.offer "
        "LEFT JOIN price_targets t ON t.key = o.target WHERE p.seq > ? AND p.seq <= ? ORDER BY p.seq, p.time, p.offer",
        [after, last],
    )
    return keyed_rows(PriceRecord, ((f"{row[0]:x}-{row[1]:.3f}", *row[1:]) for row in rows))


_EVENT = (
    *("id", "kind", "time", "target", "variant", "shop", "before", "after", "currency", "detail"),
    *("url", "product"),
)


def _events(database: Database, after: int, last: int) -> list[KeyedRow]:
    columns = ", ".join(f"e.{name}" for name in _EVENT[:-2])
    rows: list[tuple[Any, ...]] = database.rows(
        f"SELECT {columns}, t.url, t.product FROM price_events e LEFT JOIN price_targets t ON t.key = e.target "
        "WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq, e.time, e.id",
        [after, last],
    )
    return [(str(row[0]), dict(zip(_EVENT, row, strict=True))) for row in rows]


KINDS: Final = {
    "prices": RecordKind("price", "price_points", _prices, PriceRecord),
    "events": RecordKind("price_event", "price_events", _events),
}
"""The kinds of records by the names that users choose."""
