"""Replays pages without a network, from a dict, a folder, a file or a WARC. Tests use this collector as a
fake for the HTTP collector.

For a URL without a stored response, the collector returns a page with status 404, so that a crawl of an
archive ends like a crawl of the web. No host counts as private, because the collector resolves no host names
and opens no connections. The size limits are the same as in a crawl of the web.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

from gossamer import url as urls
from gossamer.collectors.archive.answers import Source, StoredAnswer, answer_key, is_telling
from gossamer.collectors.http.decoding import BadCoding, TooLarge, decode
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.wall_clock import CLOCK

MAX_WIRE_BYTES, MAX_DECODED_BYTES = 16 << 20, 32 << 20
_HTML = ("content-type", "text/html; charset=utf-8")


NOT_STORED: Final = b"<!doctype html><title>Not in the archive</title>"
"""The body of the response to a request for a page that the archive lacks."""


class ArchiveCollector:
    """Returns the stored responses of a source. A stored response is returned for both GET and HEAD. `close`:
    a function that the collector calls when the collector is closed."""

    name = "archive"

    def __init__(
        self,
        source: Source,
        *,
        wire: int = MAX_WIRE_BYTES,
        decoded: int = MAX_DECODED_BYTES,
        truncate: bool = False,
        close: Callable[[], None] | None = None,
        skipped: list[str] | None = None,
        known: AnswerIndex | None = None,
    ) -> None:
        self._source, self._wire, self._decoded, self._truncate, self._close = (
            source,
            wire,
            decoded,
            truncate,
            close,
        )
        self._known = known
        self.skipped = skipped if skipped is not None else []
        """One line for each part of the archive that could not be read."""

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Returns the stored response, or a page with status 404."""
        began, now = time.perf_counter(), CLOCK.now()
        try:
            url = request.url.partition("#")[0]
            kept = self.find(name := answer_key(url, request.method, request.body))
            if kept is None and name != url:
                kept = self.find(url)
        except OSError as error:
            text = f"the archive cannot be read: {error.strerror or error}"
            return Failure("reset", text, now, time.perf_counter() - began, collector=self.name, sent=False)
        if kept is None:
            kept = StoredAnswer(404, [_HTML], NOT_STORED, now)
        return self.page(request, kept, began)

    def keys(self) -> list[str]:
        """Returns the keys of all responses, in the fastest order for reading the responses. Raises
        ConfigError if the source cannot list its responses."""
        if self._known is None:
            raise ConfigError(
                "the pages of an archive can be listed only if it is a WARC or a folder of plain objects"
            )
        return self._known.urls()

    @property
    def broken(self) -> list[str]:
        """Returns one line per truncated or damaged file. Each line contains the offset of the damage and the
        reason."""
        return [] if self._known is None else self._known.broken

    def again(self) -> None:
        """Reopens the files. A forked process must call this method, because otherwise the parent and the
        child process share the file positions."""
        if self._known is not None:
            self._known.again()

    def find(self, name: str) -> StoredAnswer | None:
        """Returns the response with this key (see `answer_key`), or None. Raises OSError."""
        return self._source(name, self._wire)

    def page(self, request: Request, kept: StoredAnswer, began: float | None = None) -> Page | Failure:
        """Converts a stored response to a page. Returns a Failure if the body is too large or has several
        content codings. `began`: the value of `time.perf_counter()` when the request began."""
        body, size, now = kept.body, max(kept.size, len(kept.body)), CLOCK.now()
        try:
            if size > self._wire and not self._truncate:
                raise TooLarge
            coding = ",".join(value for name, value in kept.headers if name == "content-encoding")
            body = decode(body[: self._wire], coding, self._decoded, cut=self._truncate)
        except (TooLarge, BadCoding) as error:
            large = isinstance(error, TooLarge)
            reason, text = (
                ("too-large", "its body is too large")
                if large
                else ("content-type", f"it has too many content-codings: {error}")
            )
            return Failure(reason, text, now, 0.0, size, True, self.name, kept.status, sent=False)
        return Page(
            request.url,
            kept.status,
            list(kept.headers),
            b"" if request.method == "HEAD" else body,
            kept.at or now,
            0.0 if began is None else time.perf_counter() - began,
            size,
            self.name,
            kept.version,
            None,
            0,
        )

    async def close(self) -> None:
        """Closes the files."""
        self.shut()

    def shut(self) -> None:
        """Closes the files synchronously."""
        if self._close is not None:
            self._close()


