"""Sketches of texts: 8 bytes that are equal for the same, 64 that tell how alike two texts are. The same in
every process and version.

| bytes of the 64 | hold |
| --- | --- |
| 0 to 4 | of the heading's words five least hashes, half a byte each, and 12 bits for its numbers: two things of one template differ here |
| 4 to 36 | eight bands of four bytes: of the least hashes of word triples a byte each. Texts that are alike share a band |
| 36 to 64 | of 223 more least hashes a bit each; the last bit is nought |
"""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Final, NamedTuple

import xxhash

SIZE: Final = 64
LEAST: Final = 0.7
"""Likeness from which on two texts are nearly the same."""
FEW: Final = 24
"""Words under which a text is compared whole, and not by likeness."""
LONGEST: Final = 100_000
"""Characters of a text that are looked at."""
_BANDS, _BYTES, _BITS, _HEAD = 8, 32, 223, 5
_HEADED: Final = 3
"""Half bytes of two headings that are equal where they have enough words in common."""
_SIGNS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = re.compile(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
"""Words; where writing has no blanks between them, each sign is one."""
_DATE: Final = re.compile(
    r"\b(?:(?:19|20)\d\d([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:19|20)\d\d|\d{1,2}:\d\d(?::\d\d)?)(?![\d.])"
)
"""Dates and times in digits: a page that was made another day says the same."""
_OUTLINE: Final = re.compile(r"\s*(?:[A-Z]\.)?\d+(?:\.\d+)*\.\s")
"""The place of a heading among others: a chapter that was put before it makes no difference."""
_EMPTY: Final = 1 << 64


@cache
def _lenders(bins: int) -> tuple[tuple[int, ...], ...]:
    """For each bin the others from which it borrows, in an order that never changes."""
    chance = Random(bins)
    return tuple(tuple(int(chance.random() * bins) for _ in range(4 * bins)) for _ in range(bins))


class Sketch(NamedTuple):
    """`same`: 8 bytes, equal for the same; `near`: 64 bytes, or none where only the same is looked for."""

    same: bytes
    near: bytes = b""


class GroupQuery(NamedTuple):
    """What is to be placed in a group. `kind`: only what is of one kind is compared; `name`: 64 bits that
    tell who it is."""

    kind: str
    name: int
    sketch: Sketch


class Placed(NamedTuple):
    """Its group: the name of the first of it, 12 hex digits. `copy`: `exact` or `near`, None for the first;
    `likeness`: with the first."""

    group: str
    copy: str | None = None
    likeness: float | None = None
    kept: bool = True
    """False: it begins a group, and there was no more room to remember that."""


def near(text: str, head: str = "") -> bytes:
    """The 64 bytes of a text with its heading ('': none); empty where it has too few words. About 0.5 ms for
    1,000 words."""
    words = _words(text[:LONGEST])
    if len(words) < FEW:
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
    """The share of word triples that two texts have in common, by their 64 bytes, give or take .04; 0 under
    LEAST, or where their headings have nothing in common.

    >>> text = " ".join(map(str, range(100)))
    >>> likeness(near(text), near(text + " 100")) > 0.9, likeness(near(text, "Tea"), near(text, "Coffee cups"))
    (True, 0.0)
    """
    if not _one_head(one[:4], other[:4]):
        return 0.0
    equal = sum(a == b for a, b in zip(one[4:36], other[4:36], strict=True))
    apart = (int.from_bytes(one[36:], "big") ^ int.from_bytes(other[36:], "big")).bit_count()
    # each weighs as much as it is certain
    share = 0.24 * (equal / _BYTES * 256 - 1) / 255 + 0.76 * (1 - 2 * apart / _BITS)
    return round(min(1.0, share), 2) if share >= LEAST else 0.0


def bands(sketched: bytes) -> list[bytes]:
    """What texts that are alike are found by, 5 bytes each: the number of a band, and the band."""
    return [bytes((j,)) + sketched[4 + 4 * j : 8 + 4 * j] for j in range(_BANDS)] if sketched else []


def _words(text: str) -> list[str]:
    return _WORD.findall(_DATE.sub(" ", text).lower())


def _lend(bins: list[int]) -> None:
    """Bins that got nothing have what another has."""
    lenders = _lenders(len(bins))
    empty = [place for place, one in enumerate(bins) if one == _EMPTY]
    lent = [next((bins[k] for k in lenders[place] if bins[k] != _EMPTY), 0) for place in empty]
    for place, one in zip(empty, lent, strict=True):
        bins[place] = one


def _headed(head: str) -> bytes:
    """Least hashes of its words, and its numbers; nought where there is no heading."""
    placed = _OUTLINE.match(head)
    found = _words(head[placed.end() if placed else 0 :][:500])
    words = {word.encode("utf-8", "replace") for word in found if not word.isdigit()} or {b""}
    numbers = xxhash.xxh3_64_intdigest(" ".join(word for word in found if word.isdigit()).encode())
    number = 0
    for seed in range(_HEAD):
        number = number << 4 | min(xxhash.xxh3_64_intdigest(word, seed) for word in words) >> 20 & 15
    return (number << 12 | numbers & 4095).to_bytes(4, "big") if found else bytes(4)


def _one_head(one: bytes, other: bytes) -> bool:
    """Whether two headings have the same numbers, and words in common; where one is missing, nothing is told."""
    if one == other or not any(one) or not any(other):
        return True
    apart = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return not apart & 4095 and sum(not apart >> 4 * j & 15 for j in range(3, 3 + _HEAD)) >= _HEADED
