"""The rules of upsert and history. When an item arrives, the rules decide what the store writes. The store
may already contain the item. All stores of items use these functions, which have no side effects.

A store keeps one row for each (kind, key). The row contains the item's fields, the columns that every item
row has (`columns.OURS`, including `_hash`), and the columns STORED. Earlier states of all rows go to one
table, HISTORY.

| event | the store writes |
| --- | --- |
| an item with a new key arrives | a new row for the item |
| an item arrives with the same content (`_hash`) as its stored row | nothing |
| an item arrives with other content than its stored row | the new row, and the old row into HISTORY |
| an item arrives, and its stored row is marked as deleted | the row without the mark, and the old row into HISTORY |
| an item arrives that is older than its stored row (`_seen_at`) | nothing |
| the item's page (`_url`) answers 404 or 410 | the deletion time into the column `_deleted_at` of its row |
| a run over a site with `complete=True` misses the item | the deletion time into the column `_deleted_at` |

Writing the same item twice changes nothing, so a store may receive items more than once. Page records have no
history. A new record replaces the old record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from gossamer.model.visit import Row
from gossamer.sinks.columns import Column

STORED = (Column("_first_seen_at", "time"), Column("_changed_at", "time"), Column("_deleted_at", "time"))
"""The columns that a store adds to the columns of each item. `_first_seen_at` is the time when the item's key
was first seen. `_changed_at` is the time when the item's content last changed. `_deleted_at` is the time when
the item was marked as deleted, or null."""

HISTORY = "_history"
HISTORY_COLUMNS = (
    Column("_kind"),
    Column("_key"),
    Column("_from", "time"),
    Column("_until", "time"),
    Column("_hash"),
    Column("_data", "json"),
)
"""The columns of the table HISTORY. Each row of HISTORY contains one former state of an item. The primary key
of HISTORY is (`_kind`, `_key`, `_from`). Existing rows of HISTORY are never changed. The column `_data` of
HISTORY contains the item's former row as a JSON object."""

SIGHTINGS = "_sightings"
SIGHTINGS_COLUMNS = (Column("_kind"), Column("_key"), Column("_run"))
"""The columns of the table SIGHTINGS. For each item, SIGHTINGS records the last run that saw the item.
SIGHTINGS has rows only for items of sites that each run visits completely. The primary key of SIGHTINGS is
(`_kind`, `_key`)."""

COLUMNS = "_columns"
COLUMNS_COLUMNS = (Column("_table"), Column("_column"))
"""The columns of the table COLUMNS. For each table, COLUMNS records the columns that gossamer created. A user
may remove a field from an item class after gossamer created a column for the field. When an item is written
again, gossamer sets the columns of its removed fields to null. Gossamer never changes columns that other
programs created. In MongoDB and in Valkey hashes, each entry of COLUMNS is one string, which consists of the
table's name, a space and the field's name."""

TAKEN = (HISTORY, SIGHTINGS, COLUMNS)
"""Names of gossamer's own tables. A kind of items must not have one of these names."""

Name = tuple[str, str]
"""The kind and key of an item."""


class ItemState(NamedTuple):
    """The state of an item in a store. Times are strings like `_seen_at` (RFC 3339, UTC, milliseconds), so
    their text order is their time order."""

    hash: str
    first_seen_at: str
    seen_at: str
    changed_at: str
    deleted_at: str | None = None
    url: str = ""
    """The page of the item's current content, if the state was read from a store."""


class PastState(NamedTuple):
    """A former state of an item. `until` is the time at which the state ended. `row` is the item's row in
    this state, or None if the row is still in the store. If `row` is None, the store must copy the stored row
    to the history before the row is overwritten."""

    name: Name
    state: ItemState
    until: str
    row: Row | None


class Arrival(NamedTuple):
    """One row that a store received. `was`: the state of its item before the row, or None if the item was
    new. `is_written`: whether the row changed the item's state."""

    row: Row
    was: ItemState | None
    is_written: bool


