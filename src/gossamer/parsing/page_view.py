"""The page object that a site function receives. It offers selectors, JSON, prices and other parsed content,
and creates requests for further pages. It does no I/O."""

from __future__ import annotations

import json as _json
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from functools import partial
from re import Pattern
from typing import TYPE_CHECKING, Any

import xxhash

from gossamer.config.value_parsers import RUNGS, label, one_of
from gossamer.model import proxy
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.page import Captured, Page
from gossamer.model.request import Request, check_key, with_json
from gossamer.parsing import pdf
from gossamer.parsing.encodings import decode
from gossamer.parsing.html import Document, once, parse
from gossamer.parsing.links import link_target
from gossamer.parsing.page_cost import limited_memory, may_explode
from gossamer.parsing.selectors import Selection, Selector, pick

if TYPE_CHECKING:
    from gossamer.parsing.forms import Form
    from gossamer.parsing.pagedates import Dates
    from gossamer.parsing.products import ProductPage
    from gossamer.parsing.tables import Table

NEEDS = (
    "use",
    "carry",
    "priority",
    "method",
    "headers",
    "body",
    "id",
    "country",
    "region",
    "proxy",
    "rung",
    "key",
)
"""The options that a request can have besides its URL."""
MAX_CARRY_BYTES = 4096
"""Maximum size of a request's `carry` value, in bytes of JSON."""
MAX_COUNTERS = 100
"""Maximum number of counters to which one page may add."""
_COUNTER = lazy_pattern(r"[\w./ -]{1,80}")
_REPEATED = ("method", "body", "use", "carry")
"""Options that distinguish two requests. Two requests of a page for the same URL count as different if one of
the options in `_REPEATED` differs."""
_ADDRESS = lazy_pattern(
    r"""\.\.?$|https?:|[^\["'(]*[/?%&]|[^\s.\["'(][^\s\["'(]*\.(?:html?|php|aspx?|jsp)$""", re.IGNORECASE
)
"""Matches texts that look like a URL and cannot be a CSS selector."""


