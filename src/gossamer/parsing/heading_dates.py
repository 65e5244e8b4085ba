"""Finds the main heading of a page, separates the article from the parts beside it, and finds unlabelled
dates near the heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gossamer.parsing.html import Document, attribute_of, once

if TYPE_CHECKING:
    import turbohtml

MAX_NODES: Final = 20_000
"""Maximum number of nodes that are read per page."""
MAX_HEADINGS: Final = 60
"""Maximum number of headings that are compared with the title."""
MAX_MEASURED_CHARS: Final = 10_000_000
"""The `aside` elements that are measured on a page have at most this many characters in total. When the limit
is reached, no further `aside` element counts as a part of the article."""
_ASIDE: Final = re.compile(
    r"comment|related|sidebar|widget|recommend|teaser|disqus|most-?(?:read|popular)|trending|latest-|newsletter"
    r"|promo|(?:site|page|main|global)[-_]?footer|footer-news|colophon|wm-ipp|read-?(?:more|next)"
    r"|(?:site|global)-?header|top-?bar|mast-?head|navbar|more-(?:news|stories|articles)|similar|ticker|breaking|\brepl(?:y|ies)\b",
    re.IGNORECASE,
)
"""Matches a class or id of an element outside of the article. `wm-ipp` is the banner of a web archive."""
_SIDEBAR: Final = re.compile(r"sidebar|aside", re.IGNORECASE)
_GENERATED: Final = re.compile(
    r"\belementor-[\w-]+|\bjet-[\w-]*widget[\w-]*|\bwidget-(?:wrap|container|content|area)\b"
    r"|\b(?:has|no|with|without)-(?:\w+-)?sidebars?\b|\bsidebar-(?:no|none|off|left|right|layout)\b",
    re.IGNORECASE,
)
"""Matches classes that page builders and themes generate. A generated class shows nothing about the content
of an element."""
_HIDDEN: Final = frozenset(
    (
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "button",
        "select",
        "textarea",
        "svg",
        "iframe",
        "head",
        "blockquote",
    )
)
_INVISIBLE: Final = re.compile(r"display:\s*none|visibility:\s*hidden", re.IGNORECASE)
_INVISIBLE_CLASS: Final = "rich-snippet-hidden"
_INLINE: Final = frozenset(
    (
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
    )
)
_MAX_METADATA_CHARS: Final = 400
"""An `aside` element with more than _MAX_METADATA_CHARS characters does not count as metadata of the
article."""
_DIGIT: Final = re.compile(r"\d|[〇零一二三四五六七八九十元]年")
SENTENCE_ENDS: Final = tuple(".!?…。！？।؟")
_BYLINE_NAME_CHARS: Final = 40
"""The assumed length in characters of an author's name before a date. A line before the heading is treated as
if it were this many characters farther from the heading, so that lines after the heading are preferred. A
line before the heading may be the current date in the page's header."""
_CHARS_AFTER, _CHARS_BEFORE = 700, 200
"""Maximum distance in characters between the heading and a date. _CHARS_AFTER applies to dates after the
heading. _CHARS_BEFORE applies to dates before the heading."""
_FIRST_CHARS: Final = 45
"""Number of characters at the start of a long paragraph that are searched for a date. A date later in the
paragraph does not count."""
_SHORT_CHARS, _BYLINE_CHARS = 60, 140
"""_SHORT_CHARS: the maximum length in characters of a line that contains little more than a date.
_BYLINE_CHARS: the maximum length in characters of a byline."""


class Heading:
    """The main heading of a page, or the page's body if the page has none."""

    def __init__(self, page: Document) -> None:
        self._page = page
        self._asides: dict[turbohtml.Element, bool] = {}
        self._measured = 0

    @once
    def element(self) -> turbohtml.Element | None:
        """The heading, or None."""
        return _heading_of(self._page)

    @once
    def near(self) -> list[str]:
        """The texts that may be the date of the article, the most likely first. The list begins with short
        lines near the heading, followed by bylines and beginnings of paragraphs near the heading. The end of
        the list contains other short lines: lines after the heading, lines of a sidebar, and lines before the
        heading."""
        lines = _Lines(self._page, self)
        near = [
            *_within(lines.after, _CHARS_AFTER, 0),
            *_within(lines.before[::-1], _CHARS_BEFORE, _BYLINE_NAME_CHARS),
        ]
        near.sort(key=lambda one: one[0])
        short = [line for _, line in near if len(line) <= _SHORT_CHARS]
        longer = [line if len(line) <= _BYLINE_CHARS else f"{line[:_FIRST_CHARS]}…" for _, line in near]
        others = [
            line for line in (*lines.after, *lines.beside, *lines.before[::-1]) if len(line) <= _BYLINE_CHARS
        ]
        found = (*short, *longer, *others)
        return list(dict.fromkeys(line for line in found if _DIGIT.search(line) and "://" not in line))

    @once
    def _depths(self) -> dict[turbohtml.Element, int]:
        """The depths of the heading and of the elements that contain it."""
        above = [] if self.element is None else [self.element, *ancestors(self.element)]
        return {one: len(above) - at for at, one in enumerate(above)}

    def closeness(self, element: turbohtml.Element) -> int:
        """Returns the depth of the innermost element that contains both the heading and `element`. The closer
        `element` is to the heading, the larger the result."""
        return max((self._depths.get(one, 0) for one in (element, *ancestors(element))), default=0)

    def is_aside(self, element: turbohtml.Element) -> bool:
        """Whether an element is outside of the article, for example in comments or in a list of other
        articles. An element that contains the heading is never outside of the article."""
        for one in (element, *ancestors(element)):
            if one in self._depths or one.tag in ("body", "html"):
                return False
            if self.begins_aside(one):
                return True
        return False

    def begins_aside(self, element: turbohtml.Element) -> bool:
        """Whether the tag, class or id of an element shows that the element is outside of the article. The
        ancestors of the element are not checked."""
        if element in self._depths or not (element.attrs or element.tag in ("aside", "footer")):
            return False
        found = self._asides.get(element)
        if found is None:
            found = self._asides[element] = self._begins_aside(element)
        return found

    def _begins_aside(self, element: turbohtml.Element) -> bool:
        if element.tag in ("article", "main", "body", "html"):
            return False
        if element.tag == "footer" and not any(one.tag in ("article", "main") for one in ancestors(element)):
            return True
        if element.tag == "aside" and not self._is_metadata(element):
            return True
        return _names_aside(attribute_of(element, "class"), attribute_of(element, "id"))

    def _is_metadata(self, aside: turbohtml.Element) -> bool:
        """Whether an `aside` element contains the author and date of the article around it."""
        if self._measured > MAX_MEASURED_CHARS:
            return False
        length = len(aside.text)
        self._measured += length
        return length <= _MAX_METADATA_CHARS and any(
            one.tag in ("article", "main") and one in self._depths for one in ancestors(aside)
        )


