"""Checks of titles, descriptions and headings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from gossamer.uses.audit.checks.audit_check import ERROR, NOTICE, WARNING, AuditCheck
from gossamer.uses.audit.model import PageFacts
from gossamer.uses.numbers import counted

TITLE_PX: Final = (200, 600)
"""The minimum and the maximum width of a page title in pixels. Search results show page titles in Arial, 20
pixels high."""
DESCRIPTION_PX: Final = (400, 1000)
"""The minimum and the maximum width of a meta description in pixels. Search results show meta descriptions on
two lines in Arial, 14 pixels high."""
_NARROW: Final = {
    **dict.fromkeys("ijl'", 0.222),
    **dict.fromkeys(" !,./:;I[\\]ft|", 0.278),
    **dict.fromkeys("-()`r{}", 0.333),
    '"': 0.355,
    "*": 0.389,
    "^": 0.469,
    **dict.fromkeys("Jckksvxyz", 0.5),
    **dict.fromkeys("+<=>~", 0.584),
    **dict.fromkeys("FTZ", 0.611),
    **dict.fromkeys("&ABEKPSVXY", 0.667),
    **dict.fromkeys("CDHNRUw", 0.722),
    **dict.fromkeys("GOQ", 0.778),
    **dict.fromkeys("Mm", 0.833),
    **dict.fromkeys("%", 0.889),
    "W": 0.944,
    "@": 1.015,
}
"""Maps characters to their widths in Arial, relative to the font size. A character that is missing in the
mapping has a width of 0.556, or a width of 1 if the character is full-width."""
_DUPLICATE: Final = """
SELECT u.url, g.{name}, g.n || ' pages, first ' || substr(g.first, 7) FROM pages p JOIN targets t ON t.id = p.id
JOIN urls u ON u.id = p.id
JOIN (SELECT p.{name}, count(*) AS n, min(printf('%05d ', length(u.url)) || u.url) AS first FROM pages p
  JOIN targets t ON t.id = p.id JOIN urls u ON u.id = p.id
  WHERE t.indexable AND p.{name} != '' GROUP BY p.{name} HAVING count(*) > 1) g ON g.{name} = p.{name}
