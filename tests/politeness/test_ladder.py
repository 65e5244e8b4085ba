"""The ladder: tables of the state learned from blocks, and the cost on simulated walls, compared with an
oracle."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.politeness.ladder import (
    COSTS,
    MAX_PATH_CLASSES,
    RUNGS,
    Ladder,
    Learned,
    after,
    climb,
    pages_between_probes,
    path_class,
    rest_seconds,
    start_rung,
)
from support.repetitions import repetitions

Wall = Callable[[int, str], int]
"""Returns the cheapest rung that passes for the nth page of a host, at this path."""


def visit(
    ladder: Ladder, path: str, needs: int, rungs: tuple[str, ...] = RUNGS
) -> tuple[Ladder, float, bool]:
    """Simulates one visit to a host whose wall lets rung `needs` and all higher rungs pass. Returns the new
    ladder, the cost, and whether the visit got the page."""
    known = ladder.known(path)
    rung: str | None = start_rung(known, rungs)[0]
    began, cost = rung or "", 0.0
    while rung is not None:
        cost += COSTS[RUNGS.index(rung)]
        if RUNGS.index(rung) >= needs:
            return after(ladder, path, began, rung), cost, True
        rung = climb(known, rungs, rung, "challenge")
    return after(ladder, path, began, None), cost, False


def run(
    wall: Wall, pages: int, paths: Callable[[int], str] = lambda n: f"/a/{n}"
) -> tuple[float, float, int]:
    """Visits the pages of a host one after the other. Returns our cost, the cost of an oracle, and the number
    of pages fetched."""
    ladder, ours, oracle, got = Ladder(), 0.0, 0.0, 0
    for n in range(pages):
        needs = wall(n, paths(n))
        ladder, cost, page = visit(ladder, paths(n), needs)
        ours, oracle, got = ours + cost, oracle + COSTS[min(needs, 3)], got + page
    return ours, oracle, got


@pytest.mark.parametrize("rung", [0, 1, 2, 3])
def test_a_steady_wall_is_learned_once(rung: int) -> None:
    ours, oracle, got = run(lambda n, path: rung, 300)
    assert got == 300
    assert ours / oracle < 1.06


def test_a_wall_that_goes_is_noticed() -> None:
    ours, oracle, got = run(lambda n, path: 2 if n < 100 else 0, 400)
    assert got == 400
    assert ours / oracle < 1.25


def test_one_page_of_a_host_does_not_raise_it() -> None:
    assert run(lambda n, path: 3 if n % 50 == 49 else 0, 200)[2] == 200
    ladder = Ladder()
    for n in range(50):
        ladder = visit(ladder, "/a/b", 3 if n == 49 else 0)[0]
    assert ladder.known("/a/b").rung == 0


def test_classes_of_paths_are_told_apart() -> None:
    def mixed(n: int, path: str) -> int:
        return 2 if path.startswith("/shop/") else 0

    ours, oracle, got = run(mixed, 400, lambda n: f"/{'shop' if n % 4 == 0 else 'news'}/{n}")
    assert got == 400
    assert ours / oracle < 1.15


def test_more_classes_than_are_kept_go_by_the_host() -> None:
    ladder = Ladder()
    for n in range(100):
        ladder = visit(ladder, f"/c{n}/x", 1)[0]
    assert len(ladder.classes) == MAX_PATH_CLASSES
    assert ladder.known("/c99/y").rung == 1
    assert Ladder.of(ladder.text()) == ladder


def test_pages_that_nothing_serves_among_others_are_soon_let_be() -> None:
    ours, _, got = run(lambda n, path: 9 if n % 2 else 0, 400)
    assert got == 200
    assert ours < 400 + 13 * sum(COSTS), "they do not count from the start at each page between them"
    ladder = Ladder()
    for n in range(100):
        ladder = visit(ladder, "/a/b", 9 if n < 70 else 1)[0]
    assert ladder.known("/a/b").rung == 1, "a wall that came later is climbed"


def test_what_nothing_serves_is_not_paid_for_without_end() -> None:
    ours, _, got = run(lambda n, path: 9, 200)
    assert got == 0
    assert ours / 200 < 0.25 * sum(COSTS)


def test_a_rate_limit_slows_down_before_it_climbs() -> None:
    ladder, known, rests = Ladder(), Learned(), []
    while seconds := rest_seconds(known, "plain", "rate-limit", 0):
        rests.append(seconds)
        ladder = after(ladder, "/", "plain", None, rested=True)
        known = ladder.known("/")
    assert rests == [5.0, 15.0]
    assert climb(known, RUNGS, "plain", "rate-limit") == "impersonated"
    assert after(ladder, "/", "plain", "plain").host.slowed == 0
    assert not rest_seconds(Learned(), "plain", "rate-limit", 2), "a URL that was put back twice"


def test_a_refusal_where_pages_came_may_mean_the_same() -> None:
    good = Learned(good=3)
    assert rest_seconds(good, "plain", "denied", 0)
    for known, rung, block, tried in [
        (Learned(good=1), "plain", "denied", 0),
        (good, "plain", "challenge", 0),
        (good, "plain", "denied", 1),
        (Learned(good=3, lost=3), "plain", "denied", 0),
        (Learned(rung=2, good=9), "plain", "denied", 0),
    ]:
        assert not rest_seconds(known, rung, block, tried), known


def test_rendering_needs_a_browser_or_nothing() -> None:
    assert climb(Learned(), RUNGS, "plain", "rendering") == "browser"
    assert climb(Learned(), ("plain", "unlocker"), "plain", "rendering") is None
    assert climb(Learned(), ("browser", "unlocker"), "browser", "rendering") is None


@pytest.mark.parametrize(
    "rungs", [("plain",), ("browser",), ("plain", "browser"), ("impersonated", "unlocker")]
)
def test_only_rungs_that_are_allowed(rungs: tuple[str, ...]) -> None:
    for rung in range(4):
        known = Learned(rung=rung, good=1000)
        assert start_rung(known, rungs)[0] in rungs
        assert climb(known, rungs, rungs[0], "challenge") in {*rungs[1:], None}
    assert climb(Learned(), rungs, rungs[-1], "challenge") is None


def test_probes_that_fail_become_rare() -> None:
    pages = [pages_between_probes(Learned(rung=2, misses=misses), RUNGS) for misses in range(10)]
    assert pages == sorted(pages)
    assert pages[-1] == pages[-2] == 12, "a hundredth of what the pages between cost"


def test_a_probe_tries_what_costs_little_and_goes_back() -> None:
    known = Learned(rung=3, good=50)
    assert start_rung(known, RUNGS) == ("plain", True)
    assert climb(known, RUNGS, "plain", "denied") == "impersonated"
    assert climb(known, RUNGS, "impersonated", "denied") == "unlocker", "not by way of the browser"
    assert start_rung(Learned(rung=3, good=50, misses=3), RUNGS) == ("browser", True), "whose turn comes, too"
    assert start_rung(known, ("browser", "unlocker")) == ("browser", True)


def test_a_captcha_is_no_work_for_a_browser() -> None:
    assert climb(Learned(), RUNGS, "impersonated", "captcha") == "unlocker"
    assert climb(Learned(), RUNGS, "plain", "captcha") == "impersonated", "which may meet none"
    assert climb(Learned(), ("plain", "browser"), "plain", "captcha") == "browser"


@pytest.mark.parametrize("seed", range(repetitions(6, 3)))
def test_the_cost_of_a_web_of_walls(seed: int) -> None:
    """60 hosts: without a wall, with a steady wall, with two kinds of paths, and with a wall that changes.
    The total cost is close to that of an oracle."""
    chance = random.Random(seed)
    ours = oracle = 0.0
    got = pages = 0
    for host in range(60):
        needs = chance.choices((0, 1, 2, 3), (70, 20, 6, 4))[0]
        later, when = chance.choice((0, needs, needs)), chance.randrange(50, 300)
        wall: Wall = lambda n, path, needs=needs, later=later, when=when: needs if n < when else later  # type: ignore[misc]  # noqa: E731
        if host % 10 == 0:
            wall = lambda n, path: 2 if path.startswith("/x/") else 0  # noqa: E731
        cost, best, came = run(wall, 300, lambda n: f"/{'x' if n % 8 == 0 else 'y'}/{n}")
        ours, oracle, got, pages = ours + cost, oracle + best, got + came, pages + 300
    assert got == pages
    assert ours / oracle < 1.12


@given(st.text(max_size=200))
def test_any_path_has_a_class(path: str) -> None:
    assert len(path_class(path)) <= 40
