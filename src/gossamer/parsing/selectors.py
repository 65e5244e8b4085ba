"""Selections with the habits of the field: `css("h1::text").get()`, `xpath("//a/@href").getall()`, `re_first`, nesting.

Built on the page's one tree. A selected thing is an element or a text (a text node, an attribute, a value of XPath).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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

        What is found comes in the page's order.
        """
        found = _list(self.node, split(query)) if "::" in query and "," in query else _css(self.node, query)
        return Selection([Selector(one) for one in found])

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
    plain, take = _taken(query)
    elements = _select(node, plain) if plain or take is None else [node]
    return [found for element in elements for found in take(element)] if take else elements


def _list(node: Any, queries: list[str]) -> list[Any]:
    """What several selectors find, element by element in the page's order."""
    if isinstance(node, str):
        return []
    parts = [_taken(query) for query in queries]
    if not all(plain for plain, _ in parts):  # a bare `::text` is of the node itself, which comes first
        return [found for query in queries for found in _css(node, query)]
    chosen = [(set(_select(node, plain)), take) for plain, take in parts]
    found: list[Any] = []
    for element in _select(node, ", ".join(plain for plain, _ in parts)):
        for elements, take in chosen:
            if element in elements:
                found += take(element) if take else [element]
    return found


def _select(node: Any, plain: str) -> list[Any]:
    try:
        return list(node.select(plain))
    except Exception as error:  # noqa: BLE001 - as above
        raise ValueError(f"CSS selector {plain!r}: {error}") from None


def _taken(query: str) -> tuple[str, Callable[[Any], list[Any]] | None]:
    """A selector without its `::text` or `::attr()`, and what that takes of an element."""
    pseudo = _PSEUDO.search(query)
    if pseudo is None:
        return query, None
    plain, name = query[: pseudo.start()].strip(), pseudo[3]
    if name:
        return plain, lambda element: [_value(element.attrs[name])] if name in getattr(element, "attrs", ()) else []
    if pseudo[1] or not plain:  # `div ::text`: all texts within
        return plain, lambda element: list(element.strings)
    return plain, lambda element: [str(child.data) for child in element.children if isinstance(child, turbohtml.Text)]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(value or ())


def _number(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _html(node: Any) -> str:
    return str(node.html)
