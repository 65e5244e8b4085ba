"""What a page says of a log-in: whether one is in, whether one is out again. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from gossamer import url as urls
from gossamer.blocks import Block
from gossamer.blocks.site_rules import MOST
from gossamer.model.login import FORM, Login, Sign, leads
from gossamer.model.page import Page
from gossamer.model.request import split
from gossamer.parsing.limits import TooComplex
from gossamer.parsing.view import View
from gossamer.url import patterns
from gossamer.worker.decide import REDIRECTS

Parse = Callable[..., str | None]


def lost(login: Login, page: Page, block: Block | None, parse: Parse = urls.parse) -> str:
    """What tells that who asked for a page is logged in no more, '' for nothing."""
    if block is not None and block.kind == "login":
        return block.line()
    target = _target(page, parse)
    view = View(page)
    for sign in (*login.lost, *_own(login)):
        if told := _told(sign, view, target):
            return told
    if login.shows and not login.lost and 200 <= page.status < 300 and _is_html(page):
        return (
            ""
            if any(_told(sign, view, None) for sign in login.shows)
            else f"the page has no {_shown(login.shows)}"
        )
    return ""


def refused(login: Login, page: Page) -> str:
    """Why the page at the end of a log-in says that one is not in, '' when one is."""
    view = View(page)
    if login.shows:
        return (
            ""
            if any(_told(sign, view, None) for sign in login.shows)
            else f"the page has no {_shown(login.shows)}"
        )
    if page.status >= 400:
        return f"HTTP {page.status}"
    for sign in login.lost:
        if told := _told(sign, view, None):
            return told
    if login.url is not None:
        form = _has(view, login.form or FORM)
        return "the form is there again" if form else ""
    return ""


def _own(login: Login) -> tuple[Sign, ...]:
    """What tells it of any site: 401, and a redirect to the form's page."""
    if login.lost or login.url is None:
        return () if login.lost else (401,)
    scheme, host, path = split(login.url)
    return 401, f"{scheme}://{host}{path.partition('?')[0]}"


def _told(sign: Sign, view: View, target: str | None) -> str:
    """What a page shows of a sign. `target`: where it redirects."""
    page = view.page
    if isinstance(sign, int):
        return f"HTTP {sign}" if page.status == sign else ""
    if isinstance(sign, re.Pattern):
        found = patterns.found(
            patterns.compile_(sign), page.body[:MOST].decode("utf-8", "replace"), on_timeout=False
        )
        return f"the text {sign.pattern!r}" if found and page.status not in REDIRECTS else ""
    if sign.startswith(("/", "http://", "https://")):
        return f"it redirects to {sign}" if target is not None and leads(target, sign) else ""
    return (
        f"the page has {sign!r}"
        if _is_html(page) and page.status not in REDIRECTS and _has(view, sign)
        else ""
    )


def _has(view: View, query: str) -> bool:
    """Whether a selector finds something; on a page that is too complex nothing."""
    try:
        return bool(view.css(query))
    except TooComplex:
        return False


def _target(page: Page, parse: Parse) -> str | None:
    location = page.header("location") if page.status in REDIRECTS else None
    found = parse(location, page.url) if location is not None else None
    return found if found is not None and found.startswith(("http://", "https://")) else None


def _is_html(page: Page) -> bool:
    kind = (page.content_type or "text/html").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml")


def _shown(signs: tuple[Sign, ...]) -> str:
    return " and no ".join(repr(one.pattern if isinstance(one, re.Pattern) else one) for one in signs)
