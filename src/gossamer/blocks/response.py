"""The view of a response that the detectors use. Each property is computed once, when a detector needs it.
All computations take linear time."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from gossamer.blocks.signs import CODE
from gossamer.model.lazy_pattern import lazy_pattern

Headers = Mapping[str, str] | Iterable[tuple[str, str]]

HEAD_BYTES, TAIL_BYTES = 96 << 10, 16 << 10
"""The detectors search the first HEAD_BYTES bytes and the last TAIL_BYTES bytes of a body."""
SAMPLE_BYTES = 32 << 10
"""Number of bytes of a body that are searched to decide whether the body contains many words."""
MAX_THIN_CHARS, MAX_THIN_LINKS = 2000, 40
"""Maximum number of visible characters and maximum number of links of a block notice. A page with more
characters or links is an ordinary page."""
REFUSING = frozenset(
    (401, 402, 403, 405, 406, 407, 412, 418, 420, 428, 429, 430, 451, 468, 498, 503, 521, 566, 567, 999)
)
"""Statuses that servers send when they refuse a visitor. Servers also send some of these statuses for reasons
other than a refusal."""

_TITLE = lazy_pattern(rb"<title[^<>]{0,200}>([^<]{0,400})")
_CHARSET = lazy_pattern(rb"charset=[\"']?([\w-]{3,20})")
_HIDDEN = lazy_pattern(rb"<(script|style|noscript|template|svg|title|!--)")
_FIELD = lazy_pattern(
    rb"<input(?:[^<>]{0,400}?type=[\"']?(?:password|email|text|search|tel)|(?![^<>]{0,400}type=|[^<>]{0,400}hidden)[^<>]{0,400}>)"
    rb"|<textarea(?![^<>]{0,400}-response)|<select(?![^<>]{0,200}lang)[\s>]"
)
_PASSWORD = lazy_pattern(rb"<input[^<>]{0,400}?type=[\"']?password")


class Block(msgspec.Struct, frozen=True):
    """A block page: its vendor, its kind (what it demands), and the signs by which it was recognized."""

    vendor: str
    """One of cloudflare, datadome, akamai, perimeterx, imperva, aws-waf, cloudfront, distil, kasada,
    recaptcha, hcaptcha, turnstile, anubis, generic."""
    kind: str
    """One of challenge, captcha, denied, rate-limit, login, empty, decoy."""
    signs: tuple[str, ...] = ()
    """The signs by which the block was recognized, such as `status 403`, `header cf-mitigated: challenge`,
    `page: cf_chl_opt`, `text: ...`, `title: ...`, `url: ...`."""

    @property
    def bare(self) -> bool:
        """Whether the status is the only sign. A status alone may only mean that the URL itself is refused,
        for example because a folder has no listing."""
        return all(sign.startswith("status ") for sign in self.signs)

    def __str__(self) -> str:
        return f"{self.vendor} {self.kind}"

    def line(self) -> str:
        """Returns vendor, kind and signs in one line.

        >>> Block("generic", "denied", ("status 403",)).line()
        'generic denied (status 403)'
        """
        return f"{self} ({'; '.join(self.signs)})"


class Answer:
    """A response that detectors examine. Header names are in lower case. Several values of one name are
    joined by a newline. `whole`: whether to search the complete body. `settled`: as in `block`."""

    def __init__(
        self,
        status: int,
        headers: Headers,
        body: bytes,
        url: str,
        whole: bool = False,
        settled: bool = False,
    ) -> None:
        self.settled = settled
        self.status, self.body, self.url, self.whole = (
            status,
            body,
            url,
            whole or len(body) <= HEAD_BYTES + TAIL_BYTES,
        )
        self.headers = flatten_headers(headers)
        self.refuses = status in REFUSING  # the response may be a refusal

    @cached_property
    def low(self) -> bytes:
        """The body with all ASCII letters in lower case. If the body is long, this property contains only its
        start and its end."""
        body = self.body
        return (body if self.whole else body[:HEAD_BYTES] + b"\n" + body[-TAIL_BYTES:]).lower()

    @cached_property
    def title(self) -> str:
        """The page's title in lower case, on one line."""
        found = _TITLE.search(self.low)
        return _line(self.decode(found[1])) if found else ""

    @cached_property
    def text(self) -> str:
        """The visible text without the title, in lower case, on one line."""
        first, *rest = visible_part(self.low).split(b"<")
        return _line(self.decode(b" ".join([first, *[piece.partition(b">")[2] for piece in rest]])))

    @cached_property
    def has_little_text(self) -> bool:
        """Whether the page has little text and few links."""
        return (
            len(self.body) <= HEAD_BYTES + TAIL_BYTES
            and self.links <= MAX_THIN_LINKS
            and len(self.text) <= MAX_THIN_CHARS
        )

    @property
    def alone(self) -> bool:
        """Whether the response has little text or a status that is typical of refusals (`REFUSING`). On other
        pages, strings that are typical of a vendor do not prove that the page is a block page."""
        return self.refuses or self.has_little_text

    @cached_property
    def fields(self) -> bool:
        """Whether the page asks the visitor to type something. A page that asks for input is an ordinary
        form, and not a check of the visitor."""
        return _FIELD.search(self.low) is not None

    @property
    def password(self) -> bool:
        """Whether the page asks for a password."""
        return _PASSWORD.search(self.low) is not None

    @cached_property
    def links(self) -> int:
        """The approximate number of links."""
        return self.low.count(b"<a ")

    @cached_property
    def may_have_marks(self) -> bool:
        """Whether the code of the page may contain a string that is typical of block pages (see `marks`)."""
        return self.refuses or CODE.search(self.low) is not None

    def marks(self, *marks: bytes) -> tuple[str, ...]:
        """Returns the given marks that occur in the page's code. A mark is a lower-case string that is
        typical of the code of block pages. On a page with a good status, marks in the visible text are
        ignored, because the page may be an article about block pages. If the visible text is JSON, marks in
        the text are not ignored."""
        return marks_in_code(self, marks) if self.may_have_marks else ()

    def decode(self, raw: bytes) -> str:
        """Decodes text of the page in the declared charset, or as UTF-8 if none is declared. Never fails."""
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


