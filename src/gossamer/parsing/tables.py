"""Reads HTML tables as rows of texts. A cell that spans several rows or columns is repeated in each of them.
Header cells name the columns."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import attribute_of, parse
from gossamer.parsing.microdata import read_text
from gossamer.parsing.shown import shown

MAX_TABLES: Final = 500
"""Maximum number of tables that are read per page."""
MAX_CELLS: Final = 200_000
"""Maximum number of cells of one table. A table with more cells is cut. If the kept tables have MAX_CELLS
cells in total, no further table of the page is kept. A cell that spans several rows or columns counts once
per row and column."""
MAX_COLUMNS: Final = 1000
"""Maximum number of columns in a row of a table, and of columns that a cell may span."""


class Table(msgspec.Struct, frozen=True):
    """A table with its `caption`, the names of its columns (`head`) and its `rows`. If there are several
    header rows, the names of a column are joined by a space. `head` is empty if the table has no header
    row."""

    caption: str | None
    head: list[str]
    rows: list[list[str]]

    def records(self) -> list[dict[str, str]]:
        """Returns the rows as dicts with the column names as keys. The key of a column without a name is its
        number, counted from 1. A repeated name gets the column's number as a suffix."""
        names: list[str] = []
        for number in range(max(map(len, [self.head, *self.rows]), default=0)):
            name = (self.head[number] if number < len(self.head) else "") or str(number + 1)
            names.append(name if name not in names else f"{name} {number + 1}")
        return [dict(zip(names, row, strict=False)) for row in self.rows]


def tables(body: Body, content_type: str | None = None) -> list[Table]:
    """Returns the tables of a page, outer tables first. Leaves out the tables that are used only for layout.
    Accepts any bytes and never raises.

    >>> found = tables(b"<table><tr><th>City<th>People<tr><td rowspan=2>Rome<td>2.8<tr><td>2.9</table>")
    >>> found[0].head, found[0].rows
    (['City', 'People'], [['Rome', '2.8'], ['Rome', '2.9']])
    """
    return of(parse(body, content_type, None).tree)


def of(tree: turbohtml.Document) -> list[Table]:
    """Does the same as `tables` for a parsed page."""
    found: list[Table] = []
    left = MAX_CELLS
    for element in shown(tree).select("table")[:MAX_TABLES] if tree.select_one("table") else ():
        table = None if _lays_out(element) or left <= 0 else _table(element)
        if table is not None:
            found.append(table)
            left -= sum(map(len, table.rows))
    return found


def _lays_out(table: turbohtml.Element) -> bool:
    """Returns whether a table is used only for layout. A table with the `role` `presentation` or `none` is
    used only for layout. A table without header cells and caption is used only for layout if it contains
    another table, or not more than one cell."""
    if attribute_of(table, "role").strip().lower() in ("presentation", "none"):
        return True
    own = [cell for cell in table.select("th, caption") if _table_of(cell) == table]
    return not own and (table.select_one("table") is not None or len(table.select("td")) < 2)


def _table_of(element: Any) -> Any:
    while element is not None and getattr(element, "tag", "") != "table":
        element = element.parent
    return element


def _table(table: turbohtml.Element) -> Table | None:
    rows, heads = _rows(table)
    grid = _grid(rows)
    if not any(any(row) for row in grid):
        return None
    count = next((at for at, is_head in enumerate(heads) if not is_head), len(heads))
    count = 0 if count == len(grid) else count
    width = max(map(len, grid))
    names: list[str] = []
    for column in range(width) if count else ():
        parts = [row[column] for row in grid[:count] if column < len(row) and row[column]]
        names.append(" ".join(dict.fromkeys(parts)))
    rest = [row + [""] * (width - len(row)) for row in grid[count:]]
    caption = next((one for one in table.select("caption") if _table_of(one) == table), None)
    return Table(read_text(caption) or None if caption is not None else None, names, rest)


def _rows(table: turbohtml.Element) -> tuple[list[list[turbohtml.Element]], list[bool]]:
    """Returns the cells of a table's own rows, and for each row whether it is a header row. The rows of
    `tfoot` come last."""
    parts: dict[str, list[tuple[list[turbohtml.Element], bool]]] = {"thead": [], "": [], "tfoot": []}
    for row in table.select("tr"):
        if _table_of(row) != table:
            continue
        part = getattr(row.parent, "tag", "")
        cells = [
            cell for cell in row.children if isinstance(cell, turbohtml.Element) and cell.tag in ("td", "th")
        ]
        heads = part == "thead" or (bool(cells) and all(cell.tag == "th" for cell in cells))
        parts[part if part in parts else ""].append((cells, heads))
    found = [row for rows in parts.values() for row in rows if row[0]]
    return [cells for cells, _ in found], [heads for _, heads in found]


def _grid(rows: list[list[turbohtml.Element]]) -> list[list[str]]:
    """Returns the texts of the cells by row and column. A cell that spans several rows or columns appears in
    each of them."""
    grid: list[list[str]] = []
    down: dict[int, tuple[int, str]] = {}  # by column: (number of further rows that the cell spans, text)
    left = MAX_CELLS
    for cells in rows:
        row: list[str] = []

        def above(row: list[str] = row) -> None:
            while (kept := down.get(len(row))) and len(row) < MAX_COLUMNS:
                rest, text = kept
                if rest > 1:
                    down[len(row)] = (rest - 1, text)
                else:
                    del down[len(row)]
                row.append(text)

        for cell in cells:
            above()
            text = _told(cell)
            high, wide = _span(cell, "rowspan", len(rows)), _span(cell, "colspan", MAX_COLUMNS)
            for _ in range(min(wide, MAX_COLUMNS - len(row))):
                if high > 1:
                    down[len(row)] = (high - 1, text)
                row.append(text)
        above()
        left -= len(row)
        if left < 0:
            break
        grid.append(row)
    return grid


def _told(cell: turbohtml.Element) -> str:
    """Returns the text of a cell on one line or, if it has no text, the `alt` texts of its images."""
    return " ".join(read_text(cell).split()) or " ".join(
        attribute_of(one, "alt") for one in cell.select("img[alt]")[:9]
    )


def _span(cell: turbohtml.Element, name: str, most: int) -> int:
    """Returns the value of a `rowspan` or `colspan` attribute, parsed as browsers do, from 1 to `most`.
    For `rowspan=0`, which means all remaining rows, returns `most`."""
    text = attribute_of(cell, name).strip()
    digits = text[: next((at for at, char in enumerate(text) if char not in "0123456789"), len(text))][:9]
    if digits and int(digits) == 0 and name == "rowspan":
        return most
    return max(1, min(int(digits or 1), most))
