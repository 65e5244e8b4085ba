"""Makes conditional requests in a recrawl. Decides which data about a visited page is stored, and compares
the next response with the stored data."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
import xxhash

from gossamer.model.page import Failure, Page
from gossamer.model.request import EXTRA, KnownPage, Request, is_infrastructure
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import RAW, KnownLine, PageRecord, Row, Visit

GONE_STATUSES = (404, 410)
MAX_VALIDATOR_CHARS = 256
"""Maximum length in characters of a stored validator (ETag, Last-Modified)."""
_CONDITIONAL = ("plain", "impersonated")
"""The names of the rungs on which requests may be conditional. On the other rungs, browsers and unlocker APIs
use caches of their own."""
_encode = msgspec.json.Encoder().encode


def site_versions(sites: Mapping[str, str], *, anew: bool = False) -> str:
    """Returns a hash of the names and versions of the crawl's site files, or '' if the crawl has no site
    files. `anew`: returns a version with which no earlier pass has read a page, so that none counts as
    unchanged."""
    if anew:
        return os.urandom(8).hex()
    return xxhash.xxh3_64_hexdigest(_encode(sorted(sites.items()))) if sites else ""


def make_conditional(request: Request, rung: str, by: str = "") -> Request:
    """Returns the request with If-None-Match and If-Modified-Since (RFC 9110 section 13). Returns the request
    unchanged if the last visit of the page ended with an error, or used other versions of the site files.

    >>> make_conditional(Request("https://a.example/", known=KnownPage(200, '"v1"')), "plain").headers
    {'If-None-Match': '"v1"'}
    """
    known = request.known
    if known is None or request.method != "GET" or rung not in _CONDITIONAL or known.error or known.by != by:
        return request
    # the stored validators belong to another URL
    if request.url != known.end if known.end else request.hops:
        return request
    conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    headers = {name: value for name, value in conditions.items() if value} | (request.headers or {})
    return msgspec.structs.replace(request, headers=headers) if headers else request


def note_known(visit: Visit, result: Page | Failure | None, by: str) -> None:
    """Adds to a visit the data for a later recrawl. If the page did not change, removes the page's rows from
    the visit. `by`: the digest of the site files that read the page (`site_versions`)."""
    request, settle = visit.claim.request, visit.settle
    if (
        settle.end not in (ClaimEnd.DONE, ClaimEnd.REFUSED, ClaimEnd.DEAD)
        or is_infrastructure(request)
        or visit.counts.get("infra")
    ):
        return
    before, now = request.known, known_page(visit, result, by)
    if before is not None and (visit.is_page or settle.end == ClaimEnd.DEAD):
        _compare(visit, before, now)
        if now.status == 304:
            now = _still(before, now)
    elif before is None and visit.is_page and visit.counts.get("succeeded"):
        visit.counts["new"] = 1
    needs = {name: value for name in EXTRA if (value := getattr(request, name)) not in (None, (), "GET")}
    needs = {name: value for name, value in needs.items() if name not in ("hops", "known", "temporary")}
    if request.priority:
        needs["priority"] = request.priority
    for row in visit.rows if needs else ():
        if row.kind == "page":
            row.needs = needs
    url = request.hops[0] if request.hops else request.url
    at = int(result.fetched_at) if result is not None else 0
    links = sorted(visit.links) if before is None else []
    visit.seen = KnownLine(url, at, now, request.depth, request.referrer, needs, links)


def known_page(visit: Visit, result: Page | Failure | None, by: str) -> KnownPage:
    """Returns the data to store about a URL after a visit."""
    error = visit.error or visit.settle.reason
    if not isinstance(result, Page) or not visit.is_page:
        return KnownPage(error=error)
    request = visit.claim.request
    if any(row.lacks for row in visit.rows):
        by = "?"  # the page's items may not have been stored, so the next pass must read the page again
    return KnownPage(
        result.status,
        _validator(result.header("etag")),
        _validator(result.header("last-modified")),
        _body(result),
        _said(visit.rows),
        error,
        request.url if request.hops else "",
        by,
    )


def _compare(visit: Visit, before: KnownPage, now: KnownPage) -> None:
    """Removes the rows that have not changed since the previous visit, and counts the page as new, changed,
    unchanged or gone."""
    if 0 < before.status < 400 and now.status in GONE_STATUSES:
        visit.counts["gone"] = 1
    same = (before.status, before.error, before.by) == (now.status, now.error, now.by)
    if now.status == 304 or (same and before.body == now.body):
        visit.rows, visit.counts["items"] = [row for row in visit.rows if row.kind == RAW], 0
        visit.counts.pop("rejected", None)
    elif same and now.said and before.said == now.said:
        visit.rows = [row for row in visit.rows if row.kind != "page"]
    else:
        if visit.is_page and visit.counts.get("succeeded"):
            visit.counts["changed" if before.status else "new"] = 1
        return
    if all(row.kind == RAW for row in visit.rows) and visit.is_page:
        visit.counts["unchanged"] = 1


def _still(before: KnownPage, now: KnownPage) -> KnownPage:
    """Returns the data to store after a 304 response. If `before` contains no validators, the request was not
    conditional. If the request was not conditional, the validators of the response are not stored, because
    the validators may belong to a version of the page that the crawler has not fetched."""
    if not (before.etag or before.modified):
        return before
    return msgspec.structs.replace(
        before, etag=before.etag or now.etag, modified=now.modified or before.modified
    )


def _validator(value: str | None) -> str:
    return value if value and len(value) <= MAX_VALIDATOR_CHARS and value.isprintable() else ""


def _body(page: Page) -> str:
    """Returns a hash of the body as 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(page.body) if page.spooled is None else page.spooled.sha256[:16]


def _said(rows: list[Row]) -> str:
    for row in rows:
        if isinstance(one := row.data, PageRecord):
            said = (one.title, one.language, one.canonical, one.text_hash, one.url)
            return xxhash.xxh3_64_hexdigest(_encode(said))
    return ""
