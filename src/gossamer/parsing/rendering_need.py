"""Decides whether a page needs a browser. A page needs a browser if the main part is empty until scripts fill
it.

The main part is the page without navigation, header and footer. Text that other pages of the same host also
show does not count as the page's own. A page needs a browser if it has little text of its own and shows a
sign that scripts fill it. The signs are an empty container, a loading marker, an unfilled template, and a
page without any content. A short but complete page shows none of these signs. Such a page is, for example, a
notice, a stub, a log-in form, a gallery or a redirect.

The decision takes 2 us for a page with some long paragraphs, and up to about 200 us for any other page.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

import turbohtml

from gossamer.parsing.html import Document, attribute_of, parse

Element = turbohtml.Element

ENOUGH_CHARS: Final = 200
"""Minimum number of characters of a complete main part. Only the page's own texts count, and not the texts
that other pages of the host also show."""
PARAGRAPH_CHARS: Final = 400
"""A page is complete if its paragraphs have at least PARAGRAPH_CHARS characters in total, wherever the
paragraphs are on the page."""
BLANK_CHARS: Final = 60
"""Minimum number of characters of a main part that is not blank. If a page has an empty container and asks
the reader to enable JavaScript, the page needs a browser only if its main part is blank."""
MAX_BARE_CHARS: Final = 60
"""A page with fewer than MAX_BARE_CHARS characters in total counts as a page without text."""
MAX_SHELL_CHARS: Final = 1500
"""A page with fewer characters may consist of only a menu and a footer. A page needs a browser if its main
part has no text, a container is empty, and the page has fewer than MAX_SHELL_CHARS characters."""
MIN_PARAGRAPH_CHARS: Final = 40
"""Minimum number of characters of a paragraph. Shorter paragraphs are ignored."""
MAX_PARAGRAPHS: Final = 200
EMPTY_MAIN: Final = "its main element is empty"
MAX_NODES: Final = 1500
"""Maximum number of nodes that are visited per page. A page with MAX_NODES nodes or more counts as
complete."""
MAX_KEPT_PAGE_BYTES: Final = 256 << 10
"""Maximum size in bytes of a complete page that is kept for comparison with other pages."""
MAX_KEPT_BYTES: Final = 4 << 20
"""Maximum total size in bytes of all pages that are kept for comparison."""
SISTERS: Final = 2
"""Number of complete pages of a host that are compared, to find the texts that all pages of the host
share."""
FRAME_TEXTS: Final = 300
"""The first FRAME_TEXTS texts and the last FRAME_TEXTS texts of a page are compared with another page."""
MAX_FRAME_TEXT_CHARS: Final = 2000
"""Maximum number of characters of a text that is compared with another page."""
MAX_HOSTS: Final = 2000
"""Maximum number of hosts whose pages are kept for comparison."""

MAX_DEPTH: Final = 150
"""Maximum nesting depth of elements whose descendants are visited. An element below this depth counts as a
single text."""
MAX_LOADING_CHARS: Final = 60
"""Maximum length in characters of a message that content is being loaded."""

_SILENT: Final = frozenset(
    ("script", "style", "template", "noscript", "head", "title", "svg", "dialog", "link", "meta")
)
"""Elements that have no visible text, or that are visible only some of the time."""
_AROUND: Final = frozenset(("nav", "aside", "header", "footer"))
_AROUND_ROLES: Final = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "dialog"))
_AROUND_NAME: Final = re.compile(
    r"(?:(?:site|page|main|global|top|app|bottom|the|primary|secondary|mobile)[-_]*)?"
    r"(?:header|footer|nav|navbar|navigation|nav-?bar|menu|top-?bar|masthead|sidebar|breadcrumbs?"
    r"|cookies?(?:[-_]?(?:bar|banner|consent|notice))?|consent|gdpr)",
    re.IGNORECASE,
)
"""Matches the class or id of an element that surrounds the main part of a page, such as a header or a
menu."""
_ASIDE: Final = (
    "footer, nav, aside, dialog, noscript, template, [role=dialog], [role=contentinfo],"
    " [class*=cookie], [id*=cookie], [class*=consent], [id*=consent]"
)
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MEDIA: Final = frozenset(("img", "picture", "video", "audio", "iframe", "object", "embed", "frame", "math"))
_FILLED: Final = "img, picture, video, audio, iframe, object, embed, canvas, input, textarea, select, button"
_FIELDS: Final = frozenset(("textarea", "select"))
_TYPED: Final = frozenset(("", "text", "email", "tel", "url", "number", "date", "file"))
_CONTAINERS: Final = frozenset(("main", "div", "section", "article", "ul", "ol", "table", "tbody"))
_MAIN_NAME: Final = re.compile(
    r"(?:js[-_])?(?:react[-_]?|vue[-_]?|ng[-_]?|spa[-_]?)?(?:root|app|__next|__nuxt|___gatsby|q-app|application|mount|svelte"
    r"|app-?root|app-?container|router-?view|outlet|view)"
    r"|(?:main|page|site)?[-_]?(?:content|main)(?:[-_](?:container|wrapper|area|body|list))?"
    r"|(?:product|result|item|article|post|job|event|catalog|listing|card|search)s?"
    r"(?:[-_](?:list|grid|results?|container|wrapper|items|feed|root|app))?|catalogue|listing|feed",
    re.IGNORECASE,
)
"""Matches the id or class of a container for the main part of a page."""
_APP_ELEMENT: Final = re.compile(r"app-[\w-]+|[\w-]+-(?:app|root|view|outlet|shell|page|main|content)")
"""Matches the name of a custom element that usually contains the main part of a page."""
_VIEWS: Final = ("ng-view", "ui-view", "data-ng-view", "router-outlet", "v-cloak", "ng-cloak", "x-cloak")
"""Attributes of an element whose content comes from a framework's script. The framework removes some of these
attributes after it has filled the element."""
_LOADING_NAME: Final = re.compile(
    r"(?:[\w-]*[-_])?(?:skeleton|shimmer|spinner|loader|loading|preloader|lds-\w+|placeholder-(?:glow|wave|item|card))"
    r"(?:[-_]\w+)*|(?:Mui|ant-|el-|v-)?skeleton[\w-]*",
    re.IGNORECASE,
)
_LOADING_TEXT: Final = re.compile(
    r"\W*(?:loading|please wait|(?:wird |werden )?gelad|lädt|chargement|cargando|carregando|caricamento|laden|"
    r"ładowanie|načítání|yükleniyor|загрузка|завантаження|加载中|正在加载|載入中|読み込み中|로딩|불러오는)",
    re.IGNORECASE,
)
_UNFILLED: Final = re.compile(
    r"\{\{.{1,200}?\}\}|\[\[.{1,200}?\]\]|<%=?.{1,200}?%>|\$\{.{1,200}?\}", re.DOTALL
)
"""Matches a template that scripts have not filled yet."""


class Frame(NamedTuple):
    """The texts and headings that several pages of a host have in common."""

    texts: frozenset[str] = frozenset()
    headings: frozenset[str] = frozenset()
    """The headings that the pages have in common. If other pages show the text of a heading only in their
    menus, the heading counts as the page's own text. The page's own headings count because a chapter may
    consist of a heading alone."""


class MainPart:
    """Measures the main part of a page. `frame`: the texts and headings that other pages of the host also
    show. `enough`: the number of the page's own characters that make the main part complete."""

    def __init__(self, frame: Frame = Frame(), enough: int = ENOUGH_CHARS) -> None:  # noqa: B008 - it cannot be changed
        self._shared, self._headings, self._left = frame.texts, frame.headings, MAX_NODES
        self._enough = enough
        self.own = 0
        """Number of characters in the texts of the main part that other pages of the host do not show."""
        self.text = 0
        """Number of characters in all texts of the main part."""
        self.media = self.fields = self.passwords = 0
        self.empty = ""
        """A description of the empty container that is meant for the main part, or ''."""
        self.vacant = False
        """Whether any container in the main part is empty."""
        self.loading = ""
        """A description of a sign on the page that content is still being loaded, or ''."""

    @property
    def complete(self) -> bool:
        """Whether the main part has enough text of its own, or has too many nodes to be empty."""
        return self.own >= self._enough or self._left <= 0

    def measure(self, element: Element, main: bool = False, depth: int = 0) -> int:
        """Adds the contents of an element to the measurements, until the main part is complete. `main`:
        whether the element is inside a `main` or `article` element. Returns 0 if the element has no visible
        content."""
        if depth > MAX_DEPTH:
            return self._piece(element.text)
        held = 0
        for child in element.children:
            self._left -= 1
            if self.own >= self._enough or self._left <= 0:
                return held + 1
            if isinstance(child, Element):
                held += self._element(child, main, depth)
            elif isinstance(child, turbohtml.Text):
                held += self._piece(child.text)
        return held

    def _piece(self, raw: str) -> int:
        piece = " ".join(raw.split())
        if not piece:
            return 0
        if _UNFILLED.search(piece):
            self.loading = self.loading or "it has an unfilled template"
            return 0
        if len(piece) <= MAX_LOADING_CHARS and _LOADING_TEXT.match(piece):
            self.loading = self.loading or f"it says {piece[:30]!r}"
            return 0
        size = len(piece) if piece.isascii() else 2 * len(piece)
        self.text += size
        if piece not in self._shared:
            self.own += size
        return 1

    def _element(self, element: Element, main: bool, depth: int) -> int:
        tag = element.tag
        if tag in _SILENT or (tag in _AROUND and not main):
            return 0
        if tag in _MEDIA:
            self.media += 1
            return 1
        attributes = element.attrs
        if tag == "input" or tag in _FIELDS:
            return self._field(tag, str(attributes.get("type") or "").lower())
        names: tuple[str, ...] = ()
        if attributes:
            if "hidden" in attributes:
                return 0
            names = (attribute_of(element, "id"), *attribute_of(element, "class").split())
            if not main and _is_around(str(attributes.get("role") or ""), names):
                return 0
            self._loading(names, attribute_of(element, "aria-busy"), attribute_of(element, "role"))
        if tag in _HEADINGS and " ".join(element.text.split()) not in self._headings:
            return self._heading(element, depth)
        held = self.measure(element, main or tag in ("main", "article"), depth + 1)
        if not held and (tag in _CONTAINERS or "-" in tag):
            self._empty(element, names)
        return held

    def _heading(self, element: Element, depth: int) -> int:
        """Adds a heading to the measurements. Other pages of the host do not have this heading. All words of
        the heading count as the page's own text, even if other pages show the same words elsewhere, for
        example in a menu."""
        shared, self._shared = self._shared, frozenset()
        held = self.measure(element, True, depth + 1)
        self._shared = shared
        return held

    def _field(self, tag: str, kind: str) -> int:
        if kind == "password":
            self.passwords += 1
        elif tag != "input" or kind in _TYPED:
            self.fields += 1
        else:
            return 0
        return 1

    def _loading(self, names: tuple[str, ...], busy: str, role: str) -> None:
        if self.loading:
            return
        found = next((name for name in names if name and _LOADING_NAME.fullmatch(name)), "")
        if found or busy == "true" or role == "progressbar":
            self.loading = f"it has a loading marker{found and f' ({found[:30]})'}"

    def _empty(self, element: Element, names: tuple[str, ...]) -> None:
        """Records that the page has an empty container. If `element` is the first empty container for the
        main part of the page, also stores a description of `element`."""
        self.vacant = True
        if self.empty:
            return
        tag = element.tag
        named = next((name for name in names if name and _MAIN_NAME.fullmatch(name)), "")
        if tag == "main" or attribute_of(element, "role") == "main":
            self.empty = EMPTY_MAIN
        elif named:
            self.empty = f"{'#' if named == names[0] else '.'}{named[:40]} is empty"
        elif "-" in tag and _APP_ELEMENT.fullmatch(tag):
            self.empty = f"<{tag[:40]}> is empty"
        elif any(name in element.attrs for name in _VIEWS):
            self.empty = "its view is empty"


