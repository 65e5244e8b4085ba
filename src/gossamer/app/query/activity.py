"""Counts the requests of a crawl over time, from its log of attempts. The log of a crawl of this machine is read once:
later calls read only the lines that were added."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.app.query.opened_crawl import LocalRows, opened_crawl
from gossamer.config.settings import Settings

MAX_PERIODS: Final = 60
CLASSES: Final = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
"""The classes of responses. `none`: no response came."""
MAX_LOGS: Final = 64
"""Maximum number of logs whose counts stay in memory."""
_READ_BYTES: Final = 4 << 20


class _Line(msgspec.Struct):
    ts: str
    status: int | None = None


class Activity:
    """The numbers of requests in periods of equal length, at most MAX_PERIODS. The periods become longer as the crawl
    becomes older."""

    def __init__(self) -> None:
        self.seconds = 1
        self.requests = 0
        self._counts: dict[int, list[int]] = {}

    def add(self, at: float, status: int | None) -> None:
        """Counts a request that was sent at a time."""
        self.requests += 1
        period = int(at) // self.seconds
        counts = self._counts.setdefault(period, [0] * len(CLASSES))
        counts[min(max((status or 0) // 100, 0), len(CLASSES) - 1)] += 1
        while max(self._counts) - min(self._counts) >= MAX_PERIODS:
            self._widen()

    def _widen(self) -> None:
        self.seconds *= 2
        wide: dict[int, list[int]] = {}
        for period, counts in self._counts.items():
            into = wide.setdefault(period // 2, [0] * len(CLASSES))
            for place, n in enumerate(counts):
                into[place] += n
        self._counts = wide

    def periods(self, until: float = 0.0) -> list[tuple[float, dict[str, int]]]:
        """Returns the periods from the first to the last one, or to that of the time `until`, also empty ones: the
        beginning, and the number of responses by class."""
        if not self._counts:
            return []
        while int(until) // self.seconds - min(self._counts) >= MAX_PERIODS:
            self._widen()
        first = min(self._counts)
        last = max(max(self._counts), int(until) // self.seconds)
        none = [0] * len(CLASSES)
        return [
            (float(one * self.seconds), dict(zip(CLASSES, self._counts.get(one, none), strict=True)))
            for one in range(first, last + 1)
        ]


class _ReadLog:
    """The counts of a log up to an offset."""

    def __init__(self) -> None:
        self.activity, self.offset, self.lock = Activity(), 0, threading.Lock()

    def update(self, path: Path) -> Activity:
        decode = msgspec.json.Decoder(_Line).decode
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return self.activity
        with self.lock, file:
            if file.seek(0, 2) < self.offset:  # a crawl of the same name was started anew
                self.activity, self.offset = Activity(), 0
            file.seek(self.offset)
            while part := file.read(_READ_BYTES):
                whole, newline, rest = part.rpartition(b"\n")
                self.offset += len(whole) + len(newline)
                if not newline:
                    break
                for line in whole.split(b"\n"):
                    try:
                        found = decode(line)
                        self.activity.add(_seconds(found.ts), found.status)
                    except (msgspec.MsgspecError, ValueError):
                        continue
                if rest:
                    file.seek(self.offset)
            return self.activity


_logs: dict[str, _ReadLog] = {}


def read_activity(settings: Settings, crawl: str) -> Activity:
    """Returns the numbers of requests of a crawl over time. Raises UsageError and ConfigError if the log is where this
    machine does not reach it."""
    with opened_crawl(settings, crawl) as stored:
        if not isinstance(stored, LocalRows):
            return _count(stored.rows("attempts"))
        path = Path(stored.folder) / "attempts.jsonl"
        key = f"{path.absolute()} {path.stat().st_ino if path.exists() else 0}"
        if key not in _logs and len(_logs) >= MAX_LOGS:
            _logs.pop(next(iter(_logs)))
        return _logs.setdefault(key, _ReadLog()).update(path)


def _count(rows: Iterable[dict[str, Any]]) -> Activity:
    found = Activity()
    for row in rows:
        found.add(_seconds(str(row.get("ts"))), row.get("status"))
    return found


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
