"""Parses prices as people write them. The result is an amount and a currency."""

from __future__ import annotations

import html
import re
from decimal import Decimal, InvalidOperation

import msgspec

from gossamer.parsing import price_words as words
from gossamer.parsing.currencies import NATIONS, SHARED, endings, pointed, spellings

MAX_CHARS = 500
"""Maximum number of characters of a text that are read. A text that consists of a price is shorter than
MAX_CHARS."""
MAX_NUMBERS = 20
"""In one text, at most MAX_NUMBERS numbers and MAX_NUMBERS currencies are compared."""
_NUMBER = re.compile(
    r"(?=[\d.,−–-])(?:(?<![\d.,])|(?<=[^\W\d_][.,])|(?<=/[.,]))(?:[-−–]\s?)?"
    r"(?:\d[\d.,'’٬٫\u00a0\u202f\u2009 ]*\d|\d|(?<!\d['’ ])(?<![^\W\d_])(?<!/)[.,]{1,2}\d[\d.,]*)"
)
_SPLIT = re.compile(  # matches a space in a possible number that does not separate thousands
    r"(?<=\d)[ \u00a0\u202f\u2009](?:[ \u00a0\u202f\u2009]+|(?=\d{3}\d|\d\d?(?!\d)))|(?<=\d{4})[ \u00a0\u202f\u2009]+(?=\d)"
    r"|(?<=\d)[.,] +(?=\d\d?[.,]\d)"
)
_PERCENT = re.compile(r"\s?[%％٪]")
_PLAIN: dict[int, str | None] = {
    **dict(zip(map(ord, "，،⹁．´`\n\r\t\u2007\u3000"), ",,,.''   \u00a0 ", strict=True)),
    **dict.fromkeys(map(ord, "\u2002\u2003\u2004\u2005\u2006\u2008\u200a\u205f"), "\u2009"),
    **dict.fromkeys(
        map(ord, "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff")
    ),
}
"""Characters that are read as another character (full-width marks, unusual spaces) or dropped (direction
marks, zero-width spaces)."""
_APOSTROPHE = re.compile(r"(?<=\d)[ʼ‘‛ʹ′](?=\d)")
"""Matches letters and marks that are written as an apostrophe between digits."""
_THREE = {"BHD": ".", "JOD": ".", "KWD": ".", "LYD": ".", "OMR": ".", "TND": ".,"}
"""Currencies with 1,000 subunits, each with the separators that may precede three decimals."""
_WHOLE = frozenset(("JPY", "KRW", "VND", "CLP", "IDR", "ISK", "PYG", "HUF", "UGX", "XAF", "XOF"))
"""Currencies whose prices have no decimals."""
_WHOLE_AMOUNT = r"(?:\d+|\d{1,3}(?:[.,'’ \u00a0\u202f\u2009]\d{3})+)"
_IS_WHOLE = re.compile(_WHOLE_AMOUNT)
_TWO_PARTS = re.compile(rf"\s*{_WHOLE_AMOUNT}\s\d\d\s*")
"""Matches an amount whose last two digits are apart: the cents in an element of their own."""
_NOTHING = re.compile(r"[-−–][.,]\d\d(?!\d)")
"""Matches a dash that stands for a zero: `-.95` means 0.95."""
_BLANKS = re.compile(r"[ \u00a0\u202f\u2009'’]")
_POINT = re.compile(r"(?<=\d)[·⋅˙](?=\d)")
_BARE = re.compile(r"\s*\d[\d ]*(?:[.,]\d{3})*(?:[.,]\d\d?)?\s*")
_COLON = re.compile(r"(?<=\d):(?=\d\d ?(?:kr\b|SEK|:-))|(?<=kr \d\d):(?=\d\d(?!\d))")  # Swedish: `99:90 kr`
_SURE = re.compile(r"٫(\d+)$|['’](\d\d)$")
"""Matches decimals after a separator that cannot separate thousands. The separator is the Arabic decimal
mark, or an apostrophe before the last two digits (12'50)."""
_TWO = re.compile(r"[.,]\d\d$")
_CENTS = re.compile(r"(?:\s?[€$£]\s?(\d\d)|[€$£](\d{3}))(?![\d.,]|\s?[€$£])")
_LETTERS = re.compile(r"(?<![^\W\d_])([A-Z]{1,3}) \$|\$ ?([A-Z]{2})(?![^\W\d_])")
_CODE = re.compile(r"\d ?([A-Z]{3})(?![^\W\d_])")
_MINUS = re.compile(r"\s*[-−][^\d\s]")
_BEFORE = re.compile(r"[.:]?\s*[-−–]?\s?$")
_AFTER = re.compile(r"(?:[.,:][-–—]+)?\s*[千천万萬만億亿억]?\s*(?:F\s)?")


