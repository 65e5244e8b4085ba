"""Decides which prices of a page may belong to the page's own product, and whether the page has a product of its own at
all."""

from __future__ import annotations

import itertools
import re
from typing import Final, Protocol

from gossamer.parsing import shop_words as words
from gossamer.parsing.html import once
from gossamer.parsing.prices import price
from gossamer.parsing.shop_page import Element, Shop, shown_availability

MAX_BARE_PRICE_CHARS: Final = 40
"""Maximum length of a text that is only a price."""
MIN_LISTED: Final = 3
"""A page without a product of its own is a listing if it shows the prices of at least this many products."""
MAX_OTHERS: Final = 10
"""Maximum number of bare prices of other products that are counted."""


_HOME: Final = re.compile(r"(?:[a-z]+:)?//(?:\[[^\]]*\])?[^/?\[]*/?", re.IGNORECASE)


class _Related(Protocol):
    @property
    def related(self) -> list[Element]: ...


class OwnProduct:
    """The page's own product, as far as its signs show that there is one. `shown`: the elements that are named for the
    price of another product. `is_told`: whether structured data, meta elements or events describe a product."""

    def __init__(self, shop: Shop, shown: _Related, is_told: bool) -> None:
        self._shop = shop
        self._shown = shown
        self._is_told = is_told

    def may_own(self, element: Element) -> bool:
        """Whether the price of an element counts as a price of the page's own product. On a page without any sign of a
        product of its own, only prices near the heading count."""
        if self._is_sold:
            return True
        if self._is_home or self._shop.follows_link(element):
            return False
        return self.has_product or self._shop.near(element)

    @once
    def others(self) -> list[Element]:
        """Elements that show prices of other products, at most MAX_OTHERS of them without a name for their price."""
        named = self._shown.related
        known, bare = {*named}, list[Element]()
        for element, text in self._shop.small:
            if (
                len(bare) < MAX_OTHERS
                and len(text) <= MAX_BARE_PRICE_CHARS
                and words.BARE_PRICE.fullmatch(text)
                and not any(one in known for one in (element, *element.ancestors))
            ):
                read = price(text, None)
                if read and read.amount and read.currency and self._shop.of_another(element):
                    bare.append(element)
        return [*named, *bare]

    @once
    def is_listing(self) -> bool:
        """Whether the page shows several products, neither below a heading for other products nor in an element that is
        named for them, and no sign of a product of its own."""
        cards = (
            one for one in self.others if not self._shop.elsewhere(one) and not self._shop.below_more(one)
        )
        return len(list(itertools.islice(cards, MIN_LISTED))) == MIN_LISTED and not self.has_product

    @once
    def is_on_request(self) -> bool:
        """Whether a text says, in place of a price, that the shop tells the price only when asked."""
        return any(
            len(text) <= MAX_BARE_PRICE_CHARS
            and words.ON_REQUEST.match(words.lower(text))
            and not self._shop.hidden(element)
            and not self._shop.of_another(element)
            for element, text in self._shop.small
        )

    @once
    def has_product(self) -> bool:
        """Whether the page has a sign of a product of its own, or does not show other products."""
        return (
            self._is_sold
            or len(self.others) < 2
            or shown_availability(self._shop) is not None
            or next(self._shop.labelled_values("sku", own=True), None) is not None
        )

    @once
    def _is_sold(self) -> bool:
        """Whether the page certainly sells a product of its own: by what it tells, or by its buttons."""
        return self._is_told or self._shop.by_buttons[0] is not None

    @once
    def _is_home(self) -> bool:
        return _HOME.fullmatch(self._shop.page.url.partition("#")[0]) is not None
