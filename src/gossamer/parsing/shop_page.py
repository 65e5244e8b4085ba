"""Reads the visible content of product pages that have no structured data: the heading, the values beside
labels, the SKU and the availability. Words and buttons in many languages show the availability. Also reads
product fields from the page's scripts: data layers, states and settings in JSON or JavaScript.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import turbohtml

from gossamer.parsing import shop_words as words
from gossamer.parsing.hidden_elements import MAX_HIDING, HiddenElements
from gossamer.parsing.hidden_elements import ancestors as _ancestors
from gossamer.parsing.html import Document, attribute_of, once
from gossamer.parsing.product_cards import ProductCards

MAX_SCRIPT_CHARS: Final = 4_000_000
"""Maximum number of characters of scripts read per page."""
MAX_OBJECT_DISTANCE: Final = 6000
"""Maximum distance in characters from a product's name to the braces of the object around the name."""
MAX_OBJECTS: Final = 20
"""Maximum number of objects with the product's name that are read per page."""
MAX_OCCURRENCES: Final = 1000
"""Maximum number of occurrences of the product's name that are checked per script."""
_BRACES: Final = re.compile(r"[{}]")
_NAMED: Final = re.compile(r"""(?:name|title)\\?["']?\s?:\s?\\?["']$""", re.IGNORECASE)


def scripts(tree: turbohtml.Document) -> list[str]:
    """Returns the texts of a page's scripts, up to the size limit."""
    found, left = [], MAX_SCRIPT_CHARS
    for script in tree.select("script")[:MAX_ELEMENTS]:
        if left > 0 and (text := script.text[:left]):
            left -= len(text)
            found.append(text)
    return found


def embedded_value(texts: list[str], kind: str) -> str | None:
    """Returns the value of a field (`sku`, `brand` or `currency`) in scripts. Returns None if the scripts
    contain no value, or if they contain different values."""
    found = set[str]()
    pattern, keys = words.EMBEDDED[kind], words.EMBEDDED_KEYS[kind]
    for text in texts:
        for key in keys:
            for quoted in (f'"{key}', f"'{key}"):
                at = text.find(quoted)
                while at >= 0:
                    if match := pattern.match(text, at):
                        found.add(match[1])
                    at = text.find(quoted, at + 1)
        if len(found) > 1:
            return None
    return next(iter(found), None)


def told_of(texts: list[str], name: str) -> dict[str, str]:
    """Searches scripts for objects with the product's name. Returns the values of `sku` and `brand` in
    these objects."""
    found: dict[str, str] = {}
    forms = {form for form in (name, json.dumps(name)[1:-1], name.replace("/", "\\/")) if len(form) > 2}
    places = ((text, at) for form in sorted(forms) for text in texts for at in _places(text, form))
    for text, at in itertools.islice(places, MAX_OBJECTS):
        _read(text, at, found)
    return found


def _places(text: str, name: str) -> Iterator[int]:
    """Yields the positions at which the product's name is the value of a key `name` or `title`."""
    at = text.find(name)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            return
        end = at + len(name)
        if text[end : end + 1] in ('"', "'", "\\") and _NAMED.search(text, max(0, at - 30), at):
            yield at
        at = text.find(name, end)


def _read(text: str, at: int, found: dict[str, str]) -> None:
    own, whole = _object(text, at)
    for field, patterns in words.STATE.items():
        for pattern in patterns:
            match = pattern.search(own)
            if match and field not in found:
                found[field] = match[1]
    if "sku" not in found and (match := words.EMBEDDED["sku"].search(whole)):
        found["sku"] = match[1]


