"""The brand that a product's page shows people."""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.parsing import shop_words as words
from gossamer.parsing.html import attribute_of
from gossamer.parsing.shop_page import MOST, Element, Shop, called, told


def shown_brand(shop: Shop, name: str) -> str | None:
    """What an element made for the brand says, else what stands beside such a label, else an element called
    so, where the product's name has the same, else one beside the heading."""
    for one in shop.tree.select("[itemprop~=brand], [data-brand], [data-product-brand], [id*='byline' i]")[
        :50
    ]:
        found = brand_in(attribute_of(one, "data-product-brand") or told(one))
        if found and not shop.elsewhere(one) and not of_site(found, shop.page.url):
            return found
    if found := next((found for value in shop.labelled("brand") if (found := brand_in(value))), None):
        return found
    beside = None
    for element in _called_so(shop):
        found = brand_in(told(element)) if element not in shop.above else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            if found.lower() in name.lower():
                return found
            beside = beside or (found if shop.near(element) else None)
    return beside


def _called_so(shop: Shop) -> Iterator[Element]:
    """The elements called a brand's or a maker's, and links to the pages of such."""
    for element in shop.tree.select(words.MAKERS)[:MOST]:
        if words.MAKER.search(called(element)):
            yield element
    for link in shop.tree.select("a[href]")[:2000]:
        if words.OF_MAKER.search(attribute_of(link, "href")) and (
            shop.near(link) or words.STORE.search(told(link))
        ):
            yield link


def named_so(shop: Shop) -> str | None:
    """What is called a product's brand anywhere on a page, without more that speaks for it."""
    for element in shop.tree.select(words.MAKERS)[:MOST]:
        found = brand_in(told(element)) if words.BRANDED.search(called(element)) else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            return found
    return None


def of_site(brand: str, url: str) -> bool:
    """Whether a brand is what the site is called: its logo, most often."""
    letters = "".join(filter(str.isalnum, brand.lower()))
    return any(
        letters == label.replace("-", "")
        for label in url.lower().split("/")[2:3]
        for label in label.split(".")
    )


def brand_in(text: str) -> str | None:
    """The brand in what is written beside it: `Brand: Acme`, `Visit the Acme Store`; None for what is none."""
    text = words.LOGO.sub("", text[:200].partition(" | ")[0].strip(words.MARKS))
    label, bare = words.LABELLED.search(text), words.LABELS["brand"].match(text)
    if label is None and bare and text[bare.end() : bare.end() + 1] in ("", " "):
        label = bare
    if found := words.STORE.search(text):
        text = next(filter(None, found.groups()), "").strip()
    elif label:
        text = text[label.end() :].strip(words.MARKS)
    return text if 1 < len(text) <= 40 and text[0].isalnum() and not words.NO_BRAND.search(text) else None
