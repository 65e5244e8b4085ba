"""Decides about items, and values of items, that earlier runs found and the current run did not find. The
functions are pure. docs/absence.md describes the rules.

A run with errors or unexpected pages marks nothing as gone. An item counts as gone only if the pages that
would contain the item were as expected. A value of an item counts as lost only if the pages were as expected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gossamer.model.item import has_value
from gossamer.model.quality import MIN_ITEMS, GoodRun, Quality
from gossamer.model.summary import Summary
from gossamer.model.visit import Row

MAX_GONE_SHARE = 0.2
"""Maximum share of a site's stored items that one run marks as gone."""
USUAL_COVERAGE = 0.9
"""A field is usual if the median of its coverage in the last good runs is at least USUAL_COVERAGE. If an item
lacks a value in a usual field, `judge` decides whether the item is stored."""
COVERAGE_FALL = 0.2
"""The maximum decrease in the coverage of a usual field. If the coverage decreases by more than
COVERAGE_FALL, items that lack a value in the field are rejected, because the pages have probably caused the
missing values."""

Usual = Mapping[tuple[str, str], Mapping[str, float]]
"""Maps each pair of a site and a kind to the usual fields and their median coverage in the last good runs."""


class CompleteSite(NamedTuple):
    """A site with `complete=True` whose run has ended. `doubt`: the reason why the run must not mark unseen
    items as gone, or '' if the run may mark them."""

    site: str
    run: str
    at: str
    share: float
    doubt: str


class Verdict(NamedTuple):
    """The decision about rows that a run held back because they lack usual values. The rows in `apply` are
    stored. The rows in `rejected` are added to the rejected items, each with its reason."""

    apply: list[Row]
    rejected: list[tuple[Row, str]]


def usual_fields(
    runs: Mapping[str, Sequence[GoodRun]], keys: Mapping[str, str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Maps each pair of a site and a kind to the usual fields of the site's items of this kind. Key fields
    (`keys`) are left out.

    >>> usual_fields({"shop": [GoodRun("c", "", 30, 1.0, 1.0, {"book.upc": 1.0, "book.price": 0.95, "book.note": 0.1})]}, {"book": "upc"})
    {('shop', 'book'): {'price': 0.95}}
    """
    if not runs:
        return {}
    from statistics import median

    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for site, some in runs.items():
        some = [run for run in some if run.items >= MIN_ITEMS]
        for name in {name for run in some for name in run.coverage}:
            kind, _, field = name.partition(".")
            share = median(run.coverage.get(name, 0.0) for run in some)
            if share >= USUAL_COVERAGE and keys.get(kind) != field:
                found[site, kind][field] = round(share, 4)
    return {name: dict(sorted(fields.items())) for name, fields in found.items()}


def missing_fields(fields: Mapping[str, Any], expected: Iterable[str]) -> tuple[str, ...]:
    """Returns the expected fields for which an item has no value."""
    return tuple(name for name in expected if not has_value(fields.get(name)))


def not_an_item(lacks: Sequence[str], expected: Mapping[str, float]) -> str:
    """Returns the reason why a value does not count as an item, or '' if the value is an item. A value does
    not count as an item if its kind has at least two usual fields and the value lacks all of these fields."""
    if len(expected) < 2 or len(lacks) < len(expected):
        return ""
    return f"not-an-item: it has none of {', '.join(lacks)}, which the items of the last good runs have"


def why_incomplete(
    one: Quality | None, of: Summary, shut: int, unmet: Sequence[str], runs: Sequence[GoodRun]
) -> str:
    """Returns the reason why a finished run did not see all items of a site, or '' if the run saw all items.
    `one`: the site's quality in this run. `shut`: the number of pages of the crawl that answered 4xx, except
    404 and 410. `unmet`: failed gates of the crawl and of the site. `runs`: the site's last good runs, newest
    first."""
    if one is None or not one.items:
        return "the run found no items"
    if unmet:
        return f"the gate is not met: {'; '.join(unmet)}"
    for count, what in (
        (of.pending, "URLs wait"),
        (of.dead + of.failed, "URLs failed"),
        (sum(n for name, n in of.errors.items() if name != "http-4xx"), "pages ended in errors"),
        (shut, "pages were refused (http-4xx other than 404 and 410)"),
        (one.unread, "pages could not be read"),
        (one.rejected, "items were rejected"),
        (one.held, "items lost usual values, and were not stored"),
    ):
        if count:
            return f"{count} {what}"
    empty = max((run.empty for run in runs), default=0)
    if one.empty > empty:
        return f"{one.empty} pages gave neither items nor links ({empty} in the last good runs)"
    return ""


def too_many(unseen: int, stored: int, share: float) -> bool:
    """Returns whether more items are missing than one run may mark as gone. The limit is a share of the
    stored items, but at least one item. If all stored items are missing, always returns True.

    >>> too_many(1, 3, 0.2), too_many(2, 10, 0.2), too_many(3, 10, 0.2), too_many(63, 63, 0.2)
    (False, False, True, True)
    """
    return unseen > max(1, int(share * stored + 1e-9)) or (unseen > 0 and unseen == stored)


def judge(rows: Sequence[Row], sites: Mapping[str, Quality], expected: Usual) -> Verdict:
    """After a run has finished, decides which of the items that lack usual values are stored. An item is
    rejected if it lacks a value in a field whose coverage fell by more than COVERAGE_FALL. Two items of the
    same site and kind are also rejected if they lack values in the same usual fields, and have equal values
    in all other usual fields. The pages have probably caused the missing values of rejected items. All other
    items have really lost a value, and are stored."""
    last = {(row.kind, row.key): row for row in rows}  # after a kill, `rows` may contain a row twice
    alike: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in last.values():
        alike[_left(row, expected)] += 1
    verdict = Verdict([], [])
    for row in last.values():
        data: Mapping[str, Any] = row.data  # type: ignore[assignment] # an item's row is a dict
        site, usual_here = data["_site"], expected.get((data["_site"], row.kind), {})
        reason = ""
        for field in row.lacks:
            now = sites[site].coverage.get(f"{row.kind}.{field}", 0.0) if site in sites else 0.0
            if now < usual_here.get(field, 0.0) - COVERAGE_FALL:
                reason = f"{field} is in {now:.0%} of this run's items, and was in {usual_here[field]:.0%}"
        if not reason and (count := alike[_left(row, expected)]) > 1:
            reason = f"{count} items are equal except for the missing values of {', '.join(row.lacks)}"
        if reason:
            verdict.rejected.append((row, f"not-an-item: {reason}"))
        else:
            verdict.apply.append(row)
    return verdict


def _left(row: Row, expected: Usual) -> tuple[str, str, str]:
    """Returns an item's site and kind, and the values that the item has in the usual fields. If the item has
    no values in these fields, returns the item's key instead of the values."""
    data: Mapping[str, Any] = row.data  # type: ignore[assignment]
    fields = expected.get((data["_site"], row.kind), {})
    left = sorted((name, str(data[name])) for name in fields if has_value(data.get(name)))
    return data["_site"], row.kind, repr(left) if left else row.key
