"""Defines verdicts. A verdict is the decision on how a claim ends. A pure function makes the decision, and
the frontier records it."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import msgspec


class ClaimEnd(StrEnum):
    """The ways in which a claim can end. The value is the letter that `settle.lua` receives. `word`: the
    outcome that the attempts log records for the claim's last request."""

    word: str

    DONE = "d", "done"
    """The URL was visited, or was skipped after a request had been made."""
    RETRY = "r", "retry"
    """The visit failed. The URL is visited again after a wait."""
    DEAD = "x", "dead"
    """The visit failed and no retry is left. The request becomes a dead letter."""
    REFUSED = "k", "skipped"
    """The URL was refused before any request, for example because of robots.txt."""
    REQUEUED = "b", "later"
    """The URL was not tried. The URL returns to the front of its queue."""

    def __new__(cls, letter: str, word: str) -> ClaimEnd:
        end = str.__new__(cls, letter)
        end._value_, end.word = letter, word
        return end


REDIRECTED, AGAIN, CLIMBED, LOGIN = "redirected", "again", "climbed", "login"
"""Outcomes of requests in the attempts log in addition to those of `ClaimEnd`. `redirected`: the claim is
DONE, and the redirect target is a separate URL. A request with the outcome `again`, `climbed` or `login` does
not end the claim."""


class HostHealth(StrEnum):
    """The health of a host, judged by one visit. The value is the letter that `breaker.lua` receives after
    the letter of the `ClaimEnd` (`politeness.breaker`)."""

    UNKNOWN = ""
    GOOD = "g"
    BLOCKED = "b"
    FAULT = "f"
    REPEATED_FAULT = "e"
    """A fault during a visit of a URL that had failed before. A repeated fault does not increase the host's
    fault count."""
    LAST_FAULT = "d"
    """A fault after which the breaker may give up on the host."""


SKIPS = (
    "duplicate",
    "robots",
    "scope",
    "depth",
    "budget",
    "trap",
    "nofollow",
    "private",
    "content-type",
    "filter",
    "recent",
)
ERRORS = (
    "dns",
    "connect",
    "tls",
    "timeout",
    "reset",
    "collector",
    "http-4xx",
    "http-5xx",
    "rate-limited",
    "blocked",
    "too-large",
    "redirect-loop",
    "proxy",
    "login",
    "robots-unreachable",
    "given-up",
    "parse",
    "missing",
    "too-complex",
    "too-slow",
    "sink",
    "crash",
    "expired",
)


class Done(msgspec.Struct, frozen=True):
    """The visit fetched a page. `error`: a problem with the page that is recorded, for example http-4xx or
    parse, or None."""

    error: str | None = None
    end: ClassVar[ClaimEnd] = ClaimEnd.DONE


class Redirected(msgspec.Struct, frozen=True):
    """The response was a redirect. `target`: the new URL in fetch form (`model.request`). `again`: whether
    the response sets a cookie and redirects to the same URL."""

    target: str
    again: bool = False
    end: ClassVar[ClaimEnd] = ClaimEnd.DONE


class Retry(msgspec.Struct, frozen=True):
    """The visit is tried again later. If no retry is left, the request becomes a dead letter with this reason
    (a word of ERRORS)."""

    reason: str
    detail: str = ""
    after: float = 0.0
    """The wait in seconds that the server requested (Retry-After). The wait applies to all URLs of the
    host."""
    end: ClassVar[ClaimEnd] = ClaimEnd.RETRY


class Drop(msgspec.Struct, frozen=True):
    """The URL is never tried again. If the URL is not wanted, `skip` is a word of SKIPS. If the request
    becomes a dead letter, `error` is a word of ERRORS."""

    skip: str | None = None
    error: str | None = None
    detail: str = ""

    @property
    def end(self) -> ClaimEnd:
        """Returns DEAD for an error, REFUSED for a URL that is not wanted."""
        return ClaimEnd.DEAD if self.error else ClaimEnd.REFUSED


class Later(msgspec.Struct, frozen=True):
    """No request was made, so the claim does not count as a try. The URL is requeued and its host waits."""

    after: float
    end: ClassVar[ClaimEnd] = ClaimEnd.REQUEUED


Verdict = Done | Redirected | Retry | Drop | Later
