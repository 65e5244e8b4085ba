"""Reads the price in the events by which shops tell analytics and advertising that a visitor looks at a product."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NamedTuple

MAX_EVENT_CHARS: Final = 1000
"""Maximum distance in characters from the name of an event to its price."""
MAX_EVENTS: Final = 20
MAX_AMOUNTS: Final = 2
"""More different amounts than this are the prices of several products."""
_EVENT: Final = re.compile(
    r"ViewContent|view_item\b|viewItem\b|[Vv]iewed[ _]?[Pp]roduct\b|[\"']productDetail|PRODUCT_VIEW|pagevisit"
    r"|(?:ecomm|dynx)_(?:pagetype|itemid|prodid)|[\"']?detail[\"']?\s*:\s*\{"
)
_PRICE: Final = re.compile(
    r"""(?:^|[\s,{"'(])\\?["']?(?:value|price|(?:ecomm|dynx)_totalvalue|product_?[pP]rice)\\?["']?\s*[:=]\s*\\?["']?"""
    r"""(\d{1,9}(?:\.\d{1,2})?)\\?["']?\s*(?=[,}\]\n;)])"""
)
_CURRENCY: Final = re.compile(
    r"""currency(?:Code|_code)?\\?["']?\s*[:=]\s*\\?["']([A-Z]{3})\\?["']""", re.IGNORECASE
)


class TrackedPrices(NamedTuple):
    """The prices in a page's events."""

    amounts: frozenset[Decimal]
    currency: str | None
    """ISO 4217."""


def tracked_prices(scripts: Iterable[str]) -> TrackedPrices:
    """Returns the prices in the events of a page's scripts. There are none if the events contain the prices of
    several products.

    >>> tracked_prices(["fbq('track', 'ViewContent', {value: 990, currency: 'TWD'})"])
    TrackedPrices(amounts=frozenset({Decimal('990')}), currency='TWD')
    """
    amounts, currency, left = dict[Decimal, None](), None, MAX_EVENTS
    for text in scripts:
        for event in _EVENT.finditer(text):
            left -= 1
            if left < 0:
                break
            end = event.end() + MAX_EVENT_CHARS
            found = _PRICE.search(text, event.end(), end)
            if found and (amount := Decimal(found[1])):
                amounts[amount.normalize()] = None
                named = _CURRENCY.search(text, max(0, event.start() - 200), end)
                currency = currency or (named[1].upper() if named else None)
    if len(amounts) > MAX_AMOUNTS:
        return TrackedPrices(frozenset(), None)
    return TrackedPrices(frozenset(amounts), currency)
