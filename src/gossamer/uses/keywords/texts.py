"""Reads the stored texts of pages. Each text is a line of JSON. The lines are written by a crawl that uses
`page_site`, or by another program. Files are read in chunks, so the memory does not depend on the number of
pages."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from gossamer.errors import UsageError
from gossamer.uses.keywords.page_zones import primary_language, words_of

CHUNK_BYTES: Final = 4 << 20
PAGES_PER_CHUNK: Final = 1 << 17
"""The size of the range of page numbers that is reserved for each chunk. A chunk of 4 MiB contains fewer than
2 ** 17 pages, because each line is longer than 64 bytes."""


class StoredText(msgspec.Struct, kw_only=True):
    """The texts of a stored page by zone (see `PageText`). Only `url` is required."""

    url: str
    title: str | None = None
    language: str | None = None
    headings: list[str] = []
    text: str | None = None
    alt: list[str] = []
    meta: list[str] = []
    anchors: list[tuple[str, str]] = []
    sketch: bytes = b""
    seen_at: str | None = msgspec.field(default=None, name="_seen_at")
    """The time of the fetch (RFC 3339), which each row of a crawl contains."""
    time: str | float | None = None
    """The time of the fetch in a line of another program: RFC 3339, or seconds since the epoch."""

    @property
    def fetched_at(self) -> float:
        """The time of the fetch in seconds since the epoch, or 0.0 if it is not known."""
        given = self.seen_at or self.time
        if not isinstance(given, str):
            return given or 0.0
        try:
            found = datetime.fromisoformat(given)
        except ValueError:
            return 0.0
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()

    @property
    def body(self) -> str:
        """The main text in NFC, or ''."""
        text = self.text or ""
        return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)

    @property
    def code(self) -> str:
        """The primary code of the language, or ''."""
        return primary_language(self.language)

    def other_zones(self) -> tuple[str, str, str, str]:
        """Returns the texts of title, headings, alternative texts and description."""
        return self.title or "", words_of(self.headings), words_of(self.alt), words_of(self.meta)


class Chunk(NamedTuple):
    """A part of a file of texts: the bytes from `start` to `end`. `number`: the number of the chunk, counted
    over all files."""

    number: int
    path: str
    start: int
    end: int


class Line(NamedTuple):
    """The texts of a page, the number of the page, and the position of the page's line in the file."""

    number: int
    page: StoredText
    start: int
    length: int


_decoder = msgspec.json.Decoder(StoredText)


def chunks_of(paths: Sequence[str]) -> list[Chunk]:
    """Divides files into chunks. Each chunk ends after a whole line. Raises UsageError for a file that cannot
    be read."""
    chunks: list[Chunk] = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                start = 0
                while start < size:
                    end = min(start + CHUNK_BYTES, size)
                    if end < size:
                        file.seek(end)
                        file.readline()
                        end = file.tell()
                    chunks.append(Chunk(len(chunks), path, start, end))
                    start = end
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return chunks


def read_chunk(chunk: Chunk) -> Iterator[Line | None]:
    """Yields the pages of a chunk, and None for each line that is not a page."""
    number = chunk.number * PAGES_PER_CHUNK
    with open(chunk.path, "rb") as file:
        file.seek(chunk.start)
        at = chunk.start
        while at < chunk.end:
            line = file.readline()
            if not line:
                return
            page = decode_line(line)
            if page is not None:
                yield Line(number, page, at, len(line))
                number += 1
            elif line.strip():
                yield None
            at += len(line)


def decode_line(line: bytes) -> StoredText | None:
    """Decodes a line, and returns the page, or None if the line does not contain a page."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_line(path: str, start: int, length: int) -> StoredText | None:
    """Returns the page at a position in a file, or None if the page is no longer there."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            return decode_line(file.read(length))
    except OSError:
        return None


def site_of(url: str) -> str:
    """Returns the site of a page: the host without `www.`, and the port if it is not the default port.

    >>> site_of("https://www.example.com/a"), site_of("http://127.0.0.1:8000/")
    ('example.com', '127.0.0.1:8000')
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
        return f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return ""