def archive_collector(
    path: str,
    *,
    base: str | None = None,
    wire: int = MAX_WIRE_BYTES,
    decoded: int = MAX_DECODED_BYTES,
    truncate: bool = False,
) -> ArchiveCollector:
    """Returns a collector for the archive at a path. The archive is a WARC file, a folder of WARC files, an
    object archive, a folder of pages, or a single page. A WARC file is recognized by the extension `.warc` or
    `.warc.gz`, or by its first bytes.

    A folder of pages is a mirror with files named `HOST[:PORT]/PATH`, for example a folder that `wget -r`
    wrote. If `base` is given, the folder is a mirror of the site at this URL. A single page is the response
    for `base`, or for the first requested URL if `base` is None. Sizes are in bytes. Raises ConfigError if
    the path cannot be read.
    """
    if "://" in path:
        raise ConfigError(
            f"--archive {mask(path)}: a crawl replays only files on this machine. Copy it here, "
            "or use reparse."
        )
    where = Path(path)
    if base is not None and (base := urls.parse(base)) is None:
        raise ConfigError("the base of an archive must be a URL")
    bounds: dict[str, Any] = {"wire": wire, "decoded": decoded, "truncate": truncate}
    try:
        kept = _kept_in(where)
        if kept is not None:
            return ArchiveCollector(kept.find, **bounds, close=kept.close, skipped=kept.skipped, known=kept)
        if where.is_dir():
            from gossamer.collectors.archive.mirror import Mirror

            mirror = Mirror(where, base)
            return ArchiveCollector(mirror.find, **bounds, close=mirror.close)
    except OSError as error:
        raise ConfigError(f"the archive {path} cannot be read: {error.strerror or error}") from error
    from gossamer.collectors.archive.mirror import single_file

    return ArchiveCollector(single_file(where, base), **bounds)


def merge_archives(paths: Sequence[str]) -> ArchiveCollector:
    """Returns one collector for several archives. If a URL has several responses, the collector returns the
    latest conclusive response (see `is_telling`). Raises ConfigError."""
    opened = [archive_collector(path) for path in paths]
    if len(opened) == 1:
        return opened[0]

    several = MergedArchives(opened)
    return ArchiveCollector(several.find, known=several, close=several.close, skipped=several.skipped)


class MergedArchives:
    """Combines several archives into one archive with the interface of `AnswerIndex`."""

    def __init__(self, opened: Sequence[ArchiveCollector]) -> None:
        self._opened = opened
        self.skipped = [line for one in opened for line in one.skipped]
        self.broken = [line for one in opened for line in one.broken]

    def find(self, url: str, most: int) -> StoredAnswer | None:
        """Returns the latest conclusive response (see `is_telling`), or the latest response if no response is
        conclusive."""
        found = [kept for one in self._opened if (kept := one.find(url)) is not None]
        return max(found, key=lambda kept: (is_telling(kept), kept.at or 0.0), default=None)

    def urls(self) -> list[str]:
        """Returns the distinct response keys of all archives."""
        return list(dict.fromkeys(chain.from_iterable(one.keys() for one in self._opened)))

    def again(self) -> None:
        """Reopens the files of all archives."""
        for one in self._opened:
            one.again()

    def close(self) -> None:
        """Closes the files of all archives."""
        for one in self._opened:
            one.shut()


class AnswerIndex(Protocol):
    """The interface of archives that can list their responses. WARCs and object archives have this
    interface."""

    skipped: list[str]
    broken: list[str]

    def find(self, url: str, most: int) -> StoredAnswer | None: ...
    def urls(self) -> list[str]: ...
    def again(self) -> None: ...
    def close(self) -> None: ...


def _kept_in(where: Path) -> AnswerIndex | None:
    """Returns the index of the responses at a path, or None if the path is a folder of pages or a single
    page. Raises OSError."""
    if where.is_dir() and (where / "objects").is_dir() and any(where.glob("*.jsonl")):
        from gossamer.collectors.archive.object_archive import ObjectArchive as Objects

        return Objects(where)
    if where.is_dir():
        packed = any(one.name.endswith((".warc", ".warc.gz")) for one in where.iterdir())
    else:
        with where.open("rb") as file:
            packed = file.read(5) == b"WARC/" or where.name.endswith((".warc", ".warc.gz"))
    if packed:
        from gossamer.collectors.archive.warc import WarcArchive

        return WarcArchive(where)
    return None


def from_pages(pages: Mapping[str, str | bytes | StoredAnswer | Page]) -> ArchiveCollector:
    """Returns a collector for tests. The collector's responses are the given pages. `pages` maps URLs to
    pages. A page that is given as text or bytes becomes an HTML page with status 200.

    >>> import asyncio
    >>> asyncio.run(from_pages({"http://e.com/": "<p>x"}).collect(Request("http://e.com/"), {})).body
    b'<p>x'
    """
    found = {urls.parse(url) or url: _kept(page) for url, page in pages.items()}

    def find(url: str, most: int) -> StoredAnswer | None:
        return found.get(url)

    return ArchiveCollector(find)


def _kept(page: str | bytes | StoredAnswer | Page) -> StoredAnswer:
    if isinstance(page, StoredAnswer):
        return page
    if isinstance(page, Page):
        headers = [row for row in page.headers if row[0] != "content-encoding"]  # the body is already decoded
        return StoredAnswer(page.status, headers, page.body, page.fetched_at, page.wire, page.version)
    return StoredAnswer(headers=[_HTML], body=page.encode() if isinstance(page, str) else page)
