"""Ends the reading of a page that takes too long, for example because a page function never ends.

Page functions run in the thread of the event loop. While a page function runs, nothing else of the worker
does, so a task or a timer of the event loop cannot end the function. The watch looks twice a second whether
the same page is still being read, and raises TookTooLong inside the page function. A page costs four
assignments, and the watch itself two signals or thread switches per second.

In the main thread, the watch uses SIGALRM, because Python's signal handlers also run inside `re` and inside
calls that wait, such as `time.sleep`. In another thread, or if the program uses SIGALRM itself, a second
thread looks. That thread can end Python code, but no call that waits and no regular expression of `re`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType
from typing import TypeVar

TICK_S = 0.5
"""Seconds between two looks at the page that is being read."""
HURRY_S = 2.0
"""Seconds after the signal to stop after which slow reads are ended."""
DEBUGGERS = ("bdb", "pdb", "pydevd", "_pydevd_bundle", "debugpy")
"""The modules of debuggers. A page function that a person looks at in a debugger is not ended."""
Result = TypeVar("Result")
_by_signal: set[ReadWatch] = set()
_watches: set[ReadWatch] = set()


class TookTooLong(BaseException):
    """Raised inside code of a site that takes too long. `is_stopping`: whether the reading ends because the
    crawl stops."""

    is_stopping = False


class ReadWatch:
    """Watches the pages that the event loop of one crawl reads.

    - `seconds`: the maximum time for reading one page. Time in which the process is stopped, or waits for a
      processor, is not counted.
    - `files`: the site files. Messages name the line of a site file if such a file is running.
    - `stop`: the event that stops the crawl. `hurry(stop)` ends slow reads early.
    """

    def __init__(self, seconds: float, files: Collection[Path], stop: asyncio.Event) -> None:
        self.stop = stop
        self._seconds, self._files = seconds, {str(file.resolve()) for file in files}
        self._reads = self._seen = self._ticks = 0
        self._reading = False
        self._late: TookTooLong | None = None
        self._lock = threading.Lock()
        self._hurry_at = 0.0
        self._thread_id = self._native_id = 0
        self._queued_s = 0.0
        self._closed = threading.Event()

    def start(self) -> None:
        """Starts to watch the thread that calls this method."""
        self._thread_id, self._native_id = threading.get_ident(), threading.get_native_id()
        _watches.add(self)
        main = threading.current_thread() is threading.main_thread()
        if main and (_by_signal or signal.getsignal(signal.SIGALRM) == signal.SIG_DFL):
            _by_signal.add(self)
            signal.signal(signal.SIGALRM, tick)
            signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
        else:
            threading.Thread(target=self._look, name="read-watch", daemon=True).start()

    def close(self) -> None:
        """Ends the watch."""
        self._closed.set()
        _watches.discard(self)
        if self in _by_signal:
            _by_signal.discard(self)
            if not _by_signal and signal.getsignal(signal.SIGALRM) is tick:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def run(self, read: Callable[[], Result]) -> Result | TookTooLong:
        """Returns the result of `read`, or the exception if `read` takes too long. The result is dropped even
        if `read` catches the exception."""
        try:
            self._reads += 1
            self._reading = True
            try:
                return read()
            finally:
                self._reading = False
                if self._late is not None:
                    self._end_late()
        except TookTooLong as late:
            self._reading, self._late = False, None
            return late

    def hurry(self, seconds: float) -> None:
        """After the given number of seconds, ends every reading that takes longer than two ticks."""
        self._hurry_at = self._hurry_at or time.monotonic() + seconds

    def late(self, frame: FrameType | None) -> TookTooLong | None:
        """Returns the exception to raise if the page that is being read takes too long, otherwise None.
        `frame`: the frame that is running."""
        if not self._reading or self._reads != self._seen:
            self._seen, self._ticks = self._reads, 0
            return None
        self._ticks += 1
        if self._ticks == 1:
            self._queued_s = queued_seconds(self._native_id)
        is_stopping = 0 < self._hurry_at <= time.monotonic()
        took = self._ticks * TICK_S
        if took >= self._seconds:
            took -= queued_seconds(self._native_id) - self._queued_s
        if (took < self._seconds and not is_stopping) or _is_debugged(frame):
            return None
        error = TookTooLong(f"{self._place(frame)} was still running after {min(took, self._seconds):g} s")
        error.is_stopping = is_stopping
        return error

    def raise_here(self, frame: FrameType | None) -> None:
        """Raises TookTooLong in the current thread if the page that is being read takes too long."""
        if (error := self.late(frame)) is not None:
            self._late = error
            raise error

    def _look(self) -> None:
        while not self._closed.wait(TICK_S):
            if (error := self.late(sys._current_frames().get(self._thread_id))) is None:
                continue
            with self._lock:
                # `run` first sets `_reading` and then looks at `_late`, so one of the two sees the other
                self._late = error
                if self._reading and self._reads == self._seen:
                    _raise_in(self._thread_id, error)
                else:
                    self._late = None

    def _end_late(self) -> None:
        with self._lock:
            late = self._late
        if late is not None:
            for _ in range(100):  # an exception from the other thread arrives at the latest here
                pass
            raise late

    def _place(self, frame: FrameType | None) -> str:
        """Returns the line that is running: the innermost line of a site file, or else the innermost line."""
        found = here = frame
        while here is not None:
            if str(Path(here.f_code.co_filename).resolve()) in self._files:
                found = here
                break
            here = here.f_back
        if found is None:
            return "the page function"
        return f"{Path(found.f_code.co_filename).name}:{found.f_lineno} in {found.f_code.co_name}"


def tick(_number: int = 0, frame: FrameType | None = None) -> None:
    """The handler of SIGALRM. Raises TookTooLong if a page takes too long."""
    for watch in list(_by_signal):
        watch.raise_here(frame)


def hurry(stop: asyncio.Event | None, seconds: float) -> None:
    """Tells the watches of a crawl that the crawl stops. The event loop may be blocked, so any thread or
    signal handler may call this function."""
    for watch in list(_watches):
        if watch.stop is stop:
            watch.hurry(seconds)


def queued_seconds(native_id: int) -> float:
    """Returns for how long a thread of this process has been ready to run without a processor, because other
    processes ran. Returns 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/self/task/{native_id}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _raise_in(thread_id: int, error: TookTooLong) -> None:
    """Raises an exception in another thread, between two lines of Python code."""
    # Python creates the exception from a class, so the text and the flag are those of a new class
    made = type(
        "TookTooLong", (TookTooLong,), {"is_stopping": error.is_stopping, "__str__": lambda _: str(error)}
    )
    with contextlib.suppress(AttributeError):  # not CPython
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(made))


def _is_debugged(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in DEBUGGERS:
            return True
        frame = frame.f_back
    return False
