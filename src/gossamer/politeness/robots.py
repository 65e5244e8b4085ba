"""The rules of one agent in a robots.txt, and how a path is held against them (RFC 9309 sections 2.2.2 and
2.2.3).

robots.txt: what a host asks of robots (RFC 9309), read from bytes and asked by URL.

Beyond the RFC, as real parsers do: common misspellings (`Disalow`, `useragent`, `Disallowed`), a blank for a
missing colon, a path without its leading `/`, `Crawl-delay` and `Request-rate`. Where parsers differ RFC 9309
decides: records that are no rules never end a group (2.2.4), both sides of a comparison are percent-encoded
alike (2.2.2), `index.html` is a file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.model.media_types import Body, octets

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


LIMIT: Final = 500 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 section 2.5 asks for at least as much."""
LONGEST_DELAY: Final = 1e9
"""Seconds; a larger Crawl-delay counts as this one."""

_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _DELAY, _RATE = range(6)
_KEYS: Final = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), _AGENT),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), _DISALLOW),
    "allow": _ALLOW,
    **dict.fromkeys(("sitemap", "site-map", "sitemaps"), _SITEMAP),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), _DELAY),
    **dict.fromkeys(("request-rate", "requestrate", "request rate"), _RATE),
}
_BLANK: Final = re.compile(
    r"(user[- ]?agent|(?:dis)?allow|diss?all?ow|site-?maps?|crawl[- ]?delay|request[- ]?rate)\s+(\S+)", re.I
)
_LONGER: Final = re.compile(r"(user-?agent|disallow|allow|site-?map|crawl-?delay|request-?rate)[a-z-]+", re.I)
_SECONDS: Final = re.compile(r"(\d{1,15}(?:[.,]\d{0,15})?|[.,]\d{1,15})\s*(?:s|secs?|seconds?)?", re.I | re.A)
_PER: Final = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)", re.I | re.A)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PRODUCT: Final = re.compile(r"([^\s/();,:]{1,200})/v?\d")


class Robots:
    """A robots.txt, parsed. Takes any bytes, never raises; 500 KiB are read, the rest is ignored.

    An agent is a product token (`gossamer`), matched without case, or a whole User-Agent value, whose
    products are tried in order (`Mozilla` last). Groups of one agent are merged; an agent without a group of
    its own obeys `*`.

    >>> robots = Robots(b"User-agent: *\\nDisallow: /private\\nAllow: /private/open\\nCrawl-delay: 2")
    >>> robots.allows("gossamer", "https://example.com/private/x"), robots.delay("gossamer")
    (False, 2.0)
    >>> robots.rule("gossamer", "https://example.com/private/open")
    'line 3: Allow: /private/open'
    """

    __slots__ = ("_groups", "_named", "_text", "sitemaps")

    def __init__(self, body: Body) -> None:
        self._text = _text(octets(body))
        self._named: dict[str, list[tuple[RobotsGroup, int]]] = {}
        self._groups: dict[str, AgentRules | None] = {}
        self.sitemaps: list[str] = []
        """URLs of the Sitemap lines in order, each once, as written (a relative one is for the caller to
        resolve)."""
        self._read()

    def allows(self, agent: str, url: str) -> bool:
        """Whether the agent may fetch the URL (absolute, or a path with its query). /robots.txt is always
        allowed."""
        rule = self._decide(agent, url)
        return rule is None or rule.allow

    def rule(self, agent: str, url: str) -> str | None:
        """The deciding line as written with its number, `line 3: Disallow: /x`; None when no rule speaks of
        the URL."""
        rule = self._decide(agent, url)
        if rule is None:
            return None
        line = self._text.split("\n", rule.line)[rule.line - 1].strip()
        return f"line {rule.line}: {_printable(line)}"

    def delay(self, agent: str) -> float | None:
        """Seconds between two requests: the larger of Crawl-delay and 1/Request-rate in the agent's group, or
        None."""
        group = self._group(agent)
        return None if group is None else group.delay

    @staticmethod
    def trimmed(body: bytes, agents: Iterable[str]) -> bytes:
        """The same file with only the groups of these agents and `*`, and the sitemap lines; same answers.

        Lines that go leave an empty line behind, so that `rule` names the line of the original.
        """
        keep = {"*"}.union(*map(_tokens, agents))
        lines = _text(body).split("\n")
        kept = [""] * len(lines)
        ours = ruled = False
        for number, kind, value in _records(lines):
            if kind == _AGENT:
                known = _token(value) in keep
                ours, ruled = known or (ours and not ruled), False
                if not known:
                    continue
            elif kind in (_ALLOW, _DISALLOW):
                ruled = True
            if ours or kind == _SITEMAP:
                kept[number - 1] = lines[number - 1].strip()
        return "\n".join(kept).rstrip("\n").encode("utf-8", "surrogateescape")

    def _read(self) -> None:
        """One pass over the lines; a User-agent line after a rule begins a new block."""
        block = RobotsGroup()
        sitemaps: dict[str, None] = {}
        for number, kind, value in _records(self._text.split("\n")):
            if kind == _AGENT:
                if block.closed:
                    block = RobotsGroup()
                named = self._named.setdefault(_token(value), [])
                if not named or named[-1][0] is not block:
                    named.append((block, block.agents))
                block.agents += 1
            elif kind == _SITEMAP:
                sitemaps[_printable(value)] = None
            elif kind in (_ALLOW, _DISALLOW):
                block.closed = True
                if value and value != "$":  # the end of a path that is empty: none is
                    block.lines.append((kind == _ALLOW, number, value))
            elif (seconds := _delay(value) if kind == _DELAY else _interval(value)) is not None:
                block.delays.append((block.agents, seconds))
        self.sitemaps = list(filter(None, sitemaps))

    def _group(self, agent: str) -> AgentRules | None:
        try:
            return self._groups[agent]
        except KeyError:
            pass
        blocks = next(
            (self._named[token] for token in _tokens(agent) if token in self._named), self._named.get("*")
        )
        group = None if blocks is None else AgentRules(blocks)
        if len(self._groups) < 100:
            self._groups[agent] = group
        return group

    def _decide(self, agent: str, url: str) -> RobotsRule | None:
        group = self._group(agent)
        if group is None:
            return None
        path = path_of(url)
        return None if path == "/robots.txt" else group.find(path)


