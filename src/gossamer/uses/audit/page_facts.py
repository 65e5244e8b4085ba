"""Reads the facts of a page and its links. All functions are pure and accept any bytes."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import xxhash

import gossamer
from gossamer.parsing.html import page_type
from gossamer.uses.audit.charset_faults import charset_faults
from gossamer.uses.audit.contradictions import find_contradictions
from gossamer.uses.audit.database import host_of
from gossamer.uses.audit.model import HostAlias, ImageFacts, PageFacts, PageLink
from gossamer.uses.audit.script_redirects import script_redirect
from gossamer.uses.audit.structured_checks import check_structured

if TYPE_CHECKING:
    from gossamer import PageView
    from gossamer.parsing.rendering_need import RenderingNeed

MAX_TEXT_CHARS: Final = 500
"""Longer titles, descriptions and headings are cut to this number of characters before they are stored."""
MAX_LINKS: Final = 5000
"""Maximum number of links of one page that are stored."""
MAX_IDS: Final = 5000
MAX_LISTED: Final = 20
"""Maximum number of examples that the facts of a page list for each problem."""
MAX_SHOWN_CHARS: Final = 200
MIN_WORDS_ALIKE: Final = 50
"""The minimum number of words of a page that is compared with other pages for similarity."""
BINS: Final = 128
"""Number of values in a page's sketch (one-permutation MinHash)."""
_SHINGLE_WORDS: Final = 4
_MAX_WORDS: Final = 50_000
_MAX_ALT_CHARS: Final = 150
_MIN_LETTERS_OF_LANGUAGE: Final = 400
"""The language of a text counts as certain only if the text has at least this number of letters."""
_HTML: Final = ("text/html", "application/xhtml+xml")
_ROBOTS: Final = frozenset({"robots", "googlebot"})
_FIELDS: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_SECURITY: Final = ("strict-transport-security", "content-security-policy", "x-content-type-options")
_PLACEHOLDER: Final = "lorem ipsum dolor"
_WORD: Final = re.compile(r"\w+")
_LINK_HEADER: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+))*)")
_REL_CANONICAL: Final = re.compile(r";\s*rel\s*=\s*\"?[^\";,]*\bcanonical\b", re.IGNORECASE)
_NOT_PAGES: Final = ("javascript:", "mailto:", "data:", "tel:", "blob:", "about:", "sms:", "ftp:")
_EMBEDDED: Final = (
    ("img", "src", "img"),
    ("script", "src", "script"),
    ("iframe", "src", "iframe"),
    ("frame", "src", "frame"),
    ("video", "src", "media"),
    ("audio", "src", "media"),
    ("source", "src", "media"),
    ("embed", "src", "media"),
    ("track", "src", "media"),
    ("video", "poster", "img"),
)
_PREVIEWS: Final = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
"""Metas with an image that other sites show as a preview of the page."""
_WEEKDAY: Final = re.compile(r"(\bunavailable_after\s*:)\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\s*,?")
_VIEWPORT: Final = re.compile(r"([a-z-]+)\s*=\s*([^\s,;=]+)")
_NUMBER: Final = re.compile(r"[+-]?\d{1,9}(?:\.\d{0,9})?")
_SRCSET: Final = re.compile(r"([^\s,]\S*)((?<!,)\s[^,(]*(?:\([^)]*\)[^,(]*)*)?")
MIN_ZOOM: Final = 2.0
"""A page must allow visitors to zoom in to this factor (WCAG 2.2, 1.4.4)."""
_BESIDE: Final = (
    "nav, aside, footer, dialog, [role=navigation], [role=complementary], [role=contentinfo], [role=search]"
)
"""A selector for parts of a page that are not its content. Heading levels in menus, footers and similar parts
are not compared with the heading levels in the content of the page."""
_FRAME: Final = f"{_BESIDE}, header, template, [role=banner]"
"""A selector for parts of a page. An image in one of these parts never counts as the first picture of the
page."""
_BLOCKING: Final = ("", "text/javascript", "application/javascript", "text/ecmascript")
"""The `type` values of scripts that the browser runs before it parses the rest of the page."""
_SILENT: Final = ("script", "style", "template", "noscript")
MIN_HERO_PX: Final = 200
"""The minimum width and height in pixels of an image that may be the first picture of a page."""
MAX_CHARS_ABOVE: Final = 600
"""The maximum number of characters of text before the first picture of a page. If more text precedes an
image, the image is probably below the part of the page that is visible without scrolling."""
_PERMALINK: Final = " ¶§#🔗"
"""Characters that documentation sites put after a heading as a link to the heading."""
_RELATIONS: Final = ("next", "prev", "alternate", "stylesheet")


