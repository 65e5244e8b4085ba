"""The common code of all stores that have one row per key: history, rows that do not fit, and reconnection.

Each store implements a Driver, and `Upserts` turns a Driver into a TableSink. If a store refuses a batch, the
batch is halved repeatedly until the row that caused the refusal is found. The refused row is recorded
(`rejects`), and the other rows are written. If a value does not fit its column, the row is written without
the value, which goes to `_extra`. In addition, the row is recorded as refused, with the reason.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol, cast

import msgspec

from gossamer.errors import SinkAway, SinkError
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import EXTRA, OURS, Column, Columns, given_fields
from gossamer.sinks.history import STORED, Arrival, ItemState, Name, PastState, fold_writes, stored_columns
from gossamer.sinks.jsonl import text
from gossamer.sinks.refused_rows import Refuse, note_refused
from gossamer.sinks.row_fitting import Fit, Misfit, fit_row

_RECORD = frozenset(PageRecord.__struct_fields__)
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class BatchRefused(Exception):
    """Raised if a store refuses a batch because of its content. After this error, the batch can safely be
    written again."""


Written = tuple[Row, ItemState | None]
"""A row to write, and the new state of its item. The state is None if the row is not an item."""


class Driver(Protocol):
    """The interface to one store. Only one thread at a time calls the methods. Each method may raise
    SinkAway, SinkError or UsageError. After SinkAway, the caller calls `drop`."""

    where: str
    misfits: list[Misfit]
    """The rows of the current batch with values that the store cannot represent, each with a message. The
    method `put` adds these rows to the list."""

    def prepare(self, kinds: Sequence[str]) -> None:
        """Connects, and creates or extends the tables of these kinds."""

    def begin(self) -> contextlib.AbstractContextManager[None]:
        """Begins a batch, in a transaction if the store supports transactions."""

    def known(self, kind: str, keys: Sequence[str]) -> Mapping[Name, ItemState]:
        """Returns the states of the items with these keys, except for items that the store does not have."""

    def past(self, kind: str, past: Sequence[PastState]) -> None:
        """Writes past states to the history. Does not change a state that the history already contains."""

    def put(self, kind: str, rows: Sequence[Written], careful: bool) -> None:
        """Writes rows, each with a different key, and replaces the stored rows of these keys. The rows are
        durable when the `with` block of `begin` ends. `careful`: whether NUL and unpaired surrogates are
        removed from texts. Raises BatchRefused."""

    def drop(self) -> None:
        """Closes the connection, even a broken one."""


class HistoryDriver(Driver, Protocol):
    """The driver of a store that can find items by their page and by their site."""

    def sighted(self, kind: str, runs: Sequence[tuple[str, str]]) -> None:
        """Stores the last run of each item. `runs` contains pairs of an item's key and the run that saw the
        item."""

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """Marks the items of deleted pages as deleted. `pages` contains pairs of a page's URL and the time of
        its deletion (RFC 3339)."""

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """Counts the stored items of a site that are not marked as deleted. Returns the number of items that
        the run did not see, and the number of all items."""

    def unseen(self, site: str, run: str, at: str) -> int:
        """Marks items of a site as deleted if the run did not see these items. Returns the number of marked
        items."""

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """Returns how many items of these sites were marked as deleted since a time (RFC 3339)."""


class Upserts:
    """A TableSink that writes to its store through a Driver."""

    def __init__(self, driver: Driver, kinds: Iterable[str], refuse: Refuse) -> None:
        self._driver, self._kinds = driver, tuple(kinds)
        self.arrivals: list[Arrival] = []
        """The rows of items that the last `upsert` wrote or found unchanged."""
        self.refused: list[Row] = []
        """The rows that the last `upsert` could not write completely."""
        self._refuse = note_refused(refuse, self.refused)

    def target(self) -> str:
        """Returns the store's URL without secrets."""
        return self._driver.where

    def prepare(self) -> int:
        """See `interfaces.TableSink`."""
        try:
            with self._whole():
                self._driver.prepare(self._kinds)
        except BatchRefused as error:
            raise SinkError(f"{self._driver.where}: {error}") from error
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """See `interfaces.TableSink`."""
        self.arrivals.clear()
        self.refused.clear()
        with self._whole():
            self._some(rows)

    def close(self) -> None:
        """Closes the connection."""
        self._driver.drop()

    @contextlib.contextmanager
    def _whole(self) -> Any:
        try:
            yield
        except SinkAway:
            self._driver.drop()
            raise

    def _some(self, rows: Sequence[Row], careful: bool = False) -> None:
        try:
            self._batch(rows, careful)
        except BatchRefused as error:
            if careful and len(rows) == 1:
                self._refuse(self._driver.where, rows[0], str(error))
                return
            half = len(rows) // 2 if careful else 0
            for some in (rows[:half], rows[half:]):
                if some:
                    self._some(some, careful=True)

    def _batch(self, rows: Sequence[Row], careful: bool) -> None:
        kinds: dict[str, list[Row]] = {}
        for row in rows:
            kinds.setdefault(row.kind, []).append(row)
        self._driver.misfits.clear()
        arrivals: list[Arrival] = []
        with self._driver.begin():
            for kind, group in sorted(kinds.items()):
                if kind in RECORDS:
                    written: list[Written] = [(row, None) for row in {row.key: row for row in group}.values()]
                    self._driver.put(kind, written, careful)
                else:
                    arrivals += self._items(kind, group, careful)
        self.arrivals += arrivals
        for row, why in self._driver.misfits:
            self._refuse(self._driver.where, row, why)

    def _items(self, kind: str, rows: list[Row], careful: bool) -> list[Arrival]:
        if runs := {row.key: row.run for row in rows if row.run}:
            self._sighted(kind, [*runs.items()])
        found = fold_writes(rows, self._driver.known(kind, sorted({row.key for row in rows})))
        if found.past:
            self._driver.past(kind, found.past)
        if found.rows:
            self._driver.put(kind, [*found.rows.values()], careful)
        return found.arrivals

    def _sighted(self, kind: str, runs: list[tuple[str, str]]) -> None:
        """Does nothing, because this store does not record which run saw an item."""


