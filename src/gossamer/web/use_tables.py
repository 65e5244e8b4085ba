"""What the operations on uses share: histories by name, and pages of the rows of a table. Histories are files of the
folder in which `serve` was started. A caller names a file of this folder and no path, and sees only names that begin
with the prefix of its token."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gossamer.config.value_parsers import nearest, seconds
from gossamer.errors import InvalidField, UnknownName
from gossamer.operations import results
from gossamer.operations.context import OperationContext
from gossamer.operations.cursors import cursor_after, position_of

MAX_ROWS = 1_000_000_000
Rows = Sequence[dict[str, Any]]


def database_of(
    context: OperationContext, name: str, table: str, what: str, folder: Path | None = None
) -> str:
    """Returns the path of the database `name` that has a table. Raises UnknownName, with the nearest name that the
    caller may see. `what`: the kind of the database, for messages."""
    place = folder or Path()
    path = place / f"{name}.db"
    if not context.caller.sees(name) or not has_table(path, table):
        known = database_names(context, table, place)
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