class RowFate(StrEnum):
    """What a store did with the row of an item. The values are part of the names of a crawl's counts."""

    NEW = "n"
    CHANGED = "c"
    UNCHANGED = "u"


class PendingWrites(NamedTuple):
    """The rows to write, each with the new state of its item, and the past states to add to the history. The
    past states must be written before the rows. `arrivals`: all rows, in their order."""

    rows: dict[Name, tuple[Row, ItemState]]
    past: list[PastState]
    arrivals: list[Arrival]


def state_after_seen(was: ItemState | None, content: str, at: str) -> ItemState:
    """Returns the state of an item after the item was seen with this content hash. Returns the unchanged
    object `was` if nothing needs to be written.

    >>> first = state_after_seen(None, "a", "2026-01-01")
    >>> state_after_seen(first, "a", "2026-01-02") is first, state_after_seen(first, "b", "2026-01-02").changed_at
    (True, '2026-01-02')
    """
    if was is None:
        return ItemState(content, at, at, at)
    if at < was.seen_at or (was.deleted_at is not None and at <= was.deleted_at):
        return was
    if was.deleted_at is None and was.hash == content:
        return was
    return ItemState(content, was.first_seen_at, at, was.changed_at if was.hash == content else at)


def state_after_gone(was: ItemState, at: str) -> ItemState:
    """Returns the state of an item after its page was found to be deleted. Returns the unchanged object `was`
    if nothing needs to be written."""
    return was if was.deleted_at is not None or at < was.seen_at else was._replace(deleted_at=at)


def fold_writes(rows: Iterable[Row], known: Mapping[Name, ItemState]) -> PendingWrites:
    """Computes the rows and the past states to write for some items. Processes the items in the given order.
    `known` contains the states of the items that the store already has."""
    write: dict[Name, tuple[Row, ItemState]] = {}
    past: list[PastState] = []
    arrivals: list[Arrival] = []
    for row in rows:
        name = row.kind, row.key
        held, was = write.get(name) or (None, known.get(name))
        at: str = row.data["_seen_at"]  # type: ignore[index] # an item's row is a dict
        state = state_after_seen(was, row.data["_hash"], at)  # type: ignore[index]
        arrivals.append(Arrival(row, was, state is not was))
        if state is was:
            continue
        until = at if was is None else was.deleted_at or at
        # If a state began and ended at the same moment, the state gets no history row.
        if was is not None and until > was.seen_at:
            past.append(PastState(name, was, until, held))
        write[name] = row, state
    return PendingWrites(write, past, arrivals)


def row_fates(arrivals: Sequence[Arrival], since: str | None) -> list[tuple[Row, RowFate]]:
    """Returns the fate of each row of one upsert.

    A row is written before its visit is settled. If the process is killed in between, the page is visited
    again, and finds the row that the first visit wrote. The row then gets the fate that the killed visit did
    not count. `since`: the start of the crawl (RFC 3339), or None if the crawl visits its pages again and
    again, so that an earlier visit may have counted the row.
    """
    found, met = [], set[tuple[str, str, str]]()
    for row, was, is_written in arrivals:
        url: str = row.data["_url"]  # type: ignore[index] # an item's row is a dict
        fate = RowFate.CHANGED if is_written else RowFate.UNCHANGED
        if was is None:
            fate = RowFate.NEW
        elif (
            since is not None
            and was.seen_at >= since
            and was.url == url
            and (row.kind, row.key, url) not in met
        ):
            fate = RowFate.NEW if was.first_seen_at >= since else RowFate.CHANGED
        met.add((row.kind, row.key, url))
        found.append((row, fate))
    return found


def stored_columns(row: Row, state: ItemState) -> dict[str, str | None]:
    """Returns a row's values for the columns in STORED."""
    return {
        "_first_seen_at": state.first_seen_at,
        "_changed_at": state.changed_at,
        "_deleted_at": state.deleted_at,
    }
