"""Finds the main heading of a page, tells elements of the article from those beside it, and finds the
unlabelled dates near the heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gossamer.parsing.html import Document, attribute_of

if TYPE_CHECKING:
    import turbohtml

MAX_NODES: Final = 20_000
"""Maximum number of nodes of a page that are read."""
MAX_HEADINGS: Final = 60
"""Maximum number of headings that are compared with the title."""
_ASIDE: Final = re.compile(
    r"comment|related|sidebar|widget|recommend|teaser|disqus|most-?(?:read|popular)|trending|latest-|newsletter"
    r"|promo|(?:site|page|main|global)[-_]?footer|footer-news|colophon|wm-ipp|read-?(?:more|next)|more-(?:news|stories|articles)|similar|ticker|breaking|\brepl(?:y|ies)\b",
    re.IGNORECASE,
)
_SKIPPED: Final = frozenset(
    [
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
    ]
)
_INLINE: Final = frozenset(
    [
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
    ]
)
_MAX_METADATA_CHARS: Final = 400
"""Maximum number of characters of an `aside` element that counts as the article's own metadata."""
_DIGIT: Final = re.compile(r"\d")
_CHARS_AFTER, _CHARS_BEFORE = 700, 200
"""How many characters after and before the heading may contain the date."""
_FIRST_CHARS: Final = 45
"""A date in a long paragraph counts only if the paragraph begins with it."""
_SHORT_CHARS: Final = 140
"""Maximum number of characters of a short line, such as a byline."""


class Heading:
    """The main heading of a page, or of a page without one, its body."""

    def __init__(self, page: Document) -> None:
        self.element = _heading_of(page)
        self._depths: dict[turbohtml.Element, int] = {}
        if self.element is not None:
            above = [self.element, *ancestors(self.element)]
            self._depths = {one: len(above) - at for at, one in enumerate(above)}

    def closeness(self, element: turbohtml.Element) -> int:
        """Returns how deep the innermost element is that contains both the heading and `element`. A larger
        number means that the two are closer."""
        return max((self._depths.get(one, 0) for one in (element, *ancestors(element))), default=0)

    def is_aside(self, element: turbohtml.Element) -> bool:
        """Whether an element is outside of the article, for example in comments or in a list of other
        articles. An element that contains the heading is never aside."""
        for one in (element, *ancestors(element)):
            if one in self._depths or one.tag in ("body", "html"):
                return False
            if self.begins_aside(one):
                return True
        return False

    def begins_aside(self, element: turbohtml.Element) -> bool:
        """Whether an element itself is a container of what is outside of the article."""
        if element in self._depths or not (element.attrs or element.tag in ("aside", "footer")):
            return False
        if element.tag == "footer" and not any(one.tag in ("article", "main") for one in ancestors(element)):
            return True
        if element.tag == "aside" and not self._is_metadata(element):
            return True
        name = attribute_of(element, "class") + " " + attribute_of(element, "id")
        if element.tag in ("article", "main", "body", "html") or "Blog1" in name:
            return False  # Blog1 is the list of posts of Blogger
        return _ASIDE.search(name) is not None

    def _is_metadata(self, aside: turbohtml.Element) -> bool:
        """Whether an `aside` element contains the author and date of the article around it."""
        if len(aside.text) > _MAX_METADATA_CHARS or self.element is None:
            return False
        return any(one.tag in ("article", "main") and one in self._depths for one in ancestors(aside))


def ancestors(element: turbohtml.Element) -> Iterator[turbohtml.Element]:
    """Yields at most 100 elements that contain `element`, the innermost first."""
    one = element.parent
    for _ in range(100):
        if one is None or not hasattr(one, "attrs"):
            return
        yield one
        one = one.parent


def near_heading(page: Document, heading: Heading) -> Iterator[str]:
    """Yields the texts near the heading that may be a date: short lines and beginnings of paragraphs. The
    lines after the heading come first if they are as close as the lines before it."""
    before, after = _lines(page, heading)
    count = 0
    near: list[tuple[int, str]] = []
    for line in after:
        near.append((count, line))
        count += len(line)
        if count > _CHARS_AFTER:
            break
    count = 0
    for line in reversed(before):
        near.append((count + 1, line))
        count += len(line)
        if count > _CHARS_BEFORE:
            break
    for _, line in sorted(near, key=lambda one: one[0]):
        if _DIGIT.search(line):
            yield line if len(line) <= _SHORT_CHARS else line[:_FIRST_CHARS]
    for line in after:
        if _DIGIT.search(line) and len(line) <= _SHORT_CHARS:
            yield line


def _lines(page: Document, heading: Heading) -> tuple[list[str], list[str]]:
    """Returns the lines of text before the heading and after it. Lines of navigation, comments and lists of
    other articles are left out. Without a heading, all lines are after it."""
    import turbohtml

    body = page.tree.select_one("body")
    before: list[str] = []
    after: list[str] = []
    lines = after if heading.element is None else before
    words: list[str] = []

    def end_line() -> None:
        if text := " ".join(" ".join(words).split()):
            lines.append(text)
        words.clear()

    stack: list[turbohtml.Node | None] = [] if body is None else [body]
    for _ in range(MAX_NODES):
        if not stack:
            break
        node = stack.pop()
        if node is None:
            end_line()
        elif isinstance(node, turbohtml.Text):
            words.append(node.data)
        elif isinstance(node, turbohtml.Element):
            if node == heading.element:
                end_line()
                lines = after
            elif node.tag not in _SKIPPED and not heading.begins_aside(node):
                if node.tag not in _INLINE:
                    end_line()
                    stack.append(None)
                stack.extend(reversed(list(node.children)))
    end_line()
    return before, after


def _heading_of(page: Document) -> turbohtml.Element | None:
    """Returns the heading whose text is part of the title, else the first h1, or None."""
    title = _letters(page.title or "")
    named = [
        _letters(attribute_of(one, "content")) for one in page.tree.select('meta[property="og:title"]')[:1]
    ]
    for tag in ("h1", '[itemprop~="headline"]', "h2", "h3"):
        for element in page.tree.select(tag)[:MAX_HEADINGS]:
            text = _letters(element.text[:500])
            if len(text) >= 8 and element.tag not in ("meta", "title") and (text in title or text in named):
                return element
    for element in page.tree.select("h1")[:MAX_HEADINGS]:
        if element.text.strip():
            return element
    return None


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
