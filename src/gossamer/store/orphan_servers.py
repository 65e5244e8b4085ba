"""Finds and removes embedded servers that nobody uses, because all their gossamer processes were killed or
their data folder was deleted. The sockets of dead servers are found and removed, too.

The module looks only at this user's private folders `gossamer-*` in the temporary folder. The module skips
folders that contain anything except a socket `s`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gossamer.config.data_files import open_file
from gossamer.errors import GossamerError
from gossamer.store.blocking_call import call_socket
from gossamer.store.embedded import Embedded
from gossamer.store.server_errors import Lost, RedisError


class Orphan(NamedTuple):
    """An unused socket. `store`: the folder of the server that answers on the socket. `store` is None if no
    server answers or if the folder is gone."""

    socket: Path
    alive: bool
    store: Path | None


def find_orphans(age: float) -> Iterator[Orphan]:
    """Yields the orphans that are at least `age` seconds old."""
    now = time.time()
    for folder in sorted(Path(tempfile.gettempdir()).glob("gossamer-*")):
        socket = folder / "s"
        if not _ours(folder, socket) or now - socket.lstat().st_mtime < age:
            continue
        try:
            # the server reports no path for a deleted folder
            where = Path(call_socket(str(socket), 2.0, "CONFIG GET", "dir").get("dir") or "/nowhere")
        except Lost:
            yield Orphan(socket, False, None)
        except RedisError:
            continue  # alive and busy
        else:
            if where.is_dir() and _lived_in(where):
                continue
            yield Orphan(socket, True, where if where.is_dir() else None)


def remove_orphan(orphan: Orphan) -> None:
    """Stops the server, if there is one, and removes its socket. The data in the store's folder is kept."""
    if orphan.store is not None:
        door = Embedded(orphan.store.parent)
        if str(orphan.socket) in (door.url() or ""):
            with contextlib.suppress(GossamerError):
                door.start()
                door.leave()
        return
    if orphan.alive:
        with contextlib.suppress(RedisError):  # a server that shuts down does not reply
            call_socket(str(orphan.socket), 5.0, "SHUTDOWN", "NOSAVE")
    shutil.rmtree(orphan.socket.parent, ignore_errors=True)


def _ours(folder: Path, socket: Path) -> bool:
    """Returns whether `folder` is a private folder of this user that contains only a socket."""
    try:
        about = folder.lstat()
        return (
            stat.S_ISDIR(about.st_mode)
            and about.st_uid == os.getuid()
            and stat.S_IMODE(about.st_mode) == 0o700
            and os.listdir(folder) == ["s"]
            and stat.S_ISSOCK(socket.lstat().st_mode)
        )
    except OSError:
        return False


def _lived_in(store: Path) -> bool:
    """Returns whether a gossamer process that is alive uses the store."""
    try:
        with open(store / "doors.lock", "rb", opener=open_file) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
