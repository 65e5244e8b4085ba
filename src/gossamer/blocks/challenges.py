"""Detects block pages that do not belong to a large vendor: stand-alone captchas, block notices of smaller
vendors and of sites, log-in walls, and empty and decoy pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from gossamer.blocks.notice_words import (
    ABOUT,
    CHECKS,
    DENIED,
    DIRECT,
    HINTS,
    LOGIN,
    LOGIN_TITLE,
    NAME_ENDS,
    ORDERS,
    PERSONAL,
    PLAIN,
    TITLES,
    TYPED,
    VERDICTS,
)
from gossamer.blocks.phrases import ALIKE, BARE, FAMILIES, TOLD, WEB, compose_kind
from gossamer.blocks.response import Answer, Block, clip, marks_in_code
from gossamer.blocks.signs import (
    AGAIN,
    ASKED,
    BOX,
    CONSENT_URL,
    COOKIE,
    DEFAULTS,
    INPUT,
    INVISIBLE,
    LIMITED,
    LOGIN_URL,
    NOTICES,
    PICTURE,
    SHOWN,
    SIGHTS,
    TO_CAPTCHA,
    URL,
    WIDGETS,
)


def captcha(page: Answer) -> Block | None:
    """Detects a captcha that is the whole page. Ignores a captcha that is only one part of a form, for
    example of a contact form."""
    if (
        not page.alone
        or page.status in (404, 410)
        or not page.may_have_marks
        or not any(word in page.low for word in SIGHTS)
    ):
        return None
    if page.fields or page.links > 25:
        return None
    for vendor, element, scripts in WIDGETS:
        found = element.search(page.low)
        loaded = page.marks(*scripts)
        if vendor == "recaptcha" and page.status < 400 and INVISIBLE.search(page.low):
            continue
        signs = ((f"page: {clip(found[0].decode('latin-1'))}",) if found else ()) + loaded
        if not signs:
            continue
        if page.status >= 400 and page.status != 401:
            return Block(vendor, "captcha", (*signs, f"status {page.status}"))
        if found and len(page.text) < 60:
            return Block(vendor, "captcha", signs)
        asked = next(filter(None, _said(page.text)), None) or TITLES.fullmatch(page.title)
        if asked:
            return Block(vendor, "captcha", (*signs, f"text: {clip(asked[0])}"))
    return None


def notice(page: Answer) -> Block | None:
    """Detects block pages of smaller vendors and of large sites."""
    if page.alone and (found := URL.search(page.url.lower())):
        return Block(
            "generic", "rate-limit" if "queue-it" in found[0] else "captcha", (f"url: {clip(found[0])}",)
        )
    if found := CONSENT_URL.match(page.url.lower()):
        return Block("generic", "challenge", (f"url: {found[0]}",))
    if mitigated := page.headers.get("x-vercel-mitigated"):
        return Block(
            "generic",
            "challenge" if "challenge" in mitigated else "denied",
            (f"header x-vercel-mitigated: {clip(mitigated)}",),
        )
    if "sg-captcha" in page.headers:
        return Block("generic", "captcha", ("header sg-captcha",))
    if not page.alone:
        return None
    for kind, marks in NOTICES:
        if (kind != "denied" or page.refuses) and (signs := page.marks(*marks)):
            return Block("generic", kind, signs)
    if page.title.startswith("vercel security checkpoint"):
        return Block("generic", "challenge", ("title: vercel security checkpoint",))
    if len(page.text) < 100 and TO_CAPTCHA.search(page.low):
        return Block("generic", "captcha", ("page: goes on to a captcha",))
    if _typed(page):
        return Block("generic", "captcha", ("page: asks for the characters of an image",))
    if _reloads(page):
        return Block("generic", "challenge", ("page: sets a cookie and loads itself again",))
    return None


def _reloads(page: Answer) -> bool:
    """Returns whether the page is only a script that sets a cookie and reloads the page. The empty shell of a
    normal page is different, because it has styles, root elements and more scripts. A page that shows text in
    a browser and no longer reloads itself is the page behind such a script, however short its text is."""
    if page.settled and page.text:
        return False
    low = page.low
    if (
        len(low) > 8192
        or len(page.text) > 60
        or b"<link" in low
        or b"<img" in low
        or low.count(b"<script") > 2
    ):
        return False
    return bool(COOKIE.search(low) and AGAIN.search(low)) and not page.fields and b"<div id=" not in low


def _typed(page: Answer) -> bool:
    """Returns whether the page only asks the visitor to type the characters of an image."""
    return (
        page.has_little_text
        and len(page.text) < 400
        and TYPED.search(page.text) is not None
        and PICTURE.search(page.low) is not None
        and len(INPUT.findall(page.low)) == 1
        and not page.password
    )


def login(page: Answer) -> Block | None:
    """Detects a log-in page that was returned in place of the requested page."""
    url = page.url.lower()
    if page.alone and (found := LOGIN_URL.search(url)):
        return Block("generic", "login", (f"url: {found[0]}",))
    if page.status == 401:
        return Block("generic", "login", ("status 401",))
    if not page.has_little_text or page.status not in (200, 203, 403) or ASKED.search(url):
        return None
    wanted = LOGIN.search(page.text) if len(page.text) < 800 else None
    if wanted and len(page.text) < (800 if page.password else 400) and not (page.title and _article(page)):
        return Block("generic", "login", (f"text: {clip(wanted[0])}",))
    if (
        page.password
        and len(page.text) < 600
        and _path(url) not in ("", "/")
        and LOGIN_TITLE.fullmatch(page.title)
    ):
        return Block("generic", "login", (f"title: {clip(page.title)}", "page: asks for a password"))
    return None


def block_by_words(page: Answer) -> Block | None:
    """Detects a block notice by its title and its sentences. Only a response with little text can be a block
    notice. If the status is typical of refusals (`REFUSING`), one typical sentence is enough. A page with
    another status must also be very short or have a typical title."""
    if page.status in (404, 410) or not page.has_little_text:
        return None
    title = TITLES.fullmatch(page.title) if page.title else None
    boxed = b"captcha" in page.low and BOX.search(page.low) is not None
    direct = DIRECT.search(page.text[:200])
    long = len(page.text) > 400 or (not boxed and len(page.title.split()) > 3)
    if long and not (page.refuses or title or direct):
        return None
    verdict, check = _said(page.text)
    if page.refuses and not verdict and not check:
        verdict = next(filter(None, (one.search(page.text) for _, one in FAMILIES)), None)
    signs = tuple(f"text: {clip(found[0])}" for found in (verdict, check or direct) if found)
    if title:
        signs = (f"title: {clip(page.title)}", *signs)
    if not signs and not page.title and PLAIN.fullmatch(page.text):
        return Block("generic", "denied", (f"text: {clip(page.text)}",)) if page.status < 400 else None
    if not signs:
        return None
    if not page.refuses and (title or direct) and (ABOUT.search(page.title) or _names(page)):
        return None
    kind = _kind(page, bool(check), bool(verdict))
    if page.refuses and page.status not in (401, 402):
        named = title and page.status in (403, 429) and not PLAIN.fullmatch(page.title)
        return _edge(page, kind, (*signs, f"status {page.status}")) if verdict or check or named else None
    if page.fields or page.links > 12 or page.status >= 400 or _article(page):
        return None
    short, brief = len(page.text) <= 400, len(page.title.split()) <= 3
    plain = title and short and PLAIN.fullmatch(page.title) and (not page.text or DENIED.search(page.text))
    personal = (
        verdict
        and short
        and brief
        and (not page.title or PERSONAL.match(verdict[0]))
        and (not BARE.match(verdict[0]) or WEB.search(page.text))
    )
    if (
        (title and (verdict or check))
        or plain
        or personal
        or (check and boxed and short)
        or (direct and short)
    ):
        return Block("generic", kind, signs)
    return None


def block_by_sentence(page: Answer) -> Block | None:
    """Detects a very short block page by a single sentence. The sentence must address the visitor and
    announce a check, a limit or a refusal. Returns None if the title has more than eight words, or if it is
    the title of an article about block pages."""
    if (
        page.refuses
        or page.status in (404, 410)
        or not page.has_little_text
        or len(page.text) > 400
        or page.links > 12
    ):
        return None
    if page.fields or _article(page) or ABOUT.search(page.title):
        return None
    words = len(page.title.split())
    if words > 8 or (words > 3 and (TOLD.search(page.title) or not ALIKE.search(page.title))):
        return None
    for kind, family in FAMILIES:
        found = family.search(page.text)
        if found and not TOLD.search(
            page.text[max(0, found.start() - 40) : found.start()].rpartition(". ")[2]
        ):
            return _by_text(page, kind, found[0])
    if made := compose_kind(page.text):
        return _by_text(page, *made)
    return None


def _by_text(page: Answer, kind: str, sign: str) -> Block:
    if "captcha" in page.text:
        kind = "captcha"
    elif LIMITED.search(page.title + " " + page.text):
        kind = "rate-limit"
    return Block("generic", kind, (f"text: {clip(sign)}",))


def _said(text: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """Returns two matches, each of which may be None: a sentence that refuses the visitor, and a sentence
    that asks the visitor to prove something."""
    if text.isascii() and not any(hint in text for hint in HINTS):
        return None, None
    return VERDICTS.search(text), CHECKS.search(text)


def _names(page: Answer) -> bool:
    """Returns whether a title that is typical of block notices is actually a name, for example of a film or a
    game. A title counts as a name if the page's text begins with the title and the rest of the text does not
    address the visitor."""
    name = NAME_ENDS.split(page.title)[0].strip()
    rest = page.text.removeprefix(name).lstrip(" .!?…")
    if (
        rest == page.text
        or any(one.isalpha() and not one.isascii() for one in rest)
        or len(rest) <= 30
        or any(_said(rest))
    ):
        return False
    return ORDERS.search(rest) is None


def _article(page: Answer) -> bool:
    return marks_in_code(page, (b"<article", b"<main", b"<nav", b"<time")) != ()


def _kind(page: Answer, check: bool, verdict: bool) -> str:
    if page.status == 429 or LIMITED.search(page.title + " " + page.text):
        return "rate-limit"
    if "captcha" in page.text or b"captcha" in page.low:
        return "captcha"
    return "challenge" if check and not verdict else "denied"


def _edge(page: Answer, kind: str, signs: tuple[str, ...]) -> Block:
    """Determines the vendor from the headers of the response, if the text of the block notice names no
    vendor."""
    server = page.headers.get("server", "").lower()
    if page.status in (403, 429, 503) and not re.search(rb"nginx|apache|iis|<code>accessdenied", page.low):
        for vendor, header, known in (
            ("cloudflare", "header server: cloudflare", server == "cloudflare"),
            ("akamai", "header server: akamaighost", server.startswith("akamai")),
            ("cloudfront", "header server: cloudfront", server == "cloudfront"),
        ):
            if known:
                return Block(vendor, kind, (*signs, header))
    return Block("generic", kind, signs)


def block_by_status(page: Answer) -> Block | None:
    """Detects a refusal only by the status of the response. A status of 503 or 404 alone is not a block."""
    status = page.status
    if status in (420, 429):
        return Block("generic", "rate-limit", (f"status {status}",))
    if status in (403, 407, 418, 430, 451, 999):
        kind = "login" if status == 403 and page.has_little_text and page.password else "denied"
        return Block("generic", kind, (f"status {status}",))
    return None


def block_by_emptiness(page: Answer) -> Block | None:
    """Detects an empty page. Also detects the default page of a web server, unless the URL is a site's front
    page."""
    if page.status not in (200, 202, 203):
        return None
    if len(page.low) < 4096 and not page.text and not SHOWN.search(page.low):
        return Block("generic", "empty", ("page: nothing on it",))
    if (
        page.has_little_text
        and _path(page.url) not in ("", "/")
        and DEFAULTS.fullmatch(page.title)
        and "index of" not in page.title
    ):
        return Block("generic", "decoy", (f"title: {clip(page.title)}",))
    return None


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:  # for example `http://[::1`
        return ""


WALLS: tuple[Callable[[Answer], Block | None], ...] = (
    captcha,
    notice,
    block_by_words,
    login,
    block_by_sentence,
    block_by_emptiness,
    block_by_status,
)