class PageView:
    """A page in the form that a site function receives. `document` is the page's tree, if it has already been
    parsed."""

    def __init__(self, page: Page, document: Document | None = None, request: Request | None = None) -> None:
        self.page = page
        self.request_ = request or Request(page.url)
        self.shut: set[str] = set()
        """Links that were not followed because the link or the page has nofollow."""
        self.too_long: set[str] = set()
        """Links that were not followed because their URL is longer than MAX_URL."""
        self._document = document
        self._text: str | None = None
        self.counted: dict[str, int] = {}
        """Maps the name of each counter to the amount that the page's functions and steps added to the
        counter."""
        self._repeats: dict[str, int] = {}
        """Maps each request to the number of times that the page function repeated the request
        (`again=True`)."""

    def __repr__(self) -> str:
        return f"<PageView {self.status} {self.url}>"

    @property
    def document(self) -> Document:
        """The parsed page, or an empty document if the page is not HTML. Raises ValueError if the tree would
        take too much memory."""
        if self._document is None:
            page = self.page
            with limited_memory(page.body) if may_explode(page.body) else nullcontext():
                robots, refresh = page.header("x-robots-tag"), page.header("refresh")
                self._document = parse(page.body, page.read_as, page.url, robots, refresh_header=refresh)
        return self._document

    @property
    def url(self) -> str:
        """The page's URL."""
        return self.page.url

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self.page.status

    @property
    def block(self) -> str | None:
        """The vendor, kind and signs of a block, as `VENDOR KIND (SIGN; SIGN)`. None if the response is a
        regular page."""
        return self.page.block

    @property
    def headers(self) -> dict[str, str]:
        """The response headers with names in lower case. If a header is repeated, its last value is used."""
        return dict(self.page.headers)

    @property
    def body(self) -> bytes:
        """The response body in bytes, with its content coding decoded."""
        return self.page.body

    @property
    def text(self) -> str:
        """The body as text, decoded as in a browser. For a PDF, the text of its pages."""
        if self._text is None and pdf.is_pdf(self.page.body):
            self._text = pdf.text(self.page.body) if self.page.text is None else self.page.text
        if self._text is None:
            self._text = decode(self.page.body, self.page.read_as)
        return self._text

    @property
    def captured(self) -> tuple[Captured, ...]:
        """The responses that the page's scripts received in a browser (`capture` of `render=`). Each response
        has `url`, `status`, `content_type`, `body` and `json()`."""
        return self.page.captured

    @property
    def screenshot(self) -> str | None:
        """The path of the screenshot of the page (`screenshot` of `render=`), or None."""
        return self.page.screenshot

    @property
    def title(self) -> str | None:
        """The page's title with white space normalized, or None."""
        return self.document.title

    @property
    def language(self) -> str | None:
        """The language that the page declares, or None."""
        return self.document.language

    @once
    def structured(self) -> dict[str, Any]:
        """The structured data of the page: `json_ld microdata opengraph rdfa`
        (`gossamer.parsing.structured`)."""
        from gossamer.parsing import structured

        return structured.of(self.document)

    @once
    def product_page(self) -> ProductPage:
        """The data of the page's product: `record offers variants candidates decision unit_price list_price`
        (`gossamer.parsing.products`)."""
        from gossamer.parsing.products import ProductPage

        return ProductPage(self.document, self.structured)

    @once
    def product(self) -> dict[str, Any]:
        """The product that the page is about: `name price currency sku gtin brand availability`. A value that
        the page does not contain is None."""
        return self.product_page.record

    @once
    def embedded(self) -> dict[str, Any]:
        """The objects and lists in the page's scripts, by variable name (`gossamer.parsing.embedded`)."""
        from gossamer.parsing import embedded

        return embedded.of(self.document.tree)

    @once
    def dates(self) -> Dates:
        """The dates on which the page was `published` and `modified`, in ISO 8601 or None
        (`gossamer.parsing.pagedates`)."""
        from gossamer.parsing import pagedates

        return pagedates.of(self.document)

    @once
    def tables(self) -> list[Table]:
        """The tables of the page. Each table has `caption`, `head`, `rows` and `records()`
        (`gossamer.parsing.tables`)."""
        from gossamer.parsing import tables

        return tables.of(self.document.tree)

    @once
    def main_text(self) -> str:
        """The text of the page's article, without navigation and other boilerplate
        (`gossamer.parsing.text.main_text`, quality `fast`)."""
        from gossamer.parsing.text import text_of

        return text_of(self.document.tree, self.page.body, self.page.url)

    @once
    def markdown(self) -> str:
        """The page's article as Markdown, with its heading and absolute links."""
        from gossamer.parsing.text import markdown

        return markdown(self.page.body, self.page.url, self.page.read_as)

    @property
    def depth(self) -> int:
        """The number of links from a seed to this page."""
        return self.request_.depth

    @property
    def carry(self) -> Any:
        """The `carry` value of the request for this page (`follow(..., carry=...)`)."""
        return self.request_.carry

    def css(self, query: str) -> Selection:
        """Selects elements with CSS. `::text` returns their texts, and `::attr(name)` returns the values of
        an attribute. Raises ValueError for an invalid selector."""
        return Selector(self.document.tree).css(query)

    def xpath(self, query: str, **variables: Any) -> Selection:
        """Evaluates an XPath 1.0 expression. Each keyword argument `name` sets the variable `$name` of the
        expression. Raises ValueError for an invalid expression."""
        return Selector(self.document.tree).xpath(query, **variables)

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """Returns all matches of a regular expression in the text of the body, including the text of
        scripts."""
        return Selector(self.text).re(pattern)

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """Returns the first result of `re`, or `default` if there is none."""
        return Selector(self.text).re_first(pattern, default)

    def json(self, path: str | None = None, text: str | None = None) -> Any:
        """Returns the body (or `text`) parsed as JSON, or the value at a path such as `data.items[0].name` or
        `items[*].id`.

        Returns None if there is nothing at the path, and a list if the path contains `[*]`. Raises ValueError
        for invalid JSON and for a malformed path.
        """
        try:
            found = _json.loads(self.text if text is None else text)
        except RecursionError:
            raise ValueError("the JSON is nested too deep") from None
        except ValueError as error:
            raise ValueError(f"{'the page' if text is None else 'the text'} is not JSON: {error}") from None
        return found if path is None else pick(found, path)

    def price(self, query: str) -> Decimal | None:
        """Returns the amount of the first price in the elements that a CSS selector finds, or None."""
        return Selector(self.document.tree).price(query)

    def urljoin(self, url: str) -> str:
        """Returns a URL made absolute against the page's base URL. Raises ValueError if the result is not an
        http(s) URL."""
        resolved = self.document.base.resolve(url)
        if resolved is None:
            raise ValueError(f"{url!r} is not an http(s) URL")
        return resolved

    def count(self, name: str, n: int = 1) -> None:
        """Adds `n` to a counter of the crawl, which the crawl's summary shows. A page that is read again
        after a crash is counted once. Raises ValueError if the name is longer than 80 characters, or if the
        page already has MAX_COUNTERS other names."""
        if not _COUNTER.fullmatch(str(name)) or str(name) != name:
            raise ValueError(f"count({name!r}): a name has 1 to 80 letters, digits, spaces and _ - . /")
        if not isinstance(n, int):
            raise TypeError(f"count({name!r}, {n!r}): add a whole number")
        if name not in self.counted and len(self.counted) >= MAX_COUNTERS:
            raise ValueError(
                f"count({name!r}): a page has at most {MAX_COUNTERS} counters: use few fixed names"
            )
        self.counted[name] = self.counted.get(name, 0) + n

    @property
    def request(self) -> RequestMaker:
        """`page.request(url)` returns a new request. `page.request.id` and `page.request.added_at` are those
        of the request that fetched this page."""
        return RequestMaker(self)

    def form(self, selector: str | None = None) -> Form:
        """Returns the first form that a CSS selector finds. If there is no selector, returns the form with a
        password field, or else the page's only form.

        `page.form("#search").fill(q="tea")` returns the request that a browser would make, including hidden
        fields and tokens (`gossamer.parsing.forms`). Raises ValueError (FormError) if there is no such form.
        """
        from gossamer.parsing import forms

        make = partial(_sent, self)
        return forms.find_form(self.document, self.page.body, self.page.read_as, selector, make)

    def follow(
        self, what: str | Selector | Selection | Iterable[str | Selector] | None, **needs: Any
    ) -> Iterator[Request]:
        """Yields requests for links. `what` is a CSS selector (`"article h3 a, li.next a"`), a URL, or a list
        of selected elements and URLs. If `what` is None, nothing is yielded.

        Links that are not http(s) URLs are skipped. Links with nofollow are skipped and counted. If the page
        has nofollow, all its links are skipped and counted. `request` ignores nofollow. `needs` are the
        options of each request, as in `request`. Raises ValueError for an element that is not a link.
        """
        found: Iterable[Selector | str]
        if isinstance(what, Selector):
            found = (what,)
        elif isinstance(what, str):
            found = _chosen(self, what)
        else:
            found = what or ()
        closed, base = "nofollow" in self.document.robots, self.document.base
        for one in found:
            href, shut = link_target(one)
            resolved = base.resolve(href) if href else None
            if resolved is None or href is None:
                if href and base.is_too_long(href):
                    self.too_long.add(href)
                continue
            if closed or shut:
                self.shut.add(href)
            else:
                yield _request(self, resolved, dict(needs))


