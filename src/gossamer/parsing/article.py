"""Finds the main text of a page and splits it into text blocks.

The library turbohtml finds the element that holds the main text. The module `boilerplate` decides which parts
of the element are dropped. This module corrects the choice of turbohtml. The main text may begin before the
element, for example with a summary below the heading. In addition, the main text may continue in other parts
of the page, for example in modules, slides or the posts of a thread. If turbohtml finds no element, or one
with too little text, the longest run of text on the page is used instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, Final, NamedTuple, TypeGuard

import turbohtml

from gossamer.parsing.boilerplate import (
    AFTER,
    BEFORE,
    HEADINGS,
    INSIDE,
    MAX_LEVELS,
    MAX_LEVELS_UP,
    MAX_MEASURED,
    MAX_NODES,
    PARAGRAPH_CHARS,
    SHORT_CHARS,
    Pruner,
    called_boilerplate,
    is_colophon,
    is_consent,
    is_follow,
    is_mark,
    is_pointer,
    named,
    paragraphs_of,
    prune,
    size_of,
    split_camel_case,
)
from gossamer.parsing.html import Document, attribute_of
from gossamer.parsing.shown import shown
from gossamer.parsing.structured import json_ld, json_ld_objects

Element = turbohtml.Element

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
        "meta",
        "link",
    )
)
"""Tags of elements that do not end a block of text. The tags `meta` and `link` are included because pages use
them inside sentences to annotate names."""
_LISTED_ONLY: Final = frozenset(("li", "td", "th", "dt", "dd", "pre"))
_LISTED: Final = HEADINGS | _LISTED_ONLY
MAX_SUMMARY_CHARS: Final = 1_000
"""Maximum number of characters of a summary that is in a different part of the page than the main text."""
MAX_DEPTH: Final = 50
"""Maximum number of levels that the search for the largest element descends."""
MAX_STEPS: Final = 200
"""Maximum number of steps that are read from a recipe."""
_STEP_CHARS: Final = 30
_PREPARATION: Final = "recipeInstructions"
LONG_CHARS: Final = 200
"""Minimum number of characters of a long paragraph. Only the first occurrence of a long paragraph is kept."""
MIN_CALENDAR_CELLS: Final = 28
"""Minimum number of consecutive text blocks that count as the days of a calendar, if each block has one or
two characters."""
CAPTION_CHARS: Final = 30
"""Minimum number of characters of an image's alt that is compared with the text after the image."""
LEAD_CHARS: Final = 60
"""Minimum number of characters of a summary before the main text."""
_PLAIN: Final = frozenset(("div", "section", "header", "article", "main", "dl", "dt", "dd"))
_LEAD: Final = named("lead_names")
_PRINTED_URL: Final = re.compile(r"\W*https?://\S+")


class TextBlock(NamedTuple):
    """A run of text between the boundaries of block elements. `tag`: the tag of the block element. `linked`:
    how many characters of `text` are in links. `level`: how many levels above the main element the block
    is. `depth`: the depth of the block element below the element that was walked."""

    tag: str
    text: str
    linked: int
    level: int = 0
    depth: int = 0


class MainText(NamedTuple):
    """The main text of a page. `element`: the element that contains the main text. `inside`: the element that
    turbohtml found, which is `element` or one of its descendants. `lead`: the blocks of the summary before
    `element`. `blocks`: the blocks in `element`."""

    element: Element
    inside: Element
    lead: list[TextBlock]
    blocks: list[TextBlock]


def blocks(tree: turbohtml.Document) -> list[TextBlock]:
    """Returns the blocks of a page's main text, in page order."""
    return _once(_blocks(tree))


def _blocks(tree: turbohtml.Document) -> list[TextBlock]:
    main = find_main(tree)
    found = [*main.lead, *main.blocks] if main is not None else []
    if _chars(found) < SHORT_CHARS and (body := tree.select_one("body")) is not None:
        other = _run(_walk(body, Pruner(body)))
        if _chars_below_headings(other) > _chars_below_headings(found):
            found = other
        if main is not None and _chars(found) * 5 < size_of(main.element):
            found = _kept(_walk(main.element, Pruner(main.element, names=False)))
        found = found or _kept(_walk(body, Pruner(body)))
        return _discussed(body, found) or found
    return found


