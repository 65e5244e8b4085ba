"""From the links of a page to what the frontier takes: resolve, filter, fingerprint, group. The hot path of
the crawler.

Never an object, a log record or a round trip per link: most links of a page were met before, and cost one
look-up in a cache of raw hrefs. What that cache knows as taken is in the frontier, or in a commit to come, or
the worker ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from gossamer import url as urls
from gossamer.items import assets
from gossamer.items.assets import Named
from gossamer.model.request import FILE, Request, entry, pack, split
from gossamer.model.visit import Adds, Claim, Row, Visit

ROOM = 50_000
"""Links remembered, twice over (two generations)."""
MAX_KEY = 512
"""Characters of a link that is remembered."""
SLOTS = 1 << 20
"""Fingerprints of taken URLs that are remembered, 8 bytes each: a link that is no longer among the recent
ones costs no add."""


Hit = tuple[int, str, int]
"""What is remembered of a link: its mark, why it is refused (`duplicate`: it is taken), and at which depth it
was taken (where depths are kept; else -1): nearer to a seed it is offered again."""


class Filter(Protocol):
    """The pure filters: the reason why a URL is not wanted, or None."""

    def refuse(self, url: str, host: str, depth: int, beside: str = "") -> str | None: ...

    def near(self, url: str, host: str, depth: int) -> bool: ...

    def lone(self, url: str, host: str) -> str | None: ...

    def unfit(self, url: str, host: str) -> str | None: ...


class Taken(msgspec.Struct):
    """What became of links: groups to add, refusals by reason, how many distinct links there were."""

    adds: Adds = {}
    skips: dict[str, int] = {}
    distinct: int = 0

    def skip(self, reason: str, by: int = 1) -> None:
        """Count a refusal."""
        self.skips[reason] = self.skips.get(reason, 0) + by

    @property
    def found(self) -> int:
        """Refused links: they end here, so they are counted here."""
        return sum(self.skips.values())


class Read(msgspec.Struct):
    """What reading a page gave: rows for the sinks, links taken, items, what went wrong."""

    rows: list[Row]
    taken: Taken
    items: int = 0
    counts: dict[str, int] = {}
    """What its items say of its site, and how many are not stored (`gossamer.model.quality`)."""
    error: str | None = None
    infrastructure: bool = False
    """A sitemap or feed: no page, nothing of it is counted as found."""
    later: Callable[[Visit], None] | None = None
    """As in Visit."""
    names: Sequence[tuple[Sequence[Named], int]] = ()
    """What each of the items, which are the first rows, names and how many are beyond its limit: of a page
    that another process read."""


class Recent:
    """A cache of two generations, `new` and `old`: the older is thrown away when the newer is full. Room 1
    works, slowly."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = max(1, room)
        self.new: dict[str, Hit] = {}
        self.old: dict[str, Hit] = {}

    def put(self, key: str, value: Hit) -> None:
        """Remember a key, unless it is so long that ROOM of them would fill the memory."""
        if len(key) > MAX_KEY:
            return
        if len(self.new) >= self.room:
            self.old, self.new = self.new, {}
        self.new[key] = value


