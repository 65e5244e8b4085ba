"""One answer as the detectors look at it: each view of it is made once, and only when a detector asks. All in
linear time."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from gossamer.blocks.signs import CODE

Headers = Mapping[str, str] | Iterable[tuple[str, str]]

HEAD, TAIL = 96 << 10, 16 << 10
"""Bytes of a body that are looked at, from its start and its end."""
START = 32 << 10
"""Bytes of a body that are looked at to see whether it is full of words."""
THIN, LINKS = 2000, 40
"""Characters of visible text, and links, up to which a page may be a notice; what has more is a page."""
REFUSING = frozenset(
    (401, 402, 403, 405, 406, 407, 412, 418, 420, 428, 429, 430, 451, 468, 498, 503, 521, 566, 567, 999)
)
"""Statuses that servers answer visitors with whom they do not want (and others, for other reasons)."""

_TITLE = re.compile(rb"<title[^<>]{0,200}>([^<]{0,400})")
_CHARSET = re.compile(rb"charset=[\"']?([\w-]{3,20})")
_HIDDEN = re.compile(rb"<(script|style|noscript|template|svg|title|!--)")
_FIELD = re.compile(
    rb"<input(?:[^<>]{0,400}?type=[\"']?(?:password|email|text|search|tel)|(?![^<>]{0,400}type=|[^<>]{0,400}hidden)[^<>]{0,400}>)"
    rb"|<textarea(?![^<>]{0,400}-response)|<select(?![^<>]{0,200}lang)[\s>]"
)
_PASSWORD = re.compile(rb"<input[^<>]{0,400}?type=[\"']?password")


class Block(msgspec.Struct, frozen=True):
    """What shuts us out: whose it is, what it wants, and what told it."""

    vendor: str
    """cloudflare datadome akamai perimeterx imperva aws-waf cloudfront distil kasada recaptcha hcaptcha
    turnstile anubis generic"""
    kind: str
    """challenge captcha denied rate-limit login empty decoy"""
    signs: tuple[str, ...] = ()
    """What decided: `status 403`, `header cf-mitigated: challenge`, `page: cf_chl_opt`, `text: ...`, `title:
    ...`, `url: ...`."""

    @property
    def bare(self) -> bool:
        """Whether the status alone decided: such a refusal may be the URL's own, a folder nobody may list."""
        return all(sign.startswith("status ") for sign in self.signs)

    def __str__(self) -> str:
        return f"{self.vendor} {self.kind}"

    def line(self) -> str:
        """Vendor, kind and signs in one line.

        >>> Block("generic", "denied", ("status 403",)).line()
        'generic denied (status 403)'
        """
        return f"{self} ({'; '.join(self.signs)})"