class RequestMaker:
    """Makes new requests. The attribute `page.request` of a page is a RequestMaker. The attributes `id` and
    `added_at` are those of the request that fetched the page."""

    __slots__ = ("_view",)

    def __init__(self, view: PageView) -> None:
        self._view = view

    def __call__(self, url: str, *, json: Any = None, **needs: Any) -> Request:
        """Returns a request for a URL, which may be relative to the page's base URL. `needs` are the
        request's options: use, carry, priority, method, headers, body and the others in NEEDS.

        `json`: a value that is sent as JSON. If `json` is given and `method` is not, the method is POST.
        `again=True`: the request is made even if the crawl has visited the URL. `key`: identifies the request
        among all requests to its host. Without `key`, the URL identifies the request. Raises ValueError for a
        value that JSON cannot express."""
        if json is not None:
            needs = with_json(needs, json)
        return _request(self._view, self._view.urljoin(url), needs)

    @property
    def id(self) -> str | None:
        """The id of the request that fetched the page, or None."""
        return self._view.request_.id

    @property
    def added_at(self) -> float | None:
        """When the request that fetched the page was added, in seconds since the epoch, or None."""
        return self._view.request_.added_at

    @property
    def is_redirected_for_now(self) -> bool:
        """Whether one of the redirects that led to this page was temporary (302, 303 or 307). Only set for a
        request with a `key`."""
        return bool(self._view.request_.temporary)


