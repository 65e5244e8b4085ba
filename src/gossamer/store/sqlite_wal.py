"""SQLite files that several processes write: WAL, and a commit that returns when it is on the disk."""

from __future__ import annotations

import sqlite3
import time


def connect(path: str, wait: float, *, by_hand: bool = False) -> sqlite3.Connection:
    """Open, or make, such a file, for threads that take turns. `wait`: seconds for which another process's
    transaction is waited for; `by_hand`: no transaction begins by itself.

    Raises sqlite3.Error.
    """
    base = sqlite3.connect(
        path, timeout=wait, isolation_level=None if by_hand else "DEFERRED", check_same_thread=False
    )
    try:
        _switch(base, time.monotonic() + wait)
        base.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error:
        base.close()
        raise
    return base


def _switch(base: sqlite3.Connection, until: float) -> None:
    """SQLite's own wait does not hold here: of two processes that change the mode at once, one is refused."""
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return
