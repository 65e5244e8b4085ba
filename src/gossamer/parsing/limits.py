"""What reading a page may cost, and the limits of the operating system that see to it."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = 64 << 20
"""Bytes that a page may take beside MEMORY_PER_BYTE for each of its own."""
MEMORY_PER_BYTE = 8
LONG_TEXT, LONG_TEXT_PER_BYTE = 2 << 20, 16
"""A text of so many bytes without any tag takes so much more: the parser doubles its room and keeps what it
left."""
SECONDS, SECONDS_PER_MB = 10.0, 1.0
"""CPU time that a page may take."""
MAX_UNPACKED = 50 << 20
"""Bytes of a sitemap, unpacked, at most (sitemaps.org)."""
WALL = 3.0
"""Times the CPU time, by the clock: a site function may sleep."""


def limit_seconds(body: bytes) -> float:
    """CPU seconds that a page may take."""
    return SECONDS + SECONDS_PER_MB * len(body) / 1e6


def decoded_size(body: bytes) -> int:
    """Bytes of a page, or of what a packed sitemap says that it unpacks to."""
    if body[:2] != b"\x1f\x8b":
        return len(body)
    return max(len(body), min(int.from_bytes(body[-4:], "little"), MAX_UNPACKED))


def limit_bytes(body: bytes) -> int:
    """Bytes by which a process may grow that reads a page."""
    longest = 0
    for at in range(LONG_TEXT // 2, len(body), LONG_TEXT // 2):
        end = body.find(b"<", at)
        longest = max(longest, (len(body) if end < 0 else end) - body.rfind(b"<", 0, at))
    return (
        MEMORY
        + MEMORY_PER_BYTE * decoded_size(body)
        + (LONG_TEXT_PER_BYTE * longest if longest > LONG_TEXT else 0)
    )


class TooComplex(ValueError):
    """To read a page takes more memory or time than it may."""


class Limits:
    """Memory and CPU time of this process while it reads one page: beyond them allocations fail, or a signal
    kills it."""

    def __init__(self) -> None:
        self._usual = resource.getrlimit(resource.RLIMIT_AS)
        self._linux = sys.platform == "linux"

    def begin(self, body: bytes, start: int) -> None:
        """Limit this process to `start` bytes of memory and what the page may take."""
        signal.setitimer(signal.ITIMER_PROF, limit_seconds(body))
        if self._linux:
            most = start + limit_bytes(body)
            hard = self._usual[1]
            resource.setrlimit(
                resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )

    def end(self) -> None:
        """Lift the limits."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if self._linux:
            resource.setrlimit(resource.RLIMIT_AS, self._usual)


def virtual_size() -> int:
    """Bytes of address space of this process; 0 where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


@contextmanager
def limited_memory(body: bytes) -> Iterator[None]:
    """Within it this process may grow by what a page may take. Raises TooComplex where it would have to grow
    more."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = virtual_size() + limit_bytes(body)
    try:
        resource.setrlimit(
            resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard)
        )
        yield
    except MemoryError:
        raise TooComplex(
            f"the page is too complex: it takes more than {limit_bytes(body) >> 20} MiB"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
