"""Decides whether a page is about a product of its own. A price counts only on such a page."""

from __future__ import annotations

from typing import Final

from gossamer.parsing import shop_words as words
from gossamer.parsing.shop_page import Shop

GONE: Final = "gone"
"""The page says in place of a product's name that the product is no longer sold."""
SOFT_404: Final = "soft-404"
"""The page says that there is no such page, although it was answered as a page."""
LISTING: Final = "listing"
"""The page shows several products and none of its own: a category, a search, a home page."""
NO_PRICE: Final = "no-price"
"""The page has a product, or nothing at all, and no price."""
UNDECIDED: Final = "undecided"
"""The page has several prices, and does not show which one a buyer pays."""
MAX_NOTICE_CHARS: Final = 160
"""Maximum length of a heading that is read as a notice."""


def notice_of(shop: Shop) -> tuple[str, str]:
    """Returns `GONE` or `SOFT_404` if the heading or the title of a page says so, with that text. Returns ('', '')
    for other pages, and for pages that offer to buy their product."""
    heading = " ".join(shop.heading.text[:1000].split()) if shop.heading else ""
    title = " ".join((shop.page.title or "").split())
    for text in (heading, title):
        lower = words.lower(text)
        kind = SOFT_404 if words.NOT_FOUND.match(lower) else GONE if words.REMOVED.search(lower) else ""
        if kind and len(text) <= MAX_NOTICE_CHARS:
            return ("", "") if shop.by_buttons[0] == "InStock" else (kind, text)
    return "", ""
