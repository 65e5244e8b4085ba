"""The messages between a worker and its page process.

A frame is 4 bytes of length, then msgpack. The worker sends one `ProcessSettings`, and one `PageTask` per
page. The process answers with frames of at most CHUNK_REQUESTS entries each, so that no frame blocks the
worker's event loop for long. The first byte of such a frame is its type.
"""

from __future__ import annotations

import struct

import msgspec

from gossamer.model.page import Captured
from gossamer.model.request import Request
from gossamer.worker.reader import ReadSettings

CHUNK_REQUESTS = 500
SIZE = struct.Struct("<I")


class ProcessSettings(msgspec.Struct, array_like=True):
    """The settings of the crawl that the process needs."""

    sources: list[tuple[str, bytes]]
    """Path and bytes of each site file, as the worker loaded them."""
    names: list[str]
    args: dict[str, str]
    path: list[str]
    """`sys.path`."""
    drop: tuple[str, ...]
    """Query parameters that are dropped from the canonical form of a URL, in addition to the default ones."""
    read: ReadSettings
    graph: tuple[str, str] | None
    """Name of the crawl, and the kind of its rows of links. None if links are not stored as rows."""
    usual: list[tuple[str, str, dict[str, float]]] = []
    """Site, kind of item, and that kind's usual fields with their coverage (`model.absence`)."""
    log_level: str = ""
    """The level from which on log records of site files are printed. '' prints none."""
    crawl: str = ""
    folder: str = ""
    """The crawl's folder."""


class SentPage(msgspec.Struct, array_like=True):
    """The fields of a `Page` that the process needs."""

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
    unrendered: str | None
    router: bool


class PageTask(msgspec.Struct, array_like=True):
    """A page to read. With `lacks`, the process only checks whether the page has the content that its site
    requires."""

    lacks: bool
    request: Request
    host: str
    crashes: int
    page: SentPage
    error: str | None


class RecordedTake(msgspec.Struct, array_like=True):
    """A call of the worker's `LinkIntake`, recorded by the process. It is either one `request` (`vouched`:
    whether it has a voucher), or the plain links `hrefs` of a page."""

    request: Request | None = None
    vouched: bool = False
    flags: str = ""
    beside: str = ""
    page: str = ""
    base: str = ""
    hrefs: list[str] = []
    routes: str = ""


class End(msgspec.Struct, array_like=True):
    """The last frame of an answer. It contains the fields that the earlier frames do not."""

    skips: dict[str, int] = {}
    items: int = 0
    counts: dict[str, int] = {}
    error: str | None = None
    infrastructure: bool = False
    named: int = -1
    """The number of rows at the start that are items, if any item names files or other items; else -1."""
    why: list[str] = []
    """The reasons why the page is stored for replay."""
    block: str | None = None
    lacks: str = ""
    too_complex: str = ""
    stop: str = ""
    retire: bool = False
    """Whether the process has grown too large and exits now."""


ROWS, TAKES, NAMES, END = range(4)
"""The types of answer frames, as their first byte."""
