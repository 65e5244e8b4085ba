"""Processes that read stored pages. Each forked process reads every n-th batch and returns lines of items
through a pipe, in order.

Shared memory holds the number of the page that each process is reading. A page may kill the process that
reads it, through a fault in a parser written in C or in a site file. If a process dies, another process
continues with the first batch that has no result. A page that has killed two processes is not read again.
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
from contextlib import AbstractContextManager

import msgspec

from gossamer.collectors.archive.answers import is_blocked
from gossamer.collectors.archive.collector import ArchiveCollector
from gossamer.errors import GossamerError
from gossamer.items.assets import REFERENCES
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, RequestContext, Row
from gossamer.parsing.nesting import MAX_DEPTH, is_deep
from gossamer.parsing.page_cost import Limits, is_costly, is_html, limit_bytes, limit_seconds, virtual_size
from gossamer.sinks.jsonl import encode_lines
from gossamer.url import origin
from gossamer.worker.link_intake import ReadResult, TakenLinks
from gossamer.worker.reader import Reader

BATCH_PAGES = 100
MAX_DEATHS_PER_PAGE, MAX_LOST_PROCESSES = 2, 3
"""A page that has killed MAX_DEATHS_PER_PAGE processes is skipped. MAX_LOST_PROCESSES is the maximum number
of processes that may die while they are not reading a page."""
_SIZE, _NUMBER = struct.Struct("<I"), struct.Struct("<q")


class ParsedBatch(msgspec.Struct, array_like=True):
    """The result of a batch of pages. `lines`: the items as JSON lines."""

    pages: int = 0
    """The number of pages that a site function read."""
    passed: int = 0
    """The number of stored responses that no page function reads, such as redirects, errors, blocks,
    robots.txt, sitemaps, and pages outside all sites."""
    unread: int = 0
    """The number of stored responses that could not be loaded, for example because an index lists a response
    that its file no longer contains."""
    items: int = 0
    rejected: int = 0
    lines: bytes = b""
    failed: list[tuple[str, str]] = []
    """The URL of each page that could not be read, with the reason."""


class NoLinks:
    """A link intake that accepts no links."""

    def voucher(self, claim: Claim) -> str:
        """Returns ''."""
        return ""

    def request(self, request: Request, taken: TakenLinks, *given: object, **more: object) -> None:
        """Does nothing."""


class BatchPosition:
    """Records which page of its batch a process is reading. If the process dies, this record identifies the
    page. Recording a page takes 0.2 us."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, _NUMBER.size)
        self.deaths: Counter[str] = Counter()
        """Maps a page's key to the number of processes that the page has killed."""
        self.slow: set[str] = set()
        """Pages that used more CPU time than allowed."""

    def too_complex(self, key: str) -> bool:
        """Returns whether a page used more CPU time than allowed."""
        return key in self.slow

    def begins(self, number: int) -> None:
        """Records the number of the page that the process is reading. -1 means that the process is reading no
        page."""
        _NUMBER.pack_into(self._map, 0, number)

    @property
    def at(self) -> int:
        """The number of the page that the process is reading, or -1."""
        return int(_NUMBER.unpack_from(self._map)[0])


def read(
    reader: Reader, why: list[str], archive: ArchiveCollector, note: BatchPosition, keys: Sequence[str]
) -> ParsedBatch:
    """Reads a batch of stored pages, and returns their items as a `ParsedBatch`. `why`: the list to which the
    reader appends the reason for a failure."""
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
        if kept.status >= 300 or is_blocked(kept) or _infrastructure(url, kept.asked):
            out.passed += 1
            continue
        request = _request(url, kept.asked)
        page = archive.page(request, kept)
        got: ReadResult | None = None
        if not isinstance(page, Failure):
            page.collector, page.rung = kept.asked.collector, kept.asked.rung
            if key in note.deaths and (reason := _ends(page, note.deaths[key], note.too_complex(key))):
                reader.keep(page, request, reason)
                got = ReadResult(
                    [], TakenLinks(), error="crash" if not note.too_complex(key) else "too-complex"
                )
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
    out.rejected, out.lines = len(rows) - len(whole), encode_lines(whole)
    out.items = sum(row.kind != REFERENCES for row in whole)
    return out


