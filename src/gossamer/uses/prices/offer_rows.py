"""Converts offers, points and events to rows of `price_offers`, `price_points` and `price_events`, and
back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from gossamer.uses.prices.changes import HeldChange, Offer, move
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.model import Event
from gossamer.uses.prices.schema import VALUES

DAY_S = 86_400
_AMOUNTS = frozenset(("price", "regular_price", "unit_price", "shipping", "median"))
_COLUMNS = Offer.__struct_fields__
_LISTED = ", ".join(_COLUMNS)
_VALUES_OF = attrgetter(*VALUES)
_HELD = msgspec.json.Decoder(dict[str, HeldChange])
_MEMORY = msgspec.json.Decoder(dict[str, dict[str, float]])
_CHANGED = ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("id", "target", "variant")
)
_UPSERT = (
    f"INSERT INTO price_offers ({_LISTED}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT (id) DO UPDATE SET {_CHANGED}"
)
_POINT = ("offer", "time", "day", *VALUES, "was", "move", "seq")
_POINT_UPSERT = (
    f"INSERT INTO price_points ({', '.join(_POINT)}) VALUES ({', '.join('?' * len(_POINT))}) "
    f"ON CONFLICT (offer, time) DO UPDATE SET {', '.join(f'{n} = excluded.{n}' for n in _POINT[2:])}"
)
_EVENT_INSERT = (
    "INSERT INTO price_events (id, kind, time, target, variant, shop, before, after, currency, detail, run, seq) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)


def offer_id(target: str, variant: str) -> int:
    """Returns the id of an offer. The id depends only on the target and the variant, so that a replayed batch
    writes the same rows."""
    digest = hashlib.blake2b(f"{target}\0{variant}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def event_id(event: Event) -> str:
    """Returns the id of an event. If the same change is reported several times, the id is the same each time.

    >>> from gossamer.uses.prices.model import EventKind
    >>> event_id(Event(kind=EventKind.PRICE, time=1.0, target="a"))
    '71f52eddaa06130c92d2'
    """
    parts = [
        event.kind,
        f"{event.time:.3f}",
        event.target,
        event.variant,
        event.shop if not event.target else "",
    ]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=10).hexdigest()


def offer_of(row: Sequence[Any]) -> Offer:
    """Converts a row of `price_offers` to an offer."""
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in _AMOUNTS:
        values[name] = amount(values[name])
    values["held"] = _HELD.decode(values["held"]) if values["held"] else {}
    values["memory"] = _MEMORY.decode(values["memory"]) if values["memory"] else {}
    values["gone"] = bool(values["gone"])
    if values["tax_included"] is not None:
        values["tax_included"] = bool(values["tax_included"])
    return Offer(**values)


def row_of(offer: Offer) -> list[Any]:
    """Returns an offer as a row of `price_offers`."""
    row = list(msgspec.structs.astuple(offer))
    row[-2] = msgspec.json.encode(offer.held).decode() if offer.held else None
    row[-1] = msgspec.json.encode(offer.memory).decode() if offer.memory else None
    return row


def read_offers(database: Database, where: str = "", values: Sequence[Any] = ()) -> list[Offer]:
    """Returns the offers for which a condition holds."""
    return [offer_of(row) for row in database.rows(f"SELECT {_LISTED} FROM price_offers {where}", values)]


def read_offers_of(database: Database, targets: Sequence[str], size: int = 500) -> list[Offer]:
    """Returns the offers of targets. `size`: the number of targets in one query."""
    found = database.rows_in(f"SELECT {_LISTED} FROM price_offers WHERE target IN (?)", targets, size)
    return [offer_of(row) for row in found]


def write_offers(database: Database, offers: Sequence[Offer]) -> None:
    """Writes offers."""
    write_rows(database, [row_of(offer) for offer in offers])


def write_rows(database: Database, rows: Sequence[Sequence[Any]]) -> None:
    """Writes offers that are already rows (`row_of`)."""
    database.many(_UPSERT, rows)


def write_points(database: Database, points: Sequence[Sequence[Any]]) -> None:
    """Appends points. An existing point is overwritten."""
    if points:
        with database.transaction():
            seq = database.next_seq()
            database.many(_POINT_UPSERT, [[*point, seq] for point in points])


def point_of(offer: Offer, before: Offer) -> list[Any]:
    """Returns a new row of `price_points`, without `seq`, for an offer whose known values have just changed. `before`: the
    offer before the change."""
    values = _VALUES_OF(offer)
    was = before.price if before.currency == offer.currency else None
    size = move(was, offer.price)
    return [offer.id, offer.since, int(offer.since // DAY_S), *values, was if size else None, size]


def write_events(database: Database, events: Sequence[Event], run: int) -> None:
    """Appends the events of a run. An existing event is not changed."""
    if not events:
        return
    with database.transaction():
        seq = database.next_seq()
        database.many(
            _EVENT_INSERT,
            [
                (
                    *(event_id(event), str(event.kind), event.time, event.target, event.variant, event.shop),
                    *(event.before, event.after, event.currency, event.detail, run, seq),
                )
                for event in events
            ],
        )
