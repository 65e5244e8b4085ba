"""Finds the elements of a page that present other products than the page's own: cards in lists, links with a
price, and all that stands below a heading such as "Related products".

The names that a page's authors give to elements are not enough, because each shop has its own names. Cards are
found by their structure: an element with a price and a link to another product, or one of several elements of
the same kind that each have a price and a link, or a price and a name of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import turbohtml

from gossamer.parsing import shop_words as words
from gossamer.parsing.currencies import spellings
from gossamer.parsing.html import attribute_of

Element = turbohtml.Element

MAX_LINKS: Final = 10
"""Maximum number of links that are checked per element."""
MAX_CARD_CHARS: Final = 1500
"""Maximum length of the text of a card. An element with a longer text is a section of the page."""
MAX_PARTS: Final = 200
"""Maximum number of parts of an element that are searched for the link before its price."""
MAX_TWINS: Final = 100
"""Maximum number of siblings that are compared with an element."""
MIN_UNLINKED: Final = 3
"""Cards without a link are recognized by their names if at least this many siblings have a price and a name each."""
MAX_LABEL_CHARS: Final = 200
MIN_NAME_CHARS: Final = 6
"""If the last part of the page's path has at least this many characters, links that contain it lead to the same
product: to its sellers, its reviews, its colors."""
_FILES: Final = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg|pdf|mp4)$", re.IGNORECASE)
_NO_PAGES: Final = ("#", "?", "javascript:", "mailto:", "tel:")
_HEADINGS: Final = frozenset(("h2", "h3", "h4", "h5", "h6"))
MAX_CHAIN: Final = 4
MAX_CARD_DEPTH: Final = 8
"""Maximum number of elements between a price and the link of its card."""
_NUMBER: Final = re.compile(r"\d+")
_DIGIT: Final = re.compile(r"\d")
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_LABELS: Final = "h2, h3, h4, h5, h6, [class*=name i], [class*=title i]"
_NO_CARDS: Final = frozenset(("tr", "td", "th", "dt", "dd", "label", "option", "button", "form", "fieldset"))
"""Elements that present options, tiers or rows of the page's own product."""
_CHOICES: Final = "input[type=radio], input[type=checkbox], select, option"


