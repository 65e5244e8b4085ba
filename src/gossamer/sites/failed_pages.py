"""Keeps pages that a site could not read, so that they can be replayed. Failed pages are stored in
`<data>/<crawl>/failed/` as `<hash>.html` and `<hash>.json`, the format that `check` reads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import xxhash

from gossamer.config.data_files import make_folder, open_file
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.sites.site_logs import PROBLEMS

MAX_PAGES = 1000
"""Maximum number of failed pages that are stored per crawl."""
MAX_PAGE_BYTES = 4 << 20
"""Maximum size in bytes of a failed page that is stored. If a failed page is larger, gossamer logs the
failure and does not store the page."""


MAX_REPORTED_ERRORS = 5
"""Maximum number of distinct errors of failed pages that are reported individually."""


MAX_LOGGED_REASONS = 1000
"""Maximum number of different reasons that a crawl logs above the level DEBUG."""


class FailureLog:
    """Stores the pages that a site could not read, and logs the reasons. The first page with each reason is
    logged as an error or a warning, with the traceback of the exception, and the others at the level DEBUG.
    `keep`: stores a page for replay."""

    def __init__(self, keep: Callable[[Page, Request, str], None]) -> None:
        self._keep, self._seen = keep, set[str]()

    def __call__(self, page: Page, request: Request, why: str, raised: BaseException | None = None) -> None:
        """Stores and logs a page. `raised`: the exception of the page function."""
        self._keep(page, request, why)
        is_new = why not in self._seen and len(self._seen) < MAX_LOGGED_REASONS
        if is_new:
            self._seen.add(why)
        level = logging.DEBUG if not is_new else logging.WARNING if raised is None else logging.ERROR
        logging.getLogger(PROBLEMS).log(level, "%s: %s", page.url, why, exc_info=raised if is_new else None)


def failure_reasons(folder: Path, since: float = 0.0) -> list[tuple[str, int, str]]:
    """Returns the reasons why pages could not be read, the most frequent reason first. Each entry consists of
    the reason, the number of pages and the URL of one page. `since` is a time in seconds since the epoch.
    Pages that were kept before this time are ignored."""
    from gossamer.sites.check import Meta

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


class FailedPages:
    """A folder of at most MAX_PAGES failed pages. If a page cannot be written, it is skipped and the crawl
    continues."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._full = False

    def keep(self, page: Page, request: Request, why: str) -> None:
        """Stores a page with the reason for its failure. Replaces an earlier page of the same URL."""
        from gossamer.sites.check import Meta

        if len(page.body) > MAX_PAGE_BYTES:
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
            self._full = sum(1 for _ in self.folder.glob("*.html")) >= MAX_PAGES
        return not self._full
