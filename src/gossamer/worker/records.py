"""Builds the rows of a visit (the page record, the links and the raw response) and its entries in the
attempts log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from xxhash import xxh3_128_hexdigest

from gossamer.config.redaction import mask
from gossamer.model.page import Exchange, Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import AGAIN, CLIMBED
from gossamer.model.visit import RAW, Attempt, Claim, Edge, PageRecord, Raw, RequestContext, Row
from gossamer.parsing.html import Document
from gossamer.parsing.links import links_of
from gossamer.url.redirects import redirect_target
from gossamer.worker.conditional_get import GONE_STATUSES

NO_WAY = ("dns", "connect", "tls", "timeout")
"""The failure reasons of requests that did not reach the server."""
MAX_EDGES = 5000
"""Maximum number of links per page that become rows."""


def format_time(seconds: float) -> str:
    """Returns a time as RFC 3339 in UTC with milliseconds.

    >>> format_time(0), format_time(1.9999)
    ('1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.999Z')
    """
    whole, thousandths = divmod(int(seconds * 1000), 1000)
    return f"{_second(whole)}.{thousandths:03d}Z"


@lru_cache(maxsize=100)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def given_fields(request: Request) -> dict[str, Any]:
    """Returns the fields `id` and `added_at` of a request's record. A field that the request does not set is
    left out."""
    found: dict[str, Any] = {} if request.id is None else {"id": request.id}
    if request.added_at is not None:
        found["added_at"] = format_time(request.added_at)
    return found


def page_record(request: Request, page: Page, *, error: str | None = None) -> PageRecord:
    """Returns the record of a page that is not parsed yet. The fields title, language, links, hash and text
    are filled in after parsing."""
    return PageRecord(
        url=page.url,
        requested_url=request.hops[0] if request.hops else request.url,
        status=page.status,
        title=None,
        content_type=page.content_type,
        language=None,
        depth=request.depth,
        referrer=request.referrer,
        fetched_at=format_time(page.fetched_at),
        elapsed=round(page.elapsed, 4),
        bytes=page.wire,
        collector=page.collector,
        links=0,
        text_hash=None,
        canonical=None,
        redirects=list(request.hops),
        error=error,
        **given_fields(request),
    )


def failed_record(request: Request, result: Page | Failure | None, error: str, now: float) -> PageRecord:
    """Returns the record of a URL that failed permanently. If no request was made, the record's time is `now`
    (seconds since the epoch)."""
    at = result.fetched_at if result is not None else now
    return PageRecord(
        url=request.url,
        requested_url=request.hops[0] if request.hops else request.url,
        status=None,
        title=None,
        content_type=None,
        language=None,
        depth=request.depth,
        referrer=request.referrer,
        fetched_at=format_time(at),
        elapsed=round(result.elapsed, 4) if result is not None else 0.0,
        bytes=result.wire if result is not None else 0,
        collector=result.collector if result is not None else "",
        links=0,
        text_hash=None,
        canonical=None,
        redirects=list(request.hops),
        error=error,
        **given_fields(request),
    )


def gone_at(page: Page) -> str:
    """Returns the time (RFC 3339) of a response with status 404 or 410, or '' for any other status."""
    return format_time(page.fetched_at) if page.status in GONE_STATUSES else ""


def page_row(record: PageRecord, key: str) -> Row:
    """Returns a page record as a row for the sinks. `key`: the canonical form of the first URL of the visit,
    before any redirect."""
    return Row("page", key, record)


def attempt(
    crawl: str, worker: str, claim: Claim, result: Page | Failure, outcome: str, error: str | None
) -> Attempt:
    """Returns the attempts-log entry of one request. Secrets in the URL are masked."""
    page = isinstance(result, Page)
    return Attempt(
        ts=format_time(result.fetched_at),
        crawl=crawl,
        url=mask(claim.request.url),
        host=claim.host,
        attempt=claim.attempt + 1,
        rung=result.rung,
        collector=result.collector,
        status=result.status,
        outcome=outcome,
        seconds=round(result.elapsed, 4),
        bytes_wire=result.wire,
        bytes_decoded=len(result.body) if isinstance(result, Page) else 0,
        proxy=result.proxy,
        session=result.session,
        worker=worker,
        block=result.block if isinstance(result, Page) else None,
        credits=result.credits,
        error=error if page else (error or getattr(result, "reason", None)),
        screenshot=result.screenshot if isinstance(result, Page) else None,
        console=result.console if isinstance(result, Page) else (),
        location=_location(result) if isinstance(result, Page) else None,
        **given_fields(claim.request),
    )


def _location(page: Page) -> str | None:
    """Returns the target URL of a redirect, with secrets masked."""
    if (location := page.location) is None:
        return None
    target = redirect_target(location, page.url)
    return None if target is None else mask(target)


def earlier_tries(result: Page | Failure) -> list[tuple[Page | Failure, str, str | None]]:
    """Returns the tries that preceded a result, each with its outcome and error."""
    return [
        (one, AGAIN, one.reason) if isinstance(one, Failure) else (one, CLIMBED, None)
        for one in result.before
    ]


def is_attempt(result: Failure) -> bool:
    """Returns whether a failure counts as an attempt. A failure counts if a request was sent, a proxy was
    used, or a connection failed. A request that the crawler itself refused does not count."""
    if result.short:  # no request was made, because the process ran short of a resource
        return False
    return result.sent or result.proxy is not None or result.reason in NO_WAY


def edges(
    crawl: str, key: Callable[[str], str], kind: str, page: Page, request: Request, document: Document
) -> list[Row]:
    """Returns rows of the given kind for at most MAX_EDGES links of a page. `key`: returns the canonical form
    of a URL."""
    source = key(request.hops[0] if request.hops else request.url)
    found: dict[str, Row] = {}
    for link in links_of(document, MAX_EDGES):
        target = key(link.url)
        edge = Edge(
            source, target, page.url, link.text, link.nofollow, link.kind, crawl, format_time(page.fetched_at)
        )
        name = xxh3_128_hexdigest(f"{source}\n{target}".encode("utf-8", "replace"))
        found.setdefault(name, Row(kind, name, edge))
    return list(found.values())


_CODED = ("content-encoding", "content-length", "transfer-encoding")


def raw_row(request: Request, page: Page) -> Row:
    """Returns the response as a row for outputs that store whole pages.

    Browsers and unlockers do not record the raw bytes of a response. If a browser or unlocker fetched the
    page, the row contains an equivalent plain HTTP response.
    """
    asked = RequestContext(
        request.method,
        request.body,
        request.depth,
        request.referrer,
        request.hops,
        request.use,
        request.carry,
        page.rung,
        page.collector,
        page.block,
        request.id,
        request.added_at,
    )
    exchange = page.exchange
    if exchange is None:
        lines = [f"{name}: {value}" for name, value in page.headers if name not in _CODED]
        head = "\r\n".join([f"HTTP/1.1 {page.status} ", *lines, f"Content-Length: {len(page.body)}", "", ""])
        exchange = Exchange(b"", head.encode("latin-1", "replace"), page.body)
    cut = page.exchange is not None and page.wire > len(exchange.body)
    kind = page.content_type or ""
    raw = Raw(page.url, page.status, kind, page.fetched_at, exchange, asked, page.address, cut)
    return Row(RAW, page.url, raw)
