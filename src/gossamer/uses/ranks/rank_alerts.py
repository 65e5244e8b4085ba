"""Evaluates alert rules for ranks, and delivers each alert once to each receiver.

In one transaction, `evaluate` reads new events, writes alerts to the outbox (the table `rank_deliveries`),
and marks the events as evaluated. `deliver` sends the alerts in the outbox. After a crash between sending a
notification and marking the alerts as sent, the notification is sent again. Each alert in the repeated
notification has the same label `id` as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from gossamer.client.notifications import Notification, Receivers
from gossamer.uses.alert_outbox import Delivered, RuleAlert, alert_id, deliver_alerts
from gossamer.uses.ranks.domains import shown_domain
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import Keyword, RankEvent, RankEventKind
from gossamer.uses.ranks.rules import EVENTS, STATES, RankRule, rules_of_keyword
from gossamer.uses.ranks.series import Standing, standings
from gossamer.uses.rule_files import RuleBook

_MOVES = (RankEventKind.RANK, RankEventKind.ENTERED, RankEventKind.LOST)
_EVENT = ("kind", "time", "engine", "search", "domain", "before", "after", "detail")


class RankEvaluation:
    """Evaluates all rank rules once. A RankEvaluation must be created inside a transaction."""

    def __init__(self, history: RankHistory, book: RuleBook[RankRule], now: float) -> None:
        self._database, self._now = history.database, now
        self._keywords = {(one.search.id, one.domain): one for one in history.keywords()}
        self._rules = [
            *book.rules,
            *(rule for one in self._keywords.values() for rule in rules_of_keyword(one)),
        ]
        self._standings = {(one.search, one.domain): one for one in standings(history, now=now, own=False)}
        rows = self._database.rows("SELECT rule, search, domain, value FROM rank_alerts")
        self._fired: dict[tuple[str, str, str], str] = {row[:3]: row[3] for row in rows}
        self._changed: dict[tuple[str, str, str], str | None] = {}
        self.alerts: list[RuleAlert] = []

    def run(self, events: Sequence[tuple[str, RankEvent]]) -> None:
        """Evaluates edge rules for the events, and then evaluates state rules for all positions. `events`:
        pairs of an event id and an event."""
        for number, event in events:
            if event.kind == RankEventKind.LAYOUT_DRIFT:
                self._layout(number, event)
            elif event.kind == RankEventKind.FAILING:
                self._failing(number, event)
            elif keyword := self._keywords.get((event.search, event.domain)):
                for rule in self._rules:
                    if rule.condition.kind not in STATES and rule.applies(keyword):
                        self._edge(rule, keyword, number, event)
        for key, keyword in self._keywords.items():
            if found := self._standings.get(key):
                for rule in self._rules:
                    if rule.condition.kind in STATES and rule.applies(keyword):
                        self._state(rule, keyword, found)
        self._write()

    def _write(self) -> None:
        gone = [key for key, value in self._changed.items() if value is None]
        self._database.many("DELETE FROM rank_alerts WHERE rule = ? AND search = ? AND domain = ?", gone)
        self._database.many(
            "INSERT INTO rank_alerts (rule, search, domain, since, value) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (rule, search, domain) DO UPDATE SET since = excluded.since, value = excluded.value",
            [(*key, self._now, value) for key, value in self._changed.items() if value is not None],
        )

    def _known(self, rule: RankRule, keyword: Keyword) -> str | None:
        key = (rule.key, keyword.search.id, keyword.domain)
        return self._changed[key] if key in self._changed else self._fired.get(key)

    def _remember(self, rule: RankRule, keyword: Keyword, value: str | None) -> None:
        self._changed[rule.key, keyword.search.id, keyword.domain] = value

    def _edge(self, rule: RankRule, keyword: Keyword, number: str, event: RankEvent) -> None:
        kind, limit = rule.condition.kind, rule.condition.number
        if event.kind in _MOVES and kind in ("falls", "rises", "changes", "enters", "leaves"):
            depth = self._depth(event)
            before, after = _place(event.before, depth), _place(event.after, depth)
            if kind in ("enters", "leaves"):
                inside = before <= limit, after <= limit
                if inside == ((False, True) if kind == "enters" else (True, False)):
                    word = "in" if kind == "enters" else "out of"
                    self._fire(
                        rule, keyword, number, f"{_move(event, depth)}: {word} the first {limit}", event
                    )
            else:
                self._move_edge(rule, keyword, number, event, before, after)
        elif EVENTS.get(kind) == event.kind and rule.condition.type in ("", event.detail):
            texts = {
                RankEventKind.URL: f"{event.after} stands there now, was {event.before}",
                RankEventKind.FEATURE_WON: f"is in {event.detail.replace('_', ' ')} now",
                RankEventKind.FEATURE_LOST: f"is not in {event.detail.replace('_', ' ')} any more",
            }
            self._fire(rule, keyword, number, texts[event.kind], event)

    def _move_edge(
        self, rule: RankRule, keyword: Keyword, number: str, event: RankEvent, before: int, after: int
    ) -> None:
        """Evaluates an edge rule for a change of position. A `falls` rule measures the change from the best
        position since the last alert. A `rises` rule measures the change from the worst position since the
        last alert. Several small changes can therefore add up to an alert."""
        kind, known = rule.condition.kind, self._known(rule, keyword)
        base = int(known) if known else before
        if kind == "falls":
            base, change = min(base, before), after - min(base, before)
        elif kind == "rises":
            base, change = max(base, before), max(base, before) - after
        else:
            change = abs(after - base)
        fires = change >= rule.condition.number
        if not fires and kind != "changes":
            base = min(base, after) if kind == "falls" else max(base, after)
        self._remember(rule, keyword, str(after if fires else base))
        if fires:
            depth = self._depth(event)
            text = f"{_shown(base, depth)} -> {_shown(after, depth)} ({base - after:+d})"
            self._fire(rule, keyword, number, text, event, float(after))

    def _depth(self, event: RankEvent) -> int:
        found = self._standings.get((event.search, event.domain))
        return found.depth if found else 100

    def _state(self, rule: RankRule, keyword: Keyword, found: Standing) -> None:
        kind, limit = rule.condition.kind, rule.condition.number
        if kind == "passed":
            self._passed(rule, keyword, found)
            return
        place, known = _place(found.position, found.depth), self._known(rule, keyword)
        if kind == "missing":
            holds, text = found.position is None, f"not in the first {found.depth}"
        elif kind == "below":  # after the alert fired, the limit itself counts as below
            holds, text = (
                (place > limit if known is None else place >= limit),
                f"{found.shown} is below {limit}",
            )
        else:
            holds, text = (
                (place < limit if known is None else place <= limit),
                f"{found.shown} is above {limit}",
            )
        if holds and known is None:
            self._remember(rule, keyword, str(place))
            self._fire_state(rule, keyword, found, text, float(place))
        elif not holds and known is not None:
            self._remember(rule, keyword, None)

    def _passed(self, rule: RankRule, keyword: Keyword, found: Standing) -> None:
        place = _place(found.position, found.depth)
        ahead = {}
        for rival in keyword.competitors:
            other = self._standings.get((keyword.search.id, rival))
            if other is not None and other.position is not None and other.position < place:
                ahead[rival] = other.position
        known = set((self._known(rule, keyword) or "").split())
        new = {rival: at for rival, at in ahead.items() if rival not in known}
        if set(ahead) != known:
            self._remember(rule, keyword, " ".join(sorted(ahead)) or None)
        if new:
            rivals = ", ".join(f"{shown_domain(rival)} ({at})" for rival, at in new.items())
            self._fire_state(rule, keyword, found, f"{rivals} is ahead of {found.shown}", float(place))

    def _layout(self, number: str, event: RankEvent) -> None:
        for rule in self._rules:
            if rule.condition.kind == "layout" and (not rule.engine or event.engine in rule.engine):
                self._add(
                    rule,
                    ("", ""),
                    number,
                    f"layout drift: {event.detail}",
                    event.time,
                    {"engine": event.engine},
                )
                break

    def _failing(self, number: str, event: RankEvent) -> None:
        for (search, _), keyword in self._keywords.items():
            if search == event.search:
                for rule in self._rules:
                    if rule.condition.kind == "failing" and rule.applies(keyword):
                        self._fire(rule, keyword, number, f"the check failed: {event.detail}", event)

    def _fire_state(self, rule: RankRule, keyword: Keyword, found: Standing, text: str, value: float) -> None:
        event = RankEvent(
            kind=RankEventKind.RANK,
            time=found.time,
            search=found.search,
            domain=found.domain,
            detail=found.url,
        )
        self._fire(rule, keyword, f"{self._now}", text, event, value)

    def _fire(
        self, rule: RankRule, keyword: Keyword, cause: str, text: str, event: RankEvent, value: float = 0.0
    ) -> None:
        search = keyword.search
        where = " ".join(filter(None, (search.engine, search.place if search.place != "any" else "")))
        labels = {
            "keyword": search.keyword,
            "domain": keyword.domain,
            "engine": search.engine,
            "country": search.country,
            "device": search.device,
            "url": event.detail if event.detail.startswith("http") else "",
        }
        line = f"{shown_domain(keyword.domain)}: {search.keyword} ({where}): {text}"
        self._add(rule, (search.id, keyword.domain), cause, line, event.time, labels, value)

    def _add(
        self,
        rule: RankRule,
        key: tuple[str, str],
        cause: str,
        line: str,
        at: float,
        labels: Mapping[str, str],
        value: float = 0.0,
    ) -> None:
        number = alert_id(rule.key, *key, cause)
        named = {"id": number} | {name: label for name, label in labels.items() if label}
        told = Notification(
            rule=rule.name, text=line, time=at, severity=rule.severity, labels=named, value=value
        )
        self.alerts.append(RuleAlert(number, told))


def _place(position: str | int | None, depth: int) -> int:
    """Converts a position to a number. None becomes `depth` + 1."""
    return depth + 1 if position is None else int(position)


def _shown(place: int, depth: int) -> str:
    return str(place) if place <= depth else f">{depth}"


def _move(event: RankEvent, depth: int) -> str:
    return f"{_shown(_place(event.before, depth), depth)} -> {_shown(_place(event.after, depth), depth)}"


def evaluate(
    history: RankHistory,
    book: RuleBook[RankRule],
    receivers: Iterable[str],
    clock: Callable[[], float] = time.time,
) -> list[RuleAlert]:
    """Evaluates all rules for the events since the last evaluation, and writes the alerts to the outbox for
    each receiver. Returns the new alerts."""
    database, now = history.database, clock()
    with database.transaction():
        rows = database.rows(
            f"SELECT id, {', '.join(_EVENT)} FROM rank_events WHERE alerted = 0 ORDER BY time, id"
        )
        events = [
            (row[0], RankEvent(**{**dict(zip(_EVENT, row[1:], strict=True)), "kind": RankEventKind(row[1])}))
            for row in rows
        ]
        evaluation = RankEvaluation(history, book, now)
        evaluation.run(events)
        database.many("UPDATE rank_events SET alerted = 1 WHERE id = ?", [(number,) for number, _ in events])
        database.many(
            "INSERT INTO rank_deliveries (alert, receiver, time, sent, body) VALUES (?, ?, ?, NULL, ?) "
            "ON CONFLICT (alert, receiver) DO NOTHING",
            [
                (alert.id, receiver, now, msgspec.json.encode(alert.notification).decode())
                for receiver in receivers
                for alert in evaluation.alerts
            ],
        )
    return evaluation.alerts


def deliver(
    history: RankHistory,
    book: RuleBook[RankRule],
    receivers: Receivers,
    clock: Callable[[], float] = time.time,
) -> Delivered:
    """Sends the alerts in the outbox. If sending to a receiver fails, the alerts for that receiver stay in
    the outbox."""
    return deliver_alerts(history.database, book, receivers, clock)
