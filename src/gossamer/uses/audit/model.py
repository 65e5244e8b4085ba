"""The values of an audit: what is known of a page, its links, and a finding."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
import xxhash

import gossamer


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Visitors or search engines cannot use the page or the link."""
    WARNING = "warning"
    """The page works, but is probably not found or shown as intended."""
    NOTICE = "notice"
    """Worth a look."""
    INFO = "info"
    """No fault: something to know. Not counted."""


class PageLink(msgspec.Struct, array_like=True):
    """A link or an embedded file of a page."""

    url: str
    """The absolute URL without fragment."""
    kind: str
    """The element: a, area, iframe, frame, form, img, script, stylesheet, media, refresh (a meta refresh), or
    the relation of a `link` element: next, prev, alternate."""
    text: str = ""
    """The visible text of the link, or the `alt` text of its image. At most 100 characters."""
    nofollow: bool = False
    fragment: str = ""


class ImageFacts(msgspec.Struct, omit_defaults=True):
    """The images of a page. URLs are as written in the page, at most 20 of a kind."""

    count: int = 0
    without_alt: list[str] = []
    long_alt: list[str] = []
    without_size: list[str] = []
    empty_pictures: int = 0
    """`picture` elements without an `img`."""


class PageFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What an audit knows of one page from its response. Lists are in page order."""

    url: str
    status: int = 200
    content_type: str = ""
    is_html: bool = False
    size: int = 0
    """Bytes of the decoded body."""
    titles: list[str] = []
    descriptions: list[str] = []
    h1s: list[str] = []
    headings: list[int] = []
    """The levels of the headings, at most 300."""
    canonicals: list[str] = []
    """The href of each `link rel=canonical` in the head, as written."""
    header_canonicals: list[str] = []
    """The canonical URLs of Link headers, as written."""
    body_canonicals: int = 0
    """`link rel=canonical` elements outside the head."""
    canonical: str = ""
    """The absolute URL of the canonical that applies: of the page, or else of the header."""
    header_canonical: str = ""
    """The absolute URL of the canonical in the header."""
    robots: list[str] = []
    """The directives of robots meta elements, in lower case."""
    header_robots: list[str] = []
    """The directives of X-Robots-Tag headers, in lower case."""
    hreflangs: list[tuple[str, str, str]] = []
    """Language versions: the code, the URL as written, the absolute URL."""
    language: str = ""
    """The `lang` attribute as written."""
    detected_language: str = ""
    """The language of the text. Empty if it is not certain, or if the extra `text` is not installed."""
    words: int = 0
    text_hash: str = ""
    main_hash: str = ""
    """A hash of the text without navigation and other boilerplate."""
    is_lorem: bool = False
    refresh: str = ""
    """The absolute URL of a meta refresh."""
    images: ImageFacts = msgspec.field(default_factory=ImageFacts)
    structured_errors: list[str] = []
    """JSON-LD that does not parse: the reason and the beginning of the script."""
    structured_gaps: list[str] = []
    """Properties that Google requires and that are missing, such as `Product: offers, review or ...`."""
    structured_bad: list[str] = []
    """Values of a wrong type."""
    contradictions: list[str] = []
    """What the structured data says and the page shows otherwise."""
    blocking_scripts: list[str] = []
    """The src of scripts in the head that the browser runs before it shows the page."""
    lazy_hero: str = ""
    """The src of the first picture of the page if it is loaded late, or ''."""
    ids: list[str] = []
    """Targets of fragments: ids, and names of anchors."""
    duplicate_ids: list[str] = []
    metas_in_body: list[str] = []
    viewport: bool = False
    unrendered: str = ""
    """Why the page is empty without JavaScript. '' if it is not, or if a browser fetched it."""
    mixed: list[str] = []
    """Files that a page of https loads over http."""
    insecure_forms: list[str] = []
    security_headers: list[str] = []
    """Those of Strict-Transport-Security, Content-Security-Policy and X-Content-Type-Options that were sent."""

    @property
    def directives(self) -> set[str]:
        """The robots directives of the page and its headers."""
        return {*self.robots, *self.header_robots}

    @property
    def is_noindex(self) -> bool:
        """Whether search engines are told not to index the page."""
        return bool(self.directives & {"noindex", "none"})

    @property
    def is_nofollow(self) -> bool:
        """Whether search engines are told not to follow the page's links."""
        return bool(self.directives & {"nofollow", "none"})

    @property
    def title(self) -> str:
        """The first title that is not empty."""
        return next(filter(None, self.titles), "")

    @property
    def description(self) -> str:
        """The first description that is not empty."""
        return next(filter(None, self.descriptions), "")

    @property
    def h1(self) -> str:
        """The first h1 that is not empty."""
        return next(filter(None, self.h1s), "")


class AuditFinding(msgspec.Struct, array_like=True, frozen=True):
    """One page, or one link of a page, that a check found. `target`: the other URL of the finding, or another
    text that distinguishes findings of one page."""

    check: str
    url: str
    target: str = ""
    detail: str = ""


class CheckOutcome(msgspec.Struct):
    """What a check found in an audit."""

    id: str
    group: str
    severity: str
    title: str
    fix: str
    state: str
    """`checked`, or `inconclusive` if the audit cannot decide. `reason` then says why."""
    reason: str
    count: int
    new: int
    """Findings that the audit before did not have. 0 in the first audit."""
    fixed: int
    """Findings of the audit before that are gone, on pages that both audits saw."""
    share: float
    """The share of the site's indexable pages that have a finding."""


class AuditSummary(msgspec.Struct, kw_only=True):
    """What an audit found."""

    url: str
    audit: int
    before: int | None
    """The number of the audit with which this one is compared."""
    state: str
    """`finished`, `limited` or `stopped`."""
    whole: bool
    """Whether the crawl provably saw every page that links lead to."""
    reasons: list[str]
    """Why it is not whole."""
    pages: int
    indexable: int
    links: int
    external_checked: int
    external: int
    errors: int
    warnings: int
    notices: int
    infos: int = 0
    """Things to know, which are no faults."""
    new: int
    fixed: int
    seconds: float
    database: str
    checks: list[CheckOutcome] = []
    outputs: list[str] = []

    def counts(self) -> dict[str, int]:
        """Returns the number of findings by severity."""
        return {"error": self.errors, "warning": self.warnings, "notice": self.notices}


def url_id(url: str) -> int:
    """Returns the number under which a URL is stored: 63 bits of a hash of its canonical form."""
    key = gossamer.url.canonical(url) or url
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")) >> 1


def to_json(value: Any) -> str:
    """Returns a value as JSON."""
    return msgspec.json.encode(value).decode()
