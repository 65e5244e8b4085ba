"""What a product's page shows people: its price, numbers, brand, whether it can be bought. For pages that tell machines nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import turbohtml

from gossamer.parsing import shopwords as words
from gossamer.parsing.html import attribute_of
from gossamer.parsing.prices import Price, price

Element = turbohtml.Element

MOST: Final = 400
"""Elements of a kind that are looked at."""
NODES: Final = 60
"""Nodes in an element whose text is read: what has more is a part of the page, not a value."""
SCRIPTS: Final = 4_000_000
"""Characters of scripts that are read."""
ABOVE: Final = 12
"""Ancestors of an element that are looked at."""


def shown_price(tree: turbohtml.Document, hint: str | None) -> Price | None:
    """The price beside the product's heading: of the elements called price, the first after it that is no other one's."""
    order = {element: place for place, element in enumerate(tree.select("h1, [class], [id], [itemprop]")[:20_000])}
    heading = next((order[one] for one in tree.select("h1")[:1] if one in order), 0)
    best: tuple[tuple[bool, bool, int, int], Price] | None = None
    for rank, selector in enumerate(words.PRICES):
        for element in tree.select(selector)[:MOST]:
            found = _priced(element, hint)
            if found is None or _about_others(element):
                continue
            place = order.get(element, 0) - heading
            key = (found.currency is None, place < 0, rank if rank < 2 else 2, abs(place))
            if best is None or key < best[0]:
                best = (key, found)
    return best[1] if best else None


def dollar_of(url: str, language: str | None) -> str:
    """The currency that a bare `$` is on a page: that of its host's country, else of its language's, else USD.

    >>> dollar_of("https://shop.com.ar/a", "es"), dollar_of("https://shop.example/a", "en-AU"), dollar_of("https://t.co/a", None)
    ('ARS', 'AUD', 'USD')
    """
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        labels = [""]
    country = "" if labels[-1] == "co" and labels[-2:-1] != ["com"] else labels[-1]  # sold to all the world
    region = (language or "").lower().rpartition("-")[2] if "-" in (language or "") else ""
    return words.DOLLARS.get(country) or words.DOLLARS.get(region) or "USD"


def _priced(element: Element, hint: str | None) -> Price | None:
    """The price that an element shows, None where it shows none, or an old one."""
    if element.tag in (
        "script",
        "style",
        "del",
        "s",
        "strike",
        "body",
        "html",
        "form",
        "input",
        "select",
    ) or words.OLD.search(_called(element)):
        return None
    text = attribute_of(element, "content") or attribute_of(element, "data-price") or said(element)
    found = price(text, hint) if len(text) < 120 and any(char.isdigit() for char in text) else None
    return found if found and found.amount and found.amount > 0 else None


def said(element: Element, most: int = NODES) -> str:
    """The text of a small element, blanks folded, digits of different elements kept apart; empty for one of more nodes."""
    parts: list[str] = []
    waiting: list[Any] = [element]
    for _ in range(most):
        if not waiting:
            return " ".join("".join(parts).split())
        node = waiting.pop()
        if not isinstance(node, Element):
            text = node.text if isinstance(node, turbohtml.Text) else ""
            parts.append(f" {text}" if parts and text[:1].isdigit() and parts[-1][-1:].isdigit() else text[:1000])
        elif node.tag not in ("script", "style", "template"):
            if node.tag in words.APART:
                parts.append(" ")
            waiting += reversed(list(node.children))
    return ""


def _called(element: Element) -> str:
    return f"{attribute_of(element, 'class')} {attribute_of(element, 'id')}"


def _about_others(element: Element) -> bool:
    node: object = element
    for _ in range(ABOVE):
        if not isinstance(node, Element) or node.tag in ("body", "main"):
            return False
        if node.tag in ("footer", "nav", "del", "s", "strike") or words.OTHERS.search(_called(node)):
            return True
        node = node.parent
    return False


def labels(tree: turbohtml.Document) -> list[tuple[Element, str]]:
    """The small elements of a page that may be a label, or a label and its value, with their texts."""
    found = [
        (element, said(element, 9)) for element in tree.select("th, dt, td, li, strong, b, label, span, p, div")[:4000]
    ]
    return [(element, text) for element, text in found if 0 < len(text) <= 120]


def labelled(known: list[tuple[Element, str]], kind: str) -> Iterator[str]:
    """The values that stand beside a label of a kind (`sku brand gtin`), of `labels`: in tables, lists, after a colon."""
    pattern = words.LABELS[kind]
    for element, text in known:
        found = pattern.match(text)
        if not found:
            continue
        rest = text[found.end() :].lstrip(words.MARKS)
        if not rest:
            rest = _beside(element)
        elif text[found.end()] not in words.MARKS or (kind == "brand" and not words.SAYS.match(text, found.end())):
            continue
        if rest:
            yield rest[:80]


def _beside(element: Element) -> str:
    """The text of what follows an element."""
    node = element.next_sibling
    for _ in range(5):
        text = said(node) if isinstance(node, Element) else node.text[:200] if isinstance(node, turbohtml.Text) else ""
        if node is None or (text := text.strip(words.MARKS)):
            return text if node is not None else ""
        node = node.next_sibling
    return ""


def shown_availability(tree: turbohtml.Document) -> str | None:
    """`InStock` or `OutOfStock` by what is said where it is said, or by a button to buy; None where nothing tells."""
    for element in tree.select(
        '[id*="availab" i], [class*="availab" i], [class*="stock" i], [id*="stock" i], [class*="sold" i]'
    )[:MOST]:
        text = said(element) if words.STOCK.search(_called(element)) and not _hidden(element) else ""
        if 0 < len(text) < 400 and not _about_others(element):
            if words.GONE.search(text):
                return "OutOfStock"
            if words.THERE.search(text):
                return "InStock"
    for element in tree.select("button, input[type=submit], input[type=button], a, form[action]")[:3000]:
        signs = (said(element)[:60], attribute_of(element, "value")[:60], attribute_of(element, "action")[:200])
        if words.BUY.search(" ".join((*signs, _called(element)[:200]))) and "disabled" not in element.attrs:
            return "InStock"
    return None


def _hidden(element: Element) -> bool:
    return "hidden" in element.attrs or "display:none" in attribute_of(element, "style").replace(" ", "")


def number_in(url: str) -> str | None:
    """The number by which an address names its product: a parameter's, else the last of its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    for name, value in parse_qsl(parts.query)[:50]:
        if name.lower() in words.IDS and 3 <= len(value) <= 30 and any(char.isdigit() for char in value):
            return value
    found = [
        one
        for one in words.IN_PATH.finditer(unquote(parts.path)[:2000])
        if one[1] or (any(map(str.isdigit, one[2])) and any(map(str.isalpha, one[2])))
    ]
    return (found[-1][1] or found[-1][2]) if found else None