def _object(text: str, at: int) -> tuple[str, str]:
    """Returns two texts of the innermost object around a position: one without nested objects, and one with
    nested objects."""
    start, depth = max(0, at - MAX_OBJECT_DISTANCE), 0
    for brace in reversed([*_BRACES.finditer(text, start, at)]):
        depth += 1 if brace[0] == "}" else -1
        if depth < 0:
            start = brace.end()
            break
    end, depth = min(len(text), at + MAX_OBJECT_DISTANCE), 0
    for brace in _BRACES.finditer(text, at, end):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            end = brace.start()
            break
    whole = words.BRAND_OBJECT.sub(r"\1\2", text[start:end])
    own, depth, last = [], 0, 0
    for brace in _BRACES.finditer(whole):
        if brace[0] == "{":
            own += [whole[last : brace.start()]] if depth == 0 else []
            depth += 1
        else:
            depth = max(0, depth - 1)
            last = brace.end()
    own += [whole[last:]] if depth == 0 else []
    return "".join(own), whole


MAX_FRAME_DEPTH: Final = 30
"""Maximum number of ancestors of a button that are checked for a header, a menu or a footer."""
_STOCKED: Final = (
    '[id*="availab" i], [class*="availab" i], [class*="stock" i], [id*="stock" i], [class*="sold" '
    'i], [class*="inventory" i], [data-testid*="stock" i], '
    '[data-test*="stock" i], '
    '[data-testid*="availab" i], [data-test*="availab" i], [class*="dispon" i], '
    '[class*="verfuegbar" i], [class*="lager" i], '
    '[class*="dispo" i], '
    '[class*="delivery-" i], [class*="status" i], [class*="lieferzeit" i], [class*="lieferbar" i]'
)
_FIRST: Final = (
    r"(?:\W|\d+ (?:[^\W\d]\w* )?|temporarily |sorry,? |this (?:item|product) is |currently |"
    rf"(?:{words.STOCK_SUBJECT}) |(?:{words.STOCK_LABEL})\s?[:：])*"
)
_STANDING: Final = {
    word: (re.compile(pattern), re.compile(f"{_FIRST}{before}(?:{pattern})"))
    for word, before, pattern in (
        # first, because such a text often also says that the product is available, or that it is not in stock
        ("BackOrder", r"(?:\w{2,14} ){0,2}", words.BACK),
        ("OutOfStock", "", words.GONE),
        ("PreOrder", "", words.SOON),
        ("InStock", "", words.THERE),
    )
}
"""Maps each availability value of schema.org to two patterns for texts in lower case. One pattern of each
pair matches anywhere in a text, and the other pattern matches only at the beginning of a text."""
_STOCK: Final = re.compile(
    r"(?:^|[\s_-])(?i:availab|stock|instock|outofstock|out-of-stock|sold|dispon|dispo(?![a-z])|verfuegbar|lager)|Availab|Stock|"
    r"SoldOut"
)
"""Matches classes and ids of elements that show the product's availability. A name such as `unavailable` does
not match, because sites use the name for missing variants or pictures."""
_DELIVERY: Final = re.compile(
    r"delivery-{1,2}(?:info|status|text|time)|(?<![a-z])(?:product|projector|item)?[-_]?status|lieferzeit|lieferbar(?:keit)?",
    re.IGNORECASE,
)
"""Matches classes and ids of elements that begin with the product's availability, if they state it. Otherwise, they
contain the time or the terms of a delivery."""
_FRAME: Final = re.compile(
    r"(?<![a-z])(?:(?<!product[-_])header|masthead|top-?bar|nav|navbar|navigation|footer|mini-?(?:cart|basket|bag)|(?:cart|basket)-(?:link|icon|drawer|widget|"
    r"preview|flyout|count))(?![a-z])",
    re.IGNORECASE,
)
"""Matches classes and ids of the page frame, which consists of the parts that all pages of a shop share."""
_FRAMES: Final = frozenset(("header", "nav", "footer"))
_FRAME_ROLES: Final = frozenset(("banner", "navigation", "contentinfo"))
_CART: Final = re.compile(
    r"(?:^|/)(?:(?:shopping|view|my|show)[-_]?)?(?:cart|basket|bag|checkout|warenkorb|einkaufswagen|panier|carrito|cesta|carrinho|carrello|winkelwagen|"
    r"winkelmand|ko[sš][ií]k|koszyk|varukorg|kurv|handlekurv|ostoskori|kos[aá]r|sepet|cos|korzina)(?:/view|/index)?(?:\.\w{2,5})?/?(?:[?#](?!.*add).*)?$",
    re.IGNORECASE,
)
"""Matches URLs of the shopping cart page. A link to the cart page is not a button that adds the product to
the cart."""


