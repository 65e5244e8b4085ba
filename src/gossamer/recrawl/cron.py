"""Evaluates cron expressions. A cron expression consists of five fields and a time zone, and defines points
in time.

A cron line whose hour field names every hour (`*`, `*/1`, `0-23`) follows elapsed time. If the clock repeats an
hour in autumn, such a cron line is due in both hours. All other cron lines follow the local clock. If the clock skips
a time in spring, that time is due at the first moment after the gap. If the clock shows a time twice in
autumn, that time is due only at its first occurrence. If several times map to the same moment, this moment is
due once.
"""

from __future__ import annotations

import difflib
import functools
import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "sun mon tue wed thu fri sat"
_ALLOWED = (
    "0 to 59",
    "0 to 23",
    "1 to 31, L (the last), LW (the last weekday)",
    "1 to 12, jan to dec",
    "0 to 7 (0 and 7 are Sunday), sun to sat, 5L (the last Friday), 1#2 (the second Monday)",
)
_COMMON = "alone or as a list (1,2), a range (1-5), * or a step (*/2)"
_ANY = ("*", "*", "*", "*", "*")
_MAX_CHARS = 200
_MAX_STEPS = (59, 23, 30, 11, 6)
_SUNDAY_LAST = re.compile(r"(?<!SUN)-SUN\b")
"""The end of a range that ends with Sunday, such as MON-SUN. Sunday is 0 and also 7."""
_START = datetime(2000, 1, 1)


class Cron:
    """A cron line in a time zone. Raises ValueError if a field of the cron line is invalid. The message names
    the field and the values that it allows.

    >>> cron = Cron("30 2 * * *", "Europe/Berlin")
    >>> datetime.fromtimestamp(cron.after(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp()), UTC).isoformat()
    '2026-03-29T01:00:00+00:00'
    """

    def __init__(self, line: str, zone: str = "UTC") -> None:
        self.text = _checked(line)
        self.zone = _zone(zone)
        self._line = _SUNDAY_LAST.sub("-7", self.text)
        minute, hour, *days = self._line.split()
        self._steady = CronSim(f"* {hour} * * *", _START).hours == {*range(24)}
        if self._steady:
            self._line = " ".join([minute, "*", *days])  # the library looks for the star
        try:
            found = self.after(_START.replace(tzinfo=UTC).timestamp())
        except CronSimError:
            found = None
        if found is None:
            raise ValueError(f"cron line {line!r}: there is no such day in any of its months")

    def after(self, moment: float) -> float | None:
        """Returns the first due time after `moment`. Both times are in seconds since the epoch. Returns None
        if there is no due time within 50 years."""
        return next(self.all_after(moment), None)

    def all_after(self, moment: float) -> Iterator[float]:
        """Yields all due times after `moment`, in order, in seconds since the epoch."""
        local = datetime.fromtimestamp(moment, self.zone)
        last = moment
        for found in CronSim(self._line, local if self._steady else local.replace(tzinfo=None)):
            at = found.timestamp() if self._steady else _moment(found, self.zone)
            if at > last:  # all times within a gap map to the same moment
                yield at
                last = at


def _moment(wall: datetime, zone: zoneinfo.ZoneInfo) -> float:
    """Returns the moment at which a local clock first shows `wall`. If the clock skips the time `wall`,
    returns the first moment after the skipped times. The result is in seconds since the epoch."""
    at = wall.replace(tzinfo=zone)
    while at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        wall += timedelta(minutes=1)
        at = wall.replace(tzinfo=zone)
    return at.timestamp()


def _checked(line: str) -> str:
    """Returns the five fields of a line in upper case, with macros such as `@daily` expanded. Raises
    ValueError."""
    text = " ".join(line.split())
    if text.startswith("@"):
        if text.lower() not in MACROS:
            raise ValueError(
                f"cron line {text[:_MAX_CHARS]!r}: the words that can replace the five fields are "
                f"{', '.join(MACROS)}"
            )
        return MACROS[text.lower()]
    fields = text.split()
    if len(fields) != len(FIELDS):
        raise ValueError(
            f"cron line {text[:_MAX_CHARS]!r} has {len(fields)} fields; write five: "
            f"{', '.join(FIELDS)}, as in '30 4 * * mon-fri'"
        )
    for number, field in enumerate(fields):
        if (why := _wrong(number, field)) is not None:
            raise ValueError(f"cron line {text[:_MAX_CHARS]!r}: {FIELDS[number]} {field[:50]!r} {why}")
    return text.upper()


def _wrong(number: int, field: str) -> str | None:
    """Returns the end of the error message for a faulty field, or None if the field is valid. The returned
    text names the fault, and the allowed values or a correction."""
    allowed = f"is not valid; allowed: {_ALLOWED[number]}; {_COMMON}"
    if len(field) > _MAX_CHARS or not field.isascii():
        return allowed
    for step in re.findall(r"/([^,]*)", field):
        if not step.isdigit() or not 1 <= int(step[:9]) <= _MAX_STEPS[number]:
            return f"has the step {step!r}; a step is 1 to {_MAX_STEPS[number]}"
    words = _MONTHS if number == 3 else _DAYS if number == 4 else ""
    if (
        unknown := next((w for w in re.findall(r"[a-z]{3,}", field.lower()) if w not in words.split()), None)
    ) is not None:
        near = difflib.get_close_matches(unknown[:3], words.split(), 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"contains {unknown!r}{hint}; allowed: {_ALLOWED[number]}; {_COMMON}"
    ends = re.findall(r"(\d+|[a-z]{3})-(\d+|[a-z]{3})", field.lower())
    place = {word: at for at, word in enumerate(words.split(), number == 3)}
    ends = [(first, "7" if last == "sun" != first else last) for first, last in ends]
    if (
        back := next((r for r in ends if int(place.get(r[0], r[0])) > int(place.get(r[1], r[1]))), None)
    ) is not None:
        return (
            f"contains the range {'-'.join(back)}, which runs backwards: write it as two "
            "ranges, joined by a comma"
        )
    others = list(_ANY)
    others[number] = _SUNDAY_LAST.sub("-7", field.upper())
    try:
        CronSim(" ".join(others), _START)
    except CronSimError:
        return allowed
    return None


def _zone(name: str) -> zoneinfo.ZoneInfo:
    """Returns a time zone by its IANA name. Raises ValueError if there is no such time zone. The message
    names the most similar time zone."""
    if name not in _zones():
        known = {one.lower(): one for one in _zones()}
        ends = {one.rpartition("/")[2]: one for one in known}
        short = name.lower().replace(" ", "_")
        near = (
            [short]
            if short in known
            else [ends[short]]
            if short in ends
            else difflib.get_close_matches(short, known, 1)
        )
        hint = f" (did you mean {known[near[0]]}?)" if near else ""
        raise ValueError(
            f"time zone {name[:80]!r} is unknown{hint}; write a name such as Europe/Berlin, "
            "America/New_York or UTC"
        )
    return zoneinfo.ZoneInfo(name)


@functools.cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
