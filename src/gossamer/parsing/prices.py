"""Prices as people write them: an amount and a currency out of a text."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import msgspec

_SYMBOLS = {
    "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₴": "UAH", "₪": "ILS", "฿": "THB",
    "₫": "VND", "₱": "PHP", "₦": "NGN", "₡": "CRC", "₲": "PYG", "₸": "KZT", "₾": "GEL", "₼": "AZN", "$": "USD", "US$": "USD",
    "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "R$": "BRL", "MX$": "MXN",
    "NT$": "TWD", "Kč": "CZK", "kr": "SEK", "zł": "PLN", "Ft": "HUF", "лв": "BGN", "руб": "RUB", "грн": "UAH", "Rs": "INR",
    "Rp": "IDR", "RM": "MYR", "CHF": "CHF", "Fr": "CHF", "TL": "TRY", "円": "JPY", "元": "CNY", "원": "KRW", "R": "ZAR",
    "lei": "RON", "KD": "KWD", "Euro": "EUR", "EURO": "EUR", "euros": "EUR",
}  # fmt: skip
_CODES = frozenset((
    "AED", "ARS", "AUD", "AZN", "BAM", "BDT", "BGN", "BHD", "BRL", "BYN", "CAD", "CHF", "CLP", "CNY", "COP", "CRC",
    "CZK", "DKK", "DOP", "DZD", "EGP", "EUR", "GBP", "GEL", "GHS", "GTQ", "HKD", "HRK", "HUF", "IDR", "ILS", "INR",
    "IQD", "IRR", "ISK", "JOD", "JPY", "KES", "KRW", "KWD", "KZT", "LBP", "LKR", "MAD", "MDL", "MKD", "MXN", "MYR",
    "NGN", "NOK", "NZD", "OMR", "PAB", "PEN", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "SAR", "SEK",
    "SGD", "THB", "TND", "TRY", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES", "VND", "XAF", "XOF", "ZAR",
))  # fmt: skip
_WORDS = sorted({*_SYMBOLS, *_CODES}, key=len, reverse=True)
_CURRENCY = re.compile(
    "|".join(
        rf"(?<![A-Za-z]){re.escape(w)}(?![A-Za-z])" if w[0].isalpha() and w.isascii() else re.escape(w) for w in _WORDS
    )
)
_NUMBER = re.compile(r"(?<![\d.,])(?<!\d[ '’])[-−–]?\s?(?:\d[\d.,'’٬٫\u00a0\u202f\u2009 ]*\d|\d|[.,]\d+)")
_FREE = re.compile(r"\b(?:free|gratis|kostenlos|gratuit)\b", re.IGNORECASE)
_BLANKS = re.compile(r"[ \u00a0\u202f\u2009'’]")


LONGEST = 500
"""Characters of a text that are looked at: what is longer is no price, and each number is held against each currency."""


class Price(msgspec.Struct, frozen=True):
    """A price: `amount`, its `currency` as written (None when none was), and the ISO 4217 code it stands for."""

    amount: Decimal | None
    currency: str | None
    iso: str | None


def price(text: str | None, currency: str | None = None, decimal: str | None = None) -> Price | None:
    """The price in a text, None when there is neither an amount nor a currency. Never raises.

    currency: a hint that is taken when the text names none (a text or a code); decimal: the decimal separator, where known.

    >>> price("1.299,00 €").amount, price("$ 4,999").amount, price("22,90 €").iso
    (Decimal('1299.00'), Decimal('4999'), 'EUR')
    """
    text = (text or "")[:LONGEST]
    named = _named(text, currency)
    amount = _amount(text, decimal, named)
    if amount is None and named is None:
        return None
    return Price(amount, named, _iso(named))


def _named(text: str, hint: str | None) -> str | None:
    """The currency as written: beside the number first, in the hint where it is clearer than a bare `$`, else in the text."""
    hinted = _CURRENCY.search(hint or "")
    number = _NUMBER.search(text)
    found = list(_CURRENCY.finditer(text))
    if hinted and hinted[0] in _CODES and not any(match[0] in _CODES for match in found):
        return hinted[0] if not found or found[0][0] == "$" else found[0][0]
    if not found:
        return hinted[0] if hinted else None
    if number is None:
        return found[0][0]
    return min(found, key=lambda match: _distance(match.span(), number.span()))[0]


def _distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(one[0] - other[1], other[0] - one[1], 0)


def _amount(text: str, decimal: str | None, named: str | None) -> Decimal | None:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return Decimal(0) if _FREE.search(text) else None
    best = numbers[0]
    if named is not None and len(numbers) > 1:  # the number beside the currency
        places = [match.span() for match in re.finditer(re.escape(named), text)]
        if places:
            best = min(numbers, key=lambda match: min(_distance(match.span(), place) for place in places))
    return _decimal(best[0], decimal, text[best.end() :])


def _decimal(raw: str, separator: str | None, after: str) -> Decimal | None:
    """A number with its separators understood: the last of two kinds is the decimal one, a single one is by its digits."""
    negative = raw.lstrip()[:1] in "-−–"
    digits = _BLANKS.sub("", raw.strip("-−– \u00a0")).replace("٬", ",").replace("٫", ".")
    separator = separator or _separator(digits)
    whole, _, part = digits.rpartition(separator) if separator and separator in digits else (digits, "", "")
    if not whole and part:
        whole = "0"
    clean = re.sub(r"[.,]", "", whole) + ("." + re.sub(r"[.,]", "", part) if part else "")
    if not part and (cents := re.match(r"\s?€\s?(\d\d)(?!\d)", after)):  # 35€ 99
        clean += "." + cents[1]
    try:
        value = Decimal(clean)
    except InvalidOperation:
        return None
    return -value if negative and value else value


def _separator(digits: str) -> str | None:
    """The decimal separator of a number, or None."""
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
    if tail == 3 and digits[:last].lstrip("0") and last <= 3:
        return None  # 1.299 and 4,999 are thousands
    return char


def _iso(currency: str | None) -> str | None:
    if currency is None:
        return None
    return currency if currency in _CODES else _SYMBOLS.get(currency)