class Price(msgspec.Struct, frozen=True):
    """A price. `amount`: the number. `currency`: the currency in the spelling of the text, or None if the
    text has no currency. `iso`: the ISO 4217 code of the currency."""

    amount: Decimal | None
    currency: str | None
    iso: str | None


Span = tuple[int, int]


def price(
    text: str | float | Decimal | None, currency: str | None = None, decimal: str | None = None
) -> Price | None:
    """Returns the price in a text, or None if the text has neither an amount nor a currency. Never raises.

    If the text names no currency, `currency` is used, which is a sign, a name or a code. `decimal` is the
    decimal separator, if known.

    >>> price("1.299,00 €").amount, price("$ 4,999").amount, price("22,90 €").iso
    (Decimal('1299.00'), Decimal('4999'), 'EUR')
    """
    text = ("" if text is None else str(text))[:MAX_CHARS].translate(_PLAIN)
    text = html.unescape(text) if "&" in text else text
    text = text if text.isascii() else _APOSTROPHE.sub("'", _POINT.sub(".", text))
    text = _COLON.sub(".", text) if ":" in text else text
    numbers = _numbers(text)
    places = _written(text, numbers)
    named = _named(text, places, numbers, (currency or "")[:MAX_CHARS])
    iso = _iso(text, places, named)
    if not places and (ending := endings(text, iso)):
        named, iso, scale = ending
    else:
        scale = 0
    own = [at for at in places if text[slice(*at)] == named]
    own = own or [at for at in places if text[slice(*at)] == "$"]  # the hint selects the kind of dollar
    three = _THREE.get(iso or "") or ("." if iso in pointed() else "")
    amount = _amount(text, numbers, own, decimal, three)
    if amount is None and named is None:
        return None
    if amount is not None and numbers and iso not in _WHOLE:
        amount = amount.scaleb(-scale) if scale else _with_cents(text, numbers, own, named, amount)
    return Price(amount, named, iso)


def _with_cents(
    text: str, numbers: list[Span], places: list[Span], named: str | None, amount: Decimal
) -> Decimal:
    """Returns the amount with the cents that another element shows: `49 99 zł`, or `49 99` with a hint."""
    if named is None or len(numbers) != 2 or len(places) > 1:
        return amount
    (start, end), (low, high) = numbers
    whole = _BLANKS.sub("", _bare(text[start:end]))
    if (
        text[:start].strip()
        or not whole.isdecimal()
        or not _TWO_PARTS.fullmatch(text, start, high)
        or (places and text[high : places[0][0]].strip())
    ):
        return amount
    return Decimal(f"{whole}.{text[low:high]}")


def _numbers(text: str) -> list[Span]:
    """Returns the positions of numbers. `12 99` is two numbers, but `1 299` is one. Percentages are left
    out."""
    found: list[Span] = []
    for match in _NUMBER.finditer(text):
        start = match.start()
        for blank in _SPLIT.finditer(text, start, match.end()):
            found.append((start, blank.start()))
            start = blank.end()
        found.append((start, match.end()))
    return [at for at in found if not _PERCENT.match(text, at[1])][:MAX_NUMBERS]


def _written(text: str, numbers: list[Span]) -> list[Span]:
    """Returns the positions at which the text names a currency. Words with several meanings count only beside
    a number, and only if there is no unambiguous name."""
    known = spellings()
    found = [match.span() for match in known.sure.finditer(text)][:MAX_NUMBERS]
    if found or not numbers:
        return found
    loose = [match.span() for match in known.unsure.finditer(text)][:MAX_NUMBERS]
    return [at for at in loose if any(_beside(text, at, number) for number in numbers)]


def _beside(text: str, at: Span, number: Span) -> bool:
    """Whether a word and a number are adjacent, with at most spaces and a punctuation mark between them."""
    if at[1] <= number[0]:
        return _BEFORE.fullmatch(text, at[1], number[0]) is not None
    return at[0] >= number[1] and _AFTER.fullmatch(text, number[1], at[0]) is not None


def _named(text: str, places: list[Span], numbers: list[Span], hint: str) -> str | None:
    """Returns the currency nearest to the first number, in the spelling of the text. If the text has no
    currency or only a bare `$`, returns the currency in the hint."""
    known = spellings()
    near = (
        min(places, key=lambda at: _distance(at, numbers[0]))
        if places and numbers
        else next(iter(places), None)
    )
    named = None if near is None else text[slice(*near)]
    if hint and (named is None or named == "$"):
        clear = known.sure.search(hint) or known.unsure.fullmatch(hint.strip())
        if named is None:
            clear = clear or next((match for match in known.unsure.finditer(hint) if len(match[0]) > 1), None)
            return clear[0] if clear else None
        if clear and known.iso[clear[0]] == clear[0]:  # the hint is a code: `$12.50` with the hint CAD
            return clear[0]
    return named


