"""The pure rules that turn a visit into the state of an offer."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gossamer.uses.prices.changes import (
    AGREEING_VISITS,
    ALTERNATING_VISITS,
    Offer,
    amount_text,
    compare,
    is_ready,
    release,
    rounded,
    suspicion,
    visits_needed,
)
from uses.prices.visits import seen


def offer(price: str | None = "99.90", currency: str | None = "EUR", median: str | None = None) -> Offer:
    return Offer(
        target="a",
        price=Decimal(price) if price else None,
        currency=currency,
        availability="InStock",
        median=Decimal(median) if median else None,
        since=1.0,
        first_seen=1.0,
        last_seen=9.0,
    )


@pytest.mark.parametrize(
    ("price", "currency", "reason"),
    [
        ("89.90", "EUR", ""),
        ("0", "EUR", "zero"),
        ("-5", "EUR", "zero"),
        ("9999", "EUR", "placeholder"),
        ("999.00", "EUR", "ten-times"),
        ("9.99", "EUR", "ten-times"),
        ("9990", "EUR", "ten-times"),
        ("89.90", "USD", "currency"),
        ("89.90", None, ""),
    ],
)
def test_suspicions(price: str, currency: str | None, reason: str) -> None:
    assert suspicion(offer(), seen(price=price, currency=currency)) == reason


def test_a_price_far_from_the_median_is_suspect_although_the_last_one_was_near() -> None:
    assert suspicion(offer("900", median="99.90"), seen(price="1000")) == "ten-times"
    assert suspicion(offer(), seen(price="89.90"), expected="CHF") == "currency"
    assert suspicion(offer("9999"), seen(price="9999")) == ""


def test_a_value_needs_visits_that_agree() -> None:
    one = offer()
    assert compare(one, seen(time=10, price="89.90")).new_amount == "EUR 89.90"
    held = one.held["price"]
    assert not is_ready(one, "price")
    assert compare(one, seen(time=11, price="89.90")).agreed == ("price",)
    assert (held.seen, held.needed, held.since) == (2, AGREEING_VISITS, 10)
    assert is_ready(one, "price")
    assert not is_ready(one, "price", 4)
    assert one.price == Decimal("99.90")


def test_a_short_past_needs_more_visits_in_a_doubtful_shop() -> None:
    for days, needed in ((0, 19), (1, 18), (3, 16), (5, 14), (30, 14)):
        one = offer()
        compare(one, seen(time=2.0 + days * 86_400, price="89.90"))
        assert visits_needed(one, "price", 14) == needed
        assert visits_needed(one, "price", 4) == 4
        assert visits_needed(one, "price") == AGREEING_VISITS


def test_a_contradicted_value_needs_many_visits_for_a_week() -> None:
    one = offer()
    compare(one, seen(time=10, price="89.90"))
    assert compare(one, seen(time=11)).contradicted == ("price",)
    assert one.held == {}
    compare(one, seen(time=12, price="89.90"))
    assert (one.held["price"].reason, one.held["price"].needed) == ("alternates", ALTERNATING_VISITS)
    compare(one, seen(time=13))
    compare(one, seen(time=13 + 8 * 86_400, price="89.90"))
    assert one.held["price"].needed == AGREEING_VISITS


def test_a_glitch_does_not_disturb_what_is_held() -> None:
    one = offer()
    for time, price in ((10, "89.90"), (11, "0"), (12, "89.90")):
        compare(one, seen(time=time, price=price))
    assert (one.held["price"].value, one.held["price"].seen) == ("EUR 89.90", 2)


def test_a_glitch_near_the_old_price_does_not_drop_what_is_held() -> None:
    one = offer("334.85")
    for time, price in ((10, "435.30"), (11, "435.30"), (12, "43.53"), (13, "435.30")):
        compare(one, seen(time=time, price=price))
    assert (one.held["price"].value, one.held["price"].seen) == ("EUR 435.30", 3)


def test_a_suspect_price_that_stays_replaces_what_is_held() -> None:
    one = offer()
    for time, price in ((10, "89.90"), (11, "0"), (12, "0"), (13, "0")):
        compare(one, seen(time=time, price=price))
    assert (one.held["price"].value, one.held["price"].seen) == ("EUR 0", 2)


def test_a_glitch_does_not_make_a_wrong_first_price_right() -> None:
    one = offer("9.99")
    one.first_seen = one.last_seen = 1.0
    for time, price in ((10, "99.90"), (11, "9999"), (12, "99.90")):
        compare(one, seen(time=time, price=price))
        one.last_seen = time
    assert (one.held["price"].value, one.held["price"].reason) == ("EUR 99.90", "baseline")
    assert release(one, ["price"]) == []
    assert one.price == Decimal("99.90")


def test_one_more_visit_does_not_make_a_wrong_first_price_right() -> None:
    one = offer("9.99")
    one.first_seen = one.last_seen = 1.0
    for time, price in ((10, "99.90"), (11, "99.90"), (12, "99.90"), (13, "9.99"), (14, "99.90")):
        compare(one, seen(time=time, price=price))
        one.last_seen = time
    assert (one.held["price"].seen, one.held["price"].reason) == (4, "baseline")
    for time in (15, 16):
        compare(one, seen(time=time, price="9.99"))
    assert one.held == {}


def test_fields_are_held_for_themselves() -> None:
    one = offer()
    compare(one, seen(time=10, price="89.90", availability="OutOfStock"))
    compare(one, seen(time=11, price="89.90"))
    assert list(one.held) == ["price"]


def test_a_currency_that_only_one_visit_shows_is_no_change() -> None:
    one = offer(currency=None)
    compare(one, seen(time=10))
    assert one.held == {}
    two = offer()
    compare(two, seen(time=10, currency=None))
    assert two.held == {}


@pytest.mark.parametrize(
    ("amount", "text"),
    [("99.9", "99.90"), ("100.00", "100"), ("1E+3", "1000"), ("0.125", "0.125"), ("-1.5", "-1.50")],
)
def test_amounts_as_text(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text


def test_amounts_fit_into_the_database() -> None:
    assert rounded(Decimal("12345678901234567.89")) == Decimal("12345678901234600")
    assert rounded(Decimal("NaN")) is None
    assert rounded(Decimal("99.90")) == Decimal("99.90")
