"""The circuit breaker of a host. All crawls and workers of a store share the breaker. This module defines
when the breaker opens, when the breaker closes, and when gossamer gives up on a host.

| state | requests | a fault | a good response or a block | later |
| --- | --- | --- | --- | --- |
| closed | as usual | is counted, and the 10th in a row opens the breaker for 30 s | resets the count | |
| open | none | has no effect | closes the breaker | becomes half-open when the open period ends |
| half-open | one probe at a time | opens the breaker for twice as long | closes the breaker | |
| given up | none, all URLs fail | has no effect | closes the breaker | becomes half-open after 15 min |

If the breaker is open, a fault has no effect, because its request began before the breaker opened. If
gossamer gives up on a host, the URLs of the host fail with the reason for the fault. The breaker stays open
for at most 15 min at a time. Every period for which the breaker is open is extended at random by up to a
fifth. If the first wait of `--retries` is shorter than 30 s, the breaker first opens for the length of this
wait. Gossamer gives up on a host if three probes in a row failed, and the host has been failing for longer
than all waits of `--retries` together. Therefore every crawl ends. Only errors of the host are faults
(FAULTS). A 404, a 429 and a refusal by robots.txt are not faults. While the breaker is closed, each URL
counts only once, because a second fault of the same URL shows nothing new about the host. The few failing
URLs that remain at the end of a crawl must not open the breaker of a good host.

The frontier stores the state and makes the transitions (`frontier/lua/breaker.lua`). `Breaker` implements the
same transitions in Python, and tests compare the results. The frontier also stores the share of a host's
visits that fail or are blocked, as a moving average. Hosts whose visits often fail or are blocked are hard
hosts.
"""

from __future__ import annotations

import msgspec

from gossamer.model.verdict import HostHealth

FAULTS = ("connect", "dns", "timeout", "reset", "tls", "http-5xx", "collector")
"""Errors that count as faults of the host, and not of the URL."""
BLOCKING_STATUSES = (401, 403, 407, 429, 451)
"""HTTP statuses that are counted as blocks."""
MAX_FAILED_PROBES = 3
"""The number of failed probes after which gossamer may give up on a host."""
HARD_THOUSANDTHS, EASY_THOUSANDTHS = 500, 100
"""Thresholds for the share of failed visits, in thousandths. A host becomes a hard host when its share of
failed visits reaches HARD_THOUSANDTHS, and an easy host again when the share falls below EASY_THOUSANDTHS."""


class HostTrouble(msgspec.Struct, frozen=True):
    """Data about the failures of a host, as contained in a claim."""

    failing: float = 0.0
    """Seconds since the first fault of the current series."""
    share: float = 0.0
    """The share of the host's visits that failed, as a moving average."""
    hard: bool = False
    given_up: str = ""
    """The reason why the URL is no longer requested, or ''. If the wait for a retry was ended, the detail of
    the URL's last failure follows after a tab."""

    @classmethod
    def of(cls, text: str) -> HostTrouble:
        """Decodes the text form that a claim contains.

        >>> HostTrouble.of("90000,600,!,connect").failing
        90.0
        """
        if not text:
            return NONE
        failing, share, hard, why = text.split(",", 3)
        return cls(int(failing) / 1000, int(share) / 1000, hard == "!", why)


NONE = HostTrouble()


def health(reason: str | None, status: int | None, *, final: bool = False, again: bool = False) -> HostHealth:
    """Returns the health of a host, judged by one visit. `reason`: the visit's error, or None. `status`: the
    status of the visit's response, or None. `final`: whether the failure is permanent and concerns only the
    URL or the host name. `again`: whether the URL has failed before.

    >>> [health("http-4xx", 404).name, health("http-4xx", 403).name, health("connect", None).name]
    ['GOOD', 'BLOCKED', 'FAULT']
    >>> health("robots", None)
    <HostHealth.UNKNOWN: ''>
    """
    if reason in FAULTS and not (final and reason != "dns"):
        return HostHealth.REPEATED_FAULT if again else HostHealth.FAULT
    if reason in ("blocked", "rate-limited") or status in BLOCKING_STATUSES:
        return HostHealth.BLOCKED
    return HostHealth.GOOD if status is not None else HostHealth.UNKNOWN


def is_given_up(trouble: HostTrouble, retries: tuple[float, ...]) -> bool:
    """Returns whether the host has been failing for longer than all waits in `retries` together. After such a
    long failure, the breaker may give up on the host at the next fault.

    >>> is_given_up(HostTrouble(failing=100), (60.0, 300.0)), is_given_up(HostTrouble(failing=400), (60.0, 300.0))
    (False, True)
    """
    return trouble.failing > sum(retries)


class Breaker(msgspec.Struct):
    """A host's circuit breaker. Times are in milliseconds. `most`: the number of faults after which the
    breaker opens. `first`: the time for which the breaker stays open at first. `longest`: the longest time
    for which the breaker stays open."""

    most: int = 10
    first: int = 30_000
    longest: int = 900_000
    faults: int = 0
    openings: int = 0
    since: int = 0
    ends: int = 0
    share: int = 0
    hard: bool = False
    why: str = ""

    def state(self, now: int) -> str:
        """Returns the state: closed, open, half-open or given up."""
        if not self.ends:
            return "closed"
        if self.ends <= now:
            return "half-open"
        return "given up" if self.why else "open"

    def felt(self, now: int, said: str, why: str = "", jitter: float = 1.0) -> None:
        """Updates the breaker with the result of a visit."""
        if not said:
            return
        self.share = (
            int(self.share * 0.8) if said == HostHealth.GOOD else self.share + int((1000 - self.share) * 0.2)
        )
        self.hard = self.share >= HARD_THOUSANDTHS or (self.hard and self.share >= EASY_THOUSANDTHS)
        if said in (HostHealth.GOOD, HostHealth.BLOCKED):
            self.faults = self.openings = self.since = self.ends = 0
            self.why = ""
            return
        if said == HostHealth.REPEATED_FAULT:
            return
        self.faults += 1
        self.since = self.since or now
        state = self.state(now)
        if state in ("open", "given up") or (state == "closed" and self.faults < self.most):
            return
        self.why = why if self.openings >= MAX_FAILED_PROBES and said == HostHealth.LAST_FAULT else ""
        self.openings += 1
        wait = self.longest if self.why else min(self.first * 2 ** (self.openings - 1), self.longest)
        self.ends = int(now + wait * jitter)

    @classmethod
    def of(cls, text: str) -> Breaker:
        """Decodes the form that the frontier stores ('' for a host without failures)."""
        if not text:
            return cls()
        faults, openings, since, ends, share, hard, why = text.split(",", 6)
        return cls(
            faults=int(faults),
            openings=int(openings),
            since=int(since),
            ends=int(ends),
            share=int(share),
            hard=hard == "!",
            why=why,
        )
