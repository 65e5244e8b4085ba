"""Formats values for people: numbers, times, sizes, links and commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from gossamer.operations.operation import Operation

MAX_CELL_CHARS = 200
MAX_COLUMNS = 14
UNITS = ("B", "kB", "MB", "GB", "TB")


def number(value: float | None) -> str:
    """Formats a number with separators.

    >>> number(1234567), number(0.25), number(None)
    ('1,234,567', '0.25', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")


def size(value: float | None) -> str:
    """Formats a number of bytes.

    >>> size(1500), size(12)
    ('1.5 kB', '12 B')
    """
    if value is None:
        return "–"
    unit = 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {UNITS[unit]}"


def duration(seconds: float | None) -> str:
    """Formats a number of seconds.

    >>> duration(0.5), duration(75), duration(90000)
    ('0.5 s', '1 min 15 s', '1 d 1 h')
    """
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole, parts = int(seconds), list[str]()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if whole >= length:
            parts.append(f"{whole // length} {unit}")
            whole %= length
    return " ".join(parts[:2])


def moment(value: float | str | None) -> str:
    """Formats a time, in seconds since the epoch or as text, in UTC.

    >>> moment(0.0), moment("2026-01-31T12:00:00.123Z")
    ('1970-01-01 00:00:00', '2026-01-31 12:00:00')
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, str):
        return value[:19].replace("T", " ")
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")


def web_link(value: Any) -> str:
    """Returns a URL that a link may lead to, or ''. A link never leads to another scheme than http(s).

    >>> web_link("https://example.com/"), web_link("javascript:alert(1)")
    ('https://example.com/', '')
    """
    text = value if isinstance(value, str) else ""
    return text if text.lower().startswith(("http://", "https://")) else ""


def text_of(value: Any) -> str:
    """Returns a value as one text."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def pretty(value: Any) -> str:
    """Returns a value as JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def report_body(document: str) -> str:
    """Returns the content of a report, without the head of its document and its first heading.

    >>> report_body("<html><style>a{}</style><main><h1>A</h1><p>B</p></main></html>")
    '<p>B</p>'
    """
    return document.partition("</h1>")[2].rpartition("</main>")[0]


def columns(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the columns of a table: the fields that any row fills, in the order of their first appearance.

    >>> columns([{"url": "a", "error": None}, {"url": "b", "status": 200}])
    ['url', 'status']
    """
    found: dict[str, None] = {}
    for row in rows:
        found.update(dict.fromkeys(name for name, value in row.items() if value not in (None, "", [], {})))
    return list(found)[:MAX_COLUMNS]


def command_line(operation: Operation, path: Mapping[str, str], given: Mapping[str, Any]) -> str:
    """Returns the command that does the same, or ''.

    >>> from gossamer.operations.table import BY_NAME
    >>> command_line(BY_NAME["dead_list"], {"crawl": "books"}, {"reason": "timeout", "dry_run": True})
    'gossamer dead list books --reason timeout --dry-run'
    >>> command_line(BY_NAME["explain"], {}, {"url": "https://example.com/"})
    'gossamer explain https://example.com/'
    """
    if not operation.command:
        return ""
    words = ["gossamer", *operation.command.split(), *path.values()]
    required = {field.name for field in msgspec.structs.fields(operation.input) if field.required}
    for name, value in given.items():
        if name in required:
            words += map(str, value) if isinstance(value, list) else [str(value)]
            continue
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return shlex.join(words)


def api_call(operation: Operation, address: str, given: Mapping[str, Any]) -> str:
    """Returns the request of the API that does the same.

    >>> from gossamer.operations.table import BY_NAME
    >>> api_call(BY_NAME["dead_list"], "/crawls/books/dead-letters", {"reason": "timeout"})
    'GET /v1/crawls/books/dead-letters?reason=timeout'
    """
    line = f"{operation.method} /v1{address}"
    if not given:
        return line
    return (
        f"{line}?{urlencode(given, doseq=True)}"
        if operation.method == "GET"
        else f"{line} {json.dumps(given)}"
    )
