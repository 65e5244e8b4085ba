"""Sends the alerts in an outbox. Each alert is sent once to each of its receivers.

The outbox is the table `KIND_deliveries` of a history. The outbox has one row for each pair of an alert and a
receiver. After a crash between sending a notification and marking its rows as sent, the notification is sent
again. Each alert in the repeated notification has the same label `id` as before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.client.notifications import Notification, Receivers
from gossamer.uses.prices.database import Database
from gossamer.uses.rule_files import RuleBook

DAY_S = 86_400.0
MAX_ALERTS = 100
"""Maximum number of alerts in one notification."""
_SUPPRESSED, _COUNTED = 0.0, -1.0
_BODY = msgspec.json.Decoder(Notification)


class RuleAlert(NamedTuple):
    """An alert of a rule. If the same alert is created again, it has the same `id`."""

    id: str
    notification: Notification


class Delivered(NamedTuple):
    """The result of `deliver_alerts`."""

    sent: int
    """Number of alerts that receivers accepted. An alert that several receivers accepted counts once per
    receiver."""
    suppressed: int
    """Number of alerts that were not sent because of the limit `max_per_day`."""
    failures: tuple[str, ...]
    """One error message per receiver that could not be reached. The alerts for an unreachable receiver stay
    in the outbox, and the next call of `deliver_alerts` sends them again."""


class ReportedChanges(NamedTuple):
    """The result of `report_changes`: the alerts and events that were reported after a run."""

    alerts: tuple[RuleAlert, ...]
    """The new alerts."""
    sent: int
    """Number of alerts that receivers accepted. An alert that several receivers accepted counts once per
    receiver."""
    suppressed: int
    """Number of alerts that were not sent because of the limit `max_per_day`."""
    failures: tuple[str, ...]
    """One error message per receiver that could not be reached. The alerts for an unreachable receiver stay
    in the outbox, and the next call of `report_changes` sends them again."""
    events_sent: int
    """Number of events that outputs received. An event that several outputs received counts once per
    output."""


def alert_id(*causes: str) -> str:
    """Returns the id of an alert. The id is a hash of the causes of the alert."""
    return hashlib.blake2b("\0".join(causes).encode(), digest_size=10).hexdigest()


def deliver_alerts(
    database: Database, book: RuleBook[Any], receivers: Receivers, clock: Callable[[], float]
) -> Delivered:
    """Sends the alerts in the outbox. If sending to a receiver fails, its alerts stay in the outbox."""
    sent = suppressed = 0
    failures: list[str] = []
    for receiver in receivers.names:
        done, left_out, failure = _deliver_to(database, book, receivers, receiver, clock())
        sent, suppressed = sent + done, suppressed + left_out
        failures += [failure] if failure else []
    return Delivered(sent, suppressed, tuple(failures))


def _deliver_to(
    database: Database, book: RuleBook[Any], receivers: Receivers, receiver: str, now: float
) -> tuple[int, int, str]:
    table, today = f"{database.kind}_deliveries", int(now // DAY_S) * DAY_S
    rows = database.rows(
        f"SELECT alert, body FROM {table} WHERE receiver = ? AND sent IS NULL ORDER BY time, alert",
        [receiver],
    )
    ((notified,),) = database.rows(
        f"SELECT count(DISTINCT sent) FROM {table} WHERE receiver = ? AND sent >= ?",
        [receiver, max(today, 1)],
    )
    if not rows or (book.digest == "day" and notified):
        return 0, 0, ""
    size = 1 if book.digest == "off" else MAX_ALERTS
    done = 0
    for number, start in enumerate(range(0, len(rows), size)):
        part = rows[start : start + size]
        if notified + number >= book.max_per_day:
            left = [(alert, receiver) for alert, _ in rows[start:]]
            _mark(database, _SUPPRESSED, left)
            return done, len(left), ""
        before = database.rows(
            f"SELECT alert FROM {table} WHERE receiver = ? AND sent = ?", [receiver, _SUPPRESSED]
        )
        failure = receivers.send(receiver, [_BODY.decode(body) for _, body in part], len(before))
        if failure:
            return done, 0, failure
        # each notification of a day gets a different time, because the notifications are counted by their
        # times
        _mark(database, now + number / 1e3, [(alert, receiver) for alert, _ in part])
        _mark(database, _COUNTED, [(alert, receiver) for (alert,) in before])
        done += len(part)
    return done, 0, ""


def _mark(database: Database, sent: float, alerts: Sequence[tuple[str, str]]) -> None:
    with database.transaction():
        database.many(
            f"UPDATE {database.kind}_deliveries SET sent = ? WHERE alert = ? AND receiver = ?",
            [(sent, *alert) for alert in alerts],
        )
