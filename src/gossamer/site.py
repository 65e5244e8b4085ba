"""A site: what we know of one web site, in one file of the user. Functions are registered by name and stay pure.

site = Site("books", hosts=["books.toscrape.com"], seeds=["https://books.toscrape.com/"])

@site.page(r"/catalogue/[^/]+/index\\.html$")
def book(page): ...
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gossamer import url as urls
from gossamer.errors import ConfigError

LATER = ("session", "proxies", "sinks", "region")
"""Drawn for later versions; naming one is refused rather than ignored."""

Follow = None | bool | str | Iterable[str] | Callable[[Any], Iterable[Any]]


class Pace(NamedTuple):
    """How the site's hosts are paced: seconds from start to start, requests at once. A Crawl-delay stays the floor."""

    delay: float | None = None
    per_host: int | None = None


class Function(NamedTuple):
    """A page function: its name, the pattern of the URLs it reads (None: every URL), and itself."""

    name: str
    pattern: re.Pattern[str] | None
    call: Callable[[Any], Any]


class Site:
    """One web site. Everything but the name has a default that suits any host.

    hosts: `example.com` (and no other), `*.example.com`; those named are in the scope of `--scope host` and `domain`, those
    that `*.` stands for in that of `domain`; paths: patterns of the URLs that are this site's; seeds: URLs; follow: None (what
    the page functions yield; without functions every link in scope), True, patterns of links to follow, a function of the page
    that gives links, or False; pace: seconds from start to start, or Pace; headers: for its hosts alone; must_have: selectors
    without which a page is no success; retries: seconds before each; robots=False: robots.txt is read, and its Crawl-delay
    kept, but its rules are not obeyed; args: names and defaults of what
    `-a name=value` may set, read as `site.args["name"]`. Raises ConfigError, which names the file when a site file is loaded.
    """

    def __init__(
        self, name: str, *, hosts: Iterable[str] = (), seeds: Iterable[str] = (), paths: Iterable[str] = (),
        follow: Follow = None, ladder: Iterable[str] = ("plain",), pace: Pace | float | None = None,
        headers: Mapping[str, str] | None = None, must_have: Iterable[str] = (), lane: str = "http",
        retries: Iterable[float] | None = None, robots: bool = True, args: Mapping[str, str] | None = None, **unknown: Any,
    ) -> None:  # fmt: skip
        if unknown:
            raise ConfigError(_unknown(name, next(iter(unknown))))
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
            raise ConfigError(f"site {name!r}: a name has letters, digits, '.', '_' and '-', at most 80")
        self.name = name
        self.hosts = tuple(_host(name, host) for host in _several(hosts))
        self.seeds = tuple(_seed(name, seed) for seed in _several(seeds))
        self.paths = tuple(_pattern(name, "paths", path) for path in _several(paths))
        self.follow = _follow(name, follow)
        self.ladder, self.lane = tuple(ladder), lane
        if self.ladder != ("plain",):
            raise ConfigError(f"site {name}: this version has one rung, ladder=['plain']")
        self.pace = Pace(float(pace)) if isinstance(pace, int | float) else pace
        self.headers = dict(headers or {})
        self.must_have = _several(must_have)
        self.retries = None if retries is None else tuple(float(wait) for wait in retries)
        self.robots = robots
        self.defaults = dict(args or {})
        self.args = dict(self.defaults)
        self.functions: list[Function] = []

    def page(
        self, pattern: str | None = None, name: str | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function that reads pages whose URL (path and query) the pattern is found in; the first match in
        the file wins, one without a pattern takes what is left. It yields items, requests, or URLs as text."""
        compiled = None if pattern is None else _pattern(self.name, "@site.page", pattern)

        def register(call: Callable[..., Any]) -> Callable[..., Any]:
            known = name or call.__name__
            if any(function.name == known for function in self.functions):
                raise ConfigError(f"site {self.name}: two page functions are named {known}")
            self.functions.append(Function(known, compiled, call))
            return call

        return register

    def function(self, url: str, use: str | None = None) -> Function | None:
        """The function that reads a page: the one a request names, else the first whose pattern is found."""
        if use is not None:
            return next((function for function in self.functions if function.name == use), None)
        path = "/" + url.partition("://")[2].partition("/")[2]
        bare = None
        for function in self.functions:
            if function.pattern is None:
                bare = bare or function
            elif function.pattern.search(path):
                return function
        return bare

    def takes(self, url: str) -> bool:
        """Whether a URL is this site's, by host and path."""
        host = urls.host(url)
        return self.takes_host(host) and (not self.paths or any(path.search(url) for path in self.paths))

    def takes_host(self, host: str) -> bool:
        """Whether a host is this site's; a host given without a port is taken on any."""
        bare = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        for own in self.hosts:
            if own.startswith("*."):
                if bare.endswith(own[1:]) or bare == own[2:]:
                    return True
            elif own in (host, bare):
                return True
        return False


def _several(values: str | Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _unknown(name: str, word: str) -> str:
    if word in LATER:
        return f"site {name}: {word}= is not in this version"
    known = [
        "hosts",
        "seeds",
        "paths",
        "follow",
        "ladder",
        "pace",
        "headers",
        "must_have",
        "lane",
        "retries",
        "robots",
        "args",
    ]
    close = difflib.get_close_matches(word, known, 1)
    return f"site {name}: Site() knows no {word}=" + (
        f"; did you mean {close[0]}=?" if close else f"; it knows {', '.join(known)}"
    )


def _host(name: str, host: str) -> str:
    if "/" in host or "@" in host:
        raise ConfigError(f"site {name}: hosts=[{host!r}]: give the host alone, as 'example.com' or 'example.com:8080'")
    parsed = urls.parse(f"http://{host.removeprefix('*.')}/")
    if parsed is None:
        raise ConfigError(f"site {name}: hosts=[{host!r}] is no host")
    return ("*." if host.startswith("*.") else "") + urls.host(parsed)


def _seed(name: str, seed: str) -> str:
    parsed = urls.parse(seed)
    if parsed is None or not parsed.startswith(("http://", "https://")):
        raise ConfigError(f"site {name}: seeds=[{seed!r}] is no http(s) URL")
    return parsed


def _pattern(name: str, where: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigError(f"site {name}: {where}({text!r}) is no regular expression: {error}") from None


def _follow(name: str, follow: Follow) -> Any:
    if follow is None or isinstance(follow, bool) or callable(follow):
        return follow
    return tuple(_pattern(name, "follow", pattern) for pattern in _several(follow))
