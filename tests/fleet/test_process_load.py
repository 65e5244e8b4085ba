"""The number of claims that a process of a worker may hold."""

from __future__ import annotations

from multiprocessing import get_context

from gossamer.config.resources import resident_memory
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


def test_a_process_takes_claims_only_while_it_has_memory() -> None:
    with get_context("spawn").Pool(1) as pool:  # a small process of its own, whose memory is known
        assert pool.apply(claims_by_memory) == [80, 0, 80]


def claims_by_memory() -> list[int]:
    """Returns the claims of this process before it takes memory, while it holds it, and afterwards."""
    size = 200 << 20
    load, found = ProcessLoad(lambda: 80, resident_memory() + size), []
    for taken in (0, size, 0):
        held = bytearray(b"x") * taken
        load.late(0.0)
        found.append(load.claims())
        del held
    return found
