"""Calls the `@site.failed` function of a site for a URL that failed for good."""

from __future__ import annotations

import time
from typing import Any

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.parsing.page_view import PageView
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.page_functions import PageResult, call_function


class FailedVisit:
    """A URL that failed for good, and the argument of the `@site.failed` function.

    - `url`: the URL. `status`: the HTTP status, or None if there was no response.
    - `reason`: the error in one word, such as `dns`, `http-5xx` or `blocked`. `detail`: the error in full.
    - `page`: the page with selectors, or None if there was no response or the page is too costly to read.
    - `options`: the request that failed, with `use`, `priority`, `id` and its other options. `carry`: the
      value that the request carried.
    """

    def __init__(
        self, request: Request, reason: str, detail: str, status: int | None, view: PageView, *, read: bool
    ) -> None:
        self.url, self.reason, self.detail, self.status = request.url, reason, detail, status
        self.options, self.carry = request, request.carry
        self.page = view if read else None
        self._view = view

    def __repr__(self) -> str:
        return f"<FailedVisit {self.reason} {self.url}>"

    def request(self, url: str, **needs: Any) -> Request:
        """Returns a request, as `page.request` does. `again=True`: requests a URL that was visited before."""
        return self._view.request(url, **needs)

    def count(self, name: str, n: int = 1) -> None:
        """Adds `n` to a counter of the crawl, as `page.count` does."""
        self._view.count(name, n)


def call_failed(
    site: LoadedSite, request: Request, result: Page | Failure | None, reason: str, detail: str, *, read: bool
) -> tuple[PageView, PageResult]:
    """Calls the site's function for a failed URL. Returns the page and the values that the function yielded.
    If there was no response, the page is empty. `read`: whether the site's function may access the contents
    of the page."""
    page = result if isinstance(result, Page) else Page(request.url, 0, [], b"", time.time(), 0.0, 0)
    shown = page if read else Page(page.url, page.status, [], b"", page.fetched_at, 0.0, 0)
    view = PageView(shown, None, request)
    got = isinstance(result, Page)
    failure = FailedVisit(request, reason, detail, page.status if got else None, view, read=read and got)
    call = site.site.failed_function
    assert call is not None
    return view, call_function(site, call, failure, view)
