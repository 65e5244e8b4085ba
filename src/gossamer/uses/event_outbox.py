"""Sends the events of a history to outputs: to Kafka, a webhook, a database, or a file.

The events are the rows of the table `KIND_events` of a history. The column `sent` shows which events were
sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.client.row_outputs import RowOutputs
from gossamer.uses.prices.database import Database

BATCH_ROWS = 500


def send_events(
    database: Database, outputs: Sequence[str], folder: str, columns: Sequence[str], join: str
) -> int:
    """Sends the events that have not been sent to an output yet. Each event is sent at least once, with the
    event's id as the key. Returns the number of sent events.

    `outputs`: the outputs in the form of the option `-o`. `folder`: the folder for rows that are not sent
    yet. `columns`: the columns of a row in addition to the id. The name of a column begins with its table:
    `e.` for the table of events, as in `e.time`, or the alias of the table that the SQL text `join` adds.
    Raises UsageError, ConfigError, SinkError, SinkAway and DiskFull. The next call sends the events that
    could not be sent.
    """
    if not outputs:
        return 0
    kind, table = f"{database.kind}_event", f"{database.kind}_events"
    first = database.rows(f"SELECT id FROM {table} WHERE sent = 0 ORDER BY time, id LIMIT 1")
    names = ("id", *(name.partition(".")[2] for name in columns))
    rows = RowOutputs(outputs, f"gossamer {database.kind}s", str(first), folder)
    count = 0
    try:
        while True:
            found = database.rows(
                f"SELECT e.id, {', '.join(columns)} FROM {table} e {join} WHERE e.sent = 0 "
                "ORDER BY e.time, e.id LIMIT ?",
                [BATCH_ROWS],
            )
            if not found:
                return count
            rows.send(kind, [(str(row[0]), dict(zip(names, row, strict=True))) for row in found])
            with database.transaction():
                database.many(f"UPDATE {table} SET sent = 1 WHERE id = ?", [(row[0],) for row in found])
            count += len(found)
    finally:
        rows.close()
