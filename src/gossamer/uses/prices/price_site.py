"""The site file that reads the product pages of all shops. The target of the site file is
`module:gossamer.uses.prices.price_site`, so every process with gossamer can load the file.

A request carries the data that its page function needs: the requested URL, whether the visit confirms held
values, and the selectors for the page. The function yields the product data of the page. The sinks
(`price_sinks`) compare these data with the targets of the page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer import Site
from gossamer.errors import ConfigError
from gossamer.uses.prices.model import OfferState
from gossamer.uses.prices.observe import SeenPage, see_failure, see_page
from gossamer.uses.prices.selector_table import CarriedSelectors, SelectorTable

if TYPE_CHECKING:
    from gossamer import PageView

TARGET = f"module:{__name__}"
PRIORITIES = 8
"""The number of priority levels of the requests of a run. There are few levels, because each host has a
separate queue per priority level. The pages of a host with the same priority level are visited in the order
of their requests."""
MAX_KEY_CHARS = 500
"""Maximum number of characters of the key of a request."""
MAX_CARRY_BYTES = 4096
"""Maximum size in bytes of the `carry` value of a request, encoded as JSON."""
_encode = msgspec.json.Encoder().encode

# a site in the variable `default` reads pages of every host, including the targets of redirects
default = Site("prices", follow=False)


@default.page()
def product(page: PageView) -> Iterator[dict[str, Any]]:
    """Yields the product data of a page."""
    carried = page.carry
    if not isinstance(carried, dict) or "page" not in carried:
        return
    requested, confirming = carried["page"], carried.get("confirming", False)
    selectors = CarriedSelectors(carried.get("selectors", ()))
    seen = see_page(page, requested, selectors, confirming=confirming)
    is_same = seen.state not in (OfferState.MOVED, OfferState.GONE) and page.url == requested
    headers = page.headers if is_same else {}
    yield _row(requested, seen, headers)


@default.failed
def failed(failure: Any) -> Iterator[dict[str, Any]]:
    """Yields the result of a visit to a product page that failed permanently."""
    carried = failure.carry
    if isinstance(carried, dict) and "page" in carried:
        seen = see_failure(failure, confirming=carried.get("confirming", False))
        yield _row(carried["page"], seen, {})


def _row(requested: str, seen: SeenPage, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "page": requested,
        "etag": headers.get("etag", ""),
        "modified": headers.get("last-modified", ""),
        "seen": _encode(seen).decode(),
    }


def seeds(
    urls: Iterable[str],
    conditions: Mapping[str, Mapping[str, str]],
    selectors: SelectorTable,
    *,
    confirming: bool = False,
) -> list[dict[str, Any]]:
    """Returns the requests for the given URLs. The first request has the highest priority. `conditions`: the
    headers of conditional requests, by URL. Raises ConfigError if there are too many selectors for a page."""
    ordered = list(urls)
    found = []
    for place, url in enumerate(ordered):
        carried: dict[str, Any] = {"page": url}
        if confirming:
            carried["confirming"] = True
        if lines := selectors.lines_for(url):
            carried["selectors"] = lines
            if len(_encode(carried)) > MAX_CARRY_BYTES:
                raise ConfigError(
                    f"the table of selectors has more lines for {url} than a request can carry "
                    f"({MAX_CARRY_BYTES} bytes): narrow them with the column path"
                )
        one = {
            "url": url,
            "priority": PRIORITIES - PRIORITIES * place // len(ordered),
            "carry": carried,
            "key": url if len(url) <= MAX_KEY_CHARS else hashlib.blake2b(url.encode()).hexdigest(),
        }
        if headers := conditions.get(url):
            one["headers"] = dict(headers)
        found.append(one)
    return found
