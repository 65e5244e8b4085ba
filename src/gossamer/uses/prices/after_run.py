"""Evaluates the rules after a run, sends alerts, and sends the events to outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.client.notifications import receivers_of_settings
from gossamer.uses.alert_outbox import ReportedChanges
from gossamer.uses.prices.history import History
from gossamer.uses.prices.price_alerts import deliver, evaluate
from gossamer.uses.prices.product_groups import read_groups
from gossamer.uses.prices.records import KINDS
from gossamer.uses.prices.rules import PriceRule, never_fires, read_rules, rules_of_targets
from gossamer.uses.record_stream import send_records
from gossamer.uses.rule_files import RuleBook

MAX_SHOWN = 20


def report_changes(
    history: History,
    *,
    rules: str | None,
    outputs: Sequence[str] = (),
    folder: str,
    options: Mapping[str, Any],
    tell: Callable[[str], None],
) -> ReportedChanges:
    """Evaluates the rules of a file and the rules of the targets for all changes since the last call. Sends
    the alerts to the receivers of the setting `alerts`, and the events to outputs (`-o`). Later calls do not
    send the same alerts and events again. `folder`: the folder for rows that are not sent yet. `options`:
    options of `gossamer.run`, which determine the settings. `tell`: called with messages for the user, for
    example about a rule that can never fire. Raises GossamerError.
    """
    book = read_rules(rules) if rules else RuleBook[PriceRule]()
    receivers = receivers_of_settings(options)
    for line in remarks(history, book):
        tell(line)
    alerts = evaluate(history, book, receivers.names)
    if alerts and not receivers.names:
        tell('alerts have no receiver: set `alerts = ["https://..."]` in gossamer.toml (docs/alerts.md)')
    delivered = deliver(history, book, receivers)
    for failure in delivered.failures:
        tell(f"{failure}; its alerts are sent next time")
    sent = send_records(history.database, outputs, folder, [KINDS["events"]])
    events = sum(one.rows for one in sent)
    return ReportedChanges(tuple(alerts), delivered.sent, delivered.suppressed, delivered.failures, events)


def remarks(history: History, book: RuleBook[PriceRule]) -> list[str]:
    """Returns one message for each rule that can never fire, and for each invalid rule of a target."""
    targets = history.targets()
    own, lines = rules_of_targets(targets)
    groups = read_groups(history.database)
    for rule in (*book.rules, *own):
        if reason := never_fires(rule, targets, groups):
            lines.append(f"rule {rule.name} can never fire: {reason}")
    if len(lines) > MAX_SHOWN:
        lines = [
            *lines[:MAX_SHOWN],
            f"{len(lines) - MAX_SHOWN:,} more rules cannot be used or can never fire",
        ]
    return lines
