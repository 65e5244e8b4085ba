"""The plan of a web: a frozen value from which server and test compute the same pages, links and fates."""

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
    """One link of a page: the URL it means, how it is written in the page, and its rel."""

    url: str
    written: str
    rel: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is true of one URL of the web.

    `fate`: `once` (exactly one request), `again` (good in the end, at most `most` requests), `failing` (ends
    in one of `errors`), `may` (free, at most `most` requests), `never`, `trap`, `aid` (robots.txt and
    sitemaps).
    """

    url: str
    fate: str
    status: int | None
    title: str | None = None
    links: tuple[str, ...] = ()
    """Distinct http(s) targets in document order, fragments off, the page itself left out."""
    nofollow: tuple[str, ...] = ()
    """Those of `links` that only ever carry rel=nofollow."""
    depth: int | None = None
    """Fewest links from a seed; a redirect costs nothing. None: found by a sitemap only."""
    errors: tuple[str, ...] = ()
    most: int = 1
    kind: str = "page"


@dataclass(frozen=True)
class Plan:
    """Everything about a web. Times in seconds, sizes in bytes; `robots` and `crawl_delay` are dealt out to
    hosts in turn."""

    name: str = "plan"
    seed: int = 1
    hosts: int = 1
    pages: int = 30
    """Pages of the link tree, per host; the odd URLs of the features come on top."""
    links: int = 41
    hrefs: int = 119
    fanout: int = 10
    """Links of a page to pages that nobody above it links to: a page's share of new links is about fanout /
    links."""
    size: int = 46_000
    gzip: bool = True
    latency: float = 0.0
    spread: float = 0.0
    """Each URL's own share of up to this much is added to the latency."""
    robots: tuple[str, ...] = ("missing",)
    crawl_delay: tuple[float, ...] = (1.0,)
    """For hosts whose robots variant is `delay` or `rate`."""
    features: tuple[str, ...] = ()
    slow: float = 0.3
    retry_after: int = 1
    spam: int = 1000
    """Spam hosts when the feature `traps` is on."""
    names: bool = False
    """Hosts are told apart by the Host header (`www.web1.test`) on 127.0.0.1, for a stub resolver."""
    tls: str = ""
    """`good`, or the fault of the certificate: `expired`, `wrong-host`, `self-signed`. Empty: plain HTTP."""
    folder: str = ""
    """Serve this directory as the only host instead."""
    warm: bool = True
    cache: int = 20_000
    """Rendered answers kept in memory."""
    port: int = 0
    first: int = 127
    """First number of the hosts' addresses; 10 for a web on a machine of its own."""

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
        """`127.0.1.1:8000` of host 0; spam hosts have negative numbers, -1 is the first; `hosts` is the
        seed's front door."""
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
        """Every host that answers: the plain ones, the front door of `seed-redirect`, the spam hosts."""
        front = [self.hosts] if self.has("seed-redirect") else []
        return [*range(self.hosts), *front, *(range(-1, -self.spam - 1, -1) if self.has("traps") else ())]

    def seeds(self) -> list[str]:
        """One seed a plain host; with `seed-redirect` the first is a front door that leads to host 0."""
        first = self.hosts if self.has("seed-redirect") else 0
        return [self.url(first), *(self.url(host) for host in range(1, self.hosts))]

    def expected(self, url: str) -> Expected | None:
        """What is true of a URL of this web, None for a URL that it does not have."""
        from web import truth

        return truth.expected(self, url)

    def must_fetch(self, sitemaps: bool = True, hosts: Iterable[int] | None = None) -> set[str]:
        """URLs that a whole crawl requests exactly once. Without `sitemaps`: not those that only a sitemap
        names."""
        from web import truth

        return truth.with_fate(self, ("once", "orphan") if sitemaps else ("once",), hosts)

    def must_not_fetch(self, hosts: Iterable[int] | None = None) -> set[str]:
        """URLs that no crawl requests: closed by robots.txt, behind nofollow, refused addresses."""
        from web import truth

        return truth.with_fate(self, ("never",), hosts) | truth.outside(self)


def address(host: int) -> str:
    """The IP of a host: 127.0.1.1, 127.0.1.2, ... and from 127.1.1.1 on for spam.

    >>> address(0), address(250), address(-1)
    ('127.0.1.1', '127.0.2.1', '127.1.1.1')
    """
    net, at = (0, host) if host >= 0 else (1, -host - 1)
    return f"127.{net}.{1 + at // 250}.{1 + at % 250}"


def load(text: str) -> Plan:
    """The plan of a JSON object as `Plan.to_json` writes it; missing fields have their defaults."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()
    }
    return Plan(**fields)


def page_of(url: str) -> str:
    """The one page that a URL leads to: tracking parameters and fragment off, query sorted.

    >>> page_of("http://127.0.1.1:80/a?b=2&utm_source=x&a=1#top")
    'http://127.0.1.1:80/a?a=1&b=2'
    """
    if "?" not in url and "#" not in url:
        return url
    parts = urlsplit(url)
    kept = sorted(pair for pair in parts.query.split("&") if pair and pair.split("=", 1)[0] not in TRACKERS)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?" + "&".join(kept) if kept else "")


def query(path: str) -> dict[str, str]:
    """The parameters of a path."""
    return dict(parse_qsl(urlsplit(path).query))
