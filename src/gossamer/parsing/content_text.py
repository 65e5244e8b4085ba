"""Extracts the text of a page for comparisons with other pages. The text excludes navigation, advertisements,
forms, and links that are not inside a text."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import turbohtml

from gossamer.parsing.boilerplate import MAX_NODES, called_boilerplate
from gossamer.parsing.html import attribute_of

_LEFT_OUT: Final = (
    "script, style, template, noscript, figure, aside, nav, footer, form, button, select, "
    "textarea, svg, iframe, object, dialog, "
    "video, audio, canvas, math"
)
MAX_MEASURED_CHARS: Final = 50_000_000
"""Maximum total length in characters of the elements that are measured per page. When the limit is reached,
all further elements are kept without a measurement."""
_called = lru_cache(10_000)(called_boilerplate)


class Gist(NamedTuple):
    """The text and the heading of a page. `head`: the text of the page's only h1. If the page does not have
    exactly one h1, `head` is the title, or '' if the page has no title."""

    text: str
    head: str


class _Measure:
    """Measures the texts of elements, up to `MAX_MEASURED_CHARS` characters in total. The limit bounds the
    time, because elements can be nested thousands deep and each contains the text of all elements inside
    it."""

    def __init__(self) -> None:
        self.left = MAX_MEASURED_CHARS
        self._known: dict[turbohtml.Element, int] = {}

    def of(self, element: turbohtml.Element) -> int:
        """Returns the length of an element's text in characters."""
        found = self._known.get(element)
        if found is None:
            found = self._known[element] = len(element.text)
            self.left -= found
        return found


def gist_of(tree: turbohtml.Document) -> Gist:
    """Returns the text and heading of a page. **Changes the tree**, so callers must read everything else from
    the tree first. Takes 1 to 3 ms for a page of 100 KB."""
    head = _head(tree)
    body = tree.select_one("body")
    if body is None:
        return Gist("", head)
    for element in body.select(_LEFT_OUT)[:MAX_NODES]:
        element.decompose()
    measure = _Measure()
    _prune(body, measure)
    for link in body.select("a")[:MAX_NODES]:
        if measure.left < 0:
            break
        if isinstance(link.parent, turbohtml.Element) and measure.of(link) * 2 > measure.of(link.parent):
            link.decompose()
    return Gist(" ".join(body.strings), head)


def _head(tree: turbohtml.Document) -> str:
    headings = tree.select("h1")
    if len(headings) == 1 and (text := headings[0].text.strip()):
        return text
    return " ".join(title.text for title in tree.select("title")[:1])


def _prune(body: turbohtml.Element, measure: _Measure) -> None:
    """Removes elements whose class or id names boilerplate. Keeps an element if it has at least half of the
    text, or if it contains the h1."""
    total = len(body.text)
    kept = {body, *(one for heading in body.select("h1")[:1] for one in heading.ancestors)}
    for element in body.select("[class], [id]")[:MAX_NODES]:
        called = attribute_of(element, "class") or attribute_of(element, "id")
        if called and _called(called) and element not in kept:
            if measure.left < 0:
                return
            size = len(element.text)
            measure.left -= size
            if size * 2 < total:
                element.decompose()