def read_page(
    view: PageView, need: RenderingNeed | None = None, alias: HostAlias | None = None
) -> tuple[PageFacts, list[PageLink], bytes]:
    """Returns the facts of a page, its links, and the sketch of its text. A sketch is empty if the page has
    too few words. `need`: compares the page with earlier pages of the same host to decide whether the page
    needs JavaScript. `alias`: the other host whose URLs count as URLs of the audited site."""
    page = view.page
    kind = page_type(page.read_as, page.body)
    facts = PageFacts(url=view.url, status=view.status, content_type=kind, size=len(page.body))
    resolve = _resolver(view, alias)
    _read_headers(facts, page.headers, resolve)
    facts.is_html = kind in _HTML
    if not facts.is_html:
        return facts, [], b""
    tree = view.document.tree
    is_sent = page.rung in ("plain", "impersonated")
    inert = set(tree.select("template *, noscript *")) if tree.select("template, noscript") else set()
    _read_head(facts, tree, resolve)
    facts.refresh = resolve(view.document.refresh or "about:blank") or ""
    _read_headings(facts, tree)
    _read_images(facts, tree, inert)
    if is_sent:
        facts.charset_faults = list(charset_faults(tree, page.body, page.read_as))
    facts.script_redirect = _script_redirect(tree, resolve, inert, facts.url)
    if need is not None and view.status == 200 and is_sent:
        facts.unrendered = need.judge(host_of(view.url), view.document, page.body, page.read_as)
    facts.ids, facts.duplicate_ids = _ids(tree, inert)
    found = check_structured(tree)
    facts.structured_errors, facts.structured_gaps, facts.structured_bad = found[:3]
    facts.contradictions = list(find_contradictions(view.document, found.values))[:MAX_LISTED]
    _read_loading(facts, tree, inert)
    if facts.url.startswith("https://"):
        facts.mixed = _insecure(_embedded_urls(tree, inert))
        facts.insecure_forms = _insecure(_attribute(one, "action") for one in tree.select("form[action]"))
    sketch = _read_text(facts, view)
    # a browser that runs scripts shows no noscript element
    hidden = set(tree.select("template *")) if inert and is_sent else inert
    return facts, list(_links(facts, tree, resolve, inert, hidden)), sketch


def _resolver(view: PageView, alias: HostAlias | None) -> Callable[[str], str | None]:
    """Returns a function that resolves the URLs of a page."""
    resolve = view.document.base.resolve
    if alias is None:
        return resolve
    return lambda url: alias.own(found) if (found := resolve(url)) else found


def _attribute(element: Any, name: str) -> str:
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _short(text: str, most: int = MAX_TEXT_CHARS) -> str:
    return " ".join(text.split())[:most]


def _read_headers(facts: PageFacts, headers: list[tuple[str, str]], resolve: Any) -> None:
    robots: dict[str, None] = {}
    for name, value in headers:
        if name == "x-robots-tag":
            robots |= dict.fromkeys(_directives(value, facts.unavailable_after))
        elif name == "link":
            for target, parameters in _LINK_HEADER.findall(value[:20_000]):
                if _REL_CANONICAL.search(parameters):
                    facts.header_canonicals.append(target.strip()[:2000])
        elif name in _SECURITY and name not in facts.security_headers:
            facts.security_headers.append(name)
    facts.header_robots = list(robots)
    if facts.header_canonicals:
        # a Link header is relative to the URL of the page, whatever its base element says
        parsed = gossamer.url.parse(facts.header_canonicals[0], facts.url)
        facts.header_canonical = (parsed and resolve(parsed)) or ""
        facts.canonical = facts.header_canonical


