"""Converts the blocks of a result page to results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.parsing.html import attribute_of
from gossamer.parsing.ranks.model import Result
from gossamer.parsing.ranks.page_blocks import HEADINGS, PageBlock, shown_text
from gossamer.parsing.ranks.page_geometry import top_of
from gossamer.parsing.ranks.page_rules import EngineRules, PageRules
from gossamer.parsing.ranks.page_scan import Element, ResultCandidate, Scan, ancestors
from gossamer.parsing.ranks.result_links import host_and_path, result_target

MAX_TITLE_CHARS: Final = 500
MAX_TEXT_CHARS: Final = 5000
MAX_ENTRIES: Final = 60
"""Maximum number of entries of one block."""
_ANONYMOUS_LINKS: Final = 3
"""If a page has at least _ANONYMOUS_LINKS results, and all results have the same URL, the page counts as a
published sample whose publisher replaced the links."""


class ResultList:
    """Collects the results of a page in order, and numbers them. `measured`: whether a browser measured the page
    (`page_geometry`)."""

    def __init__(self, found: Scan, engine: EngineRules, rules: PageRules, *, measured: bool = False) -> None:
        self.engine = engine
        self.rules = rules
        self.results: list[Result] = []
        self._measured = measured
        self._position = 0
        self._pixel: float | None = None
        self._rank = 0
        self._seen: set[str] = set()
        self._subs: dict[ResultCandidate, int] = {}
        self._sitelinks: dict[ResultCandidate | None, list[ResultCandidate]] = {}
        for one in found.sitelinks:
            self._sitelinks.setdefault(one.parent, []).append(one)
        urls = {one.url for one in found.organic}
        self._is_anonymous = len(urls) == 1 and len(found.organic) >= _ANONYMOUS_LINKS

    def add(self, block: PageBlock) -> None:
        """Adds the results of one block."""
        if block.organic is not None:
            self._add_organic(block.organic)
            return
        if block.type == "ad":
            self._add_ads(block)
            return
        entries = self._entries(block)
        if entries is None:
            return
        self._append_all(block.type, block.element, entries)

    def _append_all(
        self, kind: str, element: Element, entries: Sequence[tuple[str, str, str, int | None]]
    ) -> None:
        """Adds the entries of one block under the next position. `element`: the block."""
        self._go_to(element)
        for title, url, text, sub in entries[:MAX_ENTRIES]:
            self._append(kind, title, url, text, sub)

    def _go_to(self, element: Element) -> None:
        """Moves to the next position, which becomes the position of the block `element`."""
        self._position += 1
        self._pixel = top_of(element) if self._measured else None

    def _append(
        self,
        kind: str,
        title: str,
        url: str,
        text: str,
        sub: int | None,
        votes: int = 0,
        *,
        rank: int | None = None,
    ) -> None:
        """Adds a result at the current position."""
        title, text = title[:MAX_TITLE_CHARS], text[:MAX_TEXT_CHARS]
        self.results.append(Result(kind, rank, self._position, title, url, text, sub, votes, self._pixel))

    def _add_organic(self, one: ResultCandidate) -> None:
        """Adds an organic result with its sitelinks. A URL that already has a rank is left out."""
        key = one.url.partition("#:~:")[0]
        if key in self._seen and not self._is_anonymous:
            return
        self._seen.add(key)
        self._go_to(one.block)
        self._rank += 1
        sub = None
        if one.parent is not None:
            sub = self._subs[one.parent] = self._subs.get(one.parent, -1) + 1
        text = _snippet(one, self.engine)
        self._append("organic", _title(one), one.url, text, sub, one.votes, rank=self._rank)
        headed = self._sitelinks.get(one, [])
        listed = [(_title(link), link.url, link.link, link.votes) for link in headed]
        listed += self._inline_sitelinks(one, {link.url for link in headed})
        others = {link for _, _, link, _ in listed} | {one.link}
        for place, (name, goal, link, votes) in enumerate(listed[:MAX_ENTRIES]):
            text = _text_beside(link, others, name) if headed else ""
            self._append("sitelink", name, goal, text, place, votes)

    def _inline_sitelinks(self, one: ResultCandidate, known: set[str]) -> list[tuple[str, str, Element, int]]:
        """Returns those links inside an organic result that lead to other pages of the result's host. Links
        with a heading are left out."""
        found: dict[str, tuple[str, str, Element, int]] = {}
        host = host_and_path(one.url)[0].removeprefix("www.")
        for link in [] if self._is_anonymous else one.block.select("a[href]")[:MAX_ENTRIES]:
            goal = self._goal(link)
            page = goal.partition("#")[0]
            if not goal or goal in known or page == one.url.partition("#")[0] or link is one.link:
                continue
            text = shown_text(link)[:MAX_TITLE_CHARS]
            if (
                text
                and host_and_path(goal)[0].removeprefix("www.") == host
                and link.select_one(HEADINGS) is None
            ):
                found.setdefault(goal, (text, goal, link, 0))
        return list(found.values())

    def _entries(self, block: PageBlock) -> list[tuple[str, str, str, int | None]] | None:
        """Returns the entries of a feature as (title, url, text, sub), or None if the block is empty."""
        kind, element = block.type, block.element
        if kind == "people_also_ask":
            return self._questions(block) or None
        if kind == "related":
            return [(text, "", "", at) for at, text in enumerate(self._searches(element))] or None
        text = shown_text(element)
        if block.feature.one or kind in ("ai_overview", "unknown", "map"):
            title, url = self._main_link(element)
            if not text and not url:
                return None
            whole = (title, "" if kind == "ai_overview" else url, text, None)
            links = self._links(element) if kind == "ai_overview" else []
            return [whole, *((*link, "", at) for at, link in enumerate(links))]
        cards = self._cards(block)
        if not cards and not text:
            return None
        return [(*card, at) for at, card in enumerate(cards)] or [
            (self._main_link(element)[0], "", text, None)
        ]

    def _questions(self, block: PageBlock) -> list[tuple[str, str, str, int | None]]:
        """Returns the questions of a block, each with its answer if the page contains it."""
        found: dict[str, tuple[str, str]] = {}
        for one in self._parts(block):
            text = shown_text(one)
            question = attribute_of(one, "data-q") or self._question(one) or text
            if not question or question in found:
                continue
            answer = text.removeprefix(question).strip()
            links = self._links(one)
            found[question] = (links[0][1] if links else "", answer)
        return [(title, *rest, at) for at, (title, rest) in enumerate(found.items())]

    def _question(self, element: Element) -> str:
        """Returns the text of a question. This is the text that is visible before a reader opens the
        answer."""
        one = element.select_one("[role=button], [aria-expanded], g-accordion-expander > div")
        return shown_text(one) if one is not None else ""

    def _searches(self, element: Element) -> list[str]:
        """Returns the searches that a block suggests."""
        found: dict[str, None] = {}
        ignored = ", ".join(self.engine.ignore)
        for link in element.select("a[href]")[:200]:
            href = attribute_of(link, "href")
            if ignored and link.closest(ignored) is not None:
                continue
            if "q=" in href and not result_target(href, self.engine.base, self.engine.own_paths):
                text = shown_text(link)
                if text:
                    found[text] = None
        return list(found)

    def _add_ads(self, block: PageBlock) -> None:
        """Adds the ads of a block. Each text ad has its own position, which its sitelinks share. The cards of
        a carousel share one position."""
        parts = self._parts(block)
        cards = [part for part in parts if part.tag == "g-inner-card"]
        if cards:
            links = {link: shown_text(card) for card in cards for link in self._links(card)[:1]}
            ads = [(*link, text, at) for at, (link, text) in enumerate(links.items())]
            self._append_all("ad", block.element, ads)
            return
        for part in parts:
            heading = part.select_one(HEADINGS)
            named = shown_text(heading) if heading is not None and part is not block.element else ""
            (title, url), *below = self._links(part) or [(named, "")]
            if not url and not named:
                continue
            title = named or title
            self._append_all("ad", part, [(title, url, shown_text(part), None)])
            others = set(part.select("a[href]"))
            targets = {self._goal(link): link for link in others}
            for place, (name, goal) in enumerate([one for one in below if one[0]][:MAX_ENTRIES]):
                text = _text_beside(targets[goal], others, name) if goal in targets else ""
                self._append("sitelink", name, goal, text, place)

    def _cards(self, block: PageBlock) -> list[tuple[str, str, str]]:
        """Returns the entries of a feature as (title, url, text)."""
        parts = self._parts(block)
        if parts == [block.element]:
            return [(title, url, "") for title, url in self._links(block.element)]
        found: dict[tuple[str, str], str] = {}
        for one in parts:
            title, url = self._main_link(one)
            title = title or _label(one, block.element)
            text = shown_text(one)
            if title or text:
                found.setdefault((title or text[:MAX_TITLE_CHARS], url), text)
        return [(*key, text) for key, text in found.items()]

    def _parts(self, block: PageBlock) -> list[Element]:
        """Returns the elements of a block that contain one entry each, or the block itself if there are
        none."""
        for css in block.feature.entries:
            parts = [one for one in block.element.select(css) if one is not block.element]
            if parts:
                return list(_outermost(parts))[: 4 * MAX_ENTRIES]
        return [block.element]

    def _main_link(self, element: Element) -> tuple[str, str]:
        """Returns the title and the URL of a block that consists of a single result."""
        links = self._links(element)
        marked = [one for css in self.engine.titles for one in element.select(css)[:1]]
        headings = [one for one in element.select(HEADINGS)[:20] if one.tag != "h1"]
        for one in (*marked, *headings):
            text = shown_text(one)
            if text and not self.rules.heading_type(text):
                return text, links[0][1] if links else ""
        return links[0] if links else ("", "")

    def _goal(self, link: Element) -> str:
        """Returns the URL to which a link leads, or '' if the link does not lead to another site."""
        return result_target(attribute_of(link, "href"), self.engine.base, self.engine.own_paths)

    def _links(self, element: Element) -> list[tuple[str, str]]:
        """Returns the links to other sites in an element as (title, url). Each URL occurs once. The title is
        the heading in a link to the URL. If no link to the URL contains a heading, the title is the longest
        text of these links."""
        found: dict[str, tuple[bool, str]] = {}
        for link in element.select("a[href]")[:400]:
            url = self._goal(link)
            if not url:
                continue
            heading = link.select_one(HEADINGS)
            title = shown_text(heading if heading is not None else link)
            title = title or attribute_of(link, "aria-label") or attribute_of(link, "title")
            before = found.get(url, (False, ""))
            if url not in found or (heading is not None, len(title)) > (before[0], len(before[1])):
                found[url] = (heading is not None, title)
        return [(title, url) for url, (_, title) in found.items()]


def _outermost(parts: list[Element]) -> Iterator[Element]:
    """Yields the elements of `parts` that are not inside another element of `parts`."""
    known = set(parts)
    for one in parts:
        if known.isdisjoint(one.ancestors):
            yield one


def _label(element: Element, around: Element) -> str:
    """Returns the text of the element that labels `element`, or ''."""
    name = attribute_of(element, "aria-labelledby")
    if not name or "'" in name or "\\" in name:
        return ""
    label = around.select_one(f"[id='{name}']")
    return shown_text(label) if label is not None else ""


def _text_beside(link: Element, others: set[Element], title: str) -> str:
    """Returns the text that accompanies a sitelink. This is the text of the link's largest ancestor that
    contains no other link. The title is removed from the text."""
    widest = link
    for element in ancestors(link):
        if any(one in others and one is not link for one in element.select("a[href]")[:20]):
            break
        widest = element
    return shown_text(widest).removeprefix(title).strip()[:MAX_TEXT_CHARS]


def _title(one: ResultCandidate) -> str:
    return shown_text(one.heading)[:MAX_TITLE_CHARS]


def _snippet(one: ResultCandidate, engine: EngineRules) -> str:
    """Returns the snippet of an organic result, or ''."""
    for css in engine.snippets:
        for element in one.block.select(css)[:5]:
            if element not in one.chain and (text := shown_text(element)):
                return text[:MAX_TEXT_CHARS]
    rest = [
        child
        for child in one.block.select("div, span, p")[:200]
        if child not in one.chain and child.select_one("a, h3, h2") is None
    ]
    outside = [child for child in rest if child.closest("a") is None]
    texts = [text for child in outside or rest if (text := shown_text(child))]
    return max(texts, key=len, default="")[:MAX_TEXT_CHARS]
