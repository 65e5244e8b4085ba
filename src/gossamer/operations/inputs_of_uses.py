"""The inputs of the operations on schedules, uses and the state of a store."""

from __future__ import annotations

# ruff: noqa: RUF012 - msgspec copies the default of each struct
from typing import Annotated, Literal

from msgspec import Meta

from gossamer.operations.inputs import (
    CrawlName,
    Cursor,
    HostName,
    Input,
    Limit,
    Since,
    SiteName,
    Target,
    Wait,
    WebAddress,
)

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
HistoryName = Annotated[
    str,
    Meta(pattern=_NAME, description="The file NAME.db in the folder of `serve`.", examples=["prices"]),
]
RunsName = Annotated[
    str,
    Meta(pattern=_NAME, description="The folder of the counts, in the folder of `serve`."),
]
AuditName = Annotated[
    str,
    Meta(
        pattern=_NAME,
        description="The audits of a site: its host. The file NAME.db in the folder of audits.",
        examples=["books.toscrape.com"],
    ),
]
ListName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.(csv|tsv|xlsx|jsonl|ndjson|json|txt)$",
        description="The name of a list in the folder of `serve`.",
        examples=["targets.csv"],
    ),
]
RunName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,160}$", description="The name of a run.")
]
ScheduleName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$", description="The name of a schedule.")
]
Days = Annotated[int, Meta(ge=1, le=36_500)]
Seconds = Annotated[float, Meta(ge=1, le=31_536_000)]
Text = Annotated[str, Meta(min_length=1, max_length=500)]
Patterns = Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)]
Lists = Annotated[list[ListName], Meta(max_length=20)]
LaneName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9_-]{0,40}$",
        description="The workers of a lane, or `fleet`: all workers.",
        examples=["fleet"],
    ),
]
AlertPattern = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z*?]{1,60}(\{[^{}]{0,300}\})?$",
        description="A rule, or a pattern such as `GossamerWorkerGone{worker=w1*}`.",
        examples=["GossamerStalled"],
    ),
]


class Explain(Input):
    """A URL to explain."""

    url: Annotated[str, Meta(min_length=1, max_length=2083)]
    crawl: CrawlName | None = None
    """Default: the newest crawl with pages of this host."""
    depth: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    """Assume this distance from a seed, in links."""
    page: (
        Annotated[
            str,
            Meta(
                pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+$",
                max_length=2083,
            ),
        ]
        | None
    ) = None
    """A page with a link to it, which is fetched to see the link. It needs the scope `run`."""


class ListPages(Input):
    """A page of a list without filters."""

    limit: Limit = 100
    cursor: Cursor = None


class ListAlerts(Input):
    """Which alerts to list."""

    state: Literal["firing", "pending", "resolved"] | None = None


class MuteAlerts(Input):
    """Alerts to mute."""

    rule: AlertPattern
    seconds: Annotated[float, Meta(ge=1, le=31_536_000)] = 3600.0


class UnmuteAlerts(Input):
    """A mute to end."""

    rule: AlertPattern


class CapRate(Input):
    """The maximum requests per second of a lane, or of the whole fleet."""

    lane: LaneName
    rate: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    """None removes the cap."""


class FixRung(Input):
    """The rung that fetches the pages of a host."""

    host: HostName
    rung: Literal["plain", "impersonated", "browser", "unlocker"] | None = None
    """None: forget what was learned, and learn again."""


class ReportChanged(Input):
    """Pages that changed."""

    crawl: CrawlName
    urls: Annotated[list[WebAddress], Meta(min_length=1, max_length=10_000)]


class MapSite(Input):
    """A site whose URLs to list."""

    url: WebAddress
    scope: Literal["host", "domain"] = "host"
    search: Annotated[str, Meta(max_length=200)] | None = None
    """Only URLs that contain this text, ignoring case."""
    sitemaps: bool = True
    pages: Annotated[int, Meta(ge=0, le=10)] = 1
    """Number of pages whose links are read, beginning with `url`."""
    limit: Annotated[int, Meta(ge=1, le=50_000)] = 5000


class OneSchedule(Input):
    """One schedule."""

    schedule: ScheduleName


class ListScheduleRuns(Input):
    """Which runs of a schedule to list."""

    schedule: ScheduleName
    limit: Limit = 20


class RunSchedule(Input):
    """A schedule to run now."""

    schedule: ScheduleName
    wait: Wait = 0.0


