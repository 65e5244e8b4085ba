"""Processes that read stored pages: forked, each takes every n-th batch, and hands lines of items over a
pipe, in order.

A page that ends its process (a fault of a parser written in C, a site file's) is told by a note in memory
that both share: another process goes on where that one was, and a page that ended two is not read.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence

import msgspec

from gossamer.collectors.archive.answers import blocked
from gossamer.collectors.archive.collector import ArchiveCollector
from gossamer.errors import GossamerError
from gossamer.items.assets import REFERENCES
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, RequestContext, Row
from gossamer.parsing.html import DEEP, deep
from gossamer.parsing.limits import Limits, is_costly, is_html, limit_bytes, limit_seconds, virtual_size
from gossamer.sinks.jsonl import lines
from gossamer.url import origin
from gossamer.worker.link_intake import Read, Taken
from gossamer.worker.reader import Reader

BATCH = 100
DEATHS, LOST = 2, 3
"""Processes that a page may end before it is not read any more; that may be killed while they read none."""
_SIZE, _NUMBER = struct.Struct("<I"), struct.Struct("<q")


class ParsedBatch(msgspec.Struct, array_like=True):
    """What a batch of pages gave. `items`: JSON lines."""

    pages: int = 0
    """Pages that a site function read."""
    passed: int = 0
    """Answers that are none: redirects, errors, blocks, robots.txt, sitemaps, pages that no site reads."""
    unread: int = 0
    """Answers that an index, or a line, names, and that are not there any more."""
    items: int = 0
    rejected: int = 0
    lines: bytes = b""
    failed: list[tuple[str, str]] = []
    """(URL, why) of pages that could not be read."""


class NoLinks:
    """Takes no link."""

    def voucher(self, claim: Claim) -> str:
        """Nobody's."""
        return ""

    def request(self, request: Request, taken: Taken, *given: object, **more: object) -> None:
        """It is not taken."""


