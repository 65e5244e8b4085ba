"""Parses XML pages: feeds, XHTML, sitemaps and other XML. The tree has the same interface as that of an HTML
page, with names in the letter case of the page. An XHTML page becomes an equal HTML page, so that all that reads
HTML reads it, too.

No entity is fetched or expanded: the five of XML and those of HTML are resolved, and a reference to any other
entity stays text. The time is linear in the size of the page.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING, Final

from gossamer.model.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    import turbohtml

MAX_DEPTH: Final = 400
"""Maximum nesting depth of elements. A page with deeper elements is parsed as HTML, which limits the depth."""
_SPECIAL: Final = lazy_pattern(
    r"<!--(?:(?!-->).)*(?:-->|\Z)|<\?(?:(?!\?>).)*(?:\?>|\Z)"
    r"|<!\[CDATA\[(?P<cdata>(?:(?!\]\]>).)*)(?:\]\]>|\Z)"
    r"|&(?P<reference>#[0-9]{1,7};|#x[0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{0,31};)?"
    "|(?P<bad>[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff])",
    re.DOTALL,
)
"""Matches what must not stay as it is: CDATA sections, references, and characters that XML forbids. Comments and
processing instructions are matched because nothing in them counts."""
_DOCTYPE: Final = lazy_pattern(r"<!DOCTYPE[^\[<>]*(?P<subset>\[)?", re.IGNORECASE)
_SUBSET_END: Final = lazy_pattern(r"\][\t\n\r ]*>")
_TAG: Final = lazy_pattern(r"<(/)?[A-Za-z_:][^<>]*>")
_ROOT: Final = lazy_pattern(r"<[A-Za-z_][^\t\n\r />]*")
_PREFIX: Final = lazy_pattern(r"[<\t\n\r ]([A-Za-z_][\w.-]*):[A-Za-z_]")
_DECLARED: Final = lazy_pattern(r"\bxmlns:([\w.-]+)")
_OF_XML: Final = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


def read_xml(text: str) -> turbohtml.Document | str | None:
    """Returns the tree of an XML page, or an equal HTML page if it is XHTML. Returns None if the page is not
    well-formed, or nested too deeply.

    >>> read_xml("<rss><title><![CDATA[A & B]]>!</title><link>/a</link></rss>").select_one("title").text
    'A & B!'
    >>> read_xml("<html><title>T</title><script src='a'/></html>")
    "<!DOCTYPE html><html><title>T</title><script src='a'></script></html>"
    """
    import turbohtml

    text = _without_doctype(text.strip("\ufeff\t\n\r "))
    text = _SPECIAL.sub(_repaired, text)
    if _is_deep(text):
        return None
    try:
        tree = turbohtml.parse_xml(text)
    except turbohtml.HTMLParseError as error:
        if "undeclared-namespace" not in str(error):
            return None
        try:
            tree = turbohtml.parse_xml(_with_prefixes(text))
        except turbohtml.HTMLParseError:
            return None
    return _as_html(text) if tree.root is not None and tree.root.tag == "html" else tree


_ATTRIBUTES = r"""(?>(?:[^<>"'/]|/(?!>)|"[^"]*"|'[^']*')*)"""
_HTML_SYNTAX: Final = lazy_pattern(
    rf"<(?P<raw>script|style)(?P<own>(?=[\t\n\r />]){_ATTRIBUTES})>(?P<text>[^<]*)</(?P=raw)[\t\n\r ]*>"
    rf"|<(?P<empty>[A-Za-z_][^\t\n\r />]*)(?P<rest>{_ATTRIBUTES})/>"
    r"|<!--(?>(?:(?!-->).)*)-->|<\?(?>(?:(?!\?>).)*)\?>",
    re.DOTALL,
)
_VOID: Final = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)


def _as_html(text: str) -> str:
    """Rewrites a well-formed XHTML page in the syntax of HTML: empty elements get an end tag, and scripts and
    styles have no references."""

    def html(found: re.Match[str]) -> str:
        if name := found["raw"]:
            inner = unescape(found["text"]).replace("</", r"<\/")
            return f"<{name}{found['own']}>{inner}</{name}>"
        name = found["empty"]
        if name is None or name in _VOID:
            return found[0] if name or found[0][1] == "!" else ""
        return f"<{name}{found['rest']}></{name}>"

    return "<!DOCTYPE html>" + _HTML_SYNTAX.sub(html, text)


def _without_doctype(text: str) -> str:
    """Removes the DOCTYPE, with the entities that it declares."""
    at = text.find("<!", 0, 4096)
    while text.startswith("<!--", at):
        at = text.find("<!", text.find("-->", at))
    found = _DOCTYPE.match(text, max(at, 0))
    if found is None:
        return text
    end = _SUBSET_END.search(text, found.end()) if found["subset"] else None
    stop = end.end() if end else text.find(">", found.end()) + 1
    return text[: found.start()] + text[stop:] if stop else text


def _repaired(found: re.Match[str]) -> str:
    if (cdata := found["cdata"]) is not None:
        return _escaped(_BAD.sub("\ufffd", cdata))
    if found["bad"]:
        return "\ufffd"
    if found[0][0] == "<":
        return found[0]
    name = found["reference"]
    if name is None:
        return "&amp;"
    if name[0] == "#":
        return _numbered(name)
    if name in _OF_XML:
        return found[0]
    char = html5.get(name)
    return f"&amp;{name}" if char is None else _escaped(char)


_BAD: Final = lazy_pattern("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _numbered(name: str) -> str:
    number = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
    if number > 0x10FFFF or number in (0xFFFE, 0xFFFF) or 0xD800 <= number < 0xE000:
        return "\ufffd"
    return f"&{name}" if number in (9, 10, 13) or number > 31 else "\ufffd"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_deep(text: str) -> bool:
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[1]:
            depth -= 1
        elif text[tag.end() - 2] != "/":
            depth += 1
            if depth > MAX_DEPTH:
                return True
    return False


def _with_prefixes(text: str) -> str:
    """Declares the namespace prefixes that the page uses without a declaration, as many feeds do."""
    root = _ROOT.search(text)
    if root is None:
        return text
    missing = set(_PREFIX.findall(text)) - {"xml", "xmlns", *_DECLARED.findall(text)}
    names = "".join(f' xmlns:{name}="{name}"' for name in sorted(missing))
    return text[: root.end()] + names + text[root.end() :]
