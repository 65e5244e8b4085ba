"""Reads the parts of a page that describe its product. Each part is read once, when it is first used."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from gossamer.parsing import shop_page
from gossamer.parsing.html import Document, once
from gossamer.parsing.products.offers import PageOffer, offers_of
from gossamer.parsing.products.page_kind import notice_of
from gossamer.parsing.products.shown_prices import ShownPrices
from gossamer.parsing.products.structured_product import MetaFields, currency_in, main_node, meta_fields
from gossamer.parsing.products.tracking_events import TrackedPrices, tracked_prices
from gossamer.parsing.structured import Node, nodes
from gossamer.parsing.structured import of as structured_of

if TYPE_CHECKING:
    from gossamer.parsing.products.state_product import StateProduct

SYNTAXES: Final = {"json_ld": "json-ld", "microdata": "microdata", "rdfa": "rdfa"}


class ProductSources:
    """A page with its structured data, meta elements, scripts and shown prices. `found`: the structured data, if it
    has already been read."""

    def __init__(self, page: Document, found: dict[str, Any] | None = None) -> None:
        self.page = page
        self._structured = found

    @once
    def nodes(self) -> dict[str, list[Node]]:
        """All nodes of the structured data, by syntax."""
        return nodes(self._structured or structured_of(self.page))

    @once
    def mains(self) -> dict[str, Node]:
        """Maps each syntax of the structured data to the product that the page is about."""
        found = ((syntax, main_node(many, self.page)) for syntax, many in self.nodes.items())
        return {syntax: main for syntax, main in found if main is not None}

    @once
    def offered(self) -> list[tuple[list[PageOffer], list[PageOffer]]]:
        """The main offers and the variants of each product in `mains`."""
        return [offers_of(main, SYNTAXES[syntax]) for syntax, main in self.mains.items()]

    @once
    def metas(self) -> MetaFields:
        """The product in the meta elements."""
        return meta_fields(self.page.tree)

    @once
    def shop(self) -> shop_page.Shop:
        """The visible page."""
        return shop_page.Shop(self.page)

    @once
    def scripts(self) -> list[str]:
        """The texts of the scripts."""
        return shop_page.scripts(self.page.tree)

    @once
    def shown(self) -> ShownPrices:
        """The prices of the visible page."""
        hint = next(filter(None, map(currency_in, self.mains.values())), None) or self.metas.currency
        return ShownPrices(self.shop, hint or self.tracked.currency, self._said, bool(self.mains))

    def _said(self) -> frozenset[Decimal]:
        """Returns the amounts that meta elements, or else tracking events, name without a place on the page."""
        return self.tracked.amounts if self.metas.amount is None else frozenset((self.metas.amount,))

    @once
    def notice(self) -> tuple[str, str]:
        """`gone` or `soft-404` and the text that says so, if the page says that it has no product, else two empty
        texts."""
        return notice_of(self.shop)

    @once
    def state(self) -> StateProduct:
        """The product in the data from which scripts draw the page."""
        from gossamer.parsing.products.state_product import state_product

        heading = self.shop.heading.text[:1000] if self.shop.heading else ""
        currency = (
            self.metas.currency or self.tracked.currency or shop_page.embedded_value(self.scripts, "currency")
        )
        return state_product(self.page.tree, heading, self.page.title or "", self.page.url, currency)

    @once
    def tracked(self) -> TrackedPrices:
        """The prices in the events that the page sends to analytics services."""
        return tracked_prices(self.scripts)
