"""What within an element is no part of its text: by its tag, by what it is called, or by what its heading
says."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import turbohtml

from gossamer.parsing.article_marks import is_other
from gossamer.parsing.html import attribute_of

Element = turbohtml.Element

NODES: Final = 50_000
"""Nodes that are walked over."""
SHORT: Final = 250
"""Characters of a main text under which the whole page is looked at, too."""
ASKED: Final = 200
"""Elements called boilerplate whose share of the text is looked at; more are left out unseen."""
UP: Final = 5
"""Levels above an element in which its text may go on."""
LEADS: Final = 40
"""Elements of a header that are asked whether they are a summary, when it has no more than"""
FORMS: Final = 10
"""Forms in a text whose surroundings are looked at, and"""
TITLES: Final = 100
"""headings."""
HEADER: Final = 2_000
"""characters."""
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
_BOILERPLATE: Final = re.compile(
    r"(?:^|[\s_-])(?:share|sharing|sharedaddy|social|related(?:[\w-]*)|recommend(?:ed|ations?)?|newsletter|subscribe|subscription|"
    r"promo|promotion|sponsor(?:ed)?|ads?|advert(?:isement|ising)?|banner|comments?|disqus|breadcrumbs?|caption|credits?|byline|"
    r"author|bio|tags?|toolbar|tools|widget|sidebar|footer|nav|navbox|navigation|menu|pagination|pager|popup|modal|cookies?|readmore|more|"
    r"also|gallery|carousel|slideshow|slider|ratings?|print|hidden|sr-only|screen-reader|visually|signup|sign-up|donate|follow|"
    r"teaser|trending|popular|outbrain|taboola|jp-relatedposts|video|player|embed|meta|postmeta|dateline|timestamp|entry-date|"
    r"post-date|copyright|toc|toc-[\w-]+|table-of-contents|lnt|linenos?|line-?numbers?|gutter|kommentare?|komentar\w*|commentaires?|comentarios?|commenti|reacties|"
    r"yorum(?:lar)?|addthis|addtoany|wp-caption[\w-]*|(?:ima?ge?|photo|pic|foto)[_-]?(?:descr?|description|credit|text|info))(?:$|"
    r"[\s_-])",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(
    r"(?:^|[\s_-])(?:comments?|kommentare?|komentar\w*|commentaires?|comentarios?|commenti|reacties|yorum(?:lar)?)(?:$|[\s_-])",
    re.IGNORECASE,
)
_SMALL: Final = re.compile(
    r"(?:^|[\s_-])(?:paywall|regwall|cta|call-to-action|signin|login|inread|interstitial|date|datetime|time|views|counter|statistics?|"
    r"(?:article|post|entry|news)-info|reading-time|tagline|editor|reporter|kanren|relacionad[ao]s?|verwandt|correlat[ie])(?:$|[\s_-])",
    re.IGNORECASE,
)
"""What is boilerplate when it is no longer than `SHORT`, and may be around the text when it is longer."""

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def parted(name: str) -> str:
    """A class with its words apart.

    >>> parted("itemIntroText")
    'item-Intro-Text'
    """
    return name if name.islower() else _HUMP.sub("-", name)


def called_boilerplate(name: str) -> bool:
    """Whether a class or id is one of what surrounds a text.

    >>> called_boilerplate("post sidebar"), called_boilerplate("RelatedNews__list"), called_boilerplate("article-body")
    (True, True, False)
    """
    return _BOILERPLATE.search(parted(name)) is not None


_CONSENT: Final = re.compile(
    r"(?:^|[\s_-])(?:cookie-?(?:consent|banner|notice|law[\w-]*|bar|policy|popup|wall)|consent|gdpr|dsgvo|lgpd|cmp|cmp2|"
    r"qc-cmp2?[\w-]*|onetrust|"
    r"didomi|cookiebot|truste|privacy-(?:layer|banner|manager))(?:$|[\s_-])",
    re.IGNORECASE,
)


def is_consent(element: object) -> bool:
    """Whether an element calls itself a question about cookies, and is not what all of the page is in."""
    if not isinstance(element, Element) or element.tag in ("body", "html"):
        return False
    called = f"{attribute_of(element, 'class')} {attribute_of(element, 'id')}"
    return _CONSENT.search(called) is not None and element.select_one("h1") is None


def size_of(element: Element) -> int:
    """Characters of an element's text, scripts and styles apart."""
    return len(element.text) - sum(len(one.text) for one in element.select("script, style, noscript"))


