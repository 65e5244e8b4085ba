"""Parses robots.txt (RFC 9309) from bytes, and decides which URLs may be requested. Paths are matched
according to sections 2.2.2 and 2.2.3.

Like other parsers, this parser also accepts forms that the RFC does not define. The parser accepts common
misspellings (`Disalow`, `useragent`, `Disallowed`), a space instead of a colon, and a path without its
leading `/`. The parser also reads `Crawl-delay` and `Request-rate` lines. Where other parsers disagree, this
parser follows RFC 9309. Records that are not rules never end a group (2.2.4). Both sides of a comparison are
percent-encoded in the same way (2.2.2). `index.html` has no special meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.media_types import Body, to_bytes

_UNESCAPED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!'()+,:;@[]")
"""The octets that have the same meaning in literal form and in the form %XX. The characters `/ ? & = #` are
excluded because they separate the parts of a URL. The characters `* $` are excluded because they have a
special meaning in patterns. The excluded characters are never encoded or decoded."""
_ODD: Final = re.compile(r"[^a-zA-Z0-9\-._~!'()+,:;@\[\]/?&=#]")
_ODDS: Final = lazy_pattern("%[0-9A-Fa-f]{2}|" + _ODD.pattern)
_USUAL: Final = lazy_pattern(r"https?://[^/?#]*+(/[a-zA-Z0-9\-._~!'()+,:;@\[\]/?&=]*+)\Z")
"""Matches a URL that has a path, no fragment, and no character to encode or decode. Nearly all URLs match."""
_AUTHORITY: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


class RobotsRule(NamedTuple):
    """A compiled Allow or Disallow line."""

    rank: int
    """Twice the number of octets of the encoded pattern, including `*` and `$`, plus one for Allow. If two
    rules match a path, the rule with the larger rank applies."""
    allow: bool
    line: int
    """The number of the rule's line, from 1."""
    prefix: str
    inner: tuple[str, ...]
    """The parts of the pattern between two `*`. A path matches the rule only if the path contains these parts
    after the prefix, in the same order. Other text may be between the parts."""
    last: str | None
    """The part of the pattern after the last `*`, or None if the pattern has no `*`."""
    anchored: bool
    """Whether the pattern ends with `$`."""


def compile_rule(allow: bool, line: int, pattern: str) -> RobotsRule:
    """Compiles a pattern. If a pattern starts with neither `/` nor `*`, a `/` is added at its start."""
    if pattern[0] not in "/*":
        pattern = "/" + pattern
    anchored = pattern.endswith("$")
    prefix, *parts = map(normalize_path, (pattern[:-1] if anchored else pattern).split("*"))
    length = len(prefix) + sum(map(len, parts)) + len(parts) + anchored
    inner = tuple(filter(None, parts[:-1]))
    return RobotsRule(2 * length + allow, allow, line, prefix, inner, parts[-1] if parts else None, anchored)


class RobotsGroup:
    """A group of rules in the file. The rules apply to one or more agents. The rules are compiled when they
    are first used."""

    __slots__ = ("agents", "closed", "delays", "lines")

    def __init__(self) -> None:
        self.agents = 0
        """The number of User-agent lines so far."""
        self.closed = False
        """Whether a rule of the group has been read. A User-agent line after a rule begins another group."""
        self.lines: list[tuple[bool, int, str]] = []
        """The rules of the group. Each rule is a tuple, which contains True for Allow or False for Disallow,
        the line number from 1, and the pattern as written."""
        self.delays: list[tuple[int, float]] = []
        """The Crawl-delay lines of the group. Each line is stored as a pair, which contains the number of
        User-agent lines before the Crawl-delay line, and the delay in seconds. The number of User-agent lines
        matters because a Crawl-delay line may be between two User-agent lines, and then applies only to the
        agents before it."""


