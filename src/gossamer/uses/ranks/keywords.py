"""Reads lists of keywords: CSV, JSON lines, Excel and text. A line that is not a keyword is rejected with its
line number and the reason, and reading continues."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gossamer.client.extras import install_command
from gossamer.errors import ConfigError, UsageError
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
"""Maximum length of a keyword in characters. Google cuts a query after 32 words, and its URLs at about this
length."""
Place = tuple[int, Mapping[str, Any] | str]
"""A line number with the columns of the line, or with the reason why it cannot be read."""


class RankKeywords(msgspec.Struct, frozen=True):
    """The keywords of all sources, in order."""

    keywords: list[Keyword]
    rejected: list[RejectedLine]
    notes: list[str]
    """Remarks for the user, one line each."""

    @property
    def searches(self) -> dict[str, Search]:
        """The searches by their ids. Keywords with different domains share a search."""
        return {one.search.id: one.search for one in self.keywords}


def read_keywords(sources: Iterable[str], defaults: Mapping[str, str] | None = None) -> RankKeywords:
    """Reads lists. `defaults`: values of columns that a line leaves empty, for example `domain`. Raises
    UsageError if a source cannot be read."""
    found: dict[tuple[str, str], Keyword] = {}
    rejected: list[RejectedLine] = []
    repeated = 0
    for source in sources:
        for line, columns in _lines(source):
            read = columns if isinstance(columns, str) else _keywords(columns, defaults or {})
            if isinstance(read, str):
                text = "" if isinstance(columns, str) else json.dumps(dict(columns), default=str)[:500]
                rejected.append(RejectedLine(source, line, read, text))
                continue
            for one in read:
                repeated += (one.search.id, one.domain) in found
                found.setdefault((one.search.id, one.domain), one)
    notes = [f"{repeated} lines repeat a keyword of the list: each is searched once"] if repeated else []
    return RankKeywords(list(found.values()), rejected, notes)


def _lines(source: str) -> Iterator[Place]:
    path = Path(source)
    if not path.is_file():
        raise UsageError(
            f"{source}: there is no such file; a list of keywords is a CSV, JSON lines, Excel or text file"
        )
    ending = path.suffix.lower()
    if ending == ".xlsx":
        return _of_excel(path)
    if ending in (".jsonl", ".ndjson", ".json"):
        return _of_json(path)
    return _of_csv(path) if ending in (".csv", ".tsv") else _of_text(path)


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return path.read_bytes().decode("cp1252", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _of_csv(path: Path) -> Iterator[Place]:
    text = _text_of(path)
    head = text.partition("\n")[0]
    mark = max("\t;,", key=head.count) if path.suffix.lower() == ".csv" else "\t"
    lines = csv.reader(text.splitlines(keepends=True), delimiter=mark)
    names = next(lines, [])
    if not any(_column(name) == "keyword" for name in names):
        if len(names) == 1:  # keywords without a header
            yield from _of_text(path)
            return
        raise UsageError(f"{path} has no column keyword; its columns are {', '.join(names)[:200] or 'none'}")
    while True:
        number = lines.line_num + 1
        try:
            values = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, str(error)
            continue
        if len(values) > len(names):
            reason = (
                f"it has {len(values)} columns, and the head has {len(names)}: quote a keyword with a comma"
            )
            yield number, reason
        elif any(value.strip() for value in values):
            yield number, dict(zip(names, values, strict=False))


def _of_json(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            yield number, f"it is not JSON: {error}"
            continue
        yield number, found if isinstance(found, dict) else "it is not a JSON object"


def _of_text(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, {"keyword": line.strip()}


def _of_excel(path: Path) -> Iterator[Place]:
    try:
        import openpyxl
    except ImportError:
        raise ConfigError(f"an Excel list needs another package: {install_command('excel')}") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise UsageError(f"{path} is not an Excel file (.xlsx): {error}") from error
    rows = book.worksheets[0].iter_rows(values_only=True)
    names = ["" if one is None else str(one) for one in next(rows, ())]
    if not any(_column(name) == "keyword" for name in names):
        raise UsageError(f"{path} has no column keyword in its first row")
    for number, values in enumerate(rows, 2):
        if any(value is not None for value in values):
            yield number, dict(zip(names, values, strict=False))
    book.close()


def _column(name: str) -> str:
    plain = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return OTHER_NAMES.get(plain, plain)


def _keywords(columns: Mapping[str, Any], defaults: Mapping[str, str]) -> list[Keyword] | str:
    """Returns the keywords of a line, one for each engine and device, or the reason why the line is
    invalid."""
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
    """Returns a cell as text. Whole numbers are written without decimals, because spreadsheets store them as
    floats."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def _several(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else re.split(r"[,;|\s]+", str(value or ""))
    return tuple(one for part in parts if (one := _text(part)))
