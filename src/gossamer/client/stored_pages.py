"""Reads the stored pages of an earlier crawl (docs/archive.md). Programs use this module to extract more data
from the pages. A program can run a site file on all stored pages, or read single pages itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gossamer.collectors.archive.collector import NOT_STORED
from gossamer.collectors.archive.warc import WarcArchive
from gossamer.collectors.http.decoding import BadCoding, decode
from gossamer.errors import UsageError
from gossamer.model.page import REDIRECTS
from gossamer.url.redirects import redirect_target

MAX_BODY = 16 << 20
UNSTORED = NOT_STORED
"""When a crawl reads an archive and the archive lacks a page, the crawl receives this body with the status
404."""


class StoredPage(NamedTuple):
    """A stored response with its decoded body. `time`: the time of the fetch, in seconds since the epoch."""

    url: str
    status: int
    body: bytes
    time: float
    location: str | None = None
    """The absolute URL of the target of a redirect, or None."""


def read_warc(path: str) -> Iterator[StoredPage]:
    """Yields the last response of each URL in a WARC file or in a folder of WARC files. Damaged records are
    skipped. Raises UsageError if a file cannot be read."""
    try:
        archive = WarcArchive(Path(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    try:
        for url in archive.urls():
            found = archive.find(url, MAX_BODY)
            if found is not None:
                coding = next((value for name, value in found.headers if name == "content-encoding"), "")
                try:
                    body = decode(found.body, coding, MAX_BODY, cut=True)
                except BadCoding:
                    continue
                yield StoredPage(url.partition(" ")[0], found.status, body, found.at)
    finally:
        archive.close()


class StoredPages:
    """The stored responses of an archive, by URL. The archive can be of any kind (docs/archive.md). This
    class is a context manager. Raises ConfigError if the archive cannot be read."""

    def __init__(self, path: str) -> None:
        from gossamer.collectors.archive.collector import archive_collector

        self._opened = archive_collector(path)

    def __enter__(self) -> StoredPages:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.shut()

    def get(self, url: str) -> StoredPage | None:
        """Returns the last stored response of a URL. Returns None if no response is stored or if the response
        is damaged."""
        try:
            found = self._opened.find(url)
        except OSError:
            return None
        if found is None:
            return None
        headers = {name.lower(): value for name, value in found.headers}
        try:
            body = decode(found.body, headers.get("content-encoding", ""), MAX_BODY, cut=True)
        except BadCoding:
            return None
        return StoredPage(url, found.status, body, found.at or 0.0, _target(found.status, headers, url))


def _target(status: int, headers: dict[str, str], url: str) -> str | None:
    location = headers.get("location") if status in REDIRECTS else None
    return redirect_target(location, url) if location else None


def archives_of(crawl: str, data: str) -> list[str]:
    """Returns the paths of the pages that a crawl stored on this machine. `data`: the data folder. Raises
    UsageError if the crawl does not exist, or if the crawl stored no pages on this machine."""
    from gossamer.sites.manifest import read_manifest

    folder = Path(data) / crawl
    if not folder.is_dir():
        raise UsageError(f"{crawl}: there is no such file, and no crawl of this name in {data}")
    found = [one.removeprefix("objects:") for one in read_manifest(folder).archives]
    here = [one for one in found if "://" not in one and Path(one).exists()]
    if not here:
        raise UsageError(f"the crawl {crawl} stored no pages on this machine: crawl with -o pages.warc.gz")
    return here


def read_stored_pages(
    stored: Sequence[str], site_file: str, folder: str, processes: int, tell: Callable[[str], None]
) -> str:
    """Reads each stored page once with the page functions of a site file. Returns the path of the JSON Lines
    file that contains the items. `folder`: the folder for the JSON Lines file and for the progress of the
    run. If a run is stopped, the next run continues from the stored progress. `tell`: a function that
    receives messages for the user. Raises GossamerError."""
    from gossamer.app.reparse.runner import ReparseRun
    from gossamer.sites.loading import load_all

    run = ReparseRun(
        Path(folder), [Path(one) for one in stored], load_all([site_file], {}), processes=processes
    )
    found = run.work()
    for line in found.broken:
        tell(line)
    tell(f"{found.read:,} stored responses were read; {found.items:,} are pages with a text")
    return found.items_file
