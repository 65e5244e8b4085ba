"""Reads costly pages in separate processes (`page_process`), which are killed if a page takes too much time
or memory.

A page process is started for the first costly page and then reads many pages. While a page process reads, the
worker's event loop serves other hosts. For a costly page, the event loop only adds the links of the page to
the frontier, at most CHUNK_REQUESTS at a time. A page process exits when its worker exits, because the
worker's end of the pipe is closed. On Linux, the kernel also kills a page process when the thread that
started the process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.items.assets import Named
from gossamer.model.packed_row import PackedRow, unpack_row
from gossamer.model.page import Page
from gossamer.model.visit import Claim, PageRecord
from gossamer.parsing.page_cost import (
    MEMORY_BYTES,
    MEMORY_PER_BYTE,
    WALL_FACTOR,
    TooComplex,
    decoded_size,
    limit_seconds,
)
from gossamer.worker.link_intake import ReadResult, TakenLinks
from gossamer.worker.page_process_messages import (
    END,
    NAMES,
    ROWS,
    SIZE,
    TAKES,
    End,
    PageTask,
    ProcessSettings,
    RecordedTake,
    SentPage,
)
from gossamer.worker.records import page_record, page_row

if TYPE_CHECKING:
    from gossamer.worker.reader import Reader

EXIT_S = 5.0
"""Maximum number of seconds that an idle page process may take to close the steps of its sites and to
exit."""
MAX_PROCESSES = 2
"""Maximum number of costly pages that one worker reads at the same time."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode


class ProcessDied(Exception):
    """Raised if a page process ended before it sent a complete answer. `signal`: the signal that killed the
    process, or 0."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the process that read the page ended ({code})")
        self.signal = -code if code < 0 else 0


class PageReader:
    """Runs the page processes of one worker. `order`: a function that returns the settings for a new page
    process."""

    def __init__(self, order: Callable[[], ProcessSettings]) -> None:
        self._order = order
        self._slots = asyncio.Semaphore(MAX_PROCESSES)
        self._idle: list[ReaderProcess] = []
        self._all: set[ReaderProcess] = set()
        self.started = asyncio.Event()
        """An event that is set when the first page process has been started."""

    async def read(self, reader: Reader, claim: Claim, page: Page, error: str | None) -> ReadResult:
        """Reads a page in a page process. If the page takes too much time or memory, the result contains the
        error `too-complex`. If the page kills two page processes, the result contains the error `crash`."""
        task = _task(claim, page, error)
        try:
            frames = await self._twice(task, page.body)
        except TooComplex as why:
            return _failed(reader, claim, page, "too-complex", str(why))
        except ProcessDied as why:
            return _failed(reader, claim, page, "crash", str(why))
        return await _taken(reader, claim, page, frames)

    async def lacks(self, claim: Claim, page: Page) -> str:
        """Returns the selector of required content that is missing from a page, or '' if nothing is missing.
        Also returns '' if the page takes too much time or memory, or kills the page processes, because `read`
        reports these errors later."""
        try:
            frames = await self._twice(_task(claim, page, None, lacks=True), page.body)
        except (TooComplex, ProcessDied):
            return ""
        return _decode(frames[-1][1:], type=End).lacks

    async def close(self) -> None:
        """Stops the page processes."""
        await asyncio.gather(*(one.end(exits=one in self._idle) for one in self._all))
        self._all.clear()
        self._idle.clear()

    async def _twice(self, task: bytes, body: bytes) -> list[bytes]:
        """Sends a task to a page process, and returns the frames of the answer. If the process dies, the task
        is sent to another process, because the death may have had a different cause than the page."""
        try:
            return await self._ask(task, body)
        except ProcessDied:
            return await self._ask(task, body)

    async def _ask(self, task: bytes, body: bytes) -> list[bytes]:
        async with self._slots:
            process = self._idle.pop() if self._idle else await self._start()
            whole = False
            try:
                async with asyncio.timeout(WALL_FACTOR * limit_seconds(body)):
                    frames = await process.ask(task, most=MEMORY_BYTES + MEMORY_PER_BYTE * decoded_size(body))
                whole = True
            except TimeoutError:
                raise TooComplex(f"it took more than {WALL_FACTOR * limit_seconds(body):.0f} s") from None
            except (EOFError, ConnectionError, asyncio.IncompleteReadError):
                code = await self._end(process)
                if code == -signal.SIGPROF:
                    raise TooComplex(f"it took more than {limit_seconds(body):.0f} s of CPU time") from None
                raise ProcessDied(code) from None
            finally:
                if not whole:
                    await self._end(process)
            end = _decode(frames[-1][1:], type=End)
            if end.retire:
                await self._end(process, exits=True)
            else:
                self._idle.append(process)
            if end.too_complex:
                raise TooComplex(f"it took {end.too_complex}")
            return frames

    async def _start(self) -> ReaderProcess:
        process = ReaderProcess()
        self._all.add(process)
        self.started.set()
        try:
            await process.begin(_encode(self._order()))
        except BaseException:
            await self._end(process)
            raise
        return process

    async def _end(self, process: ReaderProcess, *, exits: bool = False) -> int:
        self._all.discard(process)
        return await process.end(exits=exits)


class ReaderProcess:
    """The worker's handle of a page process, with the pipes to the process."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "gossamer.worker.page_process", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._in: Any = None
        self._out: Any = None

    async def begin(self, order: bytes) -> None:
        """Connects the pipes and sends the encoded `ProcessSettings`."""
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=1 << 20)
        self._out, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), self._popen.stdout
        )
        self._in, protocol = await loop.connect_write_pipe(_Writing, self._popen.stdin)
        self._writer = asyncio.StreamWriter(self._in, protocol, None, loop)
        await self._send(order)

    async def ask(self, task: bytes, most: int) -> list[bytes]:
        """Sends a task and returns the frames of the answer. Raises TooComplex if the frames contain more
        than `most` bytes."""
        await self._send(task)
        frames, size = list[bytes](), 0
        while True:
            (length,) = SIZE.unpack(await self._reader.readexactly(SIZE.size))
            size += length
            if size > most:
                raise TooComplex(f"its result is larger than {most >> 20} MiB")
            frames.append(await self._reader.readexactly(length))
            if frames[-1][0] == END:
                return frames

    async def _send(self, data: bytes) -> None:
        self._writer.write(SIZE.pack(len(data)))
        self._writer.write(data)
        await self._writer.drain()

    async def end(self, *, exits: bool = False) -> int:
        """Stops the process. Returns the process's exit code, or the negative number of the signal that
        killed the process. `exits`: whether to give the process time to close the steps of the sites and to
        exit. Set `exits` only if the process is not reading a page."""
        if exits and self._in is not None:
            self._in.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._popen.wait, EXIT_S)
        with contextlib.suppress(ProcessLookupError):
            self._popen.kill()
        for transport, file in ((self._out, self._popen.stdout), (self._in, self._popen.stdin)):
            if transport is not None and not transport.is_closing():
                transport.abort() if transport is self._in else transport.close()
            elif transport is None and file is not None:
                file.close()
        code = await asyncio.to_thread(self._popen.wait)
        await asyncio.sleep(0)  # lets the event loop run once, so that the transports close their pipes
        return code


