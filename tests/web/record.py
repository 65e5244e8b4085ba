"""What the server writes down of each request, in memory and as JSON lines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple


class Hit(NamedTuple):
    """One request. Times in ns of the server's monotonic clock; `wall` in seconds since the epoch."""

    n: int
    conn: int
    """Number of the connection."""
    host: str
    """The authority that was asked, as in its URLs."""
    method: str
    path: str
    """With query, as on the wire."""
    status: int
    """As sent; 0: the connection ended without an answer."""
    start: int
    """When the kernel had the request's last bytes (it counts in ticks of some ms), however late the server
    saw them."""
    end: int
    """Just before the last bytes went to the kernel, or when the connection was lost; 0: still open."""
    wall: float
    lag: int
    """How much later than `start` the server looked, ns."""
    sent: int
    """Bytes of the answer, head and all."""
    kind: str
    """What was served: page, an act of an odd URL, robots, sitemap, trap, missing."""
    headers: dict[str, str]
    """Those of the request that matter, names in lower case."""
    peer: str = ""
    """The address that asked."""

    @property
    def seen(self) -> int:
        """When the server looked at it, ns: never before the answers that the crawler had by then."""
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
    """All hits since the last reset; each finished one also goes to the file, if there is one."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.file = file
        self.done: list[Hit] = []
        self.open: dict[int, Hit] = {}
        self.count = 0

    def begin(
        self, conn: tuple[int, str], host: str, request: tuple[str, str, dict[str, str]], lag: int
    ) -> int:
        """Note that a request came on a connection (its number, the reader's address); its number."""
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
        """Note that a request is over since `at` (ns, default now); a number from before a reset is nobody's."""
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
        """All hits as JSON lines, the open ones last."""
        yield from map(line, [*self.done, *self.open.values()])


def line(hit: Hit) -> str:
    return json.dumps(hit._asdict(), separators=(",", ":")) + "\n"


def read(lines: Iterable[str]) -> list[Hit]:
    """Hits of JSON lines, in the order in which the server saw them; a torn last line of a killed server is
    left out."""
    hits = [Hit(**json.loads(text)) for text in lines if text.endswith("\n")]
    return sorted(hits, key=lambda hit: hit.seen)
