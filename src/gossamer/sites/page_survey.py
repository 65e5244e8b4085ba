"""Surveys a page for `gossamer new`: its kind (product, article, listing, table or page), the fields that it
has, the selector for the links to its detail pages, and the link to the next page.

The page's author may have put code into its text. Therefore, text of the page is written to a site file only
as quoted strings, and as selectors that consist of tags, letters and hyphens.
"""

from __future__ import annotations

import json
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from gossamer import url as urls
from gossamer.parsing.html import attribute_of
from gossamer.parsing.page_view import PageView
from gossamer.parsing.prices import price

MIN_LINKS: Final = 3
"""Minimum number of links to detail pages on a page that counts as a listing."""
MANY_LINKS: Final = 8
"""A page with at least this many links to detail pages is a listing, even if the page also has a heading and
a price."""
MIN_ARTICLE: Final = 800
"""Minimum number of characters in the main text of a page that counts as an article."""
MIN_DECLARED_ARTICLE: Final = 300
"""Minimum number of characters in the main text of a page that declares itself an article."""
MAX_LINKS: Final = 3000
"""Maximum number of links on a page that are examined."""
_ARTICLES: Final = re.compile(r"(?:[A-Z]\w*)?Article|BlogPosting|Report|Review", re.ASCII)
_BESIDE: Final = re.compile(
    r"nav|menu|side|foot|header|crumb|categor|\btags?\b|pag(?:er|inat)|social|share|lang|login|cart",
    re.IGNORECASE,
)
"""Matches the tags, classes and ids of page parts that are not content, such as menus and footers."""
_NEXT: Final = re.compile(
    r"(?:next(?: page)?|older(?: posts)?|weiter|nächste(?: seite)?|suivante?|siguiente|próxim[ao]|volgende|"
    r"successiv[ao]|nästa|следующая|далее|下一页|次へ|다음)?\s*[›»→>]{0,2}",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{1,40}")
_NEXT_WORD: Final = re.compile(r"[A-Za-z ]{3,20}")


class Field(NamedTuple):
    """A proposed field: its name, its type in the item class, and the expression that reads it from `page`."""

    name: str
    type: str
    expression: str


TITLE: Final = Field("title", "str | None", "page.title")


class DetailLinks(msgspec.Struct, frozen=True):
    """The links from a listing to its detail pages. `pattern`: a regular expression that matches the paths of
    the detail pages. The pattern is '' if it would also match the listing itself, or more than two other
    links of the listing."""

    selector: str
    urls: list[str]
    pattern: str


class PageSurvey(msgspec.Struct, frozen=True):
    """The result of a survey. `kind`: product, article, listing, table or page. `next_page`: the selector for
    the link to the next page, or '' if there is none."""

    kind: str
    fields: list[Field]
    details: DetailLinks | None = None
    next_page: str = ""
    table: int = 0
    rows: int = 0
    """`table` is the index of the data table in `page.tables`, and `rows` is the number of rows of the data
    table. `table` and `rows` are set only if `kind` is `table`."""


def survey(view: PageView) -> PageSurvey:
    """Surveys a page. Accepts any page and never raises. A page whose tree would take too much memory counts
    as a page without content."""
    try:
        view.document  # noqa: B018 - parses the page
    except ValueError:
        return PageSurvey("page", [TITLE])
    details = detail_links(view)
    kind = _kind(view, details)
    fields = fields_of(view, kind)
    if kind == "table" and (number := _data_table(view)) is not None:
        return PageSurvey(kind, fields, table=number, rows=len(view.tables[number].rows))
    if kind != "listing":
        return PageSurvey(kind, fields)
    return PageSurvey(kind, fields, details, next_page(view))


def _kind(view: PageView, details: DetailLinks | None) -> str:
    """Returns the kind of a page. The page's own declaration takes precedence over its appearance."""
    declared = _declared(view)
    front = urlsplit(view.url).path in ("", "/")
    if "Product" in declared and not (details and front):
        return "product"
    length = 0 if front else len(view.main_text)
    if length >= MIN_DECLARED_ARTICLE and any(_ARTICLES.fullmatch(one) for one in declared):
        return "article"
    if not front and view.product["sku"] and (view.product["price"] or view.product["availability"]):
        return "product"
    priced = view.product["price"] is not None and bool(view.css("h1"))
    if priced and not (details and (len(details.urls) >= MANY_LINKS or _all_prices_linked(view, details))):
        return "product"
    if details:
        return "listing"
    if length >= MIN_ARTICLE and not next_page(view):
        return "article"
    return "table" if _data_table(view) is not None else "page"


def _declared(view: PageView) -> set[str]:
    """Returns the content types that the page declares. A type in JSON-LD or microdata is included only if
    exactly one node of the page has this type. A known type in `og:type` is always included."""
    counts = Counter(kind for node in _nodes(view) for kind in _types(node))
    found = {kind for kind, number in counts.items() if number == 1}
    og = (view.css('meta[property="og:type"]::attr(content)').get() or "").lower()
    return found | ({"Product"} if "product" in og else {"Article"} if og == "article" else set())


def _nodes(view: PageView) -> Iterable[dict[str, Any]]:
    """Yields the nodes of the page's structured data (JSON-LD and microdata). Nodes under `@graph` and
    `mainEntity` are included."""
    waiting: list[Any] = [view.structured.get("json_ld"), view.structured.get("microdata")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            yield one
            waiting += [one.get("@graph"), one.get("mainEntity")]


def _types(node: dict[str, Any]) -> list[str]:
    kinds = node.get("@type", node.get("type"))
    return [str(kind).rpartition("/")[2] for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind]


def _all_prices_linked(view: PageView, details: DetailLinks) -> bool:
    """Returns whether all prices on the page are in the cards of links to detail pages, so that the page
    itself has no price."""
    cards = {_card(link.node) for link in view.css(details.selector)}
    for element in view.css("p, span, div, b, strong, td, ins, bdi").xpath("self::*[not(*)]")[:2000]:
        text = element.text
        if (
            len(text) > 30
            or not re.search(r"\d", text)
            or (found := price(text)) is None
            or not found.currency
        ):
            continue
        node = element.node
        while node is not None and node not in cards:
            node = node.parent
        if node is None:
            return False
    return True


def fields_of(view: PageView, kind: str) -> list[Field]:
    """Returns the fields that have a value on the page. If several candidates have the same name, the first
    candidate with a value is used."""
    found: dict[str, Field] = {}
    for field, value in _candidates(view, kind):
        if field.name not in found and value not in (None, "", [], {}):
            found[field.name] = field
    return list(found.values()) or [TITLE]


def _candidates(view: PageView, kind: str) -> Iterable[tuple[Field, Any]]:
    """Yields candidates for fields, each with its value on this page."""
    text = "str | None"
    yield _xpath("title", "//h1", view)
    yield Field("title", text, "page.title"), view.title
    if kind == "product":
        product = view.product
        for name, sort in PRODUCT_FIELDS:
            yield Field(name, sort, f'page.product["{name}"]'), product.get(name)
    if kind == "article":
        yield Field("published", text, "page.dates.published"), view.dates.published
        yield Field("modified", text, "page.dates.modified"), view.dates.modified
        for name in ("author", "article:author"):
            yield _meta("author", name, view)
        yield _css("author", '[rel~="author"]::text, [itemprop~="author"]::text', view)
    for name in ("description", "og:description"):
        yield _meta("description", name, view)
    yield _meta("image", "og:image", view)
    if kind == "article":
        yield Field("text", "str", "page.main_text"), view.main_text
    if kind in ("product", "page"):
        yield from _tables(view)
    if kind == "page":
        headings = [one.text for one in view.css("h2")]
        yield Field("headings", "list[str]", '[one.text for one in page.css("h2")]'), headings


PRODUCT_FIELDS: Final = (
    ("price", "Decimal | None"),
    ("currency", "str | None"),
    ("availability", "str | None"),
    ("sku", "str | None"),
    ("gtin", "str | None"),
    ("brand", "str | None"),
)


def _xpath(name: str, query: str, view: PageView) -> tuple[Field, Any]:
    expression = f"normalize-space({query})"
    value = view.xpath(expression).get()
    return Field(name, "str | None", f'page.xpath("{expression}").get() or None'), value


def _css(name: str, query: str, view: PageView) -> tuple[Field, Any]:
    return Field(name, "str | None", f"page.css({query!r}).get()"), (view.css(query).get() or "").strip()


def _meta(name: str, key: str, view: PageView) -> tuple[Field, Any]:
    attribute = "property" if ":" in key else "name"
    return _css(name, f'meta[{attribute}="{key}"]::attr(content)', view)


def _tables(view: PageView) -> Iterable[tuple[Field, Any]]:
    """Yields a field for each table that lists names and values, and a field for the largest table of
    records."""
    for number, table in enumerate(view.tables[:20]):
        if not table.head and len(table.rows) > 1 and all(len(row) == 2 and row[0] for row in table.rows):
            pairs = f"for table in page.tables[{number}:{number + 1}] for row in table.rows if len(row) == 2"
            yield Field("details", "dict[str, str]", f"{{row[0]: row[1] {pairs}}}"), table.rows
    largest = _data_table(view)
    if largest is not None:
        records = f"[row for table in page.tables[{largest}:{largest + 1}] for row in table.records()]"
        yield Field("table", "list[dict[str, str]]", records), view.tables[largest].rows


def _data_table(view: PageView) -> int | None:
    """Returns the index of the table of records that has the most rows, or None if the page has none."""
    sizes = [
        (len(table.rows), -number)
        for number, table in enumerate(view.tables)
        if len(table.head) > 1 and len(table.rows) > 1
    ]
    return -max(sizes)[1] if sizes else None


def column_names(head: Sequence[str]) -> list[str]:
    """Converts the headings of a table's columns to field names. All field names are different.

    >>> column_names(["City", "Area (km²)", "", "city"])
    ['city', 'area_km', 'column_3', 'city_4']
    """
    found: list[str] = []
    for number, title in enumerate(head, 1):
        word = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:40]
        if not word[:1].isalpha() or keyword.iskeyword(word):
            word = f"column_{number}"
        found.append(word if word not in found else f"{word}_{number}")
    return found


def detail_links(view: PageView) -> DetailLinks | None:
    """Returns the links from a listing to its detail pages, or None. Links are grouped by their place on the
    page. The result is the group that looks most like content, with headings, images, prices and long
    texts."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for link in view.css("a[href]")[:MAX_LINKS]:
        if _leads_on(view, link.attrib["href"]) and "nofollow" not in link.attrib.get("rel", "").split():
            groups.setdefault(tuple(_path(link.node)), []).append(link.node)
    ranked = sorted(
        ((_score(view, nodes), number, path) for number, (path, nodes) in enumerate(groups.items())),
        reverse=True,
    )
    for score, _, path in ranked[:5]:
        if score < 1:
            break
        found = _targets(view, groups[path])
        selector = _selector(view, path, found)
        if selector:
            return DetailLinks(selector, found, _pattern(view, found))
    return None


def _leads_on(view: PageView, href: str) -> bool:
    """Returns whether a link leads to another page of the same host."""
    target = view.document.base.resolve(href) if href else None
    return (
        target is not None
        and urls.host(target) == urls.host(view.url)
        and urls.key(target) != urls.key(view.url)
    )


def _targets(view: PageView, nodes: Sequence[Any]) -> list[str]:
    """Returns the distinct URLs of links."""
    base = view.document.base
    found = [base.resolve(attribute_of(node, "href")) for node in nodes]
    return list(dict.fromkeys(one for one in found if one))


def _path(node: Any) -> list[str]:
    """Returns the position of a link on the page, as a list of CSS selectors. The list has one selector for
    the link, and one selector for each of up to three elements above the link."""
    found: list[str] = []
    while node is not None and len(found) < 4 and getattr(node, "tag", "") not in ("", "body", "html"):
        found.append(_element(node))
        node = node.parent
    return found


def _element(node: Any) -> str:
    """Returns a selector for an element. The selector consists of the tag and the first class that has only
    letters and hyphens. Classes with digits are ignored, because they are often generated by programs."""
    tag = str(node.tag) if _WORD.fullmatch(str(node.tag)) or len(str(node.tag)) < 3 else "*"
    for word in attribute_of(node, "class").split():
        if _WORD.fullmatch(word):
            return f"{tag}.{word}"
    return tag if tag.isalnum() else "*"


def _card(node: Any) -> Any:
    """Returns the card of a link on a listing: the highest element above the link that does not contain a
    link to a different page."""
    best, target = node, attribute_of(node, "href")
    above = node.parent
    for _ in range(6):
        if above is None or getattr(above, "tag", "") in ("", "body", "html"):
            break
        if any(attribute_of(one, "href") != target for one in above.select("a[href]")[:20]):
            break
        best, above = above, above.parent
    return best


def _score(view: PageView, nodes: list[Any]) -> float:
    """Returns a score for a group of links. The score is high if the links look like links to detail pages.
    If the score is below 1, the links do not look like links to detail pages."""
    found = _targets(view, nodes)
    if len(found) < MIN_LINKS:
        return 0.0
    sample = nodes[:10]
    texts = [" ".join(node.text.split()) for node in sample]
    cards = [_card(node) for node in sample]
    length = sum(map(len, texts)) / len(texts)
    score = min(len(found), 30) / 5 * min(max(length, 4), 60) / 20
    if any(_above(node, lambda one: one.tag in ("h1", "h2", "h3", "h4", "h5")) for node in sample) or any(
        node.select("h1, h2, h3, h4, h5") for node in sample
    ):
        score *= 3
    if sum(bool(card.select("img")) for card in cards) > len(cards) / 2:
        score *= 2
    if sum(_has_price(card.text) for card in cards) > len(cards) / 2:
        score *= 3
    if _above(nodes[0], lambda one: one.tag in ("nav", "aside", "footer", "header") or _is_beside(one)):
        score *= 0.05
    return score


def _has_price(text: str) -> bool:
    if len(text) > 2000 or not any(letter.isdigit() for letter in text):
        return False
    found = price(text[:500])
    return found is not None and found.currency is not None


def _is_beside(node: Any) -> bool:
    return bool(
        _BESIDE.search(
            f"{attribute_of(node, 'class')} {attribute_of(node, 'id')} {attribute_of(node, 'role')}"
        )
    )


def _above(node: Any, matches: Callable[[Any], bool]) -> bool:
    """Returns whether `matches` is true for any ancestor of a node. `body` and its ancestors are not
    tested."""
    node = node.parent
    while node is not None and getattr(node, "tag", "") not in ("", "body", "html"):
        if matches(node):
            return True
        node = node.parent
    return False


def _selector(view: PageView, path: tuple[str, ...], wanted: list[str]) -> str:
    """Returns the shortest selector that matches all wanted links and few other links. The number of other
    links is at most 10 % of the number of wanted links. Returns '' if there is no such selector."""
    link, *above = path
    candidates = [link] if "." in link else []
    candidates += [f"{one} {link}" for one in above]
    candidates += [f"{high} {low} {link}" for at, low in enumerate(above) for high in above[at + 1 :]]
    candidates += [" > ".join(reversed(path))]
    for query in sorted(candidates, key=lambda query: (query.count(" "), "." not in query)):
        found = _targets(
            view, [one.node for one in view.css(query) if _leads_on(view, one.attrib.get("href", ""))]
        )
        if set(wanted) <= set(found) and len(found) <= len(wanted) * 1.1:
            return query
    return ""


def _pattern(view: PageView, targets: list[str]) -> str:
    """Returns a regular expression that matches the path and query of each URL in `targets`. Returns '' if
    the expression would also match the page itself, or if it would match more than two other links of the
    page."""
    paths = [urlsplit(one).path.split("/") for one in targets]
    same = [
        re.escape(column[0]).replace("\\-", "-") if len(set(column)) == 1 else "[^/]+"
        for column in zip(*paths, strict=False)
    ]
    if len({len(path) for path in paths}) == 1:
        end = r"(?:\?|$)" if any("?" in one for one in targets) else "$"
    else:
        same = same[: same.index("[^/]+")] if "[^/]+" in same else same
        end = "/.+"
    pattern = f"^{'/'.join(same)}{end}"
    others = set(_targets(view, [one.node for one in view.css("a[href]")])) - set(targets)
    beside = sum(bool(re.search(pattern, _path_and_query(one))) for one in others)
    return "" if re.search(pattern, _path_and_query(view.url)) or beside > 2 else pattern


def _path_and_query(url: str) -> str:
    return f"/{url.partition('://')[2].partition('/')[2]}"


def next_page(view: PageView) -> str:
    """Returns the selector for the link to the next page, or ''."""
    for query in ('a[rel~="next"]', 'link[rel~="next"]', "li.next a", "a.next", "a.next-page", ".next > a"):
        if any(_leads_on(view, one.attrib.get("href", "")) for one in view.css(query)):
            return query
    for link in view.css("a[href]")[:MAX_LINKS]:
        for name, said in (
            ("aria-label", link.attrib.get("aria-label", "")),
            ("title", link.attrib.get("title", "")),
        ):
            if _says_next(said) and _NEXT_WORD.fullmatch(said) and _leads_on(view, link.attrib["href"]):
                return f"a[{name}={json.dumps(said)}]"
        if _says_next(link.text) and _leads_on(view, link.attrib["href"]):
            word = _NEXT_WORD.match(link.text)
            if word:
                return f"a:contains({json.dumps(word[0].strip())})"
    for query in (".pagination a", ".pager a", ".page-numbers a", "a.page-numbers"):
        if any(_leads_on(view, one.attrib.get("href", "")) for one in view.css(query)):
            return query
    return ""


def _says_next(text: str) -> bool:
    text = text.strip()
    return bool(text) and len(text) < 25 and _NEXT.fullmatch(text) is not None
