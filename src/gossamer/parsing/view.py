"""What a site function sees of a page: selectors, JSON, prices, and the words to ask for more pages. No I/O."""

from __future__ import annotations

import json as _json
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from decimal import Decimal
from functools import partial
from re import Pattern
from typing import TYPE_CHECKING, Any

from gossamer.config.value_parsers import RUNGS, label, one_of
from gossamer.model import proxy
from gossamer.model.page import Captured, Page
from gossamer.model.request import Request
from gossamer.parsing import pdf
from gossamer.parsing.encodings import decode
from gossamer.parsing.html import Document, once, parse
from gossamer.parsing.limits import limited_memory, may_explode
from gossamer.parsing.links import address
from gossamer.parsing.selectors import Selection, Selector, pick

if TYPE_CHECKING:
    from gossamer.parsing.forms import Form
    from gossamer.parsing.pagedates import Dates
    from gossamer.parsing.tables import Table

NEEDS = ("use", "carry", "priority", "method", "headers", "body", "id", "country", "region", "proxy", "rung")
"""What a request may have beside its URL."""
CARRY = 4096
"""Most bytes of what a request carries, as JSON."""
_ADDRESS = re.compile(
    r"""\.\.?$|https?:|[^\["'(]*[/?%&]|[^\s.\["'(][^\s\["'(]*\.(?:html?|php|aspx?|jsp)$""", re.IGNORECASE
)
"""What URLs have and selectors do not."""


