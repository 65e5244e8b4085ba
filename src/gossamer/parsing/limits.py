"""What reading a page may cost, and the limits of the operating system that see to it.

Predicts whether a page may be costly to read, from its bytes. Such a page is read in a process that can be
killed (`road.page_process`).

The HTML parser holds the interpreter and cannot be interrupted. Its tree is linear in the page, at most 48
bytes of memory for each byte, with one exception: formatting elements that are left open (`<b class=c0><p><b
class=c1><p>`) are opened again in every paragraph, up to 512 of them, so that 100 KB cost 600 MB.
"""

from __future__ import annotations

import re
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

MEMORY = 64 << 20
"""Bytes that a page may take beside MEMORY_PER_BYTE for each of its own."""
MEMORY_PER_BYTE = 8
LONG_TEXT, LONG_TEXT_PER_BYTE = 2 << 20, 16
"""A text of so many bytes without any tag takes so much more: the parser doubles its room and keeps what it
left."""
SECONDS, SECONDS_PER_MB = 10.0, 1.0
"""CPU time that a page may take."""
MAX_UNPACKED = 50 << 20
"""Bytes of a sitemap, unpacked, at most (sitemaps.org)."""
WALL = 3.0
"""Times the CPU time, by the clock: a site function may sleep."""


def limit_seconds(body: bytes) -> float:
    """CPU seconds that a page may take."""
    return SECONDS + SECONDS_PER_MB * len(body) / 1e6


def decoded_size(body: bytes) -> int:
    """Bytes of a page, or of what a packed sitemap says that it unpacks to."""
    if body[:2] != b"\x1f\x8b":
        return len(body)
    return max(len(body), min(int.from_bytes(body[-4:], "little"), MAX_UNPACKED))


