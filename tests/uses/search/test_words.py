"""The split of texts into words for the search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.uses.search.words import fold, indexed, words


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
        ("!!! ... --", ""),
        ("", ""),
    ],
)
def test_texts_are_split(text: str, expected: str) -> None:
    assert indexed(text) == expected


@given(st.text(max_size=60))
def test_any_text_gives_words_without_spaces_or_quotes_at_their_places(text: str) -> None:
    for word in words(text):
        assert word.text
        assert not set(word.text) & set(" \"*(){}:'-^+")
        assert 0 <= word.start < word.end <= len(text)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing_that_matters(text: str) -> None:
    assert indexed(fold(fold(text))) == indexed(fold(fold(fold(text))))
