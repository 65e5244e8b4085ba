"""The main text of a page: turbohtml finds its element, here its boilerplate is left out. Where none is
found: the longest run of text."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final, NamedTuple, TypeGuard

import turbohtml

from gossamer.parsing.article_marks import is_colophon, is_mark
from gossamer.parsing.html import Document, attribute_of
from gossamer.parsing.pruning import (
    ASKED,
    HEADINGS,
    NODES,
    SHORT,
    UP,
    Pruner,
    called_boilerplate,
    is_consent,
    parted,
    prune,
    size_of,
)

Element = turbohtml.Element

GOOD: Final = 80
"""Characters, links apart, that make a block a paragraph."""
_INLINE: Final = frozenset(
    (
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "img",
        "picture",
        "source",
        "input",
    )
)
_PLAIN: Final = frozenset(("div", "section", "header", "article", "main", "dl", "dt", "dd"))
_LEAD: Final = re.compile(
    r"(?:^|[\s_-])(?:lead|lede|leadin|summary|standfirst|intro|introduction|deck|dek|subtitle|sub-?head(?:ing|line)?|excerpt|abstract|"
    r"sapo|"
    r"vorspann|teaser-text|chapo|chapeau|sommario|entradilla|bajada|copete|bigode|linha-fina|лид|anons)(?:$|[\s_-])",
    re.IGNORECASE,
)


class TextBlock(NamedTuple):
    """A run of text between two block elements: its tag, its text, how many of the characters are links'."""

    tag: str
    text: str
    linked: int


def blocks(tree: turbohtml.Document) -> list[TextBlock]:
    """The blocks of a page's main text, in order."""
    main = main_of(tree)
    found = [*_lead(main), *_kept(_walk(main))] if main is not None else []
    if sum(len(block.text) for block in found) < SHORT and (body := tree.select_one("body")) is not None:
        other = _run(_walk(body))
        if sum(len(block.text) for block in other) > sum(len(block.text) for block in found):
            found = other
        found = found or _kept(_walk(body))
        return _discussed(body, found) or found
    return found


def _discussed(body: Element, found: list[TextBlock]) -> list[TextBlock]:
    """The comments of a page on which nobody else says anything; none where somebody does."""
    return [] if any(map(_says, found)) else _run(_walk(body, discussion=True))


def main_of(tree: turbohtml.Document) -> Element | None:
    """The element of the main text: that of turbohtml, unless the page's one heading is in another article,
    or over other paragraphs; where the text goes on in elements alike, as around advertisements, what holds
    them all."""
    main = tree.main_content()
    headings = tree.select("h1")
    if len(headings) == 1 and (article := _article(headings[0])) is not None and len(article.text) >= SHORT:
        inside = main is not None and (article in main.ancestors or main.closest("article") is article)
        around = main is not None and (article.closest("article") is main or main in article.ancestors)
        if not inside and not around:
            main = article
    if len(headings) == 1 and main is not None and (box := _under(headings[0], main)) is not None:
        main = box
    if len(headings) == 1 and main is not None and (box := _chaptered(headings[0], main)) is not None:
        main = box
    if main is None or any(is_consent(one) for one in (main, *main.ancestors)):
        return None
    return _whole(tree, _body(main))


def _body(main: Element) -> Element:
    """What in an element is marked as the body of its article, when that is most of it."""
    bodies = main.select("[itemprop~=articleBody]") if main.attrs.get("itemprop") is None else []
    return bodies[0] if len(bodies) == 1 and size_of(bodies[0]) * 2 > size_of(main) else main