class HistoryUpserts(Upserts):
    """A TableSink that can also mark items as deleted (`interfaces.HistorySink`)."""

    def __init__(self, driver: HistoryDriver, kinds: Iterable[str], refuse: Refuse) -> None:
        super().__init__(driver, kinds, refuse)
        self._history_driver = driver

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `interfaces.HistorySink`."""
        with self._whole(), self._driver.begin():
            self._history_driver.gone(pages)

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """See `interfaces.HistorySink`."""
        with self._whole(), self._driver.begin():
            return self._history_driver.missing(site, run, at)

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `interfaces.HistorySink`."""
        with self._whole(), self._driver.begin():
            return self._history_driver.unseen(site, run, at)

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """See `interfaces.HistorySink`."""
        with self._whole(), self._driver.begin():
            return self._history_driver.deleted(sites, since)

    def _sighted(self, kind: str, runs: list[tuple[str, str]]) -> None:
        self._history_driver.sighted(kind, runs)


class TableColumns:
    """The columns of a kind, and the conversion of rows to values for these columns.

    For untyped dicts, or if `whole` is true, the row's own fields become one JSON column `data`. `strict`:
    whether the store parses its JSON columns. If the store parses its JSON columns, text in these columns
    must be encoded as JSON. `fits`: the converters by column type (see `row_fitting.fit_row`). Rows with
    values that do not fit are added to `misfits`.
    """

    def __init__(
        self,
        kind: str,
        columns: Columns,
        fits: Mapping[str, Fit],
        misfits: list[Misfit],
        *,
        whole: bool = False,
        strict: bool = False,
    ) -> None:
        declared = None if whole else columns.get(kind)
        self.whole, self._strict = declared is None, strict
        self._fits, self._misfits = fits, misfits
        own = (
            [Column("data", "json"), *(OURS if kind not in RECORDS else ())] if declared is None else declared
        )
        kept = STORED if kind not in RECORDS else ()
        between = [column for column in (*own, *kept) if column.name not in ("_key", EXTRA)]
        self.columns: tuple[Column, ...] = (Column("_key"), *between, Column(EXTRA, "json"))
        self.names = tuple(column.name for column in self.columns)
        between_names = self.names[1:-1]
        self._record = (
            attrgetter(*between_names) if set(between_names) <= _RECORD and between_names[1:] else None
        )

    def values(self, rows: Sequence[Written], careful: bool = False) -> list[list[Any]]:
        """Returns, for each row, one value per column. A value is a text, a number, a bool, a list of texts,
        or None. JSON, times and decimals are passed as texts."""
        if self._record is not None and all(type(row.data) is PageRecord for row, _ in rows):
            record = self._record
            found = [
                [
                    row.key,
                    *[None if value is msgspec.UNSET else value for value in record(row.data)],
                    (given := given_fields(cast(PageRecord, row.data), self.names)) and text(given),
                ]
                for row, _ in rows
            ]
        else:
            found = []
            for row, state in rows:
                unfit: list[str] = []
                whole = self._whole(row, state)
                found.append(
                    [
                        *fit_row(
                            self.columns, whole, strict=self._strict, fits=self._fits, unfit=unfit
                        ).values()
                    ]
                )
                if unfit:
                    self._misfits.append((row, "; ".join(unfit)))
        return [[_cleaned(value) for value in row] for row in found] if careful else found

    def _whole(self, row: Row, state: ItemState | None) -> dict[str, Any]:
        data = row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
        if self.whole:
            ours = {column.name for column in OURS} if row.kind not in RECORDS else set()
            own = {field: value for field, value in data.items() if field not in ours}
            data = {**{field: value for field, value in data.items() if field in ours}, "data": own}
        if state is not None:
            data = {**data, **stored_columns(row, state)}
        return {**data, "_key": row.key}


def state_of(
    content: str | None,
    first: str | None,
    seen: str | None,
    changed: str | None,
    deleted: str | None,
    url: str | None,
) -> ItemState:
    """Builds an item's state from the columns of its stored row. Some columns may be None if another program
    wrote the row."""
    return ItemState(
        content or "", first or seen or "", seen or "", changed or seen or "", deleted, url or ""
    )


def storable_text(value: str) -> str:
    """Returns the text without NUL and unpaired surrogates, so that any store can hold it."""
    # In JSON text, a NUL is written as an escape sequence.
    if "\\u0000" in value and value[:1] in "{[":
        value = _NUL.sub(r"\1\\ufffd", value)
    return value.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    return [_cleaned(part) for part in value] if isinstance(value, list) else value
