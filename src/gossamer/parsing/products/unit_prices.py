"""Reads prices per unit (`1,99 € / 100 g`) and pack sizes (`6 x 0.33 l`). Normalizes units to kg, l, m, m2
and piece."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.data import sections
from gossamer.parsing.prices import price
from gossamer.parsing.shop_words import lower

MAX_CHARS: Final = 4000
"""Maximum number of characters of a text that are searched for unit prices."""
MAX_FOUND: Final = 10
MAX_DISTANCE: Final = 60
"""Maximum distance in characters between an amount and its unit."""
_CODES: Final = {
    "kgm": "kg",
    "grm": "g",
    "mgm": "mg",
    "ltr": "l",
    "mlt": "ml",
    "clt": "cl",
    "dlt": "dl",
    "mtr": "m",
    "cmt": "cm",
    "mmt": "mm",
    "mtk": "m2",
    "c62": "piece",
    "h87": "piece",
    "lbr": "lb",
    "onz": "oz",
    "oza": "fl oz",
}
"""The UN/CEFACT codes of units, which pages write in schema.org's `unitCode`."""
_LENGTHS: Final = ("cm", "mm")
"""Units of length that measure the dimensions of a product, and not the size of a pack."""


class UnitPrice(NamedTuple):
    """The price of one `unit`: `kg`, `l`, `m`, `m2` or `piece`."""

    amount: Decimal
    unit: str
    raw: str = ""
    """The text of the unit price on the page, or '' if the unit price is computed from the price and the pack
    size."""


class Pack(NamedTuple):
    """The size of a pack. The pack contains `parts` parts, and each part contains `size` units. For a pack of
    pieces, `size` is 1."""

    parts: int
    size: Decimal
    unit: str

    @property
    def total(self) -> Decimal:
        """The total quantity in the pack, measured in `unit`."""
        return self.parts * self.size


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[str, Decimal]]:
    """Maps each name of a unit to a normalized unit and the conversion factor."""
    found = {}
    for line in sections("units")["units"]:
        unit, factor, *names = line.split()
        for name in names:
            found[name.replace("_", " ")] = (unit, Decimal(factor))
    return found


class _Patterns(NamedTuple):
    sign: re.Pattern[str]
    """Matches a sign of a unit price in a lower-case text: `/ 100 g`, `per kg`, `1 kg =`."""
    after: re.Pattern[str]
    """Matches a unit price with the unit after the amount: `1,99 € / 100 g`."""
    before: re.Pattern[str]
    """Matches a unit price with the unit before the amount: `1 kg = 19,90 €`, `Price per kg: 19,90 €`."""
    content: re.Pattern[str]
    """Matches a pack size: `6 x 0.33 l`, `500 g`."""
    pieces: re.Pattern[str]
    """Matches a number of pieces: `pack of 6`, `12 pcs`."""


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    names = "|".join(re.escape(name) for name in sorted(_units(), key=len, reverse=True))
    lists = sections("units")
    per, packs, of = ("|".join(lists[name]) for name in ("per", "packs", "pack_of"))
    amount = r"(?<![^\W\d_])[^\W\d_]{0,4}[^\w\s(]{0,2}\s?\d[\d.,'\u00a0\u202f ]{0,12}(?:(?<=\d)|(?<=\d[ \u00a0\u202f]))"
    money = rf"{amount}[^\d/=*]{{0,6}}?"
    many = r"(?:(?P<many>\d{1,4}(?:[.,]\d{1,3})?)\s?)?"
    unit = rf"(?P<unit>{names})(?![\w²³])"
    bare = rf"(?:{names})(?![\w²³])"
    return _Patterns(
        re.compile(
            rf"(?:/|(?<![^\W\d_])(?:{per})(?![^\W\d_]))\s*(?:\d[\d.,]{{0,6}}\s?)?{bare}|\d\s?{bare}\s*[=:/]"
        ),
        re.compile(
            rf"(?P<money>{money})\s*(?:/|(?<![^\W\d_])(?:{per})(?![^\W\d_]))\s*{many}{unit}", re.IGNORECASE
        ),
        re.compile(
            rf"(?<![\w.,])(?:(?P<many>\d{{1,4}}(?:[.,]\d{{1,3}})?)\s?{unit}\s*[=:/]|(?:{per})\s*(?:1\s?)?"
            rf"{unit.replace('unit', 'alone', 1)}\s*[:=]?)\s*(?P<money>{amount}\s?[^\s\d/=*]{{0,5}})(?![\d.,]|\s*/)",
            re.IGNORECASE,
        ),
        re.compile(
            r"(?<![\w.,-])(?:(?P<count>\d{1,3})\s?[x×*]\s?)?(?P<size>\d{1,5}(?:[.,]\d{1,3})?)\s?"
            rf"{unit}(?:\s?[x×*]\s?(?P<times>\d{{1,3}})\b(?!\s?(?:{names})\b))?(?!\w|\s?[/x×])",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?<![\w.,-])(?P<many>\d{{1,4}})(?:er)?[\s-]?(?:{packs})(?!\w)|\b(?:{of})\s?(?P<of>\d{{1,4}})\b(?![.,]\d)",
            re.IGNORECASE,
        ),
    )


