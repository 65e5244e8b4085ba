"""A store that loses its last writes: it is restarted from an older copy of its append-only file."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.processes import Process


class OlderCopy:
    """A server that can go back to a copy of its append-only file. `server`: a durable server. If None, a new
    one is started in `folder`."""

    def __init__(self, folder: Path, server: Process | None = None) -> None:
        self.server = server or Process(folder, "--save", "", "--appendonly", "yes").ready()
        self._files, self._copy = self.server.folder / "appendonlydir", folder / "copy"

    async def copy(self) -> None:
        """Copy what the store has now."""
        with self.server.client() as client:  # while a server syncs every second, it may hold writes back
            client.config_set("appendfsync", "always")
        shutil.copytree(self._files, self._copy)

    async def go_back(self) -> None:
        """Kill the server, and start it from the copy."""
        self.server.kill()
        self.back()
        await asyncio.to_thread(self.server.ready)

    def back(self) -> None:
        """Start the killed server from the copy."""
        swap(self._files, self._copy)
        self.server.start()


def swap(files: Path, copy: Path) -> None:
    """Replaces the append-only files of a server that does not run by their copy."""
    shutil.rmtree(files)
    shutil.copytree(copy, files)


@contextmanager
def older_copy(folder: Path) -> Iterator[OlderCopy]:
    """Run a durable server on a loopback port."""
    one = OlderCopy(folder)
    try:
        yield one
    finally:
        one.server.kill()
