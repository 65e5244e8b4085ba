"""Recognizes the boilerplate around a main text, such as share buttons, advertisements and links to other
articles. The signs are the tag, the class or id, and the wording of headings and lines. The words are in
`data/main_text_words.txt`."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import islice
from typing import Final

import turbohtml

from gossamer.data import alternatives
from gossamer.parsing.html import attribute_of

_words = partial(alternatives, "main_text_words")


def named(*sections: str) -> re.Pattern[str]:
    """Returns a pattern that finds, in a class or id, the names listed in some sections of the word list."""
    names = "|".join(map(_words, sections))
    return re.compile(rf"(?<![^\s_-])(?:{names})(?![^\s_-])", re.IGNORECASE)


_MARK: Final = re.compile("|".join(map(_words, ("adverts", "others", "shares"))), re.IGNORECASE)
_OTHER: Final = re.compile(_words("others"), re.IGNORECASE)
_POINTER: Final = re.compile(_words("link_lines"), re.IGNORECASE)
_EDGES: Final = " .:：…-—–*|[]()【】▶►•↓→\n\t\r\xa0"
_FOLLOW: Final = re.compile(_words("follow_lines"), re.IGNORECASE)
_COLOPHON: Final = re.compile(
    r"(?:copyright|©|ⓒ|\(c\)|all rights reserved|todos los derechos|alle rechte vorbehalten|tous droits|責任編輯|责任编辑|편집자)|"
    r".*(?:all rights reserved|무단\s?전재)",
    re.IGNORECASE,
)


def is_mark(line: str) -> bool:
    """Returns whether a line is only an advertisement label, a heading over links to other articles, or the
    label of a button.

    >>> is_mark("Advertisement"), is_mark("Lire aussi :"), is_mark("Advertisement rates rose.")
    (True, True, False)
    """
    return len(line) < 50 and _MARK.fullmatch(line.strip(_EDGES)) is not None


def is_pointer(line: str) -> bool:
    """Whether a line that is one link only points to another page.

    >>> is_pointer("Read the full story here."), is_pointer("The bill turned out to be a prank.")
    (True, False)
    """
    return _POINTER.match(line.lstrip(_EDGES)) is not None


def is_other(line: str) -> bool:
    """Whether a heading introduces links to other articles.

    >>> is_other("Related stories"), is_other("関連記事"), is_other("The story")
    (True, True, False)
    """
    return len(line) < 80 and _OTHER.fullmatch(line.strip(_EDGES)) is not None


def is_colophon(line: str) -> bool:
    """Whether a line is a copyright notice, such as the notice at the end of an article.

    >>> is_colophon("© 2024 The Post"), is_colophon("All rights reserved."), is_colophon("The rights were sold.")
    (True, True, False)
    """
    return len(line) < 200 and _COLOPHON.match(line) is not None


def is_follow(line: str) -> bool:
    """Whether a line at the end of an article asks readers to follow its authors or to subscribe.

    >>> is_follow("Follow us on Facebook and Instagram."), is_follow("The dogs follow us on the ice.")
    (True, False)
    """
    return len(line) < 200 and _FOLLOW.search(line) is not None


Element = turbohtml.Element

MAX_NODES: Final = 50_000
"""Maximum number of nodes that one walk over a tree visits."""
SHORT_CHARS: Final = 250
"""Number of characters below which a text is short. If the main text is short, the whole page is searched,
too. Boxes around forms, and elements that `_SMALL` matches, are dropped only if their text is short."""
MAX_MEASURED: Final = 200
"""Maximum number of elements that one search measures. After MAX_MEASURED elements, the search drops elements
with a boilerplate name without measuring them."""
MAX_MEASURED_CHARS: Final = 50_000_000
"""Maximum number of characters that one search measures. A text inside several nested elements counts once
per measured element."""
MAX_LEVELS_UP: Final = 5
"""Maximum number of levels above an element that are searched."""
MAX_LEVELS: Final = 12
"""Maximum number of levels above the main text that are searched for further text."""
PARAGRAPH_CHARS: Final = 80
"""Minimum number of characters of a block that counts as a paragraph."""
MAX_FORMS: Final = 10
"""Maximum number of forms in a main text whose surroundings are checked."""
MAX_TITLES: Final = 100
"""Maximum number of headings in a main text that are checked."""
SKIPPED: Final = frozenset(
    (
        "script",
        "style",
        "template",
        "noscript",
        "figure",
        "figcaption",
        "aside",
        "nav",
        "footer",
        "form",
        "button",
        "select",
        "textarea",
        "svg",
        "iframe",
        "object",
        "head",
        "dialog",
        "video",
        "audio",
        "canvas",
        "math",
    )
)
HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TITLES: Final = ("h2", "h3", "h4", "h5", "h6", "strong", "b")
"""Tags whose text may be a heading."""
_SLUGGED: Final = frozenset((*HEADINGS, "p", "li", "dt", "dd"))
"""Tags of elements whose id is usually derived from their text. An id that is derived from text does not show
whether the element is boilerplate."""
_BOILERPLATE: Final = named("names")
_COMMENT: Final = named("comment_names")
_SMALL: Final = named("small_names")
"""Matches classes and ids of elements that are boilerplate only if their text is shorter than `SHORT_CHARS`.
Elements with the same classes or ids and longer texts may contain the main text."""

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def split_camel_case(name: str) -> str:
    """Returns a class name with hyphens between its camel-case words.

    >>> split_camel_case("itemIntroText")
    'item-Intro-Text'
    """
    return name if name.islower() else _HUMP.sub("-", name)


def called_boilerplate(name: str) -> bool:
    """Whether a class or id names something that surrounds a main text, such as a sidebar or share buttons.

    >>> called_boilerplate("post sidebar"), called_boilerplate("RelatedNews__list"), called_boilerplate("article-body")
    (True, True, False)
    """
    return _BOILERPLATE.search(split_camel_case(name)) is not None


_CONSENT: Final = named("consent_names")
_WEAK: Final = named("weak_names")
_FLOW: Final = named("flow_names")
_GATE_NAME: Final = named("gate_names")
_TEASER: Final = re.compile(r"(?<![^\s_-])teasers?(?![^\s_-])", re.IGNORECASE)
"""Matches names that sites use both for summaries of the article and for links to other articles."""
_CAPTION: Final = re.compile(r"(?<![^\s_-])caption(?![^\s_-])", re.IGNORECASE)
_OUTSIDE: Final = named("outside_names")
_NEUTRAL: Final = re.compile(rf"(?<!\S)(?:{_words('neutral_names')})(?!\S)")


def is_consent(element: object) -> bool:
    """Whether an element's class or id names a cookie consent dialog. False for `body`, `html` and elements
    that contain an h1."""
    if not isinstance(element, Element) or element.tag in ("body", "html"):
        return False
    called = f"{attribute_of(element, 'class')} {attribute_of(element, 'id')}"
    return _CONSENT.search(called) is not None and element.select_one("h1") is None


def size_of(element: Element) -> int:
    """Returns the number of characters in an element's text, without `script`, `style` and `noscript`."""
    return len(element.text) - hidden_chars(element)


