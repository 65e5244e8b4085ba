"""Reads the product of a page as one record.

The sources are tried in this order: structured data, meta elements, then the visible page and its scripts.
For the SKU, a number beside a label on the visible page takes precedence over all other sources.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gossamer.parsing import shop_page
from gossamer.parsing import shop_words as words
from gossamer.parsing.embedded import ATTRIBUTES
from gossamer.parsing.html import attribute_of
from gossamer.parsing.products.shown_brands import named_so, shown_brand, titled_brand
from gossamer.parsing.products.shown_prices import currency_of, reduced
from gossamer.parsing.products.sources import ProductSources
from gossamer.parsing.products.structured_product import FIELDS, gtin_in, told_by

MIN_STATE_CHARS = 40
_STRIKES = 'del, s, strike, [style*="line-through"], [class*="line-through"]'
_STATE_ATTRIBUTES = ", ".join(f"[{name}]" for name in ATTRIBUTES)
_STATE = (
    *("price", "Price", "pricing", "Pricing", "centAmount", "CentAmount"),
    *("stock", "Stock", "availab", "Availab"),
)
"""Parts of the keys of a product's price and stock. A search for plain texts is faster than a pattern."""


class ProductRecord(NamedTuple):
    """The fields of a product."""

    fields: dict[str, Any]
    """The fields `name price currency sku gtin brand availability`. If the page does not contain a field, the
    field's value is None."""
    is_shown: bool
    """Whether the price comes from the visible page, and not from structured data."""
    contradicts: bool = False
    """Whether the visible page shows other prices than structured data, and not which of them a buyer pays."""


def read_record(sources: ProductSources) -> ProductRecord:
    """Returns the product that a page is about."""
    record: dict[str, Any] = dict.fromkeys(FIELDS)
    spare: list[str] = []
    for syntax, main in sources.mains.items():
        _fill(record, told_by(main, sources.nodes[syntax], sources.page.url))
        offers = [main] if "offer" in main.types else []
        for offer in main.nodes("offers"):
            offers += [offer, *offer.nodes("offers", "itemoffered")]
        spare += [
            shop_page.bare_number(text)
            for one in (main, *offers, *main.nodes("hasvariant", "model"))
            for text in one.texts("sku", "productid", "identifier")
        ]
    bid = sources.shown.best if record["price"] is not None and _is_auction(sources) else None
    if bid is not None and bid.is_named:
        record["price"] = bid.price.amount
    _fill(record, sources.metas.record)
    is_shown, contradicts = (bid is not None and bid.is_named), False
    if record["price"] is not None and not is_shown:
        is_shown, contradicts = _compare(sources, record)
    own = record["sku"] is not None
    record["sku"] = shop_page.product_number(sources.shop.labelled_values("sku", own=own)) or record["sku"]
    shown = _shown(sources, record, spare)
    is_shown = shown.pop("is_shown", False) or is_shown
    _fill(record, shown)
    if sources.notice[0]:
        record |= {"price": None, "currency": None}
    return ProductRecord(record, is_shown, contradicts)


def _compare(sources: ProductSources, record: dict[str, Any]) -> tuple[bool, bool]:
    """Compares the price of structured data with the visible page. If the page shows another price that is certainly
    what a buyer pays, and does not show the told one, the shown price replaces it in the record. Returns whether it was
    replaced, and whether the two contradict each other without a winner."""
    told, shown = record["price"], sources.shown
    if (less := reduced(shown, told)) is not None:
        record["price"] = less.price.amount
        return True, False
    if shown.pays_plainly(told):
        return False, False
    best = shown.best if shown.is_named or sources.page.tree.select_one(_STRIKES) is not None else None
    if best is None or best.price.amount is None or shown.pays(told):
        return False, False
    currency = currency_of(best.price, sources.page.url, sources.page.language)
    if (
        best.price.currency
        and record["currency"]
        and currency != record["currency"]
        and best.price.iso != record["currency"]
    ):
        return False, False
    told_of_all = {one.amount for offers, variants in sources.offered for one in (*offers, *variants)}
    is_reduced = best.price.amount < told and shown.lists(told)
    if shown.is_range or not (shown.is_clear or is_reduced or best.price.amount in told_of_all):
        return False, bool(shown.rivals) and not shown.is_range
    record["price"] = best.price.amount
    record["currency"] = record["currency"] or currency
    return True, False


