"""Opens SQLite files in WAL mode that several processes write. A commit returns when it is on disk."""

from __future__ import annotations

import sqlite3
import time


def open_sqlite(path: str, wait: float, *, by_hand: bool = False) -> sqlite3.Connection:
    """Opens or creates a SQLite file, for threads that use it one at a time.

    `wait` is how many seconds to wait for a transaction of another process. `by_hand` disables automatic
    transactions. Raises sqlite3.Error.
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
    """Switches to WAL. SQLite's own timeout does not apply to this statement: if two processes run it at
    once, one fails immediately."""
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return
