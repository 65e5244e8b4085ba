"""Pages that a site could not read, kept for replay: `<data>/<crawl>/failed/<hash>.html` and `.json`, as
`check` reads them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import xxhash

from gossamer.config.data_files import make_folder, open_file
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.sites.check import Meta

MOST = 1000
"""Pages kept."""
LARGEST = 4 << 20
"""Bytes of a page that is kept; larger ones are told of in the log alone."""


TOLD = 5
"""Different errors that are told one by one."""


def reasons(folder: Path, since: float = 0.0) -> list[tuple[str, int, str]]:
    """Why pages that were kept since a moment (seconds since the epoch) could not be read, how many for each
    reason, and the URL of one; the most frequent first."""
    counts, urls = Counter[str](), dict[str, str]()
    for file in sorted(folder.glob("*.json")):
        try:
            if file.stat().st_mtime < since:
                continue
            meta = msgspec.json.decode(file.read_bytes(), type=Meta)
        except (OSError, msgspec.MsgspecError):
            continue
        counts[meta.why] += 1
        urls.setdefault(meta.why, meta.url)
    return [(why, count, urls[why]) for why, count in counts.most_common()]


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
                page.url,
                page.status,
                page.content_type or "",
                request.use,
                request.carry,
                request.depth,
                why[:2000].encode("utf-8", "replace").decode(),
            )
            with open(file, "wb", opener=open_file) as into:
                into.write(page.body)
            with open(file.with_suffix(".json"), "wb", opener=open_file) as into:
                into.write(msgspec.json.format(msgspec.json.encode(meta), indent=2) + b"\n")
        except OSError:
            self._full = True

    def _room(self) -> bool:
        if not self._full:
            make_folder(self.folder)
            self._full = sum(1 for _ in self.folder.glob("*.html")) >= MOST
        return not self._full
