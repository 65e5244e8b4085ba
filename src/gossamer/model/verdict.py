"""A verdict: what becomes of a claim. Decided by one pure function, written down by the frontier."""

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
    """The visit gave a page; `error` names what is wrong with it as data (http-4xx, parse), or None."""

    error: str | None = None


class Redirected(msgspec.Struct, frozen=True):
    """The visit gave a redirect; `target` is its child in fetch form, `again` a cookie bounce to the same
    URL."""

    target: str
    again: bool = False


class Retry(msgspec.Struct, frozen=True):
    """Try again later; when no retry is left the request is dead with this reason (a word of ERRORS)."""

    reason: str
    detail: str = ""
    after: float = 0.0
    """Seconds the server asked for (Retry-After): it moves the whole host."""


class Drop(msgspec.Struct, frozen=True):
    """Never again. `skip`: a word of SKIPS, nothing was wanted; else `error`, a word of ERRORS: a dead
    letter."""

    skip: str | None = None
    error: str | None = None
    detail: str = ""


class Later(msgspec.Struct, frozen=True):
    """Nothing was asked, and it counts as no try: it goes back to its queue, its host waits."""

    after: float


Verdict = Done | Redirected | Retry | Drop | Later
