"""Defines the records of a visit: the claim of a URL, the rows that the visit yields, its attempts, and how
the claim ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.model.minhash import Sketch
from gossamer.model.page import Exchange, Page
from gossamer.model.request import KnownPage, Request
from gossamer.model.verdict import ClaimEnd, HostHealth


class Claim(msgspec.Struct):
    """A request that was given to a worker under a lease. `token` is a fencing token: the frontier refuses a
    settle with an old token."""

    token: int
    bucket: int
    host: str
    request: Request
    kind: str = "page"
    """The task. `page` visits the URL. `robots` fetches the origin's robots.txt. `gate` checks the URL
    against robots.txt. All claims of the kind `gate` for one host form a batch. At most one URL of the batch
    is visited after the check."""
    attempt: int = 0
    """The number of failed tries of this request."""
    crashes: int = 0
    robots: int = 0
    """The version of the origin's robots rules. 0 means that robots.txt has not been requested yet. If the
    number is negative, no page may be fetched, and `politeness.robots_access.CLOSED` contains the reason. In
    a claim of the kind `robots`, the field `robots` is the number of failed tries to fetch robots.txt."""
    pace: str = ""
    """The host's pace as the frontier stores it (`politeness.pace`)."""
    delay: float = 0.0
    """Seconds between the starts of two requests to the host, as of the time of the claim."""
    floor: float = 0.0
    """The minimum delay of the host, regardless of its pace: its Crawl-delay or 1 / Request-rate, in
    seconds."""
    rate: float | None = None
    """The delay in seconds that an operator fixed for the host."""
    vouchers: int = 0
    """Number of domains in good standing that link to a discovered host. The host of a seed has 0
    vouchers."""
    again: bool = False
    """Whether the page was visited before and is only read again, because a shorter path to the page was
    found (`worker.min_depth`)."""
    trouble: str = ""
    """The state of the host's circuit breaker, or '' if the host is healthy
    (`politeness.breaker.HostTrouble.of`)."""
    strange: str = ""
    """An error message if this version cannot make the request, because a newer version of gossamer wrote the
    request. If `strange` is set, the worker requeues the claim and stops working on the crawl."""


class PageRecord(msgspec.Struct, omit_defaults=False):
    """One line of a page output, as described in docs/records.md."""

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
    id: str | msgspec.UnsetType = msgspec.UNSET
    """The id of the record's request. If the request has no id, `id` is absent."""
    added_at: str | msgspec.UnsetType = msgspec.UNSET
    """The time when the record's request was added, RFC 3339. If the time is unknown, `added_at` is
    absent."""


ASIDE = "!aside"
"""The kind of the rows that contain rejected items."""


class RequestContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """The circumstances in which a stored page was requested and fetched. A site function receives this
    context in addition to the page."""

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
    id: str | None = None
    added_at: float | None = None


class Raw(msgspec.Struct):
    """A response as it was received, for outputs that store whole pages. `at`: the start of the request, in
    seconds since the epoch."""

    url: str
    status: int
    content_type: str
    at: float
    exchange: Exchange
    asked: RequestContext
    address: str | None = None
    cut: bool = False
    """Whether the body was cut, so that only its first part is kept."""
    packed: Any = None
    """The row, already encoded by an output (`interfaces.Packs`)."""


class Edge(msgspec.Struct):
    """A link of a page (docs/records.md)."""

    source: str
    """The page's key, which is the canonical form of the first requested URL."""
    target: str
    """The canonical form of the link's URL."""
    url: str
    """The page's URL."""
    text: str
    nofollow: bool
    kind: str
    crawl: str
    seen_at: str


LINK, LINKS = "page_link", "@link"
"""The kinds of rows that describe a link. The kind is `page_link` in a table of a database, and `@link` in a
file that contains only links."""