class AgentRules:
    """All rules for one agent, arranged so that a check has to read only a few of them."""

    __slots__ = ("_exact", "_lengths", "_prefixes", "_wild", "delay")

    def __init__(self, blocks: list[tuple[RobotsGroup, int]]) -> None:
        """`blocks`: the groups that name the agent. Each group is paired with the position of the agent in
        the group."""
        delays = (seconds for block, place in blocks for agents, seconds in block.delays if place < agents)
        self.delay = max(delays, default=None)
        """Seconds between two requests by the agent, or None."""
        self._exact: dict[str, RobotsRule] = {}
        self._prefixes: dict[str, RobotsRule] = {}
        wild = []
        for rule in (compile_rule(*line) for block, _ in blocks for line in block.lines):
            if rule.last is not None:
                wild.append(rule)
            else:
                table = self._exact if rule.anchored else self._prefixes
                if rule.prefix not in table or rule.rank > table[rule.prefix].rank:
                    table[rule.prefix] = rule
        self._lengths = tuple(sorted({len(prefix) for prefix in self._prefixes}, reverse=True))
        self._wild = tuple(sorted(wild, key=lambda rule: rule.rank, reverse=True))

    def find(self, path: str) -> RobotsRule | None:
        """Returns the rule that applies to a path (from `path_of`). The longest matching rule applies. If an
        Allow rule and a Disallow rule have equal length, the Allow rule applies."""
        found = self._longest(path)
        if "?" not in path:
            return found
        # In a query, `/` and %2F are the same octet (second example of section 2.2.2). In a path, `/` and
        # %2F are different octets.
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
    """Returns whether the path matches the part of the rule after the rule's prefix. The earliest match of
    each part is always the best one, so the search takes linear time without backtracking."""
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
    """Returns the path and query of an absolute URL or of a path. The result is encoded by
    `normalize_path`."""
    if (usual := _USUAL.match(url)) is not None:
        return usual[1]
    if (start := _AUTHORITY.match(url)) is not None:
        url = url[start.end() :]
    if "#" in url:
        url = url[: url.index("#")]
    if url[:1] != "/":
        url = "/" + url
    return url if _ODD.search(url) is None else normalize_path(url)