def shown_brand(tree: turbohtml.Document, known: list[tuple[Element, str]], name: str) -> str | None:
    """What an element made for the brand says, else what stands beside such a label, else an element called so, where the
    product's name has the same."""
    for element in tree.select('[itemprop~=brand], [data-brand], [id*="byline" i]')[:50]:
        if not _about_others(element) and (found := brand_in(_told(element))):
            return found
    if found := next((found for value in labelled(known, "brand") if (found := brand_in(value))), None):
        return found
    others = []
    for element in tree.select('[class*="brand" i], [id*="brand" i], [class*="manufacturer" i]')[:100]:
        found = brand_in(_told(element))
        if found and not _about_others(element):
            if found.lower() in name.lower():
                return found
            others += [found] if words.BRANDED.search(_called(element)) else []
    return embedded(tree, "brand") or next(iter(others), None)


def embedded(tree: turbohtml.Document, kind: str) -> str | None:
    """The value of a kind (`sku brand`) in the data within a page's scripts, where all of them agree on one."""
    found, left = set[str](), SCRIPTS
    for script in tree.select("script")[:MOST]:
        text = script.text[:left]
        left -= len(text)
        found.update(value for value in words.EMBEDDED[kind].findall(text) if value)
        if len(found) > 1 or left <= 0:
            return None
    return next(iter(found), None)


def _told(element: Element) -> str:
    """What an element says by an attribute, its text, or the picture in it."""
    text = attribute_of(element, "content") or attribute_of(element, "data-brand") or said(element)
    images = [element] if element.tag == "img" else element.select("img[alt]")[:1] if not text else []
    return text or next((attribute_of(image, "alt") for image in images), "")


def brand_in(text: str) -> str | None:
    """The brand in what is written beside it: `Brand: Acme`, `Visit the Acme Store`; None for what is none."""
    text = text[:200].partition(" | ")[0].strip(words.MARKS)
    label, bare = words.LABELLED.search(text), words.LABELS["brand"].match(text)
    if label is None and bare and text[bare.end() : bare.end() + 1] in ("", " "):
        label = bare
    if found := words.STORE.search(text):
        text = found[1]
    elif label:
        text = text[label.end() :].strip(words.MARKS)
    return text if 1 < len(text) <= 40 and text[0].isalnum() and not words.NO_BRAND.search(text) else None