def _directives(value: str, dates: list[str]) -> Iterator[str]:
    """Yields the directives for search engines, in lower case. Directives after `otherbot:` are left out.
    `dates`: the dates of `unavailable_after` are added to this list, as they are written."""
    ours = True
    # the comma of a date such as `Saturday, 25-Jul-09` separates no directives
    for part in _WEEKDAY.sub(r"\1", value[:20_000].lower()).split(","):
        name, colon, rest = part.partition(":")
        if colon and name.strip() not in _FIELDS:
            ours = name.strip() in _ROBOTS or name.strip() == "*"
            part = rest
        name, colon, rest = part.partition(":")
        if ours and part.strip():
            if colon and name.strip() == "unavailable_after" and len(dates) < MAX_LISTED:
                dates.append(rest.strip()[:100])
            yield part.strip()[:100]


def _in_head(element: Any) -> bool:
    return element.closest("head") is not None


def _read_head(facts: PageFacts, tree: Any, resolve: Any) -> None:
    for element in tree.select("title"):
        if element.closest("svg") is None:
            facts.titles.append(_short(element.text))
            if not _in_head(element):
                facts.metas_in_body.append("title")
    robots: dict[str, None] = {}
    for meta in tree.select("meta[name]"):
        name = _attribute(meta, "name").strip().lower()
        content = _attribute(meta, "content")
        if name == "description":
            facts.descriptions.append(_short(content))
        elif name in _ROBOTS:
            robots |= dict.fromkeys(_directives(content, facts.unavailable_after))
        elif name == "viewport":
            facts.viewport, facts.viewport_locked = True, zoom_lock(content)
        if name in ("description", "viewport", *_ROBOTS) and not _in_head(meta):
            facts.metas_in_body.append(f"meta {name}")
    facts.robots = list(robots)
    root = tree.root
    facts.language = _attribute(root, "lang").strip()[:100] if root is not None else ""
    for link in tree.select("link[rel][href]"):
        relations = _attribute(link, "rel").lower().split()
        href = _attribute(link, "href").strip()[:2000]
        if "canonical" in relations:
            if _in_head(link):
                facts.canonicals.append(href)
            else:
                facts.body_canonicals += 1
        elif "alternate" in relations and "hreflang" in link.attrs and len(facts.hreflangs) < 1000:
            code = _attribute(link, "hreflang").strip()[:40]
            facts.hreflangs.append((code, href, resolve(href) or ""))
    if facts.canonicals:
        facts.canonical = resolve(facts.canonicals[0]) or ""
    if len(facts.titles) > MAX_LISTED:
        del facts.titles[MAX_LISTED:]


def zoom_lock(content: str) -> str:
    """Returns the setting of a viewport that forbids visitors to zoom in to twice the size, or ''.

    >>> zoom_lock("width=device-width, user-scalable=no"), zoom_lock("maximum-scale=5; user-scalable=yes")
    ('user-scalable=no', '')
    """
    for name, value in _VIEWPORT.findall(content[:2000].lower()):
        number = float(found[0]) if (found := _NUMBER.match(value)) else None
        if name == "user-scalable" and (value == "no" or (number is not None and abs(number) < 1)):
            return f"user-scalable={value}"
        if name == "maximum-scale" and number is not None and 0 <= number < MIN_ZOOM:
            return f"maximum-scale={value}"
    return ""


def _script_redirect(tree: Any, resolve: Any, inert: set[Any], own: str) -> str:
    """Returns the URL of another page to which a script of the page sends every visitor, or ''."""
    scripts = [one.text for one in tree.select("script:not([src])") if one not in inert and _is_run(one)]
    scripts += [_attribute(one, "onload") for one in tree.select("body[onload]")]
    for script in scripts:
        target = script_redirect(script)
        found = (resolve(target) or "").partition("#")[0] if target else ""
        if found.startswith(("http://", "https://")) and found != own:
            return found
    return ""


