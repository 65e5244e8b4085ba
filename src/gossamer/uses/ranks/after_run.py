"""The steps after a run: evaluates the rules, sends alerts, and sends the events to outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gossamer.client.notifications import receivers_of_settings
from gossamer.client.row_outputs import RowOutputs
from gossamer.uses.alert_outbox import RuleAlert
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.rank_alerts import deliver, evaluate
from gossamer.uses.ranks.rules import RankRule, read_rules
from gossamer.uses.rule_files import RuleBook

BATCH_ROWS = 500
KIND = "rank_event"
"""The kind of the rows. It is the name of the table in databases, and the field `kind` in streams."""
_EVENT = ("id", "kind", "time", "engine", "search", "domain", "before", "after", "detail")
_SEARCH = ("keyword", "country", "language", "location", "device")


class ReportedRankChanges(NamedTuple):
    """The result of `report_changes`. `failures`: one message for each receiver to which sending failed. Its
    alerts are sent the next time."""

    alerts: tuple[RuleAlert, ...]
    sent: int
    suppressed: int
    failures: tuple[str, ...]
    events_sent: int


def report_changes(
    history: RankHistory,
    *,
    rules: str | None,
    outputs: Sequence[str] = (),
    folder: str,
    options: Mapping[str, Any],
    tell: Callable[[str], None],
) -> ReportedRankChanges:
    """Evaluates the rules of a file and of the keywords for the changes that runs have found since the last
    call. Sends the alerts to the receivers of the setting `alerts`, and the events to outputs (`-o`). A
    further call does not send them again. `folder`: the folder for rows that are not sent yet. `options`:
    options of `gossamer.run`, from which the settings are taken. `tell`: called with remarks. Raises
    GossamerError.
    """
    book = read_rules(rules) if rules else RuleBook[RankRule]()
    receivers = receivers_of_settings(options)
    for rule in book.rules:
        if reason := never_fires(rule, history):
            tell(f"rule {rule.name} can never fire: {reason}")
    alerts = evaluate(history, book, receivers.names, history.clock)
    if alerts and not receivers.names:
        tell('alerts are sent to nobody: set `alerts = ["https://..."]` in gossamer.toml (docs/alerts.md)')
    delivered = deliver(history, book, receivers, history.clock)
    for failure in delivered.failures:
        tell(f"{failure}; its alerts are sent next time")
    sent = events_to(history, outputs, folder)
    return ReportedRankChanges(tuple(alerts), delivered.sent, delivered.suppressed, delivered.failures, sent)


def never_fires(rule: RankRule, history: RankHistory) -> str:
    """Returns the reason why a rule does not apply to any keyword of the last list, or ''."""
    keywords = history.keywords()
    if rule.condition.kind == "layout":
        return ""
    if not any(rule.applies(one) for one in keywords):
        return "its scope has no keyword of the last list"
    if rule.condition.kind == "passed" and not any(one.competitors for one in keywords if rule.applies(one)):
        return "its keywords have no competitors"
    return ""


def events_to(history: RankHistory, outputs: Sequence[str], folder: str) -> int:
    """Sends the events that have not been sent to an output yet, and returns their number. Each event is sent
    at least once, with its id as the key. `outputs`: outputs as given after `-o`. Raises UsageError,
    ConfigError, SinkError, SinkAway and DiskFull. Events that could not be sent are sent the next time."""
    if not outputs:
        return 0
    first = history.query("SELECT id FROM rank_events WHERE sent = 0 ORDER BY time, id LIMIT 1")
    rows = RowOutputs(outputs, "gossamer ranks", str(first), folder)
    count = 0
    try:
        while True:
            found = history.query(
                f"SELECT {', '.join(f'e.{name}' for name in _EVENT)}, {', '.join(f's.{name}' for name in _SEARCH)} "
                "FROM rank_events e LEFT JOIN rank_searches s ON s.id = e.search WHERE e.sent = 0 "
                "ORDER BY e.time, e.id LIMIT ?",
                [BATCH_ROWS],
            )
            if not found:
                return count
            names = (*_EVENT, *_SEARCH)
            rows.send(KIND, [(str(row[0]), dict(zip(names, row, strict=True))) for row in found])
            with history.database.transaction():
                history.database.many(
                    "UPDATE rank_events SET sent = 1 WHERE id = ?", [(row[0],) for row in found]
                )
            count += len(found)
    finally:
        rows.close()
