"""The split of texts into words for the search."""

from __future__ import annotations

import itertools
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parsing.words import is_word, spans, tokens
from gossamer.uses.search.words import fold, indexed, is_unspaced, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Slow-Maps, 3rd ed.", "the slow maps 3rd ed"),
        ("foo_bar", "foo bar"),
        ("Crème brûlée Łódź STRASSE straße", "creme brulee lodz strasse strasse"),
        ("東京都", "東京 京都 都"),
        ("猫", "猫"),
        ("iPhone手机", "iphone 手机 机"),
        ("ภาษา", "ภา าษ ษา า"),
        ("서울에", "서울 울에 에"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("ｶﾞｲﾄﾞ か\u3099", "ガイ イド ド が"),
        ("co\u00adop\u200bera İzmir", "coopera izmir"),
        ("don’t l’eau C++ C# A+ a+b", "don't l eau c++ c# a + a b"),
        ("!!! ... -- +", ""),
        ("", ""),
    ],
)
def test_texts_are_split(text: str, expected: str) -> None:
    assert indexed(text) == expected


@given(st.text(max_size=60))
def test_any_text_gives_words_without_spaces_or_quotes_at_their_places(text: str) -> None:
    for word in words(text):
        assert word.text
        assert not set(word.text) & set(' "*(){}:-^')
        assert 0 <= word.start < word.end <= len(text)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing_that_matters(text: str) -> None:
    assert indexed(fold(fold(text))) == indexed(fold(fold(fold(text))))


SCRIPTS = [
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "ARMENIAN",
    "HEBREW",
    "ARABIC",
    "SYRIAC",
    "THAANA",
    "DEVANAGARI",
    "BENGALI",
    "GURMUKHI",
    "GUJARATI",
    "ORIYA",
    "TAMIL",
    "TELUGU",
    "KANNADA",
    "MALAYALAM",
    "SINHALA",
    "THAI",
    "LAO",
    "TIBETAN",
    "MYANMAR",
    "GEORGIAN",
    "HANGUL",
    "ETHIOPIC",
    "CHEROKEE",
    "KHMER",
    "MONGOLIAN",
    "HIRAGANA",
    "KATAKANA",
    "CJK",
]
BETWEEN = (
    " ",
    " ",
    ", ",
    "-",
    "_",
    "\u00ad",
    "\u200b",
    "\ufeff",
    "’",
    "'",
    "`",
    "+",
    "++ ",
    "# ",
    "Ｃ",
    "ﾀﾞ",
    "İ",
    "\u0301",
    "1’",
    "/",
)
"""What stands between two parts of a string: separators, characters without width, apostrophes and forms."""


def _strings(count: int) -> list[str]:
    """Returns strings of all scripts, some with parts of two scripts."""
    chance = random.Random(1)
    letters: dict[str, list[str]] = {}
    for char in filter(str.isalpha, map(chr, range(0x20, 0xD7FF))):
        letters.setdefault(unicodedata.name(char, "").partition(" ")[0], []).append(char)
    found = []
    for script in itertools.islice(itertools.cycle(SCRIPTS), count):
        parts = []
        for _ in range(chance.randint(1, 4)):
            own = letters[script if chance.random() < 0.9 else chance.choice(SCRIPTS)]
            parts += ["".join(chance.choices(own, k=chance.randint(1, 5))), chance.choice(BETWEEN)]
        found.append("".join(parts))
    return found


def _joined(text: str, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins spans without a visible character in between: pairs of characters, and the words that ICU finds in
    a run."""
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and not text[joined[-1][1] : start].strip("\u00ad\u200b\ufeff"):
            before = joined.pop()
            start, end = before[0], max(before[1], end)
        joined.append((start, end))
    return joined


def _assert_cut_alike(text: str) -> None:
    pairs = list(zip(tokens(text), spans(text), strict=True))
    counted = [span for token, span in pairs if is_word(token)]
    searched = [(word.start, word.end) for word in words(text) if word.text not in "+#"]
    if is_unspaced(text):
        counted, searched = _joined(text, counted), _joined(text, searched)
    assert counted == searched, ascii(text)


def test_the_search_and_the_keywords_cut_texts_alike() -> None:
    for text in _strings(500):
        _assert_cut_alike(text)


@pytest.mark.parametrize(
    "text", ["1 ⑴ x", "1 ㈱ x", "b 🄐", "1 \ufc5e'b", "\u0300\u0300-a", "\ufe49 x", "\u17f0\u17f0 x"]
)
def test_characters_whose_folded_form_is_no_letter_are_cut_alike(text: str) -> None:
    """Of all assigned characters, only such ones were once cut otherwise."""
    _assert_cut_alike(text)


def test_the_index_has_the_words_of_a_text() -> None:
    for text in _strings(300):
        assert indexed(text) == " ".join(word.text for word in words(text)), ascii(text)
