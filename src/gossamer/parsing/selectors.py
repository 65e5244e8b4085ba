"""Selects parts of a page with CSS, XPath and JSON paths.

Selectors follow the conventions of parsel: `css("h1::text").get()`, `xpath("//a/@href").getall()`,
`re_first`, and selectors on selected elements. All selectors of a page use the same parsed tree. A selected
node is an element or a text (a text node, an attribute value, a value of an XPath expression). The extensions
of parsel to CSS and XPath are supported: `::text`, `::attr(name)`, `:contains("text")`, `has-class("name")`.

`pick` reads paths into JSON: `data.items[0].name`, `items[*].id`, `items[-1]["odd.name"]`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from re import Pattern
from typing import Any, NamedTuple, SupportsIndex, overload

from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.url import patterns

_STEP = lazy_pattern(r"""\.?(?:\[(?:(-?\d{1,9}|\*)|"([^"]*)"|'([^']*)')\]|([^.\[\]"'\s][^.\[\]"']*))""")

ALL_MEMBERS = None
"""Stands for the step `[*]` in a parsed path. The step selects all members of a list."""


def pick(value: Any, path: str) -> Any:
    """Returns the value at a path in nested dicts and lists. Returns None if there is nothing at the path,
    and a list if the path contains `[*]`.

    Raises ValueError if the path is malformed.

    >>> pick({"items": [{"id": 1}, {"id": 2}]}, "items[*].id"), pick({"a": [1, 2]}, "a[-1]"), pick({"a": 1}, "b.c")
    ([1, 2], 2, None)
    """
    return _walk(value, _steps(path), 0)


def _walk(value: Any, steps: tuple[str | int | None, ...], at: int) -> Any:
    for place in range(at, len(steps)):
        step = steps[place]
        if step is ALL_MEMBERS:
            return [_walk(one, steps, place + 1) for one in value] if isinstance(value, list) else None
        if isinstance(value, list):
            number = int(step) if isinstance(step, int) or step.lstrip("-").isdecimal() else len(value)
            value = value[number] if -len(value) <= number < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


@lru_cache(maxsize=500)
def _steps(path: str) -> tuple[str | int | None, ...]:
    """Returns the steps of a path: names, indexes of lists, and ALL_MEMBERS for `[*]`."""
    text = path.strip().removeprefix("$")
    steps: list[str | int | None] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path into JSON: write it as data.items[0].name, items[*].id or a['b.c']"
            )
        index, *names = match.groups()
        steps.append(
            next(name for name in names if name is not None)
            if index is None
            else ALL_MEMBERS
            if index == "*"
            else int(index)
        )
        at = match.end()
    return tuple(steps)


_PSEUDO = lazy_pattern(r"(\s*)::(text|attr\(\s*([^)\s]+)\s*\))\s*$")
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_CONTAINS = lazy_pattern(rf""":contains\(\s*({_QUOTED}|[^\s()"']+)\s*\)""")
_HAS_CLASS = lazy_pattern(rf"has-class\(\s*({_QUOTED}(?:\s*,\s*{_QUOTED})*)\s*\)")


class Selector:
    """A selected element or text."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def css(self, query: str) -> Selection:
        """Selects with CSS. The search includes the element itself and its descendants. `::text` returns text
        nodes, and `::attr(name)` returns attribute values.

        The results are in document order. Raises ValueError for an invalid selector.
        """
        if isinstance(self.node, str):
            return Selection([])
        return Selection(_marked(self.node, query))

    def xpath(self, query: str, **variables: Any) -> Selection:
        """Evaluates an XPath 1.0 expression. Each keyword argument `name` sets the variable `$name` of the
        expression. Raises ValueError for an invalid expression."""
        if isinstance(self.node, str):
            return Selection([])
        try:
            found = self.node.xpath(_HAS_CLASS.sub(_has_class, query), **variables)
        except Exception as error:  # noqa: BLE001 - turbohtml's errors have no common kind
            raise ValueError(f"XPath {query!r}: {error}") from None
        if not isinstance(found, list):
            found = [found if isinstance(found, str) else _number(found)]
        return Selection(found)

    def get(self) -> str:
        """Returns the text, or the element's HTML."""
        return _html(self.node)

    def getall(self) -> list[str]:
        """Returns a list that contains only the result of `get`."""
        return [self.get()]

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """Returns all matches of a regular expression in the text or HTML. If the expression has groups,
        returns their texts instead of the whole matches."""
        text = self.get().replace("&nbsp;", "\u00a0")
        return [group for groups in patterns.matches(pattern, text) for group in groups]

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """Returns the first result of `re`, or `default` if there is none."""
        return next(iter(self.re(pattern)), default)

    def price(self, query: str) -> Decimal | None:
        """Returns the amount of the first price in the elements that a CSS selector finds, or None."""
        from gossamer.parsing.prices import price

        for one in self.css(query):
            found = price(one.text)
            if found is not None and found.amount is not None:
                return found.amount
        return None

    @property
    def attrib(self) -> dict[str, str]:
        """The element's attributes. Empty for a text."""
        if isinstance(self.node, str) or not hasattr(self.node, "attrs"):
            return {}
        return {name: _value(value) for name, value in self.node.attrs.items()}

    @property
    def text(self) -> str:
        """All text in the node. Each run of white space becomes one space."""
        return " ".join((self.node if isinstance(self.node, str) else self.node.text).split())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and bool(self.node == other.node)

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"<Selector {self.get()[:60]!r}>"


class Selection(Sequence[Selector]):
    """A sequence of selected nodes, which may be empty. A Selector is created only when an entry is
    accessed."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Sequence[Any]) -> None:
        self._nodes = nodes

    @overload
    def __getitem__(self, at: SupportsIndex) -> Selector: ...
    @overload
    def __getitem__(self, at: slice) -> Selection: ...
    def __getitem__(self, at: Any) -> Any:
        return Selection(self._nodes[at]) if isinstance(at, slice) else Selector(self._nodes[at])

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Selector]:
        return map(Selector, self._nodes)

    def css(self, query: str) -> Selection:
        """Applies `Selector.css` to each entry and returns all results."""
        return Selection([found for one in self for found in one.css(query)._nodes])

    def xpath(self, query: str, **variables: Any) -> Selection:
        """Applies `Selector.xpath` to each entry and returns all results."""
        return Selection([found for one in self for found in one.xpath(query, **variables)._nodes])

    @overload
    def get(self, default: str) -> str: ...
    @overload
    def get(self, default: None = None) -> str | None: ...
    def get(self, default: str | None = None) -> str | None:
        """Returns the first entry as text or HTML, or `default` if there are no entries."""
        return _html(self._nodes[0]) if self._nodes else default

    def getall(self) -> list[str]:
        """Returns each entry as text or HTML."""
        return [_html(node) for node in self._nodes]

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """Returns the matches of a regular expression in all entries."""
        return [found for one in self for found in one.re(pattern)]

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """Returns the first match of the expression in any entry, or `default`."""
        return next(iter(self.re(pattern)), default)

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the first entry in the selection. Empty if the selection has no entries."""
        return self[0].attrib if self._nodes else {}

    def __repr__(self) -> str:
        return f"<Selection of {len(self)}: {list(self[:3])}>"


def split_selectors(query: str) -> list[str]:
    """Splits a list of CSS selectors at its commas, except commas inside brackets and strings.

    >>> split_selectors("h1::text, a[title='x,y']")
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


def _marked(node: Any, query: str) -> list[Any]:
    """Selects with CSS and supports `:contains()`. Each element that contains the text gets a temporary
    attribute, and the selector tests this attribute instead of `:contains()`."""
    if ":contains(" not in query:
        return _found(node, query)
    marked: list[tuple[str, list[Any]]] = []

    def mark(match: re.Match[str]) -> str:
        wanted, name = match[1].strip("\"'"), f"gossamer-{len(marked)}"
        marked.append((name, node.xpath("//*[contains(., $text)]", text=wanted)))
        return f"[{name}]"

    query = _CONTAINS.sub(mark, query)
    try:
        for name, elements in marked:
            for element in elements:
                element.attrs[name] = ""
        found = _found(node, query)
    finally:
        for name, elements in marked:
            for element in elements:
                element.attrs.pop(name, None)
    return found


def _found(node: Any, query: str) -> list[Any]:
    """Returns the elements and texts that a selector finds, in document order."""
    if "::" not in query:
        return _select(node, query)
    parts = _parts(query)
    if len(parts) == 1:
        part = parts[0]
        elements = _select(node, part.plain)
        if part.takes is None:
            return elements
        return _texts(elements, node) if part.takes == "" else _attributes(elements, [part.takes])
    return _united(node, parts)


def _united(node: Any, parts: list[_Part]) -> list[Any]:
    """Returns what several selectors find. As in parsel, each element, text and attribute is returned once, in
    document order."""
    import turbohtml

    elements, texts, attributes = set[Any](), set[Any](), dict[Any, list[str]]()
    for part in parts:
        for element in _select(node, part.plain):
            if part.takes is None:
                elements.add(element)
            elif part.takes == "":
                texts.add(element)
            else:
                attributes.setdefault(element, []).append(part.takes)
    found: list[Any] = []
    for one in itertools.chain((node,), node.descendants):
        if isinstance(one, turbohtml.Text):
            if one.parent in texts and one is not node:
                found.append(str(one.data))
            continue
        if one in elements:
            found.append(one)
        if one in attributes:
            found += _attributes([one], [name for name in one.attrs if name in attributes[one]])
    return found


def _attributes(elements: list[Any], names: Iterable[str]) -> list[str]:
    return [_value(one.attrs[name]) for one in elements for name in names if name in one.attrs]


def _select(node: Any, plain: str) -> list[Any]:
    """Returns the elements that a selector without pseudo-elements finds among the node itself and its
    descendants."""
    import turbohtml

    try:
        itself = [node] if isinstance(node, turbohtml.Element) and node.matches(plain) else []
        return itself + list(node.select(plain))
    except Exception as error:  # noqa: BLE001 - as above
        raise ValueError(f"CSS selector {plain!r}: {error}") from None


class _Part(NamedTuple):
    """A selector without a pseudo-element. `takes`: the name of the attribute that the pseudo-element returns,
    '' for texts, or None for the elements themselves."""

    plain: str
    takes: str | None


@lru_cache(maxsize=1000)
def _parts(query: str) -> list[_Part]:
    """Splits a list of selectors, and parses each selector with `_taken`."""
    return [_taken(part) for part in split_selectors(query)]


def _taken(query: str) -> _Part:
    """Separates a selector from its `::text` or `::attr()`.

    As in parsel, `h1 ::text` and `h1 *::text` include the texts of the h1 itself. The same rule applies to
    `::attr()`. A pseudo-element without a selector applies to all elements.
    """
    pseudo = _PSEUDO.search(query)
    if pseudo is None:
        return _Part(query, None)
    plain, name = query[: pseudo.start()].strip(), pseudo[3]
    every = bool(pseudo[1]) or not plain
    if plain.endswith(" *"):
        plain, every = plain.removesuffix("*").strip(), True
    if plain[-1:] in ("+", "~", ">"):  # `ul > *::text`, `ul > ::text`
        plain, every = f"{plain} *", False
    if every:
        plain = f"{plain}, {plain} *" if plain else "*"
    return _Part(plain, name or "")


def _texts(elements: list[Any], node: Any) -> list[str]:
    """Returns the text nodes that are direct children of the elements, in document order."""
    import turbohtml

    if not _nested(elements):
        return [
            str(one.data)
            for element in elements
            for one in element.children
            if isinstance(one, turbohtml.Text)
        ]
    chosen = set(elements)
    return [
        str(one.data) for one in node.descendants if isinstance(one, turbohtml.Text) and one.parent in chosen
    ]


def _nested(elements: list[Any]) -> bool:
    """Returns whether the texts of the elements may overlap because one element is inside another element.
    The elements are in document order, so each element is compared only with the previous element."""
    for outer, inner in itertools.pairwise(elements):
        above = inner.parent
        for _ in range(100):
            if above is None or above is outer.parent:
                break
            if above is outer:
                return True
            above = above.parent
        else:
            return True
    return False


def _has_class(match: re.Match[str]) -> str:
    """Translates parsel's `has-class()` into XPath 1.0."""
    tests = (
        f"contains(concat(' ', normalize-space(@class), ' '), concat(' ', {one}, ' '))"
        for one in re.findall(_QUOTED, match[1])
    )
    return f"({' and '.join(tests)})"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(value or ())


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _html(node: Any) -> str:
    return node if isinstance(node, str) else str(node.html)
