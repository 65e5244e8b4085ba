"""Turns texts into the words of the index. `gossamer.parsing.words` splits the texts.

Comparisons of words ignore case, width and diacritics. In scripts without spaces between words (Chinese,
Japanese, Thai and others), and in Korean, every two adjacent characters are a word of the index.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

import regex

from gossamer.parsing.words import MAX_CACHED_WORDS, is_word, run_texts, runs
from gossamer.parsing.words import fold as fold_width

VERSION: Final = f"4-{unicodedata.unidata_version}"
"""The version of the word splitting. The first part of the version must be increased when a change of this
module or of `gossamer.parsing.words` can split a text into different words. The second part is the Unicode
version. An index with another version of the word splitting is rebuilt."""
SIGNS: Final = "'+#"
"""The characters other than letters, digits and marks that a word can contain (don't, c++, c#)."""
_MARKS: Final = r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670"
_PAIRED: Final = (
    r"\u3005-\u3007\u3031-\u3035\u3040-\u3098\u309b-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\u1100-\u115f\ua960-\ua97f\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u104f\u1780-\u17d3"
)
"""Characters of which every two adjacent ones are a word of the index."""
_CLUSTER: Final = rf"[{_PAIRED}][\p{{M}}\u1160-\u11ff\ud7b0-\ud7ff]*"
_PART: Final = regex.compile(rf"(?:{_CLUSTER})+|[^{_PAIRED}]+")
_CHARACTER: Final = regex.compile(_CLUSTER)
_IS_PAIRED: Final = regex.compile(f"[{_PAIRED}]")
_MARK: Final = regex.compile(rf"[{_MARKS}]")
_OTHER: Final = regex.compile(rf"[^\p{{L}}\p{{N}}\p{{M}}{SIGNS}]")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)


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
    """Whether a word belongs to a script whose characters are indexed in pairs."""
    return _IS_PAIRED.search(word) is not None


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

    >>> fold("Ｃａｆé"), fold("Straße"), fold("Łódź"), fold("が"), fold("Don’t")
    ('cafe', 'strasse', 'lodz', 'が', "don't")
    """
    if word.isascii():
        return word.lower()
    bare = _MARK.sub("", unicodedata.normalize("NFD", fold_width(word)))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def words(text: str) -> Iterator[Word]:
    """Yields the words of a text. A `+` or `#` at the end of a word is a word, too, if it is not part of the
    word.

    >>> [word.text for word in words("Der Bär's C++ 東京都, A+")]
    ['der', 'bar', 's', 'c++', '東京', '京都', '都', 'a', '+']
    """
    last = -1
    for run in runs(text):
        if run.text in SIGNS and run.start == last and not text[run.end : run.end + 1].isalnum():
            yield Word(run.text, run.start, run.end)
        # a run with characters without width is marked as a whole
        is_whole = len(run.text) != run.end - run.start
        for word in _of_run(run.text, run.start):
            yield word._replace(start=run.start, end=run.end) if is_whole else word
            last = run.end


def _of_run(run: str, start: int) -> Iterator[Word]:
    if not is_word(run) and (run.isascii() or not is_word(fold_width(run))):
        return
    if run.isascii() or not _IS_PAIRED.search(run):
        if folded := _joined(run):
            yield Word(folded, start, start + len(run))
        return
    for part in _PART.finditer(run):
        yield from _of_part(part[0], start + part.start())


def _of_part(part: str, start: int) -> Iterator[Word]:
    if not _IS_PAIRED.match(part):
        if folded := _joined(part):
            yield Word(folded, start, start + len(part))
        return
    places = [found.span() for found in _CHARACTER.finditer(part)]
    for (first, _), (_, end) in itertools.pairwise(places):
        if pair := _joined(part[first:end]):
            yield Word(pair, start + first, start + end)
    if last := _joined(part[places[-1][0] :]):
        yield Word(last, start + places[-1][0], start + len(part), is_last=True)


def _joined(word: str) -> str:
    """Folds a word, and removes the characters that folding turns into punctuation or spaces."""
    folded = fold(word)
    return folded if folded.isalnum() else _OTHER.sub("", folded)


class _IndexedRuns(dict[str, str]):
    """A cache of the words of runs, separated by spaces."""

    def __missing__(self, run: str) -> str:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        self[run] = found = " ".join(word.text for word in _of_run(run, 0))
        return found


_indexed_runs = _IndexedRuns()


def indexed(text: str) -> str:
    """Returns the words of a text, separated by spaces, as the index stores them."""
    if "+" in text or "#" in text or "＋" in text or "＃" in text:
        return " ".join([word.text for word in words(text)])
    return " ".join(filter(None, map(_indexed_runs.__getitem__, run_texts(text))))
