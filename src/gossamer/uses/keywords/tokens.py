"""Splits text into folded tokens: words and symbols, in any script.

Words are runs of letters, digits and marks. A symbol is a separate token. A paragraph break is also a
separate token. A phrase therefore contains neither a comma nor a paragraph break. Hyphens, slashes, quotation
marks and spaces only separate words. An apostrophe between letters is a symbol.

Scripts without spaces between words (Han, Hiragana, Thai, Lao, Khmer, Burmese) are split into words by ICU,
if the library icu4py is installed. Without icu4py, each character with its marks is a token. A run of
Katakana is one word.

Folding is NFKC and case folding. Soft hyphens and zero-width joiners are removed.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import regex

PARAGRAPH: Final = "\n\n"
"""The token that represents a paragraph break."""
_SIGNS: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
"""The letters of scripts that have no spaces between words."""
_KATAKANA: Final = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_JOINERS: Final = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_SILENT: Final = "\\-‐‑/\"'’‘“”„«»‹›`\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Characters that end a word and do not become tokens."""
_LATIN = re.compile(rf"\w+(?:\u00ad+\w+)*|{PARAGRAPH}|(?<=\w)['’](?=\w)|[^\w\s{_SILENT}]")
_LETTER: Final = r"\p{L}\p{N}\p{M}_"
_WORD: Final = rf"(?:(?![{_SIGNS}{_KATAKANA}])[{_LETTER}])(?:(?![{_SIGNS}{_KATAKANA}])[{_LETTER}{_JOINERS}])*"
_OTHERS: Final = rf"{PARAGRAPH}|(?<=[{_LETTER}])['’](?=[{_LETTER}])|{_WORD}|[^{_LETTER}\s{_SILENT}]"
_CHARACTERS = regex.compile(rf"[{_SIGNS}][\p{{M}}{_JOINERS}]*+|[{_KATAKANA}\u3099\u309a]+|{_OTHERS}")
_RUNS = regex.compile(rf"[{_SIGNS}{_KATAKANA}][{_SIGNS}{_KATAKANA}\p{{M}}{_JOINERS}]*|{_OTHERS}")
_SIGN = regex.compile(f"[{_SIGNS}{_KATAKANA}]")
_STRIPPED = dict.fromkeys(map(ord, _JOINERS))
MAX_CACHED_WORDS: Final = 200_000
_LONG_CHARS: Final = 100_000
"""The number of characters above which a text counts as long. In the token list of a long text, equal words
are the same string object, which saves memory."""


def fold(word: str) -> str:
    """Returns a word in the form in which words are compared.

    >>> fold("Straße"), fold("ＷＥＢ"), fold("’")
    ('strasse', 'web', "'")
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    folded = folded.translate(_STRIPPED).replace("’", "'")
    return folded or word


class _Folds(dict[str, str]):
    """A cache of folded words."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        self[word] = folded = fold(word)
        return folded


_folds = _Folds()


def tokens(text: str) -> list[str]:
    """Returns the folded tokens of a text in NFC, in order.

    >>> tokens("Tea-pots, don’t: C++ 茶"), tokens("One.\\n\\nTwo")
    (['tea', 'pots', ',', 'don', "'", 't', ':', 'c', '+', '+', '茶'], ['one', '.', '\\n\\n', 'two'])
    """
    if text.isascii() and len(text) < _LONG_CHARS:
        return _LATIN.findall(text.lower())
    return list(map(_folds.__getitem__, _split(text)))


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each token of `tokens`, in characters."""
    if _is_latin(text):
        yield from (found.span() for found in _LATIN.finditer(text))
        return
    words = _segmenter()
    if words is None:
        yield from (found.span() for found in _CHARACTERS.finditer(text))
        return
    for found in _RUNS.finditer(text):
        start = found.start()
        if _SIGN.match(text, start) is None:
            yield found.span()
            continue
        for part in words(found[0]):
            yield start, start + len(part)
            start += len(part)


def is_word(token: str) -> bool:
    """Whether a token is a word, not a symbol or a paragraph break."""
    return token[0].isalnum() or token[0] == "_" or unicodedata.category(token[0])[0] in "LMN"


class _Kinds(dict[str, bool]):
    """A cache of `is_word`."""

    def __missing__(self, token: str) -> bool:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        self[token] = kind = is_word(token)
        return kind


_kinds = _Kinds()


def count_words(found: Sequence[str]) -> int:
    """Returns the number of words among these tokens."""
    return sum(map(_kinds.__getitem__, found))


_BEYOND = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0590-\u1cff\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200d\u2060\u20d0-\u20ff"
    "\u2c00-\u2dff\u2e80-\uffff\U00010000-\U0001efff\U00020000-\U0003ffff]"
)
"""Matches marks, and the letters of all scripts except Latin, Greek, Cyrillic and Armenian. In a text without
such characters, Python's `\\w` finds the same words as this module."""


def _is_latin(text: str) -> bool:
    """Whether the faster pattern `_LATIN` splits a text into the same words as the slower patterns."""
    return _BEYOND.search(text) is None


def _split(text: str) -> list[str]:
    if _is_latin(text):
        return _LATIN.findall(text)
    words = _segmenter()
    if words is None:
        found: list[str] = _CHARACTERS.findall(text)
        return found
    parts: list[str] = []
    for run in _RUNS.findall(text):
        if _SIGN.match(run) is None:
            parts.append(run)
        else:
            parts += words(run)
    return parts


@functools.cache
def _segmenter() -> Callable[[str], list[str]] | None:
    """Returns the function that splits a run of letters into words, or None if icu4py is not installed."""
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        return None
    return lambda run: list(WordBreaker(run, "root"))