class Row(msgspec.Struct):
    """One row that is written to the outputs. `kind` is "page", RAW or the item's kind; `key` is the stable
    key of the row within that kind."""

    kind: str
    key: str
    data: PageRecord | dict[str, Any] | Raw | Edge
    run: str = ""
    """The run that saw the item. `run` is set only if the item's site declares that each run sees all items
    (`complete=True`)."""
    sketch: Sketch | None = None
    """The sketch of the row's content, if the crawl marks near-duplicates."""
    once: bool = False
    """If True, the row is stored only if it is the first row in its group of equal and nearly equal rows."""
    lacks: tuple[str, ...] = ()
    """Fields that have no value in this row, although nearly all items of the last good runs have a value in
    them. If `lacks` is not empty, databases that keep items receive the row only at the end of the run
    (`model.absence`)."""
    needs: dict[str, Any] | None = None
    """The fields of the request except URL, depth and referrer (`KnownLine.needs`). Only the row of a page
    record sets `needs`."""
    page: Page | None = None
    """The page of the row, if a receiver in the same process needs the page. Never stored."""


RAW = "@raw"
"""The kind of rows that contain a whole response (`Raw`). Only outputs that store whole pages receive such
rows."""


class SkippedUrl(msgspec.Struct):
    """A URL that a crawl found and did not fetch, written as a line of skipped.jsonl (docs/records.md).

    - `reason`: a word of `verdict.SKIPS`. `rule`: the option, pattern or line of robots.txt that decided.
    - `depth`: the number of links from a seed. `found_on`: the page that contains the link, or None.
    - `ts`: the time at which the line is written (RFC 3339).
    """

    url: str
    reason: str
    rule: str
    depth: int = 0
    found_on: str | None = None
    ts: str = ""


class Attempt(msgspec.Struct, omit_defaults=True):
    """One request, written as a line of attempts.jsonl (docs/records.md). Secrets are masked before the line
    is made."""

    ts: str
    crawl: str
    url: str
    host: str
    attempt: int
    rung: str
    collector: str
    status: int | None
    outcome: str
    """If the request ended its claim, `outcome` is the `word` of the claim's `ClaimEnd`. If the request did
    not end its claim, `outcome` is one of the other outcomes in `model.verdict`."""
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
    region: str = ""
    """The region of the worker (`gossamer worker --region`)."""
    id: str | None = None
    """The id of the request."""
    added_at: str | None = None
    """The time when the request was added, RFC 3339."""
    location: str | None = None
    """The target URL of a redirect. If the response is not a redirect, or redirects to a URL that is not
    http(s), `location` is None."""


class KnownLine(msgspec.Struct, omit_defaults=True):
    """A line of known.jsonl: the request and the result of a visit, stored for a later pass of the crawl."""

    url: str
    """The URL that was requested first, before any redirect."""
    at: int
    """The time of the visit, in seconds since the epoch."""
    known: KnownPage
    depth: int = 0
    referrer: str | None = None
    needs: dict[str, Any] = {}
    """The fields of the request except URL, depth and referrer."""
    links: list[int] = []
    """The fingerprints of the crawl's URLs to which the page links. Only the first visit of a page stores
    `links`, and only if pages are weighted by their inlinks."""


Group = tuple[int, str, int, str, str, str]
"""Identifies a group of links to one host by bucket, host, priority, lane, flags (`add.lua`) and voucher. The
voucher is a hash of a registered domain, or ''."""
Adds = dict[Group, list[Any]]
"""Maps each group to its links, which form a flat list `hi, lo, entry, hi, lo, entry, ...`. In the list, `hi`
and `lo` are the halves of a URL's fingerprint, and `entry` is made by `request.make_entry`."""


class Claimed(msgspec.Struct):
    """The result of claiming from a bucket. `next_at`: the time in ms, by the store's clock, at which the
    next host is ready, or -1 if no host waits. `limit`: the limit that was reached (pages, bytes), or ''."""

    now: int
    next_at: int
    limit: str
    claims: list[Claim]
    bucket: int = 0
    sure: bool = True
    """False if no replica of the store has confirmed the claims. The worker must not visit unconfirmed
    claims."""
    rank: int = 0
    """The rank of the next host (`host_order.lua`): a higher rank means a more urgent URL."""


class DueBucket(NamedTuple):
    """A bucket in which hosts wait. `wait`: the number of seconds until one of the waiting hosts may be
    requested. `rank`: the rank of the host that will be claimed first (`host_order.lua`)."""

    wait: float
    rank: int