def _iso(text: str, places: list[Span], named: str | None) -> str | None:
    """Returns the ISO 4217 code of a currency. If the text has a bare `$`, a code or letters in the text may
    show which country's dollar is meant, as in `$12.00 CAD` or `AU $12`. The function then returns the code
    of that country's currency."""
    known = spellings()
    if named == "$" and not words.LETTER.search(text):
        return "USD"
    if named == "$":
        codes = [text[slice(*at)] for at in places] + _CODE.findall(text)
        codes += [known.iso.get(f"{match[1] or match[2]}$", "") for match in _LETTERS.finditer(text)]
        return next((code for code in codes if code in known.dollars), "USD")
    if named in SHARED and len(places) > 1:
        codes = [text[slice(*at)] for at in places]
        return next((known.iso[code] for code in codes if known.iso[code] in SHARED[named]), known.iso[named])
    for word, nations, theirs in NATIONS if len(named or "") > 3 else ():
        if word.match(named or "") and (nation := nations.search(text)):
            return theirs[(nation.lastindex or 1) - 1]
    return None if named is None else known.iso[named]


def _distance(one: Span, other: Span) -> int:
    return max(one[0] - other[1], other[0] - one[1], 0)


def _amount(
    text: str, numbers: list[Span], places: list[Span], decimal: str | None, three: str
) -> Decimal | None:
    """Returns the number beside the currency. For a range of prices, returns the lower one. If the text has
    no currency, returns the first number that is not a date and has no unit."""
    if not places and not _BARE.fullmatch(text):
        others = [match.span() for match in words.OTHER.finditer(text)]
        numbers = [
            at for at in numbers if all(_distance(at, other) > 0 or at[1] == other[0] for other in others)
        ]
        numbers = [at for at in numbers if not words.UNIT.match(text, at[1])]
    if not numbers:
        return Decimal(0) if words.FREE.search(text) and not words.SHIPPING.search(text) else None
    chosen = 0
    if places:
        near = [min(_distance(at, place) for place in places) for at in numbers]
        chosen = near.index(min(near))
        if (
            len(places) == 1
            and near[chosen + 1 :][:1] == [near[chosen]]
            and _counts(text, *numbers[chosen:][:2])
        ):
            chosen += 1
        if chosen and _of_a_name(text, numbers[chosen - 1][0], numbers[chosen][1]):
            numbers[chosen] = (_digits(text, numbers[chosen]), numbers[chosen][1])
        elif chosen and words.RANGE.fullmatch(text, numbers[chosen - 1][1], _digits(text, numbers[chosen])):
            chosen -= 1
        while chosen and words.MYRIAD.fullmatch(text, numbers[chosen - 1][1], numbers[chosen][0]):
            chosen -= 1
    start, end = numbers[chosen]
    # if the currency comes first, the next digits are not cents
    after = "" if places and places[0][1] <= start else text[end:]
    value = _decimal(text[start:end], decimal, three, after)
    if value is None:
        return None
    if len(places) > 1 and chosen + 1 < len(numbers) and words.LETTER.search(text, 0, start):
        chosen, value = _present(text, numbers, chosen, value, places, decimal, three)
    end = numbers[chosen][1]
    value = _scaled(value, text, numbers[chosen:], decimal, places) if end < len(text) else value
    if places and _parts(text, numbers, chosen, places):
        value += Decimal(text[slice(*numbers[chosen + 1])]) / 100
    elif (
        value == value.to_integral_value() and numbers[chosen + 1 :] and (minor := _minor(text, end, places))
    ):
        value += Decimal(minor) / 100
    return -value if value and places and _MINUS.match(text) and min(places)[1] <= start else value


def _scaled(
    value: Decimal, text: str, numbers: list[Span], decimal: str | None, places: list[Span]
) -> Decimal:
    """Returns the first number multiplied by the magnitude word after it: `1.5万円`, `12만 9,000원`, `₹ 2.35
    crore`."""
    if myriad := words.MYRIAD.match(text, numbers[0][1]):
        value *= 10 ** words.POWERS[myriad[1]]
        if len(numbers) > 1 and myriad.end() == numbers[1][0]:
            rest = _decimal(text[slice(*numbers[1])], decimal, "", "")
            value += _scaled(rest, text, numbers[1:], decimal, places) if rest is not None else 0
    elif places:
        zeros = words.power(text, *numbers[0], places)
        return value * 10**zeros if zeros else value
    return value


