"""Reads the prices that a product page shows. The role of each price is derived from class names, ids and
texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from gossamer.parsing import price_words
from gossamer.parsing import shop_words as words
from gossamer.parsing.currencies import is_subunit, spellings
from gossamer.parsing.html import attribute_of, once
from gossamer.parsing.prices import Price, price
from gossamer.parsing.products.candidates import CONFIDENCE, PriceCandidate, PriceRole
from gossamer.parsing.products.offers import as_shown
from gossamer.parsing.products.own_product import MAX_BARE_PRICE_CHARS, OwnProduct
from gossamer.parsing.products.unit_prices import UnitPrice, unit_prices
from gossamer.parsing.shop_page import (
    MAX_ELEMENTS,
    Element,
    Replayed,
    Shop,
    author_names,
    element_text,
)

CURRENT_PRICE_BONUS: Final = 20
"""The bonus in the ranking for an element whose class or id names the current price. The ranking treats the
element as if it were CURRENT_PRICE_BONUS places closer to the heading."""
MAX_BLOCK_CHARS: Final = 6000
"""Maximum length of the text around the heading that is searched for unit prices."""
_NEVER: Final = frozenset(
    ("script", "style", "del", "s", "strike", "body", "html", "form", "input", "select", "option", "template")
)
_SEVERAL: Final = re.compile(r"\d(?:\D{2,}|[^\d.,'’ʼ‘‛ʹ′·:\s])\d")
_RANGE: Final = re.compile(
    rf"(\d[\d.,'’ ]*\d|\d)(?:[.,][-–—])?{price_words.RANGE.pattern}(\d[\d.,'’ ]*\d|\d)(?!\s*%)", re.IGNORECASE
)
_CURRENCY: Final = re.compile(r"(?:(?<![^\W\d_])[A-Z]{1,3}\s?)?\0\.?")
"""Matches a currency whose known part is replaced by NUL: `CAN$`, `kr.`"""
_WHOLE_NUMBER: Final = re.compile(r"\D{0,8}\d{1,9}\D{0,8}")
_CENTS_NAME: Final = re.compile(r"^data-.*(?:cents?|fraction|decimals?|minor)", re.IGNORECASE)
_MEMBERS: Final = re.compile(r"member|(?<![a-z])club|loyal", re.IGNORECASE)
_FORMER: Final = (
    '[class*="price" i]:is([class*="old" i], [class*="original" i], [class*="regular" i], [class*="was" i], '
    '[class*="before" i], [class*="list" i], [class*="compare" i], [class*="former" i], [class*="previous" i])'
)
_DISCOUNT: Final = re.compile(r"[-–—−‑]\s?(\d{1,2})\s?%")
MAX_DISCOUNT_CHARS: Final = 300
MAX_DISCOUNT_LEVELS: Final = 4
_PLUS: Final = re.compile(r"\s*\+")
_STRUCK: Final = (
    'del, s, strike, [style*="line-through"], [class*="through" i], [class*="old" i], '
    '[class*="was" i], [class*="regular" i], [class*="list" i], '
    '[class*="strike" i], [class*="compare" i], [data-regular-price]'
)
Key = tuple[bool, bool, bool, bool, int, int]


class ShownPrice(NamedTuple):
    """A price that an element of the page shows."""

    element: Element
    text: str
    price: Price
    role: PriceRole
    key: Key
    """The sort key of the price. The shown price with the smallest sort key counts as the price that a buyer
    pays."""
    is_named: bool
    """Whether a class or an id names a price."""

    @property
    def tax_included(self) -> bool | None:
        """Whether the price includes taxes, or None if the text does not mention taxes."""
        return tax_of(self.text)

    @property
    def place(self) -> str:
        """The class, the id or the tag of the element."""
        names = attribute_of(self.element, "class").split() or attribute_of(self.element, "id").split()
        return (
            f".{names[0]}"
            if attribute_of(self.element, "class")
            else f"#{names[0]}"
            if names
            else self.element.tag
        )


class ShownPrices:
    """The prices of a page's elements. `hint`: the currency of texts that name no currency. `said` returns the
    amounts in the page's meta elements or tracking events. A shown price with one of these amounts counts as
    the price that a buyer pays. `is_told`: whether structured data describe a product of the page."""

    def __init__(
        self,
        shop: Shop,
        hint: str | None,
        said: Callable[[], frozenset[Decimal]] = frozenset,
        is_told: bool = False,
    ) -> None:
        self._shop = shop
        self._hint = hint
        self._said = said
        self._is_told = is_told

    @once
    def best(self) -> ShownPrice | None:
        """The price that a buyer pays. Elements whose class or id names a price are preferred, in particular
        elements near the product's heading. If the page has no such element, or if all of them are doubtful,
        the price is the first text that is only a price."""
        best = min(self._own_named, key=lambda one: one.key, default=None)
        if best and best.price.amount and (less := reduced(self, best.price.amount)):
            return less
        if best and not words.BARE_PRICE.fullmatch(best.text):
            best = next(filter(partial(_is_part, best), self._named), best)
        if best and (best.price.amount in self._said() or not (best.key[2] or best.key[3])):
            own = self._bare if self._said() and best.price.amount not in self._said() else None
            return own if own and own.price.amount in self._said() else best
        return self._bare or (None if best and _is_for_members(best) else best)

    @property
    def is_named(self) -> bool:
        """Whether an element whose class or id names a price shows one that a buyer may pay."""
        return bool(self._named)

    @property
    def is_clear(self) -> bool:
        """Whether `best` is certainly what a buyer pays: an element near the product that is named for its price."""
        best = self.best
        if best is None or not best.is_named or self.rivals:
            return False
        has_no_currency, _, is_apart, is_doubtful, *_ = best.key
        return not (has_no_currency or is_apart or is_doubtful)

    @property
    def is_range(self) -> bool:
        """Whether the text of `best` is a range of prices, such as `49 – 189 €`."""
        return self.best is not None and is_range(self.best.text)

    def pays(self, amount: Decimal) -> bool:
        """Whether the page shows an amount as a price that a buyer may pay."""
        own = [self.best] if self.best else []
        return any(
            one.price.amount == amount and one.role == PriceRole.PRICE and not one.key[3]
            for one in (*self._own_named, *own)
        )

    def pays_plainly(self, amount: Decimal) -> bool:
        """Whether a named element shows an amount as a price that a buyer may pay. Reads only as many elements as
        needed, so that a page that agrees with its structured data costs little."""
        return any(
            found.amount == amount
            and role is None
            and role_by_text(element, text) is None
            and not _doubtful(self._shop, element, text, found)
            and self.own.may_own(element)
            for element, _, text, found, role in self._called
        )

    def lists(self, amount: Decimal) -> bool:
        """Whether the page shows an amount as a former price of its product."""
        best = self.best
        if (
            best is not None
            and best.price.amount
            and _struck_above(self._shop, self._hint, best.price.amount) == amount
        ):
            return True
        return any(
            one.price.amount == amount
            and one.role == PriceRole.LIST_PRICE
            and not self._shop.in_card(one.element)
            for one in (*self._named, *self._other)
        )

    @property
    def _own_named(self) -> Iterator[ShownPrice]:
        return (one for one in self._named if self.own.may_own(one.element))

    @property
    def related(self) -> list[Element]:
        """The elements that are named for their price and show the price of another product."""
        return [one.element for one in self._other if one.role == PriceRole.RELATED]

    @once
    def own(self) -> OwnProduct:
        """Decides which prices may belong to the page's own product."""
        return OwnProduct(self._shop, self, self._is_told or bool(self._said()))

    @once
    def rivals(self) -> list[ShownPrice]:
        """Prices that compete with `best`. A competing price has the same role as `best` and a different
        amount. The element of a competing price has the same class names and the same parent as the element
        of `best`. The page does not show which of these prices a buyer pays."""
        best = self.best
        if best is None or not best.is_named or best.price.amount in self._said():
            return []
        names = author_names(best.element)
        return [
            one
            for one in self._named
            if one.price.amount != best.price.amount
            and one.key[:4] == best.key[:4]
            and one.role == best.role
            and one.element.parent == best.element.parent
            and one.element.tag == best.element.tag
            and author_names(one.element) == names
            and not best.tax_included
        ]

    def candidates(self, currency: str | None) -> Iterator[PriceCandidate]:
        """Yields all shown prices. `currency` is used for prices without a currency."""
        bare = [self._bare] if self._bare else []
        for one in [*self._named, *self._other, *bare]:
            source = "class" if one.is_named else "text"
            if one.price.amount is not None:
                yield PriceCandidate(
                    one.price.amount,
                    one.price.iso or currency,
                    one.text[:200],
                    source,
                    one.place,
                    CONFIDENCE[source],
                    one.role,
                    one.tax_included,
                )

    def former_price(self, now: Decimal) -> Decimal | None:
        """Returns the former price of the product, which is higher than the current price `now`, or None."""
        if (struck := _struck_above(self._shop, self._hint, now)) is not None:
            return struck
        listed = [
            one.price.amount
            for one in (*self._named, *self._other)
            if one.role == PriceRole.LIST_PRICE
            and one.price.amount is not None
            and now < one.price.amount < 20 * now
            and not self._shop.in_card(one.element)
        ]
        return min(listed, default=None)

    @once
    def _called(self) -> Replayed[tuple[Element, int, str, Price, PriceRole | None]]:
        """A tuple (element, rank of the name, text, price, role) for each element whose class or id names a price.
        The role is None if the buyer may pay the price."""
        return Replayed(_called(self._shop, self._hint))

    @once
    def _named(self) -> list[ShownPrice]:
        """The prices that the buyer may pay."""
        return list(self._judged(None))

    @once
    def _other(self) -> list[ShownPrice]:
        """The prices in elements whose class or id names a role, for example the role of a former price."""
        return [one for role in PriceRole for one in self._judged(role)]

    @once
    def _places(self) -> tuple[dict[Element, int], int, int]:
        """Three values: the positions of elements in the document, the start of the product, and the end of
        the product. The product starts at its heading and ends at the next heading for other products."""
        order = self._shop.order
        start = order.get(self._shop.heading, 0) if self._shop.heading else 0
        heads = (
            order[one]
            for one in self._shop.tree.select("h2, h3, h4, h5, h6")
            if one in order and self._shop.begins_more(one)
        )
        return order, start, next((at for at in heads if at > start), len(order))

    def _judged(self, wanted: PriceRole | None) -> Iterator[ShownPrice]:
        for element, rank, text, found, role in self._called:
            if role != wanted:
                continue
            order, start, end = self._places
            by_text = None if role else role_by_text(element, text)
            place = order.get(element, 0)
            bonus = CURRENT_PRICE_BONUS if words.NOW.search(author_names(element)) else 0
            key = (
                found.currency is None,
                found.amount not in self._said() or element.tag == "meta",
                not start <= place < end,
                by_text is not None or _doubtful(self._shop, element, text, found),
                rank if rank < 2 else 2,
                place - start - bonus if place >= start else start - place,
            )
            yield ShownPrice(element, text, found, role or by_text or PriceRole.PRICE, key, True)

    @once
    def _bare(self) -> ShownPrice | None:
        """The bare price that is used for the page, or None. A bare price is a short text that contains a
        price with its currency and little else. The first bare price after the heading is used. If no bare
        price follows the heading, the last bare price before the heading is used."""
        shop, first, ahead = self._shop, None, None
        behind = shop.heading is None or not any(element == shop.heading for element, _ in shop.small)
        for element, text in shop.small:
            if element == shop.heading:
                behind = True
            elif behind and shop.begins_more(element):
                break
            elif (
                len(text) <= MAX_BARE_PRICE_CHARS
                and words.BARE_PRICE.fullmatch(text)
                and not words.COUNT.match(text)
            ):
                found = price(element_text(element, struck=False), None)
                if (
                    found is None
                    or not found.amount
                    or not found.currency
                    or is_subunit(found.currency, found.iso)
                    or not (behind or shop.near(element))
                ):
                    continue
                if _is_bare(element, text, shop):
                    key = (False, found.amount not in self._said(), not behind, False, len(words.PRICES), 0)
                    one = ShownPrice(element, text, found, PriceRole.PRICE, key, False)
                    if not self.own.may_own(element):
                        continue
                    if behind and (not self._said() or found.amount in self._said()):
                        return one
                    first, ahead = (first or one, ahead) if behind else (first, one)
        return first or ahead


