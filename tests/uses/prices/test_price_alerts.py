"""Price rules over a history, and the delivery of their alerts to a real receiver, once each."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from gossamer.client.notifications import Receivers
from gossamer.uses.alert_outbox import Delivered, RuleAlert
from gossamer.uses.prices.history import History
from gossamer.uses.prices.match_offers import decide
from gossamer.uses.prices.model import Observation, OfferState
from gossamer.uses.prices.price_alerts import deliver, evaluate
from gossamer.uses.prices.product_groups import read_groups
from gossamer.uses.prices.rules import PriceRule, never_fires, parse_rules
from gossamer.uses.rule_files import RuleBook
from support.web_receiver import Receiver, receiving
from uses.prices.visits import failed, run, seen, target

KEYS = ["a", "b"]


def book(when: str, more: str = "") -> RuleBook[PriceRule]:
    return parse_rules(f'[rules.r]\nwhen = "{when}"\n{more}')


class Watch:
    """A history in which the test sets the values of target `a`."""

    def __init__(self, history: History, clock: Any, found: RuleBook[PriceRule], **values: Any) -> None:
        self.history, self.clock, self.rules = history, clock, found
        history.list_targets([target(key, product="p", shop=f"{key}.example", **values) for key in KEYS])

    def day(self, price: str | None = "100", **values: Any) -> list[str]:
        """Makes a run and returns the texts of its alerts."""
        return [alert.notification.text for alert in self.alerts(price, **values)]

    def alerts(self, price: str | None = "100", **values: Any) -> list[RuleAlert]:
        def visit(key: str, time: float, confirming: bool) -> list[Observation]:
            if key == "a" and "state" in values:
                return [failed(key, time, confirming=confirming, **values)]
            shown = values if key == "a" else {}
            return [seen(key, time, price if key == "a" else "100", confirming=confirming, **shown)]

        run(self.history, self.clock, KEYS, visit)
        return evaluate(self.history, self.rules, ["hook"], self.clock)


def test_below_fires_at_first_sight_and_again_only_after_it_was_false(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("below 99.90"))
    assert watch.day("90") == ["a.example: p: 90 EUR is below 99.90"]
    assert watch.day("85") == []
    assert watch.day("100.20") == []  # within the hysteresis
    assert watch.day("90") == []
    assert watch.day("120") == []
    assert watch.day("99.89") == ["a.example: p: 99.89 EUR is below 99.90"]


def test_above_and_the_currency_of_a_rule(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("above 110 EUR"))
    assert watch.day("120", currency="USD") == []
    assert watch.day("115", currency="EUR") == ["a.example: p: 115 EUR is above 110"]


def test_in_stock_is_part_of_the_condition(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("below 99 and in stock"))
    assert watch.day("90", availability="OutOfStock") == []
    assert watch.day("90") == ["a.example: p: 90 EUR is below 99"]


def test_falls_adds_small_steps_up(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("falls 5%"))
    assert watch.day("100") == []
    assert watch.day("98") == []
    assert watch.day("96") == []
    assert watch.day("94.50") == ["a.example: p: 100 -> 94.50 EUR (-5.5%)"]
    assert watch.day("92") == []
    assert watch.day("80") == ["a.example: p: 94.50 -> 80 EUR (-15.3%)"]
    assert watch.day("100") == []


def test_rises_by_an_amount(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("rises 2.00"))
    watch.day("100")
    assert watch.day("101.99") == []
    assert watch.day("90") == []
    assert watch.day("93") == ["a.example: p: 90 -> 93 EUR (+3.3%)"]


def test_changes_needs_the_least_change(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("changes"))
    watch.day("100")
    assert watch.day("100.90") == []
    assert watch.day("101.50") == ["a.example: p: 100 -> 101.50 EUR (+1.5%)"]


def test_stock_rules(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("back in stock", '[rules.s]\nwhen = "out of stock"\n'))
    assert watch.day() == []
    assert watch.day(availability="LimitedAvailability") == []
    assert watch.day(availability="OutOfStock") == ["a.example: p: is OutOfStock, was LimitedAvailability"]
    assert watch.day(availability="InStock") == ["a.example: p: is InStock, was OutOfStock"]


def test_cheapest_changes_once(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("cheapest changes"))
    assert watch.day("110") == []
    assert watch.day("90") == ["a.example: p: a.example is the cheapest now, was b.example: 90"]
    assert watch.day("89") == []


def test_cheapest_changes_for_matched_offers_and_for_a_rule_of_a_target(history: History, clock: Any) -> None:
    watch = Watch(history, clock, RuleBook[PriceRule]())
    one, other = (target(key, shop=f"{key}.example") for key in KEYS)
    history.list_targets([msgspec.structs.replace(one, rules=("cheapest changes",)), other])
    general = book("cheapest changes")
    decide(history, [("a", "b", "same")], clock())
    assert [
        never_fires(rule, history.targets(), read_groups(history.database)) for rule in general.rules
    ] == [""]
    watch.day("110")
    watch.rules = general
    assert watch.day("110") == []
    text = "a.example: a: a.example is the cheapest now, was b.example: 90"
    assert watch.day("90") == [text, text]


def test_an_offer_without_a_stated_stock_goes_out_of_stock(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("back in stock", '[rules.s]\nwhen = "out of stock"\n'))
    assert watch.day(availability=None) == []
    assert watch.day(availability="OutOfStock") == ["a.example: p: is OutOfStock, was not stated"]
    assert watch.day(availability="InStock") == ["a.example: p: is InStock, was OutOfStock"]


def test_below_minimum(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("below minimum"), minimum=Decimal(95))
    assert watch.day("96") == []
    assert watch.day("94") == ["a.example: p: 94 EUR is below the minimum of 95"]


def test_fake_discount_compares_with_the_own_history(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("fake discount"))
    watch.day("80")
    watch.day("100")
    assert watch.day("85", regular_price=Decimal(100)) == [
        "a.example: p: 85 EUR instead of 100, but the lowest price of the 30 days before was 80"
    ]
    assert watch.day("85", regular_price=Decimal(100)) == []


def test_an_honest_discount_is_no_fake(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("fake discount"))
    watch.day("100")
    assert watch.day("85", regular_price=Decimal(100)) == []


def test_unit_price(history: History, clock: Any) -> None:
    watch = Watch(history, clock, book("unit price below 2.50"))
    assert watch.day("100", unit_price=Decimal("2.40"), unit="kg") == [
        "a.example: p: 2.40 EUR per kg is below 2.50"
    ]


def test_gone_and_rules_of_the_target_alone(history: History, clock: Any) -> None:
    watch = Watch(history, clock, RuleBook[PriceRule](), rules=("gone",))
    watch.day()
    assert watch.day(state=OfferState.GONE) == ["a.example: p: gone: priced -> gone"]
    assert watch.day(state=OfferState.GONE) == []


def test_a_shop_that_breaks(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in "abcd"])
    run(history, clock, "abcd", lambda key, time, _: [seen(key, time)])
    run(history, clock, "abcd", lambda key, time, _: [failed(key, time)])
    (alert,) = evaluate(history, book("shop breaks"), [], clock)
    assert alert.notification.text == "shop.example: away: 4 of 4 pages lost their values: 4 are empty"


def fill(history: History, clock: Any, count: int, when: str = "below 200") -> None:
    """Creates one pending alert per target."""
    history.list_targets([target(f"t{number}") for number in range(count)])
    keys = [f"t{number}" for number in range(count)]
    run(history, clock, keys, lambda key, time, _: [seen(key, time)])
    assert len(evaluate(history, book(when), [NAME], clock)) == count


NAME = ""


@pytest.fixture
def hook(history: History, clock: Any) -> Any:
    """A receiver that refuses the first request and accepts all others."""
    global NAME
    with receiving([500, 200]) as found:
        NAME = Receivers([found.url]).names[0]
        yield found


def texts(hook: Receiver) -> list[list[str]]:
    return [[one["labels"]["target"] for one in json.loads(call.body)["alerts"]] for call in hook.calls]


def test_alerts_are_sent_once_also_after_a_refusal(history: History, clock: Any, hook: Receiver) -> None:
    fill(history, clock, 3)
    receivers = Receivers([hook.url])
    failed_once = deliver(history, RuleBook[PriceRule](), receivers, clock)
    assert failed_once.sent == 0
    assert "answers 500" in failed_once.failures[0]
    assert deliver(history, RuleBook[PriceRule](), receivers, clock) == Delivered(3, 0, ())
    assert deliver(history, RuleBook[PriceRule](), receivers, clock) == Delivered(0, 0, ())
    assert evaluate(history, book("below 200"), [NAME], clock) == []
    assert [sorted(one) for one in texts(hook)] == [["t0", "t1", "t2"]] * 2
    body = json.loads(hook.calls[1].body)
    assert body["alerts"][0]["alert"] == "r"
    assert "runbook" not in body["alerts"][0]
    assert body["alerts"][0]["labels"]["shop"] == "shop.example"


def test_a_daily_cap_counts_what_it_leaves_out(history: History, clock: Any, hook: Receiver) -> None:
    hook.statuses = [200]
    fill(history, clock, 5)
    capped = RuleBook[PriceRule](digest="off", max_per_day=2)
    receivers = Receivers([hook.url])
    assert deliver(history, capped, receivers, clock) == Delivered(2, 3, ())
    assert [len(one) for one in texts(hook)] == [1, 1]
    clock.now += 86_400
    fill(history, clock, 1, "above 5")
    assert deliver(history, capped, receivers, clock).sent == 1
    assert json.loads(hook.calls[-1].body)["suppressed"] == 3


def test_a_digest_a_day(history: History, clock: Any, hook: Receiver) -> None:
    hook.statuses = [200]
    fill(history, clock, 2)
    daily = RuleBook[PriceRule](digest="day")
    receivers = Receivers([hook.url])
    assert deliver(history, daily, receivers, clock).sent == 2
    evaluate(history, book("above 5"), [NAME], clock)
    assert deliver(history, daily, receivers, clock).sent == 0
    clock.now += 86_400
    assert deliver(history, daily, receivers, clock).sent > 0
