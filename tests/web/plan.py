"""The plan of a web: a frozen value from which the server and the test compute the same pages, links and
expectations."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

FEATURES = (
    "private",
    "sitemaps",
    "tracking",
    "duplicates",
    "redirects",
    "nofollow",
    "status",
    "flaky",
    "slow",
    "types",
    "encodings",
    "keepalive",
    "lies",
    "hang",
    "endless",
    "bombs",
    "traps",
    "external",
    "seed-redirect",
)
TRACKERS = ("utm_source", "utm_medium", "utm_campaign", "fbclid", "gclid")


class Link(NamedTuple):
    """One link of a page: the URL that it resolves to, its form in the page, and its rel."""

    url: str
    written: str
    rel: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected results for one URL of the web.

    `fate` is one of: `once` (exactly one request), `again` (succeeds in the end, after at most `most`
    requests), `failing` (ends in one of `errors`), `may` (optional, at most `most` requests), `never`,
    `trap`, `aid` (robots.txt and sitemaps).
    """

    url: str
    fate: str
    status: int | None
    title: str | None = None
    links: tuple[str, ...] = ()
    """The different http(s) targets in document order, without fragments and without the page itself."""
    nofollow: tuple[str, ...] = ()
    """The targets in `links` that only occur with rel=nofollow."""
    depth: int | None = None
    """The smallest number of links from a seed, where redirects do not count. None if only a sitemap contains
    the URL."""
    errors: tuple[str, ...] = ()
    most: int = 1
    kind: str = "page"


@dataclass(frozen=True)
class Plan:
    """The definition of a web. Times are in seconds and sizes in bytes. The hosts get the values of `robots`
    and `crawl_delay` in turn."""

    name: str = "plan"
    seed: int = 1
    hosts: int = 1
    pages: int = 30
    """The number of pages of the link tree per host, without the odd URLs of the features."""
    links: int = 41
    hrefs: int = 119
    fanout: int = 10
    """The number of links of a page to pages that no earlier page links to. The share of new links of a page
    is about fanout / links."""
    size: int = 46_000
    gzip: bool = True
    latency: float = 0.0
    spread: float = 0.0
    """The latency of each URL is increased by its own constant value between 0 and this one."""
    robots: tuple[str, ...] = ("missing",)
    crawl_delay: tuple[float, ...] = (1.0,)
    """For hosts whose robots variant is `delay` or `rate`."""
    features: tuple[str, ...] = ()
    slow: float = 0.3
    retry_after: int = 1
    spam: int = 1000
    """The number of spam hosts if the feature `traps` is on."""
    names: bool = False
    """Hosts are distinguished by the Host header (`www.web1.test`) on 127.0.0.1, for a stub resolver."""
    tls: str = ""
    """`good`, or the fault of the certificate: `expired`, `wrong-host`, `self-signed`. Empty means plain
    HTTP."""
    folder: str = ""
    """A directory to serve as the only host instead."""
    warm: bool = True
    cache: int = 20_000
    """The number of rendered answers kept in memory."""
    port: int = 0
    first: int = 127
    """The first number of the hosts' addresses: 127, or 10 for a web on a machine of its own."""

    def __post_init__(self) -> None:
        unknown = set(self.features) - set(FEATURES)
        if unknown:
            raise ValueError(
                f"no such feature: {', '.join(sorted(unknown))}; there are {', '.join(FEATURES)}"
            )
        if not 1 <= self.hosts <= 10_000 or self.pages < 1 or self.fanout < 2:
            raise ValueError("a web has 1 to 10,000 hosts, at least 1 page each and a fanout of at least 2")

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    def has(self, feature: str) -> bool:
        return feature in self.features

    def authority(self, host: int) -> str:
        """Returns the authority of a host, such as `127.0.1.1:8000` for host 0. Spam hosts have negative
        numbers, starting at -1. The number `hosts` is the front door of the seed."""
        return f"{self.name_of(host)}:{self.port}"

    def name_of(self, host: int) -> str:
        if self.names:
            return f"www.web{host + 1}.test" if host >= 0 else f"www.spam{-host}.test"
        return f"{self.first}.{address(host).partition('.')[2]}"

    def origin(self, host: int) -> str:
        return f"{'https' if self.tls else 'http'}://{self.authority(host)}"

    def url(self, host: int, path: str = "/") -> str:
        return self.origin(host) + path

    def all_hosts(self) -> list[int]:
        """Returns every host that answers: the plain hosts, the front door of `seed-redirect`, and the spam
        hosts."""
        front = [self.hosts] if self.has("seed-redirect") else []
        return [*range(self.hosts), *front, *(range(-1, -self.spam - 1, -1) if self.has("traps") else ())]

    def seeds(self) -> list[str]:
        """Returns one seed per plain host. With `seed-redirect`, the first seed is a front door that
        redirects to host 0."""
        first = self.hosts if self.has("seed-redirect") else 0
        return [self.url(first), *(self.url(host) for host in range(1, self.hosts))]

    def expected(self, url: str) -> Expected | None:
        """Returns the expected results for a URL, or None for a URL outside of this web."""
        from web import truth

        return truth.expected(self, url)

    def must_fetch(self, sitemaps: bool = True, hosts: Iterable[int] | None = None) -> set[str]:
        """Returns the URLs that a complete crawl requests exactly once. Without `sitemaps`, URLs that only a
        sitemap contains are left out."""
        from web import truth

        return truth.with_fate(self, ("once", "orphan") if sitemaps else ("once",), hosts)

    def must_not_fetch(self, hosts: Iterable[int] | None = None) -> set[str]:
        """Returns the URLs that no crawl requests: forbidden by robots.txt, only reachable through nofollow,
        or with refused addresses."""
        from web import truth

        return truth.with_fate(self, ("never",), hosts) | truth.outside(self)


def address(host: int) -> str:
    """Returns the IP address of a host: 127.0.1.1, 127.0.1.2 and so on, and from 127.1.1.1 on for spam hosts.

    >>> address(0), address(250), address(-1)
    ('127.0.1.1', '127.0.2.1', '127.1.1.1')
    """
    net, at = (0, host) if host >= 0 else (1, -host - 1)
    return f"127.{net}.{1 + at // 250}.{1 + at % 250}"


def load(text: str) -> Plan:
    """Returns the plan in a JSON object, as `Plan.to_json` writes it. Missing fields get their defaults."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()
    }
    return Plan(**fields)


def page_of(url: str) -> str:
    """Returns the canonical URL of a page: without tracking parameters and fragment, and with a sorted query.

    >>> page_of("http://127.0.1.1:80/a?b=2&utm_source=x&a=1#top")
    'http://127.0.1.1:80/a?a=1&b=2'
    """
    if "?" not in url and "#" not in url:
        return url
    parts = urlsplit(url)
    kept = sorted(pair for pair in parts.query.split("&") if pair and pair.split("=", 1)[0] not in TRACKERS)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?" + "&".join(kept) if kept else "")


def query(path: str) -> dict[str, str]:
    """Returns the query parameters of a path."""
    return dict(parse_qsl(urlsplit(path).query))
