"""Sends confirmed events to outputs: to Kafka, a webhook, a database, or a file. An event is a change of a
value. If the bytes of a page change and no value changes, there is no event."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.uses.event_outbox import send_events
from gossamer.uses.prices.history import History

_COLUMNS = (
    *("e.kind", "e.time", "e.target", "e.variant", "e.shop", "e.before", "e.after", "e.currency", "e.detail"),
    *("t.url", "t.product"),
)


def events_to(history: History, outputs: Sequence[str], folder: str) -> int:
    """Sends the events that have not been sent to an output yet (`send_events`), and returns their number."""
    targets = "LEFT JOIN price_targets t ON t.key = e.target"
    return send_events(history.database, outputs, folder, _COLUMNS, targets)
