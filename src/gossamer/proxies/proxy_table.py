"""Keeps the health of all proxies. The health is computed from the observations of this worker and of the
other workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gossamer.model.proxy import Proxy
from gossamer.proxies.proxy_health import (
    GATEWAY,
    HOST,
    PROVIDER,
    PROXY,
    BreakerRule,
    ProxyHealth,
    ProxyReport,
)

MAX_DOMAINS = 2000
"""The maximum number of domains with separate health records. If a registered domain blocks proxies, each
proxy has a separate health record for the domain."""


class ProxyTable:
    """Maps keys to health records. A key is a proxy's id, `@provider`, or `ID TAB DOMAIN` for a proxy and a
    registered domain that blocks proxies. Times are in milliseconds."""

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self.ids = [proxy.id for proxy in proxies]
        self.rules = [GATEWAY if one.has("session") else PROXY for one in proxies]
        self.providers = [f"@{one.provider}" if one.provider else "" for one in proxies]
        self.own: list[ProxyHealth | None] = [None] * len(proxies)
        self.standings: dict[str, ProxyHealth] = {}
        self.domains: dict[str, None] = {}
        self.seen: dict[str, ProxyReport] = {}
        """Maps the keys of health records to the reports that this worker has not shared with the other
        workers yet."""
        self._places = {one: place for place, one in enumerate(self.ids)}

    def saw(
        self,
        place: int,
        domain: str,
        now: int,
        *,
        fault: bool = False,
        blocked: bool = False,
        seconds: float = 0.0,
    ) -> None:
        """Records the result of a request through a proxy. The result is a success, a fault of the proxy, or
        a block by the domain."""
        if self.providers[place]:
            self._note(self.providers[place], not fault, seconds, now, PROVIDER)
        self._note(self.ids[place], not fault, seconds, now, self.rules[place])
        if domain and not fault and (blocked or domain in self.domains):
            self._hard(domain)
            key = f"{self.ids[place]}\t{domain}"
            self._note(key, not blocked, seconds, now, self.rule(key))

    def checked(self, place: int, now: int, seconds: float | None) -> None:
        """Records a health check. `seconds`: the duration of the check, or None if the check failed. A failed
        check puts the proxy in quarantine at once."""
        for _ in range(1 if seconds is not None else self.rules[place].most):
            self._note(self.ids[place], seconds is not None, seconds or 0.0, now, self.rules[place])

    def heard(self, standings: Mapping[str, ProxyHealth], now: int) -> None:
        """Updates the health records with the values from the store, which all workers share."""
        for key, standing in standings.items():
            name, _, domain = key.partition("\t")
            place = self._places.get(name)
            if place is None and not key.startswith("@"):
                continue
            if (mine := self.seen.get(key)) is not None:
                standing.felt(mine, now, self.rule(key))
            if domain:
                self._hard(domain)
            self.standings[key] = standing
            if place is not None and not domain:
                self.own[place] = standing

    def rule(self, key: str) -> BreakerRule:
        """Returns the breaker rule for a key."""
        name, _, domain = key.partition("\t")
        if key.startswith("@"):
            return PROVIDER
        gateway = self.rules[self._places[name]] is GATEWAY
        return GATEWAY if gateway else HOST if domain else PROXY

    def due(self, now: int, old: int) -> list[int]:
        """Returns the indexes of the proxies to check. These are the proxies that were never used, the
        proxies whose quarantine is over, and the proxies with no result in the last `old` milliseconds."""
        return [
            place
            for place, own in enumerate(self.own)
            if own is None or (own.until <= now if own.until else own.at <= now - old)
        ]

    def out(self, place: int, now: int) -> bool:
        """Returns whether a proxy or its provider is in quarantine."""
        own, theirs = self.own[place], self.standings.get(self.providers[place])
        return (own is not None and own.until > now) or (theirs is not None and theirs.until > now)

    def taken(self) -> dict[str, ProxyReport]:
        """Returns and clears the observations that this worker has not shared with the other workers yet."""
        seen, self.seen = self.seen, {}
        return seen

    def _note(self, key: str, good: bool, seconds: float, now: int, rule: BreakerRule) -> None:
        one = ProxyReport()
        one.add(good, seconds)
        self.seen.setdefault(key, ProxyReport()).add(good, seconds)
        standing = self.standings.get(key)
        if standing is None:
            standing = self.standings[key] = ProxyHealth()
            if (place := self._places.get(key)) is not None:
                self.own[place] = standing
        standing.felt(one, now, rule)

    def _hard(self, domain: str) -> None:
        """Gives each proxy a separate health record for this domain, because the domain blocks proxies. If
        there are more than MAX_DOMAINS domains, the oldest domain is dropped."""
        if domain not in self.domains:
            self.domains[domain] = None
            if len(self.domains) > MAX_DOMAINS:
                gone = next(iter(self.domains))
                del self.domains[gone]
                for key in [key for key in self.standings if key.endswith(f"\t{gone}")]:
                    del self.standings[key]
