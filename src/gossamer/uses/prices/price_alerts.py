"""Evaluates rules, and delivers each alert once to each receiver.

`evaluate` runs in one transaction: it reads new events, writes the alerts into the outbox
(`price_deliveries`), and marks the events. `deliver` sends the alerts in the outbox. If the process crashes
after sending a notification and before marking the notification as sent, the notification is sent again. Each
alert in the repeated notification has the same label `id` as before.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from gossamer.client.notifications import Notification, Receivers
from gossamer.uses.alert_outbox import Delivered, RuleAlert, alert_id, deliver_alerts
from gossamer.uses.prices import offer_rows, series
from gossamer.uses.prices.changes import UNAVAILABLE, Offer, amount_text
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Event, EventKind, PriceTarget
from gossamer.uses.prices.product_groups import read_groups
from gossamer.uses.prices.rules import STATES, PriceRule, rules_of_targets
from gossamer.uses.rule_files import RuleBook

DAY_S = offer_rows.DAY_S
FAKE_TOLERANCE = Decimal("1.005")
"""A discount counts as fake if the regular price exceeds the lowest earlier price multiplied by this
factor."""
_PRICE_KINDS = ("falls", "rises", "changes")
_EVENT_KINDS = {
    EventKind.SELLER: "seller",
    EventKind.CURRENCY: "currency",
    EventKind.GONE: "gone",
    EventKind.MOVED: "moved",
    EventKind.SHOP_REDESIGNED: "shop",
    EventKind.SHOP_AWAY: "shop",
}


class _Fired(NamedTuple):
    rule: str
    target: str
    variant: str
    state: str
    since: float
    value: str


class Evaluation:
    """One evaluation of all rules. Must be created inside a transaction."""

    def __init__(self, history: History, book: RuleBook[PriceRule], now: float) -> None:
        self._database, self._now = history.database, now
        self._targets = {target.key: target for target in history.targets()}
        own, _ = rules_of_targets(self._targets.values())
        self._general = list(book.rules)
        self._own: dict[str, list[PriceRule]] = defaultdict(list)
        for rule in own:
            self._own[next(iter(rule.target))].append(rule)
        rows = self._database.rows("SELECT rule, target, variant, state, since, value FROM price_alerts")
        self._fired = {row[:3]: _Fired(*row) for row in rows}
        self._changed: dict[tuple[str, str, str], _Fired | None] = {}
        self.alerts: list[RuleAlert] = []

    def run(self, events: Sequence[tuple[str, Event]]) -> None:
        """Evaluates the edge rules for the events, and then the state rules for all offers. `events`: pairs
        of an event's id and the event."""
        offers = offer_rows.read_offers(self._database, "WHERE gone = 0") if self._any_rules() else []
        by_key = {(offer.target, offer.variant): offer for offer in offers}
        for number, event in events:
            if not event.target:
                self._shop_event(number, event)
            elif target := self._targets.get(event.target):
                for rule in self._rules(target):
                    if rule.condition.kind not in STATES:
                        self._edge(rule, target, number, event, by_key.get((event.target, event.variant)))
        for offer in offers:
            if (target := self._targets.get(offer.target)) and offer.state == "priced":
                for rule in self._rules(target):
                    if rule.condition.kind in STATES:
                        self._state(rule, target, offer)
        cheapest = [
            rule
            for rule in (*self._general, *(one for own in self._own.values() for one in own))
            if rule.condition.kind == "cheapest"
        ]
        groups = read_groups(self._database) if cheapest else {}
        for rule in cheapest:
            self._cheapest(rule, groups)
        self._write()

    def _any_rules(self) -> bool:
        return bool(self._general or self._own)

    def _rules(self, target: PriceTarget) -> list[PriceRule]:
        return [rule for rule in self._general if rule.applies(target)] + self._own.get(target.key, [])

    def _write(self) -> None:
        self._database.many(
            "DELETE FROM price_alerts WHERE rule = ? AND target = ? AND variant = ?",
            [key for key, fired in self._changed.items() if fired is None],
        )
        self._database.many(
            "INSERT INTO price_alerts (rule, target, variant, state, since, value) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (rule, target, variant) DO UPDATE SET state = excluded.state, since = excluded.since, "
            "value = excluded.value",
            [fired for fired in self._changed.values() if fired is not None],
        )

    def _known(self, rule: PriceRule, target: str, variant: str) -> _Fired | None:
        key = (rule.key, target, variant)
        return self._changed[key] if key in self._changed else self._fired.get(key)

    def _remember(self, rule: PriceRule, target: str, variant: str, value: str) -> None:
        fired = _Fired(rule.key, target, variant, "firing", self._now, value)
        self._changed[rule.key, target, variant] = fired

    def _edge(
        self, rule: PriceRule, target: PriceTarget, number: str, event: Event, offer: Offer | None
    ) -> None:
        kind = rule.condition.kind
        if rule.condition.in_stock and (offer is None or offer.availability in UNAVAILABLE):
            return
        if kind in _PRICE_KINDS:
            if event.kind == EventKind.PRICE and event.before and event.after:
                self._price_edge(rule, target, number, event)
        elif event.kind == EventKind.AVAILABILITY:
            was, now = (value in UNAVAILABLE for value in (event.before, event.after))
            if was != now and kind == ("out-of-stock" if now else "back-in-stock"):
                text = f"is {event.after}, was {event.before or 'not stated'}"
                self._fire(rule, target, event.variant, number, text, event)
        elif _EVENT_KINDS.get(event.kind) == kind:
            self._fire(rule, target, event.variant, number, f"{kind}: {event.before} -> {event.after}", event)

    def _price_edge(self, rule: PriceRule, target: PriceTarget, number: str, event: Event) -> None:
        """Evaluates an edge rule for a price event. A rule `falls` compares the new price with the highest
        price since the last alert. A rule `rises` compares the new price with the lowest price since the last
        alert. A rule `changes` compares the new price with the price of the last alert. Several small price
        changes can therefore fire a rule."""
        condition = rule.condition
        if condition.currency and condition.currency != event.currency:
            return
        before, after = Decimal(event.before or 0), Decimal(event.after or 0)
        known = self._known(rule, target.key, event.variant)
        currency, _, value = known.value.rpartition(" ") if known else ("", "", "")
        base = Decimal(value) if value and currency == (event.currency or "") else before
        if condition.kind == "falls":
            base, change = max(base, before), max(base, before) - after
        elif condition.kind == "rises":
            base, change = min(base, before), after - min(base, before)
        else:
            change = abs(after - base)
        fires = change > 0 and change >= rule.least_change(base)
        if not fires and condition.kind != "changes":
            base = max(base, after) if condition.kind == "falls" else min(base, after)
        self._remember(rule, target.key, event.variant, f"{event.currency or ''} {after if fires else base}")
        if fires:
            text = f"{amount_text(base)} -> {amount_text(after)} {event.currency or ''}".strip()
            percent = (after / base - 1) * 100 if base else Decimal(0)
            self._fire(rule, target, event.variant, number, f"{text} ({percent:+.1f}%)", event, float(after))

    def _state(self, rule: PriceRule, target: PriceTarget, offer: Offer) -> None:
        condition = rule.condition
        price = offer.unit_price if condition.kind == "unit-below" else offer.price
        if price is None or (condition.currency and condition.currency != offer.currency):
            return
        known = self._known(rule, target.key, offer.variant)
        holds, text = self._holds(rule, target, offer, price, known is not None)
        if holds and condition.in_stock and offer.availability in UNAVAILABLE:
            holds = False
        if holds and known is None:
            self._remember(rule, target.key, offer.variant, str(price))
            event = Event(kind=EventKind.PRICE, time=offer.since, target=offer.target, shop=offer.shop)
            self._fire(rule, target, offer.variant, f"{self._now}", text, event, float(price))
        elif not holds and known is not None:
            self._changed[rule.key, target.key, offer.variant] = None

    def _holds(
        self, rule: PriceRule, target: PriceTarget, offer: Offer, price: Decimal, fired: bool
    ) -> tuple[bool, str]:
        """Returns whether a state rule holds, and the text of the alert. If the rule has already fired, the
        hysteresis of the rule shifts the limit."""
        condition, shown = rule.condition, f"{amount_text(price)} {offer.currency or ''}".strip()
        if condition.kind == "fake-discount":
            return self._fake_discount(offer, price)
        if condition.kind == "lowest":
            found = series.read_statistics(
                self._database,
                offer.target,
                offer.variant,
                now=self._now,
                days=float(condition.number or series.PERIOD_DAYS),
            )
            lowest = found.changes > 0 and found.lowest == price
            return lowest, f"{shown} is the lowest of {condition.number} days"
        limit = target.minimum if condition.kind == "below-minimum" else condition.number
        if limit is None:
            return False, ""
        slack = rule.hysteresis.of(limit) if fired else Decimal(0)
        if condition.kind == "above":
            return price > limit - slack, f"{shown} is above {amount_text(limit)}"
        unit = f" per {offer.unit}" if condition.kind == "unit-below" and offer.unit else ""
        name = "the minimum of " if condition.kind == "below-minimum" else ""
        return price < limit + slack, f"{shown}{unit} is below {name}{amount_text(limit)}"

    def _fake_discount(self, offer: Offer, price: Decimal) -> tuple[bool, str]:
        """Returns whether the regular price is above the lowest price of the 30 days before the reduction,
        and the text of the alert. The result True is correct even if the history is shorter than 30 days,
        because missing prices can only lower the lowest price."""
        was = offer.regular_price
        if was is None or was <= price:
            return False, ""
        lowest = series.lowest_before(series.read_series(self._database, offer.target, offer.variant))
        if lowest is None or was <= lowest * FAKE_TOLERANCE:
            return False, ""
        return True, (
            f"{amount_text(price)} {offer.currency or ''} instead of {amount_text(was)}, but the lowest price of the "
            f"{series.PERIOD_DAYS} days before was {amount_text(lowest)}"
        )

    def _cheapest(self, rule: PriceRule, groups: Mapping[str, str]) -> None:
        """Fires for each product whose cheapest shops are not the same as in the last evaluation. `groups`:
        see `read_groups`."""
        keys = [next(iter(rule.target))] if len(rule.target) == 1 else groups
        products = {
            groups[key]
            for key in keys
            if key in groups and (one := self._targets.get(key)) and rule.applies(one)
        }
        for product in sorted(products):
            market = [one for one in series.read_market(self._database, product) if one.rank is not None]
            if len({one.target for one in market}) < 2:
                continue
            best = [one for one in market if one.rank == 1 and one.currency == market[0].currency]
            shops = ", ".join(sorted({one.shop for one in best}))
            known = self._known(rule, product, "")
            if known and known.value == shops:
                continue
            self._remember(rule, product, "", shops)
            if known and (target := self._targets.get(best[0].target)):
                text = f"{shops} is the cheapest now, was {known.value}: {amount_text(best[0].price)}"
                event = Event(kind=EventKind.PRICE, time=self._now, target=target.key, shop=best[0].shop)
                self._fire(rule, target, "", f"{self._now}", text, event, float(best[0].price or 0))

    def _shop_event(self, number: str, event: Event) -> None:
        for rule in self._general:
            if rule.condition.kind != "shop" or event.kind == EventKind.SHOP_BACK:
                continue
            if not rule.shop or event.shop in rule.shop:
                target = PriceTarget(key="", url="", shop=event.shop)
                self._fire(rule, target, "", number, f"{event.after}: {event.detail}", event)

    def _fire(
        self,
        rule: PriceRule,
        target: PriceTarget,
        variant: str,
        cause: str,
        text: str,
        event: Event,
        value: float = 0.0,
    ) -> None:
        number = alert_id(rule.key, target.key, variant, cause)
        name = target.name or target.product or target.key
        labels = {
            "id": number,
            "shop": target.shop,
            "product": target.product,
            "target": target.key,
            "variant": variant,
            "url": target.url,
        }
        self.alerts.append(
            RuleAlert(
                number,
                Notification(
                    rule=rule.name,
                    text=f"{target.shop}: {name + ': ' if name else ''}{text}",
                    time=event.time,
                    severity=rule.severity,
                    labels={key: label for key, label in labels.items() if label},
                    value=value,
                ),
            )
        )


