"""Turns the links of a page into URLs for the frontier. Resolves, filters, fingerprints and groups the links.
This code is the hot path of the crawler.

The links of a page are processed together. No object, log record or round trip is needed for a single link.
Most links of a page are already known and cost one lookup in a cache of raw hrefs. A link that the cache
marks as taken is in the frontier or in a pending commit. If the pending commit fails, the worker exits. If
the store may have lost its last writes, the worker clears the cache (`store_watch`). So the cache always
agrees with the frontier.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from gossamer import url as urls
from gossamer.items import assets
from gossamer.items.assets import Named
from gossamer.model.request import FILE, Request, make_entry, pack, split
from gossamer.model.visit import Adds, Claim, Row, SkippedUrl, Visit
from gossamer.url.routes import RouteResolver

MAX_CACHED_LINKS = 50_000
"""Maximum number of links in each of the two generations of the cache."""
MAX_KEY_CHARS = 512
"""Maximum length in characters of a link that is cached."""
FINGERPRINT_SLOTS = 1 << 20
"""Number of slots for fingerprints of URLs that were already added to the frontier, with 8 bytes per slot. A
link whose fingerprint is in a slot is not added to the frontier again, even if the link is no longer in the
cache."""


Hit = tuple[int, str, int]
"""A cache entry for a link, as a tuple of the link's fingerprint, the reason for refusing the link, and the
link's depth. For a link that was already added to the frontier, the reason is `duplicate`. If a page links to
a cached link at a smaller depth than the cached depth, the link is added to the frontier again. The cached
depth is -1 if the crawl does not track exact depths."""


class Filter(Protocol):
    """The URL filters, which are pure functions (`url.scope.Scope`). `refuse`, `lone` and `unfit` return the
    reason why a URL is refused, or None. `refuse` is for pages, `lone` for the files of items, and `unfit`
    for sitemaps. `rule` returns the option or pattern that decided. `near` returns whether a redirect of a
    seed could bring a refused URL into scope."""

    def refuse(self, url: str, host: str, depth: int, beside: str = "") -> str | None: ...

    def near(self, url: str, host: str, depth: int) -> bool: ...

    def lone(self, url: str, host: str) -> str | None: ...

    def unfit(self, url: str, host: str) -> str | None: ...

    def rule(self, url: str, host: str, reason: str) -> str: ...


class TakenLinks(msgspec.Struct):
    """The links of a page after filtering. `adds`: the URLs to add to the frontier, by group. `skips`: the
    number of refused links per reason. `distinct`: the number of distinct links."""

    adds: Adds = {}
    skips: dict[str, int] = {}
    distinct: int = 0
    refused: list[SkippedUrl] = []
    """The refused URLs that this worker meets for the first time. Empty unless `LinkIntake.lists_skipped` is
    true."""
    links: set[int] = set()
    """The fingerprints of all accepted links, including links that the crawl already knows. `links` is empty
    unless `LinkIntake.keeps_links` is true."""

    def skip(self, reason: str, by: int = 1) -> None:
        """Adds `by` to the number of links that were refused for this reason."""
        self.skips[reason] = self.skips.get(reason, 0) + by

    @property
    def found(self) -> int:
        """The number of refused links, which is added to the crawl's count of found links. The frontier
        cannot count refused links, because they are not sent to the frontier."""
        return sum(self.skips.values())


class ReadResult(msgspec.Struct):
    """The result of reading a page. `rows`: the rows for the sinks. `taken`: the links to add to the
    frontier. `items`: the number of items."""

    rows: list[Row]
    taken: TakenLinks
    items: int = 0
    counts: dict[str, int] = {}
    """The counts that the site's quality report uses (`gossamer.model.quality`), including the number of
    items that are not stored."""
    error: str | None = None
    infrastructure: bool = False
    """Whether the URL is a sitemap or a feed, which does not count as a page."""
    later: Callable[[Visit], None] | None = None
    """The value for `Visit.later`."""
    why: str = ""
    """The message of the errors `too-slow` and `missing`."""
    stop: str = ""
    """The reason why a page function or a step stops the crawl, or '' if none does."""
    names: Sequence[tuple[Sequence[Named], int]] = ()
    """The references of the items. `names` is empty unless another process read the page. `names` contains
    one entry per item: the files and items to which the item refers, and the number of references beyond the
    limit. The entries are in the same order as the items in `rows`. The items come first in `rows`, before
    all other rows."""


class HrefCache:
    """A cache with two generations, `new` and `old`. When `new` is full, `new` becomes `old`, and the
    previous `old` is discarded. `room`: the maximum number of entries per generation."""

    def __init__(self, room: int = MAX_CACHED_LINKS) -> None:
        self.room = max(1, room)
        self.new: dict[str, Hit] = {}
        self.old: dict[str, Hit] = {}

    def put(self, key: str, value: Hit) -> None:
        """Stores an entry, unless the key is longer than MAX_KEY_CHARS, because long keys could exhaust the
        memory."""
        if len(key) > MAX_KEY_CHARS:
            return
        if len(self.new) >= self.room:
            self.old, self.new = self.new, {}
        self.new[key] = value


class UrlPlaces(NamedTuple):
    """Where the frontier keeps a URL. `seed`: the random seed with which URLs are hashed to fingerprints.
    `remainder`: splits a fingerprint into two numbers, which the seen set stores. `bucket`, `lane`: map a
    host to its bucket and its lane. `key`: returns the canonical form of a URL."""

    seed: int
    remainder: Callable[[int], tuple[int, int]]
    bucket: Callable[[str], int]
    key: Callable[[str], str]
    lane: Callable[[str], str] = lambda _: "http"


class LinkIntake:
    """Adds the links of one crawl to the frontier.

    - `scope`: the URL filters.
    - `places`: where the frontier keeps a URL.
    - `own`: returns whether a host is a seed host. Links to other hosts need a voucher.
    - `cap`: maximum number of distinct links that are added per page.
    - `room`: maximum number of links per generation of the cache.
    - `depths`: whether the exact depth of each URL is tracked (`min_depth`).
    - `is_open`: whether the scope depends on the page. In an open scope, a link that is refused on one page
      may be accepted on another page.
    - `keeps_links`: whether `TakenLinks.links` contains the fingerprints of all accepted links.
    """

    def __init__(
        self,
        scope: Filter,
        places: UrlPlaces,
        own: Callable[[str], bool],
        *,
        cap: int = 5000,
        room: int = MAX_CACHED_LINKS,
        depths: bool = False,
        is_open: bool = False,
        keeps_links: bool = False,
    ) -> None:
        self.scope = scope
        self._seed, self._remainder, self._bucket, self._key, self._lane = places
        self._own, self._cap = own, cap
        self.depths = depths
        self.is_open = is_open
        self.keeps_links = keeps_links
        """Whether `TakenLinks.links` contains the fingerprints of all accepted links."""
        self.holds = True
        """Whether a seed of the crawl may still be redirected. If a seed may be redirected to the host of a
        refused link, the link intake sends the link to the frontier, which keeps it."""
        self.lists_skipped = False
        """Whether `TakenLinks.refused` contains the refused URLs (`start_list`)."""
        self._recent, self._taken = HrefCache(room), _slots()
        self._listed, self._closed = _slots(), HrefCache(room)
        self._hosts: dict[str, tuple[int, str, str]] = {}

    def take(
        self,
        page_url: str,
        base: str,
        hrefs: Iterable[str],
        claim: Claim,
        taken: TakenLinks | None = None,
        met: set[int] | None = None,
        routes: str = "",
    ) -> TakenLinks:
        """Resolves, filters and groups the plain links of a page. Each link inherits the page's priority. The
        depth of a link is the page's depth plus 1. If the links of a page are passed in several calls, each
        later call gets the result of the previous calls as `taken`, and the fingerprints of the previous
        calls as `met`. `routes`: the way in which fragments distinguish URLs, or '' if fragments are ignored
        (`parsing.base_url.Base.routes`)."""
        taken = TakenLinks() if taken is None else taken
        scheme, host, path = split(page_url)
        folder = base[: base.rfind("/") + 1]
        root = base[: base.find("/", 8) + 1]
        met = set() if met is None else met
        recent, depth, priority = self._recent, claim.request.depth + 1, claim.request.priority
        resolver = None
        voucher = self.voucher(claim)
        new, old = recent.new, recent.old
        skips = taken.skips
        links = taken.links if self.keeps_links else None
        for href in hrefs:
            if href.startswith(("http://", "https://")):
                key = href
            else:
                first = href[:1]
                key = (root if first == "/" else base if first in "?#" else folder) + href
            hit = new.get(key)
            if hit is None and (hit := old.get(key)) is not None:
                recent.put(key, hit)
                new, old = recent.new, recent.old
            if hit is None or depth < hit[2]:
                if resolver is None:
                    resolver = RouteResolver(base, routes == "docsify") if routes else urls.HrefResolver(base)
                hit = self._new(
                    resolver.resolve(href), key, depth, priority, scheme, host, path, voucher, taken, met
                )
                if hit is None:
                    continue
                new, old = recent.new, recent.old
            mark, reason, _ = hit
            if mark in met:
                continue
            met.add(mark)
            if reason:
                skips[reason] = skips.get(reason, 0) + 1
            if links is not None and reason in ("", "duplicate"):
                links.add(mark)
        taken.distinct = len(met)
        return taken

    def _new(
        self,
        url: str | None,
        key: str,
        depth: int,
        priority: int,
        scheme: str,
        host: str,
        path: str,
        voucher: str,
        taken: TakenLinks,
        met: set[int],
    ) -> Hit | None:
        """Takes a link that is not in the cache. Returns the link's fingerprint, reason and depth as in the
        cache. The reason is '' if the link is accepted. Returns None if the href is not an http(s) URL."""
        if url is None:
            return None  # the href cannot be crawled, for example mailto: or javascript:
        mark = urls.fingerprint(self._key(url), self._seed)
        if mark in met:
            return mark, "", -1
        if self._taken[mark % FINGERPRINT_SLOTS] == mark:
            hit = mark, "duplicate", -1
            self._recent.put(key, hit)
            return hit
        to_scheme, to_host, to_path = split(url)
        reason = "filter" if "@" in to_host else self.scope.refuse(url, to_host, depth, host)
        if reason is None and len(met) >= self._cap:
            reason = "trap"
        held = self._held(reason, url, to_host, depth)
        if reason is not None:
            if self.lists_skipped:
                rule = (
                    f"a page may have {self._cap} links" if reason == "trap" and len(met) >= self._cap else ""
                )
                self.list_skipped(taken, url, reason, rule, depth, f"{scheme}://{host}{path}", mark)
            # refusals for depth or as a trap are not cached, because they depend on the page that contains
            # the link
            if reason not in ("depth", "trap") and (to_host == host or not self.is_open):
                self._recent.put(key, (mark, reason, -1))
            if not held:
                return mark, reason, -1
        referrer = path if (to_scheme, to_host) == (scheme, host) else f"{scheme}://{host}{path}"
        stored = make_entry(to_scheme, to_path, depth, referrer)
        self._put(taken.adds, to_host, priority, "h" if held else "", voucher, mark, stored)
        if reason is None:
            self._recent.put(key, (mark, "duplicate", depth if self.depths else -1))
            # a link to a host other than a seed host is sent to the frontier every time, because each linking
            # domain counts as a voucher
            if not self.depths and self._own(to_host):
                self._taken[mark % FINGERPRINT_SLOTS] = mark
        return mark, reason or "", -1

    def request(
        self,
        request: Request,
        taken: TakenLinks,
        voucher: str = "",
        flags: str = "",
        beside: str = "",
        edition: str = "",
    ) -> str | None:
        """Takes a single request that is not a plain link, for example a seed, a redirect target, or a
        request from a site function. `beside`: see `Scope.refuse`. `edition`: see `mark`. A request with an
        edition adds two fingerprints to the seen set: one with the edition, and one without the edition. A
        plain link to the same URL therefore causes no further visit.

        Returns None if the request is accepted, otherwise the reason why the request is refused. A refused
        request is counted in `taken`.
        """
        _, host, _ = split(request.url)
        if request.use == FILE:
            reason = self.scope.lone(request.url, host)
        else:
            reason = (
                self.scope.refuse(request.url, host, request.depth, beside)
                if "i" not in flags
                else self.scope.unfit(request.url, host)
            )
        if reason is not None:
            taken.skip(reason)
            if self.lists_skipped:
                self.list_skipped(taken, request.url, reason, "", request.depth, request.referrer)
            if not self._held(reason, request.url, host, request.depth):
                return reason
            flags = "h"
        elif self.keeps_links and request.use != FILE:
            taken.links.add(self.mark(request, edition))
        host, stored = pack(request)
        marks = [(self.mark(request, edition), stored)]
        if edition and reason is None:
            marks.append((self.mark(request), b""))
        for mark, entry in marks:
            self._put(
                taken.adds,
                host,
                request.priority,
                flags,
                voucher,
                mark,
                entry,
                asks=request.region is not None,
            )
        return reason

    def list_skipped(
        self,
        taken: TakenLinks,
        url: str,
        reason: str,
        rule: str = "",
        depth: int = 0,
        page: str | None = None,
        mark: int | None = None,
    ) -> None:
        """Adds a URL to `taken.refused`, unless this worker has listed it before. `rule`: what decided. If it is
        empty, the filters tell it. `mark`: the URL's fingerprint, if it is known."""
        if mark is None:
            mark = urls.fingerprint(self._key(url), self._seed)
        if self._listed[mark % FINGERPRINT_SLOTS] != mark:
            self._listed[mark % FINGERPRINT_SLOTS] = mark
            rule = rule or self.scope.rule(url, split(url)[1], reason)
            taken.refused.append(SkippedUrl(url, reason, rule, depth, page))

    def close(
        self,
        taken: TakenLinks,
        claim: Claim,
        page: str,
        base: str,
        hrefs: Collection[str],
        reason: str,
        rule: str,
    ) -> None:
        """Counts and lists links of a page that are not followed, wherever they lead, for example links with
        nofollow."""
        taken.skip(reason, len(hrefs))
        self.list_closed(hrefs, base, page, claim.request.depth + 1, reason, rule, taken)

    def list_closed(
        self,
        hrefs: Iterable[str],
        base: str,
        page: str,
        depth: int,
        reason: str,
        rule: str,
        taken: TakenLinks,
    ) -> None:
        """Lists links as `close` does. `depth`: the depth of the links."""
        if not self.lists_skipped:
            return
        resolver, folder, root = None, base[: base.rfind("/") + 1], base[: base.find("/", 8) + 1]
        for href in hrefs:
            if href.startswith(("http://", "https://")):
                key = href
            else:
                first = href[:1]
                key = (root if first == "/" else base if first in "?#" else folder) + href
            if key in self._closed.new or key in self._closed.old:
                continue
            self._closed.put(key, (0, reason, 0))
            resolver = resolver or urls.HrefResolver(base)
            if (url := resolver.resolve(href)) is not None:
                self.list_skipped(taken, url, reason, rule, depth, page)

    def skip_recent(self, request: Request, end: str, taken: TakenLinks) -> None:
        """Adds a URL to the seen set, without a visit, because its last visit is recent. The frontier counts the
        URL as skipped (`recent`). `end`: the URL to which the request was redirected, or ''."""
        host, _ = pack(request)
        self._put(taken.adds, host, request.priority, "y", "", self.mark(request), b"")
        if end:
            target = Request(end)
            self._put(taken.adds, pack(target)[0], request.priority, "", "", self.mark(target), b"")

    def _held(self, reason: str | None, url: str, host: str, depth: int) -> bool:
        """Returns whether a refused link must be kept. A link is kept if a seed may still be redirected to
        the link's host."""
        return reason == "scope" and self.holds and self.scope.near(url, host, depth)

    def mark(self, request: Request, edition: str = "") -> int:
        """Returns the fingerprint that identifies a request in the seen set. `edition` distinguishes requests
        for the same URL. If `edition` is '' and the request is for a file, the edition of the file rule
        applies. A request with a key is identified by its host, its key and the number of redirects so
        far."""
        if request.key is not None:
            whole = f"key {split(request.url)[1]} {request.key} {len(request.hops)} {edition}"
            return urls.fingerprint(whole, self._seed)
        edition = edition or assets.file_edition(request, self._key)
        canonical = f"{self._key(request.url)}\n{edition}" if edition else self._key(request.url)
        whole = canonical if request.method == "GET" else f"{request.method} {canonical} {request.body}"
        return urls.fingerprint(whole, self._seed)

    def _put(
        self,
        adds: Adds,
        host: str,
        priority: int,
        flags: str,
        voucher: str,
        mark: int,
        stored: bytes,
        asks: bool = False,
    ) -> None:
        bucket, own, lane = self._hosts.get(host) or self._host(host)
        if asks:
            lane += "?"  # marks an entry whose request needs a region (`heap_of_host.lua`)
        flags = own + flags
        high, low = self._remainder(mark)
        adds.setdefault((bucket, host, priority, lane, flags, "" if own else voucher), []).extend(
            (high, low, stored)
        )

    def _host(self, host: str) -> tuple[int, str, str]:
        if len(self._hosts) >= MAX_CACHED_LINKS:
            self._hosts.clear()
        found = self._bucket(host), "o" if self._own(host) else "", self._lane(host)
        self._hosts[host] = found
        return found

    def voucher(self, claim: Claim) -> str:
        """Returns the voucher for the links on a page, which is a hash of the page's registered domain.
        Returns '' if the page may not vouch for other hosts. A page may vouch if its host is a seed host, or
        if at least two domains vouch for its host."""
        if self._own(claim.host) or claim.vouchers > 1:
            return str(urls.fingerprint(urls.registered_domain(claim.host), 0) & 0x7FFFFFFF)
        return ""

    def same(self, one: str, other: str) -> bool:
        """Returns whether two URLs are the same URL in the seen set."""
        return self._key(one) == self._key(other)

    def start_list(self) -> None:
        """Lists skipped URLs from now on."""
        self.lists_skipped = True

    def end_list(self) -> None:
        """Lists no more skipped URLs, because the list is full."""
        self.lists_skipped = False

    def forget(self) -> None:
        """Clears the caches. Must be called if a page was read but will not be committed, because the page's
        links must be taken again later."""
        self._recent, self._taken = HrefCache(self._recent.room), _slots()
        self._listed, self._closed = _slots(), HrefCache(self._recent.room)

    def hold(self) -> None:
        """Keeps refused links again, because the store may have lost redirects of seeds."""
        self.holds = True

    def release(self) -> None:
        """Stops keeping refused links, because all seeds have a response and no seed can be redirected any
        more."""
        self.holds = False

    def widen(self, scope: Filter) -> None:
        """Replaces the filters with wider ones after a seed was redirected. Clears the caches, because links
        that were refused earlier may now be accepted."""
        self.scope = scope
        self.forget()
        self._hosts.clear()


def _slots() -> memoryview:
    """Returns an array of FINGERPRINT_SLOTS zeros of 8 bytes each. The operating system allocates memory only
    for the parts of the array that are written."""
    return memoryview(mmap.mmap(-1, 8 * FINGERPRINT_SLOTS)).cast("Q")