def reduced(shown: ShownPrices, amount: Decimal) -> ShownPrice | None:
    """Returns the price that remains of an amount after the discount in percent that the page shows beside both,
    or None. A class of the amount's element calls the amount a former price."""
    digits = str(amount).split(".")[0]
    for element in shown._shop.tree.select(_FORMER)[:MAX_ELEMENTS]:
        text = element_text(element, 12)
        if digits not in _digits(text) or not words.STRUCK.search(author_names(element)):
            continue
        if (found := _read(text, shown._hint)) is None or found.amount != amount:
            continue
        for around in islice(element.ancestors, MAX_DISCOUNT_LEVELS):
            if not isinstance(around, Element) or len(beside := around.text) > MAX_DISCOUNT_CHARS:
                break
            rates = [Decimal(rate) for rate in _DISCOUNT.findall(beside)]
            for one in shown._named if rates else ():
                paid = one.price.amount or amount
                # a rate is a whole number of percent, the price is often rounded to a whole number, too
                if (
                    around in one.element.ancestors
                    and one.role == PriceRole.PRICE
                    and not one.key[3]
                    and paid < amount
                    and any(abs(amount * (100 - rate) / 100 - paid) <= amount / 100 for rate in rates)
                ):
                    return one
    return None


def _called(shop: Shop, hint: str | None) -> Iterator[tuple[Element, int, str, Price, PriceRole | None]]:
    """Yields the elements whose class or id names a price, as `ShownPrices._called` describes them."""
    seen = set[Element]()
    for rank, selector in enumerate(words.PRICES):
        for element in shop.tree.select(selector)[:MAX_ELEMENTS]:
            if element in seen:
                continue
            seen.add(element)
            text = _price_text(element)
            found = _read(text, hint) if text else None
            if (
                found is not None
                and found.amount is not None
                and found.amount > 0
                and (element.tag == "meta" or element.attrs.get("content") or not shop.hidden(element))
            ):
                yield element, rank, text, found, _role(shop, element)


