"""The rules of one agent in a robots.txt, and how a path is held against them (RFC 9309 sections 2.2.2 and
2.2.3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_UNESCAPED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!'()+,:;@[]")
"""Octets that mean the same plain and as %XX. `/ ? & = #` separate and `* $` are special: these stay as they
are."""
_ODD: Final = re.compile(r"[^a-zA-Z0-9\-._~!'()+,:;@\[\]/?&=#]")
_ODDS: Final = re.compile("%[0-9A-Fa-f]{2}|" + _ODD.pattern)
_USUAL: Final = re.compile(r"https?://[^/?#]*+(/[a-zA-Z0-9\-._~!'()+,:;@\[\]/?&=]*+)\Z")
"""A URL as nearly all are: nothing to cut or to encode."""
_AUTHORITY: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


class RobotsRule(NamedTuple):
    """One Allow or Disallow line, compiled."""

    rank: int
    """Twice the octets of the pattern after encoding, `*` and `$` included, and one for Allow: the larger
    wins."""
    allow: bool
    line: int
    """Number of the line, from 1."""
    prefix: str
    inner: tuple[str, ...]
    """What must follow the prefix in this order, with anything between."""
    last: str | None
    """What follows the last `*`; None for a pattern without one."""
    anchored: bool
    """The pattern ends in `$`."""


def compiled(allow: bool, line: int, pattern: str) -> RobotsRule:
    """The rule of a pattern as written; one that starts with neither `/` nor `*` is a path that lacks its
    `/`."""
    if pattern[0] not in "/*":
        pattern = "/" + pattern
    anchored = pattern.endswith("$")
    prefix, *parts = map(normal, (pattern[:-1] if anchored else pattern).split("*"))
    length = len(prefix) + sum(map(len, parts)) + len(parts) + anchored
    inner = tuple(filter(None, parts[:-1]))
    return RobotsRule(2 * length + allow, allow, line, prefix, inner, parts[-1] if parts else None, anchored)


class RobotsGroup:
    """One group of the file: the lines that several agents share. Noted while reading, compiled when first
    asked."""

    __slots__ = ("agents", "closed", "delays", "lines")

    def __init__(self) -> None:
        self.agents = 0
        """User-agent lines so far."""
        self.closed = False
        """A rule was read: the next User-agent line begins another block."""
        self.lines: list[tuple[bool, int, str]] = []
        """Allow or not, number from 1, pattern as written."""
        self.delays: list[tuple[int, float]] = []
        """Seconds, and for how many of the agents: a delay is no rule, so it may stand between two of them.
        """


class AgentRules:
    """All rules for one agent, arranged so that a check looks at few of them."""

    __slots__ = ("_exact", "_lengths", "_prefixes", "_wild", "delay")

    def __init__(self, blocks: list[tuple[RobotsGroup, int]]) -> None:
        """From the blocks that name the agent, and its place among the agents of each."""
        delays = (seconds for block, place in blocks for agents, seconds in block.delays if place < agents)
        self.delay = max(delays, default=None)
        """Seconds between two requests, or None."""
        self._exact: dict[str, RobotsRule] = {}
        self._prefixes: dict[str, RobotsRule] = {}
        wild = []
        for rule in (compiled(*line) for block, _ in blocks for line in block.lines):
            if rule.last is not None:
                wild.append(rule)
            else:
                table = self._exact if rule.anchored else self._prefixes
                if rule.prefix not in table or rule.rank > table[rule.prefix].rank:
                    table[rule.prefix] = rule
        self._lengths = tuple(sorted({len(prefix) for prefix in self._prefixes}, reverse=True))
        self._wild = tuple(sorted(wild, key=lambda rule: rule.rank, reverse=True))

    def find(self, path: str) -> RobotsRule | None:
        """The deciding rule for a path as `path_of` gives it: the longest match, Allow where two are as long."""
        found = self._longest(path)
        if "?" not in path:
            return found
        # In a query `/` and %2F are one octet (second example of section 2.2.2), in a path they are two.
        head, mark, tail = path.partition("?")
        for old, new in (("/", "%2F"), ("%2F", "/")):
            if old in tail:
                other = self._longest(head + mark + tail.replace(old, new))
                if found is None or (other is not None and other.rank > found.rank):
                    found = other
        return found

    def _longest(self, path: str) -> RobotsRule | None:
        best = self._exact.get(path) if self._exact else None
        if best is None:
            get = self._prefixes.get
            for length in self._lengths:
                best = get(path[:length])
                if best is not None:
                    break
        rank = -1 if best is None else best.rank
        for rule in self._wild:
            if rule.rank <= rank:
                break
            if path.startswith(rule.prefix) and _follows(path, rule):
                return rule
        return best


def _follows(path: str, rule: RobotsRule) -> bool:
    """Whether the parts come after the prefix. The earliest place of each is the best one: no going back,
    linear."""
    at, last = len(rule.prefix), rule.last or ""
    for part in rule.inner:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    if rule.anchored:
        return len(path) - len(last) >= at and path.endswith(last)
    return path.find(last, at) >= 0


def path_of(url: str) -> str:
    """Path and query of an absolute URL, or of what is no more than that, encoded as `normal` says."""
    if (usual := _USUAL.match(url)) is not None:
        return usual[1]
    if (start := _AUTHORITY.match(url)) is not None:
        url = url[start.end() :]
    if "#" in url:
        url = url[: url.index("#")]
    if url[:1] != "/":
        url = "/" + url
    return url if _ODD.search(url) is None else normal(url)


def normal(text: str) -> str:
    """Percent-encoding in one form, so that what RFC 9309 section 2.2.2 calls equal is equal.

    >>> normal("/%62az/%7ejoe"), normal("/Käse"), normal("/%c3%a4%2f")
    ('/baz/~joe', '/K%C3%A4se', '/%C3%A4%2F')
    """
    return _ODDS.sub(lambda found: _encoded(found[0]), text)


@lru_cache(maxsize=4096)
def _encoded(text: str) -> str:
    if len(text) == 3:
        octet = chr(int(text[1:], 16))
        return octet if octet in _UNESCAPED else text.upper()
    try:
        octets = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        octets = b"\xef\xbf\xbd"
    return "".join(map("%{:02X}".format, octets))
