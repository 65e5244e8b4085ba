"""The values of rank tracking: searches, followed domains, fetched result pages, positions and events."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from gossamer.parsing.ranks import ResultPage

PAGE_RESULTS = 10
"""Organic results on a page. Both engines show about ten. The first result of page 2 is position 11, also if
page 1 has fewer results, so that a position does not depend on which other pages were fetched."""
ASSUMED_END = "the provider answered without results, so this is assumed to be behind the last page"
"""The reason of `no_results` on a later page if the provider does not say that there are none."""
ENGINES = ("google", "bing")
DEVICES = ("desktop", "mobile")


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A search as a person in a place makes it. Two domains with the same search share its result pages."""

    keyword: str
    engine: str = "google"
    country: str = ""
    """Two letters, '' for the engine's default."""
    language: str = ""
    location: str = ""
    """A canonical name, as in `Austin,Texas,United States`."""
    device: str = "desktop"

    @property
    def id(self) -> str:
        """The name of the search in the history."""
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
    """Searches a month."""
    tags: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class FetchedResultPage(msgspec.Struct, kw_only=True):
    """A result page of a run, or the failure to get it."""

    search: str
    page: int
    time: float
    """Seconds since the epoch."""
    parsed: ResultPage | None = None
    """None if no page arrived."""
    error: str = ""
    """Why no page arrived."""
    since_page: int = 0
    """The first page that the results begin with, if the source returns all results up to `page`. 0: `page`."""
    source: str = ""
    """The way: a provider, an unlocker, `own` or `file`."""
    form: str = "html"
    """The form of `body`: `html`, or the name of the provider whose JSON it is."""
    url: str = ""
    body: bytes = b""
    credits: int = 0

    @property
    def first(self) -> int:
        """The first page that it covers."""
        return self.since_page or self.page

    @property
    def verdict(self) -> str:
        """The verdict of the parsed page; `failed` if no page arrived."""
        return self.parsed.verdict if self.parsed is not None else "failed"


class RankEventKind(StrEnum):
    """What an event says. `rank`: the position changed. `entered`, `lost`: into and out of the first N. `url`:
    another page of the domain stands there. `feature-...`: of the domain (`won`, `lost`), or of the result page
    (`shown`, `hidden`). `layout-...`: the pages of an engine cannot be read any more, or can again. `failing`,
    `checked`: the checks of a search fail, or work again."""

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
    """Something that changed between two checks. `before` and `after` are positions, URLs or types, None for
    'not in the first N'. `time`: of the check that found it, in seconds since the epoch."""

    kind: RankEventKind
    time: float
    engine: str = ""
    search: str = ""
    domain: str = ""
    before: str | None = None
    after: str | None = None
    detail: str = ""


class Position(msgspec.Struct, kw_only=True):
    """Where a domain stood in a check. A check that failed has none."""

    search: str
    domain: str
    time: float
    position: int | None
    """From 1, among the organic results. None: not in the first `depth`."""
    depth: int
    absolute: int | None = None
    """The place among all blocks of its page."""
    page: int | None = None
    url: str = ""
    title: str = ""
    urls: tuple[str, ...] = ()
    """All pages of the domain among the results that were fetched, the best first."""
    note: str = ""