def _is_run(script: Any) -> bool:
    return _attribute(script, "type").strip().lower() in (*_BLOCKING, "module")


def _read_headings(facts: PageFacts, tree: Any) -> None:
    for heading in tree.select("h1, h2, h3, h4, h5, h6"):
        if heading.closest("svg, template") is not None:
            continue
        if len(facts.headings) < 300 and heading.closest(_BESIDE) is None:
            facts.headings.append(int(heading.tag[1]))
        if heading.tag == "h1" and len(facts.h1s) < MAX_LISTED:
            text = _short(heading.text).rstrip(_PERMALINK)
            if not text:
                text = _short(" ".join(_attribute(one, "alt") for one in heading.select("img[alt]")))
            facts.h1s.append(text)


def _read_images(facts: PageFacts, tree: Any, inert: set[Any]) -> None:
    images = [one for one in tree.select("img") if one not in inert]
    found = ImageFacts(count=len(images))
    for image in images:
        source = (_attribute(image, "src") or _attribute(image, "data-src"))[:MAX_SHOWN_CHARS]
        alt = image.attrs.get("alt")
        hidden = _attribute(image, "role") in ("presentation", "none") or (
            _attribute(image, "aria-hidden") == "true"
        )
        named = "aria-label" in image.attrs or "aria-labelledby" in image.attrs or "title" in image.attrs
        if alt is None and "alt" not in image.attrs and not hidden and not named:
            _add(found.without_alt, source)
        elif isinstance(alt, str) and len(alt) > _MAX_ALT_CHARS:
            _add(found.long_alt, source)
        if not _has_size(image):
            _add(found.without_size, source)
    found.empty_pictures = sum(one.select_one("img") is None for one in tree.select("picture"))
    facts.images = found


def _read_loading(facts: PageFacts, tree: Any, inert: set[Any]) -> None:
    """Finds the reasons why a browser shows a page late: blocking scripts in the head, and a first picture
    that the browser loads late."""
    for script in tree.select("head script[src]"):
        kind = _attribute(script, "type").strip().lower()
        if (
            script not in inert
            and kind in _BLOCKING
            and not {"async", "defer", "nomodule"}.intersection(script.attrs)
        ):
            _add(facts.blocking_scripts, _attribute(script, "src")[:MAX_SHOWN_CHARS])
    facts.lazy_hero = _late_picture(tree, inert)


def _late_picture(tree: Any, inert: set[Any]) -> str:
    """Returns the URL of the first picture of a page and the reason, if that picture is loaded late.
    Otherwise returns ''."""
    images = (one for one in tree.select("img") if one not in inert and one.closest(_FRAME) is None)
    first = next((one for one in images if not _is_small(one)), None)
    if first is None or _chars_before(first, MAX_CHARS_ABOVE) > MAX_CHARS_ABOVE:
        return ""
    source, waiting = (_attribute(first, name).strip()[:MAX_SHOWN_CHARS] for name in ("src", "data-src"))
    if _attribute(first, "loading").strip().lower() == "lazy":
        return f"{source or waiting}: loading=lazy"
    is_waiting = bool(waiting) and (not source or source.startswith("data:"))
    return f"{waiting}: loaded by a script" if is_waiting else ""


def _is_small(image: Any) -> bool:
    """Returns whether the attributes `width` and `height` show that an image is small, such as an icon."""
    sizes = [_attribute(image, name).strip().removesuffix("px") for name in ("width", "height")]
    return any(size.isdigit() and int(size) < MIN_HERO_PX for size in sizes)


