"""Whether a crawl has a process that runs it: the door's pid on this machine, and the lock it holds on its folder."""

from __future__ import annotations

import fcntl
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.frontier.crawls import Record
    from gossamer.settings import Settings


def living(record: Record, settings: Settings) -> bool:
    """False when it ended, or when its process is gone; a door on another machine is believed to live."""
    from gossamer.frontier.crawls import ENDED

    if record.state in ENDED:
        return False
    pid, host = record.door.get("pid"), record.door.get("host")
    if record.fleet:
        return True  # whichever workers there are, or will be
    if host != platform.node():
        return host is not None
    if not isinstance(pid, int) or not _alive(pid):
        return False
    lock = Path(settings.data) / record.name / "lock"
    return not lock.exists() or _held(lock)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _held(lock: Path) -> bool:
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return True
    return False