def _once(found: list[TextBlock]) -> list[TextBlock]:
    """Removes long paragraphs that already occurred on the page, for example in a version for small screens.
    If a third of the text is repeated, all repeated blocks are removed. Otherwise, short repeated blocks are
    kept, for example the refrain of a song."""
    if len({block.text for block in found}) == len(found):
        return found
    known: set[str] = set()
    again: list[bool] = []
    for block in found:
        again.append(block.text in known)
        known.add(block.text)
    repeated = sum(
        len(block.text)
        for block, is_again in zip(found, again, strict=True)
        if is_again and len(block.text) >= LONG_CHARS
    )
    shortest = 0 if repeated * 3 >= _chars(found) else LONG_CHARS
    return [
        block
        for block, is_again in zip(found, again, strict=True)
        if not is_again or len(block.text) < shortest
    ]


def _chars(found: list[TextBlock]) -> int:
    return sum(len(block.text) for block in found)


def _chars_below_headings(found: list[TextBlock]) -> int:
    return sum(len(block.text) for block in found if block.tag not in HEADINGS)


def find_main(tree: turbohtml.Document) -> MainText | None:
    """Returns the main text of a page and the element that contains the main text. Returns None if the page
    has no main text."""
    main = main_of(tree) or _largest(tree)
    if main is None:
        return None
    chain = _chain(main)
    top = chain[-1]
    found = _walk(top, Pruner(top, inside=main), chain)
    reached = max(_reach(found, chain), _preparation_level(tree, chain))
    kept = _kept([block for block in found if block.level <= reached])
    lead = _lead(tree, found, chain, reached) or _summary(main) or _below_heading(tree, main)
    known = {block.text for block in kept}
    return MainText(chain[reached], main, [block for block in lead if block.text not in known], kept)


def _largest(tree: turbohtml.Document) -> Element | None:
    """Returns the smallest element that contains most of the page's paragraphs. Returns None if the page has
    too few paragraphs."""
    node = tree.select_one("body")
    if node is None or (total := paragraphs_of(node)) < SHORT_CHARS:
        return None
    found: Element | None = None
    for _ in range(MAX_DEPTH):
        node = next(
            (
                one
                for one in islice(node.children, MAX_MEASURED)
                if isinstance(one, Element) and not is_consent(one) and paragraphs_of(one) * 4 >= total * 3
            ),
            None,
        )
        if node is None or node.tag == "p":
            break
        found = node
    return found


def _chain(main: Element) -> list[Element]:
    """Returns the main element and the elements around it, up to the last element that adds at least
    LEAD_CHARS characters."""
    chain, size, last = [main], size_of(main), 1
    for node in islice(main.ancestors, MAX_LEVELS):
        if not isinstance(node, Element) or node.tag in ("body", "html"):
            break
        chain.append(node)
        now = size_of(node)
        if now >= size + LEAD_CHARS:
            last = len(chain)
        size = now
        if node.tag == "main" or (_is_article(node) and node.select_one("h1") is not None):
            break
    return chain[:last]


def _is_post(element: Element) -> bool:
    """Whether an element is a whole article or post."""
    names = attribute_of(element, "class").lower().split()
    return element.tag == "article" or not {"article", "hentry", "post", "type-post"}.isdisjoint(names)


def _is_good(block: TextBlock) -> bool:
    """Whether a block is a paragraph with few links."""
    return len(block.text) >= PARAGRAPH_CHARS and block.linked * 3 < len(block.text)


