"""A web crawler that is polite, fast and never loses a URL.

    import gossamer

    page = gossamer.fetch("https://example.com")            # one page; `await fetch_async(...)` in coroutines
    print(page.title, page.css("h1::text").get())

    for page in gossamer.crawl("https://example.com", limit=100):      # or `async for`
        print(page.url, page.status, page.price(".price"))

    gossamer.run("shop.py", output="items.parquet")          # as the command; `await run_async(...)`

    gossamer.add("shop", ["https://shop.example/new"], priority=9)     # URLs for an existing crawl

    site = gossamer.Site("books", seeds=["https://books.toscrape.com/"])    # then @site.page(...)
    frame = gossamer.crawl(site, limit=100).to_pandas()

    client = gossamer.Client("http://127.0.0.1:8321")        # crawls of `gossamer serve`

Exceptions are in `gossamer.errors`. The documentation of the Python API is docs/python.md. Each name is imported
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gossamer import blocks, errors, identity, items, parsing, politeness, url  # noqa: F401 - names for type checkers
    from gossamer.api import (
        add,
        add_async,
        crawl,
        fetch,
        fetch_async,
        run,
        run_async,
        submit,
        submit_async,
    )
    from gossamer.app.url_adding import Added
    from gossamer.client.adding import AddUrlOptions
    from gossamer.client.async_service_client import AsyncClient
    from gossamer.client.iteration import Crawl
    from gossamer.client.options import CrawlOptions, PageOptions
    from gossamer.client.records import CrawledPage as Page
    from gossamer.client.records import Found
    from gossamer.client.service_client import Client
    from gossamer.client.tables import RunResult
    from gossamer.errors import GossamerError
    from gossamer.items.assets import File, Image, Ref
    from gossamer.items.steps import Stop
    from gossamer.model.item import Digits, Fresh, Item
    from gossamer.model.login import Login
    from gossamer.model.request import Request
    from gossamer.model.site import Site
    from gossamer.model.summary import Summary
    from gossamer.parsing.page_view import PageView

_HOMES = {
    "File": "gossamer.items.assets",
    "Image": "gossamer.items.assets",
    "Ref": "gossamer.items.assets",
    "Digits": "gossamer.model.item",
    "Fresh": "gossamer.model.item",
    "Item": "gossamer.model.item",
    "Login": "gossamer.model.login",
    "Site": "gossamer.model.site",
    "Stop": "gossamer.items.steps",
    "Request": "gossamer.model.request",
    "Response": "gossamer.model.page",
    "GossamerError": "gossamer.errors",
    "AddUrlOptions": "gossamer.client.adding",
    "Added": "gossamer.app.url_adding",
    "AsyncClient": "gossamer.client.async_service_client",
    "Client": "gossamer.client.service_client",
    "Crawl": "gossamer.client.iteration",
    "CrawlOptions": "gossamer.client.options",
    "Found": "gossamer.client.records",
    "Page": "gossamer.client.records:CrawledPage",
    "PageOptions": "gossamer.client.options",
    "PageView": "gossamer.parsing.page_view",
    "RunResult": "gossamer.client.tables",
    "Summary": "gossamer.model.summary",
    "add": "gossamer.api",
    "add_async": "gossamer.api",
    "crawl": "gossamer.api",
    "fetch": "gossamer.api",
    "fetch_async": "gossamer.api",
    "run": "gossamer.api",
    "run_async": "gossamer.api",
    "submit": "gossamer.api",
    "submit_async": "gossamer.api",
}
_PACKAGES = ("blocks", "errors", "identity", "items", "parsing", "politeness", "url")

__all__ = [
    "AddUrlOptions",
    "Added",
    "AsyncClient",
    "Client",
    "Crawl",
    "CrawlOptions",
    "Digits",
    "File",
    "Found",
    "Fresh",
    "GossamerError",
    "Image",
    "Item",
    "Login",
    "Page",
    "PageOptions",
    "PageView",
    "Ref",
    "Request",
    "Response",
    "RunResult",
    "Site",
    "Stop",
    "Summary",
    "__version__",
    "add",
    "add_async",
    "crawl",
    "errors",
    "fetch",
    "fetch_async",
    "run",
    "run_async",
    "submit",
    "submit_async",
    "url",
]


if not TYPE_CHECKING:  # type checkers read these names from the imports above

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            module, _, own_name = _HOMES[name].partition(":")
            return getattr(importlib.import_module(module), own_name or name)
        if name in _PACKAGES:
            return importlib.import_module(f"gossamer.{name}")
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
