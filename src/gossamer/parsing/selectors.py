"""Paths into JSON: `data.items[0].name`, `items[*].id`, `items[-1]["odd.name"]`.

Selections with the habits of the field: `css("h1::text").get()`, `xpath("//a/@href").getall()`,
`re_first`, nesting.

Built on the page's one tree. A selected thing is an element or a text (a text node, an attribute, a value of
XPath). What parsel adds to CSS and XPath is here, too: `::text`, `::attr(name)`, `:contains("text")`,
`has-class("name")`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from re import Pattern
from typing import Any, SupportsIndex, overload

import turbohtml

from gossamer.url import patterns

_STEP = re.compile(r"""\.?(?:\[(?:(-?\d{1,9}|\*)|"([^"]*)"|'([^']*)')\]|([^.\[\]"'\s][^.\[\]"']*))""")

EVERY = None
"""The step `[*]`."""


def pick(value: Any, path: str) -> Any:
    """What lies at a path in a value made of dicts and lists; None where there is nothing, a list for `[*]`.

    Raises ValueError for what is no path.

    >>> pick({"items": [{"id": 1}, {"id": 2}]}, "items[*].id"), pick({"a": [1, 2]}, "a[-1]"), pick({"a": 1}, "b.c")
    ([1, 2], 2, None)
    """
    return _walk(value, _steps(path), 0)


def _walk(value: Any, steps: tuple[str | int | None, ...], at: int) -> Any:
    for place in range(at, len(steps)):
        step = steps[place]
        if step is EVERY:
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
    """The steps of a path: names, places in a list, EVERY."""
    text = path.strip().removeprefix("$")
    steps: list[str | int | None] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f"{path!r} is no path into JSON: write it as data.items[0].name, items[*].id or a['b.c']"
            )
        index, *names = match.groups()
        steps.append(
            next(name for name in names if name is not None)
            if index is None
            else EVERY
            if index == "*"
            else int(index)
        )
        at = match.end()
    return tuple(steps)


_PSEUDO = re.compile(r"(\s*)::(text|attr\(\s*([^)\s]+)\s*\))\s*$")
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_CONTAINS = re.compile(rf""":contains\(\s*({_QUOTED}|[^\s()"']+)\s*\)""")
_HAS_CLASS = re.compile(rf"has-class\(\s*({_QUOTED}(?:\s*,\s*{_QUOTED})*)\s*\)")


class Selector:
    """One selected thing."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def css(self, query: str) -> Selection:
        """What a CSS selector finds, the thing itself included; `::text` gives text nodes, `::attr(name)`
        values.

        What is found comes in the page's order. Raises ValueError for a bad selector.
        """
        if isinstance(self.node, str):
            return Selection([])
        return Selection(_marked(self.node, query))

    def xpath(self, query: str, **variables: Any) -> Selection:
        """What an XPath 1.0 expression gives; `$name` in it is a variable. Raises ValueError for a bad one."""
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
        """The text, or the element's HTML."""
        return _html(self.node)

    def getall(self) -> list[str]:
        """The same as a list of one."""
        return [self.get()]

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """What a regular expression finds in it: the groups when it has some, else the whole match."""
        text = self.get().replace("&nbsp;", "\u00a0")
        return [group for groups in patterns.matches(pattern, text) for group in groups]

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and bool(self.node == other.node)

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"<Selector {self.get()[:60]!r}>"


class Selection(Sequence[Selector]):
    """What was selected, in order; empty when nothing was. A thing becomes a Selector when it is looked at."""

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
        """`css` of each."""
        return Selection([found for one in self for found in one.css(query)._nodes])

    def xpath(self, query: str, **variables: Any) -> Selection:
        """`xpath` of each."""
        return Selection([found for one in self for found in one.xpath(query, **variables)._nodes])

    def get(self, default: str | None = None) -> str | None:
        """The first as text or HTML."""
        return _html(self._nodes[0]) if self._nodes else default

    def getall(self) -> list[str]:
        """Each as text or HTML."""
        return [_html(node) for node in self._nodes]

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """What a regular expression finds in each."""
        return [found for one in self for found in one.re(pattern)]

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """The first that the expression finds."""
        return next(iter(self.re(pattern)), default)

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the first."""
        return self[0].attrib if self._nodes else {}

    def __repr__(self) -> str:
        return f"<Selection of {len(self)}: {list(self[:3])}>"


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


def _marked(node: Any, query: str) -> list[Any]:
    """What a selector finds; elements that `:contains()` means carry a mark meanwhile."""
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
    """Elements and texts, in the page's order."""
    if "::" not in query:
        return _select(node, query)
    parts = _parts(query)
    if len(parts) == 1:
        ((plain, take),) = parts
        return take(_select(node, plain), node)
    chosen = [(set(_select(node, plain)), take) for plain, take in parts]
    found: list[Any] = []
    for element in _select(node, ", ".join(plain for plain, _ in parts)):
        for elements, take in chosen:
            if element in elements:
                found += take([element], element)
    return found


def _select(node: Any, plain: str) -> list[Any]:
    """The elements in a node, itself included, that a selector without pseudo-elements means."""
    try:
        itself = [node] if isinstance(node, turbohtml.Element) and node.matches(plain) else []
        return itself + list(node.select(plain))
    except Exception as error:  # noqa: BLE001 - as above
        raise ValueError(f"CSS selector {plain!r}: {error}") from None


@lru_cache(maxsize=1000)
def _parts(query: str) -> list[tuple[str, Callable[[list[Any], Any], list[Any]]]]:
    """Each selector of a list, as `_taken`."""
    return [_taken(part) for part in split(query)]


def _taken(query: str) -> tuple[str, Callable[[list[Any], Any], list[Any]]]:
    """A selector without its `::text` or `::attr()`, and what that takes of the elements found below a node.

    As in parsel `h1 ::text`, `h1 *::text` (and `::attr()` alike) mean the h1 itself, too; alone they mean all
    there is.
    """
    pseudo = _PSEUDO.search(query)
    if pseudo is None:
        return query, lambda elements, _: elements
    plain, name = query[: pseudo.start()].strip(), pseudo[3]
    every = bool(pseudo[1]) or not plain
    if plain.endswith(" *"):
        plain, every = plain.removesuffix("*").strip(), True
    if plain[-1:] in ("+", "~", ">"):  # `ul > *::text`, `ul > ::text`
        plain, every = f"{plain} *", False
    if every:
        plain = f"{plain}, {plain} *" if plain else "*"
    if name:
        return plain, lambda elements, _: [_value(one.attrs[name]) for one in elements if name in one.attrs]
    return plain, _texts


def _texts(elements: list[Any], node: Any) -> list[str]:
    """The elements' own texts."""
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
    """Whether an element may lie in another one: then their texts are mixed. In the page's order one follows
    on the other."""
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
    """parsel's `has-class()` in words of XPath 1.0."""
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
