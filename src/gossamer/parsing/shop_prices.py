"""The price that a product's page shows people, of all the prices on it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from gossamer.parsing import shop_words as words
from gossamer.parsing.html import attribute_of
from gossamer.parsing.prices import Price, price
from gossamer.parsing.shop_page import MOST, Element, Shop, begins_more, called, hidden, said

AHEAD: Final = 20
"""Elements by which a price that is called the one of today is taken for nearer than it is."""
_NEVER: Final = frozenset(
    ("script", "style", "del", "s", "strike", "body", "html", "form", "input", "select", "option", "template")
)

_SEVERAL: Final = re.compile(r"\d\D{2,}\d")


def shown_price(shop: Shop, hint: str | None) -> Price | None:
    """The price beside the product's heading: of the elements called price, the first after it that is no
    other one's; where none is called so, the first text that is a price and nothing more."""
    listed = shop.tree.select("h1, h2, h3, h4, [class], [id], [itemprop], [data-testid], [data-test]")[
        :20_000
    ]
    order = {element: place for place, element in enumerate(listed)}
    start = order.get(shop.heading, 0) if shop.heading else 0
    end = next((at for at, one in enumerate(listed[start + 1 :], start + 1) if begins_more(one)), len(listed))
    best: tuple[tuple[bool, bool, bool, int, int], Price] | None = None
    for rank, selector in enumerate(words.PRICES):
        for element in shop.tree.select(selector)[:MOST]:
            text = _priced(element)
            found = price(text, hint) if text else None
            if not found or not found.amount or found.amount < 0 or shop.elsewhere(element):
                continue
            place = order.get(element, 0)
            away = place - start - AHEAD * (words.NOW.search(called(element)) is not None)
            key = (
                found.currency is None,
                not start <= place < end,
                _doubtful(element, text, found),
                rank if rank < 2 else 2,
                away if place >= start else start - place,
            )
            if best is None or key < best[0]:
                best = (key, found)
    if best is None or best[0][1]:
        return _bare_price(shop, hint) or (best[1] if best else None)
    return best[1]


def _priced(element: Element) -> str:
    """The text of an element that may be a price; empty for that of an old one."""
    if _old(element):
        return ""
    text = next(filter(None, (attribute_of(element, name) for name in words.PRICED)), "") or said(element)
    if not 0 < len(text) < 120 or not any(map(str.isdigit, text)):
        return ""
    return said(element, struck=False) if _SEVERAL.search(text) and not element.attrs.get("content") else text


def _doubtful(element: Element, text: str, found: Price) -> bool:
    """Whether a price is not shown, one of several, or said to be another's: of before, without taxes, of a
    month."""
    several = found.currency is not None and text.count(found.currency) > 1
    return several or hidden(element) or words.NOT_NOW.search(text) is not None


def _old(element: Element) -> bool:
    return (
        element.tag in _NEVER
        or words.OLD.search(called(element)) is not None
        or "line-through" in attribute_of(element, "style")
    )


def _bare_price(shop: Shop, hint: str | None) -> Price | None:
    """The first small text behind the heading that is a price with its currency and little more, else the
    last before it."""
    behind = not any(element == shop.heading for element, _ in shop.small)
    ahead = None
    for element, text in shop.small:
        if element == shop.heading:
            behind = True
        elif behind and begins_more(element):
            break
        elif len(text) <= 30 and words.BARE_PRICE.fullmatch(text) and not words.NOT_NOW.search(text):
            found = price(said(element, struck=False), hint)
            shown = not (_old(element) or hidden(element) or shop.elsewhere(element))
            if shown and found and found.amount and found.currency and (behind or shop.near(element)):
                if behind:
                    return found
                ahead = found
    return ahead


def currency_of(found: Price, url: str, language: str | None) -> str | None:
    """The code of a price's currency: of a sign of several (`$ kr ¥ Rs`) that of its host's country, else of
    its language's, else the most common.

    >>> [currency_of(price("$1"), url, "en-AU") for url in ("https://shop.com.ar/a", "https://shop.example/a")]
    ['ARS', 'AUD']
    >>> currency_of(price("$1"), "https://t.co/a", None), currency_of(price("9 kr."), "https://shop.example", "da")
    ('USD', 'DKK')
    """
    known = words.SIGNS.get((found.currency or "").lower().rstrip("."))
    if known is None:
        return found.iso
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        labels = [""]
    country = "" if labels[-1] == "co" and labels[-2:-1] != ["com"] else labels[-1]  # sold to all the world
    speech, _, region = (language or "").lower().partition("-")
    return (
        known.get(country)
        or known.get(region)
        or (known.get(speech) if known is not words.SIGNS["$"] else None)
        or found.iso
    )
