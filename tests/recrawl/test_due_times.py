"""A table of decisions on due times that have passed. Jitter is the same in all schedulers, and start times
are spread evenly."""

from __future__ import annotations

import itertools

import pytest

from gossamer.recrawl.cron import Cron
from gossamer.recrawl.due_times import MAX_DUE_TIMES, MISSED_AFTER_S, decide, start_times

H = 3600.0
HOURLY = Cron("0 * * * *")


@pytest.mark.parametrize(
    ("mark", "now", "missed", "most", "made_up", "on_time", "gone", "new_mark"),
    [
        (0, 10, "run", 9, [], [], 0, 0),
        (0, H, "run", 9, [], [1], 0, 1),
        (0, H + MISSED_AFTER_S, "skip", 9, [], [1], 0, 1),
        (0, H + MISSED_AFTER_S + 1, "run", 9, [1], [], 0, 1),
        (0, H + MISSED_AFTER_S + 1, "skip", 9, [], [], 1, 1),
        (0, 4.5 * H, "run", 9, [4], [], 3, 4),
        (0, 4 * H + 5, "run", 9, [], [4], 3, 4),
        (0, 4.5 * H, "skip", 9, [], [], 4, 4),
        (0, 4.5 * H, "all", 9, [1, 2, 3, 4], [], 0, 4),
        (0, 4.5 * H, "all", 2, [3, 4], [], 2, 4),
        (0, 4 * H + 5, "all", 2, [2, 3], [4], 1, 4),
        (4 * H, 4.5 * H, "all", 9, [], [], 0, 4),
        (5 * H, 4.5 * H, "all", 9, [], [], 0, 5),  # the clock went back
    ],
)
def test_decisions(
    mark: float,
    now: float,
    missed: str,
    most: int,
    made_up: list[float],
    on_time: list[float],
    gone: int,
    new_mark: float,
) -> None:
    due = decide(HOURLY, mark, now, missed, most)
    assert due.made_up == [at * H for at in made_up]
    assert due.on_time == [at * H for at in on_time]
    assert len(due.missed) == gone
    assert due.mark == new_mark * H


def test_a_long_absence_is_looked_at_in_parts_and_ends_the_same() -> None:
    cron, now = Cron("* * * * *"), 60.0 * (3 * MAX_DUE_TIMES + 500)
    mark, gone = 0.0, 0
    for _ in range(10):
        due = decide(cron, mark, now, "all", 5)
        mark, gone = due.mark, gone + len(due.missed)
        if mark == now:
            break
        assert not due.made_up
        assert not due.on_time
    assert due.made_up + due.on_time == [now - 60 * n for n in range(6, -1, -1)]
    assert gone == 3 * MAX_DUE_TIMES + 500 - 7


def test_each_due_time_is_decided_once_however_often_one_looks() -> None:
    cron, mark, seen = Cron("*/5 * * * *"), 0.0, []
    for now in (100, 301, 333, 600, 601, 1000, 1800):
        due = decide(cron, mark, now, "all", 1000)
        mark = due.mark
        seen += due.made_up + due.on_time + due.missed
    assert seen == [300.0 * n for n in range(1, 7)]


def test_jitter_is_by_name_and_due_time_alone_and_uniform() -> None:
    late = [start_times("nightly", day * 86400.0, 1, 300, 0)[0] - day * 86400.0 for day in range(2000)]
    assert late == [
        start_times("nightly", day * 86400.0, 1, 300, 0)[0] - day * 86400.0 for day in range(2000)
    ]
    assert all(0 <= x < 300 for x in late)
    parts = [sum(60 * n <= x < 60 * (n + 1) for x in late) for n in range(5)]
    assert all(330 < n < 470 for n in parts), parts
    assert start_times("nightly", 86400.0, 1, 300, 0) != start_times("weekly", 86400.0, 1, 300, 0)


def test_spread_is_even_and_jitter_moves_it_as_a_whole() -> None:
    assert start_times("x", 100.0, 4, 0, 200) == [100, 150, 200, 250]
    times = start_times("x", 100.0, 4, 60, 200)
    assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx([50, 50, 50])
    assert 100 <= times[0] < 160
