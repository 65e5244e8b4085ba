"""Which page shows which operation. The address of a page is the address of its operation without `/v1`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.routing import compile_path

from gossamer.app.run_comparison import is_unlike
from gossamer.operations.context import Caller
from gossamer.operations.operation import Operation
from gossamer.operations.table import OPERATIONS

API = "/v1"
TEMPLATES = {
    "crawl_list": "crawls.html",
    "crawl_show": "crawl.html",
    "dead_list": "dead_letters.html",
    "skipped_list": "skipped.html",
    "worker_list": "workers.html",
    "crawl_hosts": "hosts.html",
    "crawl_compare": "comparison.html",
    "host_show": "host.html",
    **dict.fromkeys(("item_list", "page_list", "attempt_list"), "rows.html"),
    "page_show": "stored_page.html",
    "explain": "explained.html",
    "price_matches": "matches.html",
    **dict.fromkeys(("price_report", "rank_report", "keyword_report", "audit_report"), "report.html"),
}
"""Templates of operations whose result the general template does not show well."""
BESIDE = {"crawl_show": ("crawl_activity",), "dead_list": ("dead_groups",)}
"""Operations with the same fields in the path whose results a page shows too."""
CONFIRMED = frozenset(
    {
        *(
            "crawl_cancel",
            "crawl_stop",
            "crawl_priority",
            "dead_requeue",
            "dead_drop",
            "run_stop",
            "skipped_requeue",
        ),
        *("schedule_remove", "webhook_remove", "worker_drain", "worker_stop"),
    }
)
"""Operations that are asked about before they run."""
ANSWERS = {
    "scrape": "scraped.html",
    "site_map": "object.html",
    "webhook_add": "object.html",
    "webhook_resend": "object.html",
}
"""Templates that show what an operation answered. After the others, the page of what they changed is shown."""
UNDONE_BY = {"dead_requeue": "dead_undo", "dead_drop": "dead_undo"}
"""The operations that undo others. They are offered once, after the other one."""
UNSHOWN = frozenset({"version"})
UNLINKED = frozenset({"crawl_activity", "dead_groups", "page_show"})
"""Operations whose pages are part of other pages, or need the URL that a row has."""
FIRST = (
    "crawls",
    "explain",
    "find",
    "prices",
    "ranks",
    "keywords",
    "audits",
    "schedules",
    "alerts",
    "workers",
)
"""The sections whose links stand at the top of each page. The others are behind `More`."""
TITLES = {
    "find": "Search",
    "start": "Start",
    "site_map": "Map of a site",
    "schedule_add": "Add a schedule",
    "audit_run": "Audit a site",
    "webhook_add": "Add a webhook",
    "crawl_start": "Start a crawl",
    "crawl_add": "Add URLs",
    "crawl_priority": "Change priority",
    "crawl_weight": "Share of the fleet",
    "skipped_list": "Skipped URLs",
    "skipped_requeue": "Requeue some of them",
    "scrape": "Try a page",
    "crawl_hosts": "Queue and hosts",
    "page_show": "Page",
    "crawl_compare": "Compare",
    "price_report": "Prices",
    "rank_report": "Ranks",
    "keyword_report": "Keywords",
    "audit_report": "Audit",
    "price_matches": "Matches",
    "price_decide": "Decide",
}
KEYS = {
    "crawls": "c",
    "explain": "e",
    "find": "f",
    "prices": "p",
    "ranks": "r",
    "keywords": "k",
    "audits": "u",
    "schedules": "s",
    "alerts": "l",
    "workers": "w",
    "scrape": "t",
    "hosts": "h",
    "items": "i",
    "pages": "b",
    "attempts": "a",
    "dead-letters": "d",
    "comparison": "m",
}
"""The keys that lead to a page after `g`, by the last part of its address."""
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


class NavLink(NamedTuple):
    """A link to another page."""

    path: str
    text: str
    current: bool = False

    @property
    def key(self) -> str:
        """The key that leads to the page after `g`, or ''."""
        parts = self.path.strip("/").split("/")
        known = KEYS.get(parts[-1], "") if len(parts) in (1, 3) else ""
        return known or (KEYS.get(parts[0], "") if parts[-1] == "report" else "")


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
    >>> title_of(BY_NAME["dead_list"]), title_of(BY_NAME["crawl_show"]), title_of(BY_NAME["price_moves"])
    ('Dead letters', 'Crawl', 'Prices: moves')
    """
    if operation.name in TITLES:
        return TITLES[operation.name]
    section, *parts = [part for part in page_path(operation).split("/") if part]
    last = words(parts[-1].strip("{}") if parts else section)
    return f"{words(section)}: {last.lower()}" if parts and "{" not in operation.path else last


