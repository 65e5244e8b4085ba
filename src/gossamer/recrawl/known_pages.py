"""The log of known pages, which contains one line per visit. A later recrawl reads the log to revisit the
pages. As in the attempts log, lines are written before the claims are settled, so each line is written at
least once. If a URL has several lines, only the last line is used. In a fleet, each process writes its own
part of the log into a shared folder. When a recrawl starts, the parts are merged.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gossamer.config.data_files import open_file, refuse_link
from gossamer.model.request import Request
from gossamer.model.visit import KnownLine

NAME = "known.jsonl"
TABLE_NAME = "revisit.sqlite"
"""File name of the page table (`page_table`), which replaces the log when pages are visited again."""
FILE_MODE = 0o600
"""Permission bits of the log file. Only the file's owner may read the log, because request headers in the log
may include secrets."""
BATCH_PAGES = 5000
_decode = msgspec.json.Decoder(KnownLine).decode


def name_of(segment: str) -> str:
    """Returns the file name of the log. In a fleet, each process writes its own part of the log, and
    `segment` identifies the process."""
    return f"known-{segment}.jsonl" if segment else NAME


def forget(folder: Path) -> None:
    """Removes the log and its parts. Raises OSError."""
    for path in _logs(folder):
        path.unlink(missing_ok=True)


def has_table(folder: Path) -> bool:
    """Returns whether a crawl has a page table."""
    return (folder / TABLE_NAME).exists()


def has_any(folder: Path) -> bool:
    """Returns whether a folder has a log of known pages or a page table."""
    return has_table(folder) or bool(_logs(folder))


def forget_table(folder: Path) -> None:
    """Removes the page table of a crawl. Raises OSError."""
    for ending in ("", "-wal", "-shm"):
        (folder / f"{TABLE_NAME}{ending}").unlink(missing_ok=True)


def _logs(folder: Path) -> list[Path]:
    """Returns the paths of the log and of its parts, if these files exist."""
    return [path for path in (folder / NAME, *sorted(folder.glob("known-*.jsonl"))) if path.exists()]


def merge_logs(folder: Path) -> int:
    """Merges the log and its parts into one log that has only the last line of each URL. Returns the number
    of lines. A kill during the merge loses no line. The merge needs no more memory than SQLite's cache, even
    if the log is long.

    Raises OSError.
    """
    logs, path, table = _logs(folder), folder / NAME, folder / "known.sqlite"
    if not logs:
        return 0
    import sqlite3

    table.unlink(missing_ok=True)
    refuse_link(*logs)
    try:
        with contextlib.closing(sqlite3.connect(table, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode=OFF")
            base.execute("PRAGMA synchronous=OFF")
            base.execute("CREATE TABLE seen (name TEXT PRIMARY KEY, at INTEGER, line BLOB)")
            base.execute("BEGIN")
            for line, seen in itertools.chain.from_iterable(map(_lines, logs)):
                parts = (seen.needs.get("method", "GET"), seen.url, seen.needs.get("body", ""))
                name = " ".join(str(part) for part in (*parts, *_key(seen)))
                base.execute(
                    "INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = "
                    "excluded.at, line = excluded.line "
                    "WHERE excluded.at >= at",
                    (name, seen.at, line),
                )
            base.execute("COMMIT")
            count, fresh = 0, path.with_suffix(".new")
            with open(fresh, "wb", opener=lambda name, flags: open_file(name, flags, FILE_MODE)) as file:
                for (line,) in base.execute("SELECT line FROM seen ORDER BY rowid"):
                    file.write(line)
                    count += 1
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        for part in set(logs) - {path}:
            part.unlink(missing_ok=True)
        return count
    except sqlite3.Error as error:
        raise OSError(None, f"the table of known pages cannot be made: {error}", str(table)) from error
    finally:
        table.unlink(missing_ok=True)


def _key(seen: KnownLine) -> tuple[str, ...]:
    """Returns a tuple that contains the key of a line's request. The tuple is empty if the request has no
    key."""
    return (seen.needs["key"],) if "key" in seen.needs else ()


def request_of(seen: KnownLine) -> Request:
    """Returns the request that repeats the visit of a line."""
    needs = {name: value for name, value in seen.needs.items() if name in Request.__struct_fields__}
    return Request(seen.url, depth=seen.depth, referrer=seen.referrer, known=seen.known, **needs)


def is_good_since(seen: KnownLine, since: float) -> bool:
    """Whether the last visit of a page succeeded, and was not before the time `since`."""
    return seen.at >= since and not seen.known.error and 200 <= seen.known.status < 400


def last_visits(folder: Path, since: float, mark: Callable[[Request], int]) -> dict[int, tuple[int, bool]]:
    """Maps the mark of each visited URL to the time of its last visit, and to whether this visit succeeded and was
    not before the time `since`. The crawl may be running. `mark`: returns the fingerprint of a request. Raises
    OSError."""
    found: dict[int, tuple[int, bool]] = {}
    for path in _logs(folder):
        for _, seen in _lines(path):
            number = mark(request_of(seen))
            if number not in found or found[number][0] <= seen.at:
                found[number] = seen.at, is_good_since(seen, since)
    return found


def lines(folder: Path) -> Iterator[list[KnownLine]]:
    """Yields the lines of a merged log, in batches of at most BATCH_PAGES. Raises OSError."""
    found = (seen for _, seen in _lines(folder / NAME))
    while batch := list(itertools.islice(found, BATCH_PAGES)):
        yield batch


def _lines(path: Path) -> Iterator[tuple[bytes, KnownLine]]:
    """Yields each line of a log as a pair of its bytes and its decoded form. Incomplete lines are skipped."""
    with open(path, "rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                yield line, _decode(line)
