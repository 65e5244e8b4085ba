"""Pages that a site could not read, kept for replay: `<data>/<crawl>/failed/<hash>.html` and `.json`, as `check` reads them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import xxhash

from gossamer.page import Page
from gossamer.request import Request
from gossamer.sites.check import Meta

MOST = 1000
"""Pages kept."""
LARGEST = 4 << 20
"""Bytes of a page that is kept; larger ones are told of in the log alone."""


class Failed:
    """Keeps pages in a folder, at most MOST. What cannot be written is not kept: the crawl goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._full = False

    def keep(self, page: Page, request: Request, why: str) -> None:
        """Keep a page with the reason; the page of a URL once, the last one."""
        if len(page.body) > LARGEST:
            return
        file = self.folder / f"{xxhash.xxh3_128_hexdigest(page.url.encode())}.html"
        try:
            if not file.exists() and not self._room():
                return
            meta = Meta(
                page.url, page.status, page.content_type or "", request.use, request.carry, request.depth, why[:2000]
            )
            file.write_bytes(page.body)
            file.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n")
        except OSError:
            self._full = True

    def _room(self) -> bool:
        if not self._full:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._full = sum(1 for _ in self.folder.glob("*.html")) >= MOST
        return not self._full
