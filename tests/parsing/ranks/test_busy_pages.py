"""Pages of earlier years with many blocks: ranks, result types, and sitelinks that belong to a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gossamer.parsing.ranks import result_page
from parsing.ranks.busy_pages import DUE_2017, DUE_2021, busy_2017, busy_2021
from parsing.ranks.test_drift import renamed

PAGES = {"2017": (busy_2017, DUE_2017), "2021": (busy_2021, DUE_2021)}
TYPES = {
    "2017": {
        *(
            "ad",
            "featured_snippet",
            "top_stories",
            "images",
            "people_also_ask",
            "local_pack",
            "social",
            "related",
        ),
        "knowledge",
    },
    "2021": {"featured_snippet", "people_also_ask", "videos", "images", "related"},
}


@pytest.mark.parametrize(("year", "made"), PAGES.items())
def test_ranks_and_types(year: str, made: tuple[Callable[[], bytes], list[str]]) -> None:
    found = result_page(made[0](), "google")
    assert (found.verdict, found.unknown) == ("ok", 0)
    assert [(one.rank, one.url) for one in found.results if one.rank] == list(enumerate(made[1], 1))
    counts = Counter(one.type for one in found.results)
    assert counts.keys() == TYPES[year] | {"organic", "sitelink"}
    below = [one.url for one in found.results if one.type == "sitelink" and "site1" in one.url]
    assert below == [f"https://site1.example/{name}" for name in "ab"[: len(below)]]


@pytest.mark.parametrize("year", PAGES)
@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5])
def test_new_ids_give_no_wrong_rank(year: str, seed: int | None) -> None:
    make, due = PAGES[year]
    found = result_page(renamed(renamed(make(), "class", seed), "id", seed), "google")
    ranked = [one.url for one in found.results if one.rank]
    assert ranked in ([], due)
