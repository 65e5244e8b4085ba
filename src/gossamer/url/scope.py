"""Decides which URLs belong to a crawl. The filters are compiled once from the settings. Each filter is a
pure function. The crawl applies the filters to a discovered link before the link reaches the frontier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

import msgspec

from gossamer import url as urls
from gossamer.errors import UsageError
from gossamer.url import patterns
from gossamer.url.routes import seed_with_route
from gossamer.url.traps import RULES, trap

MODES = ("page", "prefix", "host", "domain", "any")
PORTS = frozenset((80, 443, 8080, 8443))
MAX_URL = 2083


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of one crawl, created by `of`. URLs are in fetch form, and hosts are `host[:port]` (see
    `gossamer.url`)."""

    mode: str
    seeds: frozenset[str]
    """The URLs of the seeds. A seed is accepted even if a pattern excludes its URL, so a crawl with
    `--include /blog/` can start at the front page."""
    places: frozenset[str]
    """The hosts in scope. In mode `domain`, the registered domains in scope."""
    prefixes: tuple[str, ...]
    """The authority and the directory of each seed if the mode is `prefix`, otherwise empty."""
    include: tuple[patterns.Searcher, ...]
    exclude: tuple[patterns.Searcher, ...]
    """Patterns of URLs that the scope refuses. The scope also refuses a URL if the search with an exclude
    pattern takes too long."""
    depth: int
    ports: frozenset[int]
    longest: int
    today: date
    domains: frozenset[str] = frozenset()
    """The registered domains of the seeds if the mode is `host`, otherwise empty."""
    later: tuple[patterns.Searcher, ...] = ()
    """Exclude patterns that were added while the crawl runs. They also apply to seeds that wait in the queue."""
    open: bool = False
    """Whether seeds may be added while the crawl runs. In an open scope, every URL that is added as a seed is
    in scope. An open scope with the mode `host` also accepts every link to the linking page's own host. An
    open scope with the mode `domain` also accepts every link to the linking page's own registered domain."""

    @classmethod
    def of(
        cls,
        seeds: Iterable[str],
        mode: str = "host",
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        depth: int = 50,
        ports: Iterable[int] = (),
        longest: int = MAX_URL,
        today: date | None = None,
    ) -> Scope:
        """Compiles the filters. `ports` are ports that are allowed in addition to 80, 443, 8080, 8443 and the
        ports of the seeds. `longest` is the maximum length of a URL. `today` is the date for the calendar
        rule.

        Raises UsageError for an unknown mode or an invalid pattern.

        >>> scope = Scope.of(["https://example.com/"], exclude=[r"\\.pdf$"])
        >>> scope.refuse("https://example.com/a.pdf", "example.com", 1)
        'filter'
        """
        if mode not in MODES:
            raise UsageError(f"--scope is one of {', '.join(MODES)}, not {mode!r}")
        empty = cls(
            mode=mode,
            seeds=frozenset(),
            places=frozenset(),
            prefixes=(),
            depth=depth,
            ports=PORTS | frozenset(ports),
            include=_patterns("--include", include),
            exclude=_patterns("--exclude", exclude),
            longest=longest,
            today=today or date.today(),
        )
        return empty.with_seeds(seeds)

    def refuse(self, url: str, host: str, depth: int, beside: str = "") -> str | None:
        """Returns the reason for refusing a URL found at `depth` (a word of verdict.SKIPS), or None if the
        URL is accepted.

        `beside` is the host of the page that contains the link, or `*` if the URL is a seed. Only an open
        scope uses `beside`.

        >>> Scope.of(["https://example.com/"]).refuse("https://example.org/", "example.org", 1)
        'scope'
        """
        if "@" in url and urls.split_credentials(url)[1] is not None:
            return "filter"
        if not self._inside(url, host) and not (self.open and beside and self._beside(url, host, beside)):
            return "scope"
        return self._filtered(url, host, depth, self.open and beside in ("*", host))

    def rule(self, url: str, host: str, reason: str) -> str:
        """Returns the option, pattern or limit because of which `refuse`, `lone` or `unfit` returned a reason.

        >>> Scope.of(["https://example.com/"], exclude=["/tag/"]).rule("https://example.com/tag/x", "example.com", "filter")
        'matches --exclude /tag/'
        """
        if reason == "scope":
            return f"outside of --scope {self.mode}"
        if reason == "depth":
            return f"deeper than --depth {self.depth}"
        if reason == "trap":
            name = trap(url, self.today)
            return RULES[name] if name else f"longer than {self.longest} characters"
        if url[:4] != "http":
            return "only http and https"
        if "@" in url and urls.split_credentials(url)[1] is not None:
            return "has a user name or password in it"
        if not self.allows_port(host):
            return f"no --allow-port {_port(host)}"
        out = self._excluding(url)
        return f"matches --exclude {out.pattern}" if out else "matches no --include"

    def lone(self, url: str, host: str) -> str | None:
        """Returns the reason for refusing a file that an item refers to, or None. The file may be on any
        host. The method refuses only URLs that are not http(s), that contain credentials, that have a
        forbidden port, that are too long, or that match an `exclude` pattern."""
        if "@" in url and urls.split_credentials(url)[1] is not None:
            return "filter"
        if url[:4] != "http" or not self.allows_port(host) or self._excluding(url):
            return "filter"
        return "trap" if len(url) > self.longest else None

    def unfit(self, url: str, host: str) -> str | None:
        """Returns the reason for refusing a sitemap that a site refers to, or None. The host is not checked,
        because a sitemap may be on any host.

        >>> Scope.of(["https://example.com/"]).unfit("file:///etc/passwd", "")
        'filter'
        """
        if url[:4] != "http" or not self.allows_port(host) or urls.split_credentials(url)[1] is not None:
            return "filter"
        return "trap" if len(url) > self.longest else None

    def near(self, url: str, host: str, depth: int) -> bool:
        """Returns whether a redirect from a seed to the URL's host would bring the URL into the scope. The
        URL's host must have the same registered domain as a seed, because a redirect to another domain is
        unlikely.

        >>> scope = Scope.of(["https://example.com/"])
        >>> scope.near("https://www.example.com/", "www.example.com", 1), scope.near("https://example.org/", "example.org", 1)
        (True, False)
        """
        if self.mode != "host" or url[:4] != "http" or urls.registered_domain(host) not in self.domains:
            return False
        return self._filtered(url, host, depth) is None

    def _filtered(self, url: str, host: str, depth: int, dialled: bool = False) -> str | None:
        """Applies all filters except the scope. Returns the reason for refusing a URL, or None. `dialled`:
        whether every port is allowed, because the URL is a seed, or because its host and port are those of
        the linking page."""
        if ":" in host and not dialled and not self.allows_port(host):
            return "filter"
        if url in self.seeds:
            return None
        if (self.include or self.exclude) and (self._excluding(url) or not self._including(url)):
            return "filter"
        if depth > self.depth:
            return "depth"
        if len(url) > self.longest or trap(url, self.today):
            return "trap"
        return None

    def allows_port(self, host: str) -> bool:
        """Returns whether connections to the port of `host[:port]` are allowed."""
        port = _port(host)
        return not port or port in self.ports

    def explain(self, url: str, depth: int) -> list[tuple[str, str, str]]:
        """Returns (filter, verdict, rule) for each filter, in the order in which they apply.

        The verdict is `pass` or the reason for skipping the URL. The method `refuse` returns the first
        verdict other than `pass`. The rule describes the pattern or limit that led to the verdict.

        >>> Scope.of(["https://example.com/"], depth=3).explain("https://example.com/a", 4)[5]
        ('depth', 'depth', '4 links from a seed, --depth is 3')
        """
        found = urls.parse(url)
        if found is None:
            return [("form", "filter", "is not a URL")]
        found = seed_with_route(found)
        return [
            (gate, reason or "pass", rule)
            for gate, reason, rule in self._gates(found, urls.host(found), depth)
        ]

    def re_anchored(self, from_url: str, to_url: str) -> Scope:
        """Returns the scope after a redirect of a seed. The new scope treats `to_url` as an additional seed.

        The caller ensures that `from_url` is a seed or the target of a seed's redirect. Several redirects may
        be applied in any order.

        >>> wider = Scope.of(["https://example.com/"]).re_anchored("https://example.com/", "https://www.example.com/")
        >>> wider.refuse("https://www.example.com/a", "www.example.com", 1)
        """
        return self if from_url == to_url or to_url in self.seeds else self.with_seeds([to_url])

    def with_seeds(self, seeds: Iterable[str]) -> Scope:
        """Returns the scope with additional seeds."""
        seeds = list(seeds)
        hosts = [urls.host(seed) for seed in seeds]
        places = {urls.registered_domain(host) for host in hosts} if self.mode == "domain" else set(hosts)
        folders = {_folder(seed) for seed in seeds} if self.mode == "prefix" else set()
        domains = {urls.registered_domain(host) for host in hosts} if self.mode == "host" else set()
        ports = {_port(host) for host in hosts} - {0}
        return msgspec.structs.replace(
            self,
            seeds=self.seeds | set(seeds),
            places=self.places | places,
            ports=self.ports | ports,
            prefixes=tuple(sorted(folders.union(self.prefixes))),
            domains=self.domains | domains,
        )

    def excluding(self, later: Iterable[str]) -> Scope:
        """Returns the scope with these exclude patterns in `later`. Raises UsageError for an invalid pattern."""
        return msgspec.structs.replace(self, later=_patterns("--exclude", later))

    def _inside(self, url: str, host: str) -> bool:
        if url[:4] != "http":
            return False
        mode = self.mode
        if mode == "host":
            return host in self.places
        if mode == "domain":
            return urls.registered_domain(host) in self.places
        if mode == "prefix":
            return url.partition("://")[2].startswith(self.prefixes)
        return mode == "any" or url in self.seeds

    def _excluding(self, url: str) -> patterns.Searcher | None:
        return next(
            (one for one in (*self.exclude, *self.later) if patterns.found(one, url, on_timeout=True)), None
        )

    def _beside(self, url: str, host: str, page: str) -> bool:
        if page == "*" or url[:4] != "http":
            return page == "*"
        if self.mode == "domain":
            return urls.registered_domain(host) == urls.registered_domain(page)
        return self.mode == "host" and host == page

    def _including(self, url: str) -> patterns.Searcher | bool:
        if not self.include:
            return True
        return next((one for one in self.include if patterns.found(one, url, on_timeout=False)), False)

    def _gates(self, url: str, host: str, depth: int) -> Iterator[tuple[str, str | None, str]]:
        """Yields (filter, reason or None, rule) for each filter, in the order in which `refuse` applies
        them."""
        bare = urls.split_credentials(url)[1] is None
        yield (
            "credentials",
            None if bare else "filter",
            "none in it" if bare else "has a user name or password in it",
        )
        inside = self._inside(url, host) or (self.open and url[:4] == "http")
        where = host if self.mode != "domain" else urls.registered_domain(host)
        known = _some(
            self.prefixes if self.mode == "prefix" else self.seeds if self.mode == "page" else self.places
        )
        rule = (
            f": {where} is {'' if inside else 'not '}in {known}" if self.mode != "any" else ": http and https"
        )
        rule = f" of the page that links to it: {host}" if self.open and self.mode != "any" else rule
        yield "scope", None if inside else "scope", f"--scope {self.mode}{rule}"
        closed = not self.allows_port(host)
        rule = f"--allow-port {_port(host)} is not given" if closed else "an allowed port"
        yield "port", "filter" if closed else None, rule
        if url in self.seeds:
            yield "seed", None, "a seed, or where one was redirected: no pattern or limit applies"
            return
        yield from self._patterns_of(url)
        deep = depth > self.depth
        yield "depth", "depth" if deep else None, f"{depth} links from a seed, --depth is {self.depth}"
        long = len(url) > self.longest
        yield "length", "trap" if long else None, f"{len(url)} characters, at most {self.longest}"
        name = trap(url, self.today)
        yield "trap", "trap" if name else None, f"{name}: {RULES[name]}" if name else "no rule applies"

    def _patterns_of(self, url: str) -> Iterator[tuple[str, str | None, str]]:
        out = self._excluding(url)
        rule = f"--exclude {out.pattern}" if out else "no --exclude matches"
        into = self._including(url)
        if not isinstance(into, bool):
            also = f"--include {into.pattern}"
        else:
            also = (
                "no --include is given"
                if into
                else f"no --include matches: {_some(p.pattern for p in self.include)}"
            )
        yield "exclude", "filter" if out else None, rule
        yield "include", None if into else "filter", also


def _port(host: str) -> int:
    """Returns the port in `host:port`, or 0 if there is none."""
    port = host.rpartition(":")[2]
    return int(port) if port.isdecimal() and len(port) < 6 else 0


def _folder(url: str) -> str:
    path = url.partition("://")[2].partition("?")[0]
    return path[: path.rfind("/") + 1]


def _some(words: Iterable[str]) -> str:
    """Formats a list for a message: the first three words, and the number of the remaining words."""
    listed = sorted(words)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _patterns(option: str, texts: Iterable[str]) -> tuple[patterns.Searcher, ...]:
    found: list[patterns.Searcher] = []
    for pattern in texts:
        try:
            found.append(patterns.compile_(pattern))
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"{option} {pattern!r} is not a regular expression: {error}") from error
    return tuple(found)
