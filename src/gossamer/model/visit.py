"""A visit: the full record of one trip of a claim, and the rows and attempts it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.model.minhash import Sketch
from gossamer.model.page import Exchange
from gossamer.model.request import KnownPage, Request


class Claim(msgspec.Struct):
    """A request handed to a worker under a lease. `token` fences it: a settle with a stale token is refused."""

    token: int
    bucket: int
    host: str
    request: Request
    kind: str = "page"
    """`page`, `robots` (fetch this origin's robots.txt), or `gate` (only evaluate, visit at most one of the
    batch)."""
    attempt: int = 0
    """How often this request was tried and failed before."""
    crashes: int = 0
    robots: int = 0
    """Version of the origin's robots rules; 0: not asked for; negative: nothing may be fetched
    (`politeness.closed`). Of a robots claim: how often robots.txt was tried in vain."""
    pace: str = ""
    """The host's pace as the frontier keeps it (politeness.pace)."""
    delay: float = 0.0
    """Seconds between starts in force for the host when the claim was made."""
    floor: float = 0.0
    """The host's Crawl-delay or 1 / Request-rate in seconds: the least delay, whatever its pace."""
    rate: float | None = None
    """The delay in seconds that an operator fixed for the host."""
    vouchers: int = 0
    """Domains in good standing that link to a discovered host; 0 for a seed's host."""
    again: bool = False
    """It was visited before, and is only read again: a shorter way to it was found (`road.nearer`)."""
    trouble: str = ""
    """What is wrong with its host, '' when nothing is (`politeness.breaker.Trouble.of`)."""
    strange: str = ""
    """Why this gossamer cannot make the request: a newer one wrote it. It goes back, and this worker does no
    work for the crawl."""


class PageRecord(msgspec.Struct, omit_defaults=False):
    """One line of a page output, as docs/records.md says."""

    url: str
    requested_url: str
    status: int | None
    title: str | None
    content_type: str | None
    language: str | None
    depth: int
    referrer: str | None
    fetched_at: str
    elapsed: float
    bytes: int
    collector: str
    links: int
    text_hash: str | None
    canonical: str | None
    redirects: list[str]
    error: str | None
    group_id: str | msgspec.UnsetType | None = msgspec.UNSET
    copy: str | msgspec.UnsetType | None = msgspec.UNSET
    likeness: float | msgspec.UnsetType | None = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    out_links: list[str] | msgspec.UnsetType = msgspec.UNSET


ASIDE = "!aside"
"""Kind of the rows that are kept aside: items that something is wrong with."""


class RequestContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a stored page was asked for: what a site function sees beside the page itself, and how it was got."""

    method: str = "GET"
    body: str | None = None
    depth: int = 0
    referrer: str | None = None
    hops: tuple[str, ...] = ()
    use: str | None = None
    carry: Any = None
    rung: str = "plain"
    collector: str = "http"
    block: str | None = None


class Raw(msgspec.Struct):
    """An answer as it came, for outputs that keep pages whole. `at`: start of the request, seconds since the
    epoch."""

    url: str
    status: int
    content_type: str
    at: float
    exchange: Exchange
    asked: RequestContext
    address: str | None = None
    cut: bool = False
    """The body was longer than what was kept."""
    packed: Any = None
    """What an output made of it beforehand (`parts.Packs`)."""


class Edge(msgspec.Struct):
    """A link of a page (docs/records.md)."""

    source: str
    """The page's key: the canonical form of the URL that was asked for first."""
    target: str
    """The canonical form of the address."""
    url: str
    """The page's URL."""
    text: str
    nofollow: bool
    kind: str
    crawl: str
    seen_at: str


LINK, LINKS = "page_link", "@link"
"""Kinds of the rows of links: of a table, of files that hold nothing else."""


class Row(msgspec.Struct):
    """One row for the sinks. `kind` is "page", RAW or the item's kind; `key` its stable key within that kind."""

    kind: str
    key: str
    data: PageRecord | dict[str, Any] | Raw | Edge
    run: str = ""
    """The run that saw it, where its site says that a whole run sees all there is (`complete=True`)."""
    sketch: Sketch | None = None
    """What it says, where it is to be marked with the group of what says the same."""
    once: bool = False
    """It is dropped where another says the same, or nearly."""
    lacks: tuple[str, ...] = ()
    """Fields without a value that nearly all items of the last good runs have: stores that keep items get it
    when the run is judged."""