def _sent(view: PageView, url: str, **needs: Any) -> Request:
    """Returns the request that submits a form."""
    return _request(view, url, {name: value for name, value in needs.items() if value is not None})


def _chosen(view: PageView, text: str) -> Iterable[Selector | str]:
    """Returns the elements that a selector finds. If the text looks like a URL, or equals the `href` of a
    link on the page, returns the text itself."""
    if _ADDRESS.match(text):
        return (text,)
    try:
        found, wrong = view.css(text), None
    except ValueError as error:
        found, wrong = Selection([]), error
    if not found and any(one.attrib["href"] == text for one in view.css("a[href]")):
        return (text,)
    if wrong:
        raise wrong
    return found


def _request(view: PageView, resolved: str, needs: dict[str, Any]) -> Request:
    again = needs.pop("again", False)
    if unknown := needs.keys() - NEEDS:
        raise TypeError(f"a request has no {unknown.pop()}=: there are {', '.join(NEEDS)}, again")
    if needs.get("carry") is not None and len(_json.dumps(needs["carry"]).encode()) > MAX_CARRY_BYTES:
        raise ValueError(f"carry is larger than {MAX_CARRY_BYTES} bytes")
    if needs.get("region") is not None:
        label(needs["region"])
    if needs.get("rung") is not None:
        one_of(RUNGS, needs["rung"])
    if needs.get("proxy") is not None:
        proxy.kind(needs["proxy"])
    if needs.get("country") is not None:
        needs["country"] = proxy.country(needs["country"])
    if not isinstance(needs.get("body"), str | None):
        raise TypeError("body= is a text: json.dumps(...) or urllib.parse.urlencode(...) makes one")
    if "method" in needs:
        needs["method"] = needs["method"].upper()
    use = needs.get("use")
    if use is not None and (not isinstance(use, str) or use.startswith("@")):
        raise ValueError(f"use={use!r}: name a page function")
    if needs.get("key") is not None:
        check_key(needs["key"])
        if again:
            raise ValueError("give again= or key=, not both")
    needs.setdefault("priority", view.request_.priority)
    if again:
        needs["key"] = _repeat_key(view, resolved, needs)
    return Request(resolved, depth=view.depth + 1, referrer=view.url, **needs)


def _repeat_key(view: PageView, url: str, needs: dict[str, Any]) -> str:
    """Returns a key for a request with `again=True`. A request with `again=True` is made even if the crawl
    has visited the URL. The key is derived from the page and the request. If the page is read again, for
    example after a crash, the requests get the same keys, so no request is made twice.
    """
    page = view.request_
    parts = (page.key or f"{page.method} {page.url} {page.body}", url, *map(needs.get, _REPEATED))
    content = _json.dumps(parts, sort_keys=True)
    number = view._repeats[content] = view._repeats.get(content, 0) + 1
    return f"@{xxhash.xxh3_128_hexdigest(f'{content} {number}'.encode())}"