def hidden_chars(element: Element) -> int:
    """Returns the number of characters in the `script`, `style` and `noscript` elements of an element."""
    return sum([len(one.text) for one in element.select("script, style, noscript")])


_WORDS: Final = frozenset(("a", "abbr", "b", "cite", "em", "i", "mark", "q", "span", "strong", "u"))
"""Tags of inline elements, which may contain a single word of a sentence."""
_SENTENCES: Final = frozenset(("p", "li", "dd", "td", "em", "strong", "b", "i"))
"""Tags of elements that contain sentences."""
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_GATE_PARTS: Final = "a, button, form, input"
_ALWAYS, _LESS, _WEAKLY, _LEADING, _FLOWING, _SMALLER, _GATE, _NEVER = range(8)

INSIDE, BEFORE, AFTER = range(3)
"""The positions of an element relative to the main text: inside, before or after the main text."""


@lru_cache(10_000)
def _kind(name: str) -> int:
    """Returns the rule that determines whether an element with this class or id is dropped from the main
    text.

    - `_ALWAYS`: the element is dropped. `_NEVER`: the element is kept.
    - `_LESS`: the element is dropped if it has less than half of the main text.
    - `_WEAKLY`: the element is dropped if it has less than half of the main text and few paragraphs.
    - `_LEADING`: the same as `_LESS`, but elements before the main text and elements without links are kept.
    - `_FLOWING`: the same as `_LESS`, but text between paragraphs of the main text is kept.
    - `_SMALLER`: the element is dropped if it is shorter than `SHORT_CHARS`.
    - `_GATE`: the same as `_SMALLER`, but elements without links, buttons and forms are kept."""
    name = _NEUTRAL.sub(" ", name)
    if _CONSENT.search(name):
        return _ALWAYS
    split = split_camel_case(name)
    if _BOILERPLATE.search(split):
        if not _BOILERPLATE.search(_TEASER.sub(" ", split)):
            return _LEADING
        if not _BOILERPLATE.search(_FLOW.sub(" ", split)):
            return _FLOWING
        rest = _WEAK.sub(" ", split)
        return _LESS if _BOILERPLATE.search(rest) or _SMALL.search(rest) else _WEAKLY
    if _SMALL.search(name):
        return _SMALLER
    return _GATE if _GATE_NAME.search(name) else _NEVER


