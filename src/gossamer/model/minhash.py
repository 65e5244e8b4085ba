"""Computes sketches of texts. A sketch has two parts: `same` (8 bytes) and `near` (64 bytes). If two texts
are equal, their `same` bytes are equal. The likeness of two texts is estimated from their `near` bytes. Every
process and version computes the same sketch for a text.

The 64 bytes of `near` contain:

- Bytes 0 to 4 represent the heading of the text: five minimum hashes of the heading's words, with 4 bits
  each, and a hash of the heading's numbers, with 12 bits.
- Bytes 4 to 36: eight bands of four bytes. The word triples are divided into 32 groups by their hashes, and
  each byte comes from the minimum hash of one group. Similar texts have a band in common.
- Bytes 36 to 64: one bit for each of 223 more minimum hashes. The last bit is zero.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final, NamedTuple

import xxhash

from gossamer.model.lazy_pattern import lazy_pattern

SIZE: Final = 64
MIN_LIKENESS: Final = 0.7
"""Two texts count as nearly equal if their likeness is at least MIN_LIKENESS."""
FEW_WORDS: Final = 24
"""Minimum number of words of a text that is compared for near equality. Shorter texts are only compared for
equality."""
MAX_CHARS: Final = 100_000
"""Maximum number of characters of a text that are compared."""
_BANDS, _BYTES, _BITS, _HEAD = 8, 32, 223, 5
_HEADED: Final = 3
"""Two headings have enough words in common if at least this many of their five word hashes are equal."""
_SIGNS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = lazy_pattern(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
"""Matches a word, or one character in scripts without spaces between words."""
_DATE: Final = lazy_pattern(
    r"\b(?:(?:19|20)\d\d([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:19|20)\d\d|\d{1,2}:\d\d(?::\d\d)?)(?![\d.])"
)
"""Matches dates and times in digits. Dates are removed before texts are compared, because a page that is
generated again on another day contains another date."""
_OUTLINE: Final = lazy_pattern(r"\s*(?:[A-Z]\.)?\d+(?:\.\d+)*\.\s")
"""Matches the number of a heading. Heading numbers are removed before texts are compared, because an inserted
chapter changes the numbers of all later headings."""
_EMPTY: Final = 1 << 64


@cache
def _lenders(bins: int) -> tuple[tuple[int, ...], ...]:
    """For each bin, returns a list of pseudo-randomly chosen bins. The lists are the same in every process.
    To fill an empty bin, `_lend` goes through the empty bin's list, and copies the value of the first bin
    that is not empty."""
    chance = Random(bins)
    return tuple(tuple(int(chance.random() * bins) for _ in range(4 * bins)) for _ in range(bins))


class Sketch(NamedTuple):
    """The sketch of a text. `same`: 8 bytes, which are equal for equal texts. `near`: 64 bytes, or empty if
    the text is only compared for equality."""

    same: bytes
    near: bytes = b""


class GroupQuery(NamedTuple):
    """A request to assign a text to a group of equal and nearly equal texts. `kind`: a text is compared only
    with texts of the same kind. `name`: 64 bits that identify the text."""

    kind: str
    name: int
    sketch: Sketch


class Placed(NamedTuple):
    """The group in which a text was placed. `group`: the name of the group's first member, 12 hex digits.
    `copy`: `exact` or `near`, or None for the first member. `likeness`: how similar the text is to the first
    member, from 0 to 1."""

    group: str
    copy: str | None = None
    likeness: float | None = None
    kept: bool = True
    """False if the text is the first member of a new group, and the group could not be stored because the
    index is full. Otherwise True."""


def make_sketch(text: str, head: str = "") -> bytes:
    """Returns the 64 `near` bytes for a text and its heading. `head` is the heading, or '' if the text has
    none. Returns b"" if the text has too few words. Takes about 0.5 ms for 1,000 words."""
    words = _words(text[:MAX_CHARS])
    if len(words) < FEW_WORDS:
        return b""
    least, bits = [_EMPTY] * _BYTES, [_EMPTY] * _BITS
    said = " ".join(words).encode("utf-8", "replace").split(b" ")
    for triple in set(map(b" ".join, zip(said, said[1:], said[2:], strict=False))):
        one = xxhash.xxh3_64_intdigest(triple)
        if one < least[one & 31]:
            least[one & 31] = one
        if one < bits[place := (one >> 8) % _BITS]:
            bits[place] = one
    _lend(least)
    _lend(bits)
    number = 0
    for one in bits:
        number = number << 1 | one >> 24 & 1
    return _headed(head) + bytes([one >> 16 & 255 for one in least]) + (number << 1).to_bytes(28, "big")


def likeness(one: bytes, other: bytes) -> float:
    """Returns the share of word triples that two texts have in common, estimated from their 64 bytes (error
    about 0.04). If the share is less than MIN_LIKENESS, or if the headings differ too much, the result is 0.

    >>> text = " ".join(map(str, range(100)))
    >>> likeness(make_sketch(text), make_sketch(text + " 100")) > 0.9, likeness(make_sketch(text, "Tea"), make_sketch(text, "Coffee cups"))
    (True, 0.0)
    """
    if not _one_head(one[:4], other[:4]):
        return 0.0
    equal = sum(a == b for a, b in zip(one[4:36], other[4:36], strict=True))
    apart = (int.from_bytes(one[36:], "big") ^ int.from_bytes(other[36:], "big")).bit_count()
    # both estimates, weighted by their precision
    share = 0.24 * (equal / _BYTES * 256 - 1) / 255 + 0.76 * (1 - 2 * apart / _BITS)
    return round(min(1.0, share), 2) if share >= MIN_LIKENESS else 0.0


def bands(sketched: bytes) -> list[bytes]:
    """Returns the bands of a text. Similar texts are found because they have a band in common. Each band has
    5 bytes: the number of the band, then its content."""
    return [bytes((j,)) + sketched[4 + 4 * j : 8 + 4 * j] for j in range(_BANDS)] if sketched else []


def _words(text: str) -> list[str]:
    return _WORD.findall(_DATE.sub(" ", text).lower())


def _lend(bins: list[int]) -> None:
    """Fills each empty bin with the value of a bin that is not empty."""
    lenders = _lenders(len(bins))
    empty = [place for place, one in enumerate(bins) if one == _EMPTY]
    lent = [next((bins[k] for k in lenders[place] if bins[k] != _EMPTY), 0) for place in empty]
    for place, one in zip(empty, lent, strict=True):
        bins[place] = one


def _headed(head: str) -> bytes:
    """Encodes a heading as bytes: minimum hashes of its words, and a hash of its numbers. If the heading
    contains no words, all bytes are zero."""
    placed = _OUTLINE.match(head)
    found = _words(head[placed.end() if placed else 0 :][:500])
    words = {word.encode("utf-8", "replace") for word in found if not word.isdigit()} or {b""}
    numbers = xxhash.xxh3_64_intdigest(" ".join(word for word in found if word.isdigit()).encode())
    number = 0
    for seed in range(_HEAD):
        number = number << 4 | min(xxhash.xxh3_64_intdigest(word, seed) for word in words) >> 20 & 15
    return (number << 12 | numbers & 4095).to_bytes(4, "big") if found else bytes(4)


def _one_head(one: bytes, other: bytes) -> bool:
    """Returns whether two headings match. Headings match if they have the same numbers and enough words in
    common. A missing heading matches every heading."""
    if one == other or not any(one) or not any(other):
        return True
    apart = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return not apart & 4095 and sum(not apart >> 4 * j & 15 for j in range(3, 3 + _HEAD)) >= _HEADED
