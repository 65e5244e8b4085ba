"""Block detection: decides whether a response is a block. A block has a vendor, a kind and the signs by which
it was recognized (docs/blocks.md).

There is one small pure function per vendor (`vendors`), and some for block pages without a vendor
(`challenges`). The first function that recognizes a response determines the result. If a response has a good
status, enough text and no suspicious header, the check takes a few microseconds, regardless of the size. If
the response has no parse tree, the check takes some tens of microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gossamer.blocks.response import (
    HEAD_BYTES,
    MAX_THIN_CHARS,
    MAX_THIN_LINKS,
    REFUSING,
    TAIL_BYTES,
    Answer,
    Block,
    Headers,
    flatten_headers,
    has_many_words,
)
from gossamer.blocks.signs import CONSENT_URL, LOGIN_URL, URL
from gossamer.blocks.vendors import VENDORS
from gossamer.model.content_type import HTML, UNKNOWN, XHTML, essence
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.media_types import Body, to_bytes

__all__ = ["KINDS", "NAMES", "Block", "block", "needs_rendering"]

NAMES = (
    "cloudflare",
    "datadome",
    "akamai",
    "perimeterx",
    "imperva",
    "aws-waf",
    "cloudfront",
    "distil",
    "kasada",
    "recaptcha",
    "hcaptcha",
    "turnstile",
    "anubis",
    "generic",
)
KINDS = ("challenge", "captcha", "denied", "rate-limit", "login", "empty", "decoy")

_HEAD_BYTES, _TAIL_BYTES = 6 << 10, 1 << 10
"""The first _HEAD_BYTES bytes and the last _TAIL_BYTES bytes of a page are searched for words that are
typical of block pages. A page with a good status and a usual title is examined further only if the search
finds a word of block pages."""
MAX_NOTICE_CHARS = 400
"""Maximum number of visible characters of a block notice. A longer page is a block notice only if its title,
URL or code is typical of block notices. If the page contains the word `password`, the maximum number of
characters is twice as high."""
MAX_NOTICE_BYTES = 24 << 10
"""Maximum number of bytes of a block notice whose title is not typical of block notices."""
_TELLING = frozenset(("cf-mitigated", "x-amzn-waf-action", "x-vercel-mitigated", "sg-captcha"))
"""Headers that servers send only when they refuse a visitor."""
_PLACES = (
    "/sorry/",
    "captcha",
    "punish",
    "perfdrive",
    "authwall",
    "/blocked?",
    "anubis",
    "/login",
    "checkpoint",
    "queue-it.net",
    "//consent.",
    "//guce.",
)
"""Substrings that occur in the URLs of block pages."""
_MORE = (
    b"obot",
    b"uman",
    b"bots",
    b"locked",
    b"anned",
    b"enied",
    b"document.cookie",
    b"assword",
    b"unusual",
    b"location.re",
)
_TITLE = lazy_pattern(rb"<title[^<>]{0,200}>([^<]{0,100})", re.IGNORECASE)
_TYPOGRAPHY = lazy_pattern(rb"\xc2[\xa0-\xbb]|\xe2\x80[\x80-\xbf]")
"""Matches typographic spaces, quotation marks and dashes in UTF-8."""
_USUAL = lazy_pattern(rb"[^<>]{12,}")
_NOTICE = lazy_pattern(
    rb"denied|forbidden|block|robot|\bbot\b|human|verif|captcha|moment|attention|security|check|interrupt"
    rb"|request|sorry|wait|challenge|ddos|visitor system"
    rb"|sign.?in|log.?in|welcome to|default page|test page|iis windows|unusual|https?://|[\x80-\xff]"
)
"""Words in the titles of block notices, in lower case."""
_BRIEF = lazy_pattern(
    rb"access|availab|restrict|limit|queue|demand|detected|anfrage|zugriff|warte|solicitud|demasiad|disponib|acesso|accesso|coda|fila"
    rb"|wacht|toegang|zablok|engel|akses|browser|required|members|country"
)
"""Additional words in the titles of block notices, in lower case. The title of a page is searched for these
words only if the page has at most 4,096 bytes."""


def block(
    status: int | None,
    headers: Headers | None,
    body: Body,
    url: str | None,
    shows: Callable[[], int] | None = None,
    settled: bool = False,
) -> Block | None:
    """Returns a Block if the response is a block page, otherwise None. Never fails. `headers`: a mapping or
    pairs; names are case-insensitive. `shows`: a function that returns a lower bound for the number of
    letters that an HTML page shows. If `shows` is None, the length of the text is estimated from the bytes of
    the page. `settled`: whether a browser has run the page's scripts, and the page stays as it is
    (`Page.settled`).

    >>> block(403, {"Server": "AkamaiGHost"}, b"", "https://example.com/")
    Block(vendor='akamai', kind='denied', signs=('header server: akamaighost', 'status 403'))
    >>> block(200, {"content-type": "text/html"}, b"<title>Captchas, a history</title><p>Once upon a time", "https://example.com/")
    """
    status, body, url = status or 0, to_bytes(body), url or ""
    if 300 <= status < 400 or status in (204, 205):
        return None
    known = flatten_headers(headers or ())
    good = status not in REFUSING and _TELLING.isdisjoint(known)
    if good and not (_text(known, body) and _odd(status, known, body, url, shows)):
        return None
    page = Answer(status, known, body, url, settled=settled)
    for detector in VENDORS:
        if found := detector(page):
            return found
    from gossamer.blocks.challenges import (
        WALLS,
    )  # importing these patterns takes 25 ms, so they are imported only if no vendor was recognized

    for wall in WALLS:
        if found := wall(page):
            return found
    return None


def needs_rendering(status: int, headers: Headers, body: bytes, url: str) -> bool:
    """Returns whether a page is an empty shell that scripts fill, and not a block page. The result depends
    only on this page, and not on other pages of the site (`parsing.rendering_need`).

    >>> needs_rendering(200, {}, b'<div id="root"></div><script src="/app.js"></script>', "https://example.com/")
    True
    """
    known = flatten_headers(headers)
    if not 200 <= status < 300 or not _text(known, body) or b"<script" not in body.lower():
        return False
    from gossamer.parsing import html, page_cost, rendering_need

    if page_cost.cost_of(body).is_costly:
        return False
    document = html.parse(body, known.get("content-type"), url)
    return bool(rendering_need.looks_empty(document)) and block(status, known, body, url) is None


def _text(headers: dict[str, str], body: bytes) -> bool:
    """Returns whether the response is an HTML page."""
    kind = essence(headers.get("content-type"))
    return kind in (HTML, XHTML) or (
        kind in UNKNOWN and (not body or body.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"<")
    )


def _odd(status: int, known: dict[str, str], body: bytes, url: str, shows: Callable[[], int] | None) -> bool:
    """Returns whether the detectors must examine a page with a good status. A page with little text must be
    examined if its title is unusual, or if it contains a word that is typical of block pages. A very short
    page, a page with status 202 and a page with a suspicious URL are always examined."""
    if len(body) > HEAD_BYTES + TAIL_BYTES:
        return False
    if len(body) < 512 or status == 202 or any(word in url for word in _PLACES):
        return True
    found = _TITLE.search(body, 0, 8192)
    title = found[1] if found is not None else b""
    if not title.isascii():
        title = _TYPOGRAPHY.sub(b" ", title)
    usual = _USUAL.match(title) and not _NOTICE.search(title.lower())
    if usual and len(body) <= 4096 and _BRIEF.search(title.lower()):
        usual = None
    if (usual and len(body) > MAX_NOTICE_BYTES) or (shows is not None and shows() > MAX_THIN_CHARS):
        return False
    if usual:
        window = body if len(body) <= _HEAD_BYTES + _TAIL_BYTES else body[:_HEAD_BYTES] + body[-_TAIL_BYTES:]
        if not (_word(window) or (len(body) <= 4096 and any(word in window for word in _MORE))):
            return False
    if body.count(b"<a ") > MAX_THIN_LINKS or (shows is None and has_many_words(body)):
        return False
    return not _plain(Answer(status, known, body, url), shows) and (shows is None or not has_many_words(body))


def _word(page: bytes) -> bool:
    """Returns whether a page contains a word that is typical of challenges. If the page contains no brace,
    skips the search for words that occur only in scripts. A page without a brace cannot contain a script, and
    a search for one character is faster than a search for a word."""
    return (
        b"aptcha" in page
        or b"hallenge" in page
        or b"APTCHA" in page
        or b"_Incapsula_Resource" in page
        or b"bm-verify" in page
        or b"sec-if-cpt" in page
        or (b"{" in page and (b"gokuProps" in page or b"ProtectionInitialized" in page))
        or (b"K" in page and b"KPSDK" in page)
    )


def _plain(page: Answer, shows: Callable[[], int] | None) -> bool:
    """Returns whether a page is certainly not a block notice. Such a page has too much text, and nothing in
    its title, URL or code is typical of block notices."""
    from gossamer.blocks.notice_words import TITLES

    low, title, url = page.low, page.title, page.url.lower()
    said = MAX_NOTICE_CHARS if b"password" not in low else 2 * MAX_NOTICE_CHARS
    if len(low) < said or not (has_many_words(low, said) if shows is None else shows() > said):
        return False
    if _NOTICE.search(_TYPOGRAPHY.sub(b" ", title.encode("utf-8", "replace"))) or TITLES.fullmatch(title):
        return False
    if URL.search(url) or LOGIN_URL.search(url) or CONSENT_URL.match(url):
        return False
    return b"denied" not in low and not page.may_have_marks
