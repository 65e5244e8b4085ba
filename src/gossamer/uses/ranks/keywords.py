"""Reads lists of keywords from CSV, JSON Lines, Excel and text files, and from SQL queries. An invalid line
is rejected with its line number and a reason. The reader then continues with the next line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gossamer.client.source_rows import SourceRow, read_rows
from gossamer.errors import UsageError
from gossamer.uses.prices.targets import RejectedLine
from gossamer.uses.ranks.domains import plain_domain
from gossamer.uses.ranks.model import DEVICES, ENGINES, Keyword, Search
from gossamer.uses.ranks.rules import parse_condition
from gossamer.uses.rule_files import BadRule

COLUMNS = (
    *("keyword", "domain", "competitors", "engine", "country", "language", "location", "device", "volume"),
    *("tags", "rules"),
)
OTHER_NAMES = {
    "query": "keyword",
    "q": "keyword",
    "search_term": "keyword",
    "phrase": "keyword",
    "site": "domain",
    "url": "domain",
    "website": "domain",
    "competitor": "competitors",
    "engines": "engine",
    "gl": "country",
    "hl": "language",
    "lang": "language",
    "city": "location",
    "devices": "device",
    "search_volume": "volume",
    "tag": "tags",
    "rule": "rules",
}
"""Alternative column names, which other tools use in their lists."""
MAX_CHARS = 2048
"""Maximum length of a keyword in characters. The limit is approximately the maximum length of a URL for
Google. Real queries are shorter, because Google ignores all words of a query after the first 32 words."""


class RankKeywords(msgspec.Struct, frozen=True):
    """The keywords from all sources, in the order of the sources."""

    keywords: list[Keyword]
    rejected: list[RejectedLine]
    notes: list[str]
    """Messages for the user. Each message to the user is one line."""

    @property
    def searches(self) -> dict[str, Search]:
        """The searches of the keywords, keyed by search id. Keywords with different domains can share a
        search."""
        return {one.search.id: one.search for one in self.keywords}


def read_keywords(sources: Iterable[str], defaults: Mapping[str, str] | None = None) -> RankKeywords:
    """Reads keywords from lists. `defaults`: maps names of columns, for example `domain`, to values for lines
    in which the column is empty or missing. Raises UsageError if a source cannot be read."""
    found: dict[tuple[str, str], Keyword] = {}
    rejected: list[RejectedLine] = []
    repeated = 0
    for source in sources:
        for row in _rows(source):
            read = row.reason if row.columns is None else _keywords(row.columns, defaults or {})
            if isinstance(read, str):
                text = row.text if row.columns is None else json.dumps(dict(row.columns), default=str)[:500]
                rejected.append(RejectedLine(source, row.line, read, text))
                continue
            for one in read:
                repeated += (one.search.id, one.domain) in found
                found.setdefault((one.search.id, one.domain), one)
    notes = [f"{repeated} lines repeat a keyword of the list: each is searched once"] if repeated else []
    return RankKeywords(list(found.values()), rejected, notes)


def _rows(source: str) -> Iterator[SourceRow]:
    if not source.startswith("sql:") and not Path(source).is_file():
        raise UsageError(
            f"{source}: there is no such file; a list of keywords is a CSV, JSON lines, Excel or text file, or "
            "'sql:sqlite:FILE SELECT keyword, domain FROM ...'"
        )
    return read_rows(source, partial(_has_keyword, source), text_column="keyword")


def _has_keyword(source: str, names: Sequence[str]) -> None:
    """Raises UsageError if a source has no column for keywords."""
    if not any(_column(name) == "keyword" for name in names):
        shown = ", ".join(names)[:200] or "none"
        raise UsageError(f"{source} has no column keyword; its columns are {shown}")


def _column(name: str) -> str:
    plain = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return OTHER_NAMES.get(plain, plain)


def _keywords(columns: Mapping[str, Any], defaults: Mapping[str, str]) -> list[Keyword] | str:
    """Converts a line to keywords, with one keyword per engine and device. Returns the reason as text if the
    line is invalid."""
    found: dict[str, Any] = {name: value for name, value in defaults.items() if value}
    for name, value in columns.items():
        if (column := _column(str(name))) in COLUMNS and value not in (None, "", []):
            found[column] = value
    words = _text(found.get("keyword", ""))
    if not words or len(words) > MAX_CHARS:
        return "the keyword is empty" if not words else f"the keyword is longer than {MAX_CHARS} characters"
    domain = plain_domain(_text(found.get("domain", "")))
    if domain is None:
        given = _text(found.get("domain", ""))
        return (
            f"{given[:200]!r} is not a domain"
            if given
            else "the domain is empty: fill the column, or --domain"
        )
    rivals = [plain_domain(one) for one in _several(found.get("competitors"))]
    if None in rivals:
        return f"{_several(found.get('competitors'))[rivals.index(None)][:200]!r} is not a domain"
    engines = tuple(one.lower() for one in _several(found.get("engine", "google")))
    devices = tuple(one.lower() for one in _several(found.get("device", "desktop")))
    for named, known, what in ((engines, ENGINES, "engine"), (devices, DEVICES, "device")):
        if wrong := [one for one in named if one not in known]:
            return f"the {what} {wrong[0][:40]!r} is unknown: write {' or '.join(known)}"
    country, language = (_text(found.get(name, "")).lower() for name in ("country", "language"))
    if country and not re.fullmatch(r"[a-z]{2}", country):
        return f"the country {country[:40]!r} is not two letters, such as us"
    if language and not re.fullmatch(r"[a-z]{2,3}(?:-[a-z]{2,4})?", language):
        return f"the language {language[:40]!r} is not a code such as en or pt-br"
    try:
        volume = None if "volume" not in found else round(float(str(found["volume"]).replace(",", "")))
        rules = tuple(filter(None, re.split(r"\s*;\s*", _text(found.get("rules", "")))))
        for rule in rules:
            parse_condition(rule)
    except BadRule as error:
        return f"the rule {error}"
    except (ValueError, OverflowError):
        return f"the volume {str(found['volume'])[:40]!r} is not a number"
    return [
        Keyword(
            search=Search(
                keyword=words,
                engine=engine,
                country=country,
                language=language,
                location=_text(found.get("location", "")),
                device=device,
            ),
            domain=domain,
            competitors=tuple(one for one in dict.fromkeys(rivals) if one and one != domain),
            volume=volume,
            tags=_several(found.get("tags")),
            rules=rules,
        )
        for engine in dict.fromkeys(engines)
        for device in dict.fromkeys(devices)
    ]


def _text(value: Any) -> str:
    """Converts the value of a cell to text. Writes whole numbers without decimals, because spreadsheets store
    all numbers as floats."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def _several(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else re.split(r"[,;|\s]+", str(value or ""))
    return tuple(one for part in parts if (one := _text(part)))
