"""Determines the result of fetching a robots.txt (RFC 9309 section 2.3). There are three cases: the host has
rules, all URLs are allowed, or no URL may be requested."""

from __future__ import annotations

import zlib

import msgspec

from gossamer.model.page import Failure, Page
from gossamer.model.verdict import Drop
from gossamer.politeness.robots import Robots

MAX_AGE_S = 86_400.0
"""Seconds for which the rules of a robots.txt are valid."""
PARK_DELAY_S = 300.0
"""Maximum Crawl-delay in seconds. A host with a longer Crawl-delay is parked."""
MAX_BYTES = 500 * 1024
OPEN = 1
"""The version number of an `Access` that allows all URLs and has no rules."""
UNREACHABLE, NO_NAME, PRIVATE, TOO_SLOW = -1, -2, -3, -4
_CAUSES = {
    "connect": (-5, "the connection was refused or failed"),
    "timeout": (-6, "the host did not answer in time"),
    "reset": (-7, "the connection broke"),
    "tls": (-8, "no TLS connection was possible"),
    "http-5xx": (-9, "the host answered with an error or a request to slow down"),
}
"""Maps the reason why a robots.txt could not be read to its version number and to a text."""
_CAUSE_OF = {version: f", because {text}" for version, text in _CAUSES.values()}
UNREACHABLES = frozenset((UNREACHABLE, *_CAUSE_OF))
"""The version numbers of a robots.txt that could not be read."""
CLOSED = {
    version: Drop(
        error="robots-unreachable",
        detail=f"its robots.txt could not be read{_CAUSE_OF.get(version, '')}, so nothing may be fetched",
    )
    for version in UNREACHABLES
} | {
    NO_NAME: Drop(error="dns", detail="the host has no address"),
    PRIVATE: Drop(skip="private", detail="the host's address is private: allow it with --allow-private"),
    TOO_SLOW: Drop(skip="budget", detail="its robots.txt has a Crawl-delay of more than 300 s"),
}


class Access(msgspec.Struct, frozen=True):
    """The result of fetching a robots.txt. `version`: the version of the rules. The version is negative if no
    URL of the host may be requested (CLOSED). `holds`: seconds for which the result is valid. If there is no
    result yet, `holds` is 0, and robots.txt is requested again after `wait` seconds."""

    version: int = OPEN
    holds: float = MAX_AGE_S
    crawl_delay: float = 0.0
    rules: bytes = b""
    """The compressed rules in the form that the frontier stores. `rules` contains the rules for gossamer's
    agent and the rules for `*`."""
    sitemaps: tuple[str, ...] = ()
    wait: float = 0.0
    parsed: Robots | None = None
    """The rules in parsed form, or None."""


def access(result: Page | Failure, agent: str, wait: float | None, stale: int) -> Access:
    """Returns the result for the response to a robots.txt request, after its redirects. `wait`: seconds
    before the next try, or None if no retry is left. `stale`: the version of the earlier rules if these rules
    are still usable, otherwise 0."""
    if isinstance(result, Page):
        if 200 <= result.status < 300:
            return read(result.body, agent)
        if result.status < 500 and result.status != 429:
            return Access()
    elif result.reason in ("private", "filter"):
        return Access(PRIVATE)
    elif result.reason == "dns" and result.final:
        return Access(NO_NAME)
    elif result.reason == "content-type":
        return Access()
    if stale:
        return Access(stale, holds=3600.0)
    if wait is None:
        reason = "http-5xx" if isinstance(result, Page) else result.reason
        return Access(_CAUSES.get(reason, (UNREACHABLE, ""))[0])
    return Access(holds=0.0, wait=wait)


def read(body: bytes, agent: str) -> Access:
    """Reads the rules for gossamer's agent from the body of a robots.txt, and returns them."""
    body = body[:MAX_BYTES]
    trimmed = Robots.for_agents(body, [agent])
    robots = Robots(trimmed)
    delay = robots.delay(agent) or 0.0
    sitemaps = tuple(robots.sitemaps)
    if delay > PARK_DELAY_S:
        return Access(TOO_SLOW, sitemaps=sitemaps)
    kept = zlib.compress(trimmed)
    return Access(version_of(kept), MAX_AGE_S, delay, kept, sitemaps, parsed=robots)


def version_of(kept: bytes) -> int:
    """Computes a version number from the rules. Equal rules have equal version numbers."""
    return (zlib.crc32(kept) & 0x7FFFFFFF) | 2


def rules(kept: bytes) -> Robots:
    """Decodes the rules that the frontier stores."""
    return Robots(zlib.decompress(kept))