class AddSchedule(Input):
    """A crawl or a run of a use by the clock. Options have the names and meanings of `gossamer schedule add`."""

    schedule: ScheduleName
    cron: Annotated[
        str,
        Meta(
            pattern=r"^(@[a-z]{4,10}|([0-9A-Za-z*,/?#-]+ +){4}[0-9A-Za-z*,/?#-]+)$",
            max_length=200,
            description="Five fields, or a word such as `@daily`.",
            examples=["30 4 * * mon-fri"],
        ),
    ]
    targets: Annotated[list[Target], Meta(max_length=1000)] = []
    sites: Annotated[list[SiteName], Meta(max_length=100)] = []
    """Names of site files in the folder that `serve --sites` names."""
    prices: StartPriceRun | None = None
    """A price run in place of a crawl. Options of crawls do not apply to it."""
    ranks: StartRankRun | None = None
    """A rank run in place of a crawl."""
    keywords: StartKeywordRun | None = None
    """A keyword count in place of a crawl."""
    audit: StartAudit | None = None
    """An audit in place of a crawl."""
    tz: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_+/-]{1,60}$")] | None = None
    jitter: Seconds | None = None
    spread: Seconds | None = None
    missed: Annotated[str, Meta(pattern=r"^(run|skip|all(:[0-9]{1,4})?)$")] | None = None
    overlap: Literal["skip", "queue"] | None = None
    scope: Literal["page", "prefix", "host", "domain", "any"] | None = None
    include: Patterns = []
    exclude: Patterns = []
    depth: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    time_limit: Seconds | None = None
    delay: Annotated[float, Meta(ge=0, le=3600)] | None = None
    rate: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    sitemaps: bool = False
    text: bool = False
    links: bool = False
    refresh: bool = False


class ListRuns(Input):
    """Which runs to list."""

    use: Literal["prices", "ranks", "keywords", "audit", "schedule"] | None = None
    limit: Limit = 100
    cursor: Cursor = None


class OneRun(Input):
    """One run."""

    run: RunName


class ShowRun(Input):
    """One run, now or at its end."""

    run: RunName
    wait: Wait = 0.0


class _OfPrices(Input):
    """A table of a price history."""

    history: HistoryName = "prices"
    limit: Limit = 100
    cursor: Cursor = None


class ChoosePrices(_OfPrices):
    """The targets of a price history whose rows to list."""

    shop: Text | None = None
    tag: Text | None = None
    product: Text | None = None
    """A product's id, or the key of one of its targets."""


class ListPriceMoves(ChoosePrices):
    """Which changes of price to list."""

    days: Days = 30


class ListStalePrices(ChoosePrices):
    """Which targets to list that no visit has found for days."""

    days: Days = 2


class ListMarket(_OfPrices):
    """The product whose offers to list, or all products with several targets."""

    product: Text | None = None


class ListFailingPrices(_OfPrices):
    """Which failing targets to list."""

    state: Literal["gone", "moved", "blocked", "empty", "failed", "no-price", "undecided"] | None = None
    shop: Text | None = None
    runs: Annotated[int, Meta(ge=1, le=100_000)] = 1
    """Failed in at least this many runs in a row."""


class ListShops(_OfPrices):
    """The shops of a price history."""


class PriceSeries(_OfPrices, kw_only=True):
    """The target whose prices to list."""

    target: Text
    variant: Annotated[str, Meta(max_length=500)] = ""
    since: Since = None


class ListPriceEvents(_OfPrices):
    """Which changes to list: of prices, availability, sellers, pages and shops."""

    target: Text | None = None
    kind: Text | None = None
    since: Since = None


class StartPriceRun(Input):
    """A price run. Options have the names and meanings of `gossamer prices run`."""

    lists: Lists = []
    urls: Annotated[list[WebAddress], Meta(max_length=1000)] = []
    history: HistoryName = "prices"
    delay: Annotated[float, Meta(ge=0, le=3600)] | None = None
    within: Seconds | None = None
    spread: Seconds | None = None
    partly: bool = False
    if_older: Seconds | None = None
    wait: Wait = 0.0


class _OfRanks(Input):
    """A table of a rank history."""

    history: HistoryName = "ranks"
    limit: Limit = 100
    cursor: Cursor = None


class ListRanks(_OfRanks):
    """Rows of the whole rank history."""


class ListPositions(_OfRanks):
    """Which positions to list."""

    domain: Text | None = None
    days: Days = 7
    """Compare with this many days ago."""
    moves: bool = False
    """Only positions that changed, the biggest changes first."""
    tag: Text | None = None


class RankSeries(_OfRanks, kw_only=True):
    """The keyword whose checks to list."""

    keyword: Text
    domain: Text | None = None
    days: Days = 30


class ListCompetitors(_OfRanks):
    """The domain that is compared with others."""

    domain: Text | None = None
    """Default: the domain with most keywords."""
    side_by_side: bool = False
    """Each keyword with the positions of all followed domains."""


class ListRankDays(_OfRanks):
    """The days of a rank history."""

    days: Days = 30


class ListRankEvents(_OfRanks):
    """Which changes of ranks to list."""

    kind: Text | None = None
    since: Since = None


