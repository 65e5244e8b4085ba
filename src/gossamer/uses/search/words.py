"""Splits texts into words for the index and for queries.

Comparisons of words ignore case, width and diacritics. In scripts without spaces between words (Chinese,
Japanese, Thai and others), and in Korean, every two adjacent characters are a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

VERSION: Final = f"2-{unicodedata.unidata_version}"
"""The version of the word splitting. The first part of the version must be increased when a change of this
module can split a text into different words. The second part is the Unicode version. An index with another
version of the word splitting is rebuilt."""
_MARKS: Final = r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670"
_VOWELS: Final = r"\u0900-\u0963\u0971-\u0dff\u0f71-\u0fbc"
_UNSPACED: Final = (
    r"\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u104f\u1780-\u17d3"
)
_WORD: Final = re.compile(rf"(?:[^\W_]|[{_MARKS}{_VOWELS}{_UNSPACED}])+")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_MARK: Final = re.compile(rf"[{_MARKS}]")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)


BEFORE: Final = rf"(?<![^\W_])(?<![{_MARKS}{_VOWELS}{_UNSPACED}])"
AFTER: Final = rf"(?![^\W_{_UNSPACED}]|[{_MARKS}{_VOWELS}])"
"""BEFORE is a pattern for the beginning of a word, and AFTER is a pattern for the end of a word, in scripts
with spaces between words."""


class _SameLength(dict[int, str]):
    """Maps each character to its folded form if the folded form is a single character, otherwise to
    itself."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = fold(char)
        self[code] = folded if len(folded) == 1 else char
        return self[code]


_same_length = _SameLength()


def fold_in_place(text: str) -> str:
    """Folds the characters of a text without changing its length. Characters whose folded form is empty or
    longer than one character are not changed.

    >>> fold_in_place("Crème Straße")
    'creme straße'
    """
    return text.lower() if text.isascii() else text.translate(_same_length)


def is_unspaced(word: str) -> bool:
    """Whether a word belongs to a script without spaces between words."""
    return _IS_UNSPACED.search(word) is not None


class Word(NamedTuple):
    """A folded word, and the span of its characters in the text. `is_last`: whether the word is a single
    character at the end of a run without spaces. The index contains this single character in addition to the
    pairs of characters."""

    text: str
    start: int
    end: int
    is_last: bool = False


def fold(word: str) -> str:
    """Folds a word. Words that differ only in case, width or diacritics have the same folded form.

    >>> fold("Ｃａｆé"), fold("Straße"), fold("Łódź"), fold("が")
    ('cafe', 'strasse', 'lodz', 'が')
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", word).casefold()
    bare = _MARK.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def words(text: str) -> Iterator[Word]:
    """Yields the words of a text.

    >>> [word.text for word in words("Der Bär's 東京都")]
    ['der', 'bar', 's', '東京', '京都', '都']
    """
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        if word.isascii() or not _IS_UNSPACED.search(word):
            if folded := _joined(word):
                yield Word(folded, start, found.end())
            continue
        for run in _RUN.finditer(word):
            yield from _of_run(run[0], start + run.start())


def _of_run(run: str, start: int) -> Iterator[Word]:
    if not _IS_UNSPACED.match(run):
        if folded := _joined(run):
            yield Word(folded, start, start + len(run))
        return
    for at in range(len(run) - 1):
        if pair := _joined(run[at : at + 2]):
            yield Word(pair, start + at, start + at + 2)
    if last := _joined(run[-1]):
        yield Word(last, start + len(run) - 1, start + len(run), is_last=True)


def _joined(word: str) -> str:
    """Folds a word, and removes the characters that folding turns into punctuation or spaces."""
    folded = fold(word)
    return folded if folded.isalnum() else "".join(_WORD.findall(folded))


def indexed(text: str) -> str:
    """Returns the words of a text, separated by spaces, as the index stores them."""
    return " ".join([word.text for word in words(text)])