def shown_availability(shop: Shop) -> str | None:
    """Returns the availability that the page shows, as a schema.org value, or None. Elements for the
    availability are tried first, then labels, the buttons of the product, and short texts."""
    badge: str | None = None
    for element in shop.tree.select(_STOCKED)[:MAX_ELEMENTS]:
        names = author_names(element)
        is_stock = _STOCK.search(names) is not None
        text = element_text(element) if is_stock or _DELIVERY.search(names) else ""
        if (
            0 < len(text) < 400
            and (word := availability_in(text, whole=not is_stock))
            and not shop.hidden(element)
            and not shop.of_another(element)
        ):
            if word != "OutOfStock" or not _BADGE.search(names):
                return word
            badge = badge or word
    for text in shop.labelled_values("stock", own=True):
        if word := availability_in(text, whole=True):
            return word
    word, other = shop.by_buttons
    if word or badge:
        return word or badge
    for element, text in shop.small:
        if (
            len(text) <= 60
            and (word := availability_in(text, whole=True))
            and not (shop.hidden(element) or shop.of_another(element))
        ):
            return word
    return "InStock" if other else None


_BADGE: Final = re.compile(
    r"visually-?hidden|sr-only|screen-?reader|badge|label|flag|(?<![a-z])tag(?![a-z])|sticker|ribbon|overlay",
    re.IGNORECASE,
)
"""Matches classes and ids of badges and of texts for screen readers. Themes put the badge of a
product that is sold out on every page and hide it by a style sheet, so a button that works contradicts it."""
_DRAWN: Final = re.compile(r"(?<![a-z])(?:btn|button)(?![a-z])", re.IGNORECASE)
"""Matches classes of links that look like buttons."""
_BUTTONS: Final = "h2, h3, h4, button, input[type=submit], input[type=button], input[type=image], a, form[action], [role=button]"


def _by_buttons(buttons: list[Element], shop: Shop) -> tuple[str | None, bool]:
    """Returns two values. The first value is the availability that the product's own buttons show. The second
    value is True if the page has any button or form with which a visitor can buy a product or contact the
    seller of a classified ad. A button that only offers a message when the product is back in stock means
    OutOfStock. A form without a button does not show the availability, because shops keep the form when they
    remove the button."""
    message = form = other = more = False
    for element in buttons:
        if element.tag in ("h2", "h3", "h4"):
            more = more or shop.begins_more(element)
            continue
        shown = element_text(element)[:60]
        if _buys(element, shown):
            if _of_the_frame(element, shop):
                continue
            own = not more and not shop.of_another(element)
            if own and element.tag != "form" and not shop.hidden(element):
                return "InStock", True
            form, other = form or own, True
        elif element.tag != "form" and words.CLASSIFIED.match(words.lower(shown)):
            other = other or not more
        elif element.tag != "form" and (element.tag != "a" or _DRAWN.search(attribute_of(element, "class"))):
            text = f"{shown} {attribute_of(element, 'value')}".strip()[:60]
            word, is_link = availability_in(text, whole=True), element.tag == "a"
            if (
                (word == "OutOfStock" if is_link else word not in (None, "InStock"))
                and not more
                and not shop.of_another(element)
                and not shop.hidden(element)
                and not (is_link and _of_the_frame(element, shop))
            ):
                return word, other
            is_message = not is_link and words.MESSAGE.search(text) is not None
            message = message or (is_message and not shop.hidden(element))
    return "OutOfStock" if message else None, other or form


