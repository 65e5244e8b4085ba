"""Counts all words and phrases of many pages in bounded memory, to discover important terms. Each word gets a
number. The numbers of about 800,000 words form a batch, which numpy sorts and counts. Then the counts are
passed on, and the memory of the batch is freed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from gossamer.uses.keywords.arrow_columns import numbers, table, texts
from gossamer.uses.keywords.tokens import is_word

MAX_BATCH_WORDS: Final = 800_000
"""A batch ends with the page that reaches this number of words."""
MAX_PAGE_WORDS: Final = 200_000
"""Maximum number of words of a page in which terms are discovered. Keywords of a list are also counted in the
words after that."""
MAX_WORDS: Final = 3
"""The maximum number of words of a discovered phrase."""
MAX_TERM_CHARS: Final = 60
BETWEEN: Final = "\x1f"
"""Separates the words of a phrase in the counts."""
_END_OF_PAGE: Final = -1
_ID_BITS, _PAGE_BITS = 21, 21
_ID_MASK = (1 << _ID_BITS) - 1


class _Numbers(dict[str, int]):
    """Maps words to numbers, which it assigns. Symbols and paragraph breaks have the number 0."""

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
    """The words of a batch of pages, by group. A group consists of a site and a language."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._tokens: dict[tuple[int, str], array[int]] = {}
        self.words = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch must be counted before the next page is added."""
        return self.words >= MAX_BATCH_WORDS or len(self._numbers.words) > MAX_BATCH_WORDS

    def add(self, group: tuple[int, str], texts: Sequence[Sequence[str]]) -> None:
        """Adds the texts of a page, each as a list of tokens. No phrase extends over two texts."""
        found = self._tokens.setdefault(group, array("i"))
        for words in texts:
            part = words[:MAX_PAGE_WORDS]
            found.extend(map(self._numbers.__getitem__, part))
            found.append(0)
            self.words += len(part)
        found.append(_END_OF_PAGE)

    def tables(self, minimum: int) -> Iterator[Any]:
        """Yields the counts by group as Arrow tables. Phrases that occur less often than `minimum` are left
        out. Single words are always included."""
        words = texts(self._numbers.words)
        for group, found in self._tokens.items():
            yield from _tables(group, words, found, minimum)


def _tables(group: tuple[int, str], words: Any, found: array[int], minimum: int) -> Iterator[Any]:
    import numpy as np

    ids = np.frombuffer(found, dtype=np.int32)
    pages = np.cumsum(ids == _END_OF_PAGE, dtype=np.int64)
    ids = np.maximum(ids, 0).astype(np.int64)
    yield _table(group, words, *_counted(ids, pages, ids > 0))
    codes = (ids[:-1] << _ID_BITS) | ids[1:]
    mask = (ids[:-1] > 0) & (ids[1:] > 0)
    pairs, count, on = _counted(codes, pages[:-1], mask)
    kept = count >= minimum
    pairs = pairs[kept]
    yield _table(group, words, pairs, count[kept], on[kept], 2)
    if not len(pairs) or len(ids) < 3:
        return
    # A phrase of three words can occur often enough only if its first two words do.
    place = np.minimum(np.searchsorted(pairs, codes[:-1]), len(pairs) - 1)
    mask = mask[:-1] & (ids[2:] > 0) & (pairs[place] == codes[:-1])
    triples, count, on = _counted((place << _ID_BITS) | ids[2:], pages[:-2], mask)
    kept = count >= minimum
    triples = triples[kept]
    whole = (pairs[triples >> _ID_BITS], triples & _ID_MASK)
    yield _table(group, words, whole, count[kept], on[kept], 3)


def _table(group: tuple[int, str], words: Any, codes: Any, count: Any, on: Any, length: int = 1) -> Any:
    """Returns the counts of terms as a table. `codes`: the numbers of words (`length` 1), of pairs (2), or of
    pairs and third words (3)."""
    import numpy as np
    import pyarrow.compute as pc

    pairs, last = codes if length == 3 else (codes, None)
    parts = [pairs] if length == 1 else [pairs >> _ID_BITS, pairs & _ID_MASK]
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


def _counted(codes: Any, pages: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Returns three arrays: the different codes in order, the number of occurrences of each, and the number
    of pages with each. Only positions in `mask` are counted."""
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