def _is_around(role: str, names: tuple[str, ...]) -> bool:
    """Whether an element surrounds the main part."""
    return role in _AROUND_ROLES or any(name and _AROUND_NAME.fullmatch(name) for name in names)


def long_text(document: Document, shared: Collection[str] = ()) -> list[str]:
    """Returns the first long paragraphs whose total length shows that the page is complete. Returns [] if the
    page has too little text in paragraphs. Skips paragraphs in footers, dialogs and similar elements. Also
    skips the paragraphs in `shared`, which other pages of the host show."""
    size, counted = 0, list[str]()
    for paragraph in document.tree.select("p")[:MAX_PARAGRAPHS]:
        text = paragraph.text
        if len(text) < MIN_PARAGRAPH_CHARS or paragraph.closest(_ASIDE) is not None or text in shared:
            continue
        counted.append(text)
        size += len(text)
        if size >= PARAGRAPH_CHARS:
            return counted
    return []


def has_empty_main(document: Document) -> bool:
    """Whether the `main` element of the page is empty, and the page has scripts that may fill the element.
    Text elsewhere on the page does not count."""
    mains = document.tree.select("main")
    if not mains or any(next(iter(main.stripped_strings), "") for main in mains):
        return False
    if not document.tree.select("script") or document.refresh is not None:
        return False
    return all(main.select_one(_FILLED) is None for main in mains)