def _reach(found: list[TextBlock], chain: list[Element]) -> int:
    """Returns the level of the outermost element that belongs to the main text. The main element has level 0,
    its parent has level 1, and so on.

    An element around the main text is added to the main text if the element's further paragraphs make the
    text at least 60 % longer, and if the element contains little other text. If most of the new text is in
    several similar siblings (`_twins`), 10 % is enough. An element around a whole article or post is added
    only if similar siblings contain most of the new text.
    """
    good, other = [0] * len(chain), [0] * len(chain)
    for block in found:
        if _is_good(block):
            good[block.level] += len(block.text)
        elif block.tag not in _LISTED and not is_mark(block.text):
            other[block.level] += len(block.text)
    reached, base, more, around, in_post = 0, good[0], 0, 0, False
    for level in range(1, len(chain)):
        more, around = more + good[level], around + other[level]
        in_post = in_post or _is_post(chain[level - 1])
        if not more or around > (0.8 if more > 1.5 * base else 0.4) * more:
            continue
        twins = _twins(chain[level - 1])
        modules = sum(twins) * 2 > more
        if more >= (0.1 if modules and len(twins) > 1 else 0.6) * base and (modules or not in_post):
            reached, base, more, around = level, base + more, 0, 0
    return reached


def _preparation_level(tree: turbohtml.Document, chain: list[Element]) -> int:
    """Returns the level of the element that contains the preparation of a recipe. The steps of the
    preparation are taken from the page's JSON-LD. Returns 0 if no element contains the steps of the
    preparation. The description of the dish is often in another part of the page."""
    scripts = tree.select('script[type="application/ld+json"]') if len(chain) > 1 else ()
    if not any(_PREPARATION in one.text for one in scripts):
        return 0
    steps = (_steps(one.get(_PREPARATION)) for one in json_ld_objects(json_ld(tree)))
    ends = next(({some[0], some[-1]} for some in steps if some), set())
    for level, element in enumerate(chain):
        text = " ".join(element.text.split())
        if ends and all(step in text for step in ends):
            return level
    return 0


def _steps(instructions: Any) -> list[str]:
    """Returns the first words of each step of a recipe in JSON-LD."""
    if isinstance(instructions, list):
        return [step for one in instructions[:MAX_STEPS] for step in _steps(one)]
    if isinstance(instructions, dict):
        return _steps(instructions.get("text") or instructions.get("itemListElement"))
    if not isinstance(instructions, str) or "<" in instructions:
        return []
    lines = (" ".join(line.split())[:_STEP_CHARS] for line in instructions.splitlines())
    return [line for line in lines if line]


def _twins(element: Element) -> list[int]:
    """Finds the siblings of an element that have the same tag and similar classes. For each of these
    siblings, returns the number of characters outside of links. Siblings shorter than a paragraph are left
    out."""
    names = attribute_of(element, "class").split()
    parent = element.parent
    if not isinstance(parent, Element) or not names:
        return []
    sizes = (
        size_of(one) - sum(len(link.text) for link in one.find_all("a", limit=MAX_MEASURED))
        for one in islice(parent.children, MAX_MEASURED)
        if isinstance(one, Element)
        and one is not element
        and one.tag == element.tag
        and _alike(attribute_of(one, "class").split(), names)
    )
    return [size for size in sizes if size >= PARAGRAPH_CHARS]


def _lead(
    tree: turbohtml.Document, found: list[TextBlock], chain: list[Element], reached: int
) -> list[TextBlock]:
    """Returns the paragraphs between the heading and the main text. If the heading is in boilerplate, returns
    the paragraphs before the main text. Paragraphs outside of the smallest element that contains the heading
    and the main text are left out."""
    first = next((place for place, block in enumerate(found) if block.level <= reached), 0)
    heading = next((place for place in range(first - 1, -1, -1) if found[place].tag == "h1"), None)
    before = [
        block
        for block in found[0 if heading is None else heading + 1 : first]
        if _is_good(block) and block.tag not in _LISTED_ONLY
    ]
    if heading is None:
        headings = tree.select("h1")
        above = set(headings[0].ancestors) if len(headings) == 1 else set()
        level = next((level for level, element in enumerate(chain) if element in above), 0)
        before = [block for block in before if block.level <= level]
    return before


def _discussed(body: Element, found: list[TextBlock]) -> list[TextBlock]:
    """Returns the blocks of a page's comments, or an empty list if the blocks outside of comments (`found`)
    contain a sentence."""
    return [] if any(map(_says, found)) else _run(_walk(body, Pruner(body, discussion=True)))


