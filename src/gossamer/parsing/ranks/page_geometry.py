"""Measures where the blocks of a rendered page are. A script marks each visible element with its distance
from the top of the page. The script runs before gossamer reads the browser's document. The parser then reads
these distances."""

from __future__ import annotations

import re
from typing import Final

from gossamer.parsing.html import attribute_of
from gossamer.parsing.ranks.page_scan import Element

MARK: Final = "data-gossamer-top"
"""The name of the attribute that contains an element's distance from the top of the page in CSS pixels."""
MAX_TOP: Final = 1_000_000
_MARKS: Final = re.compile(rf' {MARK}="[^"]*"'.encode())
MEASURE_SCRIPT: Final = """(() => {
  const name = "data-gossamer-top", shown = { opacityProperty: true, visibilityProperty: true }, tops = [];
  for (const one of document.querySelectorAll(`[${name}]`)) one.removeAttribute(name);
  for (const one of document.body ? document.body.querySelectorAll("*") : []) {
    const box = one.getBoundingClientRect();
    if (box.width && box.height && one.checkVisibility(shown)) tops.push([one, Math.round(box.top + scrollY)]);
  }
  for (const [one, top] of tops) one.setAttribute(name, top);
  return true;
})()"""
"""A JavaScript expression for the option `until` of `gossamer.Site(render=)`. The expression sets the
attribute MARK on all visible elements of the page, and returns true. The rendering must load images and
fonts, because images and fonts move the content below them."""


def without_marks(body: bytes) -> bytes:
    """Returns a page without the marks that the script added to its elements."""
    return _MARKS.sub(b"", body)


def has_marks(body: bytes) -> bool:
    """Whether a page contains the marks that the script adds."""
    return f"{MARK}=".encode() in body


def top_of(element: Element) -> float | None:
    """Returns the distance of an element from the top of the page. The distance is the value of the element's
    attribute MARK. If the element has no box, and therefore no MARK, returns the smallest distance of the
    elements inside the element. Returns None if no part of the element is visible. Also returns None if the
    value of MARK is not a valid distance."""
    if (own := attribute_of(element, MARK)) != "":
        return _distance(own)
    inner = [_distance(attribute_of(one, MARK)) for one in element.select(f"[{MARK}]")]
    return None if None in inner else min((top for top in inner if top is not None), default=None)


def _distance(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and int(text[:8]) < MAX_TOP else None
