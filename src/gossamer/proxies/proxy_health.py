"""The health of a proxy: its recent results, and the circuit breaker that decides whether it may be used.
Each proxy and each provider has a health record. In addition, each proxy has a separate health record for
each domain that blocks proxies.

| breaker of | faults | faults until the breaker opens | shortest and longest time the breaker stays open |
| --- | --- | --- | --- |
| a proxy (quarantine) | no connection, refusal, dropped connection, failed check | 3 in a row | 1 min, 1 h |
| a gateway to many addresses | as for a proxy | 10 in a row | 1 min, 1 h |
| a provider | the faults of the provider's proxies | 10 in a row | 1 min, 10 min |
| a proxy for one registered domain (cooldown) | a block | 1, or 10 in a row for a gateway | 1 min, 1 h |

While a breaker is open, no requests use its proxy or provider. Afterwards, one request is made as a test. If
the test fails, the breaker opens again for twice as long, up to the longest time. If the test succeeds, the
breaker is reset completely. Counts decay by half in ten minutes. The script `frontier/lua/proxy_health.lua`
implements the same rules. Tests compare the script with this module.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

HALF_LIFE_S = 600.0
"""Seconds in which a count decays by half."""
MIN_LATENCY_S, UNKNOWN_LATENCY_S = 0.05, 0.5
"""Latencies in seconds. Latencies below MIN_LATENCY_S are raised to MIN_LATENCY_S. UNKNOWN_LATENCY_S is the
assumed latency of a proxy that was never used."""


class BreakerRule(NamedTuple):
    """Determines when a circuit breaker opens and how long the breaker stays open. `most`: after this many
    faults in a row, the breaker opens. `first`: the shortest time in ms for which the breaker stays open.
    `longest`: the longest time in ms for which the breaker stays open."""

    most: int
    first: int = 60_000
    longest: int = 3_600_000


PROXY, GATEWAY, PROVIDER, HOST = (
    BreakerRule(3),
    BreakerRule(10),
    BreakerRule(10, longest=600_000),
    BreakerRule(1),
)


class ProxyReport(msgspec.Struct):
    """The results that a worker observed since it last exchanged results with the other workers. `good`: the
    number of successes. `bad`: the number of faults. `seconds`: the total duration of the successes. `tail`:
    the number of faults since the last success."""

    good: int = 0
    bad: int = 0
    seconds: float = 0.0
    tail: int = 0

    def add(self, good: bool, seconds: float) -> None:
        """Adds an observation."""
        if good:
            self.good, self.seconds, self.tail = self.good + 1, self.seconds + seconds, 0
        else:
            self.bad, self.tail = self.bad + 1, self.tail + 1


class ProxyHealth(msgspec.Struct):
    """The health of a proxy, of a provider, or of a proxy for one registered domain. Times are in
    milliseconds of the store's clock. The latency is in seconds."""

    good: float = 0.0
    bad: float = 0.0
    latency: float = 0.0
    row: int = 0
    outs: int = 0
    until: int = 0
    at: int = 0

    def felt(self, seen: ProxyReport, now: int, rule: BreakerRule) -> None:
        """Adds the observations of a worker to the counts."""
        fade = 0.5 ** (max(0, now - self.at) / 1000 / HALF_LIFE_S) if self.at else 1.0
        self.good, self.bad, self.at = self.good * fade + seen.good, self.bad * fade + seen.bad, now
        if seen.good:
            self.latency += (seen.seconds / seen.good - self.latency) * seen.good / self.good
            self.row = self.outs = self.until = 0
        if seen.tail and self.until <= now:
            self.row += seen.tail
            if self.row >= rule.most:
                self.outs += 1
                self.until = now + min(rule.first * 2 ** min(self.outs - 1, 20), rule.longest)
                self.row = rule.most - 1

    def score(self, now: int) -> float:
        """Returns the score of the proxy. The pool prefers proxies with a high score. The score is the square
        of the success rate divided by the square root of the latency. As observations age, the success rate
        moves towards one half."""
        fade = 0.5 ** (max(0, now - self.at) / 1000 / HALF_LIFE_S) if self.at else 1.0
        success = (self.good * fade + 1) / ((self.good + self.bad) * fade + 2)
        return float(success * success / max(self.latency or UNKNOWN_LATENCY_S, MIN_LATENCY_S) ** 0.5)

    @property
    def text(self) -> str:
        """Encodes the health for the store."""
        return (
            f"{self.good:.3f},{self.bad:.3f},{self.latency:.4f},{self.row},{self.outs},{self.until},{self.at}"
        )

    @classmethod
    def of(cls, text: str) -> ProxyHealth:
        """Decodes the text that the store contains.

        >>> ProxyHealth.of("2.000,1.000,0.2500,1,0,0,5000").latency
        0.25
        """
        good, bad, latency, row, outs, until, at = text.split(",")
        return cls(float(good), float(bad), float(latency), int(row), int(outs), int(until), int(at))
