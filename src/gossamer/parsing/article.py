"""Finds the main text of a page and splits it into text blocks.

The library turbohtml finds the element that holds the main text. This module drops the boilerplate in that
element, such as share buttons, advertisements and links to other articles. It recognizes boilerplate by tag,
by class or id, and by the wording of headings and lines. If turbohtml finds no element, or one with too
little text, the longest run of text on the page is used instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeGuard

import turbohtml

from gossamer.parsing.html import Document, attribute_of

_ADVERTS: Final = (
    r"(?:(?:story|article) continues (?:below|after) (?:this )?)?advert(?:isement|ising|entie)?s?|ads?|pr|sponsored(?: content)?|"
    r"anzeige|werbung|"
    r"publicit[éeà]|publicidade?|pubblicità|annonce|reklam[ae]?|реклама|διαφήμιση|إعلان|広告|スポンサーリンク|广告|廣告|광고|विज्ञापन"
)
_OTHERS: Final = (
    r"you (?:may|might) (?:also )?(?:like|be interested in)|(?:related|more|other|recommended|further) (?:stories|articles|news|posts|"
    r"reading|coverage|links|topics|content)|"
    r"(?:read|see|watch) (?:more|next|also|now)|also read|see also|(?:more on|more from) .{2,30}|(?:most|popular) (?:read|posts|"
    r"viewed)|don['’]t miss|"
    r"(?:lesen sie|lies|mehr) (?:auch|dazu|zum thema)|auch interessant|weiterlesen|zum weiterlesen|das könnte sie auch interessieren|"
    r"lees (?:ook|meer)|läs (?:också|mer)|les også|læs også|lue myös|"
    r"(?:à )?lire (?:aussi|également)|(?:à )?voir aussi|sur le même (?:sujet|thème)|pour aller plus loin|leer (?:más|también)|"
    r"lea también|te puede interesar|más información|noticias relacionadas|"
    r"le(?:ia|r) (?:também|mais)|saiba mais|veja (?:também|mais)|notícias relacionadas|leggi anche|potrebbe interessarti(?: anche)?|"
    r"articoli correlati|czytaj (?:też|także|również|więcej)|zobacz (?:też|także|również)|"
    r"přečtěte si(?: také)?|čtěte také|citește și|olvassa el|baca juga|xem thêm|читай(?:те)? (?:также|ещё|еще)|по теме|(?:смотрите|"
    r"см\.) также|материалы по теме|читайте також|"
    r"ilgili haber(?:ler)?|διαβάστε (?:επίσης|ακόμα|ακόμη)|اقرأ أيضا[ًً]?|مواضيع ذات صلة|إقرأ أيضاً?|ये भी पढ़ें|यह भी पढ़ें|関連記事|"
    r"関連ニュース|あわせて読みたい|相关阅读|相关新闻|相关文章|延伸閱讀|延伸阅读|相關新聞|관련\s?기사|קרא גם"
)
_SHARES: Final = (
    r"share(?: this(?: article| story| post)?)?|save|listen(?: to (?:this )?article)?|print|copy link|teilen|partager|compartir|"
    r"compartilhar|condividi|поделиться|"
    r"\d+ min(?:ute|uten|utes|uto|utos|uti)?s?\.? (?:read|lesezeit|de lecture|de lectura|de leitura|di lettura)"
)
_MARK: Final = re.compile(f"{_ADVERTS}|{_OTHERS}|{_SHARES}", re.IGNORECASE)
_OTHER: Final = re.compile(_OTHERS, re.IGNORECASE)
_EDGES: Final = " .:：…-—–*|[]()【】▶►•↓→\n\t\r\xa0"
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


def is_other(line: str) -> bool:
    """Whether a heading introduces links to other articles.

    >>> is_other("Related stories"), is_other("関連記事"), is_other("The story")
    (True, True, False)
    """
    return len(line) < 80 and _OTHER.fullmatch(line.strip(_EDGES)) is not None


def is_colophon(line: str) -> bool:
    """Whether a line is a copyright notice, as found at the end of an article.

    >>> is_colophon("© 2024 The Post"), is_colophon("All rights reserved."), is_colophon("The rights were sold.")
    (True, True, False)
    """
    return len(line) < 200 and _COLOPHON.match(line) is not None


Element = turbohtml.Element

MAX_NODES: Final = 50_000
"""Maximum number of nodes that one walk over a tree visits."""
SHORT_CHARS: Final = 250
"""A length in characters. If the main text is shorter than this, the whole page is searched, too. Boxes
around forms, and elements that `_SMALL` matches, are dropped only if they are shorter than this."""
MAX_MEASURED: Final = 200
"""Maximum number of elements that one search measures. Further elements with a boilerplate name are dropped
unmeasured."""
MAX_LEVELS_UP: Final = 5
"""Maximum number of levels above an element that are searched."""
MAX_LEADS: Final = 40
"""Maximum number of elements in a header that are checked for a summary."""
MAX_FORMS: Final = 10
"""Maximum number of forms in a main text whose surroundings are checked."""
MAX_TITLES: Final = 100
"""Maximum number of headings in a main text that are checked."""
MAX_HEADER_CHARS: Final = 2_000
"""A header with more characters than this is not checked for a summary."""
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
"""Matches classes and ids of elements that are boilerplate only if their text is shorter than `SHORT_CHARS`.
A longer element may contain the main text."""

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def split_camel_case(name: str) -> str:
    """Returns a class with its camel-case words separated by hyphens.

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


