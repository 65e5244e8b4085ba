"""A verdict: how a claim ends. One pure function decides it, and the frontier records it."""

from __future__ import annotations

import msgspec

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
    "parse",
    "too-complex",
    "sink",
    "crash",
    "expired",
)


class Done(msgspec.Struct, frozen=True):
    """The visit gave a page. `error` names a problem as data (http-4xx, parse), or is None."""

    error: str | None = None


class Redirected(msgspec.Struct, frozen=True):
    """The visit gave a redirect. `target`: its child in fetch form. `again`: a cookie bounce to the same
    URL."""

    target: str
    again: bool = False


class Retry(msgspec.Struct, frozen=True):
    """Try again later. If no retry is left, the request becomes a dead letter with this reason (a word of
    ERRORS)."""

    reason: str
    detail: str = ""
    after: float = 0.0
    """Seconds that the server asked for (Retry-After). They apply to the whole host."""


class Drop(msgspec.Struct, frozen=True):
    """Never try again. `skip`: a word of SKIPS, for a URL that is not wanted. Otherwise `error`, a word of
    ERRORS, for a dead letter."""

    skip: str | None = None
    error: str | None = None
    detail: str = ""


class Later(msgspec.Struct, frozen=True):
    """No request was made, and it does not count as a try. The URL is requeued and its host waits."""

    after: float


Verdict = Done | Redirected | Retry | Drop | Later
