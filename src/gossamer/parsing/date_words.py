"""Words for dates in many languages: month names, relative times such as "3 hours ago", time zones, and
labels such as "published" and "modified"."""

from __future__ import annotations

import re
from functools import partial
from typing import Final
from unicodedata import normalize

from gossamer.data import alternatives, sections

_words = partial(alternatives, "date_words")

MONTHS: Final[dict[str, int]] = {}
"""Maps month names to numbers. Names are in lower case, without accents on Latin and Greek letters."""
for _section in ("month_names", "month_names_cldr"):
    for _number, _line in enumerate(sections("date_words")[_section], 1):
        for _name in _line.split():
            MONTHS.setdefault(normalize("NFC", _name), _number)
MONTHS_OF_LANGUAGE: Final = {
    (_language[:2], normalize("NFC", _name)): _number
    for _language, *_names in map(str.split, sections("date_words")["month_names_short"])
    for _number, _names_of_month in enumerate(_names, 1)
    for _name in _names_of_month.split("/")
}
"""Maps pairs of a language and a month's name to the month's number."""
PERSIAN_MONTHS: Final = {
    _name: _number
    for _number, _line in enumerate(sections("date_words")["month_names_persian"], 1)
    for _name in _line.split()
}
"""Maps the names of months of the Persian calendar to numbers."""
MONTHS["listopadu"] = MONTHS["listopada"] = 11
_TWO_WORDS: Final = [line.split(" ", 1) for line in sections("date_words")["month_names_two_words"]]
MONTH_OF_TWO_WORDS: Final = {
    normalize("NFC", _name): sections("date_words")["month_names"][int(_number) - 1].split()[0]
    for _number, _name in _TWO_WORDS
}
"""Maps the names of months of two words to the English names."""
TWO_WORDS: Final = re.compile(
    rf"(?<!\w)({'|'.join(map(re.escape, MONTH_OF_TWO_WORDS))})(?!\w)(?:\s?[/(]\s?[^\W\d_]+\)?)?",
    re.IGNORECASE,
)
"""Matches the name of a month of two words, with its other name after a slash or in brackets."""
_UNITS: Final = tuple(
    (unit, _words(unit)) for unit in ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
)
_ONE: Final = _words("one")
_AGO: Final = _words("ago")
_SINCE: Final = _words("since")
RELATIVE: Final = re.compile(
    rf"(?:\b(?:{_SINCE})\s+)?(?<![\w.,])(?P<count>\d{{1,3}}|{_ONE})\s*(?:{'|'.join(f'(?P<{unit}>{names})' for unit, names in _UNITS)})"
    rf"(?!\w)?(?:\s*(?P<ago>{_AGO})(?!\w)|(?=\W|$))",
    re.IGNORECASE,
)
SINCE: Final = re.compile(rf"(?<!\w)(?:{_SINCE})\s+$|(?<!\w)(?:{_SINCE})\b", re.IGNORECASE)
NEAR: Final = (
    (re.compile(rf"(?<!\w)(?:{_words('now')})", re.IGNORECASE), None),
    (
        re.compile(
            rf"(?<!\w)(?:{_words('yesterday')})(?!\w)|{_words('yesterday_asian')}",
            re.IGNORECASE,
        ),
        1,
    ),
    (
        re.compile(
            rf"(?<!\w)(?:{_words('today')})(?!\w)|{_words('today_asian')}",
            re.IGNORECASE,
        ),
        0,
    ),
)
"""Pairs of a pattern for a word such as "yesterday", and a number of days before today. If the word denotes
the current moment, the number is None."""
ZONES: Final = {
    "z": 0,
    "utc": 0,
    "gmt": 0,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
    "cet": 1,
    "cest": 2,
    "mez": 1,
    "mesz": 2,
    "bst": 1,
    "wet": 0,
    "eet": 2,
    "eest": 3,
    "msk": 3,
    "jst": 9,
    "kst": 9,
    "ist": 5.5,
    "aest": 10,
    "aedt": 11,
}
"""Offset from UTC in hours, by time zone abbreviation."""
ERAS: Final = {
    "令和": 2018,
    "平成": 1988,
    "昭和": 1925,
    "大正": 1911,
    "明治": 1867,
    "民國": 1911,
    "民国": 1911,
}
"""Maps each Japanese or Taiwanese era to the year before its first year."""
MODIFIED: Final = re.compile(
    rf"\b(?:{_words('modified')})|{_words('modified_asian')}",
    re.IGNORECASE,
)
PUBLISHED: Final = re.compile(
    rf"\b(?:{_words('published')})|{_words('published_asian')}",
    re.IGNORECASE,
)
OTHER_BEFORE: Final = re.compile(
    rf"(?<!\w)(?:{_words('other_before')})\s+(?:\w+(?:day|tag|di|dì),? )?$", re.IGNORECASE
)
"""Matches words at the end of the text before a date that is not the date of publication."""
OTHER_AFTER: Final = re.compile(rf"\s?(?:{_words('other_after')})", re.IGNORECASE)
"""Matches words after a date that is not the date of publication."""
ARTICLES: Final = frozenset(sections("date_words")["date_articles"])
"""Words in lower case that may stand between a place and a date, as in `Paris, le 12 mai 2024`."""
CLOCK: Final = re.compile(_words("clock"), re.IGNORECASE)
"""Matches labels of the current time, such as `It is currently` in forums."""
COPYRIGHT: Final = re.compile(r"©|\(c\)|\bcopyright\b", re.IGNORECASE)
"""Matches a sign of a copyright notice, such as `©`."""
