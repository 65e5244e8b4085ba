"""The text of a page."""

from __future__ import annotations

from typing import Final

import turbohtml

_PADDED: Final = 4_000_000
"""Characters to which cells of one length may grow."""


def visible_text(document: turbohtml.Document) -> str:
    """What a reader sees of a page, in one line: no markup, scripts or styles, words of different blocks kept apart.

    >>> visible_text(turbohtml.parse("<p>one</p><p>t<b>w</b>o<script>x</script>"))
    'one two'
    """
    if not _grows(document):
        return " ".join(document.to_text().split())
    hidden = {element.text for tag in ("script", "style", "template") for element in document.select(tag)}
    body = document.select_one("body")
    return " ".join(" ".join(part for part in body.strings if part not in hidden).split()) if body is not None else ""


def _grows(document: turbohtml.Document) -> bool:
    """Whether the layout of tables, which pads every cell to the longest, could make megabytes out of a small page."""
    cells = document.select("td") + document.select("th")
    if len(cells) * len(document.text) <= _PADDED:
        return False
    if len(cells) * len(document.text) > 20 * _PADDED:
        return True
    return len(cells) * max(len(cell.text) for cell in cells) > _PADDED
