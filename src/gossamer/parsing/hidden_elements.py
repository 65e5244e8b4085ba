"""Finds the elements that a page does not show: by their attributes, by classes that hide on every screen, by the page's
own style sheets, and because they are part of a template or of a closed dialog."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import turbohtml

from gossamer.parsing.html import attribute_of, once

Element = turbohtml.Element

MAX_HIDING: Final = 30
"""Maximum number of ancestors that are examined to find out whether an element is hidden."""
MAX_STYLE_CHARS: Final = 200_000
MAX_RULES: Final = 500
MAX_RULE_CHARS: Final = 500
"""Maximum number of characters of a rule that are read before the declaration that hides its elements."""
_HIDING_RULE: Final = re.compile(
    r":(?:(?:(?<=display:)|(?<=display\s:))\s?none|(?:(?<=visibility:)|(?<=visibility\s:))\s?hidden)"
)
"""Matches a declaration that hides elements, from its colon on: a search for a single character is fast."""
_CLASS_ALONE: Final = re.compile(r"(?:^|,)\s*(?:[a-z]+[1-6]?)?\.([\w-]+)\s*(?=,|$)")
"""Matches the selectors of a rule that consist of a single class."""
_HIDDEN: Final = re.compile(
    r"^(?!.*(?::|-(?:sm|md|lg|xl|xxl)-)(?:block|flex|inline|grid|table))(?:.*\s)?"
    r"(?:(?:[a-z]{1,3}|is|ng|js|uk|has)-)?(?:hidden|hide|d-none|display-none|invisible)(?:\s|$)",
    re.DOTALL,
)
"""Matches the class names of an element that a class hides on every screen."""


class HiddenElements:
    """The elements of a page that the page does not show."""

    def __init__(self, tree: turbohtml.Document) -> None:
        self.tree = tree
        self._known: dict[Element, bool] = {}

    def hides(self, element: Element) -> bool:
        """Whether a page does not show an element: by attributes of the element or of its ancestors, by a class that
        the page's own styles hide, or because the element is part of a template."""
        passed, found = [], False
        for node in (element, *ancestors(element, MAX_HIDING)):
            if (known := self._known.get(node)) is not None:
                found = known
                break
            passed.append(node)
            if self._hides(node):
                found = True
                break
        self._known |= dict.fromkeys(passed, found)
        return found

    def _hides(self, node: Element) -> bool:
        if node.tag in ("body", "html"):
            return False
        names = attribute_of(node, "class")
        return (
            is_hidden(node)
            or (node.tag == "template" and "shadowrootmode" not in node.attrs)
            or (node.tag == "dialog" and "open" not in node.attrs)
            or bool(names and self._unshown and not self._unshown.isdisjoint(names.split()))
        )

    @once
    def _unshown(self) -> frozenset[str]:
        """The classes that the page's own style sheets hide."""
        found = set[str]()
        for one in self.tree.select("style")[:20]:
            sheet = one.text[:MAX_STYLE_CHARS]
            for rule in itertools.islice(_HIDING_RULE.finditer(sheet), MAX_RULES):
                opened = sheet.rfind("{", max(0, rule.start() - MAX_RULE_CHARS), rule.start())
                closed = sheet.rfind("}", max(0, rule.start() - MAX_RULE_CHARS), rule.start())
                if closed < opened:
                    found.update(_CLASS_ALONE.findall(sheet[closed + 1 : opened]))
        return frozenset(found)


def is_hidden(element: Element) -> bool:
    """Whether an element's own attributes hide it."""
    style = attribute_of(element, "style").replace(" ", "").lower() if "style" in element.attrs else ""
    return (
        "hidden" in element.attrs
        or "display:none" in style
        or "visibility:hidden" in style
        or _hiding_class(attribute_of(element, "class"))
    )


def _hiding_class(names: str) -> bool:
    return ("hid" in names or "none" in names or "invisible" in names) and (_HIDDEN.search(names) is not None)


def ancestors(element: Element, most: int) -> Iterator[Element]:
    """Yields the ancestors of an element, the nearest one first. The content of a template is inside the template."""
    node: Any = element.parent
    for _ in range(most):
        if isinstance(node, turbohtml.DocumentFragment):  # the content of a template
            node = node.parent
        if not isinstance(node, Element):
            return
        yield node
        node = node.parent