def why_empty(document: Document, part: MainPart) -> str:
    """Returns the reason why a page with this main part needs a browser, or '' if it does not need one. Does
    not compare the page with other pages of the host."""
    if not may_need_scripts(document, part):
        return ""
    if strong := part.empty or part.loading:
        return strong
    if not part.text and len(document.text) < MAX_BARE_CHARS:
        return "it has no text"
    if part.vacant and not part.text and len(document.text) < MAX_SHELL_CHARS:
        return "it has only a menu and a footer"
    if part.vacant and part.own < BLANK_CHARS and _asks_for_scripts(document.tree):
        return "it asks for JavaScript"
    return ""


def may_need_scripts(document: Document, part: MainPart) -> bool:
    """Whether a page has scripts but is not complete: it has too little text, too few pictures, and no
    form."""
    tree = document.tree
    if part.complete or not tree.select("script") or document.refresh is not None or tree.select("frameset"):
        return False
    strong = bool(part.empty or part.loading)
    return not (part.passwords or part.media >= (3 if strong else 1) or (part.fields and not strong))


def _asks_for_scripts(tree: turbohtml.Document) -> bool:
    return any("javascript" in element.text.lower() for element in tree.select("noscript")[:20])


def looks_empty(document: Document) -> str:
    """Returns the reason why a page needs a browser, or '' if it does not need one. The decision does not use
    other pages of the host.

    >>> from gossamer.parsing.html import parse
    >>> page = b"<nav>Home</nav><main></main><footer>Imprint</footer><script src=/app.js></script>"
    >>> looks_empty(parse(page, "text/html", "https://example.com/"))
    'its main element is empty'
    """
    if has_empty_main(document):
        return EMPTY_MAIN
    return "" if long_text(document) else why_empty(document, _part(document))