def _buys(element: Element, shown: str) -> bool:
    """Whether a button, link or form is for buying. `shown`: its text."""
    attrs = element.attrs
    if "disabled" in attrs:
        return False
    signs = " ".join((shown, *(str(attrs.get(name) or "")[:200] for name in ("value", "alt", "action"))))
    if element.tag == "a" and _CART.search(attribute_of(element, "href")[:300].strip()):
        return words.BUY.match(words.lower(signs.strip())) is not None
    return words.BUY.search(words.lower(f"{signs} {author_names(element)[:200]}")) is not None


def _of_the_frame(element: Element, shop: Shop) -> bool:
    """Whether an element is part of the page frame, which all pages of a shop share. The page frame consists
    of parts such as the header, a menu, the footer and the mini cart. Ancestors of the product's heading do
    not count as part of the frame."""
    node: object = element
    for _ in range(MAX_FRAME_DEPTH):
        if not isinstance(node, Element) or node in shop.above:
            return False
        if node.tag in _FRAMES or attribute_of(node, "role").lower() in _FRAME_ROLES:
            return True
        if (
            node is not element
            and node.tag not in ("body", "main")
            and _FRAME.search(author_names(node)[:200])
        ):
            return True
        node = node.parent
    return False


def availability_in(text: str, whole: bool = False) -> str | None:
    """Returns the schema.org availability that a text expresses, or None. If `whole` is true, reads only a
    phrase at the beginning of the text.

    >>> availability_in("Currently out of stock"), availability_in("Nicht auf Lager"), availability_in("red")
    ('OutOfStock', 'OutOfStock', None)
    """
    text = words.lower(text)
    return next(
        (
            word
            for word, (there, first) in _STANDING.items()
            if (first.match(text) if whole else there.search(text))
        ),
        None,
    )


Element = turbohtml.Element

MAX_ELEMENTS: Final = 400
"""Maximum number of elements that are examined per selector."""
MAX_VALUE_NODES: Final = 60
"""Maximum number of nodes in an element whose text is read as a value. An element with more nodes is a
section of the page."""
MAX_ANCESTORS: Final = 12
"""Maximum number of ancestors that are examined per element."""
NEAR_ANCESTORS: Final = 5
"""An element counts as near the product if it is inside one of the NEAR_ANCESTORS nearest ancestors of the
heading."""
MAX_LABEL_CHARS: Final = 200
"""Maximum length of a text that is compared with labels."""
_ELSEWHERE: Final = frozenset(("footer", "nav", "header", "del", "s", "strike"))
_SUBHEADINGS: Final = frozenset(("h2", "h3", "h4", "h5", "h6"))
_CARD_HEADINGS: Final = frozenset(("h2", "h3", "h4"))
_ORDERED: Final = "h1, h2, h3, h4, h5, h6, [class], [id], [itemprop], [data-testid], [data-test]"
MAX_ORDERED: Final = 20_000
MAX_CARD_LINKS: Final = 10
"""Maximum number of links that are checked per element, to find out whether the element presents another
product."""
_UNSAID: Final = frozenset(("script", "style", "template", "select", "datalist"))
"""Elements whose texts are no part of the text of an element around them. A reader sees one option of a list at most."""
_WORDS: Final = re.compile(r"\w+")


T = TypeVar("T")


