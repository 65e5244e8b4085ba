"""A visit: the full record of one trip of a claim, and the rows and attempts it leaves behind."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.page import Failure, Page
from gossamer.request import Request
from gossamer.verdict import Verdict


class Claim(msgspec.Struct):
    """A request handed to a worker under a lease. `token` fences it: a settle with a stale token is refused."""

    token: int
    bucket: int
    host: str
    request: Request
    kind: str = "page"
    """`page`, `robots` (fetch this origin's robots.txt), or `gate` (only evaluate, visit at most one of the batch)."""
    attempt: int = 0
    """How often this request was tried and failed before."""
    crashes: int = 0
    robots: int = 0
    """Version of the origin's robots rules; 0: not asked for, -1: unreachable, nothing may be fetched."""
    pace: str = ""
    """The host's pace as the frontier keeps it (politeness.pace)."""
    delay: float = 0.0
    """Seconds between starts in force for the host when the claim was made."""
    vouchers: int = 0
    """Domains in good standing that link to a discovered host; 0 for a seed's host."""


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
    text: str | msgspec.UnsetType = msgspec.UNSET
    out_links: list[str] | msgspec.UnsetType = msgspec.UNSET


class Row(msgspec.Struct):
    """One row for the sinks. `kind` is "page" or the item's kind; `key` its stable key within that kind."""

    kind: str
    key: str
    data: PageRecord | dict[str, Any]


class Attempt(msgspec.Struct):
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


class Visit(msgspec.Struct):
    """What one claim came to: filled step by step by the road, then written and settled."""

    claim: Claim
    verdict: Verdict
    result: Page | Failure | None = None
    rows: list[Row] = []
    attempts: list[Attempt] = []
    found: int = 0
    """Links offered by the page, refused ones included."""
    skips: dict[str, int] = {}
    """Refused links by reason."""
    adds: list[Any] = []
    """Links to add, as the frontier's `Link` entries."""
    items: int = 0
    pace: str = ""
    """The host's pace after this visit."""
    delay_ms: int = 0
