"""Pace as a table of values."""

from __future__ import annotations

import pytest

from gossamer.politeness.pace import Delay, Pace, after, delay, exhausted, parse


@pytest.mark.parametrize(
    ("before", "elapsed", "slow", "then"),
    [
        (Pace(), 0.4, False, Pace(0.4)),
        (Pace(0.4), 0.9, False, Pace(0.5)),
        (Pace(0.4), 0.9, True, Pace(0.4, 1)),
        (Pace(0.4, 1, 19), 0.9, True, Pace(0.4, 2)),
        (Pace(0.4, 2, 3), 0.4, False, Pace(0.4, 2, 4)),
        (Pace(0.4, 2, 19), 0.4, False, Pace(0.4, 1)),
        (Pace(0.4, 1, 19), 0.4, False, Pace(0.4)),
        (Pace(0.4, 24), 0.4, True, Pace(0.4, 24)),
    ],
)
def test_an_answer_moves_the_pace(before: Pace, elapsed: float, slow: bool, then: Pace) -> None:
    found = after(before, elapsed, slow)
    assert (round(found.mean, 6), found.doublings, found.good) == (then.mean, then.doublings, then.good)


@pytest.mark.parametrize(
    ("pace", "fixed", "seconds"),
    [
        (Pace(), None, 0.25),
        (Pace(0.05), None, 0.25),
        (Pace(0.5), None, 1.0),
        (Pace(40), None, 30.0),
        (Pace(0.5, 1), None, 2.0),
        (Pace(0.5, 3), None, 8.0),
        (Pace(0.5, 24), None, 3600.0),
        (Pace(0.5), Delay(2, 2), 2.0),
        (Pace(40), Delay(0, 0), 0.0),
        (Pace(0, 1), Delay(0, 0), 0.5),
        (Pace(0, 2), Delay(2, 2), 8.0),
    ],
)
def test_delay(pace: Pace, fixed: Delay | None, seconds: float) -> None:
    assert delay(pace, fixed) == seconds


def test_a_range_is_drawn_from() -> None:
    drawn = {delay(Pace(), Delay(5, 10)) for _ in range(50)}
    assert len(drawn) > 1
    assert all(5 <= one <= 10 for one in drawn)


@pytest.mark.parametrize(
    ("pace", "fixed", "asked", "enough"),
    [
        (Pace(), None, 0, False),
        (Pace(), None, 3600, False),
        (Pace(), None, 3601, True),
        (Pace(0.5, 12), None, 0, False),
        (Pace(0.5, 13), None, 0, True),
        (Pace(0, 24), Delay(0, 0), 0, True),
        (Pace(0, 3), Delay(0, 0), 0, False),
    ],
)
def test_patience_ends_after_an_hour(pace: Pace, fixed: Delay | None, asked: float, enough: bool) -> None:
    assert exhausted(pace, fixed, asked) is enough


@pytest.mark.parametrize("text", ["", "x", "1,2", "1,2,3,4", "a,b,c", "1,2.5,3"])
def test_a_strange_pace_is_a_fresh_one(text: str) -> None:
    assert parse(text) == Pace()


def test_the_stored_form_comes_back() -> None:
    assert parse(Pace(0.125, 3, 7).text()) == Pace(0.125, 3, 7)
