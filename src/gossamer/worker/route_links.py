"""Decides which links to routes in fragments (`#/guide`) are followed as links to separate pages
(`url.routes`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer import url as urls
from gossamer.model.page import Page
from gossamer.parsing.html import Document, attribute_of
from gossamer.url.routes import with_route

MIN_ROUTES = 2
"""A page must link to at least this many different routes before its site is taken to use routes in
fragments."""
MAX_TOLD_HOSTS = 1000
"""Maximum number of hosts for which a process remembers that it reported their routes."""


class RouteFollower:
    """Decides which links to routes on a page are followed. The decision depends only on the page itself, so
    that all workers decide alike.

    `mode`: the setting `fragments`. `tell(line)`: reports that the routes of a host are followed.
    """

    def __init__(self, mode: str, tell: Callable[[str], None] = lambda _: None) -> None:
        self._mode, self._tell = mode, tell
        self._told: set[str] = set()

    def choose(
        self, page: Page, document: Document, hrefs: Sequence[str], routes: list[str], own: str
    ) -> tuple[str, list[str]]:
        """Returns two values. The first states how the routes of a page are resolved (`Base.routes`), and is
        '' if they are not followed. The second contains one href for each different route. `routes`: the
        page's hrefs that are routes. `hrefs`: its other hrefs. `own`: the mode that its site sets, or ''."""
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
    """Whether a page shows that its site uses routes: a browser rendered it, it has a router, and most links
    to its own host are routes."""
    if page.rung != "browser" or not routes:
        return False
    if docsify:
        return True
    own = [href for href in hrefs if href and _is_own(href, urls.origin(page.url))]
    return page.router and len(routes) >= max(MIN_ROUTES, len(own))


def _is_own(href: str, origin: str) -> bool:
    return href.startswith(f"{origin}/") or not href.lower().startswith(("http:", "https:", "//"))


def _is_docsify(document: Document) -> bool:
    """Whether docsify builds a page."""
    scripts = document.tree.select("script")
    return any("docsify" in attribute_of(one, "src") or "$docsify" in one.text for one in scripts)
