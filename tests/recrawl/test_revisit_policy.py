"""Revisit intervals and prices. The budget is met, no page starves, and hosts that are limited by politeness
have a price of their own."""

from __future__ import annotations

import math

import pytest

from gossamer.recrawl.revisit_policy import (
    Bounds,
    HostLoad,
    Sample,
    SignalRecord,
    gone_interval,
    interval,
    needed_visits,
    signal_age,
    solve_price,
    solve_prices,
    spread_interval,
    stale_share,
    uniform_visits,
    unkept_window,
)

WIDE = Bounds(0.0, 1e9)
RATES = [0.001, 0.01, 0.1, 1.0, 10.0]


@pytest.mark.parametrize("rate", [1e-4, 0.01, 1.0, 50.0])
@pytest.mark.parametrize("price", [1e-6, 0.01, 1.0, 30.0])
def test_an_interval_solves_the_equation_of_the_policy(rate: float, price: float) -> None:
    days = interval(rate, price, 1.0, WIDE)
    assert days + math.expm1(-rate * days) / rate == pytest.approx(price, rel=1e-4)


def test_pages_that_change_more_come_sooner_and_none_starves() -> None:
    found = [interval(rate, 1.0) for rate in RATES]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 1.0
    assert interval(1.0, 1.0, weight=5.0) < interval(1.0, 1.0) / 2


@pytest.mark.parametrize("visits", [1.0, 20.0, 300.0])
def test_the_price_meets_the_budget(visits: float) -> None:
    sample = [Sample(rate) for rate in RATES]
    price = solve_price(sample, 100, visits, WIDE)
    assert needed_visits(sample, 100, price, WIDE) == pytest.approx(visits, rel=1e-3)


def test_a_host_that_is_bound_by_politeness_leaves_its_share_to_the_others() -> None:
    sample = [Sample(1.0)]
    hosts = {"slow": HostLoad(1000, sample, 50.0), "fast": HostLoad(1000, sample, math.inf)}
    price, own = solve_prices(hosts, 400.0, WIDE)
    assert own.keys() == {"slow"}
    assert needed_visits(sample, 1000, own["slow"], WIDE) == pytest.approx(50, rel=0.01)
    assert needed_visits(sample, 1000, price, WIDE) == pytest.approx(350, rel=0.01)


def test_bounds_hold_with_jitter() -> None:
    assert interval(1e-5, 1e6, 1.0, Bounds(1.0, 30.0)) == 30.0
    assert interval(100.0, 1e-9, 1.0, Bounds(1.0, 30.0)) == 1.0
    found = [spread_interval(30.0, f"https://a.example/{n}", 3, 30.0) for n in range(500)]
    assert 28.4 < min(found) < 28.8
    assert max(found) == 30.0


def test_gone_pages_back_off_and_are_dropped() -> None:
    assert [gone_interval(1.0, n) for n in (1, 2, 3)] == [2.0, 4.0, None]


def test_a_window_that_cannot_be_kept_is_named_by_its_visits() -> None:
    assert unkept_window(1000, 1.0, 999.0) == 1000.0
    assert unkept_window(1000, 1.0, 1000.0) is None


def test_a_reliable_signal_counts_more_than_a_false_one() -> None:
    good = signal_age(SignalRecord(100, 95, 5, 3000))
    bad = signal_age(SignalRecord(100, 5, 5, 3000))
    assert good > 10 * bad > 0


def test_staleness() -> None:
    assert stale_share(1e-9, 1.0) == pytest.approx(5e-10)
    assert stale_share(1000.0, 1.0) == pytest.approx(1.0, abs=0.002)
    equal = sum(stale_share(rate, 7.0) for rate in RATES) / len(RATES)
    assert uniform_visits(RATES, 700, equal) == pytest.approx(100, rel=1e-3)
