"""Reads microdata, which are items with properties in the attributes of HTML elements (HTML Standard, 5). The
result has the shape that the library extruct uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import turbohtml

Element = turbohtml.Element

MAX_PROPERTIES: Final = 50_000
"""Maximum number of properties that are read on one page. A property counts once for each `itemref` attribute
that leads to the property."""
MAX_CHARS: Final = 8_000_000
"""Maximum number of characters of all microdata values of a page together. The text of a nested property is
counted again for each property around the nested property."""
MAX_NAMES: Final = 10
"""Maximum number of names of one property. If a property has several names and its value is an item that
contains further items, only the first name is kept."""
MAX_DEPTH: Final = 50
"""Maximum nesting depth of items."""
_SOURCES: Final = dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src")
_LINKS: Final = {**_SOURCES, **dict.fromkeys(("a", "area", "link"), "href"), "object": "data"}
_VALUES: Final = {"meta": "content", "data": "value", "meter": "value"}


def microdata(tree: turbohtml.Document, resolve: Callable[[str], str]) -> list[dict[str, Any]]:
    """Returns a page's top-level items: those that are not a property of another item. `resolve`: a function
    that makes a URL absolute. Never raises.

    An item is a dict with `type` (a text, or a list of several), `id` if the item has one, and `properties`.
    The properties map a name to a value, or to a list of several values. A value is a text or an item. An
    item without properties has a `value` instead, which is its text.

    >>> tree = turbohtml.parse('<p itemscope itemtype=T>a <b itemprop=name>b</b> <i itemprop="x y">1</i>')
    >>> microdata(tree, str)
    [{'type': 'T', 'properties': {'name': 'b', 'x': '1', 'y': '1'}}]
    """
    scopes = tree.select("[itemscope]")
    return _MicrodataReader(tree, scopes, resolve).items() if scopes else []


class Nearest:
    """Finds, among the elements in `marked`, the nearest ancestor of an element. All searches together take
    time proportional to the number of elements visited."""

    def __init__(self, marked: list[Element]) -> None:
        self._known: dict[Any, Element | None] = {element: element for element in marked}

    def above(self, element: Element) -> Element | None:
        """Returns the nearest ancestor that is in `marked`, or None."""
        walked = []
        node = element.parent
        while node is not None and node not in self._known:
            walked.append(node)
            node = node.parent
        found = None if node is None else self._known[node]
        for one in walked:
            self._known[one] = found
        return found


class _MicrodataReader:
    def __init__(
        self, tree: turbohtml.Document, scopes: list[Element], resolve: Callable[[str], str]
    ) -> None:
        self._scopes = scopes
        self._resolve = resolve
        self._nearest = Nearest(scopes)
        self._left = MAX_PROPERTIES
        self._characters = MAX_CHARS
        self._seen: set[Element] = set()
        self._tree = tree
        self._own: dict[Element, list[Element]] = {}
        for element in tree.select("[itemprop]")[:MAX_PROPERTIES]:
            if (owner := self._nearest.above(element)) is not None:
                self._own.setdefault(owner, []).append(element)

    def items(self) -> list[dict[str, Any]]:
        return [item for scope in self._scopes if (item := self._item(scope, 0)) is not None]

    def _item(self, scope: Element, depth: int) -> dict[str, Any] | None:
        """Returns the item of an element, or None if the item was already read or a limit of the page is
        exceeded."""
        if scope in self._seen or depth > MAX_DEPTH or self._left <= 0:
            return None
        self._seen.add(scope)
        item: dict[str, Any] = {}
        if types := attribute_value(scope, "itemtype").split():
            item["type"] = types[0] if len(types) == 1 else types
            if name := attribute_value(scope, "itemid").strip():
                item["id"] = name
        found: dict[str, list[Any]] = {}
        for element in [*self._own.get(scope, ()), *self._referred(scope)]:
            self._left -= 1
            if self._left > 0:
                value = self._value(element, depth)
                names = [*dict.fromkeys(attribute_value(element, "itemprop").split())][:MAX_NAMES]
                if isinstance(value, dict) and any(map(_holds, value.get("properties", {}).values())):
                    del names[1:]  # otherwise each nesting level would double the number of values
                for name in names:
                    found.setdefault(name, []).append(value)
        if found:
            item["properties"] = {name: many[0] if len(many) == 1 else many for name, many in found.items()}
        else:
            item["value"] = self._text(scope)
        return item

    def _referred(self, scope: Element) -> list[Element]:
        """Returns the elements with `itemprop` that are inside the elements to which `itemref` refers."""
        found: list[Element] = []
        for name in attribute_value(scope, "itemref").split()[:100]:
            if (target := self._ids().get(name)) is None:
                continue
            if "itemprop" in target.attrs and "itemscope" in target.attrs:
                found.append(target)
                continue
            if len(found) > self._left:
                break
            around = target if "itemscope" in target.attrs else self._nearest.above(target)
            inner = target.select("[itemprop]") if self._left > 0 else []
            self._left -= len(inner)
            own = [target] if "itemprop" in target.attrs else []
            found += own + [one for one in inner if self._nearest.above(one) is around and one is not target]
        return found

    def _ids(self) -> dict[str, Element]:
        if not hasattr(self, "_named"):
            self._named = {attribute_value(one, "id"): one for one in reversed(self._tree.select("[id]"))}
        return self._named

    def _value(self, element: Element, depth: int) -> Any:
        attributes = element.attrs
        if "itemscope" in attributes:
            return self._item(element, depth + 1)
        tag = element.tag
        if name := _LINKS.get(tag):
            return self._resolve(attribute_value(element, name).strip())
        if name := _VALUES.get(tag):
            return attribute_value(element, name)
        if tag == "time" and attributes.get("datetime"):
            return attribute_value(element, "datetime")
        if attributes.get("content"):
            return attribute_value(element, "content")
        if attribute_value(element, "itemprop").endswith(("-input", "-output")):
            wants: dict[str, Any] = {"valueRequired": True} if "required" in attributes else {}
            return {**wants, "valueName": name} if (name := attribute_value(element, "name")) else wants
        return self._text(element)

    def _text(self, element: Element) -> str:
        if self._characters <= 0:
            return ""
        text = read_text(element)
        self._characters -= len(text)
        return text


def _holds(value: Any) -> bool:
    """Whether the value of a property is an item or contains one."""
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(one, dict) for one in value)
    )


def attribute_value(element: Element, name: str) -> str:
    """Returns the value of an attribute, or '' if it is missing. The words of a list are joined by spaces."""
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def read_text(element: Element) -> str:
    """Returns the visible text of an element with whitespace collapsed, each block on its own line, without
    scripts and styles."""
    if element.select_one("*") is None:
        return " ".join(element.text.split())
    if element.select_one("table") is None:  # the layout of a table would pad its cells
        return "\n".join(" ".join(line.split()) for line in element.to_text().strip().split("\n"))
    hidden = {one.text for one in element.select("script, style, template")}
    return " ".join(" ".join(part for part in element.strings if part not in hidden).split())