def _role(shop: Shop, element: Element) -> PriceRole | None:
    """Returns the role that the names, the parts and the place of an element give its price."""
    if (role := role_by_names(element)) is not None:
        return role
    if shop.of_another(element):
        return PriceRole.RELATED
    is_old = len(element.children) and not any(map(str.isdigit, element_text(element, struck=False)))
    return PriceRole.LIST_PRICE if is_old and any(map(str.isdigit, element_text(element))) else None


def _struck_above(shop: Shop, hint: str | None, now: Decimal) -> Decimal | None:
    """Returns a struck-through or former price, or None. The returned price is higher than the current
    price `now`, and an element around the returned price also shows `now`."""
    digits = str(now).split(".")[0]
    for element in shop.tree.select(_STRUCK)[:MAX_ELEMENTS]:
        if not (element.tag in ("del", "s", "strike") or _old(element)) or shop.in_card(element):
            continue
        found = price(element_text(element), hint)
        if found is None or found.amount is None or not now < found.amount < 20 * now:
            continue
        around: object = element.parent
        for _ in range(4):
            if not isinstance(around, Element) or around.tag == "html":
                break
            text = around.text
            if len(text) > 1000:
                break
            rest = text.replace(element.text, " ", 1)
            if digits in "".join(char for char in rest if char.isdigit()):
                return found.amount
            around = around.parent
    return None


