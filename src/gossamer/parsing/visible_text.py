"""Extracts the visible text of a page, and limits how much memory the layout of tables takes."""

from __future__ import annotations

from typing import Final

import turbohtml

from gossamer.parsing.shown import shown

MAX_LAID_OUT_CHARS: Final = 4_000_000
"""Maximum number of characters to which the tables of a page may expand in layout."""
_MAX_TABLE_DEPTH: Final = 9
"""Maximum nesting depth of tables whose sizes are computed. A table that is nested more deeply counts as too
large."""
_GROUPS: Final = frozenset({"thead", "tbody", "tfoot"})


def visible_text(document: turbohtml.Document) -> str:
    """Returns the visible text as one line, without markup, scripts or styles. Words of different blocks are
    separated by a space.

    >>> visible_text(turbohtml.parse("<p>one</p><p>t<b>w</b>o<script>x</script>"))
    'one two'
    """
    if document.root is not None and document.root.tag != "html":  # XML has no layout
        return " ".join(" ".join(document.root.strings).split())
    document = shown(document)
    if not may_grow(document):
        return " ".join(document.to_text().split())
    hidden = {element.text for tag in ("script", "style", "template") for element in document.select(tag)}
    body = document.select_one("body")
    return (
        " ".join(" ".join(part for part in body.strings if part not in hidden).split())
        if body is not None
        else ""
    )


def may_grow(document: turbohtml.Document) -> bool:
    """Whether the layout of tables could turn a small page into megabytes of text. The layout pads every row
    to the widest one, and nested tables multiply the effect."""
    tables = document.select("table")
    nested = len(tables) > 1 and document.select_one("table table") is not None
    if nested and document.select_one("table " * _MAX_TABLE_DEPTH) is not None:
        return True
    total, sizes = 0, dict[turbohtml.Element, int]()
    for table in reversed(tables):  # inner tables come before the table that contains them
        size = _laid_out(table, sizes)
        total += size
        if total > MAX_LAID_OUT_CHARS:
            return True
        if nested:
            sizes[table] = size
    return False


def _laid_out(table: turbohtml.Element, sizes: dict[turbohtml.Element, int]) -> int:
    """Returns the number of characters to which a table may expand: rows times columns times the largest
    cell. `sizes` contains the sizes of the tables inside the cells."""
    rows = columns = largest = 0
    for part in _elements(table):
        for row in _elements(part) if part.tag in _GROUPS else (part,):
            cells = _elements(row) if row.tag == "tr" else [row]
            rows, columns = rows + 1, max(columns, len(cells))
            for cell in cells:
                within = sum([sizes[one] for one in cell.select("table")]) if sizes else 0
                largest = max(largest, len(cell.text) + within)
    return rows * columns * (largest + 2)


def _elements(node: turbohtml.Element) -> list[turbohtml.Element]:
    return [child for child in node.children if isinstance(child, turbohtml.Element)]
