"""Detects crawler traps (endless URL spaces) from the URL alone. The functions are pure, and take less than a
microsecond for an ordinary URL.

A wrong rule loses real pages, but a missing rule costs only a few requests. Each rule therefore requires
strong evidence, so that no rule refuses the paths of documentation, shops, source trees and dated archives.
Traps that URLs alone do not reveal are limited by budgets and by depth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date

from gossamer.model.lazy_pattern import lazy_pattern

MAX_SEGMENTS = 24
"""Maximum number of path segments of a URL. The deepest URLs of real pages have about 18 path segments, and
are URLs of web pages that display source code."""
MAX_EMPTY, MAX_EMPTY_OF_LIST = 5, 32
"""Maximum numbers of query parameters of a URL that have the same name and no value. The second number is that
of names such as `price[]`."""

RULES = {
    "repeated-path": (
        "one or two path segments three times in a row (numbers: six times), or longer runs twice; encoded "
        "slashes count as slashes, also four in a row in the query"
    ),
    "growing-path": "five or more path segments that are repetitions of others in the path",
    "deep-path": f"more than {MAX_SEGMENTS} path segments",
    "many-parameters": f"a query parameter with the same value three times, or {MAX_EMPTY + 1} times without value",
    "session-ids": "more than one session id in the URL",
    "calendar": (
        "a calendar's view of a day, month or year that is not near today, or a date more "
        "than two years ahead"
    ),
}
"""Maps the name of each rule against crawler traps to a description of the URLs that the rule refuses. If a
rule refuses a URL, `Scope.explain` returns the rule's description."""

_SESSION = lazy_pattern(
    r"[;?&](?:jsessionid|phpsessid|aspsessionid\w*|session_?id|sid)=|/\([a-z]\(", re.IGNORECASE
)
_ENCODED_RUN = lazy_pattern(r"(?:%2f){4}|%(?:25){4}", re.IGNORECASE)
"""Matches slashes that were appended again and again, and a percent sign that was encoded again and again."""
_ENCODED_SLASH = lazy_pattern("%2f", re.IGNORECASE)
_YEAR = lazy_pattern("[/=][12][0-9]{3}")
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)"
_DAY = r"(0?[1-9]|[12][0-9]|3[01])"
_PATH_DATE = lazy_pattern(rf"/([0-9]{{4}})(?:([/-]?){_MONTH}(?:\2{_DAY})?)?/?(?:index\.[a-z]+)?$")
_FULL_DATE = lazy_pattern(r"/([0-9]{4})([/-])(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12][0-9]|3[01])(?=[/-]|$)")
_VALUE_DATE = lazy_pattern(rf"([0-9]{{4}})-?{_MONTH}(?:-?{_DAY})?(?:[tT ].*)?")
_VIEWS = lazy_pattern(
    r"/(?i:((?:events?|school|full|my)?[-_]?(?:cal|calendars?|kalender|calendario|calendrier|agenda|planner))|events?"
    r"|eventos|veranstaltungen|termine|schedules?|timetable|bookings?|reservations?|availability)(?=[/.?]|$)"
)
_CALENDAR_NAME = lazy_pattern(
    r"(?:^|[-_])(?:cal|calendar|kalender|tribe|event)(?:$|[-_])|eventdate", re.IGNORECASE
)
_DATE_NAMES = lazy_pattern(
    r"date|datum|day|month|start|from|until|^(?:d|m|w|to|end|week|time|when)$", re.IGNORECASE
)
_PARTS = ({"year", "y", "yr", "jahr"}, {"month", "m", "mon", "mm", "monat"}, {"day", "d", "dd", "tag"})


def trap(url: str, today: date | None = None) -> str | None:
    """Returns the name of the rule that detects a trap in a serialized URL (a key of `RULES`), or None.
    `today` defaults to the current date.

    >>> trap("https://example.com/a/b/a/b/a/b/")
    'repeated-path'
    >>> trap("https://example.com/calendar/2031/05/", date(2026, 1, 1))
    'calendar'
    >>> trap("https://example.com/blog/2019/05/12/a-post")
    """
    head, mark, query = url.partition("?")
    if "%2" in url:
        if _ENCODED_RUN.search(url):
            return "repeated-path"
        head = _ENCODED_SLASH.sub("/", head)
    if head.count("/") > 5 and (found := _path(head)):
        return found
    if mark and "&" in query and _parameters(query):
        return "many-parameters"
    if (";" in head or "(" in head or "id=" in query) and len(_SESSION.findall(url)) > 1:
        return "session-ids"
    if (
        ("/2" in url or "=2" in url or "/1" in url or "=1" in url)
        and _YEAR.search(url)
        and _dated(head, query, today)
    ):
        return "calendar"
    return None


