"""Change rates estimated from irregular visits. The estimate finds the true rate, and the prior fits the
pages."""

from __future__ import annotations

import math
import random

import pytest

from gossamer.recrawl.change_rate import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    ChangeHistory,
    Prior,
    fit_prior,
    host_prior,
)


def visited(rate: float, visits: int, gap: float, rng: random.Random, prior: Prior) -> ChangeHistory:
    """Returns the history of a page that changes at the given rate and is visited at irregular times."""
    history = ChangeHistory()
    for _ in range(visits):
        days = gap * rng.uniform(0.2, 1.8)
        history = history.observe(days, rng.random() > 2.718281828 ** (-rate * days), prior)
    return history


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
def test_the_estimate_finds_the_rate(rate: float) -> None:
    rng, prior = random.Random(1), Prior(2 * rate, 0.5)
    found = [prior.rate(visited(rate, 300, 1.0, rng, prior)) for _ in range(40)]
    assert 0.8 * rate < sum(found) / len(found) < 1.25 * rate


def test_a_page_without_visits_has_the_rate_of_the_others() -> None:
    assert Prior(0.3, 2.0).rate(ChangeHistory()) == pytest.approx(0.3)


def test_old_visits_count_less() -> None:
    prior, history = Prior(0.05, 1.0), ChangeHistory()
    for _ in range(200):
        history = history.observe(1.0, True, prior)
    busy = prior.rate(history)
    for _ in range(60):
        history = history.observe(1.0, False, prior)
    assert prior.rate(history) < busy / 3


@pytest.mark.parametrize(
    ("rates", "strength"), [((0.1,), MAX_STRENGTH), ((0.001, 0.001, 0.001, 3.0), MIN_STRENGTH)]
)
def test_pages_that_are_alike_give_a_strong_prior(rates: tuple[float, ...], strength: float) -> None:
    rng = random.Random(2)
    pages = [visited(rates[j % len(rates)], 60, 1.0, rng, Prior(0.1, 1.0)) for j in range(200)]
    assert fit_prior(pages).strength == pytest.approx(strength, rel=0.7)


def test_a_prior_without_data_stays() -> None:
    assert fit_prior([ChangeHistory()], Prior(0.2, 3.0)) == Prior(0.2, 3.0)


def test_a_host_with_much_data_has_its_own_mean() -> None:
    crawl = Prior(0.1, 1.0)
    assert host_prior(crawl, 0.0, 0.0).mean == pytest.approx(0.1)
    assert host_prior(crawl, 1000.0, 100.0).mean > 6


def test_stale_time_is_measured_without_bias_while_little_is_known() -> None:
    """Pages whose rates have a gamma distribution are visited three times. The stale time estimated from the
    visits that found a change is compared with the true stale time."""
    rng, prior = random.Random(3), Prior(1.0, 1.0)
    true, measured = 0.0, 0.0
    for _ in range(20_000):
        rate, history = rng.gammavariate(1.0, 1.0), ChangeHistory()
        for gap in (0.5, 2.0, 4.0):
            first = rng.expovariate(rate)
            true += max(0.0, gap - first)
            measured += prior.stale_days(history, gap) if first < gap else 0.0
            x = prior.rate(history) * gap
            found = history.changes + (x / -math.expm1(-x) if first < gap else 0.0)
            history = ChangeHistory(found, history.days + gap)
    assert measured == pytest.approx(true, rel=0.03)


def test_stale_time_of_extreme_gaps() -> None:
    assert Prior(1e-9, 1.0).stale_days(ChangeHistory(), 2.0) == 1.0
    assert Prior(1e4, 8.0).stale_days(ChangeHistory(), 2.0) == pytest.approx(2.0, rel=1e-3)
    assert 0 < Prior(1.0, 2.0).stale_days(ChangeHistory(-1.0, 0.0), 1.0) <= 1.0