def evaluate(
    history: History,
    book: RuleBook[PriceRule],
    receivers: Iterable[str],
    clock: Callable[[], float] = time.time,
) -> list[RuleAlert]:
    """Evaluates all rules for the events since the last evaluation, and puts the alerts into the outbox of
    each receiver. Returns the alerts of this evaluation."""
    database, now = history.database, clock()
    with database.transaction():
        rows = database.rows(
            "SELECT id, kind, time, target, variant, shop, before, after, currency, detail FROM price_events "
            "WHERE alerted = 0 ORDER BY time, id"
        )
        names = ("kind", "time", "target", "variant", "shop", "before", "after", "currency", "detail")
        events = [
            (row[0], Event(**{**dict(zip(names, row[1:], strict=True)), "kind": EventKind(row[1])}))
            for row in rows
        ]
        evaluation = Evaluation(history, book, now)
        evaluation.run(events)
        database.many("UPDATE price_events SET alerted = 1 WHERE id = ?", [(number,) for number, _ in events])
        database.many(
            "INSERT INTO price_deliveries (alert, receiver, day, time, sent, body) VALUES (?, ?, ?, ?, NULL, ?) "
            "ON CONFLICT (alert, receiver) DO NOTHING",
            [
                (alert.id, receiver, int(now // DAY_S), now, msgspec.json.encode(alert.notification).decode())
                for receiver in receivers
                for alert in evaluation.alerts
            ],
        )
    return evaluation.alerts


def deliver(
    history: History, book: RuleBook[PriceRule], receivers: Receivers, clock: Callable[[], float] = time.time
) -> Delivered:
    """Sends the alerts in the outbox. If sending to a receiver fails, its alerts stay in the outbox."""
    return deliver_alerts(history.database, book, receivers, clock)
