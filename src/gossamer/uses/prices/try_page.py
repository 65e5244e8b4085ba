"""Reads one page for the command `gossamer prices try`. Finds the prices on the page and, if possible, a CSS
selector for each price."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

import gossamer
from gossamer import Response  # type: ignore[attr-defined]  # a lazy name
from gossamer.errors import UsageError
from gossamer.parsing.prices import price
from gossamer.parsing.products import PriceCandidate
from gossamer.uses.prices.model import Observation, PriceTarget
from gossamer.uses.prices.observe import observations_of, read_page, see_page
from gossamer.uses.prices.selector_table import SelectorTable, read_selectors
from gossamer.uses.prices.targets import shop_of

MAX_SHOWN = 30
MAX_TEXT_CHARS = 60
"""Maximum length in characters of the text of an element that may be a price."""


class TriedCandidate(msgspec.Struct):
    """A price on a page, with a CSS selector that matches the price."""

    amount: Decimal
    currency: str | None
    source: str
    confidence: float
    place: str = ""
    """The path of the price in the page's structured data."""
    selector: str = ""
    """A CSS selector whose first match on the page is this price, or '' if no such selector was found."""
    raw: str = ""
    role: str = "price"
    """A `PriceRole` of gossamer.parsing.products."""


class TriedPage(msgspec.Struct):
    """The output of the command `gossamer prices try` for one page."""

    url: str
    domain: str
    candidates: list[TriedCandidate]
    observations: list[Observation]


def try_page(
    url: str,
    *,
    file: str | None = None,
    variant: str = "",
    selectors: str | None = None,
    selector: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> TriedPage:
    """Returns the prices of a page. Reads the page from `file`, or fetches the page if `file` is None. Raises
    GossamerError."""
    parsed = gossamer.url.parse(url)
    if parsed is None or not parsed.startswith(("http://", "https://")):
        raise UsageError(f"{url[:200]!r} is not an http(s) URL")
    page = _page(parsed, file, options or {})
    table = read_selectors(selectors)
    if selector is not None:
        table = _with_selector(page, selector)
    found = [
        TriedCandidate(
            one.amount,
            *(one.currency, one.source, one.confidence, one.place),
            selector=one.place if one.source == "selector" else "",
            raw=one.raw,
            role=one.role,
        )
        for one in _all_prices(page, read_page(page, table).candidates)
    ]
    for shown in sorted(_shown_prices(page), key=lambda one: len(one.raw)):  # innermost element first
        same = [one for one in found if one.amount == shown.amount and not one.selector]
        if same:
            same[0].selector, same[0].raw = shown.selector, same[0].raw or shown.raw
        elif all(one.amount != shown.amount for one in found):
            found.append(shown)
    target = PriceTarget(key=parsed, url=parsed, variant=variant, shop=shop_of(parsed))
    seen = observations_of(see_page(page, parsed, table), [target])
    return TriedPage(page.url, shop_of(page.url), found[:MAX_SHOWN], seen)


def _all_prices(page: Any, first: Sequence[PriceCandidate]) -> list[PriceCandidate]:
    """Returns all prices of a page. The candidates for the current price (`first`) come before the other
    prices."""
    known = {(one.amount, one.currency) for one in first}
    return [
        *first,
        *(one for one in page.product_page.all_candidates if (one.amount, one.currency) not in known),
    ]


def _page(url: str, file: str | None, options: Mapping[str, Any]) -> Any:
    if file is None:
        return gossamer.fetch(url, **options)
    try:
        body = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    pages: list[Any] = []
    site = gossamer.Site(
        "default", robots=False, collector=lambda _: Response(body), follow=False, blocks=False
    )

    @site.page()
    def keep(page: Any) -> Iterator[dict[str, Any]]:
        pages.append(page)
        yield {"at": time.time()}

    list(gossamer.crawl(site, [url], scope="page", delay=0))
    if not pages:
        raise UsageError(f"{file} cannot be read as a page")
    return pages[0]


def _with_selector(page: Any, selector: str) -> SelectorTable:
    from gossamer.uses.prices.selector_table import SelectorLine

    try:
        found = page.css(selector)
    except ValueError as error:
        raise UsageError(f"--selector {selector!r}: {error}") from None
    if not found:
        raise UsageError(f"--selector {selector!r} finds nothing on the page")
    return SelectorTable([SelectorLine(shop_of(page.url), None, "price", selector, None)])


def _shown_prices(page: Any) -> Iterator[TriedCandidate]:
    """Yields the prices in the text of elements of a page, each with a CSS selector."""
    seen: set[tuple[Decimal, str]] = set()
    for element in page.css("[class], [id], [itemprop], [data-price], td, dd")[:5000]:
        text = " ".join((element.xpath("string(.)").get() or "").split())
        if not 0 < len(text) <= MAX_TEXT_CHARS or not any(map(str.isdigit, text)):
            continue
        found = price(text)
        if found is None or found.amount is None or found.currency is None:
            continue
        selector = _selector(page, element, text)
        if selector and (found.amount, selector) not in seen:
            seen.add((found.amount, selector))
            yield TriedCandidate(found.amount, found.iso, "class", 0.3, selector=selector, raw=text)


def _selector(page: Any, element: Any, text: str) -> str:
    """Returns a short CSS selector whose first match has the text of the element, or '' if there is no such
    selector."""
    attributes = element.attrib
    tries = []
    if name := attributes.get("id"):
        tries.append(f"#{name}")
    if name := attributes.get("itemprop"):
        tries.append(f"[itemprop={name}]")
    tries += [f".{name}" for name in (attributes.get("class") or "").split()]
    for one in tries:
        try:
            first = page.css(one)[:1]
        except ValueError:  # this name needs escaping in a CSS selector
            continue
        if first and " ".join((first[0].xpath("string(.)").get() or "").split()) == text:
            return one
    return ""
