"""Handles routes of single-page applications in fragments, such as `https://example.com/#/guide` or
`#!/guide`.

A URL in the crawler has a fragment only if the fragment is a route that the crawl visits as a separate page.
All other fragments are dropped when a link is resolved. A request over HTTP never contains the fragment. Only
a browser shows the page of the route."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from gossamer.url import HrefResolver, parse

MODES: Final = ("auto", "routes", "drop")
"""The possible settings for routes of single-page applications. With the setting `auto`, a crawl follows the
routes of a site only after a rendered page has shown that the site uses routes. With the setting `routes`, a
crawl always follows routes. With the setting `drop`, a crawl never follows routes."""
_WHOLE: Final = re.compile(r"!?/+[^/]")


def may_have_routes(hrefs: Iterable[str]) -> bool:
    """Whether any href may have a route. A call with 54 hrefs takes 1.5 us."""
    text = "\n".join(hrefs)
    return "#/" in text or "#!/" in text


def route_of(href: str) -> str:
    """Returns the route in an href's fragment, or '' if there is none. The result is also '' for the empty
    route `#/`, because that route is the document itself.

    >>> route_of("/docs#/guide?id=top"), route_of("#!/"), route_of("#top"), route_of("a#!/b ")
    ('/guide?id=top', '', '', '!/b')
    """
    fragment = href.partition("#")[2].strip()
    return fragment if _WHOLE.match(fragment) else ""


def without_anchor(route: str) -> str:
    """Returns a docsify route without the parameter `id`, which names a heading on the page.

    >>> without_anchor("/guide?id=install"), without_anchor("/guide?a=1&id=b")
    ('/guide', '/guide?a=1')
    """
    path, mark, query = route.partition("?")
    kept = [pair for pair in query.split("&") if pair.partition("=")[0] != "id"]
    return f"{path}?{'&'.join(kept)}" if mark and kept != [""] and kept else path


def same_route(one: str, other: str) -> bool:
    """Whether the fragments of two URLs are the same route, possibly written differently.

    >>> same_route("https://e.com/#/a%20b/", "https://e.com/#/a b"), same_route("#/a?id=1", "#/b")
    (True, False)
    """
    return unquote(without_anchor(route_of(one))).rstrip("/") == unquote(
        without_anchor(route_of(other))
    ).rstrip("/")


def with_route(document: str, href: str, docsify: bool = False) -> str:
    """Adds the route in `href` to the URL of a document, and returns the fetch form. Returns the document's
    URL if `href` has no route.

    >>> with_route("https://example.com/", "#/a b"), with_route("https://example.com/", "#top")
    ('https://example.com/#/a%20b', 'https://example.com/')
    """
    route = route_of(href)
    if docsify and route:
        route = route_of(f"#{without_anchor(route)}")
    if not route:
        return document
    return parse(f"{document}#{route}") or document


def seed_with_route(url: str) -> str:
    """Returns a serialized URL without its fragment, unless the fragment is a route."""
    document, mark, _ = url.partition("#")
    return with_route(document, url) if mark else url


class RouteResolver(HrefResolver):
    """Resolves the hrefs of a page, and keeps routes in fragments. `docsify`: whether the parameter `id` of a
    route is an anchor, which is removed."""

    __slots__ = ("_docsify",)

    def __init__(self, base: str, docsify: bool = False) -> None:
        super().__init__(base)
        self._docsify = docsify

    def resolve(self, href: str) -> str | None:
        """Returns the fetch form of an href with its route, or None if it is not a valid http(s) URL."""
        document = super().resolve(href)
        return document if document is None or "#" not in href else with_route(document, href, self._docsify)
