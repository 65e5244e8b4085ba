"""The tables of politeness/scores.py."""

from __future__ import annotations

import pytest

from gossamer.politeness.scores import (
    HOSTS,
    LAST_VISITS,
    LastVisits,
    MovingMeans,
    WorkerScore,
    among_best,
    score,
    wait_times,
)

NOW = 1000.0


def record(
    name: str,
    success: float = 1.0,
    latency: float = 0.05,
    *,
    hard: tuple[int, float, float] | None = None,
    **given: object,
) -> WorkerScore:
    fields = {"at": NOW, "easy": MovingMeans(100, success, latency)} | given
    made = WorkerScore(name, **fields)  # type: ignore[arg-type] # fields by name
    if hard:
        made.hard = MovingMeans(*hard)
    return made


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (record("a", 1.0), record("b", 0.8)),
        (record("a", latency=0.1), record("b", latency=0.3)),
        (record("a", hard=(50, 0.6, 0.1)), record("b", hard=(50, 0.3, 0.1))),
        (record("a", 0.5, hard=(50, 0.9, 0.1)), record("b", 1.0, hard=(50, 0.4, 0.1))),
        (record("a", latency=0.1), record("b", 0.6, latency=0.05)),
    ],
)
def test_who_is_better(better: WorkerScore, worse: WorkerScore) -> None:
    assert among_best(better, [worse], NOW)
    assert not among_best(worse, [better], NOW)


def test_small_differences_are_none() -> None:
    one, other = record("a", 0.97, 0.02), record("b", 1.0, 0.04)
    assert among_best(one, [other], NOW)
    assert among_best(other, [one], NOW)


@pytest.mark.parametrize(
    "best", [{"at": NOW - 60}, {"out": "its network is dead"}, {"room": False}, {"serves": "0 http http@eu"}]
)
def test_a_better_one_that_cannot_is_no_rival(best: dict[str, object]) -> None:
    assert among_best(record("a", 0.5), [record("b", **best)], NOW)


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        (record("a"), (0, 0)),
        (record("a", latency=0.1), (0, 15_000)),
        (record("a", latency=0.5), (300, 15_000)),
        (record("a", 0.6), (300, 15_000)),
        (record("a", 0.05), (0, 15_000)),
        (record("a", latency=0.5, hard=(50, 1.0, 0.01)), (300, 0)),
    ],
)
def test_how_long_hosts_are_left_to_better_ones(mine: WorkerScore, told: tuple[int, int]) -> None:
    assert wait_times(mine, [record("b"), record("c", 0.1)], NOW) == told


def test_who_knows_nothing_of_itself_is_no_worse_than_others() -> None:
    assert score(WorkerScore("new")) == 1.0
    assert among_best(WorkerScore("new"), [WorkerScore("new too", at=NOW)], NOW)
    assert not among_best(record("a", out="x"), [], NOW)


def test_the_first_hard_hosts_are_judged_by_the_easy_ones_too() -> None:
    unlucky = record("a", hard=(1, 0.0, 0.0))
    assert score(unlucky) > score(record("b", hard=(50, 0.5, 0.05)))


def test_who_never_tried_is_not_taken_for_the_best() -> None:
    """A worker that has never visited a hard host has no failures on hard hosts. Workers that have visited
    hard hosts are preferred for them."""
    tried, never = record("a", hard=(100, 0.4, 0.05)), record("b", latency=0.3)
    assert among_best(tried, [never], NOW)
    assert not among_best(never, [tried], NOW)


def test_means_move() -> None:
    means = MovingMeans()
    for good in (True, False, True, True):
        means.saw(good, 0.2)
    assert (means.success, means.latency) == (0.75, pytest.approx(0.2))
    for _ in range(200):
        means.saw(False, 9.0)
    assert means.success < 0.01
    assert means.latency == pytest.approx(0.2), "what failed took no time that tells something"


def failing(n: int, hosts: int, *failed: str, answered: int = 0) -> LastVisits:
    streak = LastVisits()
    for h in range(answered):
        streak.saw(f"h{h}", "")
    for i in range(n):
        streak.saw(f"h{i % hosts}", failed[i % len(failed)])
    return streak


GOOD, BAD = record("b", good_at=NOW - 1), record("b", good_at=NOW - 60)


@pytest.mark.parametrize(
    ("streak", "others", "goes"),
    [
        (failing(LAST_VISITS, HOSTS, "connect"), [GOOD], True),
        (failing(LAST_VISITS, HOSTS, "dns", "timeout", "blocked"), [GOOD, BAD], True),
        (failing(LAST_VISITS - 1, HOSTS, "connect"), [GOOD], False),
        (failing(LAST_VISITS, HOSTS - 1, "connect"), [GOOD], False),
        (failing(LAST_VISITS, HOSTS, "connect", ""), [GOOD], False),
        (failing(LAST_VISITS, HOSTS, "connect", answered=HOSTS), [BAD], False),
        (failing(LAST_VISITS, HOSTS, "connect"), [record("b", good_at=NOW - 1, out="x")], False),
        (failing(LAST_VISITS, HOSTS, "connect"), [], False),
        (failing(LAST_VISITS, HOSTS, "connect", answered=HOSTS - 1), [], False),
        (failing(LAST_VISITS, HOSTS, "connect", answered=HOSTS), [], True),
        (failing(LAST_VISITS, HOSTS, "connect", answered=HOSTS), [record("b", at=NOW - 60)], True),
    ],
)
def test_when_a_worker_takes_itself_out(streak: LastVisits, others: list[WorkerScore], goes: bool) -> None:
    assert bool(streak.out(others, NOW)) is goes


def test_it_says_why() -> None:
    said = failing(LAST_VISITS, 4, "connect", "dns").out([GOOD], NOW)
    assert said == "its last 20 visits, to 4 hosts, failed (connect, dns) while others succeed"
