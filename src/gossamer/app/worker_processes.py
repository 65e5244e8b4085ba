"""The worker processes of one run. The worker processes receive the setup on their standard input, and stop
when that pipe closes. If the parent dies for any reason, the pipe closes, and the children stop gracefully
within ten seconds. The children share the output files under the crawl's output lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TextIO, cast

import msgspec

from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.job import Setup, register_secrets
from gossamer.app.open_store import open_url
from gossamer.app.process_tuning import end_after_parent, settle_in
from gossamer.config.data_files import open_file
from gossamer.config.redaction import MaskedStderr
from gossamer.errors import (
    ConfigError,
    CrawlFailed,
    DiskFull,
    GossamerError,
    NoProxyLeft,
    SinkError,
    StoreError,
)
from gossamer.observability.logs import start_logs
from gossamer.observability.traces import start_traces, stop_traces
from gossamer.sites.site_logs import forward_problems, log_forwarded, print_site_logs
from gossamer.worker.read_watch import HURRY_S, hurry

STOP_TIMEOUT_S = 10.0
"""Seconds within which a child process must stop. A child process that does not stop in time is killed."""
ERRORS: dict[int, type[GossamerError]] = {
    4: ConfigError,
    8: StoreError,
    9: CrawlFailed,
    16: DiskFull,
    20: SinkError,
    21: NoProxyLeft,
}
MAX_REPLACEMENTS = 20
"""The maximum number of children that are replaced in one run after they were killed or crashed."""


class WorkerProcesses:
    """The child processes of one run."""

    def __init__(self, setup: Setup, count: int, stop: asyncio.Event, say: Callable[[str], None]) -> None:
        """`say`: receives each line that a child writes to stderr."""
        self._setup, self._count, self._stop = msgspec.json.encode(setup), count, stop
        self._say = say
        self._died = 0

    async def work(self) -> str:
        """Runs all children until they end and returns their outcome. If a child gives up because of an
        error, raises that error."""
        tasks = [asyncio.create_task(self._child()) for _ in range(self._count)]
        try:
            outcomes = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return next((outcome for outcome in outcomes if outcome != "finished"), "finished")

    async def _child(self) -> str:
        """Runs a child process. If the child dies, starts another child. Returns the outcome of the first
        child that ends normally."""
        while True:
            code, said = await self._one()
            if code == 0:
                return said
            if code in ERRORS:
                raise ERRORS[code](said.splitlines()[-1] if said else "a worker process gave up")
            self._died += 1
            if self._died > MAX_REPLACEMENTS:
                raise GossamerError(
                    f"worker processes died {self._died} times; the last message was: {said[-500:]}"
                )

    async def _one(self) -> tuple[int, str]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            # -P keeps the current folder out of the import path, because a site file in the current folder
            # could hide a module that gossamer imports.
            sys.executable,
            "-P",
            "-m",
            "gossamer.app.worker_processes",
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        logged = asyncio.create_task(self._forward(process.stderr))
        said = asyncio.create_task(process.stdout.read())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            # uvloop raises a RuntimeError if the child was killed before it could read its setup
            with contextlib.suppress(OSError, RuntimeError):
                process.stdin.write(len(self._setup).to_bytes(4, "big") + self._setup)
            await asyncio.wait((said, stopping), return_when=asyncio.FIRST_COMPLETED)
            process.stdin.close()
            if not said.done():
                # a child whose interpreter is blocked cannot even end itself
                await asyncio.wait((said,), timeout=STOP_TIMEOUT_S + 1)
                if not said.done():
                    process.kill()
            out = await said
            return await process.wait(), out.decode("utf-8", "replace").strip()
        finally:
            stopping.cancel()
            process.stdin.close()
            if process.returncode is None:
                try:
                    await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S + 1)
                except (TimeoutError, asyncio.CancelledError):
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()  # reap the child
            # another process may have inherited the pipe
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(logged, 1)

    async def _forward(self, stderr: asyncio.StreamReader) -> None:
        """Passes each line that a child writes to stderr to `say`, or to the log if it is a problem of a page. Direct
        output would garble the progress display."""
        while line := await _line(stderr):
            if not log_forwarded(line):
                self._say(line)


async def _line(stream: asyncio.StreamReader) -> str:
    """Returns the next line of a stream. If the line is very long, returns a part of it. Returns '' at the
    end of the stream."""
    try:
        raw = await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        raw = end.partial
    except asyncio.LimitOverrunError as long:
        raw = await stream.readexactly(long.consumed)
    text = raw.decode("utf-8", "replace")
    return text if text.endswith("\n") or not text else text + "\n"


async def child(setup: Setup) -> str:
    """Runs the worker of a child process."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def leash() -> None:
        sys.stdin.buffer.read()  # this call returns when the parent closes the pipe or dies
        hurry(stop, HURRY_S)
        loop.call_soon_threadsafe(stop.set)
        threading.Timer(STOP_TIMEOUT_S, os._exit, (11,)).start()

    threading.Thread(target=leash, daemon=True).start()
    store = await open_url(setup.store, embedded=setup.job.settings.store is None)
    crawl_worker = CrawlWorker(setup, store, f"{os.uname().nodename}:{os.getpid()}", stop)
    try:
        return await crawl_worker.run()
    finally:
        await crawl_worker.close()
        await store.close()


def main() -> int:
    """Reads the setup, runs the worker, and prints the outcome. Returns the exit code of the error that ended
    the run, or 0."""
    import uvloop

    size = int.from_bytes(sys.stdin.buffer.read(4), "big")
    setup = msgspec.json.decode(sys.stdin.buffer.read(size), type=Setup)
    lock = Path(setup.job.settings.data) / "store" / "doors.lock"
    if lock.exists():  # as long as this process holds the lock, no other process requeues its leases
        living = open_file(lock, os.O_RDWR)
        fcntl.flock(living, fcntl.LOCK_SH)
    register_secrets(setup)
    settle_in()
    if setup.job.settings.log_format is not None:
        start_logs(setup.job.settings.log_format, setup.job.settings.log_level)
    else:
        sys.stderr = cast(TextIO, MaskedStderr(sys.stderr))
        forward_problems()
    print_site_logs(setup.job.settings.log_level)
    end_after_parent()
    start_traces(setup.job.settings.traces, setup.job.settings.trace_sample)
    door, sys.stdout = sys.stdout, sys.stderr  # the output of a site's functions goes to stderr
    code = 0
    try:
        said = uvloop.run(child(setup))
    except GossamerError as error:
        said, code = str(error), error.exit_code
    except Exception:  # noqa: BLE001 - the door tells of it
        said, code = traceback.format_exc(), 1
    stop_traces()
    with contextlib.suppress(BrokenPipeError):  # the parent was killed
        print(said, file=door, flush=True)
    os._exit(code)  # not a normal exit, because a thread may still be reading standard input


if __name__ == "__main__":
    main()