RAW = "@raw"
"""The kind of rows that only outputs of whole pages take."""


class Attempt(msgspec.Struct, omit_defaults=True):
    """One request made, a line of attempts.jsonl (docs/records.md). Secrets are masked before it is made."""

    ts: str
    crawl: str
    url: str
    host: str
    attempt: int
    rung: str
    collector: str
    status: int | None
    outcome: str
    seconds: float
    bytes_wire: int
    bytes_decoded: int
    proxy: str | None
    session: str | None
    worker: str
    block: str | None
    credits: int | None
    error: str | None
    screenshot: str | None = None
    console: tuple[str, ...] = ()


class KnownLine(msgspec.Struct, omit_defaults=True):
    """What is remembered of a visit for a later pass, a line of known.jsonl: the request, and what came of
    it."""

    url: str
    """That was asked for first, before any redirect."""
    at: int
    """Seconds since the epoch."""
    known: KnownPage
    depth: int = 0
    referrer: str | None = None
    needs: dict[str, Any] = {}
    """Whatever else its request has."""


Group = tuple[int, str, int, str, str, str]
"""Links of one host: bucket, host, level (priority), lane, flags (`add.lua`), voucher (registered domain or
'')."""
Adds = dict[Group, list[Any]]
"""Per group the flat list `hi, lo, entry, hi, lo, entry, ...` (halves of the fingerprint, `request.entry`).
"""


class Claimed(msgspec.Struct):
    """What asking a bucket for claims brought. `next_at`: when the next host is ready (store's clock, ms; -1:
    none waits); `limit`: the limit that is reached (pages, bytes) or ''."""

    now: int
    next_at: int
    limit: str
    claims: list[Claim]
    bucket: int = 0
    sure: bool = True
    """False: no replica of the store knows of the claims, so they must not be visited."""


class Settle(msgspec.Struct):
    """How one claim ends; `action` as in `settle.lua`, times in milliseconds."""

    token: int
    action: str
    since: int = -1
    """Since the request began; -1: none was made."""
    delay: int = 0
    pace: str = ""
    host_wait: int = 0
    wait: int = 0
    reason: str = ""
    detail: str = ""
    health: str = ""
    """What it says of the host: nothing, `g` a good answer, `b` blocked, `f` a fault, `e` one of a URL that
    failed before, `d` a fault after which the host is given up (`politeness.breaker`)."""
    final: bool = False
    """Its failure is the name's own: a server said that there is none."""
    mark: int | None = None
    """Fingerprint of the URL where depths are kept: it was visited at `depth`."""
    depth: int = 0


class Commit(NamedTuple):
    """Claims of one bucket that end together, with their counts, links (of any bucket) and file lengths
    (path, committed, new); `hosts`: the bytes that came of each host."""

    bucket: int
    settles: Sequence[Settle]
    counts: dict[str, int]
    adds: Adds
    files: Sequence[tuple[str, int, int]] = ()
    hosts: Mapping[str, int] = {}


class Visit(msgspec.Struct):
    """The record of one trip as it waits for its commit: how the claim ends, and what it leaves behind."""

    claim: Claim
    settle: Settle
    began: float = 0.0
    """Monotonic time at which the request began; 0 when none was made."""
    put_at: float = 0.0
    """Monotonic time at which it was handed to the committer."""
    rows: list[Row] = []
    attempts: list[Attempt] = []
    seen: KnownLine | None = None
    counts: dict[str, int] = {}
    """Changes of the crawl's counts that this visit makes."""
    adds: Adds = {}
    size: int = 0
    """Bytes it holds in memory, roughly."""
    elapsed: float = 0.0
    """Seconds from the start of its request to the last byte."""
    gone: str = ""
    """When its page answered that it is gone (404, 410), RFC 3339; items that stood there are deleted."""
    later: Callable[[Visit], None] | None = None
    """Adds what its items name, those that are still among its rows, once it is known which stay."""

    def ends(self, now: float) -> Settle:
        """Its settle with `since` as of `now` (monotonic)."""
        if self.began:
            self.settle.since = max(0, round((now - self.began) * 1000))
        return self.settle
