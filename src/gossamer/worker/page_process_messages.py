"""The messages between a worker and its page process.

A frame consists of its length (4 bytes) and msgpack data. The worker sends one `ProcessSettings`, and then
one `PageTask` per page. The page process answers with frames of at most CHUNK_REQUESTS entries each, so that
no frame blocks the worker's event loop for long. The first byte of an answer frame is the frame's type.
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
    """The settings of the crawl that the page process needs."""

    sources: list[tuple[str, bytes]]
    """The path and the content of each site file, as loaded by the worker."""
    names: list[str]
    args: dict[str, str]
    path: list[str]
    """The value of `sys.path` in the worker."""
    drop: tuple[str, ...]
    """Query parameters that are dropped from the canonical form of a URL, in addition to the default
    parameters."""
    read: ReadSettings
    graph: tuple[str, str] | None
    """A tuple of the crawl's name and the kind of its link rows, or None if the crawl does not store links as
    rows."""
    usual: list[tuple[str, str, dict[str, float]]] = []
    """The usual fields of items and the coverage of each field (`model.absence`), for each site and kind of
    item."""
    log_level: str = ""
    """The minimum level of the log records of site files that the page process prints. If `log_level` is '',
    the page process prints no log records."""
    crawl: str = ""
    folder: str = ""
    """The crawl's folder."""


class SentPage(msgspec.Struct, array_like=True):
    """The fields of a `Page` that the page process needs."""

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
    """A page to read. If `lacks` is true, the page process only checks whether the page contains the content
    that its site requires."""

    lacks: bool
    request: Request
    host: str
    crashes: int
    page: SentPage
    error: str | None


class RecordedTake(msgspec.Struct, array_like=True):
    """A call to `LinkIntake`. The page process records the call, and the worker makes the call. The call
    takes either one `request` or the plain links `hrefs` of a page, or lists the `hrefs` as skipped if `reason` is
    set (see `LinkIntake.list_closed`). `vouched`: whether a voucher was passed with the request."""

    request: Request | None = None
    vouched: bool = False
    flags: str = ""
    beside: str = ""
    page: str = ""
    base: str = ""
    hrefs: list[str] = []
    routes: str = ""
    reason: str = ""
    rule: str = ""
    depth: int = 0


class End(msgspec.Struct, array_like=True):
    """The last frame of the answer to a `PageTask`. This frame contains all results except the rows, recorded
    calls and names, which are in the earlier frames."""

    skips: dict[str, int] = {}
    items: int = 0
    counts: dict[str, int] = {}
    error: str | None = None
    infrastructure: bool = False
    named: int = -1
    """The number of items on the page, or -1 if no item refers to files or other items. The rows of the items
    come first in the answer."""
    why: list[str] = []
    """The reasons for which the page is stored for replay."""
    block: str | None = None
    lacks: str = ""
    too_complex: str = ""
    stop: str = ""
    retire: bool = False
    """Whether the page process exits after this answer because the process has used too much memory."""


ROWS, TAKES, NAMES, END = range(4)
"""The types of answer frames. The first byte of an answer frame is its type."""