def _chars_before(element: Any, most: int) -> int:
    """Returns the number of characters of text before an element in its page. The count may stop as soon as
    the number exceeds `most`."""
    count = 0
    while (parent := element.parent) is not None and count <= most:
        for child in parent.children:
            if child == element:
                break
            count += len(" ".join(child.text.split())) if getattr(child, "tag", "") not in _SILENT else 0
        if getattr(parent, "tag", "body") == "body":
            break
        element = parent
    return count


def _has_size(image: Any) -> bool:
    if "width" in image.attrs and "height" in image.attrs:
        return True
    style = _attribute(image, "style").replace(" ", "").lower()
    return ("width:" in style and "height:" in style) or "aspect-ratio:" in style


def _add(shown: list[str], value: str) -> None:
    if len(shown) < MAX_LISTED:
        shown.append(value)


def _ids(tree: Any, inert: set[Any]) -> tuple[list[str], list[str]]:
    counts = Counter([_attribute(one, "id")[:300] for one in tree.select("[id]") if one not in inert])
    counts.pop("", None)
    twice = [name for name, n in counts.items() if n > 1]
    names = dict.fromkeys(counts)
    names |= dict.fromkeys(_attribute(one, "name")[:300] for one in tree.select("a[name]"))
    return list(names)[:MAX_IDS], twice[:MAX_LISTED]


def _embedded_urls(tree: Any, inert: set[Any]) -> Iterator[str]:
    for tag, attribute, _ in _EMBEDDED:
        for element in tree.select(f"{tag}[{attribute}]"):
            if element not in inert:
                yield _attribute(element, attribute)
    for element in tree.select("img[srcset], source[srcset]"):
        if element not in inert:
            yield from srcset_urls(_attribute(element, "srcset"))
    for link in tree.select('link[rel~="stylesheet" i][href]'):
        yield _attribute(link, "href")


def srcset_urls(text: str) -> list[str]:
    """Returns the URLs of a `srcset` (HTML Standard, 4.8.4.3.11).

    >>> srcset_urls("a.png 1x, b,c.png 2x,d.png")
    ['a.png', 'b,c.png', 'd.png']
    """
    found = (match[1].rstrip(",") for match in _SRCSET.finditer(text[:20_000]))
    return list(dict.fromkeys(filter(None, found)))[:MAX_LISTED]


def _insecure(urls: Iterator[str]) -> list[str]:
    found = dict.fromkeys(
        url.strip()[:MAX_SHOWN_CHARS] for url in urls if url.strip()[:7].lower() == "http://"
    )
    return list(found)[:MAX_LISTED]


def _read_text(facts: PageFacts, view: PageView) -> bytes:
    """Reads the text of a page. Returns its sketch."""
    text = view.document.text
    words = _WORD.findall(text.lower())
    facts.words = len(words)
    facts.text_hash = xxhash.xxh3_128_hexdigest(" ".join(text.split()).encode("utf-8", "replace"))
    facts.is_lorem = _has_placeholder(text, view)
    main = view.main_text
    if len(main) < len(text) / 10:
        main = text
    facts.main_hash = xxhash.xxh3_64_hexdigest(" ".join(main.split()).encode("utf-8", "replace"))
    if _PLACEHOLDER not in text.lower():
        facts.detected_language = detect_language(main, facts.language)
    return sketch_of(_WORD.findall(main.lower())[:_MAX_WORDS])


def _has_placeholder(text: str, view: PageView) -> bool:
    """Returns whether a page shows placeholder text, except in code and in quotations."""
    shown = text.lower().count(_PLACEHOLDER)
    if shown:
        quoted = view.document.tree.select("pre, textarea, blockquote, code")
        shown -= sum(
            one.text.lower().count(_PLACEHOLDER)
            for one in quoted
            if one.tag != "code" or one.closest("pre") is None
        )
    return shown > 0


def detect_language(text: str, declared: str) -> str:
    """Returns the language of a text. Returns '' if the language is not certain, or if the extra `text` is
    missing. If the text's language is hard to distinguish from the declared language, returns the declared
    language."""
    from gossamer.parsing.language import language_of_text

    if sum(map(str.isalpha, text[:3000])) < _MIN_LETTERS_OF_LANGUAGE:
        return ""
    try:
        return language_of_text(text, declared or None) or ""
    except RuntimeError:
        return ""