def _is_in_sentence(element: Element) -> bool:
    """Whether an inline element is a word of a sentence, such as a link with the class `internal-tag`."""
    if not isinstance(element.parent, Element) or element.parent.tag not in _SENTENCES:
        return False
    beside = (element.previous_sibling, element.next_sibling)
    near = [isinstance(one, turbohtml.Text) and _WORD.search(one.text) is not None for one in beside]
    return all(near) if element.tag == "span" else any(near)


@lru_cache(10_000)
def _is_outside_name(name: str) -> bool:
    """Whether an element with this class or id is dropped outside of the main text."""
    return _OUTSIDE.search(split_camel_case(name)) is not None


def paragraphs_of(element: Element) -> int:
    """Returns the number of characters in an element's paragraphs, without links. Paragraphs shorter than
    `PARAGRAPH_CHARS` do not count."""
    sizes = (
        len(one.text) - sum(len(link.text) for link in one.select("a"))
        for one in element.find_all("p", limit=MAX_MEASURED)
    )
    return sum(size for size in sizes if size >= PARAGRAPH_CHARS)


def _is_paragraph(node: turbohtml.Node) -> bool:
    """Whether a node is a paragraph with text outside of links: a `p`, or a `div` without other blocks."""
    if not isinstance(node, Element) or node.tag not in ("p", "div") or len(node.text) < PARAGRAPH_CHARS:
        return False
    if node.tag == "div" and node.select_one("div, p, section, article, nav, form, h1, h2, h3") is not None:
        return False
    return sum(len(link.text) for link in node.select("a")) * 3 < len(node.text)


def _is_lone_caption(element: Element) -> bool:
    """Whether an element called a caption contains one paragraph and nothing else, and is no item of a gallery."""
    if _CAPTION.search(attribute_of(element, "class")) is None:
        return False
    parts = [one for one in islice(element.children, MAX_MEASURED) if isinstance(one, Element)]
    in_list = isinstance(element.parent, Element) and element.parent.tag == "li"
    return len(parts) == 1 and parts[0].tag == "p" and not in_list


def _is_slug(section: Element) -> bool:
    """Whether a section's id is derived from its heading. An id that is derived from the heading does not
    show whether the section is boilerplate.

    >>> _is_slug(turbohtml.parse("<section id=more-on-cats><h2>More on cats</h2></section>").select_one("section"))
    True
    """
    heading = next(iter(section.find_all(["h1", "h2", "h3", "h4"], limit=1)), None)
    return heading is not None and _slug(heading.text).startswith(_slug(attribute_of(section, "id")))


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