class Note:
    """Which page of its batch a process reads, where its death leaves it; costs 0.2 us a page."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, _NUMBER.size)
        self.deaths: Counter[str] = Counter()
        """How many processes each page ended, by its key."""
        self.slow: set[str] = set()
        """Pages that took more CPU time than they may."""

    def too_complex(self, key: str) -> bool:
        """Whether a page took more CPU time than it may."""
        return key in self.slow

    def begins(self, number: int) -> None:
        """The page of that number is read from now on; -1: none."""
        _NUMBER.pack_into(self._map, 0, number)

    @property
    def at(self) -> int:
        """The page that was being read, or -1."""
        return int(_NUMBER.unpack_from(self._map)[0])


def read(
    reader: Reader, why: list[str], archive: ArchiveCollector, note: Note, keys: Sequence[str]
) -> ParsedBatch:
    """The items of a batch of stored pages. `why` is where the reader leaves the reason of a failure."""
    out, rows = ParsedBatch(failed=[]), list[Row]()
    for number, key in enumerate(keys):
        note.begins(number)
        url = key.partition(" ")[0]
        try:
            kept = archive.find(key)
        except OSError:
            kept = None
        if kept is None:
            out.unread += 1
            continue
        if kept.status >= 300 or blocked(kept) or _infrastructure(url, kept.asked):
            out.passed += 1
            continue
        request = _request(url, kept.asked)
        page = archive.page(request, kept)
        got: Read | None = None
        if not isinstance(page, Failure):
            page.collector, page.rung = kept.asked.collector, kept.asked.rung
            if key in note.deaths and (reason := _ends(page, note.deaths[key], note.too_complex(key))):
                reader.keep(page, request, reason)
                got = Read([], Taken(), error="crash" if not note.too_complex(key) else "too-complex")
            else:
                got = _again(reader, request, page)
        if got is None:
            out.passed += 1
            continue
        out.pages += 1
        if got.error is not None:
            out.failed.append((url, why.pop() if why else got.error))
        why.clear()
        rows += got.rows
    note.begins(-1)
    whole = [row for row in rows if type(row.data) is dict and "_key" in row.data]
    out.rejected, out.lines = len(rows) - len(whole), lines(whole)
    out.items = sum(row.kind != REFERENCES for row in whole)
    return out


def _again(reader: Reader, request: Request, page: Page) -> Read | None:
    """The items of a page. A costly page has limits: without memory it is `too-complex`; CPU time beyond them
    ends this process."""
    claim = Claim(0, 0, "", request)
    if not (is_html(page.content_type) and is_costly(page.body)):
        return reader.again(claim, page)
    limits = Limits()
    limits.begin(page.body, virtual_size())
    try:
        return reader.again(claim, page)
    except MemoryError:
        why = f"too-complex: it took more than {limit_bytes(page.body) >> 20} MiB of memory"
    finally:
        limits.end()
    reader.keep(page, request, why)
    return Read([], Taken(), error="too-complex")


def _request(url: str, asked: RequestContext) -> Request:
    return Request(
        url,
        asked.depth,
        referrer=asked.referrer,
        hops=asked.hops,
        method=asked.method,
        body=asked.body,
        use=asked.use,
        carry=asked.carry,
    )


def _ends(page: Page, deaths: int, slow: bool) -> str:
    """Why a page that ended so many processes is not read again; '' where it may be."""
    if slow:
        return f"too-complex: it took more than {limit_seconds(page.body):.0f} s of CPU time"
    if deaths >= DEATHS:
        return f"it ended {deaths} processes that read it"
    return (
        f"it ended a process, and its elements lie more than {DEEP} deep"
        if deep(page.body, page.content_type)
        else ""
    )


def _infrastructure(url: str, asked: RequestContext) -> bool:
    """Whether an answer is no page of the site: robots.txt, a sitemap, a file."""
    return (asked.use or "").startswith("@") or (
        url.endswith("/robots.txt") and url == f"{origin(url)}/robots.txt"
    )


Make = Callable[[Note], Callable[[Sequence[str]], ParsedBatch]]
"""Called in each process: what reads a batch there."""


def over(batches: Sequence[Sequence[str]], processes: int, make: Make) -> Generator[ParsedBatch, None, None]:
    """The batches read, in their order, by so many processes. Ends them when it is left. Raises GossamerError
    where they do not live."""
    count = min(processes, len(batches))
    workers = [ReparseProcess(batches[at::count], make) for at in range(count)]
    try:
        for number in range(len(batches)):
            yield workers[number % count].take()
    finally:
        for worker in workers:
            worker.end()


class ReparseProcess:
    """Reads batches, one after the other; when it dies, another takes its place."""

    def __init__(self, batches: Sequence[Sequence[str]], make: Make) -> None:
        self._batches, self._make, self._note = batches, make, Note()
        self._taken = self._lost = 0
        self._pid, self._pipe = _begin(batches, make, self._note)

    def take(self) -> ParsedBatch:
        """What came of the next batch."""
        while True:
            try:
                data = _exactly(self._pipe, _SIZE.unpack(_exactly(self._pipe, _SIZE.size))[0])
            except EOFError:
                self._again()
                continue
            self._taken += 1
            return msgspec.msgpack.decode(data, type=ParsedBatch)

    def _again(self) -> None:
        """It died: what it had made was taken, so it was at the next batch; if at a page of it, that is to
        blame."""
        code = self._ended()
        if self._note.at >= 0:
            key = self._batches[self._taken][self._note.at]
            self._note.deaths[key] += 1
            if code == -signal.SIGPROF:
                self._note.slow.add(key)
        elif code >= 0 or self._lost == LOST:
            raise GossamerError(
                f"a process that reads pages ended ({code}), and no page of its was the reason"
            )
        else:
            self._lost += 1
        self._note.begins(-1)
        self._pid, self._pipe = _begin(self._batches[self._taken :], self._make, self._note)

    def end(self) -> None:
        """Kill it."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._ended()

    def _ended(self) -> int:
        """Its exit code, or the signal that killed it as a negative number."""
        os.close(self._pipe)
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _begin(batches: Sequence[Sequence[str]], make: Make, note: Note) -> tuple[int, int]:
    """Fork a process for these batches; its id, and the pipe that it writes to."""
    sys.stdout.flush()
    sys.stderr.flush()
    out, into = os.pipe()
    if pid := os.fork():
        os.close(into)
        return pid, out
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(out)
        one = make(note)
        for keys in batches:
            data = msgspec.msgpack.encode(one(keys))
            rest = memoryview(_SIZE.pack(len(data)) + data)
            while rest:
                rest = rest[os.write(into, rest) :]
        code = 0
    except BrokenPipeError:
        code = 0
    except Exception as error:  # noqa: BLE001 - the parent hears of it by the pipe's end
        print(f"gossamer: a reading process failed: {type(error).__name__}: {error}", file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


def _exactly(pipe: int, size: int) -> bytes:
    parts, left = [], size
    while left:
        part = os.read(pipe, min(left, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
