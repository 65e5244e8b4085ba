"""Upsert and history: what becomes of an item that a store may hold already. Pure; every store that keeps
items does what it says.

A store keeps one row for each (kind, key): the fields, what every item row has (`columns.OURS`, `_hash` among
it), and STORED. What a row was before goes to one table, HISTORY.

| what comes | what is written |
| --- | --- |
| an item with a new key | its row |
| the same content (`_hash`) as the row has | nothing |
| another content | its row; what the row was goes to the history |
| an item whose row is marked as deleted | its row, no longer deleted; what it was, until it was deleted, goes to the history |
| what is older than the row (`_seen_at`) | nothing |
| its page (`_url`) answers 404 or 410 | `_deleted_at` of the row |
| a whole crawl of a site with `complete=True` did not meet it | `_deleted_at` of the row |

Saying a thing twice changes nothing, so a store may be written at least once. Page records have no history:
they are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gossamer.model.visit import Row
from gossamer.sinks.columns import Column

STORED = (Column("_first_seen_at", "time"), Column("_changed_at", "time"), Column("_deleted_at", "time"))
"""What a stored item has besides: when its key was first seen; since when its content is what it is; since
when it is gone, or null."""

HISTORY = "_history"
HISTORY_COLUMNS = (
    Column("_kind"),
    Column("_key"),
    Column("_from", "time"),
    Column("_until", "time"),
    Column("_hash"),
    Column("_data", "json"),
)
"""States that ended, one row each; its key is (`_kind`, `_key`, `_from`): one that is there already is left
as it is. `_data`: the row as it was, a JSON object."""

SIGHTINGS = "_sightings"
SIGHTINGS_COLUMNS = (Column("_kind"), Column("_key"), Column("_run"))
"""Which run saw an item last, for rows that have a `run`; its key is (`_kind`, `_key`)."""

COLUMNS = "_columns"
COLUMNS_COLUMNS = (Column("_table"), Column("_column"))
"""Which columns of our tables are ours: a row that is written again has null in those that its class lost,
and others' columns stay as they are. In MongoDB and in hashes one text each: table, blank, field."""

TAKEN = (HISTORY, SIGHTINGS, COLUMNS)
"""Names that no kind's own table has."""

Name = tuple[str, str]
"""Kind and key."""


class ItemState(NamedTuple):
    """What a store knows of an item. Times are texts as in `_seen_at` (RFC 3339, UTC, milliseconds), so they
    order as texts."""

    hash: str
    first_seen_at: str
    seen_at: str
    changed_at: str
    deleted_at: str | None = None


class Past(NamedTuple):
    """A state that ended. `row`: what it was; None: what the store holds now, to be copied before it is
    written over."""

    name: Name
    state: ItemState
    until: str
    row: Row | None


class Fold(NamedTuple):
    """What is to be written: first the past, then the rows with their state."""

    rows: dict[Name, tuple[Row, ItemState]]
    past: list[Past]


def seen(was: ItemState | None, content: str, at: str) -> ItemState:
    """The state after an item was seen with this content hash; `was` itself when nothing is to be written.

    >>> first = seen(None, "a", "2026-01-01")
    >>> seen(first, "a", "2026-01-02") is first, seen(first, "b", "2026-01-02").changed_at
    (True, '2026-01-02')
    """
    if was is None:
        return ItemState(content, at, at, at)
    if at < was.seen_at or (was.deleted_at is not None and at <= was.deleted_at):
        return was
    if was.deleted_at is None and was.hash == content:
        return was
    return ItemState(content, was.first_seen_at, at, was.changed_at if was.hash == content else at)


def gone(was: ItemState, at: str) -> ItemState:
    """The state after an item was found to be gone; `was` itself when nothing is to be written."""
    return was if was.deleted_at is not None or at < was.seen_at else was._replace(deleted_at=at)


def fold(rows: Iterable[Row], known: Mapping[Name, ItemState]) -> Fold:
    """What items write, taken in their order. `known`: the states of those that the store has."""
    write: dict[Name, tuple[Row, ItemState]] = {}
    past: list[Past] = []
    for row in rows:
        name = row.kind, row.key
        held, was = write.get(name) or (None, known.get(name))
        at: str = row.data["_seen_at"]  # type: ignore[index] # an item's row is a dict
        state = seen(was, row.data["_hash"], at)  # type: ignore[index]
        if state is was:
            continue
        until = at if was is None else was.deleted_at or at
        if was is not None and until > was.seen_at:  # what was said twice at one moment was never so
            past.append(Past(name, was, until, held))
        write[name] = row, state
    return Fold(write, past)


def stored(row: Row, state: ItemState) -> dict[str, str | None]:
    """The columns STORED of a row that is written."""
    return {
        "_first_seen_at": state.first_seen_at,
        "_changed_at": state.changed_at,
        "_deleted_at": state.deleted_at,
    }
