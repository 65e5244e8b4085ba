"""The main text of a page: turbohtml finds its element, here its boilerplate is left out. Where none is found: the longest run
of text."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final, NamedTuple, TypeGuard

import turbohtml

from gossamer.parsing.html import Document, attribute_of

Element = turbohtml.Element

NODES: Final = 50_000
"""Nodes that are walked over."""
SHORT: Final = 250
"""Characters of a main text under which the whole page is looked at, too."""
ASKED: Final = 200
"""Elements called boilerplate whose share of the text is looked at; more are left out unseen."""
UP: Final = 5
"""Levels above an element in which its text may go on."""
GOOD: Final = 80
"""Characters, links apart, that make a block a paragraph."""
_SKIPPED: Final = frozenset(
    (
        "script", "style", "template", "noscript", "figure", "figcaption", "aside", "nav", "footer", "form", "button",
        "select", "textarea", "svg", "iframe", "object", "head", "dialog", "video", "audio", "canvas", "math"
    )
)  # fmt: skip
_INLINE: Final = frozenset(
    (
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font",
        "i", "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike",
        "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img", "picture", "source", "input"
    )
)  # fmt: skip
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BOILERPLATE: Final = re.compile(
    r"(?:^|[\s_-])(?:share|sharing|sharedaddy|social|related(?:[\w-]*)|recommend(?:ed|ations?)?|newsletter|subscribe|subscription|"
    r"promo|promotion|sponsor(?:ed)?|ads?|advert(?:isement|ising)?|banner|comments?|disqus|breadcrumbs?|caption|credits?|byline|"
    r"author|bio|tags?|toolbar|tools|widget|sidebar|footer|nav|navigation|menu|pagination|pager|popup|modal|cookies?|readmore|more|"
    r"also|gallery|carousel|slideshow|slider|ratings?|print|hidden|sr-only|screen-reader|visually|signup|sign-up|donate|follow|"
    r"teaser|trending|popular|outbrain|taboola|jp-relatedposts|video|player|embed|meta|postmeta|dateline|timestamp|entry-date|"
    r"post-date|copyright|addthis|addtoany|wp-caption[\w-]*)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?:^|[\s_-])(?:lead|lede|summary|standfirst|intro|deck|dek|subtitle|excerpt|sapo|vorspann|chapo)(?:$|[\s_-])",
    re.IGNORECASE,
)

_MARKS: Final = re.compile(
    r"(?:(?:story|article) continues (?:below|after) (?:this )?)?advert(?:isement|ising)|sponsored(?: content)?|anzeige|werbung|"
    r"publicit[éeà]|publicidade?|pubblicità|реклама|you (?:may|might) also like|(?:related|more) (?:stories|articles|news)|"
    r"read (?:more|next|also)|see also|share this(?: article| story| post)?|(?:lesen sie|mehr) (?:auch|zum thema)|lire aussi|leer más",
    re.IGNORECASE,
)
"""What stands alone between the parts of a text, and is none of it."""


def called_boilerplate(name: str) -> bool:
    """Whether a class or id is one of what surrounds a text.

    >>> called_boilerplate("post sidebar"), called_boilerplate("article-body")
    (True, False)
    """
    return _BOILERPLATE.search(name) is not None


class Block(NamedTuple):
    """A run of text between two block elements: its tag, its text, how many of the characters are links'."""

    tag: str
    text: str
    linked: int


def blocks(tree: turbohtml.Document) -> list[Block]:
    """The blocks of a page's main text, in order."""
    main = main_of(tree)
    found = [*_lead(main), *_kept(_walk(main))] if main is not None else []
    if sum(len(block.text) for block in found) < SHORT and (body := tree.select_one("body")) is not None:
        other = _run(_walk(body))
        if sum(len(block.text) for block in other) > sum(len(block.text) for block in found):
            return other
        return found or _kept(_walk(body))
    return found


def main_of(tree: turbohtml.Document) -> Element | None:
    """The element of the main text: that of turbohtml, unless the page's one heading is in another article; where the text goes on
    in elements alike, as around advertisements, what holds them all."""
    main = tree.main_content()
    headings = tree.select("h1")
    if len(headings) == 1 and (article := _article(headings[0])) is not None and len(article.text) >= SHORT:
        inside = main is not None and (article in main.ancestors or main.closest("article") is article)
        around = main is not None and (article.closest("article") is main or main in article.ancestors)
        if not inside and not around:
            main = article
    return _whole(tree, main) if main is not None else None


def _article(element: Element) -> Element | None:
    """The closest element around another that calls itself an article."""
    return next((one for one in element.ancestors if _is_article(one)), None)


def _is_article(element: object) -> TypeGuard[Element]:
    return isinstance(element, Element) and (
        element.tag == "article" or "article" in attribute_of(element, "class").lower().split()
    )


def _whole(tree: turbohtml.Document, main: Element) -> Element:
    """What holds an element and its twins: those of the same tag and classes that go on with its text near by, in the same article."""
    words = attribute_of(main, "class")
    if not words:
        return main
    above: list[Element] = []
    for node in main.ancestors:
        if not isinstance(node, Element) or node.tag in ("body", "html") or len(above) == UP:
            break
        above.append(node)
        if _is_article(node):
            break
    found, more = -1, 0
    for twin in tree.find_all(main.tag, class_=words.split()[0], limit=ASKED):
        if twin is main or attribute_of(twin, "class") != words or not (size := _paragraphs(twin)):
            continue
        near = list(islice(twin.ancestors, UP))
        shared = next((place for place, one in enumerate(above) if one in near), None)
        if shared is not None:
            found, more = max(found, shared), more + size
    return above[found] if more * 2 > len(main.text) else main


