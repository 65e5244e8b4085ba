"""Rank measures, compared with values computed by hand or with another formula."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import UsageError
from gossamer.uses.ranks.measures import (
    clicks,
    count_bands,
    default_curve,
    jaccard,
    rank_biased_overlap,
    read_curve,
    share_of_voice,
    visibility,
)

LISTS = st.lists(st.sampled_from("abcdefghijklm"), unique=True, min_size=1, max_size=10)


def test_the_curve_falls_and_its_source_is_stated() -> None:
    curve = default_curve()
    assert list(curve) == list(range(1, 21))
    assert list(curve.values()) == sorted(curve.values(), reverse=True)
    assert 0 < sum(curve.values()) < 1


def test_bands_visibility_and_clicks() -> None:
    bands = count_bands([1, 3, 4, 10, 11, 50, 51, 101, None])
    assert bands == {"1-3": 2, "4-10": 2, "11-20": 1, "21-50": 1, "51-100": 1, "101+": 1, "not in results": 1}
    curve = {1: 0.5, 2: 0.25}
    places, weight = {"a": 1, "b": 2, "c": None}, {"a": 100.0, "b": 40.0, "c": 60.0}
    assert clicks(places, weight, curve) == 60.0
    assert visibility(places, weight, curve) == 60.0 / 100.0
    assert visibility({}, {}, curve) == 0.0


def test_share_of_voice_counts_pages_of_a_domain_together() -> None:
    results = {
        "a": [(1, "https://www.own.example/x"), (2, "https://blog.own.example/"), (3, "https://b.example/")]
    }
    shares = share_of_voice(results, {"a": 10.0}, {1: 0.5, 2: 0.3, 3: 0.2}, ["own.example"])
    assert shares == pytest.approx({"own.example": 0.8, "b.example": 0.2})


@given(LISTS, LISTS)
def test_overlaps_are_symmetric_and_bounded(one: list[str], other: list[str]) -> None:
    for measure in (jaccard, rank_biased_overlap):
        assert 0 <= measure(one, other) <= 1
        assert math.isclose(measure(one, other), measure(other, one))
    assert math.isclose(rank_biased_overlap(one, one), 1.0)
    assert jaccard(one, one) == 1.0


@given(st.permutations("abcdefgh"), st.floats(0.1, 0.95))
def test_rbo_is_its_definition(other: list[str], p: float) -> None:
    """The comparison value is the sum of Webber, Moffat and Zobel (2010), equation 30, term by term."""
    one = list("abcdefgh")
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, 9)]
    due = agreement[-1] * p**8 + (1 - p) / p * sum(a * p**d for d, a in enumerate(agreement, 1))
    assert math.isclose(rank_biased_overlap(one, other, p), due, rel_tol=1e-9)


def test_an_own_curve(tmp_path: object) -> None:
    import pathlib

    path = pathlib.Path(str(tmp_path)) / "curve.csv"
    path.write_text("# mine\n1,40\n2 20\n")
    assert read_curve(str(path)) == {1: 0.4, 2: 0.2}
    path.write_text("1 first\n")
    with pytest.raises(UsageError, match="is not a position and a percentage"):
        read_curve(str(path))
