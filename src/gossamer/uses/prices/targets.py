"""Reads lists of targets: CSV, JSON lines, Excel, plain URLs, sitemaps and SQL queries.

A line that is not a target is rejected with its number and the reason, and reading continues.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import gossamer
from gossamer.client.extras import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.parsing.sitemaps import entries
from gossamer.uses.prices.model import PriceTarget

MAX_SITEMAPS = 1000
"""The most sitemaps that an index may lead to."""
FIELDS = PriceTarget.__struct_fields__
OTHER_NAMES = {
    "id": "key",
    "link": "url",
    "product_url": "url",
    "address": "url",
    "product_id": "product",
    "title": "name",
    "tag": "tags",
    "map": "minimum",
    "minimum_price": "minimum",
    "rule": "rules",
    "merchant": "shop",
}
"""Other names of columns, for lists from other tools."""
Place = tuple[int, Mapping[str, Any] | str]
"""A line number with the columns of the line, or with the reason why it cannot be read."""


class RejectedLine(msgspec.Struct, frozen=True):
    """A line that is not a target."""

    source: str
    line: int
    reason: str
    text: str


class TargetList(msgspec.Struct, frozen=True):
    """The targets of all sources, in their order."""

    targets: list[PriceTarget]
    rejected: list[RejectedLine]
    notes: list[str]
    """Remarks for the user, one line each: for example, two targets with one page."""


def read_targets(sources: Iterable[str], options: Mapping[str, Any] | None = None) -> TargetList:
    """Reads sources: paths, `sitemap:URL`, `sql:DATABASE QUERY`, and URLs. `options`: the options of
    `gossamer.fetch` for sitemaps. Raises UsageError for a source that cannot be read at all."""
    targets: dict[str, PriceTarget] = {}
    rejected: list[RejectedLine] = []
    repeated: list[str] = []
    for source in sources:
        for line, found in _lines(source, options or {}):
            target = found if isinstance(found, str) else _target(found)
            if isinstance(target, str):
                text = "" if isinstance(found, str) else json.dumps(dict(found), default=str)[:500]
                rejected.append(RejectedLine(source, line, target, text))
                continue
            known = targets.get(target.key)
            if known is None:
                targets[target.key] = target
            elif known == target:
                repeated.append(target.key)
            else:
                reason = f"the key {target.key!r} belongs to another line of the list: keys are unique"
                rejected.append(RejectedLine(source, line, reason, target.url))
    notes = [f"{len(repeated)} lines are repeated, for example {repeated[0]}"] if repeated else []
    return TargetList(list(targets.values()), rejected, notes + shared_pages(targets.values()))


def shared_pages(targets: Iterable[PriceTarget]) -> list[str]:
    """Returns a note if several targets have the same page and variant."""
    pages: dict[tuple[str, str], list[str]] = defaultdict(list)
    for target in targets:
        pages[gossamer.url.canonical(target.url) or target.url, target.variant].append(target.key)
    several = [keys for keys in pages.values() if len(keys) > 1]
    if not several:
        return []
    example = " and ".join(several[0][:3])
    note = f"{len(several)} product pages have two or more targets, for example {example}"
    return [f"{note}: each page is requested once for all of them"]


def write_rejected(path: Path, rejected: Iterable[RejectedLine]) -> None:
    """Writes the rejected lines as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rejected))


