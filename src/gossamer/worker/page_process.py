"""The page process reads costly pages for a worker. The memory of the page process and its time per page are
limited. The worker can kill the page process.

The HTML parser is written in C and holds the interpreter lock, so neither a thread nor a task can interrupt
the parser. The worker cannot fork, because it has an event loop, threads and connections. When the first
costly page arrives, the worker therefore starts a new Python interpreter as the page process. The page
process loads the same site files as the worker, from the same bytes. The page process reads one page after
another, and exits when the worker closes its end of the pipe.

`page_process_messages` defines the frames on the pipes. The page process only records the links and requests
of a page. The worker adds the recorded links and requests to the frontier, as if the worker had read the
page.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.model.packed_row import pack_row
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.parsing.page_cost import MEMORY_BYTES, Limits, limit_bytes, virtual_size
from gossamer.sites.loading import load_sources
from gossamer.sites.site_logs import print_site_logs
from gossamer.worker.link_intake import ReadResult, TakenLinks
from gossamer.worker.page_process_messages import (
    CHUNK_REQUESTS,
    END,
    NAMES,
    ROWS,
    SIZE,
    TAKES,
    End,
    PageTask,
    ProcessSettings,
    RecordedTake,
)
from gossamer.worker.reader import PageReceivers, Reader
from gossamer.worker.records import edges

_LACK_OF_MEMORY = re.compile(r": MemoryError: ")
_encode = msgspec.msgpack.Encoder().encode


class LinkNotes:
    """Stands in for `LinkIntake` in the page process. `LinkNotes` records links and requests, which the
    worker later adds to the frontier."""

    def __init__(self) -> None:
        self.noted: list[RecordedTake] = []

    def clear(self) -> None:
        """Forgets what was recorded."""
        self.noted = []

    def voucher(self, claim: Claim) -> str:
        """Returns a placeholder, because the worker computes the actual voucher."""
        return "v"

    def request(
        self,
        request: Request,
        taken: TakenLinks,
        voucher: str = "",
        flags: str = "",
        beside: str = "",
        edition: str = "",
    ) -> str | None:
        """Records one request."""
        self.noted.append(RecordedTake(request, bool(voucher), flags, beside))
        return None

    def take(
        self, page_url: str, base: str, hrefs: Iterable[str], claim: Claim, routes: str = ""
    ) -> TakenLinks:
        """Records plain links, at most CHUNK_REQUESTS per `RecordedTake`."""
        every = list(hrefs)
        for at in range(0, max(len(every), 1), CHUNK_REQUESTS):
            part = every[at : at + CHUNK_REQUESTS]
            self.noted.append(RecordedTake(page=page_url, base=base, hrefs=part, routes=routes))
        return TakenLinks()

    def close(
        self,
        taken: TakenLinks,
        claim: Claim,
        page: str,
        base: str,
        hrefs: Collection[str],
        reason: str,
        rule: str,
    ) -> None:
        """Counts links that are not followed, and records them, at most CHUNK_REQUESTS per `RecordedTake`."""
        taken.skip(reason, len(hrefs))
        every, depth = list(hrefs), claim.request.depth + 1
        for at in range(0, len(every), CHUNK_REQUESTS):
            part = every[at : at + CHUNK_REQUESTS]
            self.noted.append(
                RecordedTake(page=page, base=base, hrefs=part, reason=reason, rule=rule, depth=depth)
            )


class PageProcess:
    """Answers tasks in the page process. Decodes a task, reads its page, and encodes the answer."""

    def __init__(self, order: ProcessSettings) -> None:
        self._notes, self._why = LinkNotes(), list[str]()
        key = partial(urls.key, drop=urls.DEFAULT_DROP | list(order.drop)) if order.drop else urls.key
        sys.path[:] = order.path
        sites = load_sources(dict(order.sources), order.names, order.args)
        notes: Any = self._notes
        self._reader = Reader(
            sites,
            notes,
            key,
            order.read,
            PageReceivers(self._keep),
            graph=None if order.graph is None else partial(edges, order.graph[0], key, order.graph[1]),
            is_apart=True,
        )
        self._reader.open(
            order.crawl,
            Path(order.folder),
            None,
            {(site, kind): fields for site, kind, fields in order.usual},
        )
        self._limits, self._start = Limits(), virtual_size()

    def _keep(self, page: Page, request: Request, why: str) -> None:
        """Records the reason why a page could not be parsed. The worker stores this page for replay."""
        self._why.append(why)

    def close(self) -> None:
        """Closes the steps of the sites."""
        self._reader.close()

    def answer(self, data: bytes) -> Iterator[bytes]:
        """Reads the page of a task, and yields the frames of the answer. If the page needs more memory than
        allowed, `too_complex` is set in the answer."""
        task = msgspec.msgpack.decode(data, type=PageTask)
        body = task.page.body
        del data
        self._why[:] = ()
        self._notes.clear()
        limit = limit_bytes(body)
        self._limits.begin(body, self._start)
        try:
            yield from self._frames(task)
        except MemoryError:
            self._notes.clear()
            lack = f"more than {limit >> 20} MiB of memory for {len(body)} bytes"
        else:
            return
        finally:
            self._limits.end()
        gc.collect()
        yield _frame(END, End(too_complex=lack, retire=True))

    def _frames(self, task: PageTask) -> Iterator[bytes]:
        fields = {name: getattr(task.page, name) for name in task.page.__struct_fields__}
        page = Page(**fields)
        claim = Claim(0, 0, task.host, task.request, crashes=task.crashes)
        if task.lacks:
            yield _frame(END, End(lacks=self._reader.lacks_here(claim, page)))
            return
        read: ReadResult = self._reader.read(claim, page, task.error)
        if any(map(_LACK_OF_MEMORY.search, self._why)):
            raise MemoryError
        for at in range(0, len(read.rows), CHUNK_REQUESTS):
            yield _frame(ROWS, [pack_row(row) for row in read.rows[at : at + CHUNK_REQUESTS]])
        for at in range(0, len(read.names), CHUNK_REQUESTS):
            yield _frame(NAMES, read.names[at : at + CHUNK_REQUESTS])
        size, part = 0, list[RecordedTake]()
        for one in self._notes.noted:
            part.append(one)
            size += max(1, len(one.hrefs))
            if size >= CHUNK_REQUESTS:
                yield _frame(TAKES, part)
                size, part = 0, []
        if part:
            yield _frame(TAKES, part)
        end = End(
            read.taken.skips,
            read.items,
            read.counts,
            read.error,
            read.infrastructure,
            len(read.names) if read.names else -1,
            self._why,
            page.block,
            stop=read.stop,
        )
        del read, page
        self._notes.clear()
        self._reader.forget()
        end.retire = virtual_size() > self._start + MEMORY_BYTES
        yield _frame(END, end)


def _frame(kind: int, value: Any) -> bytes:
    data = _encode(value)
    return SIZE.pack(len(data) + 1) + bytes((kind,)) + data


def _receive(pipe: int) -> bytes | None:
    """Returns the next frame, or None if the worker has closed the pipe."""
    head = _exactly(pipe, SIZE.size)
    return None if head is None else _exactly(pipe, SIZE.unpack(head)[0])


def _exactly(pipe: int, size: int) -> bytes | None:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        got = os.readv(pipe, [view[at:]])
        if not got:
            return None
        at += got
    return bytes(data)


def _send(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _end_with(parent: int) -> None:
    """On Linux, makes the kernel kill this process when the worker dies, even while a page is being parsed.
    Exits if the worker has already died."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # the option 1 is PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    """Answers tasks until the worker closes the pipe."""
    _end_with(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = os.dup(1)
    os.dup2(2, 1)  # print calls in site files must not write into the pipe
    first = _receive(0)
    if first is None:
        return
    settings = msgspec.msgpack.decode(first, type=ProcessSettings)
    if settings.log_level:
        print_site_logs(settings.log_level)
    process = PageProcess(settings)
    try:
        while (data := _receive(0)) is not None:
            for frame in process.answer(data):
                _send(pipe, frame)
    except BrokenPipeError:
        return
    finally:
        process.close()


if __name__ == "__main__":
    main()
