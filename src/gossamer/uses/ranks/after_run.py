"""The steps after a run: evaluates the rules, sends alerts, and sends the events to outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.client.notifications import receivers_of_settings
from gossamer.uses.alert_outbox import ReportedChanges
from gossamer.uses.event_outbox import send_events
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.rank_alerts import deliver, evaluate
from gossamer.uses.ranks.rules import RankRule, read_rules
from gossamer.uses.rule_files import RuleBook

_COLUMNS = (
    *("e.kind", "e.time", "e.engine", "e.search", "e.domain", "e.before", "e.after", "e.detail"),
    *("s.keyword", "s.country", "s.language", "s.location", "s.device"),
)
"""The columns of the events that outputs get."""


def report_changes(
    history: RankHistory,
    *,
    rules: str | None,
    outputs: Sequence[str] = (),
    folder: str,
    options: Mapping[str, Any],
    tell: Callable[[str], None],
) -> ReportedChanges:
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
    searches = "LEFT JOIN rank_searches s ON s.id = e.search"
    sent = send_events(history.database, outputs, folder, _COLUMNS, searches)
    return ReportedChanges(tuple(alerts), delivered.sent, delivered.suppressed, delivered.failures, sent)


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
