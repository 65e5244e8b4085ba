"""Maps written forms of currencies, such as symbols, codes and names, to ISO 4217 codes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gossamer.data import sections


class Spellings(NamedTuple):
    """Maps each written form to its ISO 4217 code."""

    iso: dict[str, str]
    """Maps each written form of a currency to the ISO 4217 code."""
    sure: re.Pattern[str]
    """Matches symbols, codes and names that denote a currency anywhere in a text."""
    unsure: re.Pattern[str]
    """Matches written forms that denote a currency only if a number is beside them: `R`, `Lek`, `nzd`."""
    dollars: frozenset[str]
    """The codes of the currencies that a bare `$` may stand for."""


SHARED = {
    **dict.fromkeys(("¥", "￥"), ("CNY", "CNH")),
    **dict.fromkeys(("£", "￡"), ("EGP", "LBP", "GIP", "FKP", "SHP", "IEP", "SYP")),
    "C$": ("NIO",),
    "B$": ("BSD", "BBD"),
    "G$": ("GYD",),
    "元": ("TWD", "HKD", "MOP"),
    "₨": ("PKR", "LKR", "MUR", "SCR", "NPR"),
}
"""Maps each sign that several currencies share to the codes of the less common currencies. A sign stands for
a less common currency if the text also names the currency, as in `¥99 CNY`."""
NATIONS = (
    (
        re.compile("dollar|доллар|долл"),
        re.compile(
            "(canad|kanad|канад)|(austral|австрал)|(new zealand|néo-?zéland|neuseel)|(hong[ -]?kong|гонконг)|"
            "(singap|сингап)|(taiwan|taïwan|тайван)|(jamai[ck])|(trinidad)|(fiji)|(namibi)|(brunei)|(bahami)|(barbadi)|(beli[zs]e)|(liberia)",
            re.IGNORECASE,
        ),
        [
            "CAD",
            "AUD",
            "NZD",
            "HKD",
            "SGD",
            "TWD",
            "JMD",
            "TTD",
            "FJD",
            "NAD",
            "BND",
            "BSD",
            "BBD",
            "BZD",
            "LRD",
        ],
    ),
    (
        re.compile("[Rr]upees"),
        re.compile("(pakistan)|(sri lanka)|(nepal)|(mauriti)|(seychell)", re.IGNORECASE),
        ["PKR", "LKR", "NPR", "MUR", "SCR"],
    ),
)
"""Currency words that several countries share. Each row has the pattern of a currency word, the stems of
country names, and the currency code for each stem. If a text contains a currency word and a country name, the
country name determines the currency."""


class _Endings(NamedTuple):
    pattern: re.Pattern[str]
    known: dict[str, tuple[frozenset[str], str, int]]


def endings(text: str, iso: str | None) -> tuple[str, str, int] | None:
    """Returns the currency that the end of an amount shows without naming it: `99¢`, `85 p`, `1 495:-`. The
    result is the ending as written, the code of the currency, and the decimal places by which the number is
    to be moved. `iso`: the currency of the page, if known; an ending that the currency does not have does not
    count.

    >>> endings("99¢", None), endings("50 ct", "USD")
    (('¢', 'USD', 2), None)
    """
    known = _endings()
    found = known.pattern.fullmatch(text)
    if found is None:
        return None
    codes, usual, scale = known.known[found[1]]
    if iso is not None and iso not in codes:
        return None
    return found[1], iso or usual, scale


def is_subunit(form: str, iso: str | None) -> bool:
    """Whether a written form is a word for hundredths of a currency, such as `p` and `ct`, which also means other
    things. `Rp` is such a word in CHF, and the rupiah in IDR."""
    codes, _, scale = _endings().known.get(form, ((), "", 0))
    return scale > 0 and iso in codes and form.strip(".").isalpha()


@lru_cache(maxsize=1)
def _endings() -> _Endings:
    known: dict[str, tuple[frozenset[str], str, int]] = {}
    for name, scale in (("endings", 0), ("subunits", 2)):
        for line in sections("currencies")[name]:
            codes, *written = line.split()
            theirs = codes.split("/")
            known |= {form: (frozenset(theirs), theirs[0], scale) for form in written}
    forms = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    return _Endings(re.compile(rf"[^\d]*(?<![.,])\d[\d.,'’ \u00a0\u202f\u2009]*?\s?({forms})\W*"), known)


@lru_cache(maxsize=1)
def pointed() -> frozenset[str]:
    """Returns the codes of currencies whose decimals always follow a point, so that `3.350` is no thousand."""
    return frozenset(" ".join(sections("currencies")["pointed"]).split())


@lru_cache(maxsize=1)
def spellings() -> Spellings:
    """Returns the forms and patterns of all currencies. The first call builds the result, and further calls
    return the same object."""
    iso: dict[str, str] = {}
    for line in sections("currencies")["currencies"]:
        code, *forms = line.split() or [""]
        for form in forms:
            iso.setdefault(form, code)
    codes, words = (
        " ".join(sections("currencies")["codes"]).split(),
        set(" ".join(sections("currencies")["words"]).split()),
    )
    known = set(iso)
    iso |= {code: code for code in codes}
    sure = {form for form in known if _sure(form) and form.upper() not in words} | (set(codes) - words)
    unsure = (known - sure) | (set(codes) & words)
    unsure |= {code.lower() for code in codes if code not in words}
    iso |= {code.lower(): code for code in codes}
    dollars = frozenset(code for form, code in iso.items() if "$" in form)
    return Spellings(iso, re.compile(_any(sure)), re.compile(_any(unsure)), dollars)


def _sure(form: str) -> bool:
    """Whether a written form, such as `€` or `euro`, always denotes a currency. True for each form that
    contains a symbol, for each word of at least 4 letters, and for each word of at least 3 letters that are
    not all ASCII. Shorter abbreviations may mean something else."""
    letters = sum(char.isalpha() for char in form)
    if any(not char.isalpha() and char not in ".'’‘ʻ/:-=\"״" for char in form):
        return True
    long = letters >= (4 if form.isascii() else 3)
    return long or form in ("Kč", "zł")


def _any(forms: set[str]) -> str:
    """Returns a pattern that matches any of the written forms, and prefers longer forms. If a written form
    begins or ends with a letter, the text must not have another letter next to it. A letter may follow `руб`,
    because this word has many endings. Thai, Chinese, Japanese and Korean letters may be adjacent to other
    letters, because these languages put no spaces between words.

    The alternatives are grouped by their first letter, and the lookbehind comes after this letter, so that a
    search skips most positions of a text at once.
    """
    groups: dict[str, list[str]] = {}
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        right = r"(?![^\W\d_])" if _spaced(form[-1]) and form != "руб" else ""
        groups.setdefault(form[0], []).append(re.escape(form[1:]) + right)
    parts = []
    for first, rests in groups.items():
        left = rf"(?<![^\W\d_]{first})" if _spaced(first) else ""
        parts.append(re.escape(first) + left + f"(?:{'|'.join(rests)})")
    return "|".join(parts)


def _spaced(char: str) -> bool:
    """Whether a character is a letter of a script that puts spaces between words."""
    return char.isalpha() and not ("\u0e00" <= char <= "\u0eff" or char >= "\u2e80")