def _present(
    text: str,
    numbers: list[Span],
    chosen: int,
    value: Decimal,
    places: list[Span],
    decimal: str | None,
    three: str,
) -> tuple[int, Decimal]:
    """Returns the index and the value of the current price, which is usually the number `chosen`. If the
    label of this number marks a former price, as in `Was $50, now $40`, the current price is a later
    number."""
    former = _label(text, numbers, chosen, places)
    for other in range(chosen + 1, len(numbers)) if words.is_former(former) else ():
        beside = any(_beside(text, place, numbers[other]) for place in places)
        if beside and words.is_present(_label(text, numbers, other, places), former):
            now = _decimal(text[slice(*numbers[other])], decimal, three, "")
            return (
                (other, now)
                if now and now > 0 and (now < value or words.is_saved(former))
                else (chosen, value)
            )
    return chosen, value


def _label(text: str, numbers: list[Span], one: int, places: list[Span]) -> str:
    """Returns the text between a number and the previous number, with currencies blanked out. At most 40
    characters are returned."""
    start, end = max(numbers[one - 1][1] if one else 0, numbers[one][0] - 40), numbers[one][0]
    for low, high in places:
        if start <= low and high <= end:
            text = text[:low] + " " * (high - low) + text[high:]
    return text[start:end]


def _of_a_name(text: str, start: int, end: int) -> bool:
    """Whether the number that begins at `start` is the end of a product name. A dash and a price must follow
    this number."""
    return any(words.NAMED.fullmatch(text, max(0, start - before), end) for before in (1, 2, 3))


def _counts(text: str, one: Span, other: Span) -> bool:
    """Whether the number before a currency is a quantity and the number after the currency is the price, as
    in `Pack of 6 R$ 5,18`."""
    return text[slice(*one)].isdecimal() and _TWO.search(text[slice(*other)]) is not None


def _digits(text: str, at: Span) -> int:
    """Returns the position of a number's first digit, after its sign."""
    return next((place for place in range(*at) if text[place] not in "-−– "), at[0])


def _parts(text: str, numbers: list[Span], chosen: int, places: list[Span]) -> bool:
    """Whether the number after a whole amount is the number of cents, as in `$12 99`."""
    if chosen + 1 == len(numbers) or not any(_beside(text, place, numbers[chosen]) for place in places):
        return False
    (start, end), (low, high) = numbers[chosen], numbers[chosen + 1]
    return (
        _IS_WHOLE.fullmatch(text, start, end) is not None
        and high - low == 2
        and text[low:high].isdecimal()
        and low - end == 1
        and text[end].isspace()
        and all(place[1] <= start for place in places)
        and not text[high : high + 2].strip()
    )


def _minor(text: str, end: int, places: list[Span]) -> str | None:
    """Returns the hundredths that follow a whole amount and its currency, or None. The hundredths must have
    their own unit, as in `12 руб. 50 коп.`."""
    after = next((place[1] for place in places if _AFTER.fullmatch(text, end, max(end, place[0]))), None)
    found = words.MINOR.match(text, after) if after is not None else None
    return found[1] if found else None


def _decimal(raw: str, separator: str | None, three: str, after: str) -> Decimal | None:
    """Parses a number and its separators. If the number has two kinds of separators, the last separator is
    the decimal separator. If the number has a single separator, the count of digits after the separator shows
    whether it is the decimal separator."""
    negative = raw.lstrip()[:1] in "-−–" and not _NOTHING.match(raw)
    digits = _BLANKS.sub("", raw.strip("-−– \u00a0")).replace("٬", ",").replace("٫", ".")
    if digits[0] in ".,":  # .75 is a fraction, but .750.30 and ..75 begin with a stray mark
        digits = digits.lstrip(".,")
        digits = digits if "." in digits or "," in digits else f"0.{digits}"
    if not separator and not raw.isdecimal() and (sure := _SURE.search(raw)):
        part = sure[1] or sure[2]
        digits, separator = f"{_bare(digits[: -len(part)])}.{part}", "."
    separator = separator or _separator(digits, three)
    whole, _, part = digits.rpartition(separator) if separator and separator in digits else (digits, "", "")
    clean = _bare(whole) + ("." + _bare(part) if part else "")
    if not part and (cents := _CENTS.match(after)):  # `35€ 99`
        clean += "." + (cents[1] or cents[2])
    try:
        value = Decimal(clean)
    except InvalidOperation:
        return None
    return -value if negative and value else value


def _bare(digits: str) -> str:
    return digits.replace(".", "").replace(",", "")


def _separator(digits: str, three: str) -> str | None:
    """Returns the decimal separator of a number, or None. `three`: the separators that may precede three
    decimals."""
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return None
    char = digits[last]
    other = "," if char == "." else "."
    tail = len(digits) - last - 1
    if other in digits:
        return char if digits.count(char) == 1 else None
    if digits.count(char) > 1:
        return None
    if tail == 3 and char not in three and digits[:last].lstrip("0") and last <= 3:
        return None  # 1.299 and 4,999 are thousands
    return char
