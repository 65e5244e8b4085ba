"""What a page says, for whoever compares pages: all text but navigation, advertisements, forms, and links
that stand alone."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import turbohtml

from gossamer.parsing.article import NODES, called_boilerplate
from gossamer.parsing.html import attribute_of

_LEFT_OUT: Final = (
    "script, style, template, noscript, figure, aside, nav, footer, form, button, select, textarea, svg, iframe, object, dialog, "
    "video, audio, canvas, math"
)
MEASURED: Final = 50_000_000
"""Characters of elements that are counted; when there are more, the rest stays."""
_called = lru_cache(10_000)(called_boilerplate)


class Gist(NamedTuple):
    """The text, and the heading: the only h1, else the title; '' where there is none."""

    text: str
    head: str


class _Measure:
    """Lengths of texts, as long as that is no work without end: elements may lie in one another, thousands
    deep."""

    def __init__(self) -> None:
        self.left = MEASURED
        self._known: dict[turbohtml.Element, int] = {}

    def of(self, element: turbohtml.Element) -> int:
        found = self._known.get(element)
        if found is None:
            found = self._known[element] = len(element.text)
            self.left -= found
        return found


def gist(tree: turbohtml.Document) -> Gist:
    """What a page says. **The tree is changed**: whoever wants something of it comes before. 1 to 3 ms a page
    of 100 KB."""
    head = _head(tree)
    body = tree.select_one("body")
    if body is None:
        return Gist("", head)
    for element in body.select(_LEFT_OUT)[:NODES]:
        element.decompose()
    measure = _Measure()
    _prune(body, measure)
    for link in body.select("a")[:NODES]:
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
    """Take out what is called boilerplate, unless it is most of the text, or the heading is in it."""
    total = len(body.text)
    kept = {body, *(one for heading in body.select("h1")[:1] for one in heading.ancestors)}
    for element in body.select("[class], [id]")[:NODES]:
        called = attribute_of(element, "class") or attribute_of(element, "id")
        if called and _called(called) and element not in kept:
            if measure.left < 0:
                return
            size = len(element.text)
            measure.left -= size
            if size * 2 < total:
                element.decompose()
