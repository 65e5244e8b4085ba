"""What a reader sees of a page."""

from __future__ import annotations

from typing import Final

import turbohtml

PADDED: Final = 4_000_000
"""Characters to which the tables of a page may grow."""
_DEEP: Final = 9
"""Tables in tables that are too many to look at."""
_GROUPS: Final = frozenset({"thead", "tbody", "tfoot"})


def visible_text(document: turbohtml.Document) -> str:
    """What a reader sees of a page, in one line: no markup, scripts or styles, words of different blocks kept
    apart.

    >>> visible_text(turbohtml.parse("<p>one</p><p>t<b>w</b>o<script>x</script>"))
    'one two'
    """
    if not grows(document):
        return " ".join(document.to_text().split())
    hidden = {element.text for tag in ("script", "style", "template") for element in document.select(tag)}
    body = document.select_one("body")
    return (
        " ".join(" ".join(part for part in body.strings if part not in hidden).split())
        if body is not None
        else ""
    )


def grows(document: turbohtml.Document) -> bool:
    """Whether the layout of tables, which pads every row to the widest, could make megabytes out of a small
    page: the more so where tables lie in tables."""
    tables = document.select("table")
    nested = len(tables) > 1 and document.select_one("table table") is not None
    if nested and document.select_one("table " * _DEEP) is not None:
        return True
    total, sizes = 0, dict[turbohtml.Element, int]()
    for table in reversed(tables):  # what lies in a table comes before it
        size = _laid_out(table, sizes)
        total += size
        if total > PADDED:
            return True
        if nested:
            sizes[table] = size
    return False


def _laid_out(table: turbohtml.Element, sizes: dict[turbohtml.Element, int]) -> int:
    """Characters to which a table may grow: rows times columns times the largest cell, with the tables (of
    `sizes`) in it."""
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