def _read(text: str, hint: str | None) -> Price | None:
    found = price(text, hint)
    if found is None or found.amount is None or "." not in text:
        return found
    return Price(as_shown(found.amount), found.currency, found.iso)


def _is_for_members(one: ShownPrice) -> bool:
    """Whether only members pay a price, by the names of its element or by the first word of its text."""
    return (
        _MEMBERS.search(author_names(one.element)) is not None
        or words.TEXT_ROLES["member-price"].match(words.lower(one.text)) is not None
    )


def _is_part(whole: ShownPrice, part: ShownPrice) -> bool:
    """Whether `part` is inside `whole` and contains only the price of `whole`, without the label. The label may stand
    directly before the currency sign, or before an amount in two elements, so `whole` may show another amount."""
    return (
        (part.price.amount == whole.price.amount or whole.text.endswith(part.text))
        and part.key[:4] == whole.key[:4]
        and words.BARE_PRICE.fullmatch(part.text) is not None
        and whole.element in part.element.ancestors
    )


def _is_bare(element: Element, text: str, shop: Shop) -> bool:
    """Whether a price may be the price that a buyer pays. `text`: a text that contains only this price."""
    return not (
        role_by_names(element)
        or _is_in_unit_price(element)
        or shop.hidden(element)
        or shop.of_another(element)
        or words.DOUBTFUL.search(author_names(element))
        or words.ANY_LABEL.match(words.lower(text))  # a label may look like a currency, as in `AD ID 17`
        or role_by_text(element, text)
    )


