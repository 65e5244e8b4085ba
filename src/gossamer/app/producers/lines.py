"""Long lists: a file of URLs or JSON lines, gzipped or not, and standard input. Never more than a batch is in
memory."""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, Any, cast

from gossamer.app.producers.source import BATCH, SHORT, UrlBatch
from gossamer.app.targets import LONGEST, Rejected, parsed
from gossamer.errors import UsageError
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

PART = 1 << 18
"""Bytes of lines that are read at once."""
PATIENCE = 2.0
"""Seconds in which standard input is waited for before the crawl begins with what came."""


class List:
    """A file. Its position: bytes (of what is unpacked) and lines read, and the size that the file had. A
    last line that is not ended is read, and lies behind it: somebody may be writing it."""

    beside = "*"

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, f"list {path.resolve()}"
        self._file: IO[bytes] | None = None
        self._raw: IO[bytes] | None = None
        """What a gzipped one is read from."""

    async def open(self, collector: Collector) -> None:
        """Open it, and read a byte, so that what cannot be read is known now."""
        try:
            self._file = await asyncio.to_thread(self._opened)
        except (OSError, EOFError) as error:
            raise _unreadable(self.path, error) from error

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """From the byte on where it was; from the start when the file is shorter than it was."""
        at = position or {"at": 0, "line": 0, "size": 0}
        size = self.path.stat().st_size
        if size < at["size"]:
            at = {"at": 0, "line": 0, "size": 0}
        number, offset = at["line"], at["at"]
        try:
            assert self._file is not None
            await asyncio.to_thread(self._file.seek, offset)
            while part := await asyncio.to_thread(self._part):
                lines = part.split(b"\n")
                ended = part.endswith(b"\n") or len(lines[-1]) >= LONGEST
                if part.endswith(b"\n"):
                    lines.pop()
                requests, rejected = taken(lines, str(self.path), number)
                number += len(lines) - (not ended)
                offset = self._file.tell() - (0 if ended else len(lines[-1]))
                share = min(1.0, self._packed() / size) if size else 1.0
                yield UrlBatch(requests, rejected, {"at": offset, "line": number, "size": size}, share)
        except (OSError, EOFError) as error:
            raise _unreadable(self.path, error) from error

    async def added(self, batch: UrlBatch) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Close the file."""
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
        """Some lines; of one that is too long its beginning."""
        assert self._file is not None
        part = self._file.read(PART)
        if not part or part.endswith(b"\n"):
            return part
        rest = more = self._file.readline(LONGEST)
        while len(more) == LONGEST and not more.endswith(b"\n"):
            more = self._file.readline(LONGEST)
        return part + rest

    def _packed(self) -> int:
        file = self._raw or self._file
        assert file is not None
        return file.tell()


def taken(lines: list[bytes], source: str, number: int) -> tuple[list[Request], list[Rejected]]:
    """The requests of lines, and what is none; `number` lines came before."""
    requests, rejected = [], []
    for number, raw in enumerate(lines, number + 1):  # noqa: B020 - it goes on from there
        found = parsed(raw, source, number)
        if isinstance(found, Request):
            requests.append(found)
        elif found is not None:
            rejected.append(found)
    return requests, rejected


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


class Input:
    """Standard input, read by a thread of its own that waits while nobody takes its lines. It has no
    position."""

    name, beside = "stdin", "*"

    def __init__(self) -> None:
        self._parts: queue.Queue[bytes] = queue.Queue(8)
        self._head: list[bytes] = []
        self._ended = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def short(self) -> list[bytes] | None:
        """All lines, when there are few and they end soon; else None, and they come in `batches`."""
        deadline = time.monotonic() + PATIENCE
        while not self._ended and sum(map(len, self._head)) < SHORT:
            try:
                part = self._parts.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            self._ended = not part
            self._head.append(part)
        return b"".join(self._head).split(b"\n") if self._ended else None

    async def open(self, collector: Collector) -> None:
        """It is open."""

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """As they come; a batch is not waited for longer than its first line."""
        number, rest, over = 0, b"", False
        async for part in self._all():
            if over:  # within a line that is too long
                _, newline, part = part.partition(b"\n")
                if not newline:
                    continue
            whole, newline, rest = (rest + part).rpartition(b"\n")
            lines = (whole + newline).removesuffix(b"\n").split(b"\n") if whole + newline else []
            if over := len(rest) >= LONGEST:
                lines, rest = [*lines, rest[:LONGEST]], b""
            for some in (lines[j : j + BATCH] for j in range(0, len(lines), BATCH)):
                requests, rejected = taken(some, "stdin", number)
                number += len(some)
                yield UrlBatch(requests, rejected, None)
        if rest:
            yield UrlBatch(*taken([rest], "stdin", number), None)

    async def added(self, batch: UrlBatch) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """The thread ends with the process."""

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
    """What comes, as it comes; past the file's buffer, whose lock would be held when the program ends while
    nothing comes."""
    read = getattr(file, "raw", file).read
    while part := read(PART):
        yield part
