"""Divides a result page into blocks, in page order: organic results, known features, and unknown blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import turbohtml

from gossamer.parsing.html import attribute_of
from gossamer.parsing.ranks.page_rules import EngineRules, Feature, PageRules
from gossamer.parsing.ranks.page_scan import Element, ResultCandidate, Scan, ancestors

HEADINGS: Final = "h1, h2, h3, [role=heading]"
MAX_HEADINGS: Final = 2000
_AROUND_RESULT: Final = ("featured_snippet", "social")
"""Types of blocks that consist of a heading and a link after the heading. Without the heading of the block,
the link would count as an organic result."""
_PART_OF: Final = {"map": "local_pack"}
"""Maps a type of block to the type of the block that may contain it."""
_NOT_SHOWN: Final = ("script", "style", "template", "noscript", "link", "meta")
_MIN_UNKNOWN_CHARS: Final = 12


@dataclass(slots=True, eq=False)
class PageBlock:
    """One block of a page. `organic` is None for features and unknown blocks."""

    type: str
    element: Element
    order: int
    feature: Feature
    organic: ResultCandidate | None = None


def blocks(tree: turbohtml.Document, found: Scan, engine: EngineRules, rules: PageRules) -> list[PageBlock]:
    """Returns the blocks of a page: first the blocks of the main column in order, then the blocks beside
    it."""
    features = {one.type: one for one in reversed(engine.features)}
    roots = dict(found.containers)
    for heading, kind in _headings(tree, found, rules):
        roots.setdefault(heading, features.get(kind) or Feature(kind))
    parts = [element for css in engine.header for element in tree.select(css)]
    if found.main is not None:
        parts.append(found.main)
    grown = _grown(found, roots, parts)
    listed = [
        PageBlock("organic", one.block, found.order[one.heading], Feature("organic"), one)
        for one in found.organic
    ]
    for aside in [one for one, feature in grown.items() if feature.aside and feature.type == "knowledge"]:
        first = aside.select_one(HEADINGS)
        named = rules.heading_type(first.text) if first is not None else ""
        if named:
            grown[aside] = Feature(named, aside=True)
    for element in [one for one, feature in grown.items() if feature.type in _PART_OF]:
        if (whole := _PART_OF[grown[element].type]) == _type_by_signs(element, engine):
            grown[element] = features[whole]
    listed += [PageBlock("ad", one.block, found.order[one.heading], Feature("ad")) for one in found.ads]
    listed += [
        PageBlock(feature.type, element, found.order[element], feature)
        for element, feature in grown.items()
        if grown.keys().isdisjoint(element.ancestors) and _shows(element)
    ]
    taken = {one.block for one in (*found.organic, *found.ads)} | grown.keys()
    ignored = {element for css in engine.ignore for element in tree.select(css)}
    ignored |= {one.link for one in found.sitelinks}
    for rest in _leftover(parts, taken | ignored):
        kind = _type_by_signs(rest, engine)
        if kind or _is_shown_block(rest):
            feature = features.get(kind) or Feature("unknown")
            listed.append(PageBlock(kind or "unknown", rest, found.order[rest], feature))
    listed += [
        PageBlock("unknown", one.block, found.order[one.heading], Feature("unknown")) for one in found.weak
    ]
    return sorted(listed, key=lambda one: (one.feature.aside, one.order))


def _headings(tree: turbohtml.Document, found: Scan, rules: PageRules) -> list[tuple[Element, str]]:
    """Returns the headings that name a type of block and are outside of all known containers. If an organic
    result belongs to one of these headings, the result is removed."""
    listed: list[tuple[Element, str]] = []
    own = {one.heading for one in (*found.organic, *found.sitelinks)}
    for heading in tree.select(HEADINGS)[:MAX_HEADINGS]:
        if heading in own or not (kind := rules.heading_type(heading.text)):
            continue
        above = ancestors(heading)
        if found.containers.keys().isdisjoint(above):
            listed.append((heading, kind))
            if kind in _AROUND_RESULT:
                _claim_result(found, above)
    return listed


def _grown(found: Scan, roots: dict[Element, Feature], parts: list[Element]) -> dict[Element, Feature]:
    """Returns the blocks around the given roots, which are headings and containers. From each root, the
    function moves up until the next ancestor contains an organic result, a root of another type or a main
    part of the page. The block is the last element that the function reached before this ancestor."""
    kinds: dict[Element, set[str]] = {}
    for root, feature in roots.items():
        for element in (root, *ancestors(root)):
            kinds.setdefault(element, set()).add(_PART_OF.get(feature.type, feature.type))
    holds = {element for one in (*found.organic, *found.ads) for element in one.chain}
    for part in parts:
        holds |= {part, *ancestors(part)}
    grown: dict[Element, Feature] = {}
    for root, feature in roots.items():
        block = root
        for element in ancestors(root):
            if element in holds or len(kinds[element]) > 1:
                break
            block = element
        grown.setdefault(block, feature)
    return grown


def _claim_result(found: Scan, above: list[Element]) -> None:
    """Removes the organic result that belongs to a heading, because the heading begins another type of block.
    The function searches the nearest ancestor of the heading that contains organic results. If this ancestor
    contains exactly one organic result, the function removes that result. `above`: the ancestors of the
    heading."""
    holds: dict[Element, list[ResultCandidate]] = {}
    for one in found.organic:
        for element in one.chain:
            holds.setdefault(element, []).append(one)
    nearest = next((holds[element] for element in above if element in holds), [])
    if len(nearest) == 1:
        found.organic.remove(nearest[0])
        found.sitelinks[:] = [one for one in found.sitelinks if one.parent is not nearest[0]]


def _leftover(parts: list[Element], known: set[Element]) -> Iterator[Element]:
    """Yields the largest elements in `parts` that contain none of the known elements."""
    holds = {above for element in known for above in element.ancestors}
    waiting = parts
    while waiting:
        for child in waiting.pop().children:
            if not isinstance(child, turbohtml.Element) or child.tag in _NOT_SHOWN or child in known:
                continue
            if child in holds:
                waiting.append(child)
            else:
                yield child


def _type_by_signs(element: Element, engine: EngineRules) -> str:
    """Returns the type of an unknown block, or ''. The type is derived from the elements inside the block."""
    for feature in engine.features:
        if any(element.select_one(css) is not None for css in feature.signs):
            return feature.type
    return ""


def _is_shown_block(element: Element) -> bool:
    """Whether an element is a visible block with text and a link to another page."""
    if not _shows(element) or len(shown_text(element)) < _MIN_UNKNOWN_CHARS:
        return False
    links = element.select("a[href]")[:50]
    return any(attribute_of(one, "href")[:1] not in ("", "#", "j") for one in links)


def _shows(element: Element) -> bool:
    """Whether an element contains visible content."""
    return "hidden" not in element.attrs and (
        element.select_one("a[href], img, [role=heading], h2, h3") is not None or bool(shown_text(element))
    )


def shown_text(element: Element) -> str:
    """Returns the text of an element with white space normalized. Scripts and styles have already been
    removed."""
    return " ".join(element.to_text().split())
