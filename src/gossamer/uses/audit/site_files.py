"""Reads the robots.txt and the sitemaps of a site before its crawl."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import gossamer
from gossamer.errors import FetchFailed
from gossamer.parsing import sitemaps
from gossamer.uses.audit.database import AuditDatabase, host_of, write_urls
from gossamer.uses.audit.model import HostAlias, url_id
from gossamer.uses.audit.single_requests import NOT_STORED, request

MAX_SITEMAPS: Final = 1000
MAX_ENTRIES: Final = 50_000
"""Maximum number of URLs in one sitemap (sitemaps.org)."""
MAX_BYTES: Final = 50 * 1024 * 1024
"""Maximum size of one decoded sitemap in bytes (sitemaps.org)."""
_FETCHED_BYTES: Final = "60M"


def origin_of(url: str) -> str:
    """Returns the origin of a URL, such as `https://example.com`."""
    return f"{url.partition('://')[0]}://{host_of(url)}"


def read_site_files(
    database: AuditDatabase,
    start: str,
    options: Mapping[str, Any],
    pause: float,
    tell: Callable[[str], None],
    alias: HostAlias | None = None,
) -> None:
    """Reads robots.txt and the sitemaps that robots.txt names. If robots.txt names no sitemap, reads
    `/sitemap.xml`. `start`: the first page of the site, after redirects. `pause`: the seconds between two
    requests."""
    origin = origin_of(start)
    own = alias.own if alias is not None else str
    named = map(own, _read_robots(database, origin, options))
    waiting = [(url, "robots.txt") for url in named] or [(f"{origin}/sitemap.xml", "guess")]
    seen: set[str] = set()
    while waiting and len(seen) < MAX_SITEMAPS:
        url, source = waiting.pop(0)
        if url in seen:
            continue
        seen.add(url)
        time.sleep(pause)
        children = _read_sitemap(database, url, source, options, own)
        waiting.extend((own(one), url) for one in children)
        if len(seen) % 20 == 0:
            tell(f"{len(seen):,} sitemaps are read, {len(waiting):,} are left")


def _read_robots(database: AuditDatabase, origin: str, options: Mapping[str, Any]) -> list[str]:
    """Stores the robots.txt of an origin. Returns the sitemaps that this robots.txt names."""
    status, body, problem = None, b"", ""
    try:
        page = request(f"{origin}/robots.txt", options)
        status = page.status
        if status == 200:
            body = page.body[: 512 * 1024]
            if b"<html" in body[:2000].lower():
                problem, body = "it is an HTML page", b""
            elif len(page.body) > 512 * 1024:
                problem = "it is larger than 500 KiB: search engines ignore the rest"
        elif status is not None and status >= 500:
            problem = f"HTTP {status}: search engines then request nothing"
    except FetchFailed as error:
        problem = "" if error.reason == NOT_STORED else str(error)[:300]
    named = gossamer.politeness.robots.Robots(body).sitemaps if body else []
    with database.transaction() as base:
        base.execute(
            "INSERT OR REPLACE INTO robots_files VALUES (?, ?, ?, ?)", [origin, status, problem, body]
        )
    urls = [found for one in named if (found := gossamer.url.parse(one, f"{origin}/"))]
    return [url for url in urls if url.startswith(("http://", "https://"))]


def _read_sitemap(
    database: AuditDatabase,
    url: str,
    source: str,
    options: Mapping[str, Any],
    own: Callable[[str], str] = str,
) -> list[str]:
    """Stores a sitemap and its URLs. `own` returns the URL of the audited site for a listed URL. Returns the
    sitemaps of an index. A missing sitemap counts as a problem only if robots.txt or an index lists the sitemap."""
    status, body, problem = None, b"", ""
    try:
        page = request(url, {**options, "max_size": _FETCHED_BYTES})
        status, body = page.status, page.body
        if status != 200:
            problem, body = f"HTTP {status}", b""
    except FetchFailed as error:
        if error.reason == NOT_STORED:
            return []
        problem = str(error)[:300]
    body = decoded(body)
    pages, children = sitemaps.entries(body, url) if body else ([], [])
    total = len(pages) + len(children)
    if not problem:
        problem = sitemap_problem(body, total)
    if source == "guess" and (status != 200 or not total):
        return []
    with database.transaction() as base:
        base.execute(
            "INSERT OR REPLACE INTO sitemaps VALUES (?, ?, ?, ?, ?, ?)",
            [url, source, status, total, len(body), problem],
        )
        entries = [(own(str(one)), one.lastmod) for one in pages]
        write_urls(base, ((url_id(listed), listed) for listed, _ in entries))
        base.executemany(
            "INSERT OR IGNORE INTO sitemap_urls VALUES (?, ?, ?)",
            ((url, url_id(listed), lastmod.isoformat() if lastmod else "") for listed, lastmod in entries),
        )
    return [str(one) for one in children]


def decoded(body: bytes) -> bytes:
    """Returns a sitemap, unzipped if needed. Unzips at most MAX_BYTES + 1 bytes."""
    if not body.startswith(b"\x1f\x8b"):
        return body
    unzip = zlib.decompressobj(31)
    try:
        return unzip.decompress(body, MAX_BYTES + 1)
    except zlib.error:
        return b""


def sitemap_problem(body: bytes, entries: int) -> str:
    """Returns the problem of a decoded sitemap, or ''. `entries`: the number of URLs in the sitemap that
    could be read.

    >>> sitemap_problem(b"<html></html>", 0)
    'it is an HTML page'
    """
    start = body[:3000].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "it is an HTML page"
    if not entries:
        return "it has no URL that can be read"
    if len(body) > MAX_BYTES:
        return "it is larger than 50 MB"
    if (locs := body.count(b"<loc>")) > MAX_ENTRIES:
        return f"it has {locs:,} URLs: at most 50,000 are allowed"
    end = body[-2000:]
    if b"<urlset" in start and b"</urlset>" not in end:
        return "it is cut off: its last tag is missing"
    if b"<sitemapindex" in start and b"</sitemapindex>" not in end:
        return "it is cut off: its last tag is missing"
    return ""


def sitemap_seeds(database: AuditDatabase, hosts: set[str]) -> Iterator[str]:
    """Yields the URLs of the sitemaps that are on the audited hosts."""
    query = "SELECT DISTINCT u.url, u.host FROM sitemap_urls s JOIN urls u ON u.id = s.id"
    for url, host in database.rows(query):
        if host in hosts:
            yield url


def find_blocked(database: AuditDatabase, agent: str = "gossamer") -> None:
    """Fills the table `blocked` with the URLs of the site that its robots.txt forbids."""
    files = list(database.rows("SELECT origin, body FROM robots_files WHERE length(body) > 0"))
    for origin, body in files:
        rules = gossamer.politeness.robots.Robots(body)
        host = host_of(f"{origin}/")
        after = -(2**63)
        while True:  # rows are read in chunks, because the loop also writes rows
            chunk = list(
                database.rows(
                    "SELECT id, url FROM urls WHERE host = ? AND id > ? ORDER BY id LIMIT 5000", [host, after]
                )
            )
            if not chunk:
                break
            after = chunk[-1][0]
            shut = [
                (one, agent)
                for one, url in chunk
                if url.startswith(f"{origin}/") and not rules.allows(agent, url)
            ]
            with database.transaction() as base:
                base.executemany("INSERT OR REPLACE INTO blocked VALUES (?, ?)", shut)