class ClaimOrder(NamedTuple):
    """The order in which a claim takes the due hosts of a bucket. Hosts with the highest rank come first.

    `turn`: the number of hosts that the caller has claimed so far. Every 16th claimed host is the host that
    has been due for longest, regardless of its rank. If `turn` is None, all hosts are selected by rank.
    `floor`: the minimum rank of the claimed hosts, except for every 16th host. If `floor` is None, there is no
    minimum.
    """

    turn: int | None = 0
    floor: int | None = None

    def __str__(self) -> str:
        """Returns the order as text for `claim_order.lua`."""
        turn = "-" if self.turn is None else self.turn % 16
        return f"{turn} {'-' if self.floor is None else self.floor}"


class Settle(msgspec.Struct):
    """The record of how one claim ends. `end` is None if the claim is already settled, which happens after a
    fetch of robots.txt (`worker.robots_gate`). Times are in milliseconds."""

    token: int
    end: ClaimEnd | None
    since: int = -1
    """Milliseconds since the request began, or -1 if no request was made."""
    delay: int = 0
    pace: str = ""
    host_wait: int = 0
    wait: int = 0
    reason: str = ""
    detail: str = ""
    health: HostHealth = HostHealth.UNKNOWN
    """The health of the host according to the visit (`politeness.breaker`)."""
    final: bool = False
    """Whether the visit failed because a DNS server reported that the host name does not exist."""
    mark: int | None = None
    """The fingerprint of the URL, if the crawl stores depths. The field `depth` contains the depth at which
    the URL was visited."""
    depth: int = 0


class Commit(NamedTuple):
    """Claims of one bucket that are settled together. A commit also contains the counts of the visits, and
    the links that the visits found. The links may belong to any bucket. `files` contains the path, the
    committed length and the new length of each output file. `hosts`: the bytes received per host."""

    bucket: int
    settles: Sequence[Settle]
    counts: dict[str, int]
    adds: Adds
    files: Sequence[tuple[str, int, int]] = ()
    hosts: Mapping[str, int] = {}
    totals: Mapping[str, int] = {}
    """The numbers that are added to the totals over all crawls (`worker.visit_totals`)."""


class Visit(msgspec.Struct):
    """The result of the work on one claim: the rows, the attempts, and the settle record that ends the claim.
    The visit object exists until the visit is committed."""

    claim: Claim
    settle: Settle
    began: float = 0.0
    """The monotonic time at which the request began, or 0 if no request was made."""
    put_at: float = 0.0
    """The monotonic time at which the visit was passed to the committer."""
    rows: list[Row] = []
    attempts: list[Attempt] = []
    skipped: list[SkippedUrl] = []
    """The URLs that the visit found and that the crawl does not fetch."""
    seen: KnownLine | None = None
    counts: dict[str, int] = {}
    """The numbers that are added to the crawl's counts."""
    is_page: bool = False
    """Whether the visit counts as a page of the crawl. Visits of sitemaps and redirects, for example, do not
    count."""
    is_read: bool = False
    """Whether the links of the response were extracted."""
    error: str = ""
    """The error of the visit's page, or '' if there is none."""
    adds: Adds = {}
    links: set[int] = set()
    """See `TakenLinks.links`."""
    size: int = 0
    """The approximate size of the visit in memory, in bytes."""
    elapsed: float = 0.0
    """Seconds from the start of the request to the last byte of the response."""
    gone: str = ""
    """The time (RFC 3339) at which the server reported that the page is gone (404 or 410), or ''. If `gone`
    is set, the items of the page are marked as deleted."""
    later: Callable[[Visit], None] | None = None
    """A function that adds the files of the visit's items. The function is called after the visit's duplicate
    items have been removed."""
    stop: str = ""
    """The reason why the visit stops the crawl, or '' if the visit does not stop the crawl."""

    def ends(self, now: float) -> Settle:
        """Returns the settle record of this visit. Sets the record's `since` to the time between the start of
        the request and `now` (monotonic)."""
        if self.began:
            self.settle.since = max(0, round((now - self.began) * 1000))
        return self.settle
