"""robots.txt: what a host asks of robots (RFC 9309), read from bytes and asked by URL.

Beyond the RFC, as real parsers do: common misspellings (`Disalow`, `useragent`, `Disallowed`), a blank for a
missing colon, a path without its leading `/`, `Crawl-delay` and `Request-rate`. Where parsers differ RFC 9309
decides: records that are no rules never end a group (2.2.4), both sides of a comparison are percent-encoded
alike (2.2.2), `index.html` is a file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from gossamer.model.media_types import Body, octets
from gossamer.politeness.robots_rules import AgentRules, RobotsGroup, RobotsRule, path_of

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
