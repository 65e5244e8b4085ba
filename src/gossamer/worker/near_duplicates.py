"""Finds near-duplicate pages. Adds a MinHash sketch to the row of each page, and marks the rows of pages that
are equal or nearly equal to other pages of the crawl. Rows are marked before they are written. Each batch
needs one index lookup."""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from gossamer.model.interfaces import DuplicateIndex
from gossamer.model.minhash import GroupQuery, Placed, Sketch, make_sketch
from gossamer.model.page import Page
from gossamer.model.visit import PageRecord, Row, Visit
from gossamer.parsing.html import Document


def mark_row(row: Row, page: Page, document: Document, nearly: bool) -> None:
    """Adds a sketch to the row of a page if the page has status 2xx and content. A page without a sketch
    never belongs to a group of duplicates. **Changes the page's tree.**

    If a document has neither text nor elements (for example, non-HTML), its sketch is a hash of the bytes.
    `nearly`: whether nearly equal pages also count as duplicates.
    """
    record = row.data
    assert isinstance(record, PageRecord)
    record.group_id = record.copy = record.likeness = None
    if record.error is not None or not 200 <= page.status < 300:
        return
    if document.text_hash != _NOTHING:
        same = bytes.fromhex(document.text_hash)[:8]
        row.sketch = Sketch(same, _near(document) if nearly else b"")
    elif page.body and document.tree.select_one("body *") is None:
        row.sketch = Sketch(xxhash.xxh3_64_digest(page.body))


def _near(document: Document) -> bytes:
    from gossamer.parsing.content_text import (
        gist_of,
    )  # imported late, because the import takes 12 ms and most crawls do not compare pages

    return make_sketch(*gist_of(document.tree))


_NOTHING = xxhash.xxh3_128_hexdigest(b"")


class DuplicateMarker:
    """Finds the duplicates among the rows of one crawl, and marks these rows. If a visit is lost after its
    row was marked, a later visit of the page creates the row again. The index stores the new row under the
    same name, so the new row gets the same group of duplicates."""

    def __init__(self, index: DuplicateIndex) -> None:
        self._index = index

    async def mark(self, visits: Sequence[Visit]) -> None:
        """Writes the group of duplicates into each row, and adds the number of copies to the counts of the
        visits. Removes copies of items that are stored only once per group. Then adds to the visits the files
        to which the remaining items refer."""
        found = [(visit, row) for visit in visits for row in visit.rows if row.sketch is not None]
        if not found:
            return
        asked = [GroupQuery(row.kind, _name(row), row.sketch) for _, row in found if row.sketch is not None]
        for (visit, row), placed in zip(found, await self._index.place(asked), strict=True):
            row.sketch = None
            if isinstance(row.data, PageRecord):
                row.data.group_id, row.data.copy, row.data.likeness = placed[:3]
                _count(visit, placed)
            elif row.once and placed.copy is not None:
                visit.rows = [other for other in visit.rows if other is not row]
                visit.counts = {**visit.counts, "items": visit.counts.get("items", 0) - 1}
                visit.counts["dropped"] = visit.counts.get("dropped", 0) + 1
            elif isinstance(row.data, dict):
                row.data |= {"_group_id": placed.group, "_copy": placed.copy, "_likeness": placed.likeness}
        for visit in visits:
            if visit.later is not None:
                visit.later(visit)
                visit.later = None


def _name(row: Row) -> int:
    """Returns the name under which the index stores a row. The rows of a later visit of the same page have
    the same names."""
    page = row.data.get("_url", "") if isinstance(row.data, dict) else ""
    return xxhash.xxh3_64_intdigest(f"{row.kind}\n{row.key}\n{page}".encode("utf-8", "replace"))


def _count(visit: Visit, placed: Placed) -> None:
    word = placed.copy or ("" if placed.kept else "unkept")
    if word:
        visit.counts = {**visit.counts, f"dup:{word}": 1}