def _part(document: Document, frame: Frame = Frame(), enough: int = ENOUGH_CHARS) -> MainPart:  # noqa: B008
    part = MainPart(frame, enough)
    body = document.tree.select_one("body")
    if body is not None:
        part.measure(body)
    return part


class KeptPage(NamedTuple):
    """A complete page that is kept so that other pages of its host can be compared with it."""

    url: str
    body: bytes
    content_type: str | None

    def frame(self) -> Frame:
        """Returns the texts and headings of the page."""
        return _frame(parse(self.body, self.content_type, self.url))


class Sisters:
    """The first two complete pages of a host, and the texts that they share."""

    def __init__(self) -> None:
        self.pages: list[KeptPage] = []
        """The kept pages. After the method `frame` has compared the pages, the list is empty."""
        self.paragraphs: frozenset[str] = frozenset()
        """The long paragraphs of the host's first complete page."""
        self.shared: frozenset[str] = frozenset()
        """The long paragraphs that both complete pages show."""
        self._frame: Frame | None = None
        self.count = 0
        """Number of complete pages of the host that were added, at most 2."""

    def frame(self) -> Frame | None:
        """Returns the texts and headings that both complete pages show. Returns None if fewer than two pages are kept."""
        if self._frame is None and len(self.pages) == SISTERS:
            one, other = self.pages
            left, right = one.frame(), other.frame()
            self._frame = Frame(left.texts & right.texts, left.headings & right.headings)
            self.pages.clear()
        return self._frame

    def add(self, page: KeptPage, paragraphs: list[str]) -> int:
        """Adds a complete page with its long paragraphs. Returns the number of bytes of the page that are
        kept."""
        if self.count == SISTERS or any(one.url == page.url for one in self.pages):
            return 0
        self.count += 1
        if self.count == 1:
            self.paragraphs = frozenset(paragraphs)
        else:
            self.shared = self.paragraphs.intersection(paragraphs)
        if len(page.body) > MAX_KEPT_PAGE_BYTES:
            return 0
        self.pages.append(page)
        return len(page.body)


