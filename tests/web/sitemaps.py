"""The sitemaps of a host: an index, a plain sitemap, a gzipped sitemap with the orphans, and a missing
sitemap."""

from __future__ import annotations

import gzip

from web import graph, odd
from web.plan import Plan

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PATHS = ("/sitemap.xml", "/sitemap-pages.xml", "/sitemap-orphans.xml.gz", "/sitemap-missing.xml")


def body(plan: Plan, host: int, path: str) -> tuple[bytes, str] | None:
    """Returns the bytes and the type of a sitemap, or None for any other path."""
    if not plan.has("sitemaps"):
        return None
    if path == "/sitemap.xml":
        maps = "".join(f"<sitemap><loc>{plan.url(host, where)}</loc></sitemap>" for where in PATHS[1:])
        return f"{_XML}<sitemapindex {_NS}>{maps}</sitemapindex>".encode(), "application/xml"
    if path == "/sitemap-pages.xml":
        paths = [graph.path(i) for i in range(min(plan.pages, 1000))]
        return _urlset(
            plan, host, [*paths, "/private/page-0.html"] if plan.has("private") else paths
        ), "text/xml"
    if path == "/sitemap-orphans.xml.gz":
        paths = [one.path for one in odd.sitemaps(plan, host)]
        return gzip.compress(_urlset(plan, host, paths), mtime=0), "application/gzip"
    return None


def _urlset(plan: Plan, host: int, paths: list[str]) -> bytes:
    rows = (
        f"<url>\n<loc>\n {plan.url(host, path)} </loc><lastmod>2024-05-01</lastmod></url>" for path in paths
    )
    return f"{_XML}<urlset {_NS}>{''.join(rows)}</urlset>".encode()