class Replayed(Generic[T]):
    """The values of an iterator, which can be read several times. Each value is computed when it is first read."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._known: list[T] = []

    def __iter__(self) -> Iterator[T]:
        at = 0
        while True:
            while at < len(self._known):
                yield self._known[at]
                at += 1
            for one in self._source:
                self._known.append(one)
                break
            else:
                return


class Shop:
    """A product page: its tree, the heading that names the product, and the ancestors of this heading
    (`above`)."""

    def __init__(self, page: Document) -> None:
        self.page = page
        self.tree = page.tree
        self.heading = _heading(page)
        above = list(_ancestors(self.heading, 200)) if self.heading else []
        self.above = frozenset(above)
        self._beside = above[0] if above else None
        self._others: dict[str, bool] = {}
        """Maps the class names and ids of an element, as one text, to a bool. The bool is true if the names
        mark a section about other products."""
        self._cards: dict[Element, bool] = {}
        """Maps an element to True if the element presents another product, otherwise to False."""
        self.structure = ProductCards(page.url, self.above, self.heading.text[:300] if self.heading else "")
        self._hidden = HiddenElements(page.tree)
        self._heads: dict[Element, bool] = {}
        self._near = frozenset(
            one for one in above[:NEAR_ANCESTORS] if one.tag not in ("body", "html", "main")
        )

    @once
    def small(self) -> Replayed[tuple[Element, str]]:
        """Small elements with a text of 1 to 120 characters, each with its text."""
        found = ((element, element_text(element, 9)) for element in self._elements)
        return Replayed((element, text) for element, text in found if 0 < len(text) <= 120)

    @once
    def by_buttons(self) -> tuple[str | None, bool]:
        """The availability that the product's own buttons show, and whether the page has any button for buying."""
        return _by_buttons(self.tree.select(_BUTTONS)[:3000], self)

    @once
    def _labels(self) -> list[tuple[Element, str, bool]]:
        """Returns a tuple (element, text, own) for each small element whose text begins with a known label.
        `own` is false if the element follows a heading for other products, such as "Related products"."""
        found, others, under, behind = [], set[Element](), False, self.heading is None
        labels = dict[str, bool]()
        for one in self._elements:
            if not behind:
                behind = one == self.heading
            elif one.tag in _CARD_HEADINGS:
                more, around = (
                    self.begins_more(one),
                    [above for above in _ancestors(one, 2) if above not in self.above],
                )
                others |= {around[-1]} if more and around else set()
                under = under if around else more
            first = next(iter(one.stripped_strings), "")
            if (is_label := labels.get(first)) is None:
                is_label = labels[first] = (
                    words.ANY_FIELD.match(words.lower(first[:MAX_LABEL_CHARS])) is not None
                )
            if is_label and 0 < len(text := element_text(one, 9)) <= 120:
                own = not under and not any(above in others for above in _ancestors(one, MAX_ANCESTORS))
                found.append((one, text, own))
        return found

    @once
    def _elements(self) -> list[Element]:
        return self.tree.select("th, dt, dd, td, li, strong, b, label, span, p, div, h1, h2, h3, h4, em")[
            :4000
        ]

    def ancestors(self, most: int) -> Iterator[Element]:
        """Yields the ancestors of the heading, the nearest one first."""
        return _ancestors(self.heading, most) if self.heading else iter(())

    def near(self, element: Element) -> bool:
        """Whether an element is an ancestor of the heading, or close to the heading."""
        return (
            element in self.above
            or self._beside in (element.parent, element.parent and element.parent.parent)
            or any(one in self._near for one in _ancestors(element, NEAR_ANCESTORS))
        )

    def elsewhere(self, element: Element) -> bool:
        """Whether an element belongs to a section about other products, or to a section that is not about
        products. A section that contains the product's heading does not count."""
        for node in (element, *_ancestors(element, MAX_ANCESTORS)):
            if node in self.above or node.tag in ("body", "main"):
                return False
            if node.tag in _ELSEWHERE or (node.tag in ("article", "li") and self._is_card(node)):
                return True
            names = author_names(node)
            if (is_other := self._others.get(names)) is None:
                is_other = self._others[names] = words.OTHERS.search(words.lower(names)) is not None
            if is_other:
                return True
        return False

    def _is_card(self, element: Element) -> bool:
        """Whether an element presents another product of the shop: it contains a heading that links to another
        page."""
        if (found := self._cards.get(element)) is None:
            found = self.heading is not None and any(
                self.structure.leads_away(attribute_of(link, "href"))
                for link in element.select("a[href]")[:MAX_CARD_LINKS]
                if (isinstance(link.parent, Element) and link.parent.tag in _CARD_HEADINGS)
                or link.select("h2, h3, h4")
            )
            self._cards[element] = found
        return found

    def of_another(self, element: Element) -> bool:
        """Whether an element belongs to another product, or to no product: `elsewhere` or `in_card`."""
        return self.elsewhere(element) or self.in_card(element)

    def in_card(self, element: Element) -> bool:
        """Whether an element stands in a card of another product, or below a heading for other products."""
        return self.structure.holds(self._chain(element)) or self.below_more(element)

    def follows_link(self, element: Element) -> bool:
        """Whether a link to another page stands before an element, in a container without the product's heading."""
        return self.structure.follows_link(self._chain(element))

    def _chain(self, element: Element) -> list[Element]:
        """Returns an element and its ancestors up to the first one that contains the product's heading."""
        found = [element]
        for node in _ancestors(element, MAX_ANCESTORS):
            if node in self.above or node.tag in ("body", "main", "html"):
                break
            found.append(node)
        return found

    def hidden(self, element: Element) -> bool:
        """Whether the page does not show an element."""
        return self._hidden.hides(element)

    @once
    def order(self) -> dict[Element, int]:
        """The positions in the document of headings and of elements that have a name."""
        return {one: place for place, one in enumerate(self.tree.select(_ORDERED)[:MAX_ORDERED])}

    def place(self, element: Element) -> int | None:
        """Returns the position of an element or of its nearest ancestor that has one."""
        return next(
            (self.order[one] for one in (element, *_ancestors(element, MAX_ANCESTORS)) if one in self.order),
            None,
        )

    @once
    def _more(self) -> list[tuple[int, Element | None]]:
        """The headings for other products after the page's own heading: the position of each, and the section that it
        heads. The section is None if the heading stands directly beside the product."""
        start = self.order.get(self.heading, 0) if self.heading else 0
        found = []
        for one in self.tree.select("h2, h3, h4, h5, h6")[:MAX_ELEMENTS]:
            at = self.order.get(one, 0)
            if at > start and self.begins_more(one):
                section: Element | None = None
                for node in _ancestors(one, MAX_HIDING):
                    if node in self.above or node.tag in ("body", "main", "html"):
                        break
                    section = node
                found.append((at, section))
        return found

    def below_more(self, element: Element) -> bool:
        """Whether an element stands below a heading for other products, in the same section."""
        if not self._more:
            return False
        at, chain = self.place(element), self._chain(element)
        return at is not None and any(
            start < at and (section is None or section in chain) for start, section in self._more
        )

    def begins_more(self, element: Element) -> bool:
        """Whether an element is a heading for other products, such as "Related products"."""
        if element.tag not in _SUBHEADINGS:
            return False
        if (found := self._heads.get(element)) is None:
            text = words.lower(element_text(element, 20))
            found = self._heads[element] = words.MORE.match(text) is not None
        return found

    def labelled_values(self, kind: str, own: bool = False) -> Iterator[str]:
        """Yields the values next to a label, in tables, in lists or after a colon. `kind`: the kind of label,
        one of `sku mpn brand publisher gtin stock`. If `own` is true, skips values below a heading for other
        products. Hidden texts about stock are skipped."""
        pattern = words.LABELS[kind]
        for element, text, mine in self._labels:
            found = pattern.match(text)
            if not found or (own and not mine):
                continue
            rest = text[found.end() :].lstrip(words.MARKS)
            if kind in ("sku", "mpn") and _JOINED.match(text, found.end()):
                # the label may be a part of the number (`SKU-1-oak`), so structured data decide
                if own:
                    continue
                rest = text
            elif not rest:
                rest = _pictured(element) or _beside(element)
            elif text[found.end()] not in words.MARKS or (
                kind == "brand" and not words.SAYS.match(text, found.end())
            ):
                continue
            if rest and not self.elsewhere(element) and not (kind == "stock" and self.hidden(element)):
                yield rest[:80]