def growing(base: str, hrefs: Iterable[str]) -> frozenset[str]:
    """Returns those relative hrefs on a page that lead into an endlessly growing path.

    Some sites return a page for every path, and use links without a leading slash. The paths of such a site
    grow forever: the page `/a/b/` links to `a/` and `b/` again. The function checks whether the first segment
    of a relative link already occurs in the page's own path. If at least two different segments are repeated
    in this way, the function returns all relative links to subfolders. A single repeated segment is not
    enough, because the real folder `/apache/src/main/org/` may contain a folder `apache/`.

    >>> sorted(growing("http://example.com/a/b/", ["a/", "b/", "c/", "/a/", "d.html"]))
    ['a/', 'b/', 'c/']
    """
    path = base.partition("?")[0].split("/")[3:-1]
    passed = {segment for segment in path if segment and not segment.isdecimal()}
    if len(passed) < 2:
        return frozenset()
    down, again = set(), set()
    for href in hrefs:
        if "/" not in href or href[0] in "/.?#":
            continue
        first = href[: href.index("/")]
        if ":" in first or "?" in first or "#" in first:
            continue
        down.add(href)
        if first in passed:
            again.add(first)
    return frozenset(down) if len(again) > 1 else frozenset()


def _path(head: str) -> str | None:
    segments = head.split("/")[3:]
    if not segments[-1]:
        segments.pop()
    n = len(segments)
    if n > MAX_SEGMENTS:
        return "deep-path"
    if len(set(segments)) == n:
        return None
    for period in range(1, n // 2 + 1):
        if _cycles(segments, period):
            return "repeated-path"
    words = [segment for segment in segments if not segment.isdecimal()]
    return "growing-path" if len(words) - len(set(words)) >= 5 else None


def _cycles(segments: list[str], period: int) -> bool:
    """Returns whether the path repeats a sequence of `period` segments too often."""
    run = 0
    for i in range(period, len(segments)):
        run = run + 1 if segments[i] == segments[i - period] else 0
        if run and run % period == 0:
            number = all(segment.isdecimal() for segment in segments[i - period + 1 : i + 1])
            times = run // period + 1
            if times >= (6 if number else 3 if period < 3 else 2):
                return True
    return False


def _parameters(query: str) -> bool:
    pairs = query.split("&")
    if len(pairs) < 3 or len(set(pairs)) > len(pairs) - 2:
        return False
    return any(n > _most(pair) for pair, n in Counter(pairs).items())


def _most(pair: str) -> int:
    """Returns how often a query may contain a parameter. The empty fields of a form may be many if their name is
    that of a list."""
    if pair[-1:] not in ("", "="):
        return 2
    return MAX_EMPTY_OF_LIST if pair.endswith(("[]=", "%5B%5D=", "[]", "%5B%5D")) else MAX_EMPTY


def _dated(head: str, query: str, today: date | None) -> bool:
    """Returns whether a URL that contains a year leads into a calendar trap. A calendar view far from today
    is a trap. A URL with a date more than two years ahead is also a trap."""
    path = head[head.find("/", 8) :]
    when = None
    if at_end := _PATH_DATE.search(path):
        when = _numbers(at_end[1], at_end[3], at_end[4])
    elif query and _YEAR.search(query):
        when = _in_query(query)
    today = today or date.today()
    if when is not None:
        view = _VIEWS.search(path, 0, at_end.start() + 1 if at_end else len(path))
        if view is not None or _names_a_calendar(query):
            return _far(when, today, archive=view is not None and not view[1])
        if at_end is None and when[0] > today.year + 2:
            return True
    full = _FULL_DATE.search(path)
    return full is not None and int(full[1]) > today.year + 2


def _names_a_calendar(query: str) -> bool:
    return bool(query) and any(_CALENDAR_NAME.search(pair.partition("=")[0]) for pair in query.split("&"))


def _numbers(year: str, month: str | None, day: str | None) -> tuple[int, int, int]:
    if not month:
        return int(year), 0, 0
    number = int(month) if month.isdecimal() else _NAMES.index(month[:3].lower()) + 1
    return int(year), number, int(day or 0)


def _in_query(query: str) -> tuple[int, int, int] | None:
    """Returns (year, month, day) from a query, with 0 for a missing part. Returns None if the query has no
    year."""
    parts = [0, 0, 0]
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _DATE_NAMES.search(name) and (found := _VALUE_DATE.fullmatch(value)):
            return _numbers(*found.groups())
        lower = name.lower()
        for i, names in enumerate(_PARTS):
            if lower in names and value.isdecimal() and len(value) < 5:
                parts[i] = int(value)
    year, month, day = parts
    return (year, month, day) if year and len(str(year)) == 4 else None


def _far(when: tuple[int, int, int], today: date, archive: bool) -> bool:
    """Returns whether the date of a calendar view is far from today. The date of a day view is near if the
    day is between yesterday and two weeks from today. The date of a month view is near if the month is
    between last month and three months from now. The date of a year view is near if the year is this year or
    next year. A crawl therefore requests only about twenty pages of an endless calendar.

    If the calendar is an `archive` of events, a view of any year from 1970 to two years from now counts as
    near, because there are few such years.
    """
    year, month, day = when
    months = (year - today.year) * 12 + month - today.month
    if not month:
        return not (1970 if archive else today.year) <= year <= today.year + (2 if archive else 1)
    if not day:
        return not -1 <= months <= 3
    # counting 31 days per month is accurate enough for this window
    return not -1 <= months * 31 + day - today.day <= 14
