"""The result of a check, from its pages: a position, "not in the first N", or a failure."""

from __future__ import annotations

import pytest

from gossamer.parsing.ranks import Result
from gossamer.uses.ranks.changes import Known, changes
from gossamer.uses.ranks.checks import CheckedPage, read_check
from gossamer.uses.ranks.model import ASSUMED_END

OWN = {"own.example": True, "rival.example": False}


def page(number: int, *hosts: str, verdict: str = "ok", first: int = 0, reason: str = "why") -> CheckedPage:
    results = tuple(
        Result("organic", rank, rank, host, f"https://{host}/") for rank, host in enumerate(hosts, 1) if host
    )
    return CheckedPage(number, first or number, verdict, reason, results, 100.0 + number)


def place(*pages: CheckedPage, depth: int = 20) -> object:
    """Returns the position of our domain, or the state of a check without a position."""
    found = read_check("s", pages, OWN, depth)
    if "own.example" in found.positions:
        return found.positions["own.example"].position
    return found.state


OTHERS = ["a.example"] * 10
ASSUMED = page(2, verdict="no_results", reason=ASSUMED_END)


@pytest.mark.parametrize(
    ("pages", "due"),
    [
        ([page(1, "a.example", "www.own.example")], 2),
        ([page(2, "own.example")], 11),
        ([page(2, "own.example"), page(1, "x.example", "sub.own.example")], 2),
        ([page(1, *OTHERS), page(2, *OTHERS)], None),
        ([page(1, *OTHERS)], "failed"),
        ([page(2, *OTHERS)], "failed"),
        ([page(1, *OTHERS), page(2, verdict="captcha")], "failed"),
        ([page(1, "own.example"), page(2, verdict="captcha")], 1),
        ([page(1, verdict="layout_unknown")], "failed"),
        ([page(1, "own.example", verdict="partial")], 1),
        ([page(1, *OTHERS, verdict="partial"), page(2, *OTHERS)], "failed"),
        ([page(1, *OTHERS), page(2, verdict="no_results")], None),
        ([page(1, *OTHERS), ASSUMED], "failed"),
        ([page(1, *OTHERS), ASSUMED, page(3, verdict="no_results", reason=ASSUMED_END)], "failed"),
        ([page(1, *OTHERS[:4]), ASSUMED], None),
        ([page(1, *OTHERS, "own.example"), ASSUMED], 11),
        ([ASSUMED], "failed"),
        ([page(1, verdict="no_results")], "no-results"),
        ([page(1, verdict="failed")], "failed"),
        ([], "failed"),
        ([page(2, *OTHERS, *OTHERS, first=1)], None),
        ([page(2, *OTHERS, "own.example", first=1)], 11),
    ],
)
def test_only_what_was_read_is_a_position(pages: list[CheckedPage], due: object) -> None:
    assert place(*pages) == due


def test_withheld_pages_have_no_positions() -> None:
    found = read_check("s", [page(1, "own.example")], OWN, 10, "layout drift: few results")
    assert (found.state, found.positions, found.error) == ("failed", {}, "layout drift: few results")


def test_a_competitor_is_known_only_on_fetched_pages() -> None:
    found = read_check("s", [page(1, "own.example")], OWN, 20)
    assert set(found.positions) == {"own.example"}
    found = read_check("s", [page(1, "own.example"), page(2, *OTHERS)], OWN, 20)
    assert found.positions["rival.example"].position is None


def test_features_with_a_domain_are_its_own() -> None:
    ad = Result("ad", None, 1, "Ad", "https://www.own.example/ad")
    question = Result("people_also_ask", None, 2, "Why?", "https://a.example/", sub=0)
    one = CheckedPage(1, 1, "ok", "", (ad, question, Result("organic", 1, 3, "A", "https://a.example/")))
    found = read_check("s", [one], OWN, 10)
    assert found.shown == {"ad": 1, "people_also_ask": 1, "organic": 1}
    assert found.owned == {("ad", "own.example"): 1}


def test_changes_between_checks() -> None:
    first = read_check("s", [page(1, "own.example")], OWN, 10)
    known = Known(first.positions, frozenset(first.shown))
    assert [one.kind for one in changes("s", "google", 1.0, Known({}), first)] == ["first", "first"]
    assert changes("s", "google", 1.0, known, first) == []
    moved = read_check("s", [page(1, "a.example", "own.example")], OWN, 10)
    (event,) = changes("s", "google", 2.0, known, moved)
    assert (event.kind, event.before, event.after) == ("rank", "1", "2")
    lost = read_check("s", [page(1, *OTHERS)], OWN, 10)
    (event,) = changes("s", "google", 2.0, known, lost)
    assert (event.kind, event.before, event.after) == ("lost", "1", None)
    failed = read_check("s", [page(1, verdict="captcha")], OWN, 10)
    (event,) = changes("s", "google", 2.0, known, failed)
    assert (event.kind, event.detail) == ("failing", "captcha: why")
    assert changes("s", "google", 3.0, known._replace(failing=True), failed) == []
    (event,) = changes("s", "google", 4.0, known._replace(failing=True), first)
    assert event.kind == "checked"