class _Writing(asyncio.streams.FlowControlMixin):
    """The asyncio protocol of the pipe to which tasks are written."""


def _task(claim: Claim, page: Page, error: str | None, lacks: bool = False) -> bytes:
    sent = SentPage(**{name: getattr(page, name) for name in SentPage.__struct_fields__})
    return _encode(PageTask(lacks, claim.request, claim.host, claim.crashes, sent, error))


def _failed(reader: Reader, claim: Claim, page: Page, error: str, why: str) -> ReadResult:
    """Called if a page could not be read. Stores the page for replay, with the reason `why`. Returns a result
    whose page record contains the error."""
    reader.keep(page, claim.request, f"{error}: {why}")
    if claim.request.use == "@sitemap":
        return ReadResult([], TakenLinks(), infrastructure=True, error=error)
    record = page_record(claim.request, page, error=error)
    return ReadResult(
        [page_row(record, reader.key(record.requested_url))] if reader.pages else [],
        TakenLinks(),
        error=error,
    )


async def _taken(reader: Reader, claim: Claim, page: Page, frames: list[bytes]) -> ReadResult:
    """Decodes the answer of a page process. The links and requests in the answer are added to the frontier,
    as if this process had read the page."""
    read, end, met = ReadResult([], TakenLinks()), _decode(frames[-1][1:], type=End), set[int]()
    read.items, read.counts, read.error, read.infrastructure = (
        end.items,
        end.counts,
        end.error,
        end.infrastructure,
    )
    page.block, read.stop, read.why = end.block, end.stop, "; ".join(end.why)
    for why in end.why:
        reader.keep(page, claim.request, why)
    voucher, names = reader.link_intake.voucher(claim), list[tuple[list[Named], int]]()
    try:
        for frame in frames[:-1]:
            data = memoryview(frame)[1:]
            if frame[0] == ROWS:
                read.rows += map(unpack_row, _decode(data, type=list[PackedRow]))
            elif frame[0] == NAMES:
                names += _decode(data, type=list[tuple[list[Named], int]])
            elif frame[0] == TAKES:
                for one in _decode(data, type=list[RecordedTake]):
                    _take(reader, claim, read.taken, one, voucher, met)
            await asyncio.sleep(0)
    except BaseException:
        # the links of this page will not be committed, so they must not be cached as taken
        reader.link_intake.forget()
        raise
    for reason, n in end.skips.items():
        read.taken.skip(reason, n)
    if read.taken.distinct:
        for row in read.rows:
            if isinstance(row.data, PageRecord):
                row.data.links += read.taken.distinct
    if names:
        read.names = names
        reader.name(read, claim, page)
    return read


def _take(
    reader: Reader, claim: Claim, taken: TakenLinks, one: RecordedTake, voucher: str, met: set[int]
) -> None:
    if one.reason:
        reader.link_intake.list_closed(one.hrefs, one.base, one.page, one.depth, one.reason, one.rule, taken)
    elif one.request is None:
        reader.link_intake.take(one.page, one.base, one.hrefs, claim, taken, met, one.routes)
    else:
        reader.link_intake.request(one.request, taken, voucher if one.vouched else "", one.flags, one.beside)
