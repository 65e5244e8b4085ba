"""Reads the pages of a WARC, for programs that need all of them rather than a crawl's replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gossamer.collectors.archive.warc import WarcArchive
from gossamer.collectors.http.decoding import BadCoding, decode
from gossamer.errors import UsageError

MAX_BODY = 16 << 20


class StoredPage(NamedTuple):
    """A stored response with its decoded body. `time`: of the fetch, in seconds since the epoch."""

    url: str
    status: int
    body: bytes
    time: float


def read_warc(path: str) -> Iterator[StoredPage]:
    """Yields the last response of each URL in a WARC file or in a folder of them. Damaged records are left out.
    Raises UsageError if a file cannot be read."""
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