_CONSENT: Final = re.compile(
    r"(?:^|[\s_-])(?:cookie-?(?:consent|banner|notice|law[\w-]*|bar|policy|popup|wall)|consent|gdpr|dsgvo|lgpd|cmp|cmp2|"
    r"qc-cmp2?[\w-]*|onetrust|"
    r"didomi|cookiebot|truste|privacy-(?:layer|banner|manager))(?:$|[\s_-])",
    re.IGNORECASE,
)


def is_consent(element: object) -> bool:
    """Whether an element's class or id names a cookie consent dialog. False for `body`, `html` and elements
    that contain an h1."""
    if not isinstance(element, Element) or element.tag in ("body", "html"):
        return False
    called = f"{attribute_of(element, 'class')} {attribute_of(element, 'id')}"
    return _CONSENT.search(called) is not None and element.select_one("h1") is None


def size_of(element: Element) -> int:
    """Returns the number of characters in an element's text, without `script`, `style` and `noscript`."""
    return len(element.text) - sum(len(one.text) for one in element.select("script, style, noscript"))


_ALWAYS, _LESS, _SMALLER, _NEVER = range(4)


@lru_cache(10_000)
def _kind(name: str) -> int:
    """Returns in which cases an element with this class or id is dropped: `_ALWAYS`, `_LESS` (if it has less
    than half of the text), `_SMALLER` (if it is shorter than `SHORT_CHARS`), or `_NEVER`."""
    if _CONSENT.search(name):
        return _ALWAYS
    if called_boilerplate(name):
        return _LESS
    return _SMALLER if _SMALL.search(name) else _NEVER


class Pruner:
    """Decides which elements inside a main element are dropped, by their tag, class or id. However, an
    element with a boilerplate name is kept if it has at least half of the text. If `discussion` is set,
    comments are kept, too."""

    def __init__(self, main: Element, discussion: bool = False) -> None:
        self._discussion = discussion
        self._total = size_of(main)
        self._asked = 0
        self._asking = set[Element]()
        for form in main.select("form")[:MAX_FORMS]:
            self._ask(form)
        for title in main.select("h2, h3, h4, h5, h6, strong, b")[:MAX_TITLES]:
            if is_other(title.text):
                self._other(title, main)
        self._kept = {main, *(one for heading in main.select("h1")[:1] for one in heading.ancestors)}

    def _ask(self, form: Element) -> None:
        """Marks the box around a form for dropping, including the few words beside the form. An example is a
        newsletter sign-up."""
        box = form
        for _ in range(MAX_LEVELS_UP):
            if (
                not isinstance(box.parent, Element)
                or box.parent.tag not in ("div", "section")
                or len(box.parent.text) >= SHORT_CHARS
            ):
                break
            box = box.parent
        if box is not form and form.select_one("input") is not None:
            self._asking.add(box)

    def _other(self, title: Element, main: Element) -> None:
        """Given a heading over links to other articles: marks the box that begins with this heading for
        dropping, if the box has less than a quarter of the text."""
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

    def is_dropped(self, element: Element) -> bool:
        """Whether an element is dropped, including everything in it."""
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
        if self._discussion and kind == _LESS and _COMMENT.search(split_camel_case(called)):
            return False
        if kind == _SMALLER:
            return element.tag not in (*HEADINGS, "td", "th") and self._under(element, SHORT_CHARS)
        return kind == _ALWAYS or (kind == _LESS and self._under(element, self._total / 2))

    def _under(self, element: Element, size: float) -> bool:
        """Whether an element's text is shorter than `size` characters. Always true after `MAX_MEASURED`
        elements were measured."""
        self._asked += 1
        return self._asked > MAX_MEASURED or size_of(element) < size

    def _holds(self, element: Element) -> bool:
        """Whether an element with a skipped tag contains main text after all. True for a figure around a
        table, quotation or code block, for a form around most of the text, and for a button in a heading."""
        if element.tag == "button":
            return isinstance(element.parent, Element) and element.parent.tag in HEADINGS
        if element.tag not in ("figure", "form"):
            return False
        self._asked += 1
        if self._asked > MAX_MEASURED:
            return False
        if element.tag == "figure":
            return element.select_one("table, blockquote, pre") is not None
        return size_of(element) * 2 > self._total