def normalize_path(text: str) -> str:
    """Normalizes percent-encoding, so that two paths become equal if they are equal according to RFC 9309,
    section 2.2.2.

    >>> normalize_path("/%62az/%7ejoe"), normalize_path("/Käse"), normalize_path("/%c3%a4%2f")
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


MAX_BYTES: Final = 500 * 1024
"""Number of bytes of a robots.txt that are read. RFC 9309 section 2.5 requires a parser to read at least 500
KiB."""
MAX_DELAY_S: Final = 1e9
"""The maximum Crawl-delay in seconds. A larger Crawl-delay in robots.txt is reduced to MAX_DELAY_S."""

_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _DELAY, _RATE = range(6)
_KEYS: Final = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), _AGENT),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), _DISALLOW),
    "allow": _ALLOW,
    **dict.fromkeys(("sitemap", "site-map", "sitemaps"), _SITEMAP),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), _DELAY),
    **dict.fromkeys(("request-rate", "requestrate", "request rate"), _RATE),
}
_BLANK: Final = lazy_pattern(
    r"(user[- ]?agent|(?:dis)?allow|diss?all?ow|site-?maps?|crawl[- ]?delay|request[- ]?rate)\s+(\S+)", re.I
)
_LONGER: Final = lazy_pattern(
    r"(user-?agent|disallow|allow|site-?map|crawl-?delay|request-?rate)[a-z-]+", re.I
)
_SECONDS: Final = lazy_pattern(
    r"(\d{1,15}(?:[.,]\d{0,15})?|[.,]\d{1,15})\s*(?:s|secs?|seconds?)?", re.I | re.A
)
_PER: Final = lazy_pattern(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)", re.I | re.A)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PRODUCT: Final = lazy_pattern(r"([^\s/();,:]{1,200})/v?\d")


class Robots:
    """A parsed robots.txt. Accepts any bytes and never raises an error.

    Only the first 500 KiB are read. An agent is either a product token (`gossamer`), which is compared
    case-insensitively, or a whole User-Agent value. The products of a User-Agent value are tried in order,
    with `Mozilla` last. Groups for the same agent are merged. An agent without its own group follows the
    group `*`.

    >>> robots = Robots(b"User-agent: *\\nDisallow: /private\\nAllow: /private/open\\nCrawl-delay: 2")
    >>> robots.allows("gossamer", "https://example.com/private/x"), robots.delay("gossamer")
    (False, 2.0)
    >>> robots.rule("gossamer", "https://example.com/private/open")
    'line 3: Allow: /private/open'
    """

    __slots__ = ("_groups", "_named", "_text", "sitemaps")

    def __init__(self, body: Body) -> None:
        self._text = _text(to_bytes(body))
        self._named: dict[str, list[tuple[RobotsGroup, int]]] = {}
        self._groups: dict[str, AgentRules | None] = {}
        self.sitemaps: list[str] = []
        """The URLs of the Sitemap lines, in order, as written, and without duplicates. The caller must
        resolve relative URLs."""
        self._read()

    def allows(self, agent: str, url: str) -> bool:
        """Returns whether the agent may fetch the URL. `url`: an absolute URL, or a path with its query.
        /robots.txt is always allowed."""
        rule = self._decide(agent, url)
        return rule is None or rule.allow

    def rule(self, agent: str, url: str) -> str | None:
        """Returns the number and the text of the line that applies to the URL, for example
        `line 3: Disallow: /x`. Returns None if no rule matches the URL."""
        found = self.deciding_line(agent, url)
        return None if found is None else f"line {found[0]}: {found[1]}"

    def deciding_line(self, agent: str, url: str) -> tuple[int, str] | None:
        """Returns the number and the text of the line that applies to the URL. Returns None if no rule
        matches the URL."""
        rule = self._decide(agent, url)
        if rule is None:
            return None
        return rule.line, _printable(self._text.split("\n", rule.line)[rule.line - 1].strip())

    def group_name(self, agent: str) -> str:
        """Returns the user agent of the group that applies to the agent.

        >>> Robots(b"User-agent: Gossamer\\nDisallow: /a\\nUser-agent: *\\nDisallow: /").group_name("gossamer")
        'gossamer'
        """
        return next((token for token in _tokens(agent) if token in self._named), "*")

    def delay(self, agent: str) -> float | None:
        """Returns the seconds between two requests that the agent's group requires, or None. The result is
        the larger of Crawl-delay and 1/Request-rate."""
        group = self._group(agent)
        return None if group is None else group.delay

    @staticmethod
    def for_agents(body: bytes, agents: Iterable[str]) -> bytes:
        """Returns a shorter file that gives the same results for these agents. The shorter file contains only
        the groups of these agents and of `*`, and the Sitemap lines. All other lines become empty lines, so
        that `rule` still returns the original line number."""
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
        """Reads all lines of the file into groups. A User-agent line after a rule begins a new group."""
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
                if value and value != "$":  # a pattern that is only `$` matches no path
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
    """Decodes the first MAX_BYTES as UTF-8 or UTF-16, and converts line ends to LF. Invalid octets in UTF-8
    survive a round trip."""
    if len(body) > MAX_BYTES:
        # An incomplete last line is dropped, because it could be read as a different rule.
        end = max(body.rfind(b"\n", 0, MAX_BYTES), body.rfind(b"\r", 0, MAX_BYTES))
        body = body[: end if end >= 0 else MAX_BYTES]
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = body.decode("utf-16", "replace")
    else:
        # A byte order mark may be truncated. Google's parser accepts this, too.
        mark = next((mark for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef") if body.startswith(mark)), b"")
        text = body[len(mark) :].decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _printable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _records(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the lines of known kinds as (line number from 1, kind, value)."""
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
    """Returns the product token of a User-agent line in lower case. The token ends before the first space,
    `/`, `,`, `;` or bracket."""
    head = re.split(r"[\s/,;()]", value.lower(), maxsplit=1)[0]
    return head.replace("*", "") or head[:1]


def _tokens(agent: str) -> list[str]:
    """Returns the names that are looked up to find an agent's group, the best name first. `agent` is a
    product token or a complete User-Agent value."""
    text = agent.strip().lower()
    if "/" not in text:
        return [text.replace("*", "") or "*"] if text else []
    products = _PRODUCT.findall(text[:2000]) or [text.partition("/")[0].strip()]
    return sorted(filter(None, dict.fromkeys(products)), key="mozilla".__eq__)


def _delay(value: str) -> float | None:
    """Parses the seconds of a Crawl-delay such as `2`, `0.5` or `10s`. Returns None for other values,
    including negative ones, inf and nan."""
    found = _SECONDS.fullmatch(value)
    return min(float(found[1].replace(",", ".")), MAX_DELAY_S) if found else None


def _interval(value: str) -> float | None:
    """Parses the seconds between requests of a Request-rate such as `1/10s 1820-1940`. The hours are
    ignored."""
    found = _PER.match(value)
    if not found or not int(found[1]):
        return None
    return min(int(found[2]) * _UNITS[found[3].lower()] / int(found[1]), MAX_DELAY_S)