def sketch_of(words: list[str]) -> bytes:
    """Returns a MinHash of the four-word sequences in a text. The MinHash consists of BINS numbers of 4 bytes
    each. Returns b"" for a short text.

    >>> len(sketch_of(["a"] * 60)), sketch_of(["a"])
    (512, b'')
    """
    if len(words) < MIN_WORDS_ALIKE:
        return b""
    least = [0xFFFFFFFF] * BINS
    for place in range(len(words) - _SHINGLE_WORDS + 1):
        number = xxhash.xxh3_64_intdigest(" ".join(words[place : place + _SHINGLE_WORDS]).encode())
        chosen, value = number & (BINS - 1), number >> 33
        if value < least[chosen]:
            least[chosen] = value
    return array("I", least).tobytes()


def _links(
    facts: PageFacts, tree: Any, resolve: Any, inert: set[Any], hidden: set[Any]
) -> Iterator[PageLink]:
    """Yields the links and embedded files of a page. Each combination of URL, element and fragment is yielded
    once. `inert`: elements that browsers do not load. `hidden`: elements whose links nobody can follow."""
    found: dict[tuple[str, str, str], PageLink] = {}
    shut = facts.is_nofollow
    for kind, raw, element in _mentions(facts, tree, inert, hidden):
        raw = raw.strip()
        if not raw or raw[:11].lower().startswith(_NOT_PAGES):
            continue
        href, _, fragment = raw.partition("#")
        url = resolve(raw if href else facts.url)
        if url is None:
            continue
        url, fragment = url.partition("#")[0], fragment[:300]
        key = (url, kind, fragment)
        closed = shut or "nofollow" in _attribute(element, "rel").lower().split()
        text = _link_text(element) if kind in ("a", "area") else ""
        if (known := found.get(key)) is not None:
            if not known.text and text:
                known.text = text
            if known.nofollow != int(closed):
                known.nofollow = 2
        elif len(found) < MAX_LINKS:
            found[key] = PageLink(url, kind, text, int(closed), fragment)
    yield from found.values()


def _mentions(
    facts: PageFacts, tree: Any, inert: set[Any], hidden: set[Any]
) -> Iterator[tuple[str, str, Any]]:
    if facts.redirect and tree.root is not None:
        yield "refresh", facts.redirect, tree.root
    for tag in ("a", "area"):
        for element in tree.select(f"{tag}[href]"):
            if element not in hidden:
                yield tag, _attribute(element, "href"), element
    for tag, attribute, kind in _EMBEDDED:
        for element in tree.select(f"{tag}[{attribute}]"):
            if element not in inert:
                yield kind, _attribute(element, attribute), element
    for element in tree.select("img[srcset], source[srcset]"):
        if element not in inert:
            for url in srcset_urls(_attribute(element, "srcset")):
                yield "srcset", url, element
    for element in tree.select("meta[property][content], meta[name][content]"):
        if (_attribute(element, "property") or _attribute(element, "name")).strip().lower() in _PREVIEWS:
            yield "preview", _attribute(element, "content"), element
    for link in tree.select("link[rel][href]"):
        relations = _attribute(link, "rel").lower().split()
        media = _attribute(link, "type").partition(";")[0].strip().lower()
        for relation in _RELATIONS:
            if relation in relations and (relation == "stylesheet" or media in ("", *_HTML)):
                yield relation, _attribute(link, "href"), link
                break


def _link_text(element: Any) -> str:
    text = _short(element.text, 100) or _short(_attribute(element, "aria-label"), 100)
    if not text:
        alts = [_attribute(one, "alt") for one in element.select("img[alt]")]
        titles = [one.text for one in element.select("svg title")]
        text = _short(" ".join([_attribute(element, "alt"), *alts, *titles]), 100)
    return text or _short(_attribute(element, "title"), 100)