_JOINED = re.compile(r"[-_]\w")


def _heading(page: Document) -> Element | None:
    """Returns the `h1` that shares the most words with the page's title and URL. If several `h1` share the
    most words, returns the first of them."""
    near = set(_WORDS.findall(f"{page.title or ''} {unquote(page.url[:2000]).replace('_', ' ')}".lower()))
    best: tuple[int, Element] | None = None
    for one in page.tree.select("h1")[:10]:
        text = one.text[:1000].lower()
        count = len(near & set(_WORDS.findall(text))) if text.strip() else -1
        if best is None or count > best[0]:
            best = (count, one)
    return best[1] if best else None


def element_text(element: Element, most: int = MAX_VALUE_NODES, struck: bool = True) -> str:
    """Returns the text of a small element with white space normalized. Numbers in different elements are
    separated by a space. Returns an empty text if the element has more than `most` nodes. If `struck` is
    false, leaves out struck-through text and elements whose class or id marks an old price."""
    inner = element.children
    if len(inner) == 1 and isinstance(inner[0], turbohtml.Text) and element.tag not in _UNSAID:
        return " ".join(inner[0].text[:1000].split())
    if len(inner) > most or not (struck or not _struck(element)):
        return ""
    parts: list[str] = []
    waiting: list[Any] = list(reversed(inner))
    for _ in range(most - 1):
        if not waiting:
            return " ".join("".join(parts).split())
        node = waiting.pop()
        if not isinstance(node, Element):
            text = node.text if isinstance(node, turbohtml.Text) else ""
            parts.append(_after_text(node, parts, text) if parts and text[:1].isdigit() else text[:1000])
        elif (tag := node.tag) not in _UNSAID and (struck or not _struck(node)):
            if tag in words.APART:
                parts.append(" ")
            waiting += reversed(node.children)
            if len(waiting) > most:
                return ""
    return ""


