"""The server's record of each request, in memory and as JSON lines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple


class Hit(NamedTuple):
    """One request. Times are in ns of the server's monotonic clock, and `wall` is in seconds since the
    epoch."""

    n: int
    conn: int
    """The number of the connection."""
    host: str
    """The requested authority, as in the URLs of the web."""
    method: str
    path: str
    """The path with its query, as on the wire."""
    status: int
    """The status as sent. 0 means that the connection ended without an answer."""
    start: int
    """The time at which the kernel got the last bytes of the request, even if the server saw them later. The
    kernel counts in ticks of a few ms."""
    end: int
    """The time just before the last bytes were passed to the kernel, or at which the connection was lost. 0
    means that the request is in flight."""
    wall: float
    lag: int
    """The time between `start` and the moment when the server read the request, in ns."""
    sent: int
    """The bytes of the answer, including its head."""
    kind: str
    """The kind of answer: page, an act of an odd URL, robots, sitemap, trap, missing."""
    headers: dict[str, str]
    """The relevant request headers, with lower-case names."""
    peer: str = ""
    """The address of the client."""

    @property
    def seen(self) -> int:
        """Returns when the server read the request, in ns. This is never before the answers that the crawler
        had when it sent the request."""
        return self.start + self.lag


KEPT = (
    "user-agent",
    "referer",
    "cookie",
    "authorization",
    "proxy-authorization",
    "accept-encoding",
    "if-none-match",
    "if-modified-since",
    "from",
    "range",
)


class Record:
    """All hits since the last reset. Each finished hit is also written to the file, if there is one."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.file = file
        self.done: list[Hit] = []
        self.open: dict[int, Hit] = {}
        self.count = 0

    def begin(
        self, conn: tuple[int, str], host: str, request: tuple[str, str, dict[str, str]], lag: int
    ) -> int:
        """Record that a request has arrived on a connection, given by its number and the client's address.
        Returns the number of the request."""
        method, path, headers = request
        self.count += 1
        kept = {name: headers[name] for name in KEPT if name in headers}
        now = time.monotonic_ns()
        hit = Hit(
            self.count,
            conn[0],
            host,
            method,
            path,
            0,
            now - lag,
            0,
            time.time() - lag / 1e9,
            lag,
            0,
            "",
            kept,
            conn[1],
        )
        self.open[self.count] = hit
        return self.count

    def end(self, number: int, status: int, sent: int, kind: str, at: int = 0) -> None:
        """Record that a request has ended at `at` (ns, default now). The number of a request from before a
        reset is ignored."""
        hit = self.open.pop(number, None)
        if hit is None:
            return
        hit = hit._replace(status=status, end=at or time.monotonic_ns(), sent=sent, kind=kind)
        self.done.append(hit)
        if self.file:
            self.file.write(line(hit))

    def reset(self) -> None:
        self.done.clear()
        self.open.clear()

    def lines(self) -> Iterator[str]:
        """Returns all hits as JSON lines, with the requests in flight at the end."""
        yield from map(line, [*self.done, *self.open.values()])


def line(hit: Hit) -> str:
    return json.dumps(hit._asdict(), separators=(",", ":")) + "\n"


def read(lines: Iterable[str]) -> list[Hit]:
    """Reads hits from JSON lines and returns them in the order in which the server saw them. The incomplete
    last line of a killed server is left out."""
    hits = [Hit(**json.loads(text)) for text in lines if text.endswith("\n")]
    return sorted(hits, key=lambda hit: hit.seen)