class Answer:
    """A response. Header names in lower case, values of one name joined by a line end. whole: all of its body
    is looked at."""

    def __init__(self, status: int, headers: Headers, body: bytes, url: str, whole: bool = False) -> None:
        self.status, self.body, self.url, self.whole = status, body, url, whole or len(body) <= HEAD + TAIL
        self.headers = flat(headers)
        self.refuses = status in REFUSING  # it may be a refusal

    @cached_property
    def low(self) -> bytes:
        """The body's start and end, ASCII letters in lower case."""
        body = self.body
        return (body if self.whole else body[:HEAD] + b"\n" + body[-TAIL:]).lower()

    @cached_property
    def title(self) -> str:
        """The title in lower case, in one line."""
        found = _TITLE.search(self.low)
        return _line(self.decode(found[1])) if found else ""

    @cached_property
    def text(self) -> str:
        """What a reader sees, title excepted, in lower case and one line."""
        first, *rest = visible(self.low).split(b"<")
        return _line(self.decode(b" ".join([first, *[piece.partition(b">")[2] for piece in rest]])))

    @cached_property
    def thin(self) -> bool:
        """Whether there is hardly any text."""
        return len(self.body) <= HEAD + TAIL and self.links <= LINKS and len(self.text) <= THIN

    @property
    def alone(self) -> bool:
        """Whether what we see is all there is: a refusal, or a page of hardly any text. Marks of vendors on
        others are part of a page."""
        return self.refuses or self.thin

    @cached_property
    def fields(self) -> bool:
        """Whether a person is asked to type something: a form, not a check."""
        return _FIELD.search(self.low) is not None

    @property
    def password(self) -> bool:
        """Whether it asks for a password."""
        return _PASSWORD.search(self.low) is not None

    @cached_property
    def links(self) -> int:
        """How many links it has, roughly."""
        return self.low.count(b"<a ")

    @cached_property
    def marked(self) -> bool:
        """Whether it may have any mark."""
        return self.refuses or CODE.search(self.low) is not None

    def marks(self, *marks: bytes) -> tuple[str, ...]:
        """Those of the marks (in lower case) that the page's code has, as signs. What a page with a good
        status shows to readers is its text: an article on blocks; unless that text is code, as JSON is."""
        return code(self, marks) if self.marked else ()

    def decode(self, raw: bytes) -> str:
        """Text of the page in its charset as declared, else UTF-8. Never fails."""
        declared = _CHARSET.search(self.headers.get("content-type", "").lower().encode()) or _CHARSET.search(
            self.low, 0, 2048
        )
        name = declared[1].decode("latin-1") if declared else "utf-8"
        try:
            return (
                codecs.lookup(name).decode(raw, "replace")[0]
                if name != "utf-8"
                else raw.decode("utf-8", "replace")
            )
        except (LookupError, UnicodeError, AssertionError, TypeError):
            return raw.decode("utf-8", "replace")


def code(page: Answer, marks: Iterable[bytes]) -> tuple[str, ...]:
    """As `Answer.marks`, of what other pages have too."""
    found = [mark.decode() for mark in marks if mark in page.low]
    return tuple(
        f"page: {mark}" for mark in found if page.refuses or mark not in page.text or page.text[0] in "{["
    )


def flat(headers: Headers) -> dict[str, str]:
    """Headers by name in lower case; several of one name joined by a line end.

    >>> flat([("Set-Cookie", "a=1"), ("set-cookie", "b=2")])
    {'set-cookie': 'a=1\\nb=2'}
    """
    found: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        name = name.lower()
        found[name] = f"{found[name]}\n{value}" if name in found else str(value)
    return found


def wordy(body: bytes, most: int = THIN) -> bool:
    """Whether a page's start surely shows more characters than that: cheap, for most pages are nothing but
    that.

    >>> wordy(b"<p>" + b"word " * 500), wordy(b"<script>" + b"word<word>" * 500 + b"</script>")
    (True, False)
    """
    seen = 0
    for piece in visible(body[:START].lower()).split(b"<"):
        if len(piece) > 8 and len(text := piece[piece.find(b">") + 1 :].strip()) > 8:
            seen += (len(text) if text.isascii() else len(text) // 4) - 8 * text.count(b"&")
            if seen > most:
                return True
    return False


def visible(low: bytes) -> bytes:
    """A page without what is never shown: scripts, styles, comments and their like."""
    parts, at = [], 0
    for found in _HIDDEN.finditer(low):
        if found.start() < at:
            continue
        parts.append(low[at : found.start()])
        close = b"-->" if found[1] == b"!--" else b"</" + found[1]
        end = low.find(close, found.end())
        if end < 0:
            return b" ".join(parts)
        at = end + (3 if found[1] == b"!--" else 0)
    parts.append(low[at:])
    return b" ".join(parts)


def _line(text: str) -> str:
    return " ".join(html.unescape(text).split()).lower()


def clip(value: str) -> str:
    """A value of the other side, short enough for a sign.

    >>> clip("a" * 99)[-3:]
    'aa…'
    """
    value = " ".join(value.split())
    return value if len(value) <= 60 else value[:59] + "…"
