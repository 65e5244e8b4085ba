"""Reads the attempts log of a running crawl for the progress display. Provides the counts of responses, the
last URL, and the reasons why URLs wait for a retry. The log covers all processes of the crawl, because every
process writes to the log."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gossamer.model.verdict import ERRORS

MAX_BYTES, MAX_WAITING = 4 << 20, 10_000
"""MAX_BYTES is the maximum number of bytes of the attempts log that one update of the display reads.
MAX_WAITING is the maximum number of URLs for which the display stores pending retries."""


class ResponseLine(msgspec.Struct):
    """A line of the attempts log (`model.visit.Attempt`). Only the fields that this module uses are
    decoded."""

    ts: str
    url: str
    status: int | None
    outcome: str
    seconds: float
    error: str | None


class Responses:
    """Counts the responses in the attempts log at `path`. Lines from before `began` (seconds since the epoch)
    are ignored."""

    def __init__(self, path: Path, began: float) -> None:
        self._path = path
        self._since = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        self._decode = msgspec.json.Decoder(ResponseLine).decode
        self._at: int | None = None
        self._waiting: dict[str, str] = {}
        self.statuses: Counter[str] = Counter()
        """Number of responses by class (`status_class`)."""
        self.errors: Counter[str] = Counter()
        """Number of requests that failed, by reason."""
        self.last: ResponseLine | None = None

    def update(self) -> None:
        """Reads the lines that were appended to the log. If the log cannot be read, the counts stay
        unchanged."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                if self._at is None or self._at > size:
                    self._at = max(0, size - MAX_BYTES)
                elif size - self._at > MAX_BYTES:
                    self._at = size - MAX_BYTES
                file.seek(self._at)
                found = file.read(size - self._at)
        except OSError:
            return
        whole, newline, _ = found.rpartition(b"\n")
        self._at += len(whole) + len(newline)
        for line in whole.split(b"\n"):
            self._note(line)

    def waiting(self) -> Counter[str]:
        """Returns the number of URLs that wait for a retry, by reason."""
        return Counter(self._waiting.values())

    def _note(self, raw: bytes) -> None:
        try:
            line = self._decode(raw)
        except msgspec.MsgspecError:  # the first line may be incomplete
            return
        if line.ts < self._since:
            return
        if line.status is not None:
            self.statuses[status_class(line.status)] += 1
        if line.error in ERRORS:
            self.errors[line.error] += 1
        self._waiting.pop(line.url, None)
        if line.outcome == "retry" and len(self._waiting) < MAX_WAITING:
            self._waiting[line.url] = line.error or "no usable response"
        self.last = line


ORDER = ("200", "2xx", "304", "3xx", "404", "4xx", "5xx")
"""The classes of responses, in the order in which they are shown."""


def status_class(status: int) -> str:
    """Returns the class of an HTTP status, such as 2xx. For 200, 304 and 404, returns the status itself.

    >>> status_class(200), status_class(204), status_class(503)
    ('200', '2xx', '5xx')
    """
    return str(status) if status in (200, 304, 404) else f"{status // 100}xx"