def _paragraphs(element: Element) -> int:
    """Characters of the paragraphs in an element."""
    sizes = (len(one.text) - sum(len(link.text) for link in one.select("a")) for one in element.select("p")[:ASKED])
    return sum(size for size in sizes if size >= GOOD)


def _lead(main: Element) -> list[Block]:
    """The summary that stands just before the main text."""
    node = main.previous_sibling
    for _ in range(12):
        if isinstance(node, Element) and _LEAD.search(f"{attribute_of(node, 'class')} {attribute_of(node, 'id')}"):
            return [block for block in _kept(_walk(node)) if len(block.text) >= GOOD]
        node = node.previous_sibling if node is not None else None
    return []


def _size(element: Element) -> int:
    """Characters of an element's text, scripts and styles apart."""
    return len(element.text) - sum(len(one.text) for one in element.select("script, style, noscript"))


class _Pruner:
    """Which elements within one are no part of its text: by tag, or by a class or id, unless it is most of the text."""

    def __init__(self, main: Element) -> None:
        self._total = _size(main)
        self._asked = 0
        self._kept = {main, *(one for heading in main.select("h1")[:1] for one in heading.ancestors)}

    def drops(self, element: Element) -> bool:
        if element.tag in _SKIPPED:
            return True
        called = attribute_of(element, "class") or attribute_of(element, "id")
        if not called or element.tag == "blockquote" or not _BOILERPLATE.search(called) or element in self._kept:
            return False
        self._asked += 1
        return self._asked > ASKED or _size(element) * 2 < self._total


def prune(main: Element) -> None:
    """Take all that is no part of its text out of an element."""
    pruner = _Pruner(main)
    waiting = [main]
    for _ in range(NODES):
        if not waiting:
            return
        for child in list(waiting.pop().children):
            if isinstance(child, Element):
                if pruner.drops(child):
                    child.decompose()
                else:
                    waiting.append(child)


def _walk(main: Element) -> list[Block]:
    """All blocks in an element, those of boilerplate left out."""
    pruner = _Pruner(main)
    found: list[Block] = []
    parts: list[str] = []
    linked, tag = 0, main.tag
    waiting: list[tuple[Any, bool]] = [(main, False)]  # nodes, or the tag of a block that goes on; whether in a link
    for _ in range(NODES):
        if not waiting:
            break
        node, in_link = waiting.pop()
        if isinstance(node, turbohtml.Text):
            parts.append(node.text)
            linked += len(node.text.strip()) if in_link else 0
        elif isinstance(node, str):
            linked, tag = _end(found, parts, linked, tag), node
        elif isinstance(node, Element) and not pruner.drops(node):
            name = node.tag
            if name == "br":
                parts.append("\n")
            elif name not in _INLINE:
                linked = _end(found, parts, linked, tag)
                waiting.append((tag, in_link))
                tag = name
            waiting += [(child, in_link or name == "a") for child in reversed(list(node.children))]
    _end(found, parts, linked, tag)
    return found


def _end(found: list[Block], parts: list[str], linked: int, tag: str) -> int:
    """Close a block; the characters of links in the next one so far."""
    lines = (
        [" ".join(line.split()) for line in "".join(parts).split("\n")]
        if tag != "pre"
        else ["".join(parts).strip("\n")]
    )
    parts.clear()
    if text := "\n".join(line for line in lines if line):
        found.append(Block(tag, text, linked))
    return 0


def _kept(found: list[Block]) -> list[Block]:
    """The blocks without those that are mostly links, and without headings that nothing follows."""
    kept: list[Block] = []
    for block in found:
        if block.linked * 2 > len(block.text) < block.linked + GOOD:
            continue
        if not any(char.isalnum() for char in block.text):
            continue
        if len(block.text) < 50 and _MARKS.fullmatch(block.text.strip(" .:…-—*|[]()")):
            continue
        kept.append(block)
    while kept and kept[-1].tag in _HEADINGS:
        kept.pop()
    return kept


def _run(found: list[Block]) -> list[Block]:
    """The run of blocks with the most text: long ones with few links, and the short ones between them."""
    best: tuple[int, int, int] = (0, 0, 0)
    total = start = last = 0
    gap = 0
    for place, block in enumerate(found):
        size = len(block.text)
        good = size >= GOOD and block.linked * 3 < size
        if good:
            start, total = (place, size) if total == 0 else (start, total + size)
            last, gap = place, 0
            best = max(best, (total, start, last + 1))
        elif total:
            gap += 1 + (block.linked * 2 > size)
            if gap > 8:
                total = gap = 0
    return _kept(found[best[1] : best[2]])


def marked_down(page: Document, grows: bool) -> str:
    """The main text as Markdown; the page's tree is changed. `grows`: a layout of its tables would be too large."""
    tree = page.tree
    if grows:
        return "\n\n".join(
            f"{'#' * int(block.tag[1])} {block.text}" if block.tag in _HEADINGS else block.text
            for block in blocks(tree)
        )
    body = tree.select_one("body")
    main = main_of(tree) or body
    if main is None or body is None or _size(main) < min(SHORT, _size(body)):
        main = body
    if main is None:
        return ""
    headings = tree.select("h1")
    outside = len(headings) == 1 and main not in headings[0].ancestors and headings[0] is not main
    heading = " ".join(headings[0].text.split()) if outside else ""
    prune(main)
    for element in main.select("a[href], img[src]") if page.url else ():
        name = "href" if element.tag == "a" else "src"
        if resolved := page.base.resolve(attribute_of(element, name)):
            element.attrs[name] = resolved + "".join(attribute_of(element, name).partition("#")[1:])
    text = main.to_markdown().strip()
    return f"# {heading}\n\n{text}" if heading else text
