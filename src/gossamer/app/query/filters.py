"""Parses row filters of the form `FIELD OP VALUE`. Nothing in a filter is evaluated as code."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

from gossamer.config.value_parsers import seconds
from gossamer.errors import UsageError
from gossamer.sinks.columns import cell_value

Row = dict[str, Any]
Test = Callable[[Row], bool]
_WHERE = re.compile(r"\s*([\w.-]+)\s*(!=|<=|>=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_MARKS = ("=", "!", "<", ">", "~")
_TIMES = ("ts", "fetched_at", "_seen_at", "added_at", "_added_at")
_URLS = ("url", "_url")
_TIME = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)([T ]\d\d:\d\d(?::\d\d(?:[.]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)


def parse_where(text: str) -> Test:
    """Parses a comparison of a field with a value: `price<10`, `name~chair` (contains, ignoring case),
    `sku=null`, `sku="007"` (always compared as text). Numbers are compared with numbers, times with times,
    and booleans with booleans. All other values are compared as texts. A missing field is null, which is
    neither less nor greater than any value. Raises UsageError.

    >>> parse_where("price<10")({"price": 9.5}), parse_where("price < 10")({"price": None}), parse_where("name~CHAIR")({"name": "Armchair"})
    (True, False, True)
    """
    field, mark, wanted, given = _parts(text)
    null, meant = wanted == "null" and not given, {} if given else _meant(wanted)

    def test(row: Row) -> bool:
        value = row.get(field)
        if null and mark in ("=", "!="):
            return (value is None) is (mark == "=")
        if value is None:
            return mark == "!="
        if mark == "~":
            return wanted.lower() in _text(value).lower()
        for kind, other in meant.items():
            vague = mark in ("=", "!=") and kind == "times" and len(wanted) <= len("2026-01-31")
            if not vague and (mine := _KINDS[kind](value)) is not None:
                return _compare(mark, (mine > other) - (mine < other))
        if mark[0] in "<>" and not given and isinstance(value, int | float | Decimal):
            return False  # a number is neither less nor greater than a text
        text = _text(value)
        return _compare(mark, (text > wanted) - (text < wanted))

    return test


def why_senseless(text: str, rows: Iterable[Row]) -> str:
    """Returns the reason why a comparison can never match, for example a numeric field that is compared with
    a text. Returns "" if the comparison may match a row. A text that looks like a number may still match,
    because `=` and `!=` also compare texts. Reads the rows only up to the first row with a value that can be
    compared."""
    field, mark, wanted, given = _parts(text)
    if given or mark == "~" or wanted in ("", "null"):
        return ""
    meant, found = _meant(wanted), ""
    for value in (row.get(field) for row in rows):
        if value is None:
            continue
        kind = next((kind for kind, read in _KINDS.items() if read(value) is not None), "")
        if (
            not kind
            or (isinstance(value, str) and mark in ("=", "!="))
            or any(_KINDS[one](value) is not None for one in meant)
        ):
            return ""
        found = found or kind
    return (
        (
            f"{field} contains {found}, and {wanted} is not one of them; put it in double quotes to "
            "compare it as text"
        )
        if found
        else ""
    )


def field_of(text: str) -> str:
    """Returns the field name of a comparison. Raises UsageError."""
    return _parts(text)[0]


def _parts(text: str) -> tuple[str, str, str, bool]:
    """Splits a comparison into its field, its operator, its value, and whether the value was quoted."""
    found = _WHERE.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--where {text!r}: write it as FIELD=VALUE; the operators are = != < <= > >= and ~ (contains)"
        )
    field, mark, wanted = found[1], found[2], found[3]
    given = len(wanted) > 1 and wanted[0] == wanted[-1] == '"'
    if not given and mark != "~" and wanted[:1] in _MARKS:
        raise UsageError(
            f"--where {text!r}: there is no operator {mark}{wanted[0]}, only = != < <= > >= and "
            "~; put a value like this in double quotes"
        )
    if not given and ((wanted in ("", "null") and mark[0] in "<>") or (not wanted and mark == "~")):
        raise UsageError(f"--where {text!r}: {mark} needs a value after it")
    return field, mark, wanted[1:-1] if given else wanted, given


def all_of(
    *,
    host: str | None = None,
    status: str | None = None,
    outcome: str | None = None,
    since: str | None = None,
    reason: str | None = None,
    wheres: Sequence[str] = (),
) -> Test:
    """Returns all filters combined. `reason`: why a URL was skipped. `status`: a number, or `4xx`. `since`: an age (`2h`) or a time. Raises
    UsageError."""
    tests = [parse_where(text) for text in wheres]
    if host is not None:
        tests.append(lambda row: _host(row) == host.lower())
    if outcome is not None:
        tests.append(lambda row: row.get("outcome") == outcome)
    if reason is not None:
        tests.append(lambda row: row.get("reason") == reason)
    if status is not None:
        if not re.fullmatch(r"[1-5](\d\d|xx)", status):
            raise UsageError(f"--status {status}: a number such as 404, or 4xx")
        tests.append(lambda row: str(row.get("status")).startswith(status.rstrip("x")))
    if since is not None:
        first = _since(since)
        tests.append(lambda row: next((str(row[name]) for name in _TIMES if row.get(name)), "") >= first)
    return lambda row: all(test(row) for test in tests)


def _compare(mark: str, sign: int) -> bool:
    return {"=": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[
        mark
    ]


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _flag(value: Any) -> int | None:
    """Converts a boolean to 1 or 0. Some tables store booleans as 1 and 0."""
    return next((n for n, words in enumerate(((0, "0", "false"), (1, "1", "true"))) if value in words), None)


def _moment(value: Any) -> datetime | None:
    """Parses a time. A time without a zone is UTC. A date without a time means the start of the day, and a
    month means the start of the month."""
    text = value.isoformat() if isinstance(value, date) else value
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(f"{found[1]}-{found[2] or '01'}-{found[3] or '01'}{found[4] or ''}")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


_KINDS: dict[str, Callable[[Any], Any]] = {"numbers": _number, "true or false": _flag, "times": _moment}


def _meant(wanted: str) -> dict[str, Any]:
    """Tries to parse a filter's text as a number, as a boolean and as a time. The result maps the name of
    each type for which parsing succeeds to the parsed value."""
    found = {kind: read(wanted) for kind, read in _KINDS.items()}
    return {kind: value for kind, value in found.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(cell_value(value))


def _host(row: Row) -> str:
    if "host" in row:
        return str(row["host"])
    url = next((str(row[name]) for name in _URLS if row.get(name)), "")
    return urlsplit(url).netloc.rpartition("@")[2]


def _since(text: str) -> str:
    """Converts the value of `--since` to the format of stored times."""
    try:
        at = time.time() - seconds(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise UsageError(
                f"--since {text}: an age such as 2h, or a moment such as 2026-01-31T12:00:00Z"
            ) from None
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
