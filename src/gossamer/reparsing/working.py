"""Processes that read stored pages: forked, each takes every n-th batch, and hands lines of items over a pipe, in order."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import sys
from collections.abc import Callable, Generator, Sequence

import msgspec

from gossamer.assets import REFERENCES
from gossamer.collectors.archive import ArchiveCollector
from gossamer.page import Failure
from gossamer.request import Request
from gossamer.road.reader import Reader
from gossamer.road.taker import Taken
from gossamer.sinks.jsonl import lines
from gossamer.url import origin
from gossamer.visit import Asked, Claim, Row

BATCH = 100
_SIZE = struct.Struct("<I")


class Batch(msgspec.Struct, array_like=True):
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


class Nobody:
    """Takes no link."""

    def voucher(self, claim: Claim) -> str:
        """Nobody's."""
        return ""

    def request(self, request: Request, taken: Taken, *given: object, **more: object) -> None:
        """It is not taken."""


def read(reader: Reader, why: list[str], archive: ArchiveCollector, keys: Sequence[str]) -> Batch:
    """The items of a batch of stored pages. `why` is where the reader leaves the reason of a failure."""
    out, rows = Batch(failed=[]), list[Row]()
    for key in keys:
        url = key.partition(" ")[0]
        try:
            kept = archive.find(key)
        except OSError:
            kept = None
        if kept is None:
            out.unread += 1
            continue
        if kept.status >= 300 or kept.asked.block is not None or _infrastructure(url, kept.asked):
            out.passed += 1
            continue
        asked = kept.asked
        request = Request(
            url, asked.depth, referrer=asked.referrer, hops=asked.hops, method=asked.method, body=asked.body, use=asked.use,
            carry=asked.carry,
        )  # fmt: skip
        page = archive.page(request, kept)
        if isinstance(page, Failure):
            out.passed += 1
            continue
        page.collector, page.rung = asked.collector, asked.rung
        got = reader.again(Claim(0, 0, "", request), page)
        if got is None:
            out.passed += 1
            continue
        out.pages += 1
        if got.error is not None:
            out.failed.append((url, why.pop() if why else got.error))
        why.clear()
        rows += got.rows
    whole = [row for row in rows if type(row.data) is dict and "_key" in row.data]
    out.rejected, out.lines = len(rows) - len(whole), lines(whole)
    out.items = sum(row.kind != REFERENCES for row in whole)
    return out


def _infrastructure(url: str, asked: Asked) -> bool:
    """Whether an answer is no page of the site: robots.txt, a sitemap, a file."""
    return (asked.use or "").startswith("@") or (url.endswith("/robots.txt") and url == f"{origin(url)}/robots.txt")


Make = Callable[[], Callable[[Sequence[str]], Batch]]
"""Called in each process: what reads a batch there."""


def over(batches: Sequence[Sequence[str]], processes: int, make: Make) -> Generator[Batch, None, None]:
    """The batches read, in their order, by so many processes. Ends them when it is left."""
    if processes < 2 or len(batches) < 2:
        yield from map(make(), batches)
        return
    workers = [_begin(batches[at::processes], make) for at in range(min(processes, len(batches)))]
    try:
        for number in range(len(batches)):
            _, pipe = workers[number % len(workers)]
            yield msgspec.msgpack.decode(_exactly(pipe, _SIZE.unpack(_exactly(pipe, _SIZE.size))[0]), type=Batch)
    finally:
        for pid, pipe in workers:
            os.close(pipe)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _begin(batches: Sequence[Sequence[str]], make: Make) -> tuple[int, int]:
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
        one = make()
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
    finally:
        os._exit(code)


def _exactly(pipe: int, size: int) -> bytes:
    parts, left = [], size
    while left:
        part = os.read(pipe, min(left, 1 << 20))
        if not part:
            raise ChildProcessError(
                "a process that reads pages ended: a page of its may have ended it; try --processes 1"
            )
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