class ProductCards:
    """The elements of a page that present other products. `url`: the URL of the page. `above`: the ancestors of the
    page's own heading, which are never part of a card. `heading`: the text of this heading."""

    def __init__(self, url: str, above: frozenset[Element], heading: str = "") -> None:
        self._heading = words.lower(" ".join(heading.split()))
        self._own = re.split(r"[?#]", url, maxsplit=1)[0]
        self._folder = _folder(self._own)
        last = _path(self._own).rstrip("/").rpartition("/")[2]
        self._name = last if len(last) >= MIN_NAME_CHARS and "//" in self._own else None
        self._above = above
        self._kinds: dict[Element, bool] = {}
        self._labels: dict[Element, str] = {}
        self._priced: dict[Element, bool] = {}
        self._linked: dict[Element, bool] = {}

    def holds(self, chain: list[Element]) -> bool:
        """Whether an element is part of a card. `chain`: the element and its ancestors, the nearest one first, up to the
        first ancestor that contains the page's own heading."""
        inner: Element | None = None
        if self._presents(chain[0]):
            return True
        for node in chain:
            if self._is_twin(node) or (inner is not None and self._follows_link(inner)):
                return True
            if node.tag == "a" and self._leads_to_product(node) and self._is_priced(node):
                return True
            inner = node
        return False

    def follows_link(self, chain: list[Element]) -> bool:
        """Whether a link to another page stands before an element, in one of its ancestors in the chain. Only the prices
        of other products follow a link on a page that has no other sign of a product of its own."""
        return any(
            isinstance(one, Element)
            and one not in self._above
            and any(
                self._leads_to_product(link) and link.text.strip() != ""
                for link in ([one] if one.tag == "a" else one.select("a[href]")[:MAX_LINKS])
            )
            for node in chain[:MAX_CHAIN]
            if not isinstance(node.parent, Element) or node.parent not in self._above
            for one in _before(node)
        )

    def link_of(self, element: Element) -> str:
        """Returns the href of the product that the card around an element presents, or ''. The nearest element around it
        that has links to products must link to a single one."""
        for node in (element, *itertools.islice(element.ancestors, MAX_CARD_DEPTH)):
            if not isinstance(node, Element) or node in self._above:
                break
            links = [node] if node.tag == "a" else node.select("a[href]")[:MAX_LINKS]
            found = {
                attribute_of(one, "href").partition("#")[0] for one in links if self._leads_to_product(one)
            }
            if found:
                return found.pop() if len(found) == 1 else ""
        return ""

    def leads_away(self, href: str) -> bool:
        """Whether a link leads to another page."""
        href = href.strip()
        path = re.split(r"[?#]", href, maxsplit=1)[0]
        return (
            bool(path)
            and not href.lower().startswith(_NO_PAGES)
            and not self._own.endswith(path)
            and not _FILES.search(path)
            and not (self._name and self._name in href)
        )

    def _is_twin(self, node: Element) -> bool:
        """Whether a node is one of several elements of the same kind that present products."""
        if (found := self._kinds.get(node)) is None:
            found = False
            if self._presents(node):
                found = any(map(self._presents, self._alike(node)))
            elif label := self._label(node):
                labels = filter(None, map(self._label, self._alike(node)))
                found = len({label, *itertools.islice(labels, MIN_UNLINKED)}) >= MIN_UNLINKED
            self._kinds[node] = found
        return found

    def _alike(self, node: Element) -> Iterator[Element]:
        """Yields the siblings of a node that have the same tag and share a class with it."""
        parent = node.parent
        names = _kinds(node)
        alike = (
            one
            for one in (parent.children[: 4 * MAX_TWINS] if isinstance(parent, Element) else ())
            if isinstance(one, Element)
            and one != node
            and one.tag == node.tag
            and one not in self._above
            and (not names or bool(names & _kinds(one)))
        )
        return itertools.islice(alike, MAX_TWINS)

    def _label(self, node: Element) -> str:
        """Returns the name of the product that a node without a link presents, or ''. Scripts open the product when a
        visitor clicks on such a node. Options, tiers and rows of prices of the page's own product have no such name."""
        if (found := self._labels.get(node)) is None:
            found = self._labels[node] = self._read_label(node)
        return found

    def _read_label(self, node: Element) -> str:
        if (
            node in self._above
            or node.tag in _NO_CARDS
            or not self._is_priced(node)
            or node.select_one(_CHOICES) is not None
        ):
            return ""
        for one in node.select(_LABELS)[:MAX_LINKS]:
            text = words.lower(" ".join(one.text[: MAX_LABEL_CHARS + 1].split()))
            if (
                2 < len(text) <= MAX_LABEL_CHARS
                and not text.endswith(":")
                and _LETTERS.search(text)
                and not _shows_money(text)
                and "price" not in attribute_of(one, "class").lower()
                and not words.NOT_NOW.search(text)
                and not words.PRICE_LABEL.match(text)
                and not (self._heading and self._heading in text)
            ):
                return text
        return ""

    def _presents(self, node: Element) -> bool:
        """Whether a node has a price after a link to another page, or a price, a picture and a heading."""
        if node in self._above or not self._is_priced(node):
            return False
        if node.tag == "a":
            return self._leads_to_product(node)
        for one in itertools.islice(node.descendants, MAX_PARTS):
            if isinstance(one, turbohtml.Text):
                if _shows_money(one.text):
                    break
            elif isinstance(one, Element) and one.tag == "a" and self._leads_to_product(one):
                return True
        return (
            node.select_one("img, picture") is not None and node.select_one("h2, h3, h4, h5, h6") is not None
        )

    def _is_priced(self, node: Element) -> bool:
        if (found := self._priced.get(node)) is None:
            text = node.text[: MAX_CARD_CHARS + 1]
            found = self._priced[node] = (
                len(text) <= MAX_CARD_CHARS
                and _DIGIT.search(text) is not None
                and (_shows_money(text) or node.select_one('[class*="price" i]') is not None)
            )
        return found

    def _follows_link(self, node: Element) -> bool:
        """Whether a link to another product stands before a node, in a sibling that has no price of its own."""
        if (found := self._linked.get(node)) is None:
            found = self._linked[node] = any(
                isinstance(one, Element)
                and one not in self._above
                and self._names_product(one)
                and not self._is_priced(one)
                for one in _before(node)
            )
        return found

    def _names_product(self, node: Element) -> bool:
        """Whether a node has a link to a page in the folder of the page's own URL, or a heading that is a link."""
        for link in [node] if node.tag == "a" else node.select("a[href]")[:MAX_LINKS]:
            if not self._leads_to_product(link):
                continue
            parent: Any = link.parent
            headed = getattr(parent, "tag", "") in _HEADINGS or link.select_one("h2, h3, h4, h5") is not None
            if headed or (self._folder and _folder(_path(attribute_of(link, "href"))) == self._folder):
                return True
        return False

    def _leads_to_product(self, link: Element) -> bool:
        href = attribute_of(link, "href")[:500]
        return (
            self.leads_away(href)
            and words.OF_MAKER.search(href.lower()) is None
            and words.BUY.search(words.lower(f"{href} {link.text[:60]}")) is None
        )


def _shows_money(text: str) -> bool:
    """Whether a text has a number and a currency. Words with several meanings, such as `kr` and `lei`, count only beside
    a number."""
    if not _DIGIT.search(text):
        return False
    return spellings().sure.search(text) is not None or any(
        (len(one[0]) > 1 or not one[0].isascii())
        and _DIGIT.search(text[max(0, one.start() - 2) : one.end() + 2])
        for one in itertools.islice(spellings().unsure.finditer(text), MAX_LINKS)
    )


def _kinds(node: Element) -> set[str]:
    """Returns the class names of an element without their numbers."""
    return {_NUMBER.sub("", name) for name in attribute_of(node, "class").split()}


def _before(node: Element) -> list[Any]:
    """Returns the siblings before a node, at most 6 nodes away."""
    found: list[Any] = []
    one: Any = node.previous_sibling
    while one is not None and len(found) < 6:
        found.append(one)
        one = one.previous_sibling
    return found


def _path(href: str) -> str:
    return re.split(r"[?#]", href.strip(), maxsplit=1)[0]


def _folder(url: str) -> str:
    """Returns the path of a URL without its last part, or '' if this is the root."""
    path = re.sub(r"^(?:[a-z]+:)?//[^/]*", "", url)
    return path.rstrip("/").rpartition("/")[0]