_ALWAYS, _LESS, _SMALLER, _NEVER = range(4)


@lru_cache(10_000)
def _kind(name: str) -> int:
    """When an element of a class or id is left out: always, as less than half of the text, when it is short,
    never."""
    if _CONSENT.search(name):
        return _ALWAYS
    if called_boilerplate(name):
        return _LESS
    return _SMALLER if _SMALL.search(name) else _NEVER


class Pruner:
    """Which elements within one are no part of its text: by tag, or by a class or id, unless it is most of
    the text, or in a `discussion` a comment."""

    def __init__(self, main: Element, discussion: bool = False) -> None:
        self._discussion = discussion
        self._total = size_of(main)
        self._asked = 0
        self._asking = set[Element]()
        for form in main.select("form")[:FORMS]:
            self._ask(form)
        for title in main.select("h2, h3, h4, h5, h6, strong, b")[:TITLES]:
            if is_other(title.text):
                self._other(title, main)
        self._kept = {main, *(one for heading in main.select("h1")[:1] for one in heading.ancestors)}

    def _ask(self, form: Element) -> None:
        """Note what holds a form and the few words that go with it, as of a newsletter."""
        box = form
        for _ in range(UP):
            if (
                not isinstance(box.parent, Element)
                or box.parent.tag not in ("div", "section")
                or len(box.parent.text) >= SHORT
            ):
                break
            box = box.parent
        if box is not form and form.select_one("input") is not None:
            self._asking.add(box)

    def _other(self, title: Element, main: Element) -> None:
        """Note what a heading over other articles is first in, when it is a small part."""
        box: Element | None = None
        node = title
        for _ in range(UP):
            if not isinstance(node.parent, Element) or main in (node, node.parent):
                break
            if next((one for one in node.parent.children if isinstance(one, Element)), None) is not node:
                break
            node = node.parent
            if size_of(node) * 4 < self._total:
                box = node
        if box is not None and box.tag not in ("p", "li", "ul", "h2", "h3"):
            self._asking.add(box)

    def drops(self, element: Element) -> bool:
        if element.tag in SKIPPED:
            return not self._holds(element)
        if element.tag == "time":
            return isinstance(element.parent, Element) and element.parent.tag in (
                "article",
                "header",
                "section",
            )
        if self._asking and element in self._asking:
            return element not in self._kept
        called = attribute_of(element, "class") or attribute_of(element, "id")
        if not called or element.tag == "blockquote" or element in self._kept:
            return False
        kind = _kind(called)
        if self._discussion and kind == _LESS and _COMMENT.search(parted(called)):
            return False
        if kind == _SMALLER:
            return element.tag not in (*HEADINGS, "td", "th") and self._under(element, SHORT)
        return kind == _ALWAYS or (kind == _LESS and self._under(element, self._total / 2))

    def _under(self, element: Element, size: float) -> bool:
        """Whether an element's text is shorter, as all are when too many were asked."""
        self._asked += 1
        return self._asked > ASKED or size_of(element) < size

    def _holds(self, element: Element) -> bool:
        """Whether what is never text holds some: a table or a quotation set as a figure, a form around the
        page, a heading to click."""
        if element.tag == "button":
            return isinstance(element.parent, Element) and element.parent.tag in HEADINGS
        if element.tag not in ("figure", "form"):
            return False
        self._asked += 1
        if self._asked > ASKED:
            return False
        if element.tag == "figure":
            return element.select_one("table, blockquote, pre") is not None
        return size_of(element) * 2 > self._total


def prune(main: Element, discussion: bool = False) -> None:
    """Take all that is no part of its text out of an element; comments stay in a discussion."""
    pruner = Pruner(main, discussion)
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
