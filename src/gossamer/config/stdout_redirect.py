"""Redirects the output of `print` in the user's code to stderr, because stdout is reserved for data."""

from __future__ import annotations

import sys
import threading
from typing import TextIO


class StdoutRedirect:
    """`with stdout_to_stderr:` redirects `sys.stdout` of the whole process while at least one thread or
    coroutine is in such a block. `contextlib.redirect_stdout` is not used here. If two of its blocks overlap
    and the earlier block ends first, `sys.stdout` stays redirected."""

    def __init__(self) -> None:
        self._lock, self._blocks = threading.Lock(), 0
        self._stdout: TextIO | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._stdout, sys.stdout = sys.stdout, sys.stderr
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks and self._stdout is not None:
                sys.stdout, self._stdout = self._stdout, None


stdout_to_stderr = StdoutRedirect()
