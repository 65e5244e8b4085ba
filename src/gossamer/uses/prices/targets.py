"""Reads lists of price targets from CSV, JSON Lines, Excel, plain URLs, sitemaps and SQL queries.

An invalid line is rejected with its line number and a reason, and reading continues with the next line.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import gossamer
from gossamer.client.source_rows import read_rows
from gossamer.errors import UsageError
from gossamer.uses.prices.model import PriceTarget

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
"""Alternative column names, which other tools use in their lists."""


class RejectedLine(msgspec.Struct, frozen=True):
    """A rejected input: a line of a target list or keyword list, or a saved result page."""

    source: str
    line: int
    reason: str
    text: str


class TargetList(msgspec.Struct, frozen=True):
    """The targets from all sources, in the order of the sources."""

    targets: list[PriceTarget]
    rejected: list[RejectedLine]
    notes: list[str]
    """One-line messages for the user, for example a message that two targets share a product page."""


def read_targets(sources: Iterable[str]) -> TargetList:
    """Reads price targets from sources. A source is a path, `sitemap:URL`, `sql:DATABASE QUERY` or a URL (see
    `gossamer.client.source_rows`). Raises GossamerError if a source cannot be read."""
    targets: dict[str, PriceTarget] = {}
    rejected: list[RejectedLine] = []
    repeated: list[str] = []
    for source in sources:
        for row in read_rows(source, partial(_has_url, source)):
            line, target = row.line, row.reason if row.columns is None else _target(row.columns)
            if isinstance(target, str):
                text = row.text if row.columns is None else json.dumps(dict(row.columns), default=str)[:500]
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
    """Returns a message for the user if several targets have the same page and variant."""
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
    """Writes rejected lines to a JSON Lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rejected))


def write_targets(path: Path, targets: Iterable[PriceTarget]) -> None:
    """Writes price targets to a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(FIELDS)
        for target in targets:
            values = {**msgspec.structs.asdict(target), "tags": " ".join(target.tags)}
            values["rules"] = "; ".join(target.rules)
            lines.writerow(["" if values[name] is None else values[name] for name in FIELDS])


def _has_url(source: str, names: Sequence[str]) -> None:
    """Raises UsageError if a source has no column for URLs."""
    if not any(_column(name) == "url" for name in names):
        shown = ", ".join(names)[:200] or "none"
        raise UsageError(f"{source[:200]} has no column url; its columns are {shown}")


@lru_cache(maxsize=1000)
def _column(name: str) -> str:
    plain = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return OTHER_NAMES.get(plain, plain)


def _target(columns: Mapping[str, Any]) -> PriceTarget | str:
    """Converts the columns of a line to a price target. Returns the reason as text if the line is invalid."""
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
    """Converts the value of a cell to text. Writes whole numbers without decimals, because spreadsheets store
    all numbers as floats."""
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
    """Returns the default shop name of a URL, for a target without a shop in the list. The default shop name
    is the host of the URL, with the port and without `www.`."""
    return str(gossamer.url.host(url)).removeprefix("www.")


@cache
def currencies() -> frozenset[str]:
    """Returns the supported ISO 4217 currency codes."""
    from gossamer.parsing.currencies import spellings

    return frozenset(spellings().iso.values())


class HostPages(NamedTuple):
    """A host, and the number of product pages on the host."""

    host: str
    pages: int


def pages_of_hosts(targets: Iterable[PriceTarget]) -> list[HostPages]:
    """Returns the number of distinct product pages per host, in descending order."""
    pages: dict[str, set[str]] = defaultdict(set)
    for target in targets:
        pages[str(gossamer.url.host(target.url))].add(gossamer.url.canonical(target.url) or target.url)
    return sorted((HostPages(host, len(found)) for host, found in pages.items()), key=lambda one: -one.pages)
