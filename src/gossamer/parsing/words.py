"""Splits text into words and symbols, in any script. The search and the counts of keywords share this split.

Words are runs of letters, digits and marks. `c++` and `c#` are words, too. An apostrophe between letters is
part of the word (`don't`), except beside the parts in `data/word_parts.txt` (`l'heure`, `the shop's`). A
symbol is a separate token. A paragraph break is also a separate token. A phrase therefore contains neither a
comma nor a paragraph break. Hyphens, slashes, underscores, quotation marks and spaces only separate words.

Before the split, wide and narrow forms are replaced by their usual forms, and soft hyphens and other
characters without width are removed. Both would otherwise hide the script of a word, or cut the word.

A run of a script without spaces between words (Han, Kana, Thai, Lao, Khmer, Burmese) is one span of `runs`.
`tokens` splits the run into words by ICU, if the library icu4py is installed. Without icu4py, each character
with its marks is a token, and a run of Katakana is one word.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import regex

from gossamer.config.optional_deps import install_command
from gossamer.data import alternatives, sections

PARAGRAPH: Final = "\n\n"
"""The token that represents a paragraph break."""
_SIGNS: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ef\u3041-\u3096\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
"""The letters of scripts that have no spaces between words."""
_KATAKANA: Final = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_APOSTROPHES: Final = "'’‘‛`´′ʹʻʼʽ"
_SILENT: Final = '\\-‐‑/"″“”„«»‹›™℠' + _APOSTROPHES
"""Characters that end a word and do not become tokens."""
WIDTHLESS: Final = r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
"""Characters without width, as the inside of a character class."""
_FORMS: Final = r"\u02b9\u02bb-\u02bd\u2e80-\u2fdf\uff00-\uffef"
"""Characters that `_plain` may replace: letters that serve as apostrophes, radicals, and the forms of other
widths."""


def _kept_apostrophe() -> str:
    """Returns the pattern of an apostrophe that is part of a word."""
    lengths: dict[int, list[str]] = {}
    for head in sections("word_parts")["before"]:
        lengths.setdefault(len(head), []).append(head)
    heads = "".join(rf"(?<!\b(?i:{'|'.join(some)})[{_APOSTROPHES}])" for some in lengths.values())
    tails = alternatives("word_parts", "after")
    return rf"(?<=[^\W\d_])[{_APOSTROPHES}]{heads}(?=[^\W\d_])(?!(?i:{tails})(?!\w))"


_INSIDE: Final = _kept_apostrophe()
_SUFFIX: Final = r"(?:\+\+(?![^\W\d]|\+)|(?<=\b[A-Za-z])#(?!\w))?"
"""The end of the names of languages, such as C++ and C#."""
_LATIN = re.compile(rf"[^\W_]+(?:{_INSIDE}[^\W_]+)*{_SUFFIX}|{PARAGRAPH}|[^\w\s{_SILENT}]")
_LETTER: Final = r"\p{L}\p{N}\p{M}"
_SPACED: Final = rf"(?:(?![{_SIGNS}{_KATAKANA}])[{_LETTER}])+"
_OTHERS: Final = rf"{PARAGRAPH}|{_SPACED}(?:{_INSIDE}{_SPACED})*{_SUFFIX}|[^{_LETTER}_\s\x1c-\x1f{_SILENT}]"
_CHARACTERS = regex.compile(rf"[{_SIGNS}]\p{{M}}*|[{_KATAKANA}\u3099\u309a]+|{_OTHERS}")
_RUNS = regex.compile(rf"[{_SIGNS}{_KATAKANA}][{_SIGNS}{_KATAKANA}\p{{M}}]*|{_OTHERS}")
_SIGN = regex.compile(f"[{_SIGNS}{_KATAKANA}]")
_WIDTHLESS: Final = re.compile(f"[{WIDTHLESS}]")
_UNUSUAL: Final = re.compile(f"[{WIDTHLESS}{_FORMS}]")
_BEYOND = re.compile(
    rf"[{WIDTHLESS}\u00b2\u00b3\u00b9\u00bc-\u00be\u02b9\u02bb-\u02bd\u0300-\u036f\u0483-\u0489\u0558\u058b\u058c\u0590-\u1cff\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u203f\u2040\u2054\u2070-\u209f\u20d0-\u20ff\u2150-\u215f\u2189\u2460-\u24ff\u2776-\u2793\u2c00-\u2dff\u2e80-\uffff\U00010000-\U0001efff\U0001f100-\U0001f189\U00020000-\U0003ffff]"
)
"""Matches marks, characters that are replaced or removed, characters that only `re` or only `regex` takes for letters (raised
digits, fractions, letters in circles, ties), and the letters of all scripts except Latin, Greek, Cyrillic and Armenian.
In a text without such characters, `_LATIN` finds the same words as the slower patterns."""
MAX_CACHED_WORDS: Final = 200_000
_LONG_CHARS: Final = 100_000
"""The number of characters above which a text counts as long. In the token list of a long text, equal words
are the same string object, which saves memory."""