class RenderingNeed:
    """Decides which pages need a browser. Compares each page with other pages of its host that this process
    has read."""

    def __init__(self) -> None:
        self._hosts: dict[str, Sisters] = {}
        self._bytes = 0

    def judge(self, host: str, document: Document, body: bytes, content_type: str | None = None) -> str:
        """Returns the reason why a page of a host needs a browser, or '' if it does not need one."""
        sisters = self._hosts.get(host) or self._new(host)
        if sisters.count == SISTERS and not document.tree.select("script"):
            return ""  # each reason below needs scripts that may fill the page
        if has_empty_main(document):
            return EMPTY_MAIN
        if found := long_text(document, sisters.shared):
            if sisters.count < SISTERS:
                self._bytes += sisters.add(KeptPage(document.url, body, content_type), found)
            return ""
        part = _part(document)
        if why := why_empty(document, part):
            return why
        if part.media or not document.tree.select("script") or (frame := sisters.frame()) is None:
            return ""
        part = _part(document, frame, enough=1)
        blank = may_need_scripts(document, part) and part.vacant and not part.own
        return "it has no text but what other pages of its host show" if blank else ""

    def _new(self, host: str) -> Sisters:
        if len(self._hosts) >= MAX_HOSTS or self._bytes > MAX_KEPT_BYTES:
            self._hosts.clear()
            self._bytes = 0
        found = self._hosts[host] = Sisters()
        return found


def _frame(document: Document) -> Frame:
    """Returns the first and the last texts of a page, and its headings. The first and the last texts of a
    page usually belong to its header, its menus and its footer."""
    body = document.tree.select_one("body")
    found = [] if body is None else list(body.strings)
    if len(found) > 2 * FRAME_TEXTS:
        found = found[:FRAME_TEXTS] + found[-FRAME_TEXTS:]
    headings = document.tree.select(", ".join(sorted(_HEADINGS)))[:FRAME_TEXTS]
    return Frame(
        frozenset(" ".join(text.split()) for text in found if len(text) <= MAX_FRAME_TEXT_CHARS),
        frozenset(" ".join(one.text.split()) for one in headings),
    )