def _is_in_unit_price(element: Element) -> bool:
    """Whether the parent of an element is named for a unit price: `<p class=unit-price><b>9 €</b>/kg</p>`."""
    parent = element.parent
    return (
        isinstance(parent, Element)
        and parent.tag not in ("body", "main")
        and words.NAME_ROLES["unit-price"].search(author_names(parent)) is not None
    )


def _price_text(element: Element) -> str:
    """Returns the text of an element that may contain a price, or ''. Where an attribute for scripts has another
    number than the text, the text counts; where both have the same digits, the attribute shows the decimals."""
    text = element_text(element)
    if not 0 < len(text) < 120 or not any(map(str.isdigit, text)):
        text = ""
    attrs = element.attrs
    said = next((value for name in words.PRICED if isinstance(value := attrs.get(name), str) and value), "")
    if said and (not text or ("." in said and _digits(said) == _digits(text) and not _states(text, said))):
        text = said
    if not 0 < len(text) < 120 or not any(map(str.isdigit, text)):
        return ""
    if _SEVERAL.search(text) and text is not said:
        text = element_text(element, struck=False)
        half = len(text) // 2
        if text[:half] == text[half + len(text) % 2 :]:  # one of two copies is for screen readers
            text = text[:half]
    return _with_cents(element, text)


def _states(text: str, amount: str) -> bool:
    """Whether a text has the two decimals of an amount, so that the attribute with the amount adds nothing."""
    decimals = amount.rpartition(".")[2]
    return len(decimals) == 2 and (f",{decimals}" in text or f".{decimals}" in text)


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit()).lstrip("0")


def _with_cents(element: Element, text: str) -> str:
    """Returns a text with the cents that an attribute of the element or of a part of it has: `<b data-cents="99">49</b>`,
    where the text is a whole number."""
    if not _WHOLE_NUMBER.fullmatch(text):
        return text
    for one in (element, *element.select("*")[:5]):
        for name, value in one.attrs.items():
            if isinstance(value, str) and _CENTS_NAME.search(name) and value.isdecimal():
                whole = _digits(text)
                cents = (
                    value if len(value) == 2 else value.removeprefix(whole) if value.startswith(whole) else ""
                )
                if len(cents) == 2:
                    digits = text.rstrip()
                    end = max(at for at, char in enumerate(digits) if char.isdigit()) + 1
                    return f"{digits[:end]}.{cents}{digits[end:]}"
    return text


def role_by_names(element: Element) -> PriceRole | None:
    """Returns the role of a price, derived from the class names and ids of its element, or None. A result of
    None does not mean that the price is the current price."""
    names = author_names(element)
    if element.tag in _NEVER:
        return PriceRole.LIST_PRICE
    if words.NOT_NOW_NAMES.search(words.lower(names)):
        return next(PriceRole(role) for role, pattern in words.NAME_ROLES.items() if pattern.search(names))
    return PriceRole.LIST_PRICE if _old(element) else None


def role_by_text(element: Element, text: str) -> PriceRole | None:
    """Returns the role of a price, derived from the text around it, or None."""
    if _PLUS.match(text):
        return PriceRole.SURCHARGE
    for part in (words.lower(text), words.lower(_around(element, text)), _label(element)):
        if part and words.NOT_NOW.search(part):
            return next(PriceRole(role) for role, pattern in words.TEXT_ROLES.items() if pattern.search(part))
    return PriceRole.UNIT_PRICE if "/" in text and unit_prices(text) else None


def tax_of(text: str) -> bool | None:
    """Returns whether the price in a text includes taxes, or None if the text does not mention taxes."""
    text = words.lower(text)
    if words.WITH_TAX.search(text):
        return True
    return False if words.TEXT_ROLES["without-tax"].search(text) else None


def _doubtful(shop: Shop, element: Element, text: str, found: Price) -> bool:
    """Whether a price is probably not the price that a buyer pays. A price is doubtful if the price is
    hidden, if the text has several prices, or if a class or id names a price that only some buyers pay."""
    several = found.currency is not None and text.count(found.currency) > 1 and not is_range(text)
    return (
        several
        or words.DOUBTFUL.search(author_names(element)) is not None
        or (element.tag != "meta" and shop.hidden(element))
    )


