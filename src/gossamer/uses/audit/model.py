"""The values of an audit: the facts of a page, its links, and findings."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
import xxhash

import gossamer


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    """Visitors or search engines cannot use the page or the link."""
    WARNING = "warning"
    """Visitors can use the page, but probably do not find the page, or do not see the page correctly."""
    NOTICE = "notice"
    """The page has no error, but could be improved."""
    INFO = "info"
    """The finding is only information, not a problem. The counts of errors, warnings and notices do not
    include findings of the severity `info`."""


PAGE_KINDS: Final = ("a", "area", "iframe", "frame", "next", "prev", "refresh")
"""The kinds of links that a visitor or a crawler follows."""


class PageLink(msgspec.Struct, array_like=True):
    """A link or an embedded file of a page."""

    url: str
    """The absolute URL without fragment."""
    kind: str
    """The kind of the link. For most links, the kind is the name of the HTML element that contains the URL
    (a, area, iframe, frame, form, img, script). For a `link` element, the kind is the element's relation
    (stylesheet, next, prev, alternate). For audio, video and other embedded media, the kind is `media`. For a
    meta refresh, the kind is `refresh`. For a URL in `srcset`, the kind is `srcset`. For an image that other
    sites show as a preview of the page (og:image), the kind is `preview`."""
    text: str = ""
    """The visible text of the link, or the `alt` text of the link's image, cut to 100 characters."""
    nofollow: int = 0
    """0 if every such link of the page may be followed, 1 if none may, 2 if the page has both."""
    fragment: str = ""


class ImageFacts(msgspec.Struct, omit_defaults=True):
    """The images of a page. Each list contains at most 20 URLs, as written in the page."""

    count: int = 0
    without_alt: list[str] = []
    long_alt: list[str] = []
    without_size: list[str] = []
    empty_pictures: int = 0
    """Number of `picture` elements without an `img`."""


class PageFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The facts that an audit derives from the response for one page. Lists are in page order."""

    url: str
    status: int = 200
    content_type: str = ""
    is_html: bool = False
    size: int = 0
    """The size of the decoded body in bytes."""
    titles: list[str] = []
    descriptions: list[str] = []
    h1s: list[str] = []
    headings: list[int] = []
    """The levels of the headings, at most 300."""
    canonicals: list[str] = []
    """The href of each `link rel=canonical` in the head, as written."""
    header_canonicals: list[str] = []
    """The canonical URLs in Link headers of the response, as written."""
    body_canonicals: int = 0
    """Number of `link rel=canonical` elements outside of the head."""
    canonical: str = ""
    """The absolute canonical URL in the page's head. If the head contains no canonical URL, the value is the
    absolute canonical URL in the response headers."""
    header_canonical: str = ""
    """The absolute canonical URL in the response headers."""
    robots: list[str] = []
    """The directives of robots meta elements, in lower case."""
    header_robots: list[str] = []
    """The directives of X-Robots-Tag headers, in lower case."""
    hreflangs: list[tuple[str, str, str]] = []
    """The language versions of the page. Each language version is a tuple of its language code, its URL as
    written, and its absolute URL."""
    language: str = ""
    """The `lang` attribute of the `html` element, as written."""
    detected_language: str = ""
    """The language that was detected in the page's text. `detected_language` is '' if the language is
    uncertain, or if the extra `text` is not installed."""
    words: int = 0
    text_hash: str = ""
    main_hash: str = ""
    """A hash of the page's text without navigation and other boilerplate."""
    is_lorem: bool = False
    unavailable_after: list[str] = []
    """The dates of `unavailable_after` in robots metas and X-Robots-Tag headers, as written."""
    refresh: str = ""
    """The absolute URL in the page's meta refresh."""
    script_redirect: str = ""
    """The absolute URL to which a script sends every visitor of the page."""
    charset_faults: list[str] = []
    """The reasons why the page's characters are read wrongly, or may be."""
    images: ImageFacts = msgspec.field(default_factory=ImageFacts)
    structured_errors: list[str] = []
    """Invalid JSON-LD scripts: the error and the beginning of each script."""
    structured_gaps: list[str] = []
    """Missing properties that Google requires, such as `Product: offers, review or ...`."""
    structured_bad: list[str] = []
    """Structured data values of a wrong type."""
    contradictions: list[str] = []
    """Values of the structured data that differ from the text of the page."""
    blocking_scripts: list[str] = []
    """The `src` attributes of render-blocking scripts in the head. The browser runs these scripts before it
    shows the page."""
    lazy_hero: str = ""
    """The URL of the page's first picture and the reason why the browser loads the picture late. `lazy_hero`
    is '' if the browser loads the first picture at once."""
    ids: list[str] = []
    """Possible targets of fragments: the ids of elements and the names of anchors."""
    duplicate_ids: list[str] = []
    metas_in_body: list[str] = []
    viewport: bool = False
    viewport_locked: str = ""
    """The setting of the viewport that forbids visitors to zoom in, or ''."""
    unrendered: str = ""
    """The reason why the page has no content without JavaScript. `unrendered` is '' if the page has content,
    or if a browser fetched the page."""
    mixed: list[str] = []
    """The files that an https page loads over http."""
    insecure_forms: list[str] = []
    security_headers: list[str] = []
    """The names of the security headers in the response. Security headers are Strict-Transport-Security,
    Content-Security-Policy and X-Content-Type-Options."""

    @property
    def directives(self) -> set[str]:
        """The robots directives in the page and in the response headers."""
        return {*self.robots, *self.header_robots}

    @property
    def is_noindex(self) -> bool:
        """Whether a directive tells search engines not to index the page, or no longer to index it."""
        return bool(self.directives & {"noindex", "none"}) or self.is_expired

    @property
    def is_expired(self) -> bool:
        """Whether the date of an `unavailable_after` has passed."""
        dates = filter(None, map(read_date, self.unavailable_after))
        return any(date <= datetime.now(UTC) for date in dates)

    @property
    def redirect(self) -> str:
        """The absolute URL to which the page itself sends its visitors, by meta refresh or script, or ''."""
        return self.refresh or self.script_redirect

    @property
    def is_nofollow(self) -> bool:
        """Whether a directive tells search engines not to follow the page's links."""
        return bool(self.directives & {"nofollow", "none"})

    @property
    def title(self) -> str:
        """The first non-empty title."""
        return next(filter(None, self.titles), "")

    @property
    def description(self) -> str:
        """The first non-empty description."""
        return next(filter(None, self.descriptions), "")

    @property
    def h1(self) -> str:
        """The first non-empty h1."""
        return next(filter(None, self.h1s), "")