WHERE t.indexable
"""


@lru_cache(4)
def width_px(text: str, size: int) -> int:
    """Returns the width of a text in Arial, in pixels. `size`: the font size in pixels.

    >>> width_px("Will", 20), width_px("MMMM", 20)
    (32, 67)
    """
    total = 0.0
    for char in text:
        width = _NARROW.get(char)
        if width is None:
            width = 1.0 if "\u1100" <= char <= "\u115f" or "\u2e80" <= char <= "\uffef" else 0.556
        total += width
    return round(total * size)


def _missing(values: list[str], name: str) -> Iterator[str]:
    if not any(values):
        yield f"the {name} is empty" if values else f"there is no {name}"


def _several(values: list[str]) -> Iterator[str]:
    given = [one for one in values if one]
    if len(given) > 1:
        yield f"{len(given)}: {' | '.join(given)[:250]}"


def _short(text: str, size: int, bounds: tuple[int, int]) -> Iterator[str]:
    if text and (width := width_px(text, size)) < bounds[0]:
        yield f"{width} of at least {bounds[0]} pixels, {counted(len(text), 'character')}: {text[:100]}"


def _long(text: str, size: int, bounds: tuple[int, int]) -> Iterator[str]:
    if (width := width_px(text, size)) > bounds[1]:
        yield f"{width} of at most {bounds[1]} pixels, {len(text)} characters: {text[:150]}"


def heading_order(facts: PageFacts) -> Iterator[str]:
    """Finds headings that skip a level."""
    before = 0
    for level in facts.headings:
        if before and level > before + 1:
            yield f"h{level} follows h{before}"
            return
        before = level


CHECKS: Final = (
    AuditCheck(
        id="title-missing",
        group="titles",
        severity=ERROR,
        title="Pages without a title",
        fix="Add a <title> that describes the page.",
        test=lambda facts: _missing(facts.titles, "title"),
    ),
    AuditCheck(
        id="title-multiple",
        group="titles",
        severity=WARNING,
        title="Pages with several titles",
        fix="Keep one <title>.",
        test=lambda facts: _several(facts.titles),
        over="html",
    ),
    AuditCheck(
        id="title-duplicate",
        group="titles",
        severity=WARNING,
        title="Pages with the same title",
        fix="Give each page a title of its own, or make one of them the canonical page.",
        sql=_DUPLICATE.format(name="title"),
        is_of_content=True,
    ),
    AuditCheck(
        id="title-short",
        group="titles",
        severity=NOTICE,
        title="Titles that are short",
        fix="Describe the page, and name the site.",
        test=lambda facts: _short(facts.title, 20, TITLE_PX),
    ),
    AuditCheck(
        id="title-long",
        group="titles",
        severity=NOTICE,
        title="Titles that are too long for search results",
        fix="Begin with the most important words, and shorten the title to about 60 characters.",
        test=lambda facts: _long(facts.title, 20, TITLE_PX),
    ),
    AuditCheck(
        id="title-same-as-h1",
        group="titles",
        severity=NOTICE,
        title="Titles that equal the heading",
        fix="Add more to the title, such as the name of the site.",
        test=lambda facts: facts.title[:150] if facts.title == facts.h1 else "",
    ),
    AuditCheck(
        id="description-missing",
        group="titles",
        severity=WARNING,
        title="Pages without a description",
        fix='Add <meta name="description"> with one or two sentences about the page.',
        test=lambda facts: _missing(facts.descriptions, "description"),
    ),
    AuditCheck(
        id="description-multiple",
        group="titles",
        severity=WARNING,
        title="Pages with several descriptions",
        fix="Keep one description.",
        test=lambda facts: _several(facts.descriptions),
        over="html",
    ),
    AuditCheck(
        id="description-duplicate",
        group="titles",
        severity=WARNING,
        title="Pages with the same description",
        fix="Describe each page for itself.",
        sql=_DUPLICATE.format(name="description"),
        is_of_content=True,
    ),
    AuditCheck(
        id="description-short",
        group="titles",
        severity=NOTICE,
        title="Descriptions that are short",
        fix="Write one or two sentences, about 70 to 155 characters.",
        test=lambda facts: _short(facts.description, 14, DESCRIPTION_PX),
    ),
    AuditCheck(
        id="description-long",
        group="titles",
        severity=NOTICE,
        title="Descriptions that are too long for search results",
        fix="Shorten the description to about 155 characters.",
        test=lambda facts: _long(facts.description, 14, DESCRIPTION_PX),
    ),
    AuditCheck(
        id="h1-missing",
        group="titles",
        severity=WARNING,
        title="Pages without an h1",
        fix="Make the main heading an <h1>.",
        test=lambda facts: _missing(facts.h1s, "h1"),
    ),
    AuditCheck(
        id="h1-multiple",
        group="titles",
        severity=NOTICE,
        title="Pages with several h1",
        fix="Keep one <h1>, and make the others <h2>.",
        test=lambda facts: _several(facts.h1s),
    ),
    AuditCheck(
        id="h1-duplicate",
        group="titles",
        severity=NOTICE,
        title="Pages with the same h1",
        fix="Give each page a heading of its own.",
        sql=_DUPLICATE.format(name="h1"),
        is_of_content=True,
    ),
    AuditCheck(
        id="heading-order",
        group="titles",
        severity=NOTICE,
        title="Headings that skip a level",
        fix="Let h2 follow h1, and h3 follow h2.",
        test=heading_order,
    ),
    AuditCheck(
        id="meta-in-body",
        group="titles",
        severity=WARNING,
        title="Titles and metas outside the head",
        fix="Move them into the head. Often an element that may not be in the head ends it too early.",
        test=lambda facts: ", ".join(facts.metas_in_body)[:200],
        over="html",
    ),
)