def is_range(text: str) -> bool:
    """Whether a text is a range of prices.

    >>> is_range("49,00 € – 189,00 €"), is_range("from $49 to $189"), is_range("49,- €"), is_range("-20% 49 €")
    (True, True, False, False)
    """
    text = text[:200]
    plain = spellings().sure.sub("\0", text)
    if named := price(text):
        plain = plain.replace(named.currency or "\0", "\0")
    found = _RANGE.search(_CURRENCY.sub(" ", plain))
    if found is None:
        return False
    low, high = price(found[1]), price(found[2])
    return low is not None and high is not None and 0 < (low.amount or 0) < (high.amount or 0)


def _label(element: Element) -> str:
    """Returns the label before a price in lower case: a `dt` or `th`, a text that ends with a colon, or an element
    that is named a label. Returns '' if another number stands between."""
    node: object = element
    for _ in range(2):
        if not isinstance(node, Element):
            break
        before = node.previous_sibling
        while before is not None and not (
            text := element_text(before, 12)
            if isinstance(before, Element)
            else " ".join(before.text[:80].split())
        ):
            before = before.previous_sibling
        if before is not None:
            is_label = isinstance(before, Element) and (
                before.tag in ("dt", "th", "label") or "label" in words.lower(author_names(before))
            )
            text = words.lower(text)
            says = len(text) <= 40 and not any(map(str.isdigit, text))
            return text if says and (is_label or text.endswith((":", "："))) else ""
        node = node.parent
    return ""


def _around(element: Element, text: str) -> str:
    """Returns the text of the element around a price. Returns '' if this text is long or contains another
    number."""
    parent = element.parent
    if not isinstance(parent, Element) or parent.tag in ("body", "main"):
        return ""
    around = element_text(parent, 12)
    before, _, after = around.partition(text)
    return "" if len(around) > 80 or any(map(str.isdigit, before + after)) else around


def _old(element: Element) -> bool:
    parent = element.parent
    return (
        element.tag in _NEVER
        or words.OLD.search(author_names(element)) is not None
        or "line-through" in attribute_of(element, "style")
        or (isinstance(parent, Element) and words.STRUCK.search(author_names(parent)) is not None)
    )


def unit_price_beside(shop: Shop, now: Decimal | None, own: UnitPrice | None) -> UnitPrice | None:
    """Returns the unit price that the page shows near the product's heading, or None. If the page shows
    several unit prices, they are compared with the computed unit price `own`. A unit price in the same unit
    and within 5% of `own` is preferred. Otherwise, a unit price in the same unit is preferred."""
    block: Element | None = None
    for one in (shop.heading, *shop.ancestors(6)):
        if one is None or one.tag == "html" or len(one.text) > MAX_BLOCK_CHARS:
            break
        block = one
    if block is None or shop.heading is None:
        return None
    text = " ".join(block.to_text().split())
    found = unit_prices(text[max(0, text.find(" ".join(shop.heading.text.split()))) :])
    if own is not None:
        found.sort(key=lambda one: (one.unit != own.unit, abs(one.amount - own.amount) > own.amount / 20))
    return next((one for one in found if one.amount != now or len(found) == 1), None)


def currency_of(found: Price, url: str, language: str | None) -> str | None:
    """Returns the ISO 4217 code of a price's currency. Several currencies share some signs (`$ kr ¥ Rs`). The
    currency of a shared sign is derived from the country code of the host, or else from the page's language.
    If the host and the language do not determine the currency, returns the most common currency.

    >>> [currency_of(price("$1"), url, "en-AU") for url in ("https://shop.com.ar/a", "https://shop.example/a")]
    ['ARS', 'AUD']
    >>> currency_of(price("$1"), "https://t.co/a", None), currency_of(price("9 kr."), "https://shop.example", "da")
    ('USD', 'DKK')
    """
    known = words.SIGNS.get((found.currency or "").lower().rstrip("."))
    if known is None:
        return found.iso
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        labels = [""]
    # .co is used worldwide, .com.co only in Colombia
    country = "" if labels[-1] == "co" and labels[-2:-1] != ["com"] else labels[-1]
    speech, _, region = (language or "").lower().partition("-")
    return (
        known.get(country)
        or known.get(region)
        or (known.get(speech) if known is not words.SIGNS["$"] else None)
        or found.iso
    )