class View:
    """A page as a site function sees it. `document` is the page's tree when it was parsed already."""

    def __init__(self, page: Page, document: Document | None = None, request: Request | None = None) -> None:
        self.page = page
        self.request_ = request or Request(page.url)
        self.shut: set[str] = set()
        """Links that were not followed because they or their page say nofollow."""
        self.too_long: set[str] = set()
        """Links that were not followed because their URL is longer than MAX_URL."""
        self._document = document
        self._text: str | None = None

    @property
    def document(self) -> Document:
        """The parsed page; what is no HTML is an empty one. Raises ValueError when its tree would take too
        much memory."""
        if self._document is None:
            page = self.page
            with limited_memory(page.body) if may_explode(page.body) else nullcontext():
                self._document = parse(page.body, page.content_type, page.url, page.header("x-robots-tag"))
        return self._document

    @property
    def url(self) -> str:
        """The page's URL."""
        return self.page.url

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.page.status

    @property
    def block(self) -> str | None:
        """What shuts us out, as `VENDOR KIND (SIGN; SIGN)`, None for a page."""
        return self.page.block

    @property
    def headers(self) -> dict[str, str]:
        """The response headers, names in lower case, the last of equal ones."""
        return dict(self.page.headers)

    @property
    def body(self) -> bytes:
        """The bytes of the page, content-coding undone."""
        return self.page.body

    @property
    def text(self) -> str:
        """The body as text, decoded as browsers do; of a PDF the text on its pages."""
        if self._text is None and pdf.is_pdf(self.page.body):
            self._text = pdf.text(self.page.body) if self.page.text is None else self.page.text
        if self._text is None:
            self._text = decode(self.page.body, self.page.content_type)
        return self._text

    @property
    def captured(self) -> tuple[Captured, ...]:
        """Answers that the page's scripts got in a browser (`capture` of `render=`): `url status content_type
        body`, `json()`."""
        return self.page.captured

    @property
    def screenshot(self) -> str | None:
        """The path of the page's picture (`screenshot` of `render=`)."""
        return self.page.screenshot

    @property
    def title(self) -> str | None:
        """The title, blanks folded."""
        return self.document.title

    @property
    def language(self) -> str | None:
        """The declared language."""
        return self.document.language

    @once
    def structured(self) -> dict[str, Any]:
        """What the page says for machines: `json_ld microdata opengraph rdfa`
        (`gossamer.parsing.structured`)."""
        from gossamer.parsing import structured

        return structured.of(self.document)

    @once
    def product(self) -> dict[str, Any]:
        """The product that the page is about: `name price currency sku gtin brand availability`, None where
        it does not tell."""
        from gossamer.parsing import products

        return products.of(self.document, self.structured)

    @once
    def embedded(self) -> dict[str, Any]:
        """The objects and lists that the page's scripts have, by name (`gossamer.parsing.embedded`)."""
        from gossamer.parsing import embedded

        return embedded.of(self.document.tree)

    @once
    def dates(self) -> Dates:
        """When the page was `published` and `modified`, ISO 8601 or None (`gossamer.parsing.pagedates`)."""
        from gossamer.parsing import pagedates

        return pagedates.of(self.document)

    @once
    def tables(self) -> list[Table]:
        """The tables of the page: `caption`, `head`, `rows`, `records()` (`gossamer.parsing.tables`)."""
        from gossamer.parsing import tables

        return tables.of(self.document.tree)

    @once
    def main_text(self) -> str:
        """The text of the page's article, without navigation and the like (`gossamer.parsing.text.main_text`,
        fast)."""
        from gossamer.parsing.text import text_of

        return text_of(self.document.tree, self.page.body, self.page.url)

    @once
    def markdown(self) -> str:
        """The page's article as Markdown, with its heading and absolute links."""
        from gossamer.parsing.text import markdown

        return markdown(self.page.body, self.page.url, self.page.content_type)

    @property
    def depth(self) -> int:
        """Links away from a seed."""
        return self.request_.depth

    @property
    def carry(self) -> Any:
        """What the request carried (`follow(..., carry=...)`)."""
        return self.request_.carry

    def css(self, query: str) -> Selection:
        """What a CSS selector finds; `::text` gives texts, `::attr(name)` attribute values."""
        return Selector(self.document.tree).css(query)

    def xpath(self, query: str, **variables: Any) -> Selection:
        """What an XPath 1.0 expression gives; `$name` in it is a variable."""
        return Selector(self.document.tree).xpath(query, **variables)

    def re(self, pattern: str | Pattern[str]) -> list[str]:
        """What a regular expression finds in the text of the body (embedded data in scripts, too)."""
        return Selector(self.text).re(pattern)

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """The first of `re`."""
        return Selector(self.text).re_first(pattern, default)

    def json(self, path: str | None = None, text: str | None = None) -> Any:
        """The body (or `text`) as JSON, or what lies at a path such as `data.items[0].name` or `items[*].id`.

        What is not there is None; `[*]` gives a list. Raises ValueError when it is no JSON, or no path.
        """
        try:
            found = _json.loads(self.text if text is None else text)
        except RecursionError:
            raise ValueError("the JSON is nested too deep") from None
        except ValueError as error:
            raise ValueError(f"{'the page' if text is None else 'the text'} is no JSON: {error}") from None
        return found if path is None else pick(found, path)

    def price(self, query: str) -> Decimal | None:
        """The amount of the first price in what a CSS selector finds, None when there is none."""
        return Selector(self.document.tree).price(query)

    def urljoin(self, url: str) -> str:
        """A URL made absolute against the page's base. Raises ValueError when it is no http(s) URL."""
        resolved = self.document.base.resolve(url)
        if resolved is None:
            raise ValueError(f"{url!r} is no http(s) URL")
        return resolved

    def request(self, url: str, **needs: Any) -> Request:
        """A request for a URL (relative to the page's base) with what it needs: use, carry, priority, method,
        headers, body."""
        return _request(self, self.urljoin(url), needs)

    def form(self, selector: str | None = None) -> Form:
        """The first form that a CSS selector finds; without one the form that asks for a password, else the
        only one.

        `page.form("#search").fill(q="tea")` is the request that a browser would make, hidden fields and
        tokens with it (`gossamer.parsing.forms`). Raises ValueError (FormError) when there is none.
        """
        from gossamer.parsing import forms

        make = partial(_sent, self)
        return forms.find(self.document, self.page.body, self.page.content_type, selector, make)

    def follow(
        self, what: str | Selector | Selection | Iterable[str | Selector] | None, **needs: Any
    ) -> Iterator[Request]:
        """Requests for links: those a CSS selector finds (`"article h3 a, li.next a"`), or what is given:
        URLs, selected things.

        None gives none. What is no http(s) URL is left out, and so are links that say nofollow, or whose page
        does: they are counted (`request` takes any). Raises ValueError for an element that is no link.
        `needs` as in `request`.
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
            href, shut = address(one)
            resolved = base.resolve(href) if href else None
            if resolved is None or href is None:
                if href and base.is_too_long(href):
                    self.too_long.add(href)
                continue
            if closed or shut:
                self.shut.add(href)
            else:
                yield _request(self, resolved, dict(needs))


def _sent(view: View, url: str, **needs: Any) -> Request:
    """The request of a form."""
    return _request(view, url, {name: value for name, value in needs.items() if value is not None})


def _chosen(view: View, text: str) -> Iterable[Selector | str]:
    """What a selector finds, or the text itself when it is an address: by its form, or as a link on the page
    has it."""
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


def _request(view: View, resolved: str, needs: dict[str, Any]) -> Request:
    if unknown := needs.keys() - NEEDS:
        raise TypeError(f"a request has no {unknown.pop()}=: there are {', '.join(NEEDS)}")
    if needs.get("carry") is not None and len(_json.dumps(needs["carry"]).encode()) > CARRY:
        raise ValueError(f"carry is larger than {CARRY} bytes")
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
    needs.setdefault("priority", view.request_.priority)
    return Request(resolved, depth=view.depth + 1, referrer=view.url, **needs)
