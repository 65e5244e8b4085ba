"""Writes a table of `gossamer prices` to a file (`-o`), or prints the table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

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

    if output is not None:
        from gossamer.client.table_files import write_tables

        files = write_tables(output, {name: table})
        if as_json:
            put_json({"file": output, "files": files, "rows": len(table.rows)})
        else:
            print(f"{', '.join(files)}: {len(table.rows):,} rows")
        return
    rows = [[_text(head, value) for head, value in zip(table.names, row, strict=True)] for row in table.rows]
    put_rows(table.names, rows, as_csv, as_json, right, least)


def _text(head: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, Decimal):
        return f"{value:+f}" if head == "percent" else f"{value:f}"
    return str(value)