def _text(body: bytes) -> str:
    """The part that is read, its lines ending in LF: UTF-8 (octets that are none survive the way back), or
    UTF-16."""
    if len(body) > LIMIT:
        # Half a line would be a rule that nobody wrote.
        end = max(body.rfind(b"\n", 0, LIMIT), body.rfind(b"\r", 0, LIMIT))
        body = body[: end if end >= 0 else LIMIT]
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = body.decode("utf-16", "replace")
    else:
        # A byte order mark may be cut short, as Google's parser accepts it.
        mark = next((mark for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef") if body.startswith(mark)), b"")
        text = body[len(mark) :].decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _records(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The lines that say something to us: number from 1, kind, value."""
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        text = line.partition("#")[0]
        key, _, value = text.partition(":")
        kind = _KEYS.get(key.strip().lower())
        if kind is not None:
            yield number, kind, value.strip()
        elif found := _BLANK.fullmatch(text.strip()):
            kind, value = _KEYS[found[1].lower()], found[2]
            if kind not in (_ALLOW, _DISALLOW) or value[0] in "/*":
                yield number, kind, value
        elif found := _LONGER.fullmatch(key.strip()):
            yield number, _KEYS[found[1].lower()], value.strip()


def _token(value: str) -> str:
    """The product token of a User-agent line: up to the first blank, `/`, `,`, `;` or bracket, in lower case."""
    head = re.split(r"[\s/,;()]", value.lower(), maxsplit=1)[0]
    return head.replace("*", "") or head[:1]


def _tokens(agent: str) -> list[str]:
    """The names to look for, best first, of a product token or of a whole User-Agent value."""
    text = agent.strip().lower()
    if "/" not in text:
        return [text.replace("*", "") or "*"] if text else []
    products = _PRODUCT.findall(text[:2000]) or [text.partition("/")[0].strip()]
    return sorted(filter(None, dict.fromkeys(products)), key="mozilla".__eq__)


def _delay(value: str) -> float | None:
    """Seconds of a Crawl-delay: `2`, `0.5`, `10s`; None for what is no number (negative, inf and nan
    neither)."""
    found = _SECONDS.fullmatch(value)
    return min(float(found[1].replace(",", ".")), LONGEST_DELAY) if found else None


def _interval(value: str) -> float | None:
    """Seconds between requests of a Request-rate `1/10s 1820-1940`. Its hours are not looked at."""
    found = _PER.match(value)
    if not found or not int(found[1]):
        return None
    return min(int(found[2]) * _UNITS[found[3].lower()] / int(found[1]), LONGEST_DELAY)