class _Forms(dict[int, str]):
    """Maps each wide or narrow form to its usual form, if this is a single character."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind, _, other = unicodedata.decomposition(char).partition(" ")
        if char in _APOSTROPHES or char == "＇":
            char = "'"
        elif _UNUSUAL.match(char) and kind in ("<wide>", "<narrow>", "<compat>") and len(other) in (4, 5):
            char = chr(int(other, 16))
        self[code] = char
        return char


_forms: Final = _Forms()


def _plain(text: str) -> str:
    """Replaces the forms of other widths, and removes the characters without width."""
    if text.isascii() or not _UNUSUAL.search(text):
        return text
    return _WIDTHLESS.sub("", text).translate(_forms)


def fold(word: str) -> str:
    """Returns a word in the form in which words are compared: without differences of case and width.

    >>> fold("Straße"), fold("ＷＥＢ"), fold("’"), fold("İzmir")
    ('strasse', 'web', "'", 'izmir')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    if folded.isalpha():
        return folded
    folded = _WIDTHLESS.sub("", folded).replace("i\u0307", "i")
    return re.sub(f"[{_APOSTROPHES}]", "'", folded) or word


class _Folds(dict[str, str]):
    """A cache of folded words."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        self[word] = folded = fold(word)
        return folded


_folds = _Folds()


def tokens(text: str) -> list[str]:
    """Returns the folded tokens of a text, in order.

    >>> tokens("Tea-pots, don’t: C++ 茶"), tokens("One.\\n\\nTwo")
    (['tea', 'pots', ',', "don't", ':', 'c++', '茶'], ['one', '.', '\\n\\n', 'two'])
    """
    if text.isascii() and len(text) < _LONG_CHARS:
        return _LATIN.findall(text.lower().replace("`", "'"))
    return list(map(_folds.__getitem__, _split(text)))


class Run(NamedTuple):
    """A token, or a run of a script without spaces between words. `text` is not folded. `start`, `end`: the
    span of its characters in the text."""

    text: str
    start: int
    end: int


def runs(text: str) -> Iterator[Run]:
    """Yields the words, symbols and paragraph breaks of a text. A run of a script without spaces is not split.

    >>> [run.text for run in runs("Tea: 東京タワー")]
    ['Tea', ':', '東京タワー']
    """
    plain = _plain(text)
    places: Sequence[int] = range(len(text) + 1)
    if len(plain) != len(text):
        places = [at for at, char in enumerate(text) if not _WIDTHLESS.match(char)]
    for found in (_RUNS if _BEYOND.search(text) else _LATIN).finditer(plain):
        yield Run(found[0], places[found.start()], places[found.end() - 1] + 1)


def run_texts(text: str) -> list[str]:
    """Returns the texts of `runs`, faster than `runs`."""
    plain = _plain(text)
    found: list[str] = (_RUNS if _BEYOND.search(text) else _LATIN).findall(plain)
    return found


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each token of `tokens`, in characters."""
    words = _segmenter()
    for run in runs(text):
        if _SIGN.match(run.text) is None:
            yield run.start, run.end
            continue
        parts = _CHARACTERS.findall(run.text) if words is None else words(run.text)
        whole = text[run.start : run.end]
        places = [run.start + at for at, char in enumerate(whole) if not _WIDTHLESS.match(char)]
        at = 0
        for part in parts:
            yield places[at], places[at + len(part) - 1] + 1
            at += len(part)


@functools.cache
def stop_words() -> dict[str, list[str]]:
    """Returns the stop words of each language in the form of `tokens`, by the language's ISO 639-1 code. Stop
    words are frequent in all texts of a language (`data/stop_words.txt`).

    >>> "the" in stop_words()["en"]
    True
    """
    return {
        code: sorted({found[0] for word in words if len(found := tokens(word)) == 1})
        for code, words in sections("stop_words").items()
    }


def is_word(token: str) -> bool:
    """Whether a token is a word, not a symbol, a paragraph break or marks without a letter.

    >>> is_word("tea"), is_word("("), is_word(tokens("㈱")[0])
    (True, False, True)
    """
    # the folded form of one character may begin with a bracket or a space
    return any(map(str.isalnum, token))


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


def _split(text: str) -> list[str]:
    if not _BEYOND.search(text):
        return _LATIN.findall(text)
    words = _segmenter()
    if words is None:
        found: list[str] = _CHARACTERS.findall(_plain(text))
        return found
    parts: list[str] = []
    for run in run_texts(text):
        if _SIGN.match(run) is None:
            parts.append(run)
        else:
            parts += words(run)
    return parts


def icu_hint(keywords: Iterable[str]) -> str:
    """Returns the message that asks for ICU, or '' if no keyword needs ICU or ICU is installed."""
    if not any(map(_SIGN.search, keywords)) or _segmenter() is not None:
        return ""
    return f"a script without spaces is counted by character; ICU finds its words: {install_command('icu')}"


@functools.cache
def _segmenter() -> Callable[[str], list[str]] | None:
    """Returns the function that splits a run of letters into words, or None if icu4py is not installed."""
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        return None
    return lambda run: list(WordBreaker(run, "root"))
