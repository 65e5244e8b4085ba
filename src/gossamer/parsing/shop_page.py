"""What a product's page shows people: its heading, what stands beside a label, whether it can be bought. For
pages that tell machines nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import turbohtml

from gossamer.parsing import shop_words as words
from gossamer.parsing.html import Document, attribute_of, once

Element = turbohtml.Element

MOST: Final = 400
"""Elements of a kind that are looked at."""
NODES: Final = 60
"""Nodes in an element whose text is read: what has more is a part of the page, not a value."""
ABOVE: Final = 12
"""Ancestors of an element that are looked at."""
NEAR: Final = 5
"""Ancestors of a heading in which its product is."""
_UNSAID: Final = frozenset(("script", "style", "template"))
_WORDS: Final = re.compile(r"\w+")


class Shop:
    """A product's page: its tree, the heading that names the product, and what is around that (`above`)."""

    def __init__(self, page: Document) -> None:
        self.page = page
        self.tree = page.tree
        self.heading = _heading(page)
        above = list(_ancestors(self.heading, 200)) if self.heading else []
        self.above = frozenset(above)
        self._beside = above[0] if above else None
        self._near = frozenset(one for one in above[:NEAR] if one.tag not in ("body", "html", "main"))

    @once
    def small(self) -> list[tuple[Element, str]]:
        """The small elements of a page that say something, with their texts."""
        found = [(element, said(element, 9)) for element in self._elements]
        return [(element, text) for element, text in found if 0 < len(text) <= 120]

    @once
    def _labels(self) -> list[tuple[Element, str, bool]]:
        """Those of them that begin with a label of any kind, and whether they stand under no heading over
        other products."""
        found, others, under, behind = [], set[Element](), False, self.heading is None
        for one in self._elements:
            behind = behind or one == self.heading
            if behind and one.tag in ("h2", "h3", "h4"):
                more, around = (
                    begins_more(one),
                    [above for above in _ancestors(one, 2) if above not in self.above],
                )
                others |= {around[-1]} if more and around else set()
                under = under if around else more
            if (
                words.ANY_LABEL.match(next(iter(one.stripped_strings), ""))
                and 0 < len(text := said(one, 9)) <= 120
            ):
                own = not under and not any(above in others for above in _ancestors(one, ABOVE))
                found.append((one, text, own))
        return found

    @once
    def _elements(self) -> list[Element]:
        return self.tree.select("th, dt, td, li, strong, b, label, span, p, div, h1, h2, h3, h4, em")[:4000]

    def near(self, element: Element) -> bool:
        """Whether an element is beside the heading, or around it."""
        return (
            element in self.above
            or self._beside in (element.parent, element.parent and element.parent.parent)
            or any(one in self._near for one in _ancestors(element, NEAR))
        )

    def elsewhere(self, element: Element) -> bool:
        """Whether an element is about other products, or none. What is around the heading, too, is not."""
        for node in (element, *_ancestors(element, ABOVE)):
            if node in self.above or node.tag in ("body", "main"):
                return False
            if node.tag in ("footer", "nav", "header", "del", "s", "strike") or words.OTHERS.search(
                called(node)
            ):
                return True
        return False

    def labelled(self, kind: str, own: bool = False) -> Iterator[str]:
        """The values that stand beside a label of a kind (`sku mpn brand publisher gtin`): in tables, lists,
        after a colon; with `own` only those under no heading over other products."""
        pattern = words.LABELS[kind]
        for element, text, mine in self._labels:
            found = pattern.match(text)
            if not found or (own and not mine):
                continue
            rest = text[found.end() :].lstrip(words.MARKS)
            if not rest:
                rest = _pictured(element) or _beside(element)
            elif text[found.end()] not in words.MARKS or (
                kind == "brand" and not words.SAYS.match(text, found.end())
            ):
                continue
            if rest and not self.elsewhere(element):
                yield rest[:80]


def begins_more(element: Element) -> bool:
    """Whether a heading begins what is about other products."""
    return element.tag in ("h2", "h3", "h4") and words.MORE.match(said(element, 20)) is not None


def _heading(page: Document) -> Element | None:
    """The heading that shares most words with the page's title and address, of equals the first."""
    near = set(_WORDS.findall(f"{page.title or ''} {unquote(page.url[:2000]).replace('_', ' ')}".lower()))
    best: tuple[int, Element] | None = None
    for one in page.tree.select("h1")[:10]:
        text = one.text[:1000].lower()
        count = len(near & set(_WORDS.findall(text))) if text.strip() else -1
        if best is None or count > best[0]:
            best = (count, one)
    return best[1] if best else None


def _ancestors(element: Element, most: int) -> Iterator[Element]:
    node: object = element.parent
    for _ in range(most):
        if not isinstance(node, Element):
            return
        yield node
        node = node.parent


