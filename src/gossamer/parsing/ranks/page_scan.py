"""Finds the organic results of a page. An organic result is a link with a heading in the main column. The
link must get at least two of three votes. A link gets the first vote for the structure around it (marks of
the engine, a display URL), the second vote for its heading, and the third vote for class names that the data
file lists. A link can get two votes even if the engine has changed all of its class names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import turbohtml

from gossamer.parsing.html import attribute_of
from gossamer.parsing.ranks.page_rules import DatedSelector, EngineRules, Feature, PageRules
from gossamer.parsing.ranks.result_links import host_and_path, result_target

Element: TypeAlias = turbohtml.Element
NEEDED_VOTES: Final = 2
MAX_BLOCK_CHARS: Final = 5000
MAX_CANDIDATES: Final = 1000
FEW_RESULTS: Final = 3
"""A page with fewer than FEW_RESULTS organic results is also searched for the kinds of headings that mobile
pages use."""
MANY_RESULTS: Final = 5
"""If a page has fewer than FEW_RESULTS results with usual headings and at least MANY_RESULTS results with the
headings of mobile pages, only the results with the headings of mobile pages are used."""
ASKED: Final = "people_also_ask"
_LABELS: Final = "span, div, h1, h2, h3, h4, label, small, strong, li, a, [role=heading]"
"""Elements that may be a label of ads."""
_BLOCK_HEADINGS: Final = "h2, h3, h4, [role=heading]"
"""Elements that may be the heading of a block of cards."""
_REDIRECTS: Final = ("/url?", "/goto?")


@dataclass(slots=True, eq=False)
class ResultCandidate:
    """A link with a heading that may be an organic result."""

    heading: Element
    link: Element
    url: str
    chain: list[Element]
    """The link and its ancestors inside the main column, the innermost first."""
    block: Element
    """The largest ancestor that contains no other candidate."""
    votes: int = 0
    class_votes: int = 0
    has_cite: bool = False
    """Whether the block of the candidate contains a display URL. Organic results have a display URL, and
    sitelinks have none."""
    parent: ResultCandidate | None = None
    """The result to which a sitelink or an indented result belongs."""


@dataclass(slots=True)
class Scan:
    """The elements found on a page, before its blocks are put in order."""

    order: dict[Element, int]
    main: Element | None = None
    organic: list[ResultCandidate] = field(default_factory=list)
    sitelinks: list[ResultCandidate] = field(default_factory=list)
    ads: list[ResultCandidate] = field(default_factory=list)
    """Candidates with a label of ads."""
    weak: list[ResultCandidate] = field(default_factory=list)
    """Candidates in the main column that have fewer than two votes."""
    outside: int = 0
    """The number of links that have a heading and are neither in the main column nor in a known block."""
    containers: dict[Element, Feature] = field(default_factory=dict)


def scan(tree: turbohtml.Document, rules: EngineRules, words: PageRules) -> Scan:
    """Finds the main column, the containers of known features, and the organic results. `words`: the data
    file, which contains the labels of ads."""
    found = Scan({element: place for place, element in enumerate(tree.select("*"))})
    found.main = main_column(tree, rules)
    if found.main is None:
        found.outside = len(_links(found, tree, rules, rules.headings, set())[1])
        return found
    more = {element for css in rules.more for element in tree.select(css)}
    _scan_headings(found, tree, rules, rules.headings, False, more, words)
    if len(found.organic) >= FEW_RESULTS or not rules.weak_headings:
        return found
    other = Scan(found.order, found.main)
    _scan_headings(other, tree, rules, rules.weak_headings, True, more, words)
    enough = MANY_RESULTS if found.organic else 1
    return other if len(other.organic) >= enough else found


def main_column(tree: turbohtml.Document, rules: EngineRules) -> Element | None:
    """Returns the element that contains the organic results (the main column), or None. Returns None if the
    ids of the page seem to have a new meaning. `rules.chain` lists the ids of nested elements, the innermost
    first. The page must not have an element whose id comes before the main column's id in `rules.chain`. The
    ids after the main column's id belong to elements around the main column. At least two thirds of the
    page's elements with these ids must contain the main column."""
    element = next((one for css in rules.main if (one := tree.select_one(css)) is not None), None)
    if element is None:
        return None
    own = attribute_of(element, "id")
    place = rules.chain.index(own) if own in rules.chain else -1
    inner = [one for name in rules.chain[: max(place, 0)] if (one := tree.select_one(f"#{name}")) is not None]
    outer = [one for name in rules.chain[place + 1 :] if (one := tree.select_one(f"#{name}")) is not None]
    above = set(element.ancestors)
    if inner or 3 * sum(one in above for one in outer) < 2 * len(outer):
        return None
    return element


