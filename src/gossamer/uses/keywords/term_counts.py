"""Counts all words and phrases of many pages in bounded memory, to discover those that matter.

Tokens become numbers, which are collected for about a million words and then sorted and counted by numpy. The
counts of each such batch are handed over, and the memory is free again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from gossamer.uses.keywords.tokens import is_word

MAX_BATCH_WORDS: Final = 1_000_000
"""A batch ends with the page that reaches this number of words."""
MAX_PAGE_WORDS: Final = 200_000
"""The words of a page beyond this number are not discovered. They are counted for the keywords of a list."""
MAX_WORDS: Final = 3
"""The maximum number of words of a discovered phrase."""
MAX_TERM_CHARS: Final = 60
BETWEEN: Final = "\x1f"
"""Separates the words of a phrase in the counts."""
_END_OF_PAGE: Final = -1
_ID_BITS, _PAGE_BITS = 21, 21


class TermCount(NamedTuple):
    """A term of a batch: its number of words, the words, and how often and on how many pages it occurs."""

    length: int
    term: str
    count: int
    pages: int


class _Numbers(dict[str, int]):
    """The numbers of words. Symbols and breaks have the number 0."""

    def __init__(self) -> None:
        super().__init__()
        self.words = [""]

    def __missing__(self, word: str) -> int:
        number = 0
        if is_word(word) and len(word) <= MAX_TERM_CHARS:
            number = len(self.words)
            self.words.append(word)
        self[word] = number
        return number


class TermBatch:
    """The words of some pages, by group. A group is a site and a language."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._tokens: dict[tuple[int, str], array[int]] = {}
        self.words = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch must be handed over before the next page."""
        return self.words >= MAX_BATCH_WORDS or len(self._numbers.words) > MAX_BATCH_WORDS

    def add(self, group: tuple[int, str], texts: Sequence[Sequence[str]]) -> None:
        """Adds the texts of a page, each as tokens. No phrase spans two texts."""
        found = self._tokens.setdefault(group, array("i"))
        for words in texts:
            part = words[:MAX_PAGE_WORDS]
            found.extend(map(self._numbers.__getitem__, part))
            found.append(0)
            self.words += len(part)
        found.append(_END_OF_PAGE)

    def counts(self, minimum: int) -> Iterator[tuple[tuple[int, str], list[TermCount]]]:
        """Yields the counts by group. Phrases that occur less often than `minimum` are left out, words never."""
        for group, found in self._tokens.items():
            yield group, self._count(found, minimum)

    def _count(self, found: array[int], minimum: int) -> list[TermCount]:
        import numpy as np

        ids = np.frombuffer(found, dtype=np.int32)
        pages = np.cumsum(ids == _END_OF_PAGE, dtype=np.int64)
        ids = np.maximum(ids, 0).astype(np.int64)
        terms: list[TermCount] = []
        singles, count, on = _counted(ids, pages, ids > 0)
        self._append(terms, [singles], count, on)
        codes = (ids[:-1] << _ID_BITS) | ids[1:]
        mask = (ids[:-1] > 0) & (ids[1:] > 0)
        pairs, count, on = _counted(codes, pages[:-1], mask)
        kept = count >= minimum
        pairs, count, on = pairs[kept], count[kept], on[kept]
        self._append(terms, [pairs >> _ID_BITS, pairs & ((1 << _ID_BITS) - 1)], count, on)
        if len(pairs) and len(ids) > 2:
            # a phrase of three words can occur often enough only if its first two words do
            place = np.minimum(np.searchsorted(pairs, codes[:-1]), len(pairs) - 1)
            mask = mask[:-1] & (ids[2:] > 0) & (pairs[place] == codes[:-1])
            triples, count, on = _counted((place << _ID_BITS) | ids[2:], pages[:-2], mask)
            kept = count >= minimum
            triples, count, on = triples[kept], count[kept], on[kept]
            first = pairs[triples >> _ID_BITS]
            parts = [first >> _ID_BITS, first & ((1 << _ID_BITS) - 1), triples & ((1 << _ID_BITS) - 1)]
            self._append(terms, parts, count, on)
        return terms

    def _append(self, terms: list[TermCount], parts: list[Any], count: Any, on: Any) -> None:
        words, length = self._numbers.words, len(parts)
        columns = [map(words.__getitem__, part.tolist()) for part in parts]
        named = columns[0] if length == 1 else map(BETWEEN.join, zip(*columns, strict=True))
        terms += [
            TermCount(length, term, n, m)
            for term, n, m in zip(named, count.tolist(), on.tolist(), strict=True)
        ]


def _counted(codes: Any, pages: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Returns the different codes in order, with how often and on how many pages each occurs. Only places in
    `mask` count."""
    import numpy as np

    keys = (codes[mask] << _PAGE_BITS) | pages[mask]
    keys.sort()
    if not len(keys):
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    found = keys >> _PAGE_BITS
    new_code = np.empty(len(keys), dtype=bool)
    new_code[0] = True
    np.not_equal(found[1:], found[:-1], out=new_code[1:])
    new_page = np.empty(len(keys), dtype=bool)
    new_page[0] = True
    np.not_equal(keys[1:], keys[:-1], out=new_page[1:])
    starts = np.flatnonzero(new_code)
    count = np.diff(np.append(starts, len(keys)))
    return found[starts], count, np.add.reduceat(new_page.astype(np.int64), starts)
