"""Redirects the output of `print` in the user's code to stderr, because stdout is reserved for data."""

from __future__ import annotations

import sys
import threading
from typing import TextIO


class StdoutRedirect:
    """The block `with stdout_to_stderr:` redirects `sys.stdout` to `sys.stderr` in the whole process. The
    redirection ends when no thread or coroutine is in such a block any more. `contextlib.redirect_stdout` is
    not used here, because two overlapping blocks of `redirect_stdout` may leave `sys.stdout` redirected
    forever."""

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