def matches(tree: turbohtml.Document, selectors: Iterable[DatedSelector]) -> set[Element]:
    """Returns the elements that match at least one of the selectors."""
    css = ", ".join(one.css for one in selectors)
    return set(tree.select(css)) if css else set()


def ancestors(element: Element) -> list[Element]:
    """Returns the ancestors of an element, the innermost first, without the document."""
    return [one for one in element.ancestors if isinstance(one, turbohtml.Element)]


def _scan_headings(
    found: Scan,
    tree: turbohtml.Document,
    rules: EngineRules,
    headings: tuple[str, ...],
    is_weak: bool,
    more: set[Element],
    words: PageRules,
) -> None:
    """Adds links to a Scan. Each of these links has a heading that matches one of the selectors in
    `headings`."""
    inside, outside = _links(found, tree, rules, headings, more)
    class_sets = [matches(tree, [one]) for one in rules.classes]
    for one in inside:
        one.class_votes = sum(not names.isdisjoint((one.heading, *one.chain)) for names in class_sets)
    enough = min(2, len(class_sets))
    by_class = [one for one in inside if one.class_votes >= enough]
    is_known = 2 * len(by_class) >= len(inside) or len(inside) < FEW_RESULTS
    found.containers = _containers(tree, rules, inside, is_known)
    never = matches(tree, (*rules.never, *(rules.never_classes if is_known else ())))
    never -= {element for element, number in _holds(inside).items() if number > max(3, len(inside) // 2)}
    inside = [one for one in inside if not _is_excluded(one, found.containers, never)]
    inside = inside if is_known else _of_common_class(inside)
    found.outside = sum(
        not any(element in found.containers or element in never for element in chain) for chain in outside
    )
    _set_blocks(inside)
    inside = _without_ads(found, tree, rules, words, inside)
    below = matches(tree, (*rules.sitelinks, *rules.indented))
    inside = _without_cards(inside, enough, is_known and len(by_class) >= FEW_RESULTS, below)
    marked = {element for css in rules.block_marks for element in tree.select(css)}
    for one in inside:
        has_marks = (
            not rules.link_marks.isdisjoint(one.link.attrs)
            or attribute_of(one.link, "href").startswith(_REDIRECTS)
            or not marked.isdisjoint(one.chain)
        )
        one.has_cite = one.block.select_one(rules.cite) is not None
        structure = one.has_cite or _shows_host(one) or (has_marks and not is_weak)
        one.votes = structure + 1 + (one.class_votes >= enough)
    _sort_sitelinks(found, tree, rules, inside)


def _without_ads(
    found: Scan,
    tree: turbohtml.Document,
    rules: EngineRules,
    words: PageRules,
    inside: list[ResultCandidate],
) -> list[ResultCandidate]:
    """Returns the candidates without a label of ads, such as `Sponsored results`. A label stands in the block
    of a candidate, or before several candidates in an element that holds only some of the page's
    candidates. The others become the ads of the page."""
    holds = _holds(inside)
    ads = list[ResultCandidate]()
    for label in [one for one in tree.select(_LABELS) if words.is_ad_label(one)]:
        around = next((one for one in (label, *ancestors(label)) if one in holds), None)
        labelled = [one for one in inside if around in one.chain]
        if len(labelled) == 1 and not _is_text_of(label, labelled[0], rules):
            ads += labelled
        elif 2 * len(labelled) <= len(inside):
            ads += [one for one in labelled if found.order[label] < found.order[labelled[0].link]]
    found.ads = [one for one in inside if one in ads]
    return [one for one in inside if one not in ads]


def _is_text_of(label: Element, one: ResultCandidate, rules: EngineRules) -> bool:
    """Whether an element belongs to the title, the address or the snippet of a candidate."""
    above = {label, *ancestors(label)}
    snippets = {element for css in rules.snippets for element in one.block.select(css)}
    return one.heading in above or not above.isdisjoint(snippets) or any(e.tag == "cite" for e in above)


def _without_cards(
    inside: list[ResultCandidate], enough: int, is_known: bool, below: set[Element]
) -> list[ResultCandidate]:
    """Returns the candidates without the cards of unknown blocks. Such a block holds several candidates, but at
    most half of them, and its candidates lack the usual class names and look unlike the other candidates. If the
    page's class names are new, the block also needs a heading of its own. `is_known`: whether the class names
    are known. `below`: the elements of sitelinks and indented results."""
    blocks = {one.block for one in inside}
    looks = {one.link: _look(one) for one in inside}
    numbers = Counter(looks.values())
    usual_look = max(numbers, key=numbers.__getitem__, default=())
    usual = {
        element
        for one in inside
        if one.class_votes >= enough or looks[one.link] == usual_look or not below.isdisjoint(one.chain)
        for element in one.chain
    }
    cards = {
        element
        for element, number in _holds(inside).items()
        if 2 <= number <= len(inside) // 2
        and element not in usual
        and (is_known or _has_own_heading(element, blocks))
    }
    return [one for one in inside if cards.isdisjoint(one.chain)]


def _look(one: ResultCandidate) -> tuple[str, ...]:
    """Returns the element names and class names of a candidate's heading and link."""
    parts = (one.heading, one.link, *one.chain[1:2])
    return tuple(name for part in parts for name in (part.tag, attribute_of(part, "class")))


def _has_own_heading(group: Element, blocks: set[Element]) -> bool:
    """Whether one of the first headings in an element is in no link and in none of the given blocks."""
    for heading in group.select(_BLOCK_HEADINGS)[:3]:
        above = {heading, *ancestors(heading)}
        if blocks.isdisjoint(above) and not any(one.tag == "a" for one in above):
            return True
    return False


def _shows_host(one: ResultCandidate) -> bool:
    """Whether the block of a candidate shows the host name of its target."""
    host = host_and_path(one.url)[0].removeprefix("www.")
    return bool(host) and host in one.block.text[:MAX_BLOCK_CHARS]


def _links(
    found: Scan,
    tree: turbohtml.Document,
    rules: EngineRules,
    headings: tuple[str, ...],
    more: set[Element],
) -> tuple[list[ResultCandidate], list[list[Element]]]:
    """Returns the candidates in the main column, and the links with headings elsewhere. Each item of the
    second list is a list that consists of a link and its ancestors."""
    inside: list[ResultCandidate] = []
    outside: list[list[Element]] = []
    known: set[Element] = set()
    for heading in tree.select(", ".join(headings))[:MAX_CANDIDATES] if headings else ():
        link = heading if heading.tag == "a" else heading.closest("a") or heading.select_one("a[href]")
        if link is None or link in known:
            continue
        known.add(link)
        url = result_target(attribute_of(link, "href"), rules.base, rules.own_paths)
        if not url:
            continue
        chain = [link, *ancestors(link)]
        end = next((at for at, one in enumerate(chain) if one is found.main or one in more), None)
        if end is None:
            outside.append(chain)
        else:
            inside.append(ResultCandidate(heading, link, url, chain[:end] or [link], link))
    return inside, outside


def _containers(
    tree: turbohtml.Document, rules: EngineRules, inside: list[ResultCandidate], is_known: bool
) -> dict[Element, Feature]:
    """Returns the elements that are blocks of known features. Leaves out a container of a single result if
    the container has several candidates or questions. Some containers are known only by their class names. If
    most candidates of the page are in such containers, the class names must have a new meaning, and all such
    containers are left out."""
    holds = _holds(inside)
    limit = max(2, len(inside) // 2)

    def elements(groups: Iterable[tuple[Feature, tuple[DatedSelector, ...]]]) -> dict[Element, Feature]:
        return {
            element: feature
            for feature, selectors in groups
            for one in selectors
            for element in tree.select(one.css)
            if holds.get(element, 0) < (2 if feature.one else limit + 1)
        }

    found = elements((feature, feature.inside) for feature in rules.features)
    if is_known:
        by_class = elements((feature, feature.classes) for feature in rules.features)
        if sum(not by_class.keys().isdisjoint(one.chain) for one in inside) <= limit:
            found = by_class | found
    asked = {above for one, feature in found.items() if feature.type == ASKED for above in one.ancestors}
    return {one: feature for one, feature in found.items() if not (feature.one and one in asked)}


def _holds(inside: list[ResultCandidate]) -> dict[Element, int]:
    """Maps each element that contains candidates to the number of its candidates."""
    holds: dict[Element, int] = {}
    for one in inside:
        for element in one.chain:
            holds[element] = holds.get(element, 0) + 1
    return holds


def _is_excluded(one: ResultCandidate, containers: dict[Element, Feature], never: set[Element]) -> bool:
    """Whether a candidate belongs to a feature, or is in a part of the page that never contains organic
    results."""
    return any(element in containers or element in never for element in one.chain)


def _of_common_class(inside: list[ResultCandidate]) -> list[ResultCandidate]:
    """Returns the candidates in list items with a common class name. A class name is common if the list items
    of most candidates have this class name. This function is used if the class names are unknown, because
    even then all results have the same class."""
    items = [one.chain[-1] for one in inside if one.chain[-1].tag == "li"]
    numbers = Counter(name for item in items for name in set(attribute_of(item, "class").split()))
    common = {name for name, number in numbers.items() if 2 * number > len(inside)}
    if not common or len(items) < MANY_RESULTS:
        return inside
    return [one for one in inside if not common.isdisjoint(attribute_of(one.chain[-1], "class").split())]


def _set_blocks(inside: list[ResultCandidate]) -> None:
    """Sets the block of each candidate, which is the largest ancestor without other candidates."""
    holds = _holds(inside)
    for one in inside:
        one.block = one.chain[0]
        for element in one.chain:
            if holds[element] > 1:
                break
            one.block = element


def _sort_sitelinks(
    found: Scan, tree: turbohtml.Document, rules: EngineRules, inside: list[ResultCandidate]
) -> None:
    """Divides the candidates into organic results, sitelinks and candidates with too few votes. Also finds
    the parents of sitelinks and indented results."""
    sitelinks, indented = matches(tree, rules.sitelinks), matches(tree, rules.indented)
    above: dict[Element, ResultCandidate] = {}
    wraps = sum(one.link in set(one.heading.ancestors) for one in inside)
    for one in inside:
        one.parent = None if one.has_cite else _parent_of(one, sitelinks, above)
        if one.parent is None and not one.has_cite and not sitelinks.isdisjoint(one.chain):
            one.parent = _same_host(found.organic[-1:], one)  # the parent precedes the sitelink
        is_other_shape = 2 * wraps > len(inside) and one.heading in set(one.link.ancestors)
        if one.parent is None and is_other_shape:
            one.parent = next((above[element] for element in one.chain if element in above), None)
        if one.parent is not None:
            found.sitelinks.append(one)
            continue
        if one.votes < NEEDED_VOTES:
            found.weak.append(one)
            continue
        one.parent = _parent_of(one, indented, above)
        found.organic.append(one)
        for element in one.chain:
            above[element] = one if one.parent is None else one.parent
    _set_blocks(found.organic)


def _same_host(before: list[ResultCandidate], one: ResultCandidate) -> ResultCandidate | None:
    """Returns the result that precedes a candidate if both lead to the same host, or None."""
    hosts = [host_and_path(each.url)[0].removeprefix("www.") for each in (*before, one)]
    return before[0] if before and hosts[0] == hosts[1] else None


def _parent_of(
    one: ResultCandidate, inner: set[Element], above: dict[Element, ResultCandidate]
) -> ResultCandidate | None:
    """Returns the parent of a candidate, or None. A candidate that is not inside an element of `inner` has no
    parent. The parent is the earlier result whose common ancestor with the candidate is nearest to the
    candidate. `above`: maps each ancestor of an earlier result to the earlier result."""
    for at, element in enumerate((one.heading, *one.chain)):
        if element in inner:
            return next((above[outer] for outer in one.chain[at:] if outer in above), None)
    return None