def marks_in_code(page: Answer, marks: Iterable[bytes]) -> tuple[str, ...]:
    """Does the same as `Answer.marks`, without the check of `may_have_marks`."""
    found = [mark.decode() for mark in marks if mark in page.low]
    return tuple(
        f"page: {mark}" for mark in found if page.refuses or mark not in page.text or page.text[0] in "{["
    )


def flatten_headers(headers: Headers) -> dict[str, str]:
    """Returns headers by name in lower case. Several values of one name are joined by a newline.

    >>> flatten_headers([("Set-Cookie", "a=1"), ("set-cookie", "b=2")])
    {'set-cookie': 'a=1\\nb=2'}
    """
    found: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        name = name.lower()
        found[name] = f"{found[name]}\n{value}" if name in found else str(value)
    return found


def has_many_words(body: bytes, most: int = MAX_THIN_CHARS) -> bool:
    """Returns whether the start of a page certainly contains more than `most` visible characters. The check
    is fast, and the result is True for most pages.

    >>> has_many_words(b"<p>" + b"word " * 500), has_many_words(b"<script>" + b"word<word>" * 500 + b"</script>")
    (True, False)
    """
    seen = 0
    for piece in visible_part(body[:SAMPLE_BYTES].lower()).split(b"<"):
        if len(piece) > 8 and len(text := piece[piece.find(b">") + 1 :].strip()) > 8:
            seen += (len(text) if text.isascii() else len(text) // 4) - 8 * text.count(b"&")
            if seen > most:
                return True
    return False


def visible_part(low: bytes) -> bytes:
    """Returns a page without the parts that browsers never show, such as scripts, styles and comments."""
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
    if "&" in text:
        import html

        text = html.unescape(text)
    return " ".join(text.split()).lower()


def clip(value: str) -> str:
    """Shortens a value from the response, so that the value can be part of an entry in `Block.signs`.

    >>> clip("a" * 99)[-3:]
    'aa…'
    """
    value = " ".join(value.split())
    return value if len(value) <= 60 else value[:59] + "…"
