"""The pace of requests, as a table of values."""

from __future__ import annotations

import pytest

from gossamer.politeness.pace import Delay, HostPace, after, delay, is_exhausted, parse


@pytest.mark.parametrize(
    ("before", "elapsed", "slow", "then"),
    [
        (HostPace(), 0.4, False, HostPace(0.4)),
        (HostPace(0.4), 0.9, False, HostPace(0.5)),
        (HostPace(0.4), 0.9, True, HostPace(0.4, 1)),
        (HostPace(0.4, 1, 19), 0.9, True, HostPace(0.4, 2)),
        (HostPace(0.4, 2, 3), 0.4, False, HostPace(0.4, 2, 4)),
        (HostPace(0.4, 2, 19), 0.4, False, HostPace(0.4, 1)),
        (HostPace(0.4, 1, 19), 0.4, False, HostPace(0.4)),
        (HostPace(0.4, 24), 0.4, True, HostPace(0.4, 24)),
    ],
)
def test_an_answer_moves_the_pace(before: HostPace, elapsed: float, slow: bool, then: HostPace) -> None:
    found = after(before, elapsed, slow)
    assert (round(found.mean, 6), found.doublings, found.good) == (then.mean, then.doublings, then.good)


@pytest.mark.parametrize(
    ("pace", "fixed", "seconds"),
    [
        (HostPace(), None, 0.25),
        (HostPace(0.05), None, 0.25),
        (HostPace(0.5), None, 1.0),
        (HostPace(40), None, 30.0),
        (HostPace(0.5, 1), None, 2.0),
        (HostPace(0.5, 3), None, 8.0),
        (HostPace(0.5, 24), None, 3600.0),
        (HostPace(0.5), Delay(2, 2), 2.0),
        (HostPace(40), Delay(0, 0), 0.0),
        (HostPace(0, 1), Delay(0, 0), 0.5),
        (HostPace(0, 2), Delay(2, 2), 8.0),
    ],
)
def test_delay(pace: HostPace, fixed: Delay | None, seconds: float) -> None:
    assert delay(pace, fixed) == seconds


def test_a_range_is_drawn_from() -> None:
    drawn = {delay(HostPace(), Delay(5, 10)) for _ in range(50)}
    assert len(drawn) > 1
    assert all(5 <= one <= 10 for one in drawn)


@pytest.mark.parametrize(
    ("pace", "fixed", "asked", "enough"),
    [
        (HostPace(), None, 0, False),
        (HostPace(), None, 3600, False),
        (HostPace(), None, 3601, True),
        (HostPace(0.5, 12), None, 0, False),
        (HostPace(0.5, 13), None, 0, True),
        (HostPace(0, 24), Delay(0, 0), 0, True),
        (HostPace(0, 3), Delay(0, 0), 0, False),
    ],
)
def test_patience_ends_after_an_hour(pace: HostPace, fixed: Delay | None, asked: float, enough: bool) -> None:
    assert is_exhausted(pace, fixed, asked) is enough


@pytest.mark.parametrize("text", ["", "x", "1,2", "1,2,3,4", "a,b,c", "1,2.5,3"])
def test_a_strange_pace_is_a_fresh_one(text: str) -> None:
    assert parse(text) == HostPace()


def test_the_stored_form_comes_back() -> None:
    assert parse(HostPace(0.125, 3, 7).text()) == HostPace(0.125, 3, 7)
