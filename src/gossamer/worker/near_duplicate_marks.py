"""What a page says, as a sketch on its row: where pages are compared."""

from __future__ import annotations

import xxhash

from gossamer.model.minhash import Sketch, near
from gossamer.model.page import Page
from gossamer.model.visit import PageRecord, Row
from gossamer.parsing.html import Document


def mark(row: Row, page: Page, document: Document, nearly: bool) -> None:
    """Sketch a page that came (2xx) and says something; others are in no group. **Its tree is changed.**

    What is no HTML is compared byte for byte. `nearly`: not only what says the same.
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
    from gossamer.parsing.content_text import gist  # 12 ms: most crawls compare nothing

    return near(*gist(document.tree))


_NOTHING = xxhash.xxh3_128_hexdigest(b"")
