"""Parses dates in many languages and notations into ISO 8601. The result is as precise as the text: `2024-05`
if the text gives no day."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from gossamer.parsing import date_words as words

MAX_CHARS: Final = 300
"""Maximum number of characters of a text that are parsed."""
FIRST_YEAR, LAST_YEAR = 1000, 2200
"""The earliest and latest years that are accepted in a date."""
_MONTH: Final = (
    r"(?P<month>[^\W\d_](?:[^\W\d_]|[\u0e30-\u0e4e\u0eb0-\u0ece]){0,4}\.[^\W\d_]\.?"
    r"|[^\W\d_](?>(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff])+))\.?"
)
"""Matches a word that may be the name of a month. The character ranges in the pattern are vowel signs of
Indic and Southeast Asian scripts. These ranges also contain letters, so a letter can match both alternatives
of the repeated group. The repetition is atomic, because backtracking would take exponential time."""
_YEAR: Final = r"(?P<year>\d{4})"
_DAY: Final = r"(?<![\d.,:/-])(?P<day>\d{1,2})"
_OTHER_NAME: Final = r"(?:(?<=[\u0600-\u06ff])\s?/\s?[^\W\d_]+)?"
"""Matches the second name of an Arabic month, as in `5 شباط/فبراير 2024`."""
_ROMAN: Final = r"(?P<roman>(?-i:I{1,3}|I?V|VI{1,3}|I?X|XI{1,2}))"
"""Matches the number of a month in Roman digits, as in `5.III.2024`."""
_ROMAN_MONTHS: Final = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
_SHAPES: Final = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        r"(?<![\d-])(?P<year>\d{4})(?P<mark>[-/.])(?P<number>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d-]|\.\d)",
        r"(?<![\d.-])(?P<year>\d{4})\. (?P<number>\d{1,2})\. (?P<day>\d{1,2})(?!\d)",
        (
            rf"(?:(?P<era>{'|'.join(words.ERAS)})\s?(?P<count>\d{{1,3}}|元)|(?P<year>\d{{4}})|(?<!\w)['’]?(?P<short>\d\d))\s?[年년]"
            r"\s?(?P<number>\d{1,2})\s?[月월](?:\s?(?P<day>\d{1,2})\s?[日일号號])?"
        ),
        r"(?<![\d.,/-])(?P<one>\d{1,2})(?P<mark>[./|-])\s?(?P<two>\d{1,2})(?P=mark)\s?(?P<year>\d{4}|\d\d?)(?![\d/-]|\.\d)",
        rf"{_DAY}(?:\s?[./-]\s?|\s(?=[IVX]{{2}})){_ROMAN}(?:\s?[./-]\s?|\s){_YEAR}(?!\d)",
        rf"(?<![\d.,/-]){_YEAR}\.?[\s./-]\s?{_ROMAN}[\s./-]\s?(?P<day>\d{{1,2}})(?!\d)",
        rf"{_DAY}(?:st|nd|rd|th|er|º|ª|\.)?,?[\s/-]*(?:(?:of|de|den)\s+|d['’]|ב)?{_MONTH}{_OTHER_NAME}[,،]?[\s/-]*(?:(?:de|del|of|năm|ค\.ศ\.|พ\.ศ\.)\s+)?{_YEAR}(?!\d)",
        rf"(?<!\w){_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+){_YEAR}(?!\d)",
        rf"(?<!\w){_MONTH}\s+(?P<day>\d{{1,2}})\s+(?P<clock>\d\d:\d\d:\d\d(?:\s+[A-Z]{{1,5}})?)\s+{_YEAR}(?!\d)",
        rf"{_YEAR}\.?\s*(?:წლის|gada|-?ж\.,?|жылғы)\s+(?P<day>\d{{1,2}})\.?[\s-]+{_MONTH}",
        rf"{_YEAR}(?:\s+m\.|\s*թ\.|\(e\)ko|,)\s+{_MONTH}\s+(?P<day>\d{{1,2}})(?!\d)",
        rf"{_DAY}(?:st|nd|rd|th|\.)?[\s-]+{_MONTH},?[\s-]*['’‘](?P<short>\d\d)(?!\d)",
        rf"(?<!\w){_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+['’‘](?P<short>\d\d)(?!\d)",
        rf"(?<!\d){_YEAR}\.?[\s/-]+{_MONTH}[\s/-]+(?P<day>\d{{1,2}})(?!\d)",
        rf"{_DAY}\s+(?:tháng|thg)\s+(?P<number>\d{{1,2}}),?(?:\s+năm)?\s+{_YEAR}(?!\d)",
        rf"(?<!\w)(?<!\d )(?<!\d\. ){_MONTH}\s+(?:de\s+)?{_YEAR}(?!\d)",
        rf"{_DAY}(?:st|nd|rd|th|\.)?\s+(?:de\s+)?{_MONTH}(?!\w|\s+[^\W\d_]{{3}}|,?\s+\d{{4}})",
        rf"(?<!\w){_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|\s+[^\W\d_]{{3}})",
        r"(?<!\d)(?P<number>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]",
    )
)
_WHOLE: Final = re.compile(
    r"(\d{4})(\d\d)(\d\d)(?:[T ]?(\d\d)(\d\d)(\d\d)?(?:[.,]\d+)?(Z|[-+]\d\d:?\d\d)?)?|(\d{4})-(\d\d)|(\d{4})|(\d{10})(?:\.\d+)?|(\d{13})"
)
_TIME: Final = re.compile(
    r"(?<![\d:.])(?:(?P<noon>下午|午後|오후|晚上|傍晚|夜晚|晚|夜|中午|午前|上午|早上|早晨|清晨|凌晨|오전|새벽)\s?)?(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d+)?)?|\s?h\s?(?P<french>[0-5]\d)|\s?(?:[点點時时시])(?:\s?(?P<east>[0-5]?\d)\s?[分분])?|\.(?P<dotted>[0-5]\d)(?=\s*(?:uhr|[ap]\.?m|[A-Z]{3,4})\b))(?!\d|[.,:]\d)"
    r"\s*(?:(?P<half>[ap])\.?\s?m\b\.?)?\s*(?:\(?(?:UTC|GMT)?\s?(?P<offset>[-+](?:0?\d:|1[0-4]:?|0\d)[0-5]\d)(?!\d)|\(?(?:UTC|GMT)\s?(?P<hours>[-+]\d\d?)(?![\d:])|\(?(?P<zone>[A-Z]{1,5})\b(?!\s?[-+]\d))?",
    re.IGNORECASE,
)
_AFTERNOON: Final = frozenset(("下午", "午後", "오후", "晚上", "傍晚", "夜晚", "晚", "夜"))
"""Chinese, Japanese and Korean words for the hours after noon."""
_NIGHT: Final = frozenset(("晚上", "夜晚", "晚", "夜"))
"""Chinese words for the evening and the night."""
_PERSIAN_SHIFT: Final = 1595
"""Number of years that are added to a Persian year, so that the calendar's cycle of 33 years begins at a
multiple of 33."""
_PERSIAN_EPOCH: Final = 356_033
"""Difference between the day numbers of the shifted Persian calendar and the day numbers of
`datetime.toordinal`."""
_PERSIAN_YEARS: Final = range(1300, 1500)
_INVISIBLE: Final = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Matches invisible characters, for example marks of the writing direction and soft hyphens."""
_HAN_NUMBER: Final = re.compile(r"[〇○零一二三四五六七八九十百廿卅]+(?=\s?[年月日号號時时点點分])")
_ZONE_SIGN: Final = re.compile(r"\b(UTC|GMT)\s*([-+‐‑‒–])\s*(?=\d)")
_YEAR_FIRST: Final = frozenset(("hu", "ja", "ko", "zh"))
"""Languages in which `24.03.05` begins with the year."""
_DIGITS: Final = re.compile(r"[^\W\d_]*\d")
_MAX_CHARS_BEFORE, _MAX_WEEKDAY_CHARS = 24, 12
"""`_MAX_CHARS_BEFORE` is the maximum number of characters before a date that a time and a day of the week may
occupy together. `_MAX_WEEKDAY_CHARS` is the maximum number of characters of the day of the week."""
_MAX_GAP: Final = 40
"""Maximum number of characters between a date and its time."""


