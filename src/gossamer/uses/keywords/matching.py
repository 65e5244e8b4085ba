"""Finds the keywords of a list in a page's texts. The time per page does not depend on the number of
keywords."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gossamer.parsing.words import spans, tokens
from gossamer.uses.keywords.stemming import stem_language, stems_of
from gossamer.uses.keywords.texts import StoredText

ZONES: Final = ("body", "title", "headings", "alt", "meta")
"""The parts of a page in which keywords are counted, in the order of the counts that `KeywordMatcher.count`
returns. Keywords in links from other pages are counted separately."""
FIRST: Final = len(ZONES)
"""The index of a keyword's first position in a list that `KeywordMatcher.count` returns. The first position
is the number of tokens before the keyword in the main text, or -1 if the main text does not contain the
keyword."""
CONTEXT_CHARS: Final = 100
"""Maximum number of characters of a context on each side of the keyword, if the user gives no other number."""
MAX_CONTEXT_CHARS: Final = 2000
MAX_CONTEXTS: Final = 5
MAX_CUT_WORD: Final = 40
"""Maximum length of a word that is left out at the end of a context. A longer run of characters, as in scripts
without spaces, is cut."""
_SPACE: Final = re.compile(r"\s")
MAX_CACHED_ANCHORS: Final = 50_000


class _FirstWord(NamedTuple):
    """The numbers of the keywords that begin with the same token. `alone`: the keywords that consist only of
    the token. `longer`: the keywords of several tokens. The outer dict is keyed by the number of tokens, and
    each inner dict is keyed by the tokens after the first token."""

    alone: list[int]
    longer: dict[int, dict[tuple[str, ...], list[int]]]


class TokenMatcher:
    """Finds keywords in a list of tokens. After stemming, several keywords may have the same tokens."""

    def __init__(self, keywords: Sequence[Sequence[str]]) -> None:
        self._entries: dict[str, _FirstWord] = {}
        for number, words in enumerate(keywords):
            entry = self._entries.setdefault(words[0], _FirstWord([], {}))
            if len(words) == 1:
                entry.alone.append(number)
            else:
                tails = entry.longer.setdefault(len(words), defaultdict(list))
                tails[tuple(words[1:])].append(number)

    def find(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """Returns the occurrences in order, each as a pair (position of the first token, number of the
        keyword)."""
        found: list[tuple[int, int]] = []
        entries = self._entries
        for place in [place for place, word in enumerate(words) if word in entries]:
            alone, longer = entries[words[place]]
            if alone:
                found += [(place, number) for number in alone]
            for length, tails in longer.items():
                if numbers := tails.get(tuple(words[place + 1 : place + length])):
                    found += [(place, number) for number in numbers]
        return found


class KeywordMatcher:
    """Counts the keywords of a list in pages. `stem`: a language, `auto` for the language of each page, or ''
    for words as they are written."""

    def __init__(self, keywords: Sequence[str], stem: str = "") -> None:
        self.keywords = keywords
        self._stem = stem
        self._words = [tokens(keyword) for keyword in keywords]
        self._matchers: dict[str, TokenMatcher] = {}
        self._anchors: dict[tuple[str, str], tuple[int, ...]] = {}

    def width(self, keyword: int) -> int:
        """Returns the number of tokens of a keyword."""
        return len(self._words[keyword])

    def find(self, words: Sequence[str], language: str) -> list[tuple[int, int]]:
        """Returns the occurrences of the keywords in the tokens of a page (see `TokenMatcher.find`).
        `language`: the page's language."""
        code = stem_language(self._stem, language) if self._stem else ""
        if code not in self._matchers:
            own = [stems_of(code).of(words) for words in self._words] if code else self._words
            self._matchers[code] = TokenMatcher(own)
        return self._matchers[code].find(stems_of(code).of(words) if code else words)

    def count(self, page: StoredText, body: Sequence[str]) -> dict[int, list[int]]:
        """Returns a list of counts for each keyword on a page. The list contains one count for each zone of
        `ZONES`. The number at the index FIRST is the position of the first occurrence in the body, or -1 if
        the body does not contain the keyword. `body`: the tokens of the page's main text."""
        found: dict[int, list[int]] = {}
        language = page.code
        for place, keyword in self.find(body, language):
            if keyword in found:
                found[keyword][0] += 1
            else:
                found[keyword] = [1, 0, 0, 0, 0, place]
        for zone, text in enumerate(page.other_zones(), 1):
            if not text:
                continue
            for _, keyword in self.find(tokens(text), language):
                found.setdefault(keyword, [0, 0, 0, 0, 0, -1])[zone] += 1
        return found

    def of_anchor(self, text: str, language: str) -> tuple[int, ...]:
        """Returns the keywords in the text of a link, without duplicates."""
        key = language if self._stem else "", text
        known = self._anchors.get(key)
        if known is None:
            if len(self._anchors) >= MAX_CACHED_ANCHORS:
                self._anchors.clear()
            known = tuple({keyword for _, keyword in self.find(tokens(text), language)})
            self._anchors[key] = known
        return known


def cut_contexts(text: str, places: Sequence[tuple[int, int]], size: int = CONTEXT_CHARS) -> Iterator[str]:
    """Yields the context of each occurrence: the keyword, and at most `size` characters on each side, cut
    between words if possible. `places`: for each occurrence, the position of its first token and its number
    of tokens."""
    if not places:
        return
    last = max(place + width for place, width in places)
    where = []
    for span in spans(text):
        where.append(span)
        if len(where) >= last:
            break
    for place, width in places:
        yield _cut(text, where[place][0], where[place + width - 1][1], size)


def _cut(text: str, start: int, end: int, size: int) -> str:
    left, right = max(0, start - size), min(len(text), end + size)
    word = min(size // 2, MAX_CUT_WORD)
    if left and (space := _SPACE.search(text, left - 1, left + word)):
        left = space.end()
    if right < len(text):
        spaces = [space.start() for space in _SPACE.finditer(text, right - word, right + 1)]
        right = spaces[-1] if spaces else right
    return " ".join(text[left:right].split())
