"""Writes a table of `gossamer prices` to a file (`-o`), or prints the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.client.table_files import TableRows


def put_table_rows(
    name: str,
    table: TableRows,
    output: str | None,
    as_csv: bool,
    as_json: bool,
    right: Sequence[str] = (),
    least: Sequence[str] = (),
) -> None:
    """Writes a table to a file, or prints the table. The printed format is an aligned table, CSV, or one JSON
    object per row."""
    from gossamer.cli.printing import put_json, put_rows
    from gossamer.client.table_files import text_rows, write_tables

    if output is not None:
        files = write_tables(output, {name: table})
        if as_json:
            put_json({"file": output, "files": files, "rows": len(table.rows)})
        else:
            print(f"{', '.join(files)}: {len(table.rows):,} rows")
        return
    put_rows(table.names, text_rows(table), as_csv, as_json, right, least)