def main_of(tree: turbohtml.Document) -> Element | None:
    """Returns the element that holds the main text, or None.

    turbohtml chooses an element, and this function corrects the choice. If the page's only h1 is in another
    article, the function returns that article. If the h1 is in a box with several paragraphs, and the element
    is beside this box, the function returns the box. If the h1 begins a section that contains the element,
    the function returns that section. If the text continues in similar elements, for example after an
    advertisement, the function returns the element that contains all of them. If the element is in a cookie
    consent dialog, the result is None.
    """
    main = tree.main_content()
    headings = tree.select("h1")
    if (
        len(headings) == 1
        and (article := _article(headings[0])) is not None
        and len(article.text) >= SHORT_CHARS
    ):
        inside = main is not None and (article in main.ancestors or main.closest("article") is article)
        around = main is not None and (article.closest("article") is main or main in article.ancestors)
        if not inside and not around:
            main = article
    if len(headings) == 1 and main is not None and (box := _under(headings[0], main)) is not None:
        main = box
    if len(headings) == 1 and main is not None and (box := _chaptered(headings[0], main)) is not None:
        main = box
    main = _titled_section(tree, main)
    if main is not None and called_boilerplate(f"{attribute_of(main, 'class')} {attribute_of(main, 'id')}"):
        main = _unlike(tree, main)
    if main is None or any(is_consent(one) for one in (main, *main.ancestors)):
        return None
    return _whole(tree, _body(main))


def _unlike(tree: turbohtml.Document, main: Element) -> Element:
    """Returns the element with most of the page's paragraphs in place of an element that is called boilerplate,
    for example a teaser, if most of the paragraphs are outside of it. Otherwise returns `main`."""
    other = _largest(tree)
    if other is None or main in (other, *other.ancestors) or paragraphs_of(other) < 2 * paragraphs_of(main):
        return main
    return other


def _body(main: Element) -> Element:
    """Returns the only descendant with `itemprop=articleBody` if it has more than half of the element's text.
    Otherwise returns the element itself."""
    bodies = main.select("[itemprop~=articleBody]") if main.attrs.get("itemprop") is None else []
    return bodies[0] if len(bodies) == 1 and size_of(bodies[0]) * 2 > size_of(main) else main


