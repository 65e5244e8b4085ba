"""What the operations on uses share: histories by name, and pages of the rows of a table. Histories are files of the
folder in which `serve` was started. A caller names a file of this folder and no path, and sees only names that begin
with the prefix of its token."""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gossamer.client.install_command import install_command
from gossamer.client.table_files import TableRows
from gossamer.config.redaction import mask
from gossamer.config.secret_refs import put_in
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest, seconds
from gossamer.errors import ConfigError, InvalidField, UnknownName
from gossamer.operations import results
from gossamer.operations.context import OperationContext
from gossamer.operations.cursors import cursor_after, position_of

MAX_ROWS = 1_000_000_000
Rows = Sequence[dict[str, Any]]
Base = TypeVar("Base")
Given = TypeVar("Given")


def history_table(
    kind: Callable[[str], AbstractContextManager[Base]],
    table: str,
    what: str,
    read: Callable[[Base, Given, int], Rows],
) -> Callable[[OperationContext, Given], Awaitable[results.RowPage]]:
    """Makes an operation of a function that returns the first rows of a table of a history. `kind`: opens a history.
    `table`: a table that such a history has. `what`: the kind of the history, for messages."""

    @functools.wraps(read)
    async def operation(context: OperationContext, given: Given) -> results.RowPage:
        options: Any = given
        url = await asyncio.to_thread(history_of, context, options.history, table, what)

        def rows(most: int) -> Rows:
            with kind(url) as base:
                return read(base, given, most)

        return await table_page(given, rows)

    return operation


def history_of(context: OperationContext, name: str, table: str, what: str) -> str:
    """Returns the address of a history: of the setting `histories`, or of a file in the folder of `serve`. Raises
    UnknownName."""
    given = named_histories(context.settings).get(name) if context.caller.sees(name) else None
    if given is None:
        return database_of(context, name, table, what)
    try:
        url = put_in(given)
    except ValueError as error:
        raise ConfigError(f"the history {name} of the setting histories: {error}") from None
    if not _has_postgresql_table(url, table):
        raise UnknownName(f"the history {name} of the setting histories is no {what} yet: start a run")
    return url


def _has_postgresql_table(url: str, table: str) -> bool:
    """Returns whether a PostgreSQL database has a table. Raises ConfigError."""
    try:
        import psycopg
    except ImportError:
        raise ConfigError(
            f"a history in PostgreSQL needs another package: {install_command('postgres')}"
        ) from None
    try:
        with psycopg.connect(url, connect_timeout=10) as base:
            found = base.execute("SELECT to_regclass(%s)", [table]).fetchone()
            return found is not None and found[0] is not None
    except psycopg.Error as error:
        raise ConfigError(f"the PostgreSQL database of a history: {mask(str(error))}") from None


def named_histories(settings: Settings) -> dict[str, str]:
    """Returns the histories of the setting `histories` by their names. References to secrets are kept."""
    pairs = (one.partition("=") for one in settings.histories)
    return {name: url for name, _, url in pairs}


def history_option(context: OperationContext, name: str) -> str:
    """Returns the option of a run that names its history. Raises InvalidField if the token does not permit the name."""
    check_seen(context, name, "/history")
    return f"--history={named_histories(context.settings).get(name, f'{name}.db')}"


def value_rows(table: TableRows) -> Rows:
    """Returns the rows of a table by the names of its columns."""
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def event_rows(found: Iterable[Any], kind: str | None, most: int) -> Rows:
    """Returns the first `most` events of a kind, or of all kinds."""
    chosen = (one for one in found if kind in (None, one.kind.value))
    return [msgspec.to_builtins(one) for one in islice(chosen, most)]


def database_of(
    context: OperationContext, name: str, table: str, what: str, folder: Path | None = None
) -> str:
    """Returns the path of the database `name` that has a table. Raises UnknownName, with the nearest name that the
    caller may see. `what`: the kind of the database, for messages."""
    place = folder or Path()
    path = place / f"{name}.db"
    if not context.caller.sees(name) or not has_table(path, table):
        known = database_names(context, table, place)
        if folder is None:
            known += [one for one in named_histories(context.settings) if context.caller.sees(one)]
        there = f"; there are: {', '.join(known[:20])}" if known else "; there is none yet"
        raise UnknownName(f"no {what} is named {name!r}{nearest(name, known)}{there}")
    return str(path)


def database_names(context: OperationContext, table: str, folder: Path | None = None) -> list[str]:
    """Returns the names of the databases with a table that the caller may see."""
    found = (folder or Path()).glob("*.db")
    return sorted(one.stem for one in found if context.caller.sees(one.stem) and has_table(one, table))


def has_table(path: Path, table: str) -> bool:
    """Returns whether a file is a SQLite database with a table. Never creates or changes a file."""
    if not path.is_file():
        return False
    try:
        base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            found = base.execute("SELECT 1 FROM sqlite_master WHERE name = ? LIMIT 1", [table])
            return found.fetchone() is not None
        finally:
            base.close()
    except sqlite3.Error:
        return False


def need_name(value: str | None, known: Iterable[str], what: str) -> None:
    """Raises UnknownName, with the nearest name, if a filter names something that does not exist."""
    if value is not None and value not in (names := list(known)):
        raise UnknownName(f"no {what} is named {value!r}{nearest(value, names)}")


async def table_page(given: Any, read: Callable[[int], Rows]) -> results.RowPage:
    """Returns a page of rows. `read`: returns the first rows of the table, at most the given number."""
    after = position_of(given, int, 0)
    rows = await asyncio.to_thread(read, after + given.limit + 1)
    part = list(rows[after : after + given.limit])
    is_more = len(rows) > after + given.limit
    return results.RowPage(items=part, next=cursor_after(given, after + len(part)) if is_more else None)


def moment(text: str | None) -> float:
    """Converts an age or a time to seconds since the epoch."""
    if text is None:
        return 0.0
    try:
        return time.time() - seconds(text)
    except ValueError:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def list_words(context: OperationContext, names: Sequence[str]) -> list[str]:
    """Returns the paths of lists in the folder of `serve`. Raises InvalidField if there is no such list."""
    endings = (".csv", ".tsv", ".xlsx", ".jsonl", ".ndjson", ".json", ".txt")
    known = sorted(
        one.name for one in Path().iterdir() if one.suffix in endings and context.caller.sees(one.name)
    )
    for number, name in enumerate(names):
        if name not in known or not Path(name).is_file():
            raise InvalidField(
                f"no list is named {name!r}{nearest(name, known)}; it must be in the folder of serve",
                f"/lists/{number}",
            )
    return [f"./{name}" for name in names]


def options_of(given: Any, *names: str) -> list[str]:
    """Returns the options of a command for the fields `names` that are given."""
    words: list[str] = []
    for name in names:
        value, option = getattr(given, name), f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value not in (None, False):
            words += [
                f"{option}={one:g}" if isinstance(one, float) else f"{option}={one}" for one in _each(value)
            ]
    return words


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def names_file(text: str) -> bool:
    """Returns whether a word of a caller would be taken for a file or an option by a command."""
    return os.path.exists(text) or text.startswith("-")


def data_folder(context: OperationContext) -> Path:
    """Returns the data folder as an absolute path."""
    return Path(context.settings.data).absolute()


def check_seen(context: OperationContext, name: str, pointer: str) -> str:
    """Returns a name that a run is to write to. Raises InvalidField if the token does not permit it."""
    if not context.caller.sees(name):
        raise InvalidField(f"the token permits only names that begin with {context.caller.prefix!r}", pointer)
    return name
