"""Counts all words and phrases of many pages in bounded memory, to discover important terms. Each word gets a
number. The numbers of about 800,000 words form a batch. numpy sorts and counts the numbers of a batch. After
the counts of a batch have been converted to tables, the memory of the batch is freed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from gossamer.parsing.words import count_words, is_word
from gossamer.uses.keywords.arrow_columns import numbers, table, texts

MAX_BATCH_WORDS: Final = 800_000
"""The number of words at which a batch of pages is full. The page with which a batch becomes full still
belongs to the batch."""
MAX_PAGE_WORDS: Final = 200_000
"""Terms are discovered only in this number of words at the beginning of a page. Keywords of a list are also
counted in the rest of the page."""
MAX_WORDS: Final = 3
"""The maximum number of words of a discovered phrase."""
MAX_TERM_CHARS: Final = 60
BETWEEN: Final = "\x1f"
"""The separator between the words of a phrase in the term counts."""
_END_OF_PAGE, _SYMBOL, _LONG_WORD = -1, 0, 1
_BITS: Final = 21
"""The size in bits of a word number, and of a position in a batch. A batch always contains fewer than 2 ** 21
words, so 21 bits are enough."""
_MASK: Final = (1 << _BITS) - 1


class _Numbers(dict[str, int]):
    """Maps each word to a number. A new word gets a new number. All symbols and paragraph breaks share the
    number 0. All words that are too long for a term share the number 1."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ["", ""]

    def __missing__(self, word: str) -> int:
        number = _SYMBOL
        if is_word(word):
            number = _LONG_WORD
            if len(word) <= MAX_TERM_CHARS:
                number = len(self.words)
                self.words.append(word)
        self[word] = number
        return number


class TermBatch:
    """Collects the words of a batch of pages, separately for each group. A group is a pair of a site and a
    language."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._tokens: dict[tuple[int, str], array[int]] = {}
        self.words = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch must be counted before the next page is added."""
        return self.words >= MAX_BATCH_WORDS or len(self._numbers.words) > MAX_BATCH_WORDS

    def add(self, group: tuple[int, str], body: Sequence[str]) -> int:
        """Adds the main text of a page as tokens. Returns its number of words."""
        import numpy as np

        found = self._tokens.setdefault(group, array("i"))
        part = array("i", map(self._numbers.__getitem__, body[:MAX_PAGE_WORDS]))
        found.extend(part)
        found.append(_END_OF_PAGE)
        self.words += len(part)
        words = int(np.count_nonzero(np.frombuffer(part, dtype=np.int32)))
        return words + count_words(body[MAX_PAGE_WORDS:])

    def tables(self, minimum: int) -> Iterator[Any]:
        """Yields the counts by group as Arrow tables. Phrases that occur less often than `minimum` are left
        out. Single words are always included."""
        words = texts(self._numbers.words)
        for group, found in self._tokens.items():
            yield from _tables(group, words, found, minimum)


def _tables(group: tuple[int, str], words: Any, found: array[int], minimum: int) -> Iterator[Any]:
    import numpy as np

    ids = np.frombuffer(found, dtype=np.int32)
    pages = np.cumsum(ids == _END_OF_PAGE, dtype=np.int32)
    ids = np.where(ids > _LONG_WORD, ids, 0).astype(np.int64)
    is_term = ids > 0
    one = _counted(ids, pages, is_term)
    yield _table(group, words, one.codes, one.count, one.pages)
    codes = (ids[:-1] << _BITS) | ids[1:]
    two = _counted(codes, pages, is_term[:-1] & is_term[1:])
    kept = two.count >= minimum
    pairs = two.codes[kept]
    yield _table(group, words, pairs, two.count[kept], two.pages[kept], 2)
    if not len(pairs) or len(ids) < 3:
        return
    # a phrase of three words can occur often enough only if its first two words do
    frequent = np.full(len(codes), -1, dtype=np.int64)
    frequent[two.places] = np.repeat(np.where(kept, np.cumsum(kept) - 1, -1), two.count)
    frequent = frequent[:-1]
    three = _counted((frequent << _BITS) | ids[2:], pages, (frequent >= 0) & is_term[2:])
    kept = three.count >= minimum
    triples = three.codes[kept]
    whole = (pairs[triples >> _BITS], triples & _MASK)
    yield _table(group, words, whole, three.count[kept], three.pages[kept], 3)


def _table(group: tuple[int, str], words: Any, codes: Any, count: Any, on: Any, length: int = 1) -> Any:
    """Returns the counts of terms of `length` words as a table. `codes`: the numbers of the words if `length`
    is 1, or the codes of the word pairs if `length` is 2. If `length` is 3, `codes` contains two arrays: the
    codes of the first two words, and the numbers of the third words."""
    import numpy as np
    import pyarrow.compute as pc

    pairs, last = codes if length == 3 else (codes, None)
    parts = [pairs] if length == 1 else [pairs >> _BITS, pairs & _MASK]
    parts += [] if last is None else [last]
    size = len(count)
    found = [words.take(numbers(part)) for part in parts]
    terms = (
        found[0]
        if length == 1
        else pc.binary_join_element_wise(*found, texts([BETWEEN]).take(numbers(np.zeros(size))))
    )
    columns = {
        "site": numbers(np.full(size, group[0])),
        "language": texts([group[1]] * size),
        "length": numbers(np.full(size, length)),
        "term": terms,
        "count": numbers(count),
        "pages": numbers(on),
    }
    return table(columns)


class _Counted(NamedTuple):
    """The counts of codes as four arrays. `codes`: the distinct codes (of words or word pairs) in ascending
    order. `count`: the number of occurrences of each code. `pages`: the number of pages that contain each
    code. `places`: the positions of all occurrences, sorted by code."""

    codes: Any
    count: Any
    pages: Any
    places: Any


def _counted(codes: Any, pages: Any, mask: Any) -> _Counted:
    """Counts the codes, but only at the positions where `mask` is true. `pages`: for each position, the
    number of the page. The numbers are ascending."""
    import numpy as np

    where = np.flatnonzero(mask)
    keys = (codes[where] << _BITS) | where
    if not len(keys):
        return _Counted(where, where, where, where)
    keys.sort()
    found, places = keys >> _BITS, keys & _MASK
    is_new = np.empty(len(keys), dtype=bool)
    is_new[0] = True
    np.not_equal(found[1:], found[:-1], out=is_new[1:])
    starts = np.flatnonzero(is_new)
    on = pages[places]
    is_new[1:] |= on[1:] != on[:-1]
    count = np.diff(np.append(starts, len(keys)))
    return _Counted(found[starts], count, np.add.reduceat(is_new, starts, dtype=np.int64), places)
