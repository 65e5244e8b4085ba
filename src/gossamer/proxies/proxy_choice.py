"""The proxy pool, which chooses the proxy for a request. The pool has no side effects. `now` is in
milliseconds of the store's clock.

The pool draws a few proxies at random and chooses the best of them. With this method, the cost of a choice
does not grow with the pool, and no proxy gets all the work. A proxy that has never succeeded, or that has
just failed, gets only a few requests at once. The limit of such a proxy is 3 open requests (10 for a
gateway), minus its current number of faults in a row.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence

import msgspec

from gossamer.model.proxy import Proxy, Wanted
from gossamer.proxies.proxy_table import MAX_DOMAINS, ProxyTable

DRAWS = 6
SMALL_POOL = 64
"""Maximum number of suitable proxies in a small pool. If no usable proxy was drawn from a small pool, all
suitable proxies are checked. For a larger pool, the list of usable proxies is renewed at most once per
second."""
OLD = 1000


class ProxyPool:
    """The proxies of a crawl. `checked`: only proxies that passed a health check are chosen."""

    def __init__(
        self, proxies: Sequence[Proxy], *, checked: bool = False, draw: random.Random | None = None
    ) -> None:
        self.proxies, self.checked, self.book = proxies, checked, ProxyTable(proxies)
        self.busy = [0] * len(proxies)
        """The number of open requests through each proxy, by the proxy's index."""
        self._draw = (draw or random.Random()).random
        self._lists: dict[Wanted, list[int]] = {}
        self._named: dict[Wanted, frozenset[str]] = {}
        self._free: dict[tuple[Wanted, str], tuple[int, list[int]]] = {}

    def suitable(self, wanted: Wanted) -> list[int]:
        """Returns the indexes of all proxies that meet the requirements, healthy or not."""
        found = self._lists.get(wanted)
        if found is None:
            if len(self._lists) >= MAX_DOMAINS:
                self._lists.clear()
                self._named.clear()
            found = self._lists[wanted] = [
                place for place, one in enumerate(self.proxies) if wanted.suits(one)
            ]
            self._named[wanted] = frozenset(self.proxies[place].provider for place in found)
        return found

    def choose(self, wanted: Wanted, domain: str, now: int, avoid: Collection[int] = ()) -> int | None:
        """Returns the index of the proxy to use, or None if no proxy can be used now. `avoid`: the proxies
        that were already tried. If there are other providers, a proxy of another provider is preferred."""
        if avoid:
            self.suitable(wanted)
            others = self._named[wanted] - {self.proxies[place].provider for place in avoid}
            if others:
                narrowed = msgspec.structs.replace(wanted, providers=tuple(sorted(others)))
                if (found := self._choose(narrowed, domain, now, avoid)) is not None:
                    return found
        return self._choose(wanted, domain, now, avoid)

    def is_usable(self, place: int, domain: str, now: int) -> bool:
        """Returns whether a proxy may be used now for a registered domain."""
        book = self.book
        own, most = book.own[place], book.rules[place].most
        if own is None:
            if self.checked or self.busy[place] >= most:
                return False
        elif (
            own.until > now
            or (own.until and self.checked)
            or ((own.row or own.until or not own.good) and self.busy[place] + own.row >= most)
        ):
            return False
        provider = book.providers[place]
        if provider and (theirs := book.standings.get(provider)) is not None and theirs.until > now:
            return False
        if domain in book.domains:
            there = book.standings.get(f"{book.ids[place]}\t{domain}")
            return there is None or there.until <= now
        return True

    def score(self, place: int, domain: str, now: int) -> float:
        """Returns the score of a proxy for a registered domain (`ProxyHealth.score`). If the domain has
        blocked proxies, the result is the proxy's general score multiplied by the proxy's score for the
        domain."""
        book = self.book
        own = book.own[place]
        found = 0.35 if own is None else own.score(now)
        if (
            domain in book.domains
            and (there := book.standings.get(f"{book.ids[place]}\t{domain}")) is not None
        ):
            found *= there.score(now)
        return found

    def left(self, wanted: Wanted, now: int) -> int:
        """Returns the number of suitable proxies that are not in quarantine. This number includes proxies in
        cooldown at a domain."""
        return sum(1 for place in self.suitable(wanted) if not self.book.out(place, now))

    def _choose(self, wanted: Wanted, domain: str, now: int, avoid: Collection[int]) -> int | None:
        some = self.suitable(wanted)
        if not some:
            return None
        key = (wanted, domain)
        made, free = self._free.get(key, (0, some))
        found = self._drawn(free if now - made < OLD and free else some, domain, now, avoid)
        if found is None:
            if len(some) <= SMALL_POOL or now - made >= OLD:
                free = [place for place in some if self.is_usable(place, domain, now)]
                if len(self._free) >= MAX_DOMAINS:
                    self._free.clear()
                self._free[key] = (now, free)
            found = self._drawn(free, domain, now, avoid)
            if found is None and len(free) <= SMALL_POOL:
                found = next(
                    (place for place in free if place not in avoid and self.is_usable(place, domain, now)),
                    None,
                )
        return found

    def _drawn(self, some: Sequence[int], domain: str, now: int, avoid: Collection[int]) -> int | None:
        found, best, n = None, -1.0, len(some)
        for _ in range(min(DRAWS, n)):
            place = some[int(self._draw() * n)]
            if place not in avoid and self.is_usable(place, domain, now):
                score = self.score(place, domain, now)
                if score > best:
                    found, best = place, score
        return found


def proxy_text(proxies: Iterable[Proxy]) -> str:
    """Returns a description of a pool: `120 datacenter, 30 residential; providers acme, other`."""
    kinds: dict[str, int] = {}
    names: set[str] = set()
    for one in proxies:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
        names.add(one.provider)
    text = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return text + (f"; providers {', '.join(sorted(names - {''}))}" if names - {""} else "")
