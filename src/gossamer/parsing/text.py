"""The text of a page."""

from __future__ import annotations

from typing import Final, Literal

import turbohtml

from gossamer.config.optional_deps import install
from gossamer.model.media_types import Body, octets
from gossamer.parsing.encodings import decode
from gossamer.parsing.html import parse

_PADDED: Final = 4_000_000
"""Characters to which the tables of a page may grow."""
_DEEP: Final = 9
"""Tables in tables that are too many to look at."""
_GROUPS: Final = frozenset({"thead", "tbody", "tfoot"})


_LARGE: Final = 3_000_000
"""Bytes of a page that trafilatura is asked for, and"""
_TAGS: Final = 60_000
"""tags in it: it takes 20 times as long as ours."""
_SAME: Final = 0.6
"""Share of the words of two extractors from which on they found the same text."""

Quality = Literal["fast", "best"]


def main_text(
    body: Body, url: str | None = None, quality: Quality = "fast", content_type: str | None = None
) -> str:
    """The text of a page's article: no navigation, comments, captions; blocks apart by an empty line. Takes
    any bytes.

    `fast` is turbohtml with our own filter (1 to 2 ms a page); `best` asks trafilatura, too, and takes the
    longer of the two where they found different things (extra `text`). Raises RuntimeError when that is
    missing, ValueError for another quality; a page without text is an empty text.

    >>> main_text(b"<nav><a href=/>Home</a></nav><h1>Cats</h1><p>A cat is a small animal that sleeps, and then sleeps again.</p>")
    'Cats\\n\\nA cat is a small animal that sleeps, and then sleeps again.'
    """
    if quality not in ("fast", "best"):
        raise ValueError(f"quality={quality!r}: it is fast or best")
    body = octets(body)
    return text_of(parse(body, content_type, url).tree, body, url, quality, content_type)


def text_of(
    tree: turbohtml.Document,
    body: bytes,
    url: str | None,
    quality: Quality = "fast",
    content_type: str | None = None,
) -> str:
    """`main_text` of a page that is parsed already."""
    from gossamer.parsing.article import blocks

    ours = "\n\n".join(block.text for block in blocks(tree))
    if quality == "fast":
        return ours
    try:
        import trafilatura
    except ImportError as error:
        raise RuntimeError(f'quality="best" needs trafilatura ({error}): {install("text")}') from None
    if len(body) > _LARGE or body.count(b"<") > _TAGS:
        return ours
    try:
        theirs = (
            trafilatura.extract(decode(body, content_type), url=url, fast=True, include_comments=False) or ""
        )
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, AssertionError):
        return ours
    return ours if _alike(ours, theirs) else max(ours, theirs, key=len)


def _alike(one: str, other: str) -> bool:
    """Whether most words of one of two texts are in the other."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) >= _SAME * max(1, min(len(words), len(others))) and bool(words) == bool(others)


def markdown(body: Body, url: str | None = None, content_type: str | None = None) -> str:
    """The article of a page as Markdown (GitHub's), with its heading; links are absolute where `url` is
    given. Takes any bytes, never raises; a page without an article is whole, but for navigation and forms.

    >>> markdown(b"<h1>Cats</h1><p>They <b>sleep</b> in a <a href=/box>box</a>.<ul><li>always</ul>", "https://example.com/")
    '# Cats\\n\\nThey **sleep** in a [box](https://example.com/box).\\n\\n- always'
    """
    from gossamer.parsing.article import marked_down

    page = parse(body, content_type, url)
    return marked_down(page, _grows(page.tree))


def visible_text(document: turbohtml.Document) -> str:
    """What a reader sees of a page, in one line: no markup, scripts or styles, words of different blocks kept
    apart.

    >>> visible_text(turbohtml.parse("<p>one</p><p>t<b>w</b>o<script>x</script>"))
    'one two'
    """
    if not _grows(document):
        return " ".join(document.to_text().split())
    hidden = {element.text for tag in ("script", "style", "template") for element in document.select(tag)}
    body = document.select_one("body")
    return (
        " ".join(" ".join(part for part in body.strings if part not in hidden).split())
        if body is not None
        else ""
    )


def _grows(document: turbohtml.Document) -> bool:
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
        if total > _PADDED:
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