def prune(main: Element, discussion: bool = False) -> None:
    """Removes the boilerplate from an element, which changes the tree. If `discussion` is set, comments are
    kept."""
    pruner = Pruner(main, discussion)
    waiting = [main]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        for child in list(waiting.pop().children):
            if isinstance(child, Element):
                if pruner.is_dropped(child):
                    child.decompose()
                else:
                    waiting.append(child)


PARAGRAPH_CHARS: Final = 80
"""Minimum number of characters of a block that counts as a paragraph."""
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
    """A run of text between the boundaries of block elements. `tag`: the tag of the block element. `linked`:
    how many characters of `text` are in links."""

    tag: str
    text: str
    linked: int


def blocks(tree: turbohtml.Document) -> list[TextBlock]:
    """Returns the blocks of a page's main text, in page order."""
    main = main_of(tree)
    found = [*_lead(main), *_kept(_walk(main))] if main is not None else []
    if (
        sum(len(block.text) for block in found) < SHORT_CHARS
        and (body := tree.select_one("body")) is not None
    ):
        other = _run(_walk(body))
        if sum(len(block.text) for block in other) > sum(len(block.text) for block in found):
            found = other
        found = found or _kept(_walk(body))
        return _discussed(body, found) or found
    return found


def _discussed(body: Element, found: list[TextBlock]) -> list[TextBlock]:
    """Returns the blocks of a page's comments, if the blocks outside of comments (`found`) contain no
    sentence. Otherwise returns an empty list."""
    return [] if any(map(_says, found)) else _run(_walk(body, discussion=True))


