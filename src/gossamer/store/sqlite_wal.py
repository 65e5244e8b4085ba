"""Opens SQLite files in WAL mode, so that several processes can write them. When a commit returns, its data
are on disk."""

from __future__ import annotations

import sqlite3
import time


def open_sqlite(path: str, wait: float, *, by_hand: bool = False) -> sqlite3.Connection:
    """Opens or creates a SQLite file. Several threads may share the connection if only one thread uses the
    connection at a time.

    `wait` is the number of seconds to wait for a transaction of another process. If `by_hand` is true, the
    caller must begin each transaction explicitly. Raises sqlite3.Error.
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
    """Switches to WAL mode. SQLite's own timeout does not apply to this statement. If two processes run the
    statement at the same time, one of the processes fails immediately, so this function retries."""
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return