def _is_auction(sources: ProductSources) -> bool:
    """Whether the product is sold by auction. In an auction, structured data contain the starting price, and
    the visible page shows the current bid."""
    ends = any(
        "availabilityends" in offer.properties
        for one in sources.mains.values()
        for offer in one.nodes("offers")
    )
    return ends and words.AUCTION.search(f"{sources.page.title or ''} {sources.page.url}"[:500]) is not None


def _shown(sources: ProductSources, record: dict[str, Any], spare: list[str]) -> dict[str, Any]:
    """Returns values for the missing fields of the record. These values come from the visible page and its
    scripts. `spare`: the SKUs of the structured data. If the page shows no SKU, one of the SKUs in `spare` is
    used."""
    here, page, found = sources.shop, sources.page, dict[str, Any]()
    heading = " ".join(here.heading.text[:1000].split()) if here.heading else None
    if record["name"] is None:
        titles = [attribute_of(one, "content") for one in page.tree.select('meta[property="og:title"]')[:1]]
        found["name"] = next((one for one in (heading, *titles, page.title) if one), None)
    if record["price"] is None and (best := sources.shown.best):
        found["is_shown"] = True
        found["price"] = best.price.amount
        found["currency"] = currency_of(best.price, page.url, page.language) or shop_page.embedded_value(
            sources.scripts, "currency"
        )
    if record["gtin"] is None:
        found["gtin"] = gtin_in(here.labelled_values("gtin"))
    if record["availability"] is None:
        found["availability"] = shop_page.shown_availability(here)
    name = record["name"] or found["name"] or ""
    texts = sources.scripts if None in (record["sku"], record["brand"]) else []
    state = shop_page.told_of(texts, heading or name) if texts else {}
    is_priced = record["price"] is not None or "price" in found
    if (not is_priced or (record["availability"] or found.get("availability")) is None) and _may_have_state(
        sources
    ):
        drawn = sources.state
        if not is_priced and drawn.price is not None:
            found |= {"price": drawn.price, "currency": drawn.currency}
        if record["availability"] is None:
            found["availability"] = found.get("availability") or drawn.availability
        if drawn.name and record["name"] is None and not heading:
            found["name"] = drawn.name
    if record["price"] is None and "price" not in found and len(sources.tracked.amounts) == 1:
        found |= {"price": min(sources.tracked.amounts), "currency": sources.tracked.currency}
    return found | _numbers(sources, record, spare, texts, state, name)


def _may_have_state(sources: ProductSources) -> bool:
    """Whether a script may contain the product: this avoids reading the scripts of most pages."""
    return (
        any(len(text) > MIN_STATE_CHARS and any(part in text for part in _STATE) for text in sources.scripts)
        or sources.page.tree.select_one(_STATE_ATTRIBUTES) is not None
    )


def _numbers(
    sources: ProductSources,
    record: dict[str, Any],
    spare: list[str],
    texts: list[str],
    state: dict[str, str],
    name: str,
) -> dict[str, Any]:
    """Returns the SKU and the brand, if the record lacks them."""
    here, found = sources.shop, dict[str, Any]()
    if record["sku"] is None:
        found["sku"] = (
            shop_page.shown_number(here)
            or shop_page.embedded_value(texts, "sku")
            or next(filter(None, spare), None)
            or state.get("sku")
            or shop_page.held_number(here)
            or shop_page.number_in(sources.page.url)
            or shop_page.product_number(here.labelled_values("mpn"))
        )
    if record["brand"] is None:
        found["brand"] = (
            shown_brand(here, f"{name} {sources.page.title or ''}")
            or titled_brand(here)
            or _no_publisher(here, state.get("brand") or shop_page.embedded_value(texts, "brand"))
            or named_so(here)
        )
    return found


def _no_publisher(here: shop_page.Shop, brand: str | None) -> str | None:
    """Returns the brand, or None if the page shows the same name as the publisher."""
    return None if brand in [one.strip() for one in here.labelled_values("publisher")] else brand


def _fill(record: dict[str, Any], more: dict[str, Any]) -> None:
    """Replaces each None in the record with the value of the same field in `more`. A price and its currency
    belong together. Therefore a record that has a price but no currency does not get the currency of a
    different price."""
    if record["price"] is not None and record["currency"] is None and more.get("price") != record["price"]:
        more = {
            name: value for name, value in more.items() if name != "currency" or more.get("price") is None
        }
    for name, value in more.items():
        if record[name] is None and value is not None:
            record[name] = value