def date(text: str | None, language: str | None = None, now: datetime | None = None) -> str | None:
    """Returns the first date in a text as ISO 8601, with its time and UTC offset if the text has them.
    Returns None if there is no date. Never raises.

    `language`: a language tag, which decides how `05/12/2024` is read. The month comes first if the language
    is `en`, `en-US` or unknown. The day comes first for most other languages. `now`: the reference time for
    texts such as `3 hours ago` and for days without a year. If `now` is None, no date is found in texts that
    can only be read with a reference time. Years before 1000 and after 2200 are not accepted.

    >>> date("Published 12 May 2024, 3:05 pm"), date("12. Mai 2024"), date("05/12/2024", "en-US"), date("May 2024")
    ('2024-05-12T15:05:00', '2024-05-12', '2024-05-12', '2024-05')
    """
    text = _plain(text or "")
    if whole := _WHOLE.fullmatch(text):
        return _of_digits(whole)
    if found := _found(text, language, now):
        return _timed(found[0], text, found[1]) if len(found[0]) == 10 else found[0]
    return _relative(text, now) if now is not None else None


def around(text: str, language: str | None = None) -> tuple[str, str] | None:
    """Returns the text before and after the first date in a text, or None if there is no date.

    >>> around("Apply before 30 June 2025.")
    ('Apply before ', '.')
    """
    text = _plain(text)
    found = _found(text, language, None)
    return None if found is None else (text[: found[1].start()], text[found[1].end() :])


