"""The ground truth of a plan: the URLs that a correct crawl requests, the number of requests, and the
answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from web import graph, odd, robots, sitemaps, traps
from web.odd import Odd
from web.plan import Expected, Link, Plan, page_of


def with_fate(plan: Plan, fates: tuple[str, ...], hosts: Iterable[int] | None = None) -> set[str]:
    """Returns all URLs of the plain hosts (or of the given hosts) that have one of these fates, without
    traps."""
    front = (
        {plan.url(plan.hosts)} if plan.has("seed-redirect") and "once" in fates and hosts is None else set()
    )
    chosen = range(plan.hosts) if hosts is None else hosts
    return front | {plan.url(h, path) for h in chosen for path, fate in fates_of(plan, h) if fate in fates}


def fates_of(plan: Plan, host: int) -> Iterator[tuple[str, str]]:
    """Yields every path of a plain host except traps, with its fate. The fate `orphan` means `once` for a
    crawler that reads sitemaps."""
    shut = robots.closed(plan, host, "/")
    for i in range(plan.pages):
        yield graph.path(i), "never" if shut else "once"
    for path, one in odd.table(plan, host).items():
        yield path, fate(plan, host, one)
    for path in traps.goods(plan):
        yield path, "never" if shut else "any"


def fate(plan: Plan, host: int, one: Odd) -> str:
    """Returns the fate of an odd URL on this host. It is the URL's own fate, unless robots.txt forbids the
    URL or the page that leads to it is never fetched."""
    if robots.closed(plan, host, one.path):
        return "never"
    before = odd.table(plan, host).get(one.via)
    if one.via and before and fate(plan, host, before) == "never":
        return "never"
    return "may" if one.fate == "orphan" and not robots.names_sitemaps(plan, host) else one.fate


def outside(plan: Plan) -> set[str]:
    """Returns the refused addresses and foreign schemes that redirects of this web point to."""
    if not plan.has("redirects"):
        return set()
    targets = (one.arg for one in odd.redirects(plan, 0) if one.act == "redirect" and ":" in one.arg)
    return {url for url in targets if host_of(plan, url) is None}


def canonical_pairs(plan: Plan, host: int = 0) -> list[tuple[str, str]]:
    """Returns (variant, page) of the links in other forms, which lead to a page that is fetched once."""
    found = {link.url for i in range(min(plan.pages, 300)) for link in graph.links(plan, host, i)}
    local = (url for url in found if url.startswith(plan.origin(host) + "/"))
    return sorted((url, home(url)) for url in local if home(url) != url)


def home(url: str) -> str:
    """Returns `page_of` of a URL with dot segments resolved, which is the one URL of a page in the truth."""
    return page_of(
        urljoin(url, urlsplit(url)._replace(scheme="", netloc="").geturl()) if "/." in url else url
    )


def host_of(plan: Plan, url: str) -> int | None:
    """Returns the number of a URL's host, or None if the host is not part of this web."""
    return _hosts(plan).get(urlsplit(url).netloc)


@lru_cache(maxsize=8)
def _hosts(plan: Plan) -> dict[str, int]:
    return {plan.authority(host): host for host in plan.all_hosts()}


def expected(plan: Plan, url: str) -> Expected | None:
    """Returns the expected results for a URL. Tracking variants have the results of their page."""
    url = home(url)
    host = host_of(plan, url)
    if host is None:
        return None
    path = url[len(plan.origin(host)) :] or "/"
    if path == "/robots.txt" or path in sitemaps.PATHS or path.startswith("/robots-hop-"):
        return Expected(url, "aid", None, kind="aid", most=99)
    if host == plan.hosts:
        return Expected(url, "once", 301, depth=0, kind="redirects")
    if host >= 0 and (i := graph.index(plan, path)) is not None:
        return _page(plan, host, i, url)
    if host >= 0 and (one := odd.table(plan, host).get(path)) is not None:
        return _odd(plan, host, one, url)
    return _trap(plan, host, path, url)


def _page(plan: Plan, host: int, i: int, url: str) -> Expected:
    found = graph.links(plan, host, i)
    shut = robots.closed(plan, host, "/")
    return Expected(
        url,
        "never" if shut else "once",
        200,
        graph.title(host, i),
        targets(found, url),
        _nofollow(found),
        graph.depth(plan, i),
    )


def _odd(plan: Plan, host: int, one: Odd, url: str) -> Expected:
    links = odd_links(plan, host, one)
    name = odd.kind(plan, host, one.path)
    title = odd_title(host, one) if one.status == 200 else None
    found = fate(plan, host, one)
    return Expected(
        url,
        "once" if found == "orphan" else found,
        one.status,
        title,
        targets(links, url),
        (),
        odd_depth(plan, host, one),
        one.errors,
        one.most,
        name,
    )


def _trap(plan: Plan, host: int, path: str, url: str) -> Expected | None:
    links = traps.links(plan, host, path)
    if links is None:
        return None
    clean = not traps.is_trap(plan, host, path)
    depth = 1 + graph.depth(plan, int(path[11:-5]) % min(4, plan.pages)) if clean else None
    return Expected(
        url,
        "any" if clean else "trap",
        200,
        trap_title(host, path),
        targets(links, url),
        (),
        depth,
        most=99,
        kind="shop" if clean else "trap",
    )


def targets(links: list[Link], own: str) -> tuple[str, ...]:
    """Returns the different targets in document order, without fragments and without the page itself."""
    return tuple(dict.fromkeys(url for link in links if (url := link.url.partition("#")[0]) != own))


def _nofollow(links: list[Link]) -> tuple[str, ...]:
    plain = {link.url for link in links if "nofollow" not in link.rel.lower()}
    return tuple(dict.fromkeys(link.url for link in links if link.url not in plain))


def odd_links(plan: Plan, host: int, one: Odd) -> list[Link]:
    """Returns the links of an odd page: to the first page, and its own."""
    if one.status != 200 or one.act in ("type", "encoding", "bomb", "deep", "many-links"):
        return []
    return [Link(plan.url(host), "/"), *(Link(plan.url(host, path), path) for path in one.links)]


def odd_title(host: int, one: Odd) -> str | None:
    """Returns the title of an odd page as a browser shows it, or None if that is undefined."""
    return f"Odd {one.path} of web {host}" if one.title == "-" else one.title or None


def trap_title(host: int, path: str) -> str:
    return f"More at {path[:60]} of web {host}"


def odd_depth(plan: Plan, host: int, one: Odd) -> int | None:
    """Returns the number of links from the seed to an odd URL, or None if only a sitemap contains the URL."""
    if one.linked:
        order = [row.path for row in odd.odds(plan, host) if row.linked]
        return graph.depth(plan, graph.carrier(plan, order.index(one.path))) + 1
    ways = [way for path in (one.via, one.also) if (way := odd.table(plan, host).get(path))]
    found = [(odd_depth(plan, host, way), way.act != "redirect") for way in ways]
    return min((at + more for at, more in found if at is not None), default=None)