class Pruner:
    """Decides which elements inside a main element are dropped, by their tag, class or id. However, an
    element with a boilerplate name is kept if it has at least half of the text.

    `inside`: the element with the main text, or None if `main` is this element. If `inside` is given, sizes
    are compared with the text of `inside`, and the elements between `main` and `inside` are kept.
    `discussion`: whether comments are kept. `names`: if False, only the names of consent dialogs and comments
    cause an element to be dropped.
    """

    def __init__(
        self, main: Element, discussion: bool = False, inside: Element | None = None, names: bool = True
    ) -> None:
        self._discussion = discussion
        self._names = names
        core = inside or main
        self._total = size_of(core)
        self._asked = self.measured_chars = 0
        self._asking = set[Element]()
        for form in main.find_all("form", limit=MAX_FORMS):
            self._ask(form)
        for title in main.find_all([*_TITLES], limit=MAX_TITLES):
            if is_other(title.text):
                self._other(title, main)
        self._kept = {
            main,
            core,
            *(one for heading in main.find_all("h1", limit=1) for one in heading.ancestors),
        }
        if core is not main:
            self._kept.update(islice(core.ancestors, MAX_LEVELS))

    def _ask(self, form: Element) -> None:
        """Finds the box around a form, and marks the box for dropping. The box also contains the few words
        beside the form, as in the box of a newsletter sign-up."""
        box, size = form, size_of(form)
        for _ in range(MAX_LEVELS_UP):
            if (
                not isinstance(box.parent, Element)
                or box.parent.tag not in ("div", "section")
                or size_of(box.parent) >= SHORT_CHARS + size
                or size * 2 > self._total
            ):
                break
            box = box.parent
        if box is not form and form.select_one("input") is not None:
            self._asking.add(box)

    def _other(self, title: Element, main: Element) -> None:
        """Finds the largest box that begins with `title` and has less than a quarter of the text, and marks
        the box for dropping. `title` is a heading that introduces links to other articles."""
        box: Element | None = None
        node = title
        for _ in range(MAX_LEVELS_UP):
            if not isinstance(node.parent, Element) or main in (node, node.parent):
                break
            if next((one for one in node.parent.children if isinstance(one, Element)), None) is not node:
                break
            node = node.parent
            if size_of(node) * 4 < self._total:
                box = node
        if box is not None and box.tag not in ("p", "li", "ul", "h2", "h3"):
            self._asking.add(box)

    def is_dropped(self, element: Element, where: int = INSIDE) -> bool:
        """Whether an element is dropped, including everything in it. `where`: `INSIDE`, `BEFORE` or `AFTER` the
        main text."""
        tag = element.tag
        if tag in SKIPPED:
            return not self._holds(element)
        if tag == "time":
            return isinstance(element.parent, Element) and element.parent.tag in (
                "article",
                "header",
                "section",
            )
        if self._asking and element in self._asking:
            return element not in self._kept
        attributes = element.attrs
        if not attributes:
            return False
        names = attributes.get("class")
        called = names if isinstance(names, str) else " ".join(names or ())
        if not called:
            called = attribute_of(element, "id")
            if called and (
                (tag in _SLUGGED and not _COMMENT.search(called)) or (tag == "section" and _is_slug(element))
            ):
                return False
        if not called or tag == "blockquote" or element in self._kept:
            return False
        return self._is_named_out(element, called, where)

    def _is_named_out(self, element: Element, called: str, where: int) -> bool:
        """Whether an element is dropped because of its class or id."""
        kind = _kind(called)
        if kind == _LEADING:
            if where == BEFORE or not element.find_all("a", limit=1):
                return False
            kind = _LESS
        if kind == _FLOWING:
            if self._flows(element):
                return False
            kind = _LESS
        if kind == _GATE:
            if element.select_one(_GATE_PARTS) is None:
                return False
            kind = _SMALLER
        if where and kind in (_LESS, _SMALLER):
            return element.tag not in _WORDS or not _is_in_sentence(element)
        if where and kind == _NEVER and _is_outside_name(called):
            return self._under(element, 2 * SHORT_CHARS)
        if kind == _NEVER:
            return False
        comment = kind == _LESS and _COMMENT.search(split_camel_case(called)) is not None
        if comment and self._discussion:
            return False
        if kind == _ALWAYS:
            return True
        if element.tag in _WORDS and _is_in_sentence(element):
            return False
        if not self._names and not comment:
            return False
        if kind == _SMALLER:
            return element.tag not in (*HEADINGS, "td", "th") and self._under(element, SHORT_CHARS)
        return self._under(element, self._total / 2) and not (kind == _WEAKLY and self._says(element))

    def _flows(self, element: Element) -> bool:
        """Whether an element has more text than links and stands beside paragraphs of the same box."""
        if self._is_tired() or not isinstance(element.parent, Element):
            return False
        self.measured_chars += len(element.text)
        linked = sum(len(link.text) for link in element.select("a"))
        if len(element.text) < PARAGRAPH_CHARS or linked * 3 > len(element.text):
            return False
        parent = element.parent
        return parent.tag in ("li", "dd") or any(map(_is_paragraph, islice(parent.children, MAX_MEASURED)))

    def _says(self, element: Element) -> bool:
        """Whether an element has paragraphs or a quotation. An element with paragraphs or a quotation is kept
        even if its class or id is of the kind `_WEAKLY`."""
        if self._is_tired():
            return False
        self.measured_chars += len(element.text)
        if _is_lone_caption(element):
            return False
        return paragraphs_of(element) >= SHORT_CHARS or element.select_one("blockquote > p") is not None

    def _under(self, element: Element, size: float) -> bool:
        """Whether an element's text is shorter than `size` characters. Always true if `MAX_MEASURED` or
        `MAX_MEASURED_CHARS` is exceeded."""
        self._asked += 1
        if self._is_tired():
            return True
        length = len(element.text)
        self.measured_chars += length
        return length < size or length - hidden_chars(element) < size

    def _is_tired(self) -> bool:
        """Whether `MAX_MEASURED` or `MAX_MEASURED_CHARS` is exceeded."""
        return self._asked > MAX_MEASURED or self.measured_chars > MAX_MEASURED_CHARS

    def _holds(self, element: Element) -> bool:
        """Whether an element with a skipped tag contains main text and must be kept. Returns True for a
        figure with a table, quotation or code block, for a form with more than half of the text, for a button
        in a heading, and for a noscript with paragraphs."""
        if element.tag == "button":
            return isinstance(element.parent, Element) and element.parent.tag in HEADINGS
        if element.tag not in ("figure", "form", "noscript"):
            return False
        self._asked += 1
        if self._is_tired():
            return False
        if element.tag == "figure":
            return element.select_one("table, blockquote, pre") is not None
        if element.tag == "noscript":
            return paragraphs_of(element) >= 2 * SHORT_CHARS
        return size_of(element) * 2 > self._total


def prune(main: Element, pruner: Pruner, inside: Element | None = None) -> None:
    """Removes the boilerplate from an element. Changes the tree. `inside`: the element with the main text, or
    None if `main` is this element."""
    inside = inside or main
    path = {inside, *islice(inside.ancestors, MAX_LEVELS)}
    waiting = [(main, INSIDE)]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node, where = waiting.pop()
        if node in path and node is not inside:
            where = BEFORE
        for child in list(node.children):
            if not isinstance(child, Element):
                continue
            if where and child in path:
                waiting.append((child, INSIDE))
                where = AFTER
            elif pruner.is_dropped(child, where):
                child.decompose()
            else:
                waiting.append((child, where))