def said(element: Element, most: int = NODES, struck: bool = True) -> str:
    """The text of a small element, blanks folded, digits of different elements kept apart; empty for one of
    more nodes. Not `struck`: without what is struck out, or called old, in it."""
    inner = element.children
    if len(inner) == 1 and isinstance(inner[0], turbohtml.Text) and element.tag not in _UNSAID:
        return " ".join(inner[0].text[:1000].split())
    parts: list[str] = []
    waiting: list[Any] = [element]
    for _ in range(most):
        if not waiting:
            return " ".join("".join(parts).split())
        node = waiting.pop()
        if not isinstance(node, Element):
            text = node.text if isinstance(node, turbohtml.Text) else ""
            parts.append(
                f" {text}" if parts and text[:1].isdigit() and parts[-1][-1:].isdigit() else text[:1000]
            )
        elif node.tag not in _UNSAID and (struck or not _struck(node)):
            if node.tag in words.APART:
                parts.append(" ")
            waiting += reversed(node.children)
            if len(waiting) > most:
                return ""
    return ""


def _struck(element: Element) -> bool:
    return (
        element.tag in ("del", "s", "strike")
        or "line-through" in attribute_of(element, "style")
        or words.STRUCK.search(called(element)) is not None
    )


def called(element: Element) -> str:
    """What a page's makers call an element: its classes, id, and name for tests."""
    return " ".join(
        value if isinstance(value, str) else " ".join(value or ())
        for name, value in element.attrs.items()
        if name in words.CALLED
    )


def _pictured(element: Element) -> str:
    """What the picture in an element is called."""
    return next((attribute_of(image, "alt") for image in element.select("img[alt]")[:1]), "").strip()


def _beside(element: Element) -> str:
    """The text of what follows an element, unless that is labelled itself."""
    node = element.next_sibling
    for _ in range(5):
        text = (
            said(node)
            if isinstance(node, Element)
            else node.text[:200]
            if isinstance(node, turbohtml.Text)
            else ""
        )
        if isinstance(node, Element) and not text:
            text = _pictured(node)
        if node is None or (text := text.strip(words.MARKS)):
            return "" if node is None or words.LABEL.match(text) else text
        node = node.next_sibling
    return ""


def told(element: Element) -> str:
    """What an element says by an attribute, its text, or the picture in it."""
    text = attribute_of(element, "content") or attribute_of(element, "data-brand") or said(element)
    return text or (attribute_of(element, "alt") if element.tag == "img" else _pictured(element))


def shown_number(shop: Shop) -> str | None:
    """A product's number in an element made for it: around the heading, beside it, else anywhere, where it is
    the only one."""
    held = [one for one in shop.tree.select(words.NUMBERED)[:MOST] if not shop.elsewhere(one)]
    around = [one for one in held if one in shop.above]
    near = [one for one in held if shop.near(one)]
    for elements in (around[-1:], near, held):
        found = {number for one in elements if (number := _number_of(one))}
        if len(found) == 1:
            return found.pop()
    return None


def _number_of(element: Element) -> str | None:
    text = next(filter(None, (attribute_of(element, name) for name in words.HELD)), None)
    return bare(text[:200]) if text else numbered([bare(element.text[:200].strip())])


def held_number(shop: Shop) -> str | None:
    """The number that an element around the heading, or beside it, holds for scripts."""
    for name in words.ENTITIES:
        for element in shop.tree.select(f"[{name}]")[:MOST]:
            text = attribute_of(element, name).strip()
            if shop.near(element) and not shop.elsewhere(element) and numbered([text]) == text:
                return text
    return None


def numbered(values: Iterable[str]) -> str | None:
    """The first of what stands beside labels that is a number: with a digit, or of capitals in parts."""
    for value in values:
        word = value.partition(" ")[0].strip(".,;:()#[]\u200e")
        if 2 < len(word) <= 30 and (
            any(map(str.isdigit, word)) or (word.isupper() and ("-" in word or "_" in word))
        ):
            return word
    return None


def bare(text: str) -> str:
    """A number without what is written before (`sku:`) or behind it."""
    text = text.replace("：", ":").rpartition(":")[2].strip()
    label = words.LABELS["sku"].match(text)
    if label and text[label.end() : label.end() + 1] in (" ", "#"):
        text = text[label.end() :].strip(words.MARKS)
    first = text.partition(" ")[0]
    return first if len(first) > 3 and any(map(str.isdigit, first)) else text


def hidden(element: Element) -> bool:
    """Whether an element itself says that it is not shown."""
    return (
        "hidden" in element.attrs
        or "display:none" in attribute_of(element, "style").replace(" ", "")
        or words.HIDDEN.search(attribute_of(element, "class")) is not None
    )


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
