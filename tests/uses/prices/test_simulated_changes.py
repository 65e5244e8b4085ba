"""500 scripted changes among 10,000 products over 10 days with noise. Each change is found once, on its
day."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from gossamer.uses.prices.history import CONFIRMING_ROUNDS, History
from gossamer.uses.prices.model import Event, EventKind
from uses.prices.simulated_shops import (
    BLOCKING,
    DAY_S,
    MAINTAINED,
    MOVING,
    REDESIGNED,
    TROUBLE_DAY,
    Shops,
)

DAYS = 10
SHOP_EVENTS = {
    (REDESIGNED, EventKind.SHOP_REDESIGNED, TROUBLE_DAY),
    (REDESIGNED, EventKind.SHOP_BACK, TROUBLE_DAY + 1),
    (MAINTAINED, EventKind.SHOP_AWAY, TROUBLE_DAY),
    (MAINTAINED, EventKind.SHOP_BACK, TROUBLE_DAY + 1),
    (BLOCKING, EventKind.SHOP_AWAY, TROUBLE_DAY),
    (BLOCKING, EventKind.SHOP_BACK, TROUBLE_DAY + 1),
    (MOVING, EventKind.MOVED, TROUBLE_DAY),
}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run_day(history: History, shops: Shops, day: int, clock: Clock) -> tuple[list[Event], int]:
    """Makes one run: all targets in a new order, then second visits. Returns the events and the number of
    second visits."""
    clock.now = day * DAY_S
    history.begin_run()
    events: list[Event] = []
    keys = sorted(shops.products)
    random.Random(day).shuffle(keys)
    second = 0
    for start in range(0, len(keys), 500):
        batch = []
        for key in keys[start : start + 500]:
            clock.now += 0.5
            batch.append(shops.visit(key, day, clock.now))
        events += history.record(batch)
        history.record(batch[:50])  # recorded again, as after a crash
    for _ in range(CONFIRMING_ROUNDS):
        wanted = sorted({one.target for one in history.held()})
        if not wanted:
            break
        second += len(wanted)
        batch = []
        for key in wanted:
            clock.now += 0.5
            batch.append(shops.visit(key, day, clock.now, confirming=True))
        events += history.record(batch)
    return events + history.end_run(), second


def test_each_change_is_found_once_on_its_day_and_nothing_else(tmp_path: Path) -> None:
    shops, clock = Shops.make(10_000, 500, DAYS), Clock()
    found: Counter[tuple[str, EventKind, int]] = Counter()
    second_visits = 0
    with History(str(tmp_path / "prices.db"), clock) as history:
        history.list_targets(shops.targets())
        for day in range(DAYS):
            shops.begin_day(day)
            events, second = run_day(history, shops, day, clock)
            second_visits += second
            for event in events:
                if event.kind != EventKind.FIRST:
                    found[event.target or event.shop, event.kind, int(event.time // DAY_S)] += 1
        stored = [event for event in history.events() if event.kind != EventKind.FIRST]

    scripted = {(change.key, change.kind, change.day) for change in shops.script} | SHOP_EVENTS
    assert sorted(scripted - set(found)) == []
    assert sorted(set(found) - scripted) == []
    assert set(found.values()) == {1}
    assert len(stored) == len(scripted) == 507
    assert second_visits < 0.08 * 10_000 * DAYS
