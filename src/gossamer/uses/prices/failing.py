"""Records the targets that fail run after run. A failing target is gone, moved, blocked, empty, failed,
without a price, or undecided. An entry contains the time of the first failure, the number of failed runs, and
the results of the visits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.prices.model import Observation, OfferState
from gossamer.uses.prices.target_filter import ALL, TargetFilter

MAX_TRIED = 10
UNCLEAR_RUNS = 3
"""If a visit fails with a possibly temporary error, the same run visits the target a second time. After more
than UNCLEAR_RUNS failed runs in a row, there is no second visit."""
_COLUMNS = "target, shop, state, since, last, runs, checks, run, run_checks, address, tried"
_OF_FAILING = ", ".join(f"f.{name.strip()}" for name in _COLUMNS.split(","))
_UPSERT = (
    f"INSERT INTO price_failing ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (target) DO UPDATE "
    "SET shop = excluded.shop, state = excluded.state, last = excluded.last, runs = excluded.runs, "
    "checks = excluded.checks, run = excluded.run, run_checks = excluded.run_checks, address = excluded.address, tried = excluded.tried"
)


class Failing(NamedTuple):
    """The entry of a failing target in the table `price_failing`."""

    target: str
    shop: str
    state: str
    """The state of the target in its last visit (see `OfferState`)."""
    since: float
    """The time of the first failed visit after the target's last successful visit."""
    last: float
    runs: int
    """The number of consecutive runs in which the target failed."""
    checks: int
    """The number of consecutive failed visits of the target."""
    run: int
    """The number of the last run in which the target failed."""
    run_checks: int
    """The number of failed visits of the target in the run `run`."""
    address: str
    """The new address of the product page if the state is `moved`, otherwise ''."""
    tried: tuple[str, ...]
    """The distinct results of the failed visits of the target. The latest result comes last."""


def fails(seen: Observation) -> bool:
    """Whether an observation counts as a failure of its target."""
    if seen.state == OfferState.NO_PRICE:
        return not seen.availability
    return seen.state != OfferState.PRICED


def after_visit(known: Failing | None, seen: Observation, shop: str, run: int) -> Failing:
    """Adds a failed visit to the entry of a target, and returns the new entry."""
    found = f"{seen.state}: {seen.detail}" if seen.detail else str(seen.state)
    address = seen.url if seen.state == OfferState.MOVED else ""
    if known is None:
        times = seen.time, seen.time
        return Failing(seen.target, shop, str(seen.state), *times, 1, 1, run, 1, address, (found,))
    return known._replace(
        shop=shop,
        state=str(seen.state),
        last=seen.time,
        runs=known.runs + (known.run != run),
        checks=known.checks + 1,
        run=run,
        run_checks=known.run_checks + 1 if known.run == run else 1,
        address=address or known.address,
        tried=(*(one for one in known.tried if one != found), found)[-MAX_TRIED:],
    )


def read_failing(database: Database, targets: Iterable[str]) -> dict[str, Failing]:
    """Maps each failing target among `targets` to its entry."""
    rows = database.rows_in(f"SELECT {_COLUMNS} FROM price_failing WHERE target IN (?)", targets)
    return {row[0]: _entry(row) for row in rows}


def list_unclear(database: Database, run: int) -> list[tuple[Failing, str]]:
    """Lists the targets for a second visit in a run, each with its URL. A target is listed if the run has
    visited the target once, and the visit failed with a possibly temporary error. Targets that have failed in
    more than UNCLEAR_RUNS runs in a row are left out."""
    states = (
        OfferState.BLOCKED,
        OfferState.FAILED,
        OfferState.EMPTY,
        OfferState.UNDECIDED,
        OfferState.NO_PRICE,
    )
    rows = database.rows(
        f"SELECT {_OF_FAILING}, t.url FROM price_failing f JOIN price_targets t ON t.key = f.target "
        "WHERE f.run = ? AND f.run_checks = 1 AND f.runs <= ? AND t.listed = 1 AND f.state IN (?, ?, ?, ?, ?) "
        "ORDER BY f.target",
        [run, UNCLEAR_RUNS, *map(str, states)],
    )
    return [(_entry(row[:-1]), row[-1]) for row in rows]


def write_failing(database: Database, failing: Iterable[Failing], mended: Iterable[str]) -> None:
    """Writes the entries in `failing`, and deletes the entries of the targets in `mended`, which no longer
    fail."""
    database.many(_UPSERT, [(*one[:-1], msgspec.json.encode(one.tried).decode()) for one in failing])
    database.many("DELETE FROM price_failing WHERE target = ?", [(target,) for target in mended])


def list_failing(
    database: Database,
    *,
    state: str = "",
    chosen: TargetFilter = ALL,
    least_runs: int = 1,
    limit: int = 1000,
) -> list[tuple[Failing, str]]:
    """Returns the entries of the listed targets that fail, each with the target's URL. The target that has
    failed in the most runs in a row comes first. `chosen`: a filter for the targets."""
    more, given = chosen.condition(database)
    where, values = f"f.runs >= ? AND t.listed = 1{more}", [least_runs, *given]
    if state:
        where += " AND f.state = ?"
        values.append(state)
    rows = database.rows(
        f"SELECT {_OF_FAILING}, t.url FROM price_failing f "
        f"JOIN price_targets t ON t.key = f.target WHERE {where} "
        "ORDER BY f.runs DESC, f.since, f.target LIMIT ?",
        [*values, limit],
    )
    return [(_entry(row[:-1]), row[-1]) for row in rows]


def failing_csv(found: Iterable[tuple[Failing, str]], when: Any) -> str:
    """Returns failing targets as CSV. The result can be used as a list of targets, because it has the columns
    `key` and `url`. If the page has moved, `url` is the new address, and `old_url` is the old address.
    `when`: the function that converts a time to text."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["key", "url", "old_url", "shop", "state", "since", "last", "runs", "checks", "tried"])
    for one, url in found:
        new = one.address or url
        old = url if one.address else ""
        rows.writerow(
            [
                *(one.target, new, old, one.shop, one.state, when(one.since), when(one.last)),
                *(one.runs, one.checks, "; ".join(one.tried)),
            ]
        )
    return out.getvalue()


def _entry(row: tuple[Any, ...]) -> Failing:
    *values, tried = row
    return Failing._make((*values, tuple(msgspec.json.decode(tried))))