def _again(reader: Reader, request: Request, page: Page) -> ReadResult | None:
    """Returns the items of a page. The memory and CPU time for a costly page are limited. If a page needs too
    much memory, the page's error is `too-complex`. If a page needs too much CPU time, this process is
    killed."""
    claim = Claim(0, 0, "", request)
    if not (is_html(page.read_as, page.body) and is_costly(page.body)):
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
    return ReadResult([], TakenLinks(), error="too-complex")


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
        id=asked.id,
        added_at=asked.added_at,
    )


def _ends(page: Page, deaths: int, slow: bool) -> str:
    """Returns the reason why a page must not be read again, or '' if the page may be read again. `deaths`:
    the number of processes that the page has killed."""
    if slow:
        return f"too-complex: it took more than {limit_seconds(page.body):.0f} s of CPU time"
    if deaths >= MAX_DEATHS_PER_PAGE:
        return f"it killed {deaths} processes that read it"
    return (
        f"it killed a process, and its elements are nested more than {MAX_DEPTH} deep"
        if is_deep(page.body, page.read_as)
        else ""
    )


def _infrastructure(url: str, asked: RequestContext) -> bool:
    """Returns whether a response is a robots.txt, a sitemap or a downloaded file, and not a page of the
    site."""
    return (asked.use or "").startswith("@") or (
        url.endswith("/robots.txt") and url == f"{origin(url)}/robots.txt"
    )


Make = Callable[[BatchPosition], AbstractContextManager[Callable[[Sequence[str]], ParsedBatch]]]
"""The type of a callable that each reading process calls once. The callable returns a context manager, which
yields the function that reads a batch."""


def read_in_processes(
    batches: Sequence[Sequence[str]], processes: int, make: Make
) -> Generator[ParsedBatch, None, None]:
    """Yields the results in the order of the batches. `processes`: the number of processes that read the
    batches. Kills the processes when the generator is closed. Raises GossamerError if the processes keep
    dying."""
    count = min(processes, len(batches))
    workers = [ReparseProcess(batches[at::count], make) for at in range(count)]
    try:
        for number in range(len(batches)):
            yield workers[number % count].take()
    finally:
        for worker in workers:
            worker.end()


class ReparseProcess:
    """A process that reads batches one after another. If the process dies, another process replaces it."""

    def __init__(self, batches: Sequence[Sequence[str]], make: Make) -> None:
        self._batches, self._make, self._note = batches, make, BatchPosition()
        self._taken = self._lost = 0
        self._pid, self._pipe = _begin(batches, make, self._note)

    def take(self) -> ParsedBatch:
        """Returns the result of the next batch."""
        while True:
            try:
                data = _exactly(self._pipe, _SIZE.unpack(_exactly(self._pipe, _SIZE.size))[0])
            except EOFError:
                self._again()
                continue
            self._taken += 1
            return msgspec.msgpack.decode(data, type=ParsedBatch)

    def _again(self) -> None:
        """Replaces the dead process with another process. The dead process was working on the first batch
        that has no result. If the dead process was reading a page, the page is blamed for the death."""
        code = self._ended()
        if self._note.at >= 0:
            key = self._batches[self._taken][self._note.at]
            self._note.deaths[key] += 1
            if code == -signal.SIGPROF:
                self._note.slow.add(key)
        elif code >= 0 or self._lost == MAX_LOST_PROCESSES:
            raise GossamerError(f"a process that reads pages ended ({code}), and no page was the cause")
        else:
            self._lost += 1
        self._note.begins(-1)
        self._pid, self._pipe = _begin(self._batches[self._taken :], self._make, self._note)

    def end(self) -> None:
        """Kills the process."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._ended()

    def _ended(self) -> int:
        """Waits until the process has ended, and returns the exit code of the process. If a signal killed the
        process, returns the negative number of the signal."""
        os.close(self._pipe)
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _begin(batches: Sequence[Sequence[str]], make: Make, note: BatchPosition) -> tuple[int, int]:
    """Forks a process for these batches. Returns the process id, and the pipe to which the process writes."""
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
        opened = contextlib.ExitStack()
        one = opened.enter_context(make(note))
        for number, keys in enumerate(batches, 1):
            data = msgspec.msgpack.encode(one(keys))
            if number == len(batches):
                # close before the last result is sent, because the parent then kills this process
                opened.close()
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
