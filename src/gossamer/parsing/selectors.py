"""Selections with the habits of the field: `css("h1::text").get()`, `xpath("//a/@href").getall()`, `re_first`, nesting.

Built on the page's one tree. A selected thing is an element or a text (a text node, an attribute, a value of XPath).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from re import Pattern
from typing import Any, SupportsIndex, overload

import turbohtml

_PSEUDO = re.compile(r"(\s*)::(text|attr\(\s*([^)\s]+)\s*\))\s*$")


class Selector:
    """One selected thing."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def css(self, query: str) -> Selection:
        """What a CSS selector finds below; `::text` gives text nodes, `::attr(name)` values. Raises ValueError for a bad one.

        Elements come in the page's order; a list in which one part asks for texts or values gives part after part.
        """
        parts = split(query) if "::" in query and "," in query else (query,)
        return Selection([Selector(found) for part in parts for found in _css(self.node, part)])

    def xpath(self, query: str) -> Selection:
        """What an XPath 1.0 expression gives. Raises ValueError for a bad one."""
        if isinstance(self.node, str):
            return Selection([])
        try:
            found = self.node.xpath(query)
        except Exception as error:  # noqa: BLE001 - turbohtml's errors have no common kind
            raise ValueError(f"XPath {query!r}: {error}") from None
        if not isinstance(found, list):
            found = [found if isinstance(found, str) else _number(found)]
        return Selection([Selector(one) for one in found])

    def get(self) -> str:
        """The text, or the element's HTML."""
        return self.node if isinstance(self.node, str) else _html(self.node)

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """What a regular expression finds in it: the groups when it has some, else the whole match."""
        found: list[str] = []
        for match in re.finditer(pattern, self.get()):
            groups = match.groups()
            found += [group or "" for group in groups] if groups else [match[0]]
        return found

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """The first of `re`."""
        return next(iter(self.re(pattern)), default)

    def price(self, query: str) -> Decimal | None:
        """The amount of the first price in what a CSS selector finds, None when there is none."""
        from gossamer.parsing.prices import price

        for one in self.css(query):
            found = price(one.text)
            if found is not None and found.amount is not None:
                return found.amount
        return None

    @property
    def attrib(self) -> dict[str, str]:
        """The element's attributes."""
        if isinstance(self.node, str) or not hasattr(self.node, "attrs"):
            return {}
        return {name: _value(value) for name, value in self.node.attrs.items()}

    @property
    def text(self) -> str:
        """All text in it, blanks folded."""
        return " ".join((self.node if isinstance(self.node, str) else self.node.text).split())

    def __repr__(self) -> str:
        return f"<Selector {self.get()[:60]!r}>"


class Selection(Sequence[Selector]):
    """What was selected, in order; empty when nothing was."""

    __slots__ = ("_found",)

    def __init__(self, found: list[Selector]) -> None:
        self._found = found

    @overload
    def __getitem__(self, at: SupportsIndex) -> Selector: ...
    @overload
    def __getitem__(self, at: slice) -> Selection: ...
    def __getitem__(self, at: Any) -> Any:
        return Selection(self._found[at]) if isinstance(at, slice) else self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Selector]:
        return iter(self._found)

    def css(self, query: str) -> Selection:
        """`css` of each."""
        return Selection([found for one in self._found for found in one.css(query)])

    def xpath(self, query: str) -> Selection:
        """`xpath` of each."""
        return Selection([found for one in self._found for found in one.xpath(query)])

    def get(self, default: str | None = None) -> str | None:
        """The first as text or HTML."""
        return self._found[0].get() if self._found else default

    def getall(self) -> list[str]:
        """Each as text or HTML."""
        return [one.get() for one in self._found]

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """`re` of each."""
        return [found for one in self._found for found in one.re(pattern)]

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """The first that the expression finds."""
        return next(iter(self.re(pattern)), default)

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the first."""
        return self._found[0].attrib if self._found else {}

    def __repr__(self) -> str:
        return f"<Selection of {len(self)}: {self._found[:3]}>"


def split(query: str) -> list[str]:
    """The selectors of a list: at commas that stand in no bracket and no string.

    >>> split("h1::text, a[title='x,y']")
    ['h1::text', "a[title='x,y']"]
    """
    parts, depth, quote, start = [], 0, "", 0
    for at, char in enumerate(query):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(query[start:at].strip())
            start = at + 1
    return [*parts, query[start:].strip()]


def _css(node: Any, query: str) -> list[Any]:
    if isinstance(node, str):
        return []
    pseudo = _PSEUDO.search(query)
    plain = query[: pseudo.start()].strip() if pseudo else query
    try:
        elements = [node] if pseudo and not plain else node.select(plain)
    except Exception as error:  # noqa: BLE001 - as above
        raise ValueError(f"CSS selector {query!r}: {error}") from None
    if pseudo is None:
        return list(elements)
    if pseudo[3]:
        return [_value(element.attrs[pseudo[3]]) for element in elements if pseudo[3] in getattr(element, "attrs", ())]
    if pseudo[1] or not plain:  # `div ::text`: all texts within
        return [text for element in elements for text in element.strings]
    return [str(child.data) for element in elements for child in element.children if isinstance(child, turbohtml.Text)]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(value or ())


def _number(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _html(node: Any) -> str:
    return str(node.html)
