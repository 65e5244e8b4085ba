"""Reads the brand that a product page shows: marked elements, labels, names of classes, links to brand pages."""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.parsing import shop_words as words
from gossamer.parsing.html import attribute_of
from gossamer.parsing.shop_page import MAX_ELEMENTS, Element, Shop, author_names, element_value


def shown_brand(shop: Shop, name: str) -> str | None:
    """Returns the brand that the page shows for the product, or None. The sources are tried in this order:

    1. an element marked as the brand (such as `itemprop=brand`)
    2. the text next to a brand label
    3. an element with a brand class whose text is part of the product's name
    4. an element with a brand class near the heading
    """
    for one in shop.tree.select("[itemprop~=brand], [data-brand], [data-product-brand], [id*='byline' i]")[
        :50
    ]:
        found = brand_in(attribute_of(one, "data-product-brand") or element_value(one))
        if found and not shop.elsewhere(one) and not of_site(found, shop.page.url):
            return found
    if found := next((found for value in shop.labelled_values("brand") if (found := brand_in(value))), None):
        return found
    beside = None
    for element in _called_so(shop):
        found = brand_in(element_value(element)) if element not in shop.above else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            if found.lower() in name.lower():
                return found
            beside = beside or (found if shop.near(element) else None)
    return beside


def _called_so(shop: Shop) -> Iterator[Element]:
    """Yields elements whose class or id names a brand or a manufacturer, then links to brand pages."""
    for element in shop.tree.select(words.MAKERS)[:MAX_ELEMENTS]:
        if words.MAKER.search(author_names(element)):
            yield element
    for link in shop.tree.select("a[href]")[:2000]:
        if words.OF_MAKER.search(words.lower(attribute_of(link, "href"))) and (
            shop.near(link) or words.STORE.search(element_value(link))
        ):
            yield link


def titled_brand(shop: Shop) -> str | None:
    """Returns the text that the page's title has before the product's heading, if an element near the heading has
    this text: `Acme Anvil 5 kg | Shop` above `Acme` and `Anvil 5 kg`."""
    heading = " ".join(shop.heading.text[:200].split()) if shop.heading else ""
    title = " ".join((shop.page.title or "")[:300].split())
    found = brand_in(title.partition(heading)[0]) if heading and heading in title else None
    if found is None or of_site(found, shop.page.url):
        return None
    return next((found for element, text in shop.small if text == found and shop.near(element)), None)


def named_so(shop: Shop) -> str | None:
    """Returns the text of the first element whose class or id contains `product-brand`, wherever the element
    is on the page. This is the weakest sign of a brand, so it is tried last."""
    for element in shop.tree.select(words.MAKERS)[:MAX_ELEMENTS]:
        found = brand_in(element_value(element)) if words.BRANDED.search(author_names(element)) else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            return found
    return None


def of_site(brand: str, url: str) -> bool:
    """Whether a brand equals a part of the site's host name. Such a brand usually comes from the site's
    logo."""
    letters = "".join(filter(str.isalnum, brand.lower()))
    return any(
        letters == label.replace("-", "")
        for label in url.lower().split("/")[2:3]
        for label in label.split(".")
    )


def brand_in(text: str) -> str | None:
    """Returns the brand name in the text of a brand element, such as `Brand: Acme` or `Visit the Acme Store`.
    Returns None if the text contains no brand."""
    text = words.LOGO.sub("", text[:200].partition(" | ")[0].strip(words.MARKS))
    label, bare = words.LABELLED.search(text), words.LABELS["brand"].match(text)
    if label is None and bare and text[bare.end() : bare.end() + 1] in ("", " "):
        label = bare
    if found := words.STORE.search(text):
        text = next(filter(None, found.groups()), "").strip()
    elif label:
        text = text[label.end() :].strip(words.MARKS)
    return text if 1 < len(text) <= 40 and text[0].isalnum() and not words.NO_BRAND.search(text) else None
