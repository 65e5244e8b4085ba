"""Turns the links of a page into URLs for the frontier. Resolves, filters, fingerprints and groups the links.
This is the hot path of the crawler.

No object, log record or round trip is made for a single link. Most links of a page are already known and cost
one lookup in a cache of raw hrefs. If the cache marks a link as taken, the link is in the frontier or in a
pending commit. If that commit fails, the worker exits, so the cache is never wrong.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from gossamer import url as urls
from gossamer.items import assets
from gossamer.items.assets import Named
from gossamer.model.request import FILE, Request, make_entry, pack, split
from gossamer.model.visit import Adds, Claim, Row, Visit
from gossamer.url.routes import RouteResolver

MAX_CACHED_LINKS = 50_000
"""Maximum number of links in each of the two generations of the cache."""
MAX_KEY_CHARS = 512
"""Maximum length in characters of a cached link."""
FINGERPRINT_SLOTS = 1 << 20
"""Number of slots for fingerprints of taken URLs, with 8 bytes each. If a link is no longer in the cache but
its fingerprint is still in a slot, it is not added again."""


Hit = tuple[int, str, int]
"""A cache entry for a link. It contains the link's fingerprint, the reason why the link is refused
(`duplicate` if it was taken before), and the depth at which it was taken. A link that is found at a smaller
depth than before is added again. The depth is -1 if depths are not tracked."""


class Filter(Protocol):
    """The pure URL filters (`url.scope.Scope`). `refuse` returns the reason why a page is refused, or None.
    `lone` does the same for an item's file, and `unfit` for a sitemap. `near` returns whether a URL that is
    out of scope would be in scope if a seed were redirected to its host."""

    def refuse(self, url: str, host: str, depth: int, beside: str = "") -> str | None: ...

    def near(self, url: str, host: str, depth: int) -> bool: ...

    def lone(self, url: str, host: str) -> str | None: ...

    def unfit(self, url: str, host: str) -> str | None: ...


class TakenLinks(msgspec.Struct):
    """The result of taking links: the groups of URLs to add to the frontier, the number of refusals by
    reason, and the number of distinct links."""

    adds: Adds = {}
    skips: dict[str, int] = {}
    distinct: int = 0
    links: set[int] = set()
    """The fingerprints of all links that were not refused, whether known or new. Empty unless
    `LinkIntake.keeps_links` is set."""

    def skip(self, reason: str, by: int = 1) -> None:
        """Counts a refusal."""
        self.skips[reason] = self.skips.get(reason, 0) + by

    @property
    def found(self) -> int:
        """The number of refused links. The frontier includes the links that it receives in the total of found
        links. Refused links are not sent to the frontier, so this number is added to that total."""
        return sum(self.skips.values())


class ReadResult(msgspec.Struct):
    """The result of reading a page: the rows for the sinks, the links to add, the items, and the errors."""

    rows: list[Row]
    taken: TakenLinks
    items: int = 0
    counts: dict[str, int] = {}
    """Counts for the site's quality (`gossamer.model.quality`), and the number of items that are not
    stored."""
    error: str | None = None
    infrastructure: bool = False
    """Whether the page is a sitemap or feed, which does not count as a page."""
    later: Callable[[Visit], None] | None = None
    """The function for `Visit.later`, or None."""
    stop: str = ""
    """The reason why a page function or a step stops the crawl, or '' if none does."""
    names: Sequence[tuple[Sequence[Named], int]] = ()
    """The references of each item, if another process read the page. An entry contains the files and items to
    which the item refers, and the number of references beyond the limit. The first entry belongs to the first
    item in `rows`, and so on. In `rows`, the items come before all other rows."""


class HrefCache:
    """A cache with two generations, `new` and `old`. When `new` is full, it becomes `old`, and the previous
    `old` is dropped. `room`: the number of entries per generation, at least 1."""

    def __init__(self, room: int = MAX_CACHED_LINKS) -> None:
        self.room = max(1, room)
        self.new: dict[str, Hit] = {}
        self.old: dict[str, Hit] = {}

    def put(self, key: str, value: Hit) -> None:
        """Stores a key, unless the key is so long that a cache full of such keys would exhaust the memory."""
        if len(key) > MAX_KEY_CHARS:
            return
        if len(self.new) >= self.room:
            self.old, self.new = self.new, {}
        self.new[key] = value


class LinkIntake:
    """Adds the links of one crawl to the frontier.

    - `scope`: the URL filters.
    - `seed`: the random seed with which URLs are hashed to fingerprints.
    - `remainder`: a function that splits a fingerprint into the two halves that the seen set stores.
    - `bucket`, `lane`: functions that map a host to its bucket and its lane.
    - `key`: returns the canonical form of a URL.
    - `own`: returns whether a host belongs to the seeds. Links to other hosts need a voucher.
    - `cap`: maximum number of distinct links that are added per page.
    - `room`: number of links per generation of the cache.
    - `depths`: whether exact depths are kept (`min_depth`).
    - `is_open`: whether the scope depends on the page. If so, a link that is refused on one page may be taken
      on another.
    """

    def __init__(
        self,
        scope: Filter,
        *,
        seed: int,
        remainder: Callable[[int], tuple[int, int]],
        bucket: Callable[[str], int],
        key: Callable[[str], str],
        own: Callable[[str], bool],
        cap: int = 5000,
        room: int = MAX_CACHED_LINKS,
        lane: Callable[[str], str] = lambda _: "http",
        depths: bool = False,
        is_open: bool = False,
    ) -> None:
        self.scope = scope
        self._seed, self._remainder, self._bucket = seed, remainder, bucket
        self._key, self._own, self._cap, self._lane = key, own, cap, lane
        self.depths = depths
        self._is_open = is_open
        self.keeps_links = False
        """Whether the fingerprints of all links that are not refused are returned in `TakenLinks.links`."""
        self.holds = True
        """Whether a seed may still be redirected. While this is true, refused links are kept if a seed might
        be redirected to their host."""
        self._recent, self._taken = HrefCache(room), _slots()
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
        """Takes the plain links of a page. The links get the page's priority and its depth + 1. `taken`,
        `met`: the result and the fingerprints of links of this page that were taken earlier. `routes`:
        whether fragments are routes, so that they make different URLs (`parsing.base_url.Base.routes`)."""
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
        """Takes a link that is not in the cache. Returns its cache entry, in which the reason is '' if the
        link is taken. Returns None for an href that is not an http(s) URL."""
        if url is None:
            return None  # it cannot be crawled, for example mailto: or javascript:
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
            # refusals by depth or as a trap depend on the path to this page, so they are not cached
            if reason not in ("depth", "trap") and (to_host == host or not self._is_open):
                self._recent.put(key, (mark, reason, -1))
            if not held:
                return mark, reason, -1
        referrer = path if (to_scheme, to_host) == (scheme, host) else f"{scheme}://{host}{path}"
        stored = make_entry(to_scheme, to_path, depth, referrer)
        self._put(taken.adds, to_host, priority, "h" if held else "", voucher, mark, stored)
        if reason is None:
            self._recent.put(key, (mark, "duplicate", depth if self.depths else -1))
            # a link to another host is added again each time, because each add is a vote of the linking
            # domain
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
        """Takes a single request that is not a plain link: a seed, a redirect target, or a request from a
        site function. `beside`: see `Scope.refuse`. `edition`: see `mark`. If there is an edition, the
        fingerprint without the edition is added to the seen set, too. Therefore a link to the URL does not
        cause another visit.

        Returns None if the request is taken, otherwise the reason why it is refused. A refusal is counted in
        `taken`.
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

    def _held(self, reason: str | None, url: str, host: str, depth: int) -> bool:
        """Returns whether a refused link is kept because a seed may still be redirected to its host."""
        return reason == "scope" and self.holds and self.scope.near(url, host, depth)

    def mark(self, request: Request, edition: str = "") -> int:
        """Returns the fingerprint that identifies a request in the seen set. `edition` distinguishes requests
        for the same URL. If `edition` is '', the edition of the request's file rule applies, if there is one.
        If a request has a key, it is identified by its host, its key and the number of its redirects."""
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
        """Returns the name (a hash) under which this page's registered domain vouches for newly discovered
        hosts. Returns '' if the page may not vouch. Only pages of a seed's host, and of a host with at least
        two vouchers, may vouch."""
        if self._own(claim.host) or claim.vouchers > 1:
            return str(urls.fingerprint(urls.registered_domain(claim.host), 0) & 0x7FFFFFFF)
        return ""

    def same(self, one: str, other: str) -> bool:
        """Returns whether the seen set treats two URLs as the same."""
        return self._key(one) == self._key(other)

    def forget(self) -> None:
        """Empties the caches. Called if a page was read but not committed, because the page's links must be
        taken again later."""
        self._recent, self._taken = HrefCache(self._recent.room), _slots()

    def release(self) -> None:
        """Stops keeping links for later redirects of seeds. Called when all seeds have a response."""
        self.holds = False

    def widen(self, scope: Filter) -> None:
        """Replaces the filters with wider ones after a seed was redirected. Links that were refused earlier
        may now be taken."""
        self.scope = scope
        self.forget()
        self._hosts.clear()


def _slots() -> memoryview:
    """Returns FINGERPRINT_SLOTS zeros of 8 bytes each. The operating system allocates memory only for the
    pages that are written to."""
    return memoryview(mmap.mmap(-1, 8 * FINGERPRINT_SLOTS)).cast("Q")
