"""Positions on pages in the structures of 2016 to 2024, in several languages and truncated at any point."""

from __future__ import annotations

import random
import re

import pytest

from gossamer.parsing.ranks import result_page
from parsing.ranks.layout_years import LAYOUTS, WORDS, Words
from parsing.ranks.more_layouts import MORE_LAYOUTS
from parsing.ranks.ranks_pages import SITES

ALL = LAYOUTS | MORE_LAYOUTS


@pytest.mark.parametrize("words", WORDS, ids=[one.lang for one in WORDS])
@pytest.mark.parametrize(("engine", "layout"), ALL)
def test_organic_results_of_a_layout(engine: str, layout: str, words: Words) -> None:
    page = result_page(ALL[engine, layout](words), engine)
    assert page.verdict == "ok", page.reason
    found = [one for one in page.results if one.type == "organic"]
    assert [(one.rank, one.url) for one in found] == list(enumerate(SITES, 1))
    assert [one.title for one in found] == [f"Result {number}" for number in range(1, 11)]
    assert all("snippet" in one.text for one in found)
    assert page.query == "shoes"


@pytest.mark.parametrize("words", WORDS, ids=[one.lang for one in WORDS])
@pytest.mark.parametrize(("engine", "layout"), LAYOUTS)
def test_features_of_a_layout_have_their_types(engine: str, layout: str, words: Words) -> None:
    body = LAYOUTS[engine, layout](words)
    page = result_page(body, engine)
    types = {one.type: one for one in page.results}
    assert page.unknown == (layout == "plain 2024"), "its related searches have no heading"
    assert [one.url for one in page.results if one.type == "ad"] == ["https://ad.example/"] * (
        b"An ad" in body
    )
    assert ("people_also_ask" in types) is (words.asked.encode() in body)
    assert ("top_stories" in types) is (words.stories.encode() in body)
    assert "sitelink" not in types or layout == "2016"


@pytest.mark.parametrize(("engine", "layout"), ALL)
def test_a_layout_that_is_cut_has_the_positions_of_the_whole_page(engine: str, layout: str) -> None:
    body = ALL[engine, layout](WORDS[0])
    for end in range(300, len(body), 211):
        page = result_page(body[:end], engine)
        found = [one.url for one in page.results if one.rank]
        assert found == list(SITES[: len(found)])
        assert page.writes_positions is bool(found)


def _with_other_classes(body: bytes, seed: int) -> bytes:
    """Returns the page with each class name replaced by a random one."""
    chance, names = random.Random(seed), dict[str, str]()

    def renamed(found: re.Match[str]) -> str:
        new = (names.setdefault(one, f"c{chance.getrandbits(40):x}") for one in found[1].split())
        return f'class="{" ".join(new)}"'

    return re.sub(r'class="([^"]*)"', renamed, body.decode()).encode()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("words", WORDS, ids=[one.lang for one in WORDS])
@pytest.mark.parametrize(("engine", "layout"), ALL)
def test_a_layout_with_other_class_names_has_right_positions_or_none(
    engine: str, layout: str, words: Words, seed: int
) -> None:
    page = result_page(_with_other_classes(ALL[engine, layout](words), seed), engine)
    found = [one.url for one in page.results if one.rank]
    if layout.startswith("plain 20") and layout != "plain 2016":
        assert (page.verdict, found) == ("layout_unknown", []), "only class names mark its headings"
    else:
        assert (page.verdict, found) == ("ok", list(SITES))
