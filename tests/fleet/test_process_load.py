"""The number of claims that a process of a worker may hold."""

from __future__ import annotations

from gossamer.fleet.process_load import MAX_LOOP_DELAY_S, ProcessLoad


def test_the_limit_follows_the_visits_that_the_process_may_run() -> None:
    most = [80]
    load = ProcessLoad(lambda: most[0], 1 << 50)
    load.late(0.0)
    assert load.claims() == 80
    most[0] = 800
    assert load.claims() == 800
    assert load.share() == (1.0, "")


def test_a_process_that_is_late_or_large_takes_less() -> None:
    load = ProcessLoad(lambda: 1000, 1 << 50)
    load.late(2 * MAX_LOOP_DELAY_S)
    assert load.claims() == 700
    assert load.share() == (0.7, "processor")
    large = ProcessLoad(lambda: 1000, 1)
    large.late(0.0)
    assert large.claims() == 0
    assert large.share() == (0.0, "memory")