def _under(heading: Element, main: Element) -> Element | None:
    """What the page's one heading is in with paragraphs of its own, when the element that was found is beside
    it, as a column is."""
    box = heading.parent
    if (
        not isinstance(box, Element)
        or box.tag in ("body", "header")
        or main in heading.ancestors
        or box in main.ancestors
    ):
        return None
    sizes = [
        len(one.text)
        for one in box.children
        if isinstance(one, Element) and one.tag == "p" and len(one.text) >= GOOD
    ]
    return box if len(sizes) > 1 and sum(sizes) >= max(SHORT, len(main.text) // 4) else None


def _chaptered(heading: Element, main: Element) -> Element | None:
    """The section that the page's one heading begins, as in a manual, when what was found is a section in it
    or a definition."""
    box = heading.parent
    if not isinstance(box, Element) or box not in main.ancestors:
        return None
    if box.tag != "section" and "section" not in attribute_of(box, "class").split():
        return None
    return box if box.select_one("section > h2, .section > h2, dl dd") is not None else None


def _article(element: Element) -> Element | None:
    """The closest element around another that calls itself an article."""
    return next((one for one in element.ancestors if _is_article(one)), None)


def _is_article(element: object) -> TypeGuard[Element]:
    return isinstance(element, Element) and (
        element.tag == "article" or "article" in attribute_of(element, "class").lower().split()
    )


def _whole(tree: turbohtml.Document, main: Element) -> Element:
    """What holds an element and its twins: those of the same tag and classes that go on with its text near
    by, in the same article."""
    names = attribute_of(main, "class").split()
    if not names:
        return main
    headings = tree.select("h1")
    live = len(headings) == 1 and _article(headings[0]) is None
    above: list[Element] = []
    for node in main.ancestors:
        if not isinstance(node, Element) or node.tag in ("body", "html") or len(above) == UP:
            break
        above.append(node)
        if _is_article(node) and not live:
            break
    found, more = -1, 0
    for twin in tree.find_all(main.tag, class_=names[0], limit=ASKED):
        if (
            twin is main
            or not _alike(attribute_of(twin, "class").split(), names)
            or not (size := _paragraphs(twin))
        ):
            continue
        near = list(islice(twin.ancestors, UP))
        shared = next((place for place, one in enumerate(above) if one in near), None)
        if shared is not None:
            found, more = max(found, shared), more + size
    return above[found] if more * 2 > len(main.text) else main


def _alike(one: list[str], other: list[str]) -> bool:
    """Whether two elements' classes are the same, but for some that only one has, and that are no
    boilerplate's."""
    few, many = sorted((set(one), set(other)), key=len)
    return few <= many and len(few) * 2 >= len(many) and not called_boilerplate(" ".join(many - few))


def _paragraphs(element: Element) -> int:
    """Characters of the paragraphs in an element."""
    sizes = (
        len(one.text) - sum(len(link.text) for link in one.select("a")) for one in element.select("p")[:ASKED]
    )
    return sum(size for size in sizes if size >= GOOD)


def _lead(main: Element) -> list[TextBlock]:
    """The summary that stands just before the main text, or the paragraphs between it and the heading."""
    node = main.previous_sibling
    before: list[TextBlock] = []
    for _ in range(12):
        if isinstance(node, Element) and node.tag == "p":
            before = [block for block in _kept(_walk(node)) if len(block.text) >= GOOD] + before
        if isinstance(node, Element) and node.tag == "h1":
            return before
        if isinstance(node, Element) and _LEAD.search(
            parted(f"{attribute_of(node, 'class')} {attribute_of(node, 'id')}")
        ):
            return [block for block in _kept(_walk(node)) if len(block.text) >= GOOD]
        node = node.previous_sibling if node is not None else None
    return []


def _walk(main: Element, discussion: bool = False) -> list[TextBlock]:
    """All blocks in an element, those of boilerplate left out; comments stay in a discussion."""
    pruner = Pruner(main, discussion)
    found: list[TextBlock] = []
    parts: list[str] = []
    linked, tag = 0, main.tag
    # nodes, or the tag of a block that goes on; whether in a link
    waiting: list[tuple[Any, bool]] = [(main, False)]
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


def _end(found: list[TextBlock], parts: list[str], linked: int, tag: str) -> int:
    """Close a block; the characters of links in the next one so far."""
    lines = (
        [" ".join(line.split()) for line in "".join(parts).split("\n")]
        if tag != "pre"
        else ["".join(parts).strip("\n")]
    )
    parts.clear()
    if text := "\n".join(line for line in lines if line):
        found.append(TextBlock(tag, text, linked))
    return 0


def _kept(found: list[TextBlock]) -> list[TextBlock]:
    """The blocks without those that are mostly links, and without headings that nothing follows."""
    kept: list[TextBlock] = []
    for block in found:
        if block.linked * 2 > len(block.text) < block.linked + GOOD:
            continue
        if not any(char.isalnum() for char in block.text):
            continue
        if is_mark(block.text):
            continue
        kept.append(block)
    while kept and (kept[-1].tag in HEADINGS or is_colophon(kept[-1].text)):
        kept.pop()
    return _begun(kept)


def _begun(kept: list[TextBlock]) -> list[TextBlock]:
    """The blocks without the short ones before the first sentence, as of dates and names; headings, lists,
    paragraphs stay."""
    start = next((place for place, block in enumerate(kept) if _says(block)), 0)
    return [block for place, block in enumerate(kept) if place >= start or block.tag not in _PLAIN]


def _says(block: TextBlock) -> bool:
    return block.tag not in HEADINGS and (len(block.text) >= GOOD or block.text[-1] in ".!?…。！？।؟”»」")


def _run(found: list[TextBlock]) -> list[TextBlock]:
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
    """The main text as Markdown; the page's tree is changed. `grows`: a layout of its tables would be too
    large."""
    tree = page.tree
    if grows:
        return "\n\n".join(
            f"{'#' * int(block.tag[1])} {block.text}" if block.tag in HEADINGS else block.text
            for block in blocks(tree)
        )
    body = tree.select_one("body")
    main = main_of(tree) or body
    if main is None or body is None or size_of(main) < min(SHORT, size_of(body)):
        main = body
    if main is None:
        return ""
    headings = tree.select("h1")
    outside = len(headings) == 1 and main not in headings[0].ancestors and headings[0] is not main
    heading = " ".join(headings[0].text.split()) if outside else ""
    lead = [block.text for block in _lead(main)]
    prune(main, main is body and bool(_discussed(body, _kept(_walk(body)))))
    for element in main.select("a[href], img[src]") if page.url else ():
        name = "href" if element.tag == "a" else "src"
        if resolved := page.base.resolve(attribute_of(element, name)):
            element.attrs[name] = resolved + "".join(attribute_of(element, name).partition("#")[1:])
    text = main.to_markdown().strip()
    return "\n\n".join(filter(None, (heading and f"# {heading}", *lead, text)))