@lru_cache(10_000)
def _names_aside(classes: str, name: str) -> bool:
    """Whether the class or id of an element is a name for a part of the page outside of the article."""
    called = f"{_GENERATED.sub('', classes)} {name}"
    # Blogger uses the name Blog1 for the list of posts.
    return _ASIDE.search(called) is not None and "Blog1" not in called


def ancestors(element: turbohtml.Element) -> Iterator[turbohtml.Element]:
    """Yields at most 100 elements that contain `element`, the innermost first."""
    import turbohtml

    one = element.parent
    for _ in range(100):
        if not isinstance(one, turbohtml.Element):
            return
        yield one
        one = one.parent


def _within(lines: list[str], most: int, first: int) -> Iterator[tuple[int, str]]:
    """Yields the lines within the first `most` characters, each with its distance from the heading in
    characters."""
    distance = first
    for line in lines:
        yield distance, line
        distance += len(line)
        if distance > most:
            return


class _Lines:
    """The lines of text of a page: `before` and `after` the heading, and `beside` it in a sidebar. Lines of
    navigation, comments and lists of other articles are left out. If the page has no heading, `after`
    contains all lines."""

    def __init__(self, page: Document, heading: Heading) -> None:
        self.before: list[str] = []
        self.after: list[str] = []
        self.beside: list[str] = []
        self._heading = heading
        self._lines = self.after if heading.element is None else self.before
        self._words: list[str] = []
        sidebars: list[turbohtml.Element] = []
        if (body := page.tree.select_one("body")) is not None:
            self._read(body, sidebars)
        self._lines = self.beside
        for sidebar in sidebars[:20]:
            if heading.closeness(sidebar) > 2:  # html has depth 1, body has depth 2
                for child in sidebar.children:
                    self._read(child, [], in_sidebar=True)

    def _end_line(self) -> None:
        if not self._words:
            return
        if text := " ".join(" ".join(self._words).split()):
            self._lines.append(text)
        self._words.clear()

    def _read(
        self, root: turbohtml.Node, sidebars: list[turbohtml.Element], in_sidebar: bool = False
    ) -> None:
        import turbohtml

        stack: list[turbohtml.Node | None] = [root]
        for _ in range(MAX_NODES):
            if not stack:
                break
            node = stack.pop()
            if node is None:
                self._end_line()
            elif isinstance(node, turbohtml.Text):
                self._words.append(node.data)
            elif not isinstance(node, turbohtml.Element):
                continue
            elif node == self._heading.element:
                self._end_line()
                self._lines = self.after
            elif node.tag in _HIDDEN or _is_invisible(node):
                continue
            elif self._heading.begins_aside(node) and not (in_sidebar and _is_sidebar(node)):
                if node.tag == "aside" or _is_sidebar(node):
                    sidebars.append(node)
            else:
                if node.tag not in _INLINE:
                    self._end_line()
                    stack.append(None)
                stack += node.children[::-1]
        self._end_line()


def _is_sidebar(element: turbohtml.Element) -> bool:
    return _SIDEBAR.search(attribute_of(element, "class")) is not None


def _is_invisible(element: turbohtml.Element) -> bool:
    """Whether an element is never shown. An element that is hidden only on small screens or only on large
    screens counts as shown."""
    attributes = element.attrs
    if not attributes:
        return False
    if "hidden" in attributes:
        return True
    if "style" in attributes and _INVISIBLE.search(attribute_of(element, "style")):
        return True
    return "class" in attributes and _INVISIBLE_CLASS in attribute_of(element, "class").lower()


def _heading_of(page: Document) -> turbohtml.Element | None:
    """Returns the heading whose text makes up most of the title. If no heading matches the title, returns the
    first h1 with text, or None if no h1 has text."""
    titles = [_letters(page.title or "")]
    titles += [
        _letters(attribute_of(meta, "content")) for meta in page.tree.select('meta[property="og:title"]')[:1]
    ]
    for tag in ("h1", '[itemprop~="headline"]', "h2", "h3"):
        for element in page.tree.select(tag)[:MAX_HEADINGS]:
            text = _letters(element.text[:500])
            if len(text) >= 8 and any(
                text in title and (tag == "h1" or len(text) * 2 > len(title)) for title in titles
            ):
                return element
    for element in page.tree.select("h1")[:MAX_HEADINGS]:
        if element.text.strip():
            return element
    return None


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
