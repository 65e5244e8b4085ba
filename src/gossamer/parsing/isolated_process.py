"""Runs a library that decodes files from the web in a separate process, because any such file may be
malicious.

The process runs a program in the same folder as this module (`pdf_process`, `thumbnail_process`). Requests
are written to its standard input one after another. Each response is written to its standard output in parts.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, cast

MAX_REQUESTS = 200
"""Number of requests after which the child process is replaced."""
GRACE_S = 5.0
"""A program that is still running GRACE_S seconds after the time limit of a request is killed."""
_SIZE = struct.Struct("<I")
"""The header before each part of a response. The header contains the size of the part in bytes plus 1. After
the last part, a header that contains 0 ends the response."""


class IsolatedProcess:
    """Runs one program in a child process. The child is started for the first request, and restarted if it
    has ended. After a fork, the forked process starts a child of its own."""

    def __init__(self, program: str) -> None:
        """`program`: the name of the module that the process runs."""
        self._path = Path(__file__).with_name(f"{program}.py")
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def parts(self, request: bytes, seconds: float) -> tuple[list[bytes], bool]:
        """Returns the parts of the response to a request, and whether the response is complete. If the
        process takes more than `seconds` or ends early, returns the parts that were complete at that time.
        May be called from any thread."""
        with self._lock:
            if self._child is not None and not self._child.usable:
                self._close()
            if self._child is None:
                atexit.unregister(self._close)
                atexit.register(self._close)
                self._child = _Child(self._path)
            return self._child.parts(request, time.monotonic() + seconds + GRACE_S)

    def _close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    def __init__(self, path: Path) -> None:
        self.pid, self.requests = os.getpid(), 0
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )

    @property
    def usable(self) -> bool:
        """Whether this process started the child, and the child can take another request."""
        return self.pid == os.getpid() and self._process.poll() is None and self.requests < MAX_REQUESTS

    def parts(self, request: bytes, ends: float) -> tuple[list[bytes], bool]:
        """Returns the parts of a response, and whether the response is complete. Kills the child if the
        response is incomplete."""
        self.requests += 1
        found: list[bytes] = []
        try:
            put = cast(IO[bytes], self._process.stdin)
            put.write(request)
            put.flush()
            while size := _SIZE.unpack(self._exactly(_SIZE.size, ends))[0]:
                found.append(self._exactly(size - 1, ends))
        except (OSError, EOFError):
            self.end()
            return found, False
        return found, True

    def end(self) -> None:
        """Kills the child, unless another process started it."""
        if self.pid == os.getpid():
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast(IO[bytes], pipe).close()

    def _exactly(self, size: int, ends: float) -> bytes:
        out, parts, left = cast(IO[bytes], self._process.stdout).fileno(), [], size
        while left:
            if not select.select([out], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise EOFError
            part = os.read(out, min(left, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
