"""Tables of PostgreSQL: made, or widened, and which of their columns are ours."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from gossamer.errors import SinkError, UsageError
from gossamer.sinks.columns import Column
from gossamer.sinks.history import COLUMNS_COLUMNS
from gossamer.sinks.rows import FITS as FITS_OF_ARROW
from gossamer.sinks.rows import binary, number_within
from gossamer.sinks.upserting import clean

TYPES = {
    "str": "text",
    "json": "jsonb",
    "int": "bigint",
    "float": "double precision",
    "bool": "boolean",
    "decimal": "numeric",
    "time": "timestamptz",
    "date": "date",
    "strings": "text[]",
    "clock": "time without time zone",
    "span": "interval",
    "bytes": "bytea",
    "uuid": "uuid",
}
FITS = FITS_OF_ARROW | {"decimal": number_within(131_072, 16_383), "bytes": binary}
"""What the types hold."""
_EARLIER = {
    "str": ("jsonb",),
    "clock": ("jsonb", "text"),
    "span": ("jsonb", "text"),
    "bytes": ("jsonb", "text"),
    "uuid": ("jsonb", "text"),
}
"""Types that columns of tables have that an earlier gossamer made, or somebody else: they stay, and hold the
JSON text or text."""
_WIDER = {
    "text": ("character varying", "character"),
    "bigint": ("integer", "smallint", "numeric", "text"),
    "jsonb": ("json", "text"),
    "double precision": ("numeric", "real", "text"),
    "timestamptz": ("timestamp with time zone", "text"),
    "text[]": (),
    "date": ("text",),
}
"""Types of columns that others made which take ours without a silent loss."""


def as_made(base: Any, called: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a table (its name quoted), those with the types of an earlier gossamer where it has
    such."""
    there = dict(
        base.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
            [called],
        ).fetchall()
    )
    found = []
    for column in columns:
        kind = there.get(cut(column.name), "")
        if kind in _EARLIER.get(column.type, ()):
            found.append(Column(column.name, "json" if kind == "jsonb" else "str"))
        else:
            found.append(column)
    return tuple(found)


def made(base: Any, where: str, called: str, columns: Sequence[Column], key: str) -> list[str]:
    """See that a table (its name quoted) is there and has these columns; which else it has that may be null.
    Raises UsageError, SinkError."""
    found = base.execute(
        "SELECT attname, format_type(atttypid, NULL), attnotnull OR atthasdef FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [called],
    ).fetchall()
    known = {column: kind for column, kind, _ in found}
    if not known:
        body = ", ".join(f"{quoted(column.name)} {TYPES[column.type]}" for column in columns)
        base.execute(f"CREATE TABLE IF NOT EXISTS {called} ({body}, PRIMARY KEY ({key}))")
        return []
    if not {*key.split(", ")} <= known.keys():
        raise UsageError(
            f"table {called} of {where} is not gossamer's: name another with ?table=, or ?table=SCHEMA.NAME"
        )
    names = {cut(column.name) for column in columns}
    for column in columns:
        kind, there = TYPES[column.type], known.get(cut(column.name))
        if (
            there is not None
            and there != kind
            and there not in _WIDER.get(kind, ("text", "character varying"))
        ):
            raise SinkError(
                f"{where}: column {column.name} of {called} is {there}, the rows' is {kind}: change it, or name another table with ?table="
            )
    if missing := [column for column in columns if cut(column.name) not in known]:
        added = ", ".join(f"ADD COLUMN IF NOT EXISTS {quoted(one)} {TYPES[kind]}" for one, kind, _ in missing)
        base.execute(f"ALTER TABLE {called} {added}")
    return [column for column, _, own in found if not own and column not in names]


def lost(
    base: Any, beside: str, where: str, called: str, names: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Note in the table `beside` that these columns of a table are ours; which of the others are, too. None
    where that may not be kept."""
    import psycopg

    try:
        with base.transaction():
            made(base, where, beside, COLUMNS_COLUMNS, "_table, _column")
            ours = {
                one for (one,) in base.execute(f"SELECT _column FROM {beside} WHERE _table = %s", [called])
            }
            if new := sorted({cut(one) for one in names} - ours):
                base.execute(
                    f"INSERT INTO {beside} SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING",
                    [called, new],
                )
    except psycopg.errors.InsufficientPrivilege:
        return []
    return [one for one in others if one in ours]


def forget(base: Any, beside: str, called: str) -> None:
    """A table was dropped."""
    if base.execute("SELECT to_regclass(%s)", [beside]).fetchone()[0] is not None:
        base.execute(f"DELETE FROM {beside} WHERE _table = %s", [called])


def quoted(called: str) -> str:
    """A name as SQL has it."""
    return '"' + cut(called).replace('"', '""') + '"'


def cut(called: str) -> str:
    """A name as PostgreSQL has it: of 63 bytes at most; it would cut longer ones itself, and two might be the
    same then."""
    called = clean(called)
    raw = called.encode()
    if len(raw) <= 63:
        return called
    return raw[:50].decode("utf-8", "ignore") + hashlib.blake2b(raw, digest_size=6).hexdigest()
