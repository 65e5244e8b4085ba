"""The choice of columns of an output: `books.csv?columns=title,price`.

`*` stands for the item's own fields. Therefore, `columns=*` leaves out all columns that begin with `_`, and
`columns=*,_url` leaves out all columns that begin with `_` except `_url`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gossamer.errors import UsageError
from gossamer.model.visit import Row
from gossamer.sinks.columns import EXTRA, Column, Columns

OWN = "*"


class ColumnChoice(NamedTuple):
    """The chosen columns, in the order that the user gave."""

    names: tuple[str, ...]

    @property
    def has_own(self) -> bool:
        """Whether the choice contains `*`, which stands for all of an item's own fields."""
        return OWN in self.names

    @property
    def named(self) -> list[str]:
        """The chosen names, except `*`."""
        return [name for name in self.names if name != OWN]

    def declared(self, columns: Columns) -> dict[str, tuple[Column, ...]]:
        """Returns the chosen columns of each declared kind."""
        return {kind: self._of_kind(some) for kind, some in columns.items()}

    def _of_kind(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        known = {column.name: column for column in columns}
        own = [column for column in columns if not column.name.startswith("_")]
        found: dict[str, Column] = {}
        for name in self.names:
            for column in own if name == OWN else [known.get(name, Column(name, "any"))]:
                found.setdefault(column.name, column)
        return tuple(found.values())

    def project(self, rows: Sequence[Row]) -> list[Row]:
        """Returns the rows with only the chosen fields. A field that a row lacks is null."""
        return [Row(row.kind, row.key, self._chosen(_mapping(row))) for row in rows]

    def _chosen(self, data: Mapping[str, object]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name in self.names:
            if name == OWN:
                found |= {field: value for field, value in data.items() if not field.startswith("_")}
            else:
                found[name] = data.get(name)
        if self.has_own and EXTRA in data:
            found[EXTRA] = data[EXTRA]
        return found


def parse_choice(text: str, where: str) -> ColumnChoice:
    """Parses the value of `columns=`. Raises UsageError."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(f"-o {where}: columns= names fields, as columns=title,price or columns=*,_url")
    return ColumnChoice(names)


def check_choice(choice: ColumnChoice, columns: Columns, where: str) -> None:
    """Raises UsageError if a chosen name is probably a misspelled column name."""
    known = {column.name for some in columns.values() for column in some}
    for name in choice.names:
        close = difflib.get_close_matches(name, known, 1, 0.75) if known and name != OWN else []
        if close and name not in known:
            raise UsageError(f"-o {where}: columns={name}: no kind has it; did you mean {close[0]}?")


def _mapping(row: Row) -> Mapping[str, object]:
    if isinstance(row.data, dict):
        return row.data
    fields: dict[str, object] = msgspec.structs.asdict(row.data)
    return {name: value for name, value in fields.items() if value is not msgspec.UNSET}