class HostAlias(NamedTuple):
    """The host for which an audited copy of a site is meant. `host`: the host that the copy's pages name.
    `origin`: the origin of the copy."""

    host: str
    origin: str

    def own(self, url: str) -> str:
        """Returns the URL of the copy for a URL of the other host. Other URLs are returned as they are.

        >>> HostAlias("www.example.com", "http://localhost:8000").own("https://www.example.com/a?b")
        'http://localhost:8000/a?b'
        """
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        same = scheme in ("http", "https") and authority.rpartition("@")[2].lower() == self.host
        return f"{self.origin}{slash}{path}" if same else url


def read_date(text: str) -> datetime | None:
    """Returns the time of an `unavailable_after`, which is written as in RFC 822, RFC 850 or ISO 8601. A time
    without a time zone is in UTC. Returns None if the text is no such time.

    >>> read_date("Saturday, 25-Jul-09 15:00:00 PST"), read_date("soon")
    (datetime.datetime(2009, 7, 25, 15, 0, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=57600))), None)
    """
    text = text.strip().upper()
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


class AuditFinding(msgspec.Struct, array_like=True, frozen=True):
    """A problem that a check found on a page or in a link of a page. `target`: the second URL that the
    finding is about. If a check has several findings on one page, `target` may also be a text that
    distinguishes these findings."""

    check: str
    url: str
    target: str = ""
    detail: str = ""


class CheckOutcome(msgspec.Struct):
    """The result of one check in an audit."""

    id: str
    group: str
    severity: str
    title: str
    fix: str
    state: str
    """The state of the check: `checked`, `partial`, `likely`, `inconclusive` or `skipped`. If the state is not
    `checked`, `reason` contains the explanation. `likely`: links on pages that could not be read may refute
    some of the findings. The details of these findings begin with `likely`."""
    reason: str
    count: int
    new: int
    """Number of findings of this audit that the previous audit did not have, or 0 if there was no previous
    audit."""
    fixed: int
    """Number of findings of the previous audit that this audit no longer has. If this audit did not see the
    whole site, `fixed` includes only findings on pages that this audit saw."""
    share: float
    """The share of the site's indexable pages on which the check found a problem."""


class AuditSummary(msgspec.Struct, kw_only=True):
    """The results of an audit."""

    url: str
    audit: int
    before: int | None
    """The number of the earlier audit with which this audit is compared, or None."""
    state: str
    """The state of the crawl: `finished`, `limited` or `stopped`."""
    whole: bool
    """Whether the crawl saw all linked pages of the site."""
    reasons: list[str]
    """The reasons why the crawl may have missed pages of the site."""
    pages: int
    recent: int = 0
    """Number of pages that count again and were not requested, because of `if_older`."""
    indexable: int
    links: int
    external_checked: int
    external: int
    errors: int
    warnings: int
    notices: int
    infos: int = 0
    """Number of findings of the severity `info`, which are not problems."""
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
    """Returns the id of a URL in the database. The id consists of 63 bits of a hash of the canonical URL."""
    key = gossamer.url.canonical(url) or url
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")) >> 1


def to_json(value: Any) -> str:
    """Returns a value as JSON."""
    return msgspec.json.encode(value).decode()
