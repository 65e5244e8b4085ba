"""The values of rank tracking: searches, followed domains, fetched result pages, positions and events."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from gossamer.parsing.ranks import ResultPage

PAGE_RESULTS = 10
"""Number of organic results on a page. Both engines show about ten. The first result of page 2 has the
position 11 even if page 1 has fewer results, so that a position does not depend on which other pages were
fetched."""
ASSUMED_END = "the provider answered without results, so this is assumed to be behind the last page"
"""The reason of `no_results` on a later page if the provider does not say that there are none."""
ENGINES = ("google", "bing")
DEVICES = ("desktop", "mobile")


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A search that a person makes at a certain place with a certain device. Several followed domains with
    the same search share its result pages."""

    keyword: str
    engine: str = "google"
    country: str = ""
    """A country code of two letters, or '' for the engine's default."""
    language: str = ""
    location: str = ""
    """The canonical name of a place, such as `Austin,Texas,United States`."""
    device: str = "desktop"

    @property
    def id(self) -> str:
        """The id of the search in the history."""
        return hashlib.blake2b(msgspec.json.encode(msgspec.structs.astuple(self)), digest_size=8).hexdigest()

    @property
    def place(self) -> str:
        """The country, language, location and device in a few words."""
        where = "-".join(filter(None, (self.language, self.country))) or "any"
        return " ".join(filter(None, (where, self.location, "" if self.device == "desktop" else self.device)))


class Keyword(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a list: a search with the domain that is followed there."""

    search: Search
    domain: str
    competitors: tuple[str, ...] = ()
    volume: int | None = None
    """The number of searches per month."""
    tags: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class FetchedResultPage(msgspec.Struct, kw_only=True):
    """A result page of a run, or the failure to get it."""

    search: str
    page: int
    time: float
    """When the page was fetched, in seconds since the epoch."""
    parsed: ResultPage | None = None
    """The parsed page, or None if no page was received."""
    error: str = ""
    """The reason why no page was received."""
    since_page: int = 0
    """The result page with which the results begin, if the source returns all results up to `page`. 0 means
    `page` itself."""
    source: str = ""
    """The source of the page: a provider, an unlocker, `own` or `file`."""
    form: str = "html"
    """The form of `body`: `html`, or the name of the provider if it is JSON."""
    url: str = ""
    body: bytes = b""
    credits: int = 0

    @property
    def first(self) -> int:
        """The first result page that its results cover."""
        return self.since_page or self.page

    @property
    def verdict(self) -> str:
        """The verdict of the parsed page, or `failed` if no page was received."""
        return self.parsed.verdict if self.parsed is not None else "failed"


class RankEventKind(StrEnum):
    """The kind of an event.

    - `first`: the domain was checked for the first time.
    - `rank`: the position changed.
    - `entered`, `lost`: the domain entered or left the first N results.
    - `url`: another page of the domain is now in the results.
    - `feature-won`, `feature-lost`: the domain appeared in a feature, or disappeared from it.
    - `feature-shown`, `feature-hidden`: the result page now has a feature, or no longer has it.
    - `layout-drift`, `layout-back`: the pages of an engine can no longer be read, or can be read again.
    - `failing`, `checked`: the checks of a search fail, or succeed again."""

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
    """A change between two checks. `before` and `after` are positions, URLs or types. None means 'not in the
    first N'. `time`: the time of the check that found the change, in seconds since the epoch."""

    kind: RankEventKind
    time: float
    engine: str = ""
    search: str = ""
    domain: str = ""
    before: str | None = None
    after: str | None = None
    detail: str = ""


class Position(msgspec.Struct, kw_only=True):
    """The position of a domain in a check. A failed check has no positions."""

    search: str
    domain: str
    time: float
    position: int | None
    """The position among the organic results, from 1. None means that the domain is not in the first `depth`
    results."""
    depth: int
    absolute: int | None = None
    """The place of the result among all blocks of its page."""
    page: int | None = None
    url: str = ""
    title: str = ""
    urls: tuple[str, ...] = ()
    """All pages of the domain in the fetched results, the best first."""
    note: str = ""
