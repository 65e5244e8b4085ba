"""Evaluates alert rules after a rank run, sends the alerts to receivers, and sends the events to outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.client.notifications import receivers_of_settings
from gossamer.uses.alert_outbox import ReportedChanges
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.rank_alerts import deliver, evaluate
from gossamer.uses.ranks.records import KINDS
from gossamer.uses.ranks.rules import RankRule, read_rules
from gossamer.uses.record_stream import send_records
from gossamer.uses.rule_files import RuleBook


def report_changes(
    history: RankHistory,
    *,
    rules: str | None,
    outputs: Sequence[str] = (),
    folder: str,
    options: Mapping[str, Any],
    tell: Callable[[str], None],
) -> ReportedChanges:
    """Evaluates the alert rules for all changes since the previous call. The rules come from the file `rules`
    and from the column `rules` of the keywords. Sends the alerts to the receivers in the setting `alerts`,
    and the events to outputs (`-o`). Later calls do not send the same alerts and events again. `folder`: the
    folder in which unsent rows are stored. `options`: options of `gossamer.run`, which contain the settings.
    `tell`: called with messages for the user. Raises GossamerError.
    """
    book = read_rules(rules) if rules else RuleBook[RankRule]()
    receivers = receivers_of_settings(options)
    for rule in book.rules:
        if reason := never_fires(rule, history):
            tell(f"rule {rule.name} can never fire: {reason}")
    alerts = evaluate(history, book, receivers.names, history.clock)
    if alerts and not receivers.names:
        tell('alerts have no receiver: set `alerts = ["https://..."]` in gossamer.toml (docs/alerts.md)')
    delivered = deliver(history, book, receivers, history.clock)
    for failure in delivered.failures:
        tell(f"{failure}; its alerts are sent next time")
    sent = send_records(history.database, outputs, folder, [KINDS["events"]])
    events = sum(one.rows for one in sent)
    return ReportedChanges(tuple(alerts), delivered.sent, delivered.suppressed, delivered.failures, events)


def never_fires(rule: RankRule, history: RankHistory) -> str:
    """Returns the reason why a rule can never fire for the current keywords, or '' if the rule can fire."""
    keywords = history.keywords()
    if rule.condition.kind == "layout":
        return ""
    if not any(rule.applies(one) for one in keywords):
        return "its scope has no keyword of the last list"
    if rule.condition.kind == "passed" and not any(one.competitors for one in keywords if rule.applies(one)):
        return "its keywords have no competitors"
    return ""
