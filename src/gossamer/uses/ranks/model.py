"""The data types of rank tracking: searches, keywords, fetched result pages, positions and events."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from gossamer.parsing.ranks import ResultPage

PAGE_RESULTS = 10
"""The nominal number of organic results per result page. A result page of Google or Bing contains about ten
organic results. The first result of page 2 always has position 11, even if page 1 has fewer results. The
positions on page 2 are therefore known even if page 1 was not fetched."""
ASSUMED_END = "the provider answered without results, so this is assumed to be behind the last page"
"""The reason that is stored with the verdict `no_results` if the provider returned no results for a page
after page 1, and did not report the end of the results."""
ENGINES = ("google", "bing")
DEVICES = ("desktop", "mobile")


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A keyword with the engine, country, language, location and device of the search. Several followed
    domains can share a search and its result pages."""

    keyword: str
    engine: str = "google"
    country: str = ""
    """A two-letter country code, or '' for the default country of the engine."""
    language: str = ""
    location: str = ""
    """The canonical name of the search location, such as `Austin,Texas,United States`."""
    device: str = "desktop"

    @property
    def id(self) -> str:
        """The id of the search in the rank history."""
        return hashlib.blake2b(msgspec.json.encode(msgspec.structs.astuple(self)), digest_size=8).hexdigest()

    @property
    def place(self) -> str:
        """A short text with the language, country, location and device, such as `en-us mobile`."""
        where = "-".join(filter(None, (self.language, self.country))) or "any"
        return " ".join(filter(None, (where, self.location, "" if self.device == "desktop" else self.device)))


class Keyword(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a keyword list: a search, and the user's domain whose position is tracked in the
    results."""

    search: Search
    domain: str
    competitors: tuple[str, ...] = ()
    volume: int | None = None
    """The number of searches for the keyword per month."""
    tags: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class FetchedResultPage(msgspec.Struct, kw_only=True):
    """A result page that a run fetched, or the error of a failed fetch."""

    search: str
    page: int
    time: float
    """The time of the fetch, in seconds since the epoch."""
    parsed: ResultPage | None = None
    """The parsed page, or None if the fetch failed."""
    error: str = ""
    """The reason for the failure of the fetch, or ''."""
    since_page: int = 0
    """The number of the first result page in the answer, if one answer contains several result pages. If the
    answer contains only the result page `page`, `since_page` is 0."""
    source: str = ""
    """The name of the provider or unlocker that returned the result page, or `own`, `archive` or `file`."""
    form: str = "html"
    """The format of `body`: `html`, or the name of the provider if the body is JSON."""
    url: str = ""
    body: bytes = b""
    credits: int = 0

    @property
    def first(self) -> int:
        """The number of the first result page that the answer covers."""
        return self.since_page or self.page

    @property
    def verdict(self) -> str:
        """The verdict of the parsed page, or `failed` if the fetch failed."""
        return self.parsed.verdict if self.parsed is not None else "failed"


class RankEventKind(StrEnum):
    """The kind of a rank event.

    - `first`: the domain was checked for the first time.
    - `rank`: the position changed.
    - `entered`, `lost`: the domain entered or left the first `depth` results.
    - `url`: a different page of the domain is now the domain's best result.
    - `feature-won`, `feature-lost`: the domain appeared in a feature, or disappeared from the feature.
    - `feature-shown`, `feature-hidden`: a feature appeared on the result page, or disappeared from the page.
    - `layout-drift`: the layout of an engine's pages has changed, and the pages cannot be read.
      `layout-back`: the pages can be read again.
    - `failing`: the checks of a search have begun to fail. `checked`: the checks succeed again."""

    FIRST = "first"
    RANK = "rank"
    ENTERED = "entered"
    LOST = "lost"
    URL = "url"
    FEATURE_WON = "feature-won"
    FEATURE_LOST = "feature-lost"
    FEATURE_SHOWN = "feature-shown"
    FEATURE_HIDDEN = "feature-hidden"
    LAYOUT_DRIFT = "layout-drift"
    LAYOUT_BACK = "layout-back"
    FAILING = "failing"
    CHECKED = "checked"


class RankEvent(msgspec.Struct, kw_only=True):
    """A change that a check found. `before` and `after`: the old and the new position, URL or layout state. A
    position of None means that the domain is not in the first `depth` results. `time`: the time of the check
    that found the change, in seconds since the epoch."""

    kind: RankEventKind
    time: float
    engine: str = ""
    search: str = ""
    domain: str = ""
    before: str | None = None
    after: str | None = None
    detail: str = ""


class Position(msgspec.Struct, kw_only=True):
    """The position of a domain in a check of a search. A failed check never stores the position None, because
    the domain could be on a page that was not read."""

    search: str
    domain: str
    time: float
    position: int | None
    """The position of the domain among the organic results, starting at 1, or None if the domain is not in
    the first `depth` results."""
    depth: int
    absolute: int | None = None
    """The position of the domain's result among all blocks of the result page."""
    page: int | None = None
    url: str = ""
    title: str = ""
    urls: tuple[str, ...] = ()
    """The URLs of all pages of the domain in the fetched results, with the best position first."""
    note: str = ""