class StartRankRun(Input):
    """A rank run by the provider of the server's settings. Options have the names and meanings of `gossamer ranks run`."""

    lists: Annotated[list[ListName], Meta(min_length=1, max_length=20)]
    history: HistoryName = "ranks"
    budget: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    """The most credits that all runs spend in a day (UTC)."""
    first: Annotated[int, Meta(ge=1, le=100)] | None = None
    strategy: Literal["smart", "custom", "basic"] | None = None
    no_fallback: bool = False
    failed: bool = False
    domain: Text | None = None
    engine: Annotated[str, Meta(pattern=r"^[a-z]{2,20}(,[a-z]{2,20})?$")] | None = None
    country: Annotated[str, Meta(pattern=r"^[A-Za-z]{2}$")] | None = None
    language: Annotated[str, Meta(pattern=r"^[A-Za-z-]{2,10}$")] | None = None
    device: Annotated[str, Meta(pattern=r"^(desktop|mobile)(,(desktop|mobile))?$")] | None = None
    if_older: Seconds | None = None
    wait: Wait = 0.0


class _OfKeywords(Input):
    """A table of a keyword run."""

    folder: RunsName = "keywords"
    limit: Limit = 100
    cursor: Cursor = None


class ListKeywordRuns(_OfKeywords):
    """The runs of a folder."""


class _OfKeywordRun(_OfKeywords):
    """A table of one keyword run."""

    run: Annotated[str, Meta(pattern=r"^[0-9]{8}-[0-9]{6}(-[0-9]+)?$")] | None = None
    """Default: the last complete run."""


class ListKeywordTotals(_OfKeywordRun):
    """Which keywords to list."""

    site: Text | None = None


class ListKeywordTerms(_OfKeywordRun):
    """Which discovered terms to list."""

    site: Text | None = None
    language: Annotated[str, Meta(pattern=r"^[A-Za-z-]{2,20}$")] | None = None
    words: Annotated[int, Meta(ge=0, le=3)] = 0
    """Only terms of this many words; 0: all."""


class ListKeywordPages(_OfKeywordRun, kw_only=True):
    """The keyword whose pages to list."""

    keyword: Text
    site: Text | None = None


class ListKeywordGaps(_OfKeywordRun, kw_only=True):
    """The two sites to compare."""

    mine: Text
    theirs: Text


class CompareKeywordSites(_OfKeywordRun):
    """The run whose sites to compare."""


class ListCannibals(_OfKeywordRun):
    """The site whose competing pages to list."""

    site: Text | None = None


class KeywordTrend(_OfKeywords, kw_only=True):
    """The keyword whose counts in all runs to list."""

    keyword: Text
    site: Text | None = None


class StartKeywordRun(Input):
    """A keyword count. Options have the names and meanings of `gossamer keywords`."""

    urls: Annotated[list[Target], Meta(max_length=100)] = []
    """Without URLs, the texts of the last run are counted again."""
    keywords: Annotated[list[Text], Meta(max_length=1000)] = []
    lists: Lists = []
    folder: RunsName = "keywords"
    stem: Annotated[str, Meta(pattern=r"^[a-z]{2,12}$")] | None = None
    context: Annotated[int, Meta(ge=0, le=1000)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    scope: Literal["page", "prefix", "host", "domain", "any"] | None = None
    include: Patterns = []
    exclude: Patterns = []
    delay: Annotated[float, Meta(ge=0, le=3600)] | None = None
    if_older: Seconds | None = None
    fresh: bool = False
    wait: Wait = 0.0


class OneAudit(Input):
    """The audits of one site."""

    audit: AuditName


class ListAuditFindings(Input):
    """Which findings of the last complete audit to list."""

    audit: AuditName
    check: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,80}$")] | None = None
    severity: Literal["error", "warning", "notice", "info"] | None = None
    new: bool = False
    """Only findings that the audit before did not have."""
    limit: Limit = 100
    cursor: Cursor = None


class StartAudit(Input):
    """An audit of a site. Options have the names and meanings of `gossamer audit`."""

    url: WebAddress
    audit: AuditName | None = None
    """The name of the database. Default: the host."""
    crawl: CrawlName | None = None
    """Audit the pages that this crawl stored, and request none."""
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    depth: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    external: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    """The most links to other sites that are checked."""
    include: Patterns = []
    exclude: Patterns = []
    delay: Annotated[float, Meta(ge=0, le=3600)] | None = None
    as_host: HostName | None = None
    if_older: Seconds | None = None
    fresh: bool = False
    wait: Wait = 0.0


class Find(Input):
    """A search in the texts of stored pages."""

    query: Annotated[str, Meta(min_length=1, max_length=1000, examples=['title:travel "red shoes" -sale'])]
    crawl: Annotated[list[CrawlName], Meta(max_length=50)] = []
    """Default: the only crawl that kept pages."""
    by_date: bool = False
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    page: Annotated[int, Meta(ge=1, le=1000)] = 1
