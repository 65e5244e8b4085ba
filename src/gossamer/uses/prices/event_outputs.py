"""Sends confirmed events to outputs: to Kafka, a webhook, a database, or a file. Only changes of values are
sent, not every page whose bytes changed."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.client.row_outputs import RowOutputs
from gossamer.uses.prices.history import History

BATCH_ROWS = 500
KIND = "price_event"
"""The kind of the rows. It is the name of the table in databases, and the field `kind` in streams."""
_NAMES = ("kind", "time", "target", "variant", "shop", "before", "after", "currency", "detail")


def events_to(history: History, outputs: Sequence[str], folder: str) -> int:
    """Sends the events that have not been sent to an output yet, and returns their number. Each event is sent
    at least once, with its id as the key. `outputs`: outputs as given after `-o`. `folder`: the folder for
    rows that are not sent yet.

    Raises UsageError, ConfigError, SinkError, SinkAway and DiskFull. Events that could not be sent are sent
    the next time.
    """
    if not outputs:
        return 0
    first = history.query("SELECT id FROM price_events WHERE sent = 0 ORDER BY time, id LIMIT 1")
    rows = RowOutputs(outputs, "gossamer prices", str(first), folder)
    count = 0
    try:
        while True:
            found = history.query(
                f"SELECT e.id, {', '.join(f'e.{name}' for name in _NAMES)}, t.url, t.product FROM price_events e "
                "LEFT JOIN price_targets t ON t.key = e.target WHERE e.sent = 0 ORDER BY e.time, e.id LIMIT ?",
                [BATCH_ROWS],
            )
            if not found:
                return count
            names = ("id", *_NAMES, "url", "product")
            rows.send(KIND, [(str(row[0]), dict(zip(names, row, strict=True))) for row in found])
            with history.database.transaction():
                history.database.many(
                    "UPDATE price_events SET sent = 1 WHERE id = ?", [(row[0],) for row in found]
                )
            count += len(found)
    finally:
        rows.close()
