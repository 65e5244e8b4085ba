"""Reads the price from the events that shops send to analytics and advertising services when a visitor views
a product."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final, NamedTuple

MAX_EVENT_CHARS: Final = 1000
"""Maximum distance in characters from the name of an event to its price."""
MAX_EVENTS: Final = 10
"""Maximum number of events with the same name that are read per script."""
MAX_AMOUNTS: Final = 2
"""Maximum number of different amounts in the events of a page about one product. If the events contain more
than MAX_AMOUNTS different amounts, the amounts are the prices of several products."""
_EVENTS: Final = (
    *("ViewContent", "view_item", "viewItem", "iewed Product", "iewed product", "productDetail", "pagevisit"),
    *("ecomm_p", "ecomm_totalvalue", "dynx_"),
)
"""If the name of an event contains one of these parts, the event contains the price of the page's product.
The event `view_item_list` is excluded because it contains a list of products."""
_DETAIL: Final = re.compile(r"""\bdetail["']?\s*:\s*\{""")
"""Matches the view of a product in the `ecommerce` object of a data layer."""
_PRICE: Final = re.compile(
    r"""(?:^|[\s,{"'(])\\?["']?(?:value|price|(?:ecomm|dynx)_totalvalue|product_?[pP]rice)\\?["']?\s*[:=]\s*\\?["']?"""
    r"""(\d{1,9}(?:\.\d{1,2})?)\\?["']?\s*(?=[,}\]\n;)])"""
)
_CURRENCY: Final = re.compile(
    r"""currency(?:Code|_code)?\\?["']?\s*[:=]\s*\\?["']([A-Z]{3})\\?["']""", re.IGNORECASE
)


class TrackedPrices(NamedTuple):
    """The prices that a page's events send to analytics."""

    amounts: frozenset[Decimal]
    currency: str | None
    """The currency of the amounts as an ISO 4217 code."""


def tracked_prices(scripts: Iterable[str]) -> TrackedPrices:
    """Returns the prices in the events of a page's scripts. The result has no amounts if the events contain
    the prices of several products.

    >>> tracked_prices(["fbq('track', 'ViewContent', {value: 990, currency: 'TWD'})"])
    TrackedPrices(amounts=frozenset({Decimal('990')}), currency='TWD')
    """
    amounts, currency = dict[Decimal, None](), None
    for text in scripts:
        if "rice" not in text and "alue" not in text:  # no key of `_PRICE`
            continue
        for start in _events(text):
            found = _PRICE.search(text, start, start + MAX_EVENT_CHARS)
            if found and (amount := Decimal(found[1])):
                amounts[amount] = None
                named = _CURRENCY.search(text, max(0, start - 200), start + MAX_EVENT_CHARS)
                currency = currency or (named[1].upper() if named else None)
    if len(amounts) > MAX_AMOUNTS:
        return TrackedPrices(frozenset(), None)
    return TrackedPrices(frozenset(amounts), currency)


def _events(text: str) -> Iterator[int]:
    """Yields the positions of tracking events in a script."""
    for name in _EVENTS:
        for at in _places(text, name):
            if not text.startswith("_list", at):
                yield at
    for at in _places(text, "ecommerce"):
        if detail := _DETAIL.search(text, at, at + MAX_EVENT_CHARS):
            yield detail.end()


def _places(text: str, name: str) -> Iterator[int]:
    """Yields the positions at which the first MAX_EVENTS occurrences of a name end."""
    at = -1
    for _ in range(MAX_EVENTS):
        at = text.find(name, at + 1)
        if at < 0:
            return
        yield at + len(name)