def _under(heading: Element, main: Element) -> Element | None:
    """Returns the parent of the page's only h1, if the parent has several paragraphs of its own and neither
    contains `main` nor is inside `main`. Otherwise returns None."""
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
        if isinstance(one, Element) and one.tag == "p" and len(one.text) >= PARAGRAPH_CHARS
    ]
    return box if len(sizes) > 1 and sum(sizes) >= max(SHORT_CHARS, len(main.text) // 4) else None


def _chaptered(heading: Element, main: Element) -> Element | None:
    """Returns the section that is introduced by the page's only h1, as in a manual. The section must contain
    `main`, and it must have subsections or definitions. Otherwise returns None."""
    box = heading.parent
    if not isinstance(box, Element) or box not in main.ancestors:
        return None
    if box.tag != "section" and "section" not in attribute_of(box, "class").split():
        return None
    return box if box.select_one("section > h2, .section > h2, dl dd") is not None else None


def _titled_section(tree: turbohtml.Document, main: Element | None) -> Element | None:
    """Returns the outermost section around a part of a handbook, if its heading is the title of the page. The
    sections are nested, and have the same tag and class. Returns other elements unchanged. If `main` is None,
    the first section of the page is examined."""
    found: Element | None = None
    for node in (
        islice((main, *main.ancestors), MAX_LEVELS) if main is not None else tree.select(".section")[:1]
    ):
        if not isinstance(node, Element):
            break
        names = attribute_of(node, "class")
        if found is not None and (node.tag, names) != (found.tag, attribute_of(found, "class")):
            break
        if found is not None or "section" in names.split():
            found = node
    heading = found.select_one(", ".join(HEADINGS)) if found is not None else None
    title = tree.select_one("title")
    if found is None or heading is None or title is None:
        return main
    return found if " ".join(heading.text.split()) == " ".join(title.text.split()) else main


def _article(element: Element) -> Element | None:
    """Returns the closest ancestor of an element that is marked as an article."""
    return next((one for one in element.ancestors if _is_article(one)), None)


def _is_article(element: object) -> TypeGuard[Element]:
    return isinstance(element, Element) and (
        element.tag == "article" or "article" in attribute_of(element, "class").lower().split()
    )


def _whole(tree: turbohtml.Document, main: Element) -> Element:
    """If the text of an element continues in similar elements, returns the common ancestor of all of these
    elements. Similar elements have the same tag and nearly the same classes, and are close to the element in
    the same article. Returns the element itself if the similar elements have too little text."""
    names = attribute_of(main, "class").split()
    if not names:
        return main
    headings = tree.select("h1")
    live = len(headings) == 1 and _article(headings[0]) is None
    above: list[Element] = []
    for node in main.ancestors:
        if not isinstance(node, Element) or node.tag in ("body", "html") or len(above) == MAX_LEVELS_UP:
            break
        above.append(node)
        if _is_article(node) and not live:
            break
    found, more = -1, 0
    for twin in tree.find_all(main.tag, class_=names[0], limit=MAX_MEASURED):
        if (
            twin is main
            or not _alike(attribute_of(twin, "class").split(), names)
            or not (size := paragraphs_of(twin))
        ):
            continue
        near = list(islice(twin.ancestors, MAX_LEVELS_UP))
        shared = next((place for place, one in enumerate(above) if one in near), None)
        if shared is not None:
            found, more = max(found, shared), more + size
    return above[found] if more * 2 > len(main.text) else main


def _alike(one: list[str], other: list[str]) -> bool:
    """Whether two lists of classes are similar. The longer list must contain all classes of the shorter list.
    At most half of the classes in the longer list may be absent from the shorter list, and none of the absent
    classes may name boilerplate."""
    few, many = sorted((set(one), set(other)), key=len)
    return few <= many and len(few) * 2 >= len(many) and not called_boilerplate(" ".join(many - few))


def _summary(main: Element) -> list[TextBlock]:
    """Returns the blocks of the summary just before the main text. If an h1 is closer to the main text than a
    summary, returns the paragraphs between the h1 and the main text."""
    node = main.previous_sibling
    before: list[TextBlock] = []
    for _ in range(12):
        if isinstance(node, Element) and node.tag == "p":
            before = [
                block for block in _kept(_walk(node, Pruner(node))) if len(block.text) >= PARAGRAPH_CHARS
            ] + before
        if isinstance(node, Element) and node.tag == "h1":
            return before
        if isinstance(node, Element) and _LEAD.search(
            split_camel_case(f"{attribute_of(node, 'class')} {attribute_of(node, 'id')}")
        ):
            return [block for block in _kept(_walk(node, Pruner(node))) if len(block.text) >= PARAGRAPH_CHARS]
        node = node.previous_sibling if node is not None else None
    return []


def _below_heading(tree: turbohtml.Document, main: Element) -> list[TextBlock]:
    """Returns the summary below the page's only h1, if the h1 and the main text are in different parts of the
    page. For example, the h1 and the summary may be in a banner."""
    headings = tree.find_all("h1", limit=2)
    if len(headings) != 1 or main in headings[0].ancestors:
        return []
    node: Any = headings[0]
    for _ in range(MAX_LEVELS_UP):
        for one in islice(node.next_siblings, MAX_LEVELS_UP):
            if not isinstance(one, Element):
                continue
            if one is main or one in main.ancestors:
                return []
            if _LEAD.search(split_camel_case(attribute_of(one, "class"))) is not None:
                found = [block for block in _walk(one, Pruner(one)) if _is_good(block)]
                return found if _chars(found) <= MAX_SUMMARY_CHARS else []
        node = node.parent
        if not isinstance(node, Element) or node.tag == "body":
            break
    return []


def _walk(top: Element, pruner: Pruner, chain: list[Element] | None = None) -> list[TextBlock]:
    """Returns all blocks in an element, without boilerplate. `chain`: the main element and the elements
    around it, up to `top`. The level of a block is the index, in `chain`, of the innermost element around the
    block."""
    levels = {element: level for level, element in enumerate(chain or ())}
    level = max(0, len(levels) - 1)
    found: list[TextBlock] = []
    parts: list[str] = []
    linked, tag, around, alt = 0, top.tag, BEFORE, ""
    # `nodes`: the remaining child nodes of the current element. `in_link`: whether the nodes are in a link.
    # `inner`: the level of the nodes. `after`: the tag of the block that continues after the current element,
    # or None if the element does not end a block. `alt`: the alt of the image before the current block.
    nodes: Iterator[turbohtml.Node] = iter((top,))
    in_link, inner = False, level
    after: str | None = None
    above: list[tuple[Iterator[turbohtml.Node], bool, int, str | None]] = []
    for _ in range(2 * MAX_NODES):  # each node needs two steps: enter and leave
        node = next(nodes, None)
        if node is None:
            if after is not None:
                alt = _end(found, parts, tag, linked, level, len(above), alt)
                linked, tag = 0, after
            if not above:
                break
            nodes, in_link, inner, after = above.pop()
        elif isinstance(node, turbohtml.Text):
            text = node.text
            parts.append(text.replace("\n", " ") if tag != "pre" and "\n" in text else text)
            if in_link:
                linked += len(text.strip())
            level = inner
        elif isinstance(node, Element) and not pruner.is_dropped(node, around if inner else INSIDE):
            name = node.tag
            above.append((nodes, in_link, inner, after))
            inner = levels.get(node, inner) if inner else 0
            around = around if inner else AFTER
            nodes, in_link, after = iter(node.children), in_link or name == "a", None
            if name == "br":
                parts.append("\n")
            elif name == "img":
                alt = "" if inner else " ".join(attribute_of(node, "alt").split())
            elif name not in _INLINE and "-" not in name:  # custom elements are inline
                alt = _end(found, parts, tag, linked, level, len(above) - 1, alt)
                linked = 0
                tag, after = name, tag
    _end(found, parts, tag, linked, level, alt=alt)
    return found


def _end(
    found: list[TextBlock],
    parts: list[str],
    tag: str,
    linked: int,
    level: int,
    depth: int = 0,
    alt: str = "",
) -> str:
    """Ends the current block, whose text is `parts`, and adds it to `found`, unless it is the caption of an image.
    `alt`: the alt of the image before the block. Returns the alt of the image before the next block."""
    if not parts:
        return alt
    whole = "".join(parts)
    parts.clear()
    if whole.isspace():
        return alt
    if tag == "pre":
        text = whole.strip("\n")
    elif "\n" not in whole:
        text = " ".join(whole.split())
    else:
        text = "\n".join(filter(None, (" ".join(line.split()) for line in whole.split("\n"))))
    if not text:
        return alt
    if not _is_caption(tag, text, alt):
        found.append(TextBlock(tag, text, linked, level, depth))
    return ""


def _is_caption(tag: str, text: str, alt: str) -> bool:
    """Whether the block after an image repeats the image's alt, and adds no more than the photographer."""
    return (
        len(alt) >= CAPTION_CHARS
        and tag not in HEADINGS
        and len(text) < len(alt) + PARAGRAPH_CHARS
        and text.startswith(alt)
    )


def _kept(found: list[TextBlock]) -> list[TextBlock]:
    """Removes blocks that consist mostly of links, blocks without letters and digits, and labels such as
    "Advertisement". Also removes headings, copyright notices and requests to follow the authors at the end."""
    kept: list[TextBlock] = []
    for place, block in enumerate(found):
        if _is_linked(block) and not _is_linked_text(found, place):
            continue
        if not any(char.isalnum() for char in block.text):
            continue
        if is_mark(block.text) or (block.text.startswith('{"') and block.text.endswith("}")):
            continue
        kept.append(block)
    kept = _without_calendars(kept)
    while kept and (
        kept[-1].tag in HEADINGS
        or is_colophon(kept[-1].text)
        or (kept[-1].linked and is_follow(kept[-1].text))
    ):
        kept.pop()
    return _begun(kept)


def _is_linked(block: TextBlock) -> bool:
    """Whether a block consists mostly of links."""
    return block.linked * 2 > len(block.text) < block.linked + PARAGRAPH_CHARS


def _is_linked_text(found: list[TextBlock], place: int) -> bool:
    """Whether a block that consists mostly of links belongs to the text: a heading above a paragraph, a first
    cell or term beside its text, a sentence after a paragraph, or a printed URL."""
    block = found[place]
    after = found[place + 1] if place + 1 < len(found) else None
    before = found[place - 1] if place else None
    if _PRINTED_URL.fullmatch(block.text):
        return True
    if after is None or is_mark(block.text) or is_pointer(block.text):
        return False
    if block.tag in HEADINGS:
        return _is_good(after) and block.depth <= after.depth
    if block.tag in ("td", "th", "dt"):
        return after.tag in ("td", "dd") and not after.linked and (before is None or not _is_linked(before))
    return (
        block.tag == "p"
        and block.text.endswith((".", "。"))
        and before is not None
        and _is_good(before)
        and block.depth <= before.depth
    )


def _without_calendars(kept: list[TextBlock]) -> list[TextBlock]:
    """Removes the days of calendars, which are long runs of blocks with one or two characters."""
    if sum(len(block.text) <= 2 for block in kept) < MIN_CALENDAR_CELLS:
        return kept
    found: list[TextBlock] = []
    for is_short, run in groupby(kept, lambda block: len(block.text) <= 2):
        some = list(run)
        if not is_short or len(some) < MIN_CALENDAR_CELLS:
            found += some
    return found


def _begun(kept: list[TextBlock]) -> list[TextBlock]:
    """Removes the short blocks before the first sentence, which often contain dates and names. Headings,
    lists and paragraphs are kept."""
    start = next((place for place, block in enumerate(kept) if _says(block)), 0)
    return [block for place, block in enumerate(kept) if place >= start or block.tag not in _PLAIN]


def _says(block: TextBlock) -> bool:
    """Whether a block is long enough to be a paragraph or ends like a sentence. False for headings."""
    return block.tag not in HEADINGS and (
        len(block.text) >= PARAGRAPH_CHARS or block.text[-1] in ".!?…。！？।؟”»」"
    )


def _run(found: list[TextBlock]) -> list[TextBlock]:
    """Returns the sequence of adjacent blocks with the most text. A sequence consists of long blocks with few
    links, and of the short blocks between these long blocks."""
    best: tuple[int, int, int] = (0, 0, 0)
    total = start = last = 0
    gap = 0
    for place, block in enumerate(found):
        size = len(block.text)
        good = size >= PARAGRAPH_CHARS and block.linked * 3 < size
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
    """Returns the main text as Markdown. May change the page's tree. `grows`: whether the layout of the page's
    tables would make the Markdown too long. If `grows` is true, the result contains only headings and plain
    text."""
    tree = shown(page.tree)
    if grows:
        return "\n\n".join(
            f"{'#' * int(block.tag[1])} {block.text}" if block.tag in HEADINGS else block.text
            for block in blocks(tree)
        )
    body = tree.select_one("body")
    if body is None:
        return ""
    found = find_main(tree)
    if found is not None and size_of(found.element) < min(SHORT_CHARS, size_of(body)):
        found = None
    main = found.element if found is not None else body
    headings = tree.select("h1")
    outside = len(headings) == 1 and main not in headings[0].ancestors and headings[0] is not main
    heading = " ".join(headings[0].text.split()) if outside else ""
    lead = [block.text for block in found.lead] if found is not None else []
    if found is not None:
        prune(main, Pruner(main, inside=found.inside), found.inside)
    else:
        prune(main, Pruner(main, discussion=bool(_discussed(body, _kept(_walk(body, Pruner(body)))))))
    for element in main.select("a[href], img[src]") if page.url else ():
        name = "href" if element.tag == "a" else "src"
        if resolved := page.base.resolve(attribute_of(element, name)):
            element.attrs[name] = resolved + "".join(attribute_of(element, name).partition("#")[1:])
    text = main.to_markdown().strip()
    return "\n\n".join(filter(None, (heading and f"# {heading}", *lead, text)))
