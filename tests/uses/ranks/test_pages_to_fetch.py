"""The pages that a check fetches, and their order."""

from __future__ import annotations

import pytest

from gossamer.uses.ranks.history import PageRequest
from gossamer.uses.ranks.pages_to_fetch import Depth, mean_requests, next_pages
from gossamer.uses.ranks.run import fit_budget


def fetched_by(depth: Depth, last: int | None, own_page: int | None) -> list[list[int]]:
    """Returns the rounds of a check whose domain is on the given page."""
    states: dict[int, str] = {}
    rounds = []
    while pages := next_pages(depth, last, states, own_page in states):
        rounds.append(pages)
        covered = [n for page in pages for n in (range(1, page + 1) if depth.cumulative else (page,))]
        states |= dict.fromkeys(covered, "good")
    return rounds


@pytest.mark.parametrize(
    ("depth", "last", "own", "due"),
    [
        (Depth("basic", 100), 4, 4, [[1]]),
        (Depth("custom", 30), 2, 1, [[1, 2, 3]]),
        (Depth("smart", 100), 4, 4, [[4]]),
        (Depth("smart", 100), 4, 5, [[4], [3, 5]]),
        (Depth("smart", 50), 4, 1, [[4], [3, 5], [1]]),
        (Depth("smart", 50), 4, None, [[4], [3, 5], [1], [2]]),
        (Depth("smart", 50, fallback=False), 4, 1, [[4], [3, 5]]),
        (Depth("smart", 20), None, 1, [[1]]),
        (Depth("smart", 20), None, None, [[1], [2]]),
        (Depth("smart", 20), 7, 2, [[1], [2]]),
        (Depth("smart", 25), 1, None, [[1], [2], [3]]),
        (Depth("smart", 100, cumulative=True), 4, 4, [[5]]),
        (Depth("smart", 100, cumulative=True), 4, None, [[5], [10]]),
        (Depth("smart", 100, fallback=False, cumulative=True), 4, None, [[5]]),
        (Depth("custom", 100, cumulative=True), 4, 1, [[10]]),
        (Depth("smart", 100, cumulative=True), None, 1, [[2]]),
    ],
)
def test_rounds(depth: Depth, last: int | None, own: int | None, due: list[list[int]]) -> None:
    assert fetched_by(depth, last, own) == due


def test_a_page_that_cannot_be_read_ends_a_check_and_the_last_page_of_the_engine_too() -> None:
    assert next_pages(Depth("smart", 100), 4, {4: "failed"}, False) == []
    assert next_pages(Depth("smart", 100), None, {1: "good", 2: "end"}, False) == []
    assert next_pages(Depth("smart", 100), 4, {4: "end"}, False) == [3]


def test_the_expected_requests_are_between_one_and_all() -> None:
    for last in (None, 1, 2, 5, 10):
        assert 1 <= mean_requests(Depth("smart", 100), last) <= 10
    assert mean_requests(Depth("smart", 100), 4) < 3
    assert mean_requests(Depth("custom", 100), 4) == 10


def test_a_budget_takes_the_first_requests() -> None:
    wanted = [PageRequest("a", 1, 1), PageRequest("b", 3, 1), PageRequest("c", 1, 1)]
    assert fit_budget(wanted, lambda first, page: page - first + 1, 4) == wanted[:2]
    assert fit_budget(wanted, lambda first, page: 1, 0) == []
    assert fit_budget(wanted, lambda first, page: 1, None) == wanted
