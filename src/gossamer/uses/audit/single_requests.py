"""Makes the single requests of an audit outside of its crawl: the first page, robots.txt, sitemaps. An audit
of stored pages reads these pages from the archive and requests nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import gossamer
from gossamer.client.stored_pages import StoredPages
from gossamer.errors import FetchFailed

MAX_REDIRECTS: Final = 10
NOT_STORED: Final = "not-stored"
"""The failure reason of a request for a page that is missing in the archive. A page that is missing in the
archive does not indicate a problem of the site."""


class Answered(NamedTuple):
    """A response after redirects."""

    url: str
    status: int | None
    body: bytes


def request(url: str, options: Mapping[str, Any]) -> Answered:
    """Returns the response for a URL. `options`: the options of `gossamer.fetch`, and the option `archive`
    with the path of stored pages. If `archive` is given, the function reads the stored page and does not
    request the URL. Raises FetchFailed."""
    if (archive := options.get("archive")) is not None:
        return _stored(url, str(archive))
    page = gossamer.fetch(url, **options)
    return Answered(page.page.url, page.status, page.body)


def _stored(url: str, archive: str) -> Answered:
    with StoredPages(archive) as pages:
        at = url
        for _ in range(MAX_REDIRECTS):
            found = pages.get(at)
            if found is None:
                break
            if found.location is None:
                return Answered(at, found.status, found.body)
            at = found.location
    error = FetchFailed(f"{url}: it is not among the stored pages in {archive}")
    error.reason = NOT_STORED
    raise error
