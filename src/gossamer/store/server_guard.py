"""The guard of an embedded server: a small process that outlives its owner, the process that started the server.
If the owner ends without leaving the data folder, or leaves the folder to other processes, the guard runs
`store.orphaned_server`, which stops the server when no process uses the folder any more."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

_GUARD = 'read -r _ || exec "$@"'
"""The shell command of the guard. A shell is small and starts quickly. It ends if it can read a line, and runs
the program if the pipe is closed without a line."""


class ServerGuard:
    """The guard of the server of one data folder."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, pid: int, socket: str) -> None:
        """Starts a guard for a new server, and ends the guard of the server before it. `pid`, `socket`: of the
        new server."""
        self.end()
        program = (sys.executable, "-P", "-m", "gossamer.store.orphaned_server")
        words = (*program, str(self._data.absolute()), str(pid), socket)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "gossamer-guard", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> None:
        """Ends the guard, because the server has ended."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate(b"\n")
            self._process = None

    def release(self) -> None:
        """Lets the guard stop the server when no process uses the folder any more."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.returncode = 0  # so that Popen does not warn if the guard outlives this process