class Taker:
    """Takes links in for one crawl. `remainder` halves a fingerprint as the seen-set wants it, `key` is the
    canonical form."""

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
        room: int = ROOM,
        lane: Callable[[str], str] = lambda _: "http",
        depths: bool = False,
    ) -> None:
        self.scope = scope
        self._seed, self._remainder, self._bucket = seed, remainder, bucket
        self._key, self._own, self._cap, self._lane = key, own, cap, lane
        self.depths = depths
        self.open = False
        """The scope depends on the page: what one refuses another may take."""
        self.holds = True
        """A seed may yet be redirected: links to hosts beside the seeds' own are not lost."""
        self._recent, self._taken = Recent(room), _slots()
        self._hosts: dict[str, tuple[int, str, str]] = {}

    def take(
        self,
        page_url: str,
        base: str,
        hrefs: Iterable[str],
        claim: Claim,
        taken: Taken | None = None,
        met: set[int] | None = None,
    ) -> Taken:
        """The plain links of a page, found at depth + 1 with the page's priority. `taken`, `met`: of the
        page's links before these."""
        taken = Taken() if taken is None else taken
        scheme, host, path = split(page_url)
        folder = base[: base.rfind("/") + 1]
        root = base[: base.find("/", 8) + 1]
        met = set() if met is None else met
        recent, depth, priority = self._recent, claim.request.depth + 1, claim.request.priority
        resolver = None
        voucher = self.voucher(claim)
        new, old = recent.new, recent.old
        skips = taken.skips
        for href in hrefs:
            if href.startswith(("http://", "https://")):
                key = href
            else:
                first = href[:1]
                key = (root if first == "/" else base if first == "?" else folder) + href
            hit = new.get(key)
            if hit is None and (hit := old.get(key)) is not None:
                recent.put(key, hit)
                new, old = recent.new, recent.old
            if hit is None or depth < hit[2]:
                resolver = resolver or urls.HrefResolver(base)
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
        taken: Taken,
        met: set[int],
    ) -> Hit | None:
        """A link that the cache does not know: its mark and the reason why it is refused ('' when it is taken
        here)."""
        if url is None:
            return None  # mailto:, javascript:, what is no URL: no link at all
        mark = urls.fingerprint(self._key(url), self._seed)
        if mark in met:
            return mark, "", -1
        if self._taken[mark % SLOTS] == mark:
            hit = mark, "duplicate", -1
            self._recent.put(key, hit)
            return hit
        to_scheme, to_host, to_path = split(url)
        reason = "filter" if "@" in to_host else self.scope.refuse(url, to_host, depth, host)
        if reason is None and len(met) >= self._cap:
            reason = "trap"
        held = self._held(reason, url, to_host, depth)
        if reason is not None:
            # those depend on the way here
            if reason not in ("depth", "trap") and (to_host == host or not self.open):
                self._recent.put(key, (mark, reason, -1))
            if not held:
                return mark, reason, -1
        referrer = path if (to_scheme, to_host) == (scheme, host) else f"{scheme}://{host}{path}"
        stored = entry(to_scheme, to_path, depth, referrer)
        self._put(taken.adds, to_host, priority, "h" if held else "", voucher, mark, stored)
        if reason is None:
            self._recent.put(key, (mark, "duplicate", depth if self.depths else -1))
            if not self.depths and self._own(to_host):  # other hosts are vouched for by each add
                self._taken[mark % SLOTS] = mark
        return mark, reason or "", -1

    def request(
        self,
        request: Request,
        taken: Taken,
        voucher: str = "",
        flags: str = "",
        beside: str = "",
        edition: str = "",
    ) -> str | None:
        """One request with needs of its own (a seed, a child of a redirect, what a site function asks for).
        `beside` as in Scope.

        Returns the reason why it is refused, which is counted, too; None when it is taken.
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
        host, stored = pack(request)
        self._put(
            taken.adds,
            host,
            request.priority,
            flags,
            voucher,
            self.mark(request, edition),
            stored,
            asks=request.region is not None,
        )
        return reason

    def _held(self, reason: str | None, url: str, host: str, depth: int) -> bool:
        """Whether a refused link is kept in case a seed is redirected to its host."""
        return reason == "scope" and self.holds and self.scope.near(url, host, depth)

    def mark(self, request: Request, edition: str = "") -> int:
        """The fingerprint by which the seen-set knows a request; another edition of a page is another one."""
        edition = edition or assets.edition(request, self._key)
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
            lane += "?"  # an entry that asks for a region by itself (`heaps.lua`)
        flags = own + flags
        high, low = self._remainder(mark)
        adds.setdefault((bucket, host, priority, lane, flags, "" if own else voucher), []).extend(
            (high, low, stored)
        )

    def _host(self, host: str) -> tuple[int, str, str]:
        if len(self._hosts) >= ROOM:
            self._hosts.clear()
        found = self._bucket(host), "o" if self._own(host) else "", self._lane(host)
        self._hosts[host] = found
        return found

    def voucher(self, claim: Claim) -> str:
        """The name under which this page's domain vouches for discovered hosts, '' when it is in no good
        standing."""
        if self._own(claim.host) or claim.vouchers > 1:
            return str(urls.fingerprint(urls.registered_domain(claim.host), 0) & 0x7FFFFFFF)
        return ""

    def same(self, one: str, other: str) -> bool:
        """Whether two URLs are one for the seen-set."""
        return self._key(one) == self._key(other)

    def forget(self) -> None:
        """A page that was read came to nothing: what was taken from it must be taken again."""
        self._recent, self._taken = Recent(self._recent.room), _slots()

    def widen(self, scope: Filter) -> None:
        """A redirected seed changed the scope: what was refused may be wanted now."""
        self.scope = scope
        self.forget()
        self._hosts.clear()


def _slots() -> array[int]:
    return array("Q", [0]) * SLOTS
