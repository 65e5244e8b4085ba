"""Embedded stores that nobody uses any more: servers whose doors were all killed, or whose folder was
deleted; sockets of dead ones.

Only what is ours is looked at: private folders `gossamer-*` of this user below the temporary folder, that
hold a socket `s`.
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

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.config.data_files import open_file
from gossamer.errors import GossamerError
from gossamer.store.embedded import Embedded


class Orphan(NamedTuple):
    """A socket, and the folder of the store that answers on it: None when none does, or when that folder is
    gone."""

    socket: Path
    alive: bool
    store: Path | None


def orphans(age: float, now: float | None = None) -> Iterator[Orphan]:
    """Those that are so old, in seconds."""
    now = time.time() if now is None else now
    for folder in sorted(Path(tempfile.gettempdir()).glob("gossamer-*")):
        socket = folder / "s"
        if not _ours(folder, socket) or now - socket.lstat().st_mtime < age:
            continue
        client = redis.Redis(unix_socket_path=str(socket), socket_timeout=2, retry=Retry(NoBackoff(), 0))
        try:
            # a deleted folder has no name
            where = Path(str(client.config_get("dir").get("dir") or "/nowhere"))
        except redis.ConnectionError:
            yield Orphan(socket, False, None)
        except redis.RedisError:
            continue  # it lives, and is busy
        else:
            if where.is_dir() and _lived_in(where):
                continue
            yield Orphan(socket, True, where if where.is_dir() else None)
        finally:
            client.close()


def remove(orphan: Orphan) -> None:
    """End the server, if there is one, and remove its socket. One whose folder is there keeps all that it
    has."""
    if orphan.store is not None:
        door = Embedded(orphan.store.parent)
        if str(orphan.socket) in (door.url() or ""):
            with contextlib.suppress(GossamerError):
                door.start()
                door.leave()
        return
    if orphan.alive:
        with (
            contextlib.suppress(redis.RedisError),
            redis.Redis(unix_socket_path=str(orphan.socket), socket_timeout=5) as client,
        ):
            client.shutdown(nosave=True)
    shutil.rmtree(orphan.socket.parent, ignore_errors=True)


def _ours(folder: Path, socket: Path) -> bool:
    """Whether it is a private folder of this user with a socket in it and nothing else."""
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
    """Whether a door of the folder lives."""
    try:
        with open(store / "doors.lock", "rb", opener=open_file) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
