"""The capacity of a process. It is reduced at once when the process runs short of a resource, and raised
again slowly."""

from __future__ import annotations

import errno

import pytest

from gossamer.errors import OWN_LIMITS
from gossamer.worker.capacity import GIVE_UP_S, HOLD_S, STALE_S, TUNE_S, Limiter, SoleCrawlAllowance


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(most: int = 64) -> tuple[Limiter, Clock, list[str]]:
    clock, lines = Clock(), list[str]()
    return Limiter(most, lines.append, clock=clock), clock, lines


def test_a_shortage_halves_at_once_and_a_burst_of_them_is_one() -> None:
    limiter, clock, lines = made()
    for _ in range(50):
        limiter.short("open files")
    assert limiter.visits == 32
    clock.now += 1
    limiter.short("open files")
    assert (limiter.visits, len(lines)) == (16, 1)
    limiter.short("memory")
    assert len(lines) == 2


def test_it_grows_back_slowly_and_not_at_once_to_where_it_was_short() -> None:
    limiter, clock, _ = made()
    limiter.short("open files")
    for _ in range(20):
        clock.now += 2
        limiter.record_success()
    assert 32 < limiter.visits == 48
    for _ in range(40):
        clock.now += HOLD_S / 20
        limiter.record_success()
    assert limiter.visits == 64
    assert limiter.is_calm


def test_it_gives_up_when_not_even_one_gets_through() -> None:
    limiter, clock, _ = made(1)
    limiter.short("open files")
    clock.now += GIVE_UP_S - 1
    limiter.short("open files")
    assert not limiter.over
    limiter.record_success()
    clock.now += GIVE_UP_S - 1
    limiter.short("open files")
    assert not limiter.over
    for _ in range(20):
        clock.now += 1
        limiter.short("open files")
    assert limiter.over == "open files"


def test_what_is_only_measured_never_gives_up() -> None:
    limiter, clock, _ = made(1)
    for _ in range(100):
        clock.now += 1
        limiter.short("memory", measured=True)
    assert not limiter.over


def test_its_room_is_a_quarter_more() -> None:
    limiter, _, _ = made()
    room = SoleCrawlAllowance(limiter)
    assert room.ask(0) == 80
    limiter.short("open files")
    assert (room.ask(0), room.ask(38)) == (40, 0)


class Machine(Clock):
    """A simulated process. Its thread is busy for a share of the time, and it has enough memory or not."""

    share, roomy = 0.1, True
    used = 0.0

    def passes(self, seconds: float = TUNE_S) -> None:
        self.now += seconds
        self.used += seconds * self.share


def tuned(most: int = 1000, most_by: str = "maximum") -> tuple[Limiter, Machine]:
    machine = Machine()
    limiter = Limiter(
        most,
        least=64,
        most_by=most_by,
        clock=machine,
        busy_seconds=lambda: machine.used,
        roomy=lambda: machine.roomy,
    )
    return limiter, machine


def needs(limiter: Limiter, machine: Machine, times: int = 30) -> int:
    for _ in range(times):
        machine.passes()
        limiter.need_more()
    return limiter.visits


def test_it_grows_while_hosts_are_due_and_there_is_time() -> None:
    limiter, machine = tuned()
    assert limiter.visits == 64
    assert 64 < needs(limiter, machine, 5) < 250
    assert needs(limiter, machine) == 1000
    assert limiter.is_calm


def test_what_is_not_needed_is_not_taken() -> None:
    limiter, machine = tuned()
    for _ in range(100):
        machine.passes()
        limiter.record_success()
    assert limiter.visits == 64


@pytest.mark.parametrize("kind", ["share", "roomy"])
def test_it_does_not_grow_without_time_or_memory(kind: str) -> None:
    limiter, machine = tuned()
    machine.share, machine.roomy = (0.85, True) if kind == "share" else (0.1, False)
    assert needs(limiter, machine) == 64


def test_a_process_without_time_comes_back_to_its_least() -> None:
    limiter, machine = tuned()
    needs(limiter, machine)
    machine.share = 1.0
    assert needs(limiter, machine, 3) < 1000
    assert needs(limiter, machine, 50) == 64


def test_a_pause_is_no_measurement() -> None:
    limiter, machine = tuned()
    needs(limiter, machine, 2)
    before = limiter.visits
    machine.passes(STALE_S * 2)
    limiter.need_more()
    assert limiter.visits == before


def test_a_shortage_counts_more_than_what_would_be_needed() -> None:
    limiter, machine = tuned()
    needs(limiter, machine)
    limiter.short("open files")
    assert needs(limiter, machine) == 500
    for _ in range(20):
        machine.passes(2.0)
        limiter.record_success()
    assert needs(limiter, machine) == 750, "not at once to where it was short"


def test_a_fixed_number_stays() -> None:
    machine = Machine()
    limiter = Limiter(64, clock=machine, busy_seconds=lambda: machine.used, roomy=lambda: True)
    assert needs(limiter, machine) == 64


def test_few_open_files_are_the_least_and_the_most() -> None:
    limiter, machine = tuned(20)
    assert needs(limiter, machine) == 20


def test_it_names_what_keeps_the_level() -> None:
    limiter, machine = tuned(most_by="descriptors")
    assert limiter.bound == "latency"
    needs(limiter, machine, 3)
    assert limiter.bound == "latency"
    machine.share = 0.85
    needs(limiter, machine, 2)
    assert limiter.bound == "processor"
    machine.share, machine.roomy = 0.1, False
    needs(limiter, machine, 2)
    assert limiter.bound == "memory"
    machine.roomy = True
    needs(limiter, machine)
    assert limiter.bound == "descriptors"


def test_it_names_a_shortage_until_the_level_may_rise_above_it() -> None:
    limiter, machine = tuned()
    needs(limiter, machine)
    limiter.short(OWN_LIMITS[errno.EADDRNOTAVAIL])
    assert (limiter.visits, limiter.bound) == (500, "ports")
    for _ in range(60):
        machine.passes(2.0)
        limiter.record_success()
    needs(limiter, machine)
    assert (limiter.visits, limiter.bound) == (1000, "maximum")


def test_a_fixed_number_is_named_as_such() -> None:
    limiter, _, _ = made(8)
    assert limiter.bound == "fixed"
    limiter.short(OWN_LIMITS[errno.ENOMEM])
    assert limiter.bound == "memory"
