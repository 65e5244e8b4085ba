"""Texts split into tokens, in any script."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.parsing import words as subject
from gossamer.parsing.words import count_words, fold, is_word, spans, tokens


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tea-pots and/or CUPS", ["tea", "pots", "and", "or", "cups"]),
        ("C++, .NET, node.js", ["c++", ",", ".", "net", ",", "node", ".", "js"]),
        ("C# C++17 Ｃ＋＋ A+ a++b", ["c#", "c++", "17", "c++", "a", "+", "a", "+", "+", "b"]),
        ("don’t “quote” l'heure qu’il", ["don't", "quote", "l", "heure", "qu", "il"]),
        ("O`Neill's İzmir'de п’ять aujourd'hui", ["o'neill", "s", "izmir", "de", "п'ять", "aujourd'hui"]),
        ("don´t 5'3 'tis' 1’000 oʻzbek", ["don't", "5", "3", "tis", "1", "000", "o'zbek"]),
        ("co\u200bop foo_bar ｶﾞｲﾄﾞ", ["coop", "foo", "bar", "ガイド"]),
        ("One.\n\nTwo\nthree", ["one", ".", "\n\n", "two", "three"]),
        ("Straße ＷＥＢ ﬁne m² x\u00ady", ["strasse", "web", "fine", "m2", "xy"]),
        ("cafe\u0301 हिन्दी में می‌خواهم", ["cafe\u0301", "हिन्दी", "में", "میخواهم"]),
        ("コンピュータ", ["コンピュータ"]),
    ],
)
def test_words_and_symbols(text: str, found: list[str]) -> None:
    expected = [unicodedata.normalize("NFC", one) for one in found]
    assert tokens(unicodedata.normalize("NFC", text)) == expected


def test_characters_of_unspaced_scripts_without_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_segmenter", lambda: None)
    assert tokens("東京は茶 tea") == ["東", "京", "は", "茶", "tea"]
    assert tokens("น้ำชา") == ["น้", "ำ", "ช", "า"] or len(tokens("น้ำชา")) >= 3


def test_words_of_unspaced_scripts_with_icu() -> None:
    pytest.importorskip("icu4py")
    assert tokens("東京は日本の首都です") == ["東京", "は", "日本", "の", "首都", "です"]
    assert tokens("ภาษาไทย") == ["ภาษา", "ไทย"]


def test_wide_characters_with_icu() -> None:
    """Characters of two UTF-16 units, which ICU counts as two, and lone surrogates do not shift word
    boundaries."""
    pytest.importorskip("icu4py")
    text = "😀東京は𠮷野家\U00020000ภาษาไทย😀ภาษา"
    found = ["😀", "東京", "は", "𠮷", "野家", "\U00020000", "ภาษา", "ไทย", "😀", "ภาษา"]
    assert tokens(text) == found == [text[start:end] for start, end in spans(text)]
    assert tokens("東京\ud800は") == ["東京", "\ud800", "は"]


def test_threads_share_the_splitter() -> None:
    text = "東京は日本の首都です。ภาษาไทยเป็นภาษา 😀 " * 50
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokens, [text] * 40)) == [tokens(text)] * 40


TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab é ß'’-.,\n\u00ad\u200d東京ไทยカナहि😀C+#_²ﬁ"),
        st.characters(exclude_categories=["Cs"]),
    )
)


@given(TEXTS)
def test_spans_are_those_of_the_tokens(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert [fold(text[start:end]) for start, end in spans(text)] == [fold(one) for one in tokens(text)]


@given(st.text(st.sampled_from("ab é ß'’-.,\n\u00ad²½ⅣⒸ‿\x1cﬁC+#_Ωж\U000e0100")))
@example("²'C")
@example("ⒸC#")
@example("‿C#")
@example("\x1c'b")
@example("ab\U000e0100cd")
def test_both_patterns_split_alike(text: str) -> None:
    """A character of another script at the end of a text does not change how the rest is split."""
    text = unicodedata.normalize("NFC", text)
    assert tokens(f"{text} ह")[:-1] == tokens(text)


def test_long_texts_have_the_same_words() -> None:
    assert tokens("Tea pot, " * 30_000) == ["tea", "pot", ","] * 30_000


def test_words_are_told_from_symbols() -> None:
    assert [is_word(one) for one in ("tea", "x", "²", "+", "\n\n", "茶")] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert count_words(tokens("One, two: three!")) == 3