def unit_of(name: str) -> tuple[str, Decimal] | None:
    """Returns the normalized unit for a unit's name, and the conversion factor. Also accepts UN/CEFACT codes.

    >>> unit_of("cl"), unit_of("KGM"), unit_of("hours")
    (('l', Decimal('0.01')), ('kg', Decimal('1')), None)
    """
    plain = name.strip().casefold()
    return _units().get(_CODES.get(plain, plain))


def unit_prices(text: str) -> list[UnitPrice]:
    """Returns the unit prices in a text, in order, without repetitions.

    >>> unit_prices("(1,99 € / 100 g)"), unit_prices("1 l = 2,50 EUR")[0].amount, unit_prices("12,00 €")
    ([UnitPrice(amount=Decimal('19.9'), unit='kg', raw='1,99 € / 100 g')], Decimal('2.5'), [])
    """
    text = text[:MAX_CHARS]
    signs = [match.span() for match in _patterns().sign.finditer(lower(text))]
    if not signs:
        return []
    text = text[max(0, signs[0][0] - MAX_DISTANCE) : signs[-1][1] + MAX_DISTANCE]
    found: dict[tuple[Decimal, str], UnitPrice] = {}
    for start, one in sorted(_written(text)):
        del start
        found.setdefault((one.amount, one.unit), one)
    return list(found.values())[:MAX_FOUND]


def _written(text: str) -> Iterator[tuple[int, UnitPrice]]:
    patterns = _patterns()
    for pattern in (patterns.after, patterns.before):
        for match in pattern.finditer(text):
            parts = match.groupdict()
            unit, factor = _units()[(parts["unit"] or parts["alone"]).casefold()]
            read = price(match["money"].strip(" ("))
            many = Decimal((parts["many"] or "1").replace(",", "."))
            if read is None or read.currency is None or not read.amount or read.amount <= 0 or not many:
                continue
            amount = read.amount / (many * factor)
            yield match.start(), UnitPrice(plain(amount), unit, match[0].strip(" ()"))


def plain(amount: Decimal) -> Decimal:
    """Returns an amount rounded to 4 decimals, without zeros at the end.

    >>> plain(Decimal("19.900000")), plain(Decimal("120"))
    (Decimal('19.9'), Decimal('120'))
    """
    rounded = round(amount, 4).normalize()
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral_value() else rounded


def pack_of(name: str) -> Pack | None:
    """Returns the pack size in a product's name, or None. If the name contains several different pack sizes,
    returns None.

    >>> pack_of("Cola 6 x 0,33 l")
    Pack(parts=6, size=Decimal('0.33'), unit='l')
    >>> pack_of("Socks, pack of 3").total, pack_of("Milk 1 l").total, pack_of("Chair")
    (Decimal('3'), Decimal('1'), None)
    """
    patterns, name = _patterns(), name[:500]
    found: dict[tuple[Decimal, str], Pack] = {}
    for match in patterns.content.finditer(name):
        unit, factor = _units()[match["unit"].casefold()]
        count, size = int(match["count"] or match["times"] or 1), Decimal(match["size"].replace(",", "."))
        if (
            count
            and size
            and match["unit"].casefold() not in _LENGTHS
            and (unit != "piece" or match["count"])
        ):
            one = Pack(count, plain(size * factor), unit)
            found[one.total, unit] = one
    pieces = {int(match["many"] or match["of"]) for match in patterns.pieces.finditer(name)} - {0, 1}
    if len(found) == 1 and len(pieces) == 1:
        one, many = next(iter(found.values())), pieces.pop()
        return (
            one if one.parts in (many, one.parts * many) and one.parts > 1 else Pack(many, one.size, one.unit)
        )
    if found or len(pieces) != 1:
        return next(iter(found.values())) if len(found) == 1 else None
    return Pack(pieces.pop(), Decimal(1), "piece")


def computed(amount: Decimal, pack: Pack | None) -> UnitPrice | None:
    """Computes the unit price from the price and the pack size. Returns None if `pack` is None.

    >>> computed(Decimal("5.94"), pack_of("Cola 6 x 0,33 l"))
    UnitPrice(amount=Decimal('3'), unit='l', raw='')
    """
    return UnitPrice(plain(amount / pack.total), pack.unit) if pack and amount > 0 else None
