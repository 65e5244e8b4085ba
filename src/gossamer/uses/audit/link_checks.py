"""Checks the links that the crawl does not visit: links to other sites, links to images, scripts and style
sheets, and links to pages to which the site has only nofollow links. Each URL is requested with HEAD, and
again with GET if HEAD fails. The check respects robots.txt and the delays of hosts, as every crawl does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import gossamer
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.findings import is_public
from gossamer.uses.audit.site_crawl import RETRIES, AuditWriter, record_failures, run_crawl

if TYPE_CHECKING:
    from gossamer import PageView

NO_HEAD: Final = (400, 401, 403, 404, 405, 406, 429, 500, 501, 503)
"""Statuses that some servers return for HEAD although GET works."""
MIN_SILENT_HOSTS: Final = 4
MAX_SIZE: Final = 2**53
_KINDS: Final = (
    "('a', 'area', 'iframe', 'frame', 'img', 'srcset', 'preview', 'script', 'stylesheet', 'media', 'next', "
    "'prev', 'canonical', 'hreflang')"
)
_LINKS: Final = """(SELECT target, kind, nofollow FROM links
UNION ALL SELECT canonical, 'canonical', 0 FROM pages WHERE canonical IS NOT NULL AND canonical != id
UNION ALL SELECT target, 'hreflang', 0 FROM hreflangs)"""
"""A table of all URLs that pages name. The crawl visits canonical URLs and language versions on the hosts of
the site."""
_OF_CRAWL: Final = ("retries", "limit", "depth", "include", "exclude", "scope", "sitemaps", "time_limit")
"""Options that apply only to the crawl of the site, not to the link check."""
_EMBEDDED: Final = "('img', 'srcset', 'preview', 'script', 'stylesheet', 'media')"


class CheckedLinks(NamedTuple):
    """The number of links that were checked, and the number of all links."""

    external: int
    all_external: int
    resources: int
    all_resources: int


def check_links(
    database: AuditDatabase, name: str, options: Mapping[str, Any], limit: int | None
) -> CheckedLinks:
    """Checks two groups of URLs: the links to other sites, and the embedded files and unvisited pages of the
    site. At most `limit` URLs of each group are checked, and the URLs with the most links come first. If
    `limit` is None, all URLs are checked. The check consists of two crawls: one with HEAD, and one with GET
    for the URLs for which HEAD failed. URLs of the table `recent` are not requested again."""
    database.define("is_public", 1, is_public)
    external = _links_to_check(database, limit, external=True)
    own = _links_to_check(database, limit, external=False)
    recent = {url for (url,) in database.rows("SELECT u.url FROM recent JOIN urls u USING (id)")}
    seeds = [
        {"url": url, "method": "HEAD", "key": f"head {url}"[:500]}
        for url in (*external, *own)
        if url not in recent
    ]
    if seeds:
        _check(database, f"{name}-head", seeds, options)
    again = [
        {"url": url}
        for (url,) in database.rows(
            f"SELECT u.url FROM responses r JOIN urls u ON u.id = r.id "
            f"WHERE r.checked = 1 AND (r.status IN {NO_HEAD} OR (r.status IS NULL AND r.error != 'robots'))"
        )
    ]
    if again:
        _check(database, f"{name}-get", again, options)
    return CheckedLinks(
        *(len(external), _count(database, external=True)), *(len(own), _count(database, external=False))
    )


def is_offline(database: AuditDatabase) -> bool:
    """Returns whether requests were sent to several other sites and none of them answered."""
    query = (
        "SELECT count(DISTINCT u.host), count(r.status) FROM responses r JOIN urls u ON u.id = r.id "
        "WHERE r.checked = 1 AND r.outcome != 'size' AND u.host NOT IN (SELECT host FROM hosts) "
        "AND r.id NOT IN (SELECT id FROM recent)"
    )
    hosts, answered = next(iter(database.rows(query)))
    return bool(hosts >= MIN_SILENT_HOSTS and not answered)


def _condition(external: bool) -> str:
    inside = "u.host IN (SELECT host FROM hosts)"
    if external:
        return f"NOT {inside} AND u.url LIKE 'http%' AND l.kind IN {_KINDS} AND is_public(u.host)"
    unvisited = (
        "u.id NOT IN (SELECT id FROM pages) AND u.id NOT IN (SELECT id FROM blocked) "
        "AND u.id NOT IN (SELECT id FROM responses WHERE checked = 0)"
    )
    return f"{inside} AND {unvisited} AND (l.kind IN {_EMBEDDED} OR (l.kind IN {_KINDS} AND l.nofollow = 1))"


def _links_to_check(database: AuditDatabase, limit: int | None, *, external: bool) -> list[str]:
    query = (
        f"SELECT u.url FROM {_LINKS} l JOIN urls u ON u.id = l.target WHERE {_condition(external)} "
        "GROUP BY u.id ORDER BY count(*) DESC, u.url LIMIT ?"
    )
    return [url for (url,) in database.rows(query, [-1 if limit is None else limit])]


def _count(database: AuditDatabase, *, external: bool) -> int:
    condition = _condition(external)
    query = f"SELECT count(DISTINCT u.id) FROM {_LINKS} l JOIN urls u ON u.id = l.target WHERE {condition}"
    return int(database.value(query))


def _check(database: AuditDatabase, name: str, seeds: list[Any], options: Mapping[str, Any]) -> None:
    writer = AuditWriter(database, checked=True)
    # the name "default" matches every host, including the targets of redirects
    site = gossamer.Site(
        "default",
        follow=False,
        retries=options.get("retries", RETRIES),
        blocks=False,
        sinks=[writer],
        types=["image/*", "video/*", "audio/*", "font/*", "application/*"],
    )

    @site.page()
    def size(view: PageView) -> Iterator[dict[str, Any]]:
        length = view.headers.get("content-length", "")
        if length.isdigit():
            yield {"page": view.url, "length": min(int(length), MAX_SIZE)}

    record_failures(site)

    given = {key: value for key, value in options.items() if key not in _OF_CRAWL}
    run_crawl(site, writer, seeds, {**given, "name": name, "fresh": True, "scope": "page"})