_CENTS_BEGIN: Final = re.compile(r"\d\d(?!\d|[.,]\d)")
_WHOLE_END: Final = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:([.,'’\s])\d{3})+|\d+)$")
_CENTS_NAME: Final = re.compile(
    r"(?:(?<![^\W\d_])(?i:c)|(?<=[a-z])C)ents?(?![a-z])|(?i:fraction|centimes|decimals?(?![a-z]))"
    r"|(?<![^\W\d_])(?i:dec|sup|minor|gr|kop)(?![a-z])"
)


_AMOUNT_END: Final = re.compile(r"\d[.,]\d\d\s?[^\d\s]{0,4}\s?$")
_NOTE: Final = re.compile(r"\d{1,2}\W?\s*")


def _after_text(node: turbohtml.Text, parts: list[str], text: str) -> str:
    """Returns a text that begins with a digit, as it reads after the `parts` of other elements. A space separates it
    from a number. If it is the cents of that number, a decimal mark does (`<b>49</b><sup>99</sup>`). The number of a
    footnote after a whole amount is left out (`49,99 €<sup>1</sup>`)."""
    parent, before = node.parent, parts[-1]
    is_raised = isinstance(parent, Element) and parent.tag == "sup"
    if is_raised and _NOTE.fullmatch(text) and _AMOUNT_END.search("".join(parts[-4:])):
        return ""
    if not before[-1:].isdigit():
        return text[:1000]
    is_cents = is_raised or (
        isinstance(parent, Element) and _CENTS_NAME.search(attribute_of(parent, "class")) is not None
    )
    whole = _WHOLE_END.search(before) if is_cents and _CENTS_BEGIN.match(text) else None
    mark = " " if whole is None else "," if whole[1] == "." else "."
    return f"{mark}{text}"


def _struck(element: Element) -> bool:
    return (
        element.tag in ("del", "s", "strike")
        or "line-through" in attribute_of(element, "style")
        or words.STRUCK.search(author_names(element)) is not None
    )


def author_names(element: Element) -> str:
    """Returns the names that the page's authors gave an element: its classes, its id and its test
    attributes."""
    return " ".join(
        value if isinstance(value, str) else " ".join(value or ())
        for name, value in element.attrs.items()
        if name in words.CALLED
    )


def _pictured(element: Element) -> str:
    """Returns the alternative text of the first picture in an element."""
    return next((attribute_of(image, "alt") for image in element.select("img[alt]")[:1]), "").strip()


def _beside(element: Element) -> str:
    """Returns the text after an element, or '' if that text begins with another label."""
    node = element.next_sibling
    for _ in range(5):
        text = (
            element_text(node)
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


def element_value(element: Element) -> str:
    """Returns the value of an element: an attribute, its text, or the alternative text of the picture in
    it."""
    text = attribute_of(element, "content") or attribute_of(element, "data-brand") or element_text(element)
    return text or (attribute_of(element, "alt") if element.tag == "img" else _pictured(element))


def shown_number(shop: Shop) -> str | None:
    """Returns the product's SKU from an element marked as a SKU. Three groups of marked elements are tried:
    the innermost marked element around the heading, the marked elements near the heading, and all marked
    elements of the page. The first group that contains exactly one SKU is used."""
    held = [one for one in shop.tree.select(words.NUMBERED)[:MAX_ELEMENTS] if not shop.elsewhere(one)]
    around = [one for one in held if one in shop.above]
    near = [one for one in held if shop.near(one)]
    for elements in (around[-1:], near, held):
        found = {number for one in elements if (number := _number_of(one))}
        if len(found) == 1:
            return found.pop()
    return None


def _number_of(element: Element) -> str | None:
    text = next(filter(None, (attribute_of(element, name) for name in words.HELD)), None)
    return bare_number(text[:200]) if text else product_number([bare_number(element.text[:200].strip())])


def held_number(shop: Shop) -> str | None:
    """Returns the product id in a data attribute of an element that contains the heading or is close to it.
    Shops put these ids into the page for their own scripts."""
    for name in words.ENTITIES:
        for element in shop.tree.select(f"[{name}]")[:MAX_ELEMENTS]:
            text = attribute_of(element, name).strip()
            if shop.near(element) and not shop.elsewhere(element) and product_number([text]) == text:
                return text
    return None


def product_number(values: Iterable[str]) -> str | None:
    """Returns the product number at the beginning of one of the values. If several values begin with a
    product number, the first of these values is used. A product number has 3 to 30 characters, and either
    contains a digit or consists of capitals with a hyphen or an underscore."""
    for value in values:
        word = value.partition(" ")[0].strip(".,;:()#[]\u200e")
        if 2 < len(word) <= 30 and (
            any(map(str.isdigit, word)) or (word.isupper() and ("-" in word or "_" in word))
        ):
            return word
    return None


def bare_number(text: str) -> str:
    """Removes the label before a product number (`sku:`) and the text after it."""
    text = text.replace("：", ":").rpartition(":")[2].strip()
    label = words.LABELS["sku"].match(text)
    if label and text[label.end() : label.end() + 1] in (" ", "#"):
        text = text[label.end() :].strip(words.MARKS)
    first = text.partition(" ")[0]
    return first if len(first) > 3 and any(map(str.isdigit, first)) else text


def number_in(url: str) -> str | None:
    """Returns the product number in a URL: the value of a parameter such as `sku`, or else the last product
    number in the path."""
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