def limit_bytes(body: bytes) -> int:
    """Bytes by which a process may grow that reads a page."""
    longest = 0
    for at in range(LONG_TEXT // 2, len(body), LONG_TEXT // 2):
        end = body.find(b"<", at)
        longest = max(longest, (len(body) if end < 0 else end) - body.rfind(b"<", 0, at))
    return (
        MEMORY
        + MEMORY_PER_BYTE * decoded_size(body)
        + (LONG_TEXT_PER_BYTE * longest if longest > LONG_TEXT else 0)
    )


class TooComplex(ValueError):
    """To read a page takes more memory or time than it may."""


class Limits:
    """Memory and CPU time of this process while it reads one page: beyond them allocations fail, or a signal
    kills it."""

    def __init__(self) -> None:
        self._usual = resource.getrlimit(resource.RLIMIT_AS)
        self._linux = sys.platform == "linux"

    def begin(self, body: bytes, start: int) -> None:
        """Limit this process to `start` bytes of memory and what the page may take."""
        signal.setitimer(signal.ITIMER_PROF, limit_seconds(body))
        if self._linux:
            most = start + limit_bytes(body)
            hard = self._usual[1]
            resource.setrlimit(
                resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )

    def end(self) -> None:
        """Lift the limits."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if self._linux:
            resource.setrlimit(resource.RLIMIT_AS, self._usual)


def virtual_size() -> int:
    """Bytes of address space of this process; 0 where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


@contextmanager
def limited_memory(body: bytes) -> Iterator[None]:
    """Within it this process may grow by what a page may take. Raises TooComplex where it would have to grow
    more."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = virtual_size() + limit_bytes(body)
    try:
        resource.setrlimit(
            resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard)
        )
        yield
    except MemoryError:
        raise TooComplex(
            f"the page is too complex: it takes more than {limit_bytes(body) >> 20} MiB"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


MAX_BYTES: Final = 1_000_000
"""Bytes of a page that is read in the process that crawls."""
MAX_TAGS: Final = 10_000
"""Tags of such a page: its links are resolved, at 5 to 10 us each."""
SMALL: Final = 64_000
"""Bytes of a page that cannot have too many links."""
FEW_TAGS: Final = 1000
"""Tags below which no page is costly: 500 formatting elements, opened again 500 times, take 30 MB."""
MAX_CLONES: Final = 500_000
"""Elements that may be made by opening formatting elements again: 120 bytes and 0.2 us each."""
MAX_OPEN: Final = 100
"""Formatting elements that a page may leave open: with some 250 in as many blocks the parser (turbohtml
1.15.4) ends its process."""
WITHOUT_ATTRIBUTES: Final = 39
"""Formatting elements without attributes that can be open: there are 13, and of equal ones 3 are opened
again. (Of `a` one can be open.)"""
_NAMES = (
    rb"[bB](?:[iI][gG])?|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[iI]|[nN][oO][bB][rR]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])?|[tT][tT]|[uU]"
)
_FORMATS: Final = re.compile(rb"<(?:" + _NAMES + rb")[\t\n\f\r /]")
_FIRST = rb"(?=[bcefhinstuBCEFHINSTU])"  # halves the time
_ROOTS = rb"|[bB][oO][dD][yY]|[hH][tT][mM][lL]"
_STARTS: Final = re.compile(rb"<" + _FIRST + rb"(?:" + _NAMES + _ROOTS + rb")[\t\n\f\r />]")
_FORMATTING: Final = frozenset(
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_MARKERS: Final = frozenset(
    [
        "annotation-xml",
        "applet",
        "caption",
        "desc",
        "foreignobject",
        "html",
        "marquee",
        "math",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "object",
        "select",
        "svg",
        "table",
        "td",
        "template",
        "th",
        "title",
    ]
)
"""Elements beyond which an end tag closes no formatting element (HTML, 13.2.4.2 and 13.2.4.3; in `select` end
tags of formatting elements are ignored)."""
MAX_BLOCKS: Final = 7
"""Elements between a formatting element and its end tag: when there are more, the parser may open the element
again in the last of them (the adoption agency of the HTML standard repeats itself eight times)."""
_ATTRIBUTE = rb"""[\t\n\f\r ]+[^\t\n\f\r "'<>/=]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\t\n\f\r "'<>=`]+))?"""
_CLEAR: Final = re.compile(rb"<(?:" + _NAMES + rb")(?>(?:" + _ATTRIBUTE + rb")+)[\t\n\f\r ]*+/?>")
"""Start tags whose text alone tells their attributes: equal texts are equal elements."""
_CLOSED: Final = re.compile(
    rb"<(" + _NAMES + rb")(?>(?:" + _ATTRIBUTE + rb")*)[\t\n\f\r ]*+>[^<]*</\1[\t\n\f\r ]*+>"
)
"""A formatting element that holds text alone and is closed after it."""
_HTML_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml", "application/xml", "text/xml"})


def is_html(content_type: str | None) -> bool:
    """Whether a page of this Content-Type is parsed."""
    return content_type is None or content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def tags_of(body: bytes) -> int:
    """How many `<` a page has. (A fifth of the time of `count`, which looks at byte after byte.)"""
    return len(body) - len(body.replace(b"<", b""))


class Cost(NamedTuple):
    """What a page's bytes say of it. `roots`: how many start tags of html and body it has, at most; None: not
    counted."""

    is_costly: bool
    roots: int | None = None


def cost_of(body: bytes) -> Cost:
    """What it may cost to read an HTML page. Costly is what may take more than 64 MiB, or hold the
    interpreter for more than 100 ms.

    >>> cost_of(b"<p>text <b class=x>word</b>" * 1000).is_costly, cost_of(b"".join(b"<b id=%d><p>" % n for n in range(1000))).is_costly
    (False, True)
    """
    if len(body) > MAX_BYTES:
        return Cost(True)
    if (tags := tags_of(body)) <= 2 * MAX_OPEN:
        return Cost(False, tags)
    starts = len(_STARTS.findall(_narrow(body)))
    if starts > MAX_OPEN and _may_leave_open(body):
        return Cost(True, starts)  # the parser may end its process
    too_many = tags > MAX_TAGS and len(body) > SMALL
    return Cost(
        too_many
        or (
            tags >= FEW_TAGS
            and (starts + WITHOUT_ATTRIBUTES) * tags > MAX_CLONES
            and _clones(body, tags) > MAX_CLONES
        ),
        starts,
    )


def _may_leave_open(body: bytes) -> bool:
    """Whether more than MAX_OPEN formatting elements may be open at once.

    Start tags are counted wherever their text stands, scripts and comments included. An end tag counts only if
    the parser is certain to close an element for it.
    """
    import turbohtml

    if (
        b"\x1b" in body or b"\0" in body
    ):  # ISO-2022-JP or UTF-16, in which the bytes of an end tag may be text
        return True
    if len(_STARTS.findall(_CLOSED.sub(b"", body))) <= MAX_OPEN:
        return False
    start, end = turbohtml.TokenType.START_TAG, turbohtml.TokenType.END_TAG
    opened: list[tuple[str, int]] = []  # elements in their order, and how many others began before each
    markers = elements = in_text = 0
    for token in turbohtml.tokenize(body.decode("latin-1")):
        tag = token.tag or ""
        if token.type is start:
            if tag in _FORMATTING:
                opened.append((tag, elements))
                if len(opened) - markers + in_text > MAX_OPEN:
                    return True
            elif tag in _MARKERS:
                opened.append((tag, elements))
                markers += 1
            else:
                elements += 1
        elif token.type is end:
            for at in range(len(opened) - 1, -1, -1):
                name, before = opened[at]
                if name == tag:
                    if tag in _MARKERS:
                        markers -= 1
                        del opened[at]
                    elif elements - before <= MAX_BLOCKS:
                        del opened[at]
                    break
                if name in _MARKERS and tag not in _MARKERS:
                    break
        elif token.data and "<" in token.data:
            in_text += len(_STARTS.findall(token.data.encode("latin-1", "replace")))
    return len(opened) - markers + in_text > MAX_OPEN


def is_costly(body: bytes) -> bool:
    """Whether to read an HTML page may take more than 64 MiB, or hold the interpreter for more than 100 ms."""
    return cost_of(body).is_costly


def _narrow(body: bytes) -> bytes:
    """A page in UTF-16, whose letters have a zero before or behind, without its zeros; another as it is."""
    return body.replace(b"\0", b"") if b"\0" in body else body


def may_explode(body: bytes) -> bool:
    """Whether the tree of an HTML page may take far more memory than its bytes justify."""
    tags = tags_of(body)
    return tags >= FEW_TAGS and _clones(body, tags) > MAX_CLONES


def _clones(body: bytes, tags: int) -> int:
    """How many formatting elements the parser may open again, at most; not exact below MAX_CLONES.

    All that are open are opened again once an element that they lay in has ended: once for each start tag, at
    most.
    """
    narrow = _narrow(body)
    found = len(_FORMATS.findall(narrow))
    if (found + WITHOUT_ATTRIBUTES) * tags <= MAX_CLONES:
        return 0
    if narrow is body:
        clear = _CLEAR.findall(body)
        found -= len(clear) - min(3 * len(set(clear)), len(clear))
    return min(found + WITHOUT_ATTRIBUTES, 512) * (tags - narrow.count(b"</"))
