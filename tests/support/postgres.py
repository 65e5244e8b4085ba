"""Debian's PostgreSQL as a server that a test can kill and restart with its data."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.processes import free_port

BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/nowhere"))


class Postgres:
    """One server on loopback, with the superuser `u`. The user `nobody` must be able to reach its folder."""

    name = "PostgreSQL"

    def __init__(self, folder: Path) -> None:
        # PostgreSQL refuses to run as root
        self._own = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        self.folder, self.port = folder, free_port()
        if self._own:
            shutil.chown(folder, "nobody")
        self._run("initdb", "-D", f"{folder}/d", "-A", "trust", "-U", "u", "-N", "--no-instructions")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://u@127.0.0.1:{self.port}/postgres"

    def version(self) -> str:
        return str(self.ask("SHOW server_version")[0][0])

    def start(self) -> None:
        """Start or restart the server. Returns when the server answers."""
        words = ["-D", f"{self.folder}/d", "-k", str(self.folder), "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._own, str(BIN / "postgres"), *words], stdout=log, stderr=log, cwd=self.folder
            )
        for _ in range(600):
            try:
                self.ask("SELECT 1")
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.05)
            else:
                return
        raise AssertionError("PostgreSQL does not answer")

    def kill(self) -> None:
        """Sends SIGKILL to the server and all its processes."""
        for pid in self._pids() if self.process.poll() is None else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def halt(self) -> None:
        """Freeze the server with SIGSTOP."""
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume the frozen server."""
        for pid in self._pids():
            os.kill(pid, signal.SIGCONT)

    def ask(self, question: str, *given: Any) -> list[tuple[Any, ...]]:
        """Runs a statement and returns its rows."""
        with psycopg.connect(self.url, autocommit=True) as base:
            cursor = base.execute(question, given or None)
            return cursor.fetchall() if cursor.description else []

    def _pids(self) -> list[int]:
        main = int((self.folder / "d" / "postmaster.pid").read_text().split()[0])
        found = [main]
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
                if parent == main:
                    found.append(int(entry.name))
        return found

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [*self._own, str(BIN / program), *words], check=True, stdout=subprocess.DEVNULL, cwd=self.folder
        )


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Runs a server for the duration of the block. Skips the test if PostgreSQL is not installed."""
    if not BIN.exists():
        pytest.skip("PostgreSQL is not here: ./test gets it where apt-get is")
    with tempfile.TemporaryDirectory(prefix="gt-", dir="/tmp") as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.kill()
