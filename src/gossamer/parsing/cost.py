"""Predicts whether a page may be costly to read, from its bytes. Such a page is read in a process that can be killed (`road.page_process`).

The HTML parser holds the interpreter and cannot be interrupted. Its tree is linear in the page, at most 48 bytes of memory for each
byte, with one exception: formatting elements that are left open (`<b class=c0><p><b class=c1><p>`) are opened again in every
paragraph, up to 512 of them, so that 100 KB cost 600 MB.
"""

from __future__ import annotations

import re
from typing import Final

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
"""Formatting elements that a page may leave open: with some 250 in as many blocks the parser (turbohtml 1.15.4) ends its process."""
WITHOUT_ATTRIBUTES: Final = 39
"""Formatting elements without attributes that can be open: there are 13, and of equal ones 3 are opened again. (Of `a` one can be open.)"""
_NAMES = (
    rb"[bB](?:[iI][gG])?|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[iI]|[nN][oO][bB][rR]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])?|[tT][tT]|[uU]"
)
_FORMATS: Final = re.compile(rb"<(?:" + _NAMES + rb")[\t\n\f\r /]")
_STARTS, _STOPS = (re.compile(mark + rb"(?:" + _NAMES + rb")[\t\n\f\r />]") for mark in (b"<", b"</"))
_ATTRIBUTE = rb"""[\t\n\f\r ]+[^\t\n\f\r "'<>/=]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\t\n\f\r "'<>=`]+))?"""
_CLEAR: Final = re.compile(rb"<(?:" + _NAMES + rb")(?>(?:" + _ATTRIBUTE + rb")+)[\t\n\f\r ]*+/?>")
"""Start tags whose text alone tells their attributes: equal texts are equal elements."""
_HTML_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml", "application/xml", "text/xml"})


def is_html(content_type: str | None) -> bool:
    """Whether a page of this Content-Type is parsed."""
    return content_type is None or content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def tags_of(body: bytes) -> int:
    """How many `<` a page has. (A fifth of the time of `count`, which looks at byte after byte.)"""
    return len(body) - len(body.replace(b"<", b""))


def is_costly(body: bytes, tags: int | None = None) -> bool:
    """Whether to read an HTML page may take more than 64 MiB, or hold the interpreter for more than 100 ms. `tags`: as of `tags_of`.

    >>> is_costly(b"<p>text <b class=x>word</b>" * 1000), is_costly(b"".join(b"<b id=%d><p>" % n for n in range(1000)))
    (False, True)
    """
    if len(body) > MAX_BYTES:
        return True
    tags = tags_of(body) if tags is None else tags
    if tags > 2 * MAX_OPEN and _leaves_open(body, tags):
        return True
    if tags < FEW_TAGS:
        return False
    return (tags > MAX_TAGS and len(body) > SMALL) or _clones(body, tags) > MAX_CLONES


def _leaves_open(body: bytes, tags: int) -> bool:
    """Whether a page may leave so many formatting elements open that the parser ends its process."""
    if tags - body.count(b"</") <= 2 * MAX_OPEN:
        return False
    return len(_STARTS.findall(body)) - len(_STOPS.findall(body)) > MAX_OPEN


def may_explode(body: bytes) -> bool:
    """Whether the tree of an HTML page may take far more memory than its bytes justify."""
    tags = tags_of(body)
    return tags >= FEW_TAGS and _clones(body, tags) > MAX_CLONES


def _clones(body: bytes, tags: int) -> int:
    """How many formatting elements the parser may open again, at most; not exact below MAX_CLONES.

    All that are open are opened again once an element that they lay in has ended: once for each start tag, at most.
    """
    wide = b"\0" in body  # UTF-16: letters with a zero before or behind
    if wide:
        body = body.replace(b"\0", b"")
    found = len(_FORMATS.findall(body))
    if (found + WITHOUT_ATTRIBUTES) * tags <= MAX_CLONES:
        return 0
    if not wide:
        clear = _CLEAR.findall(body)
        found -= len(clear) - min(3 * len(set(clear)), len(clear))
    return min(found + WITHOUT_ATTRIBUTES, 512) * (tags - body.count(b"</"))
