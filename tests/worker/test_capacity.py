"""How much a process takes on: less at once when it runs short of something of its own, more again slowly."""

from __future__ import annotations

from gossamer.worker.capacity import GIVE_UP_S, HOLD_S, Limiter, SoleCrawlAllowance


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
