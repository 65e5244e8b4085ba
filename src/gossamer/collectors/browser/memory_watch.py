"""Watches the memory of a browser's processes, and kills a process that takes too much. Linux only.

A page that draws canvases or fills array buffers takes a gigabyte in less than a second. Chromium itself
limits only the objects of JavaScript. While pages are open, a thread therefore reads the resident memory of
each process 50 times a second. A renderer process belongs to one browser context, which loads one page at a
time. If a renderer is killed, Playwright reports the crash of the tab that it belonged to, and other tabs
continue.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 512 << 20
"""The number of bytes that a process may take in addition to an idle process."""
IDLE_BYTES = 128 << 20
"""The resident memory of an idle renderer, most of which is the program itself."""
INTERVAL_S, SEARCH_INTERVAL_S = 0.02, 0.5
"""INTERVAL_S is the number of seconds between two samples. SEARCH_INTERVAL_S is the number of seconds between
two searches for processes. The children of zygotes, such as renderers, are looked up for each sample."""
REPORT_S = 5.0
"""Seconds within which the browser reports the crash of a tab whose process was killed."""
_PAGE_BYTES = resource.getpagesize()
_PROC = Path("/proc")


class MemoryWatch:
    """Watches the processes of one browser. `mark`: a text that only this browser's command line contains.

    `peak`: the largest number of bytes that one process took in addition to an idle process. `samples`: the
    number of samples.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self._main = 0
        self._zygotes: list[int] = []
        self._others: list[int] = []
        self._files: dict[int, int] = {}
        self._idle: dict[int, int] = {}
        self._above: dict[int, int] = {}
        self._ended: deque[tuple[float, int]] = deque(maxlen=64)
        self._lock, self._is_open, self._closed = threading.Lock(), threading.Event(), False
        self._search_at = 0.0
        self._pages = self.peak = self.samples = 0

    def start(self) -> None:
        """Finds the browser's main process, and starts the thread."""
        for entry in _PROC.iterdir() if _PROC.is_dir() else ():
            with contextlib.suppress(OSError, ValueError):
                pid, line = int(entry.name), (entry / "cmdline").read_bytes()
                # the driver's command line may contain the mark too, so the browser's own child is preferred
                if self._mark in line and b"\0--type=" not in line:
                    self._main = max(self._main, pid)
        if self._main:
            threading.Thread(target=self._run, name="browser-memory", daemon=True).start()

    def begin(self) -> None:
        """Called when a page begins."""
        self._pages += 1
        self._is_open.set()

    def end(self) -> None:
        """Called when a page has ended."""
        self._pages -= 1
        if not self._pages:
            self._is_open.clear()

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        self._is_open.set()

    def claim(self) -> int:
        """Called when a tab has crashed. Returns the number of bytes that the tab's process took, or 0 if
        memory was not the cause."""
        self.look()
        with self._lock:
            while self._ended:
                at, size = self._ended.popleft()
                if time.monotonic() - at < REPORT_S:
                    return size
        return 0

    def look(self) -> None:
        """Takes one sample, and kills the processes that take too much memory."""
        with self._lock:
            now = time.monotonic()
            if now >= self._search_at:
                self._search_at = now + SEARCH_INTERVAL_S
                self._search()
            self.samples += 1
            for pid in [*self._others, *(child for one in self._zygotes for child in _children(one, one))]:
                if pid not in self._files and pid not in self._zygotes:
                    self._add(pid)
            for pid in list(self._files):
                self._sample(pid, now)

    def _run(self) -> None:
        while not self._closed:
            self._is_open.wait()
            self.look()
            time.sleep(INTERVAL_S)
        with self._lock:
            for pid in list(self._files):
                self._forget(pid)

    def _search(self) -> None:
        found, zygotes, waiting = [self._main], list[int](), [self._main]
        while waiting:
            parent = waiting.pop()
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{parent}/task"):
                    for pid in _children(parent, int(task)):
                        is_zygote = b"\0--type=zygote" in _PROC.joinpath(str(pid), "cmdline").read_bytes()
                        (zygotes if is_zygote else found).append(pid)
                        waiting.append(pid)
        self._zygotes, self._others = zygotes, found

    def _add(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            self._files[pid] = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)

    def _sample(self, pid: int, now: float) -> None:
        try:
            size = int(os.pread(self._files[pid], 128, 0).split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            size = 0
        if not size:
            # V8 itself ends a renderer when its objects take too much memory
            if (above := self._above.get(pid, 0)) > MAX_BYTES // 2:
                self._ended.append((now, above))
            self._forget(pid)
            return
        above = self._above[pid] = size - self._idle.setdefault(pid, max(size, IDLE_BYTES))
        self.peak = max(self.peak, above)
        if above > MAX_BYTES:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            self._ended.append((now, above))
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        os.close(self._files.pop(pid))
        self._idle.pop(pid, None)
        self._above.pop(pid, None)


def _children(pid: int, task: int) -> Iterator[int]:
    """Yields the child processes that a thread has started."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as file:
        yield from map(int, file.read().split())
