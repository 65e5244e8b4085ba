"""Decides which links with a route in the fragment (for example `#/guide`) are followed as links to separate
pages (`url.routes`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer import url as urls
from gossamer.model.page import Page
from gossamer.parsing.html import Document, attribute_of
from gossamer.url.routes import with_route

MIN_ROUTES = 2
"""The minimum number of different routes to which a page must link before gossamer assumes that the site uses
routes in fragments."""
MAX_TOLD_HOSTS = 1000
"""Maximum size of the set of hosts whose routes this process has already reported."""


class RouteFollower:
    """Decides which links to routes on a page are followed. The decision depends only on the page and the
    settings, so all workers make the same decision.

    `mode`: the value of the setting `fragments`. `tell(line)`: called with a message when the routes of a
    host are first followed.
    """

    def __init__(self, mode: str, tell: Callable[[str], None] = lambda _: None) -> None:
        self._mode, self._tell = mode, tell
        self._told: set[str] = set()

    def choose(
        self, page: Page, document: Document, hrefs: Sequence[str], routes: list[str], own: str
    ) -> tuple[str, list[str]]:
        """Returns a pair of values. The first value is the way in which the page's routes are resolved
        (`Base.routes`), or '' if the routes are not followed. The second value is a list with one href per
        distinct route. `routes`: the page's hrefs that are routes. `hrefs`: the page's other hrefs. `own`:
        the mode that the page's site sets, or ''."""
        mode = own or self._mode
        if mode == "drop":
            return "", []
        docsify = _is_docsify(document)
        different: dict[str, str] = {}
        for href in routes:
            target = document.base.resolve(href)
            if target is not None:
                different.setdefault(with_route(target, href, docsify), href)
        found = list(different.values())
        if mode == "auto" and "#" not in page.url and not _shows_routes(page, hrefs, found, docsify):
            return "", found
        if found:
            self._report(urls.host(page.url), "docsify" if docsify else "a router of fragments", mode)
        return "docsify" if docsify else "routes", found

    def _report(self, host: str, what: str, mode: str) -> None:
        if mode == "auto" and host not in self._told and len(self._told) < MAX_TOLD_HOSTS:
            self._told.add(host)
            self._tell(
                f"{host} shows pages at #/routes ({what}): each is a page of its own; "
                "--fragments drop leaves them out"
            )


def _shows_routes(page: Page, hrefs: Sequence[str], routes: Sequence[str], docsify: bool) -> bool:
    """Returns whether a page shows that its site uses routes. A browser must have rendered the page, and the
    page must link to routes. In addition, docsify must have built the page, or the page must have a router
    and link to enough routes. Enough routes means at least MIN_ROUTES routes, and at least as many routes as
    other links within the site."""
    if page.rung != "browser" or not routes:
        return False
    if docsify:
        return True
    own = [href for href in hrefs if href and _is_own(href, urls.origin(page.url))]
    return page.router and len(routes) >= max(MIN_ROUTES, len(own))


def _is_own(href: str, origin: str) -> bool:
    return href.startswith(f"{origin}/") or not href.lower().startswith(("http:", "https:", "//"))


def _is_docsify(document: Document) -> bool:
    """Returns whether a page is built by docsify."""
    scripts = document.tree.select("script")
    return any("docsify" in attribute_of(one, "src") or "$docsify" in one.text for one in scripts)
