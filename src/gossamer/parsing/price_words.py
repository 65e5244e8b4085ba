"""Recognizes the role of a number by the words next to it, for example a former price, a count in thousands,
a date or a phone number."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from gossamer.data import alternatives

_words = partial(alternatives, "price_words")

FREE = re.compile(
    rf"\b(?:{_words('free')})\b|{_words('free_asian')}",
    re.IGNORECASE,
)
SHIPPING = re.compile(_words("shipping"), re.IGNORECASE)
"""Matches words for shipping and similar services. The word "free" in a text about shipping does not mean
that the product costs nothing."""
UNIT = re.compile(
    r"\s?(?:ml|cl|kg|g|mg|mm|cm|ft|oz|lbs?|[KMGT]B|pcs|pieces|pack|stars?|reviews?|items|products|results|days?|weeks?|months?|years?|hours?)\b"
)
OTHER = re.compile(
    r"(?<!\d)\d{1,2}([./-])\d{1,2}\1(?:19|20)\d\d(?!\d)|(?<![\d.,-])\d\d-0[1-9](?![\d.,-])|(?<!\d)(?:19|20)\d\d([./-])\d\d\2\d\d(?!\d)"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?,? (?:\d{1,2}, )?(?:19|20)\d\d\b"
    r"|(?<![\d.,:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:])"  # a time
    # phone numbers
    r"|\+\d[\d ().-]{6,}\d|\(0?\d{2,4}\) ?\d{3,4}[ .-]\d{3,4}|(?<![\d-])(?:1-)?(?:\d{3}-)?\d{3}-\d{4}(?![\d-])"
    r"|\b(?:tel|phone|fax|call us|mobile|hotline|telefon|téléphone|тел)\b[^\d]{0,12}\d[\d ()./-]{4,}\d"
    # ratings, versions, page numbers
    r"|\d[\d.,]* ?(?:/ ?(?:5|10)(?![\d.,])|out of \d+)|\bv(?:ersion)?\.? ?\d+(?:\.\d+)+|\bpage \d+(?: of \d+)?"
    r"|\d[\d.,]* ?[x×] ?\d+(?: ?[x×] ?\d+)* ?(?:[cm]?m|in|inch|px|\")(?!\w)"  # measures
    r"|\b(?:in stock|size|größe|taille|talla|qty|quantity|sku|isbn|ean|upc|model)\b[\s:.#]{0,3}(?:[a-z]*-)?\d[\d-]*(?![\d.,])"
    r"|\b(?:buy \d+ get|get|\d+ (?:for|voor|für)) \d+(?![\d.,])|\bbuy \d+",
    re.IGNORECASE,
)
"""Matches numbers that are not a price unless the text names a currency: dates, times, phone numbers,
ratings, versions, measures and counts."""
POWERS = {"千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8}
MYRIAD = re.compile(r"\s?([万萬만億亿억]|[千천](?![克瓦米]))\s?")
MINOR = re.compile(
    r"\s*(?:(?:and|et|und|i|y|e|и) )?(\d\d?)\s?(?:коп|gr\b|groszy|ct\b|cents?\b|centimes\b|øre|öre|bani|kuruş|céntimos|haléř)"
)
RANGE = re.compile(r"\s*(?:[-−–—~～]|to|bis|till|a|à|al|até|do|до)\s*[-−–]?\s?", re.IGNORECASE)
NAMED = re.compile(r"[^\W\d_]\.? ?\d+ [-–—] \d[\d.,]*[.,]\d\d")
"""Matches the end of a name with a number, followed by a dash and a price. For example, `Size 42 – 59,95 €`
is not a range of prices, because 42 belongs to the name."""
_LARGE = re.compile(
    r"\s?(?:(thousand|тыс\.?|тис\.?|tys\.?|tis\.?|tsd\.?|ribu|rb|nghìn|ngàn|bin|mila|mil(?!\.))|(lakhs?|lacs?)"
    r"|(mill?ion(?:s|en|es|i)?|millones|mio|mln|млн|milh(?:ão|ões)|milyon|juta|jt|triệu)|(crores?|cr)"
    r"|(billions?|mrd|bn|млрд|miliardy?|miliar|milyar|tỷ))(?!\w)",
    re.IGNORECASE,
)
_BEGIN = frozenset("tTrRnNbBmMlLcCjJмМтТ")
_THOUSANDS = re.compile(r"[kKmMB](?![^\W_])")
_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "B": 9}
_NO_WORD = r"(?<![^\W_])"
_FORMER = re.compile(
    rf"{_NO_WORD}(?:{_words('former')})\W*$|(?:{_words('former_asian')})\W*$",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    rf"{_NO_WORD}(?:{_words('present')})(?: [^\W\d_]+){{0,2}}\W*$|(?:{_words('present_asian')})\W*$",
    re.IGNORECASE,
)
LETTER = re.compile(r"[^\W\d_]")
_SAVED = re.compile(rf"\b(?:{_words('saved')})\W*(?:of|von)?\W*$", re.IGNORECASE)
_DE, _POR = (
    re.compile(r"(?<!lieu )\b(?:de|van)\W*$", re.IGNORECASE),
    re.compile(r"\b(?:por|voor)\W*$", re.IGNORECASE),
)


def power(text: str, start: int, end: int, places: list[tuple[int, int]]) -> int:
    """Returns the power of ten that a word or a letter after a number means. Returns 0 if the number is not
    followed by a word or a letter for a power of ten. A single letter (`$1.5K`) counts only if a currency is
    just before the number. `places`: the positions of the currencies in the text."""
    char = text[end : end + 1]
    if (
        char in _LETTERS
        and _THOUSANDS.match(text, end)
        and any(0 <= start - place[1] < 2 for place in places)
    ):
        return _LETTERS[char]
    if char not in _BEGIN and (char.isalnum() or text[end + 1 : end + 2] not in _BEGIN):
        return 0
    word = _LARGE.match(text, end)
    return (3, 5, 6, 7, 9)[(word.lastindex or 1) - 1] if word else 0


def is_former(label: str) -> bool:
    """Whether the text before a number marks the number as a former price or as the amount saved. Such texts
    are, for example, `was $` and `UVP `."""
    return not label.isspace() and (is_saved(label) or _FORMER.search(label) is not None)


def is_saved(label: str) -> bool:
    """Whether the text before a number marks the number as the amount saved."""
    return _SAVED.search(label) is not None


def is_present(label: str, former: str) -> bool:
    """Whether `label` marks the number after it as the current price. `label` is the text between a former
    price and the number. `former` is the text before the former price. If `label` contains no words, the
    number counts as the current price."""
    if _DE.search(former):
        return _POR.search(label) is not None
    return not is_saved(label) and (not LETTER.search(label) or _PRESENT.search(label) is not None)