def write_targets(path: Path, targets: Iterable[PriceTarget]) -> None:
    """Writes targets as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(FIELDS)
        for target in targets:
            values = {**msgspec.structs.asdict(target), "tags": " ".join(target.tags)}
            values["rules"] = "; ".join(target.rules)
            lines.writerow(["" if values[name] is None else values[name] for name in FIELDS])


def _lines(source: str, options: Mapping[str, Any]) -> Iterator[Place]:
    if source.startswith("sitemap:"):
        return _of_sitemap(source.partition(":")[2], options)
    if source.startswith("sql:"):
        return _of_query(source[4:])
    if source.startswith(("http://", "https://")):
        return iter([(1, {"url": source})])
    path = Path(source)
    if not path.is_file():
        raise UsageError(
            f"{source}: there is no such file; a list of targets is a CSV, JSON lines, Excel or text file, "
            "sitemap:URL, or 'sql:sqlite:FILE SELECT ...'"
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
    if not any(_column(name) == "url" for name in names):
        if len(names) == 1 and "://" in names[0]:  # a list of URLs without a head
            yield from _of_text(path)
            return
        raise UsageError(f"{path} has no column url; its columns are {', '.join(names)[:200] or 'none'}")
    while True:
        number = lines.line_num + 1
        try:
            values = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, str(error)
            continue
        if not any(value.strip() for value in values):
            continue
        if len(values) > len(names):
            yield number, f"it has {len(values)} columns, and the head has {len(names)}"
        else:
            yield number, dict(zip(names, values, strict=False))


def _of_json(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, parse_float=Decimal)
        except ValueError as error:
            yield number, f"it is not JSON: {error}"
            continue
        yield number, found if isinstance(found, dict) else "it is not a JSON object"


def _of_text(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, {"url": line.strip()}


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
    if not any(_column(name) == "url" for name in names):
        raise UsageError(f"{path} has no column url in its first row")
    for number, values in enumerate(rows, 2):
        if any(value is not None for value in values):
            yield number, dict(zip(names, values, strict=False))
    book.close()


def _of_query(text: str) -> Iterator[Place]:
    database, _, query = text.strip().partition(" ")
    if not query:
        raise UsageError(
            "write a query as 'sql:sqlite:FILE SELECT url ...' or 'sql:postgresql://... SELECT ...'"
        )
    if database.startswith("sqlite:"):
        path = Path(database.removeprefix("sqlite:"))
        if not path.is_file():
            raise UsageError(f"{path}: there is no such SQLite file")
        base: Any = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        failures: type[Exception] = sqlite3.Error
    elif database.startswith(("postgresql://", "postgres://")):
        try:
            import psycopg
        except ImportError:
            raise ConfigError(
                f"a query to PostgreSQL needs another package: {install_command('postgres')}"
            ) from None
        try:
            base, failures = psycopg.connect(database, connect_timeout=10), psycopg.Error
        except psycopg.Error as error:
            raise ConfigError(
                f"the database of the query cannot be reached: {' '.join(str(error).split())[:300]}"
            ) from None
        base.read_only = True
    else:
        raise UsageError("the database of a query is sqlite:FILE or postgresql://...")
    try:
        rows = base.execute(query)
        names = [column[0] for column in rows.description or ()]
        if not any(_column(name) == "url" for name in names):
            raise UsageError(f"the query returns no column url; its columns are {', '.join(names)}")
        for number, values in enumerate(rows, 1):
            yield number, dict(zip(names, values, strict=True))
    except failures as error:
        raise UsageError(f"the query cannot be run: {' '.join(str(error).split())[:300]}") from error
    finally:
        base.close()


def _of_sitemap(url: str, options: Mapping[str, Any]) -> Iterator[Place]:
    """Yields the pages of a sitemap, and of the sitemaps that an index contains."""
    waiting, seen, number = [url], {url}, 0
    while waiting:
        at = waiting.pop()
        page = gossamer.fetch(at, **options)
        if page.status != 200:
            raise UsageError(f"the sitemap {at} has the status {page.status}")
        pages, sitemaps = entries(page.body, at)
        for more in map(str, sitemaps):
            if more not in seen and len(seen) < MAX_SITEMAPS:
                seen.add(more)
                waiting.append(more)
        for entry in pages:
            number += 1
            yield number, {"url": str(entry)}


def _column(name: str) -> str:
    plain = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return OTHER_NAMES.get(plain, plain)


def _target(columns: Mapping[str, Any]) -> PriceTarget | str:
    """Returns the target of a line, or the reason why the line has none."""
    found: dict[str, Any] = {}
    for name, value in columns.items():
        column = _column(str(name))
        if column in FIELDS and value not in (None, ""):
            found.setdefault(column, value)
    url = gossamer.url.parse(str(found.get("url", "")).strip())
    if url is None or not url.startswith(("http://", "https://")):
        given = found.get("url")
        return f"{str(given)[:200]!r} is not an http(s) URL" if given else "the column url is empty"
    texts = {name: _text(found[name]) for name in ("shop", "product", "variant", "name") if name in found}
    currency = _text(found.get("currency", "")).upper()
    if currency and currency not in currencies():
        return f"the currency {currency!r} is unknown: write an ISO 4217 code such as EUR"
    try:
        minimum = _minimum(found.get("minimum"))
    except ValueError as error:
        return str(error)
    variant = texts.get("variant", "")
    return PriceTarget(
        key=_text(found.get("key", "")) or (f"{url} {variant}" if variant else url),
        url=url,
        shop=texts.get("shop") or shop_of(url),
        product=texts.get("product", ""),
        variant=variant,
        name=texts.get("name", ""),
        tags=_several(found.get("tags"), r"[,;|\s]+"),
        currency=currency,
        minimum=minimum,
        rules=_several(found.get("rules"), r"\s*;\s*"),
    )


def _text(value: Any) -> str:
    """Returns a cell as text. Spreadsheets hold whole numbers as floats."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def _several(value: Any, between: str) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else re.split(between, str(value or ""))
    return tuple(one for part in parts if (one := _text(part)))


def _minimum(value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        found = Decimal(str(value).strip().replace(",", "."))
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or found <= 0:
        raise ValueError(f"the minimum price {value!r} is not a positive number")
    return found


def shop_of(url: str) -> str:
    """Returns the shop of a URL if the list does not name one: the host without `www.`, with its port."""
    return str(gossamer.url.host(url)).removeprefix("www.")


@cache
def currencies() -> frozenset[str]:
    """Returns the ISO 4217 codes that are known."""
    from gossamer.parsing.currencies import spellings

    return frozenset(spellings().iso.values())


class HostPages(NamedTuple):
    """The product pages of one host."""

    host: str
    pages: int


def pages_of_hosts(targets: Iterable[PriceTarget]) -> list[HostPages]:
    """Returns the number of different pages a host, the largest first."""
    pages: dict[str, set[str]] = defaultdict(set)
    for target in targets:
        pages[str(gossamer.url.host(target.url))].add(gossamer.url.canonical(target.url) or target.url)
    return sorted((HostPages(host, len(found)) for host, found in pages.items()), key=lambda one: -one.pages)