def _plain(text: str) -> str:
    """Returns the beginning of a text with usual digits and signs, and with months of one word."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text[:MAX_CHARS])).strip()
    if "UTC" in text or "GMT" in text:
        text = _ZONE_SIGN.sub(lambda found: found[1] + ("+" if found[2] == "+" else "-"), text)
    if text.isascii():
        return text
    text = "".join(
        str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char
        for char in text.replace("\u2212", "-")
    )
    text = _HAN_NUMBER.sub(_number_of_han, text)
    return words.TWO_WORDS.sub(lambda found: words.MONTH_OF_TWO_WORDS[found[1].lower()], text)


def _number_of_han(found: re.Match[str]) -> str:
    """Returns a number in Han digits as a number: `二〇二四` is 2024, and `二十三` is 23."""
    values = [int(unicodedata.numeric(char)) for char in found[0].replace("○", "〇")]
    if max(values) < 10:
        return "".join(map(str, values))
    total = ones = 0
    for value in values:
        if value in (10, 100):
            total += (ones or 1) * value
            ones = 0
        else:
            ones += value
    return str(total + ones)


def _found(text: str, language: str | None, now: datetime | None) -> tuple[str, re.Match[str]] | None:
    for shape in _SHAPES if _DIGITS.search(text) else ():
        for found in shape.finditer(text):
            if (day := _day(found, language, now)) is not None:
                return day, found
    return None


def _of_digits(whole: re.Match[str]) -> str | None:
    """Parses a text that has only digits: 20240512, 2024-05, 2024, or seconds or milliseconds since 1970."""
    year, month, day, hour, minute, second, zone, its_year, its_month, alone, seconds, milliseconds = (
        whole.groups()
    )
    if seconds or milliseconds:
        moment = datetime.fromtimestamp(int(seconds or milliseconds) / (1 if seconds else 1000), UTC)
        return moment.replace(microsecond=0).isoformat()
    if year:
        found = _iso(int(year), int(month), int(day))
        if found and hour and int(hour) < 24 and int(minute) < 60 and int(second or 0) < 60:
            offset = (zone or "").replace("Z", "+00:00").replace(":", "")
            return f"{found}T{hour}:{minute}:{second or '00'}{offset[:3]}{offset and ':'}{offset[3:]}"
        return found
    if its_year:
        return whole[0] if 1 <= int(its_month) <= 12 and FIRST_YEAR <= int(its_year) <= LAST_YEAR else None
    return alone if 1900 <= int(alone) <= 2100 else None


def _iso(year: int, month: int, day: int) -> str | None:
    year -= 543 if 2400 < year < 2700 else 0  # years of the Buddhist calendar
    try:
        return datetime(year, month, day).date().isoformat() if FIRST_YEAR <= year <= LAST_YEAR else None
    except ValueError:
        return None


def _persian(year: int, month: int, day: int) -> str | None:
    """Converts a day of the Persian calendar, which Iran and Afghanistan use. The calculation uses a cycle of
    33 years, which is exact for the Persian years 1178 to 1633."""
    if not (1 <= month <= 12 and 1 <= day <= (31 if month < 7 else 30)):
        return None
    years = year + _PERSIAN_SHIFT
    days = years * 365 + years // 33 * 8 + (years % 33 + 3) // 4
    days += ((month - 1) * 31 if month < 7 else (month - 7) * 30 + 186) + day
    return datetime.fromordinal(days - _PERSIAN_EPOCH).date().isoformat()


def _is_persian_year(year: int, language: str | None) -> bool:
    return year in _PERSIAN_YEARS and (language or "").lower()[:2] in ("fa", "ps")


def _day(found: re.Match[str], language: str | None, now: datetime | None) -> str | None:
    """Returns the date of a match: a day, or a month such as `2024-05` if the match has no day. Returns None
    if the date is invalid."""
    parts = found.groupdict()
    if "one" in parts:
        year, one, two = int(parts["year"]), int(parts["one"]), int(parts["two"])
        if len(parts["year"]) < 4 and (language or "").lower()[:2] in _YEAR_FIRST and _is_year_first(found):
            return _iso(_full_year(one), two, year)
        if len(parts["year"]) == 1 or (len(parts["year"]) == 2 and parts["mark"] == "-"):
            return None  # more likely a number than a date
        year = _full_year(year) if len(parts["year"]) == 2 else year
        if _is_persian_year(year, language):
            return _persian(year, two, one)
        if one > 12 or (two <= 12 and not _month_first(parts["mark"], language)):
            return _iso(year, two, one)
        return _iso(year, one, two)
    is_persian = False
    if parts.get("roman"):
        month: int | None = _ROMAN_MONTHS.index(parts["roman"]) + 1
    elif parts.get("number"):
        month = int(parts["number"])
        is_persian = _is_persian_year(int(parts.get("year") or 0), language)
    else:
        month = _month(parts["month"], language)
        if month is None and parts.get("year") and int(parts["year"]) in _PERSIAN_YEARS:
            month = words.PERSIAN_MONTHS.get(parts["month"].lower())
            is_persian = True
    if month is None:
        return None
    if is_persian:
        return _persian(int(parts["year"]), month, int(parts["day"])) if parts.get("day") else None
    if parts.get("short"):
        parts["year"] = str(_full_year(int(parts["short"])))
    if parts.get("era"):
        parts["year"] = str(words.ERAS[parts["era"]] + int(parts["count"].replace("元", "1")))
    if not parts.get("year"):
        return _in_year(month, int(parts["day"]), now)
    if not parts.get("day"):
        return (
            f"{parts['year']}-{month:02}" if 1 <= month <= 12 and 1900 <= int(parts["year"]) <= 2100 else None
        )
    return _iso(int(parts["year"]), month, int(parts["day"]))


def _full_year(short: int) -> int:
    return short + (2000 if short < 70 else 1900)


def _is_year_first(found: re.Match[str]) -> bool:
    """Whether a date with a short year begins with the year, in a language of `_YEAR_FIRST`."""
    one, two, last, mark = found["one"], found["two"], found["year"], found["mark"]
    if len(one) < 2 or not 1 <= int(two) <= 12 or not 1 <= int(last) <= 31:
        return False
    if len(two) == len(last) == 2:
        return True
    return mark == "/" or (mark == "." and (len(last) == 2 or " " in found[0]))


def _month_first(mark: str, language: str | None) -> bool:
    tag = (language or "").lower().replace("_", "-")
    return (mark == "/" and tag in ("", "en", "en-us", "en-ph", "fil", "en-bz")) or (
        mark == "-" and tag == "en-us"
    )


def _month(name: str, language: str | None) -> int | None:
    name = name.lower().rstrip(".")
    bare = "".join(char for char in unicodedata.normalize("NFD", name) if not "\u0300" <= char <= "\u036f")
    bare = bare.replace("ł", "l").replace("ı", "i").replace("й", "и") if bare not in words.MONTHS else bare
    if bare == "listopada" and (language or "").lower()[:2] in ("hr", "bs"):
        return 10
    composed = unicodedata.normalize("NFC", name)
    return (
        words.MONTHS_OF_LANGUAGE.get(((language or "").lower()[:2], composed.rstrip("॰׳’'")))
        or words.MONTHS.get(bare)
        or words.MONTHS.get(composed)
        or words.MONTHS.get(composed.removeprefix("ב"))
        or words.MONTHS.get(composed.removesuffix("ს") + "ი")  # the Georgian dative
    )


def _in_year(month: int, day: int, now: datetime | None) -> str | None:
    """Returns the latest date with this month and day that is not after `now`, or None if `now` is None."""
    if now is None:
        return None
    year = now.year if (month, day) <= (now.month, now.day) else now.year - 1
    return _iso(year, month, day)


def _timed(day: str, text: str, found: re.Match[str]) -> str:
    """If the text contains a time, adds the time to the day. The time may be within the date, after the date,
    or just before the date."""
    if clock := found.groupdict().get("clock"):  # as in the asctime notation
        after = _TIME.fullmatch(clock)
    else:
        after = _TIME.search(text, found.end(), min(len(text), found.end() + _MAX_GAP))
    time = after or _time_before(text, found.start())
    if time is None or (time["half"] and int(time["hour"]) > 12):
        return day
    hour = int(time["hour"]) % 12 + 12 * (time["half"].lower() == "p") if time["half"] else int(time["hour"])
    if time["noon"] in _NIGHT and hour == 12:
        return day  # the beginning of the next day
    if time["noon"] in _AFTERNOON or (time["noon"] == "中午" and hour < 10):
        hour += 12 if hour < 12 else 0
    elif time["noon"] and time["noon"] != "中午" and hour == 12:
        hour = 0
    if hour > 23:
        return day
    moment = datetime.fromisoformat(day).replace(
        hour=hour,
        minute=int(time["minute"] or time["french"] or time["dotted"] or time["east"] or 0),
        second=int(time["second"] or 0),
    )
    return moment.replace(tzinfo=_zone(time)).isoformat()


def _time_before(text: str, end: int) -> re.Match[str] | None:
    """Returns the time just before a date, as in `10:30, 12 May` or `8:00 PM EST, Tue December 19`."""
    found = _TIME.search(text[max(0, end - _MAX_CHARS_BEFORE) : end])
    return found if found and len(found.string) - found.end() <= _MAX_WEEKDAY_CHARS else None


def _zone(time: re.Match[str]) -> timezone | None:
    if offset := time["offset"]:
        minutes = int(offset[1:-2].rstrip(":")) * 60 + int(offset[-2:])
        return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
    if time["hours"]:
        return timezone(timedelta(hours=int(time["hours"]))) if abs(int(time["hours"])) < 24 else None
    hours = words.ZONES.get((time["zone"] or "").lower())
    return None if hours is None else timezone(timedelta(hours=hours))


def _relative(text: str, now: datetime) -> str | None:
    """Returns the date that a text describes relative to `now`. If the unit is an hour or less, the result
    contains a time. Otherwise, the result is a day."""
    now = now.replace(microsecond=0)
    for found in words.RELATIVE.finditer(text):
        if not found["ago"] and not words.SINCE.match(found[0]):
            continue
        unit = next(
            name
            for name in ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
            if found[name]
        )
        count = int(found["count"]) if found["count"].isdecimal() else 1
        if unit in ("months", "years"):
            month = now.year * 12 + now.month - 1 - count * (12 if unit == "years" else 1)
            days = (28, 29, 30, 31)
            return next(
                (
                    iso
                    for day in (now.day, *reversed(days))
                    if (iso := _iso(month // 12, month % 12 + 1, day))
                ),
                None,
            )
        then = now - timedelta(**{unit: count})
        return then.isoformat() if unit in ("seconds", "minutes", "hours") else then.date().isoformat()
    for word, ago in words.NEAR:
        if word.search(text):
            return now.isoformat() if ago is None else (now - timedelta(days=ago)).date().isoformat()
    return None