def main_of(tree: turbohtml.Document) -> Element | None:
    """Returns the element that holds the main text, or None.

    turbohtml chooses an element, and this function corrects the choice. If the page's only h1 is in another
    article, that article is taken. If the h1 is in a box with several paragraphs, and the element is beside
    this box, the box is taken. If the h1 begins a section that contains the element, that section is taken.
    If the text continues in similar elements, for example around advertisements, the element that contains
    all of them is taken. If the element is in a cookie consent dialog, the result is None.
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
    if main is None or any(is_consent(one) for one in (main, *main.ancestors)):
        return None
    return _whole(tree, _body(main))


def _body(main: Element) -> Element:
    """Returns the only descendant with `itemprop=articleBody` if it has more than half of the element's text.
    Otherwise returns the element itself."""
    bodies = main.select("[itemprop~=articleBody]") if main.attrs.get("itemprop") is None else []
    return bodies[0] if len(bodies) == 1 and size_of(bodies[0]) * 2 > size_of(main) else main


def _under(heading: Element, main: Element) -> Element | None:
    """Returns the parent of the page's only h1 if it has several paragraphs of its own, and `main` is next to
    it like a side column. Otherwise returns None."""
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


def _article(element: Element) -> Element | None:
    """Returns the closest ancestor of an element that is marked as an article."""
    return next((one for one in element.ancestors if _is_article(one)), None)


def _is_article(element: object) -> TypeGuard[Element]:
    return isinstance(element, Element) and (
        element.tag == "article" or "article" in attribute_of(element, "class").lower().split()
    )


def _whole(tree: turbohtml.Document, main: Element) -> Element:
    """Returns the common ancestor of an element and the similar elements that continue its text. Similar
    elements have the same tag, nearly the same classes, and are close to the element in the same article.
    Returns the element itself if the others have too little text."""
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
            or not (size := _paragraphs(twin))
        ):
            continue
        near = list(islice(twin.ancestors, MAX_LEVELS_UP))
        shared = next((place for place, one in enumerate(above) if one in near), None)
        if shared is not None:
            found, more = max(found, shared), more + size
    return above[found] if more * 2 > len(main.text) else main


def _alike(one: list[str], other: list[str]) -> bool:
    """Whether two elements have the same classes. One element may have extra classes if they are at most half
    of its classes and none of them names boilerplate."""
    few, many = sorted((set(one), set(other)), key=len)
    return few <= many and len(few) * 2 >= len(many) and not called_boilerplate(" ".join(many - few))


def _paragraphs(element: Element) -> int:
    """Returns the number of characters in an element's paragraphs, without links. Paragraphs shorter than
    `PARAGRAPH_CHARS` do not count."""
    sizes = (
        len(one.text) - sum(len(link.text) for link in one.select("a"))
        for one in element.select("p")[:MAX_MEASURED]
    )
    return sum(size for size in sizes if size >= PARAGRAPH_CHARS)


def _lead(main: Element) -> list[TextBlock]:
    """Returns the blocks of the summary just before the main text, or of the paragraphs between the h1 and
    the main text."""
    node = main.previous_sibling
    before: list[TextBlock] = []
    for _ in range(12):
        if isinstance(node, Element) and node.tag == "p":
            before = [block for block in _kept(_walk(node)) if len(block.text) >= PARAGRAPH_CHARS] + before
        if isinstance(node, Element) and node.tag == "h1":
            return before
        if isinstance(node, Element) and _LEAD.search(
            split_camel_case(f"{attribute_of(node, 'class')} {attribute_of(node, 'id')}")
        ):
            return [block for block in _kept(_walk(node)) if len(block.text) >= PARAGRAPH_CHARS]
        node = node.previous_sibling if node is not None else None
    return []


def _walk(main: Element, discussion: bool = False) -> list[TextBlock]:
    """Returns all blocks in an element, without boilerplate. If `discussion` is set, comments are
    included."""
    pruner = Pruner(main, discussion)
    found: list[TextBlock] = []
    parts: list[str] = []
    linked, tag = 0, main.tag
    # Each entry contains a node (or the tag of a block that continues after a child), and whether it is in a
    # link.
    waiting: list[tuple[Any, bool]] = [(main, False)]
    for _ in range(MAX_NODES):
        if not waiting:
            break
        node, in_link = waiting.pop()
        if isinstance(node, turbohtml.Text):
            parts.append(node.text)
            linked += len(node.text.strip()) if in_link else 0
        elif isinstance(node, str):
            linked, tag = _end(found, parts, linked, tag), node
        elif isinstance(node, Element) and not pruner.is_dropped(node):
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
    """Ends the current block and adds it to `found`. Returns 0, the initial number of link characters in the
    next block."""
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
    """Removes the blocks that are mostly links, that contain no letters or digits, or that are marks such as
    "Advertisement". Also removes headings and copyright notices at the end."""
    kept: list[TextBlock] = []
    for block in found:
        if block.linked * 2 > len(block.text) < block.linked + PARAGRAPH_CHARS:
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
    """Returns the run of blocks with the most text. A run consists of long blocks with few links, and of the
    short blocks between them."""
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
    """Returns the main text as Markdown. Changes the page's tree. `grows`: whether the layout of the page's
    tables would produce too much text. In that case the result has only headings and plain text."""
    tree = page.tree
    if grows:
        return "\n\n".join(
            f"{'#' * int(block.tag[1])} {block.text}" if block.tag in HEADINGS else block.text
            for block in blocks(tree)
        )
    body = tree.select_one("body")
    main = main_of(tree) or body
    if main is None or body is None or size_of(main) < min(SHORT_CHARS, size_of(body)):
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
