"""Days of a simulated engine. Each move is found on its day, even after the layout changed, and no failed
check gives a position. benchmarks/rank_history.py runs the full size (200 keywords, 60 days)."""

from __future__ import annotations

from typing import Any

from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.reparse import parse_again
from uses.ranks.simulated_days import KNOWN_AGAIN, NEW_LAYOUT, Simulation, parse, wrong

KEYWORDS, DAYS = 20, 40


def test_every_move_is_found_on_its_day(history: RankHistory, clock: Any) -> None:
    simulation = Simulation(history, clock, KEYWORDS)
    for day in range(DAYS):
        if day == KNOWN_AGAIN:
            blind_days = {key for key in simulation.truth.drifted if key not in simulation.truth.blind}
            assert len(blind_days) > KEYWORDS
            ((stored,),) = history.query(
                "SELECT count(*) FROM rank_positions WHERE time >= ?",
                [clock.now - (KNOWN_AGAIN - NEW_LAYOUT - 1) * 86_400],
            )
            assert stored == 0  # a page with an unknown layout has no positions
            done = parse_again(history, "new", lambda body, engine, url: parse(body, engine, url, "new"))
            assert done.corrected > KEYWORDS
        simulation.day(day)
    assert wrong(simulation, DAYS) == []
    drift = [(one.kind, one.time) for one in history.events() if one.kind.startswith("layout")]
    start = 1_790_000_000.0
    assert drift == [
        ("layout-drift", start + NEW_LAYOUT * 86_400),
        ("layout-back", start + KNOWN_AGAIN * 86_400),
    ]
    notes = history.query("SELECT note FROM rank_positions WHERE note <> ''")
    assert notes
    assert all("parsed again on" in note and "was layout unknown" in note for (note,) in notes)


def test_smart_depth_needs_few_pages(history: RankHistory, clock: Any) -> None:
    """The basic depth would fetch three pages per check."""
    simulation = Simulation(history, clock, KEYWORDS)
    for day in range(10):
        simulation.day(day)
    assert simulation.requests < 0.7 * 3 * KEYWORDS * 10
