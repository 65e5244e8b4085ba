"""Which page shows which operation. The address of a page is the address of its operation without `/v1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.routing import Match, Route

from gossamer.app.run_comparison import is_unlike
from gossamer.operations.context import Caller
from gossamer.operations.table import OPERATIONS, Operation

API = "/v1"
TEMPLATES = {
    "crawl_list": "crawls.html",
    "crawl_show": "crawl.html",
    "dead_list": "dead_letters.html",
    "worker_list": "workers.html",
}
"""Templates of operations whose result the general template does not show well."""
CONFIRMED = frozenset(
    {"crawl_cancel", "crawl_stop", "dead_requeue", "dead_drop", "worker_drain", "worker_stop"}
)
"""Operations that are asked about before they run."""
UNSHOWN = frozenset({"version"})
TITLES = {
    "crawl_start": "Start a crawl",
    "crawl_add": "Add URLs",
    "crawl_priority": "Change priority",
    "crawl_weight": "Share of the fleet",
    "scrape": "Try a page",
}
RUNNING, PAUSED = frozenset({"running"}), frozenset({"paused"})
OPEN = RUNNING | PAUSED | {"stopping", "ending"}
STATES = {
    "crawl_pause": RUNNING,
    "crawl_resume": PAUSED,
    "crawl_finish": RUNNING | PAUSED,
    "crawl_stop": OPEN,
    "crawl_cancel": OPEN | {"stopped"},
    "crawl_weight": OPEN,
    "crawl_priority": OPEN,
}
"""The states of a crawl in which an operation has an effect. All other operations always have one."""


class PageLink(NamedTuple):
    """A link to another page."""

    path: str
    text: str
    current: bool = False


class FoundPage(NamedTuple):
    """What is at an address. `fields`: the fields in the path."""

    path: str
    operations: dict[str, Operation]
    fields: dict[str, str]

    @property
    def shown(self) -> Operation | None:
        """The operation that the page shows."""
        return self.operations.get("GET")


def page_path(operation: Operation) -> str:
    """Returns the path of an operation's page.

    >>> from gossamer.operations.table import BY_NAME
    >>> page_path(BY_NAME["crawl_show"])
    '/crawls/{crawl}'
    """
    return operation.path.removeprefix(API)


def title_of(operation: Operation) -> str:
    """Returns the title of an operation's page.

    >>> from gossamer.operations.table import BY_NAME
    >>> title_of(BY_NAME["dead_list"]), title_of(BY_NAME["crawl_show"])
    ('Dead letters', 'Crawl')
    """
    if operation.name in TITLES:
        return TITLES[operation.name]
    last = page_path(operation).rpartition("/")[2]
    if last.startswith("{"):
        last = last[1:-1]
    return last.replace("-", " ").capitalize()


class Pages:
    """The addresses of all pages."""

    def __init__(self, operations: Iterable[Operation] = OPERATIONS) -> None:
        self._routes: dict[str, tuple[Route, dict[str, Operation]]] = {}
        for one in operations:
            if one.name not in UNSHOWN:
                path = page_path(one)
                methods = self._routes.setdefault(path, (Route(path, _no_endpoint), {}))[1]
                methods["GET" if one.method == "GET" else "POST"] = one

    def find(self, path: str) -> FoundPage | None:
        """Returns what is at an address, or None."""
        scope = {"type": "http", "path": path, "root_path": "", "method": "GET"}
        for shape, (route, methods) in self._routes.items():
            match, found = route.matches(scope)
            if match == Match.FULL:
                return FoundPage(shape, methods, found["path_params"])
        return None

    def sections(self, caller: Caller, here: str) -> list[PageLink]:
        """Returns the links to the pages that need no name."""
        found = [(shape, methods["GET"]) for shape, (_, methods) in self._routes.items() if "GET" in methods]
        return [
            PageLink(shape, title_of(one), here == shape or here.startswith(f"{shape}/"))
            for shape, one in found
            if "{" not in shape and not (caller.prefix and one.reach == "store")
        ] + [PageLink("/scrape", "Try a page", here == "/scrape")] * caller.may("run")

    def below(self, found: FoundPage, here: str) -> list[PageLink]:
        """Returns the links to the pages of the same object, for example of a crawl, or []."""
        top = "/".join(found.path.split("/")[:3])
        if "{" not in top:
            return []
        shown = [
            (shape, methods["GET"])
            for shape, (_, methods) in self._routes.items()
            if "GET" in methods and (shape == top or shape.startswith(f"{top}/")) and shape.count("{") == 1
        ]
        links = [(filled(shape, found.fields), one) for shape, one in shown]
        return [PageLink(path, title_of(one), path == here) for path, one in links] if len(links) > 1 else []

    def actions(self, found: FoundPage, caller: Caller, result: Any) -> list[Operation]:
        """Returns the operations that change what the page shows, and that the caller may run now. `result`: what
        the page shows."""
        if found.shown is None:
            return []
        near = []
        for shape, (_, methods) in self._routes.items():
            one = methods.get("POST")
            if one is None or not caller.may(one.scope) or (caller.prefix and one.reach == "store"):
                continue
            if found.shown.name == "crawl_show" and result and not _has_effect(one.name, result):
                continue
            rest = shape.removeprefix(found.path)
            if shape == found.path or (shape != rest and rest.count("/") == 1 and "{" not in rest):
                near.append(one)
        return near


def _has_effect(name: str, crawl: dict[str, Any]) -> bool:
    """Returns whether an operation has an effect on a crawl."""
    if name == "crawl_accept":
        return is_unlike(crawl["reason"])
    return crawl["state"] in STATES.get(name, {crawl["state"]})


def filled(shape: str, fields: dict[str, str]) -> str:
    """Returns a path with its fields filled in.

    >>> filled("/crawls/{crawl}/items", {"crawl": "books"})
    '/crawls/books/items'
    """
    for name, value in fields.items():
        shape = shape.replace(f"{{{name}}}", quote(value, safe=":"))
    return shape


async def _no_endpoint(_: object) -> None:
    """Stands in a Route of which only the pattern is used."""
