"""Reads long lists: a file of URLs or JSON lines, optionally compressed with gzip, or standard input. At most
one batch is in memory."""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, Any, cast

from gossamer.app.list_files import MAX_LINE_BYTES
from gossamer.app.producers.source import BATCH_URLS, SHORT_LIST_BYTES, UrlBatch
from gossamer.app.targets import Rejected, is_table, parse_line, table_requests
from gossamer.errors import UsageError
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

CHUNK_BYTES = 1 << 18
"""The number of bytes that are read in one step."""
STDIN_WAIT_S = 2.0
"""The maximum number of seconds for which a crawl waits at its start until standard input ends. If standard
input is still open after this wait, the crawl begins with the lines that were already received."""


class ListFile:
    """A file of lines. The position contains the number of decompressed bytes read, the number of lines read,
    and the size of the file at that time. A last line without a line end is read but not counted in the
    position, because another program may still be writing the line."""

    beside = "*"

    def __init__(self, path: Path, fields: tuple[str, ...] = ()) -> None:
        self.path, self.name, self._fields = path, f"list {path.resolve()}", fields
        self._file: IO[bytes] | None = None
        self._raw: IO[bytes] | None = None
        """The compressed file from which the decompressor reads, or None if the file is not compressed."""

    async def open(self, collector: Collector) -> None:
        """Opens the file and reads one byte, so that an unreadable file raises an error immediately."""
        try:
            self._file = await asyncio.to_thread(self._opened)
        except (OSError, EOFError) as error:
            raise _unreadable(self.path, error) from error

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields batches that begin at the position. If the file is now shorter than before, yields batches
        from the start of the file."""
        at = position or {"at": 0, "line": 0, "size": 0}
        size = self.size()
        if size < at["size"]:
            at = {"at": 0, "line": 0, "size": 0}
        if is_table(str(self.path)):
            async for batch in self._rows(at["at"], size):
                yield batch
            return
        number, offset = at["line"], at["at"]
        try:
            assert self._file is not None
            await asyncio.to_thread(self._file.seek, offset)
            while part := await asyncio.to_thread(self._part):
                lines = part.split(b"\n")
                ended = part.endswith(b"\n") or len(lines[-1]) >= MAX_LINE_BYTES
                if part.endswith(b"\n"):
                    lines.pop()
                requests, rejected = requests_of_lines(lines, str(self.path), number, self._fields)
                number += len(lines) - (not ended)
                offset = self._file.tell() - (0 if ended else len(lines[-1]))
                share = min(1.0, self._packed() / size) if size else 1.0
                yield UrlBatch(requests, rejected, {"at": offset, "line": number, "size": size}, share)
        except (OSError, EOFError) as error:
            raise _unreadable(self.path, error) from error

    async def _rows(self, begin: int, size: int) -> AsyncIterator[UrlBatch]:
        """Yields batches of a table's rows. The position contains the number of rows read."""
        rows, number = table_requests(str(self.path)), 0
        while some := await asyncio.to_thread(lambda: list(itertools.islice(rows, BATCH_URLS))):
            number += len(some)
            new = some[max(0, begin - (number - len(some))) :]
            requests = [one for one in new if isinstance(one, Request)]
            rejected = [one for one in new if isinstance(one, Rejected)]
            at = number - (len(some) < BATCH_URLS and not await asyncio.to_thread(self._ended))
            if new:
                yield UrlBatch(requests, rejected, {"at": at, "line": 0, "size": size})

    def _ended(self) -> bool:
        """Returns whether the last line of the file has a line end."""
        if self.path.suffix.lower() not in (".csv", ".tsv"):
            return True
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def size(self) -> int:
        """Returns the size of the file in bytes."""
        return self.path.stat().st_size

    async def added(self, batch: UrlBatch) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Closes the file."""
        for file in (self._file, self._raw):
            if file is not None:
                file.close()

    def _opened(self) -> IO[bytes]:
        file: IO[bytes] = open(self.path, "rb")  # noqa: SIM115 - held until close()
        if self.path.suffix == ".gz":
            from isal import igzip

            self._raw = file
            file = cast(IO[bytes], igzip.IGzipFile(fileobj=file, mode="rb"))  # type: ignore[no-untyped-call] # isal has no types
        file.read(1)
        file.seek(0)
        return file

    def _part(self) -> bytes:
        """Returns the next lines, or the beginning of a line that is too long."""
        assert self._file is not None
        part = self._file.read(CHUNK_BYTES)
        if not part or part.endswith(b"\n"):
            return part
        rest = more = self._file.readline(MAX_LINE_BYTES)
        while len(more) == MAX_LINE_BYTES and not more.endswith(b"\n"):
            more = self._file.readline(MAX_LINE_BYTES)
        return part + rest

    def _packed(self) -> int:
        file = self._raw or self._file
        assert file is not None
        return file.tell()


def requests_of_lines(
    lines: list[bytes], source: str, number: int, fields: tuple[str, ...] = ()
) -> tuple[list[Request], list[Rejected]]:
    """Parses lines. Returns the requests and the rejected lines. `number`: the number of lines that precede
    `lines` in the file."""
    requests, rejected = [], []
    for number, raw in enumerate(lines, number + 1):  # noqa: B020 - it goes on from there
        found = parse_line(raw, source, number, fields)
        if isinstance(found, Request):
            requests.append(found)
        elif found is not None:
            rejected.append(found)
    return requests, rejected


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


class StdinUrls:
    """Reads URLs from standard input. A thread reads the input. The thread reads at most a few chunks ahead
    of the consumer. Standard input has no position, so an interrupted read cannot be resumed."""

    name, beside = "stdin", "*"

    def __init__(self, fields: tuple[str, ...] = ()) -> None:
        self._fields = fields
        self._parts: queue.Queue[bytes] = queue.Queue(8)
        self._head: list[bytes] = []
        self._ended = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def short(self) -> list[bytes] | None:
        """Waits up to STDIN_WAIT_S seconds for the end of the input. Returns all lines if the input is short
        and ends during the wait. Otherwise returns None, and `batches` yields the lines."""
        deadline = time.monotonic() + STDIN_WAIT_S
        while not self._ended and sum(map(len, self._head)) < SHORT_LIST_BYTES:
            try:
                part = self._parts.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            self._ended = not part
            self._head.append(part)
        return b"".join(self._head).split(b"\n") if self._ended else None

    async def open(self, collector: Collector) -> None:
        """Does nothing."""

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields batches as they arrive. A batch contains the lines that have already arrived, and does not
        wait for further lines."""
        number, rest, over = 0, b"", False
        async for part in self._all():
            if over:  # the previous chunk ended inside a line that is too long
                _, newline, part = part.partition(b"\n")
                if not newline:
                    continue
            whole, newline, rest = (rest + part).rpartition(b"\n")
            lines = (whole + newline).removesuffix(b"\n").split(b"\n") if whole + newline else []
            if over := len(rest) >= MAX_LINE_BYTES:
                lines, rest = [*lines, rest[:MAX_LINE_BYTES]], b""
            for some in (lines[j : j + BATCH_URLS] for j in range(0, len(lines), BATCH_URLS)):
                requests, rejected = requests_of_lines(some, "stdin", number, self._fields)
                number += len(some)
                yield UrlBatch(requests, rejected, None)
        if rest:
            yield UrlBatch(*requests_of_lines([rest], "stdin", number, self._fields), None)

    async def added(self, batch: UrlBatch) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing. The thread that reads standard input ends with the process."""

    async def _all(self) -> AsyncIterator[bytes]:
        for part in self._head:
            yield part
        while not self._ended:
            try:
                part = self._parts.get_nowait()
            except queue.Empty:
                await asyncio.sleep(0.02)
                continue
            self._ended = not part
            yield part

    def _read(self) -> None:
        for part in _parts(sys.stdin.buffer):
            self._parts.put(part)
        self._parts.put(b"")


def _parts(file: Any) -> Iterator[bytes]:
    """Yields input as it arrives. The function bypasses the file's buffer, because a thread that waits for
    buffered input still holds the buffer's lock when the program ends."""
    read = getattr(file, "raw", file).read
    while part := read(CHUNK_BYTES):
        yield part