def words(name: str) -> str:
    """Returns a part of a path as words."""
    return name.replace("-", " ").capitalize()


class Pages:
    """The addresses of all pages."""

    def __init__(self, operations: Iterable[Operation] = OPERATIONS) -> None:
        self._routes: dict[str, tuple[re.Pattern[str], dict[str, Operation]]] = {}
        for one in operations:
            if one.name not in UNSHOWN:
                path = page_path(one)
                methods = self._routes.setdefault(path, (compile_path(path)[0], {}))[1]
                methods["GET" if one.method == "GET" else "POST"] = one

    def find(self, path: str) -> FoundPage | None:
        """Returns what is at an address, or None."""
        for shape, (pattern, methods) in self._routes.items():
            if found := pattern.match(path):
                return FoundPage(shape, methods, found.groupdict())
        return None

    def sections(self, caller: Caller, here: str) -> tuple[list[NavLink], list[NavLink]]:
        """Returns the links to the pages that need no name: the first ones, and the others."""
        found: dict[str, NavLink] = {}
        for shape, (_, methods) in self._routes.items():
            section = shape.split("/")[1]
            one = methods.get("GET") or methods["POST"]
            alone = one.method == "GET" or (shape.count("/") == 1 and caller.may(one.scope))
            if section in found or "{" in shape or not alone or (caller.prefix and one.reach == "store"):
                continue
            text = TITLES.get(one.name) or words(section)
            found[section] = NavLink(shape, text, here.split("/")[1] == section)
        first = [found.pop(section) for section in FIRST if section in found]
        return first, list(found.values())

    def below(self, found: FoundPage, here: str) -> list[NavLink]:
        """Returns the links to the pages of the same object, for example of a crawl, or of the same section."""
        parts = found.path.split("/")
        named = len(parts) > 2 and parts[2].startswith("{")
        top = "/".join(parts[: 3 if named else 2])
        links = []
        for shape, (_, methods) in self._routes.items():
            is_below = shape == top or shape.startswith(f"{top}/")
            shown = methods.get("GET")
            if shown is not None and shown.name in UNLINKED:
                continue
            if is_below and shape.count("{") == named and ("GET" in methods or not named):
                path = filled(shape, found.fields)
                last = (
                    "Overview"
                    if shown is not None and shown.name.endswith("_report") and not named
                    else (words(shape.rpartition("/")[2].strip("{}")))
                )
                links.append(NavLink(path, last if "GET" in methods else TITLES["start"], path == here))
        return links if len(links) > 1 else []

    def of_rows(self, found: FoundPage, caller: Caller) -> tuple[str, str, list[Operation]]:
        """Returns what the rows of a list lead to: the field that names their object, the path of its page with `{}`
        or '', and the operations on it that need no further fields."""
        name, page, operations = "", "", list[Operation]()
        for shape, (_, methods) in self._routes.items():
            rest = shape.removeprefix(f"{found.path}/")
            if rest == shape or not rest.startswith("{") or rest.count("{") != 1:
                continue
            name = rest[1:].partition("}")[0]
            if "GET" in methods and not page:
                page = filled(shape.replace(f"{{{name}}}", "{}"), found.fields)
            one = methods.get("POST")
            if one is not None and caller.may(one.scope) and len(one.input.__struct_fields__) == 1:
                operations.append(one)
        return name, page, operations

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
            if one.name in UNDONE_BY.values():
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
