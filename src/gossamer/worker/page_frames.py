"""What a worker and its page process send each other.

A frame is 4 bytes of length, then msgpack. The worker sends an `Order`, once, and a `PageTask` for each page. The
process answers with frames of at most CHUNK things each, so that no frame holds the worker's loop for long;
their first byte tells what they hold.
"""

from __future__ import annotations

import struct

import msgspec

from gossamer.model.page import Captured
from gossamer.model.request import Request

CHUNK = 500
SIZE = struct.Struct("<I")


class Order(msgspec.Struct, array_like=True):
    """What the process must know of its crawl."""

    sources: list[tuple[str, bytes]]
    """Path and bytes of each site file, as the worker loaded them."""
    names: list[str]
    args: dict[str, str]
    path: list[str]
    """`sys.path`."""
    drop: tuple[str, ...]
    """Parameters of URLs that make no difference, beside the usual ones."""
    pages: bool
    text: bool
    links: bool
    duplicates: str
    run: str
    beside: str
    watched: list[str]
    fetches: bool
    graph: tuple[str, str] | None
    """Crawl and kind of the rows of links."""
    usual: list[tuple[str, str, dict[str, float]]] = []
    """Site, kind, and its usual fields (`absence`)."""


class SentPage(msgspec.Struct, array_like=True):
    """The parts of a page that reading it needs."""

    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    fetched_at: float
    elapsed: float
    wire: int
    collector: str
    version: str
    address: str | None
    requests: int
    lag: float
    rung: str
    block: str | None
    session: str | None
    credits: int | None
    proxy: str | None
    late: str
    captured: tuple[Captured, ...]
    screenshot: str | None
    console: tuple[str, ...]
    text: str | None


class PageTask(msgspec.Struct, array_like=True):
    """A page to read, or (`lacks`) to look at for what its site must have."""

    lacks: bool
    request: Request
    host: str
    crashes: int
    page: SentPage
    error: str | None


class Took(msgspec.Struct, array_like=True):
    """A call of the taker that the worker makes: for a `request` (with a voucher or not), or for the `hrefs`
    of a `page`."""

    request: Request | None = None
    vouched: bool = False
    flags: str = ""
    beside: str = ""
    page: str = ""
    base: str = ""
    hrefs: list[str] = []


class End(msgspec.Struct, array_like=True):
    """The last frame of an answer: what is not in the frames before."""

    skips: dict[str, int] = {}
    items: int = 0
    counts: dict[str, int] = {}
    error: str | None = None
    infrastructure: bool = False
    named: int = -1
    """How many rows are items before which nothing stands; -1: none names anything."""
    why: list[str] = []
    """Why the page is kept aside."""
    block: str | None = None
    lacks: str = ""
    too_complex: str = ""
    retire: bool = False
    """The process has grown and ends now."""


ROWS, TAKES, NAMES, END = range(4)
"""What a frame holds: its first byte."""
