"""Matches of keywords in texts, compared with an independent count."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.words import tokens
from gossamer.uses.keywords.matching import CONTEXT_CHARS, KeywordMatcher, cut_contexts
from gossamer.uses.keywords.texts import StoredText

WORD = st.sampled_from(["tea", "pot", "a", "Käse", "c"])
KEYWORD = st.lists(WORD, min_size=1, max_size=3).map(" ".join)
TEXT = st.lists(st.tuples(WORD, st.sampled_from([" ", ", ", "-", ". ", "\n\n"]))).map(
    lambda parts: "".join(a + b for a, b in parts)
)


def brute(keyword: str, text: str) -> int:
    """Counts with a regular expression. Words are separated only by spaces and hyphens."""
    words = r"[ -]".join(re.escape(word) for word in keyword.lower().split())
    return len(re.findall(rf"(?=(?<!\w){words}(?!\w))", text.lower()))


@given(st.lists(KEYWORD, min_size=1, max_size=6, unique_by=str.lower), TEXT)
def test_counts_equal_a_brute_count(keywords: list[str], text: str) -> None:
    found = KeywordMatcher(keywords).count(StoredText(url="x", text=text), tokens(text))
    assert {keywords[number]: counts[0] for number, counts in found.items()} == {
        keyword: n for keyword in keywords if (n := brute(keyword, text))
    }


@given(KEYWORD, TEXT)
def test_contexts_have_the_keyword_and_at_most_their_size(keyword: str, text: str) -> None:
    matcher = KeywordMatcher([keyword])
    places = [(place, matcher.width(0)) for place, _ in matcher.find(tokens(text), "")]
    for context in cut_contexts(text, places, 10):
        assert brute(keyword, context) >= 1
        assert len(context) <= 10 + len(keyword) + 1 + 10


@pytest.mark.parametrize("size", [CONTEXT_CHARS, 40])
def test_a_context_has_text_on_each_side_and_is_cut_between_words(size: int) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    text = f"{' '.join(words * 5)}\n\nTEA POT {' '.join(words * 5)}"
    (context,) = cut_contexts(text, [(51, 2)], size)
    left, _, right = context.partition(" TEA POT ")
    for side in (left, right):
        assert set(side.split()) <= set(words)
        assert size - len("seven") - 1 <= len(side) <= size


def test_a_text_without_spaces_is_cut_at_the_size() -> None:
    (context,) = cut_contexts(f"{'x' * 500} tea {'y' * 500}", [(1, 1)], 20)
    assert context == f"{'x' * 19} tea {'y' * 19}"


def test_zones() -> None:
    page = StoredText(
        url="x",
        title="Tea and tea",
        headings=["Green", "tea"],
        text="Team. Tea!",
        alt=["a tea pot"],
        meta=["tea, pots"],
    )
    found = KeywordMatcher(["tea", "green tea"]).count(page, tokens(page.body))
    assert found == {0: [1, 2, 1, 1, 1, 2]}


def test_stems() -> None:
    pytest.importorskip("snowballstemmer")
    page = StoredText(url="x", language="en-GB", text="Two kettles boil. A kettle boiled.")
    assert KeywordMatcher(["kettle", "boils"], "en").count(page, tokens(page.body))[0][0] == 2
    assert KeywordMatcher(["kettle", "boils"], "auto").count(page, tokens(page.body))[1][0] == 2
    other = StoredText(url="x", language="zz", text="kettles")
    assert KeywordMatcher(["kettle"], "auto").count(other, tokens(other.body)) == {}


def test_many_keywords_that_begin_alike_are_found_at_once() -> None:
    matcher = KeywordMatcher([f"buy thing{n}" for n in range(100_000)])
    words = tokens("buy thing99999 " * 20_000)
    assert len(matcher.find(words, "")) == 20_000
