"""The inputs of operations. Each operation takes one struct. Its fields come from the path, the query and the body
of a request. An unknown field is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

CrawlName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$", description="The name of a crawl.", examples=["books"]
    ),
]
HostName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.:\[\]-]{1,255}$",
        description="A host as in its URLs, with its port if it is not the usual one.",
        examples=["shop.example", "shop.example:8080"],
    ),
]
Cursor = (
    Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{1,600}$",
            description="The `next` of the page before, with the same filters.",
        ),
    ]
    | None
)
Limit = Annotated[int, Meta(ge=1, le=1000, description="Maximum number of entries of the page.")]
Wait = Annotated[
    float, Meta(ge=0, le=60, description="Answer only when the crawl has ended, or after this many seconds.")
]
Since = (
    Annotated[
        str,
        Meta(
            pattern=r"^([0-9]{1,6}s|[0-9]{1,5}[mh]|[0-9]{1,3}d|20[0-9][0-9]-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$",
            description="An age such as `2h`, or a time such as `2026-01-31T12:00:00Z`.",
        ),
    ]
    | None
)
Comparison = Annotated[
    str,
    Meta(
        max_length=500,
        pattern=r"^[A-Za-z0-9_.-]+(!=|<=|>=|=|<|>|~)[^=!<>~]",
        description="FIELD=VALUE; the operators are = != < <= > >= and ~ (contains, ignoring case).",
    ),
]
Reason = Literal[
    "dns",
    "connect",
    "tls",
    "timeout",
    "reset",
    "collector",
    "http-4xx",
    "http-5xx",
    "rate-limited",
    "blocked",
    "too-large",
    "redirect-loop",
    "proxy",
    "login",
    "robots-unreachable",
    "given-up",
    "parse",
    "missing",
    "too-complex",
    "too-slow",
    "sink",
    "crash",
    "expired",
]
"""The words of `model.verdict.ERRORS`."""
SkipReason = Literal[
    "robots", "scope", "depth", "budget", "trap", "nofollow", "private", "content-type", "filter"
]
"""The words of `model.verdict.SKIPS` whose URLs are listed."""
Target = Annotated[
    str,
    Meta(
        max_length=2083,
        pattern=r"^((sitemap|feed):)?[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+$",
        description="An http(s) URL, or `sitemap:URL`, or `feed:URL`.",
        examples=["https://books.toscrape.com/"],
    ),
]
WebAddress = Annotated[
    str,
    Meta(
        max_length=2083,
        pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+$",
        examples=["https://books.toscrape.com/"],
    ),
]
SiteName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9_-]{1,80}$", description="The name of a file in the folder of site files.")
]
ArgumentName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,79}$", description="The name of an argument of a site file.")
]
WorkerName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9@%._-]{1,255}$", description="The name of a worker, or `all`.")
]
Confirmation = (
    Annotated[
        str,
        Meta(
            pattern=r"^[0-9a-f]{8,12}-[A-Za-z0-9_-]{20}$",
            description="The `confirm` of a dry run with the same input. A change of more than 1,000 entries needs it.",
        ),
    ]
    | None
)
EventWord = Literal["crawl.started", "crawl.updated", "crawl.changed", "crawl.ended", "items"]
WebhookName = Annotated[
    str, Meta(pattern=r"^[0-9a-z]{1,40}$", description="The id of a webhook.", examples=["4f2a91c07d5e"])
]
State = Literal[
    "running",
    "paused",
    "stopping",
    "cancelling",
    "ending",
    "finished",
    "limited",
    "stopped",
    "cancelled",
    "failed",
]


class Input(Struct, kw_only=True, forbid_unknown_fields=True):
    """The input of an operation."""


class NoInput(Input):
    """An operation without input."""


class ListCrawls(Input):
    """Which crawls to list."""

    state: State | None = None
    limit: Limit = 100
    cursor: Cursor = None


class OneCrawl(Input):
    """One crawl."""

    crawl: CrawlName


class ShowCrawl(Input):
    """One crawl, now or at its end."""

    crawl: CrawlName
    wait: Wait = 0.0


class StartCrawl(Input):
    """A crawl to start. Options have the names and meanings of `gossamer crawl`."""

    targets: Annotated[list[Target], Meta(max_length=10_000)] = []
    sites: Annotated[list[SiteName], Meta(max_length=100)] = []
    """Names of site files in the folder that `serve --sites` names."""
    args: Annotated[dict[ArgumentName, Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = {}
    """Arguments of the site files, as `-a NAME=VALUE` gives them."""
    name: CrawlName | None = None
    """The name of the crawl. An unfinished crawl of this name is resumed. Default: derived from the targets and
    the idempotency key."""
    scope: Literal["page", "prefix", "host", "domain", "any"] | None = None
    include: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = []
    exclude: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = []
    depth: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    """Maximum number of pages."""
    time_limit: Annotated[float, Meta(ge=1, le=31_536_000)] | None = None
    """Maximum working time in seconds."""
    size_limit: Annotated[int, Meta(ge=1, le=1_000_000_000_000)] | None = None
    """Maximum bytes of all bodies."""
    delay: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """Seconds between the starts of requests to one host. Default: learned."""
    per_host: Annotated[int, Meta(ge=1, le=1000)] | None = None
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """Maximum number of parallel visits of a process."""
    rate: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    """Maximum requests per second of the whole crawl."""
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] | None = None
    sitemaps: bool = False
    text: bool = False
    markdown: bool = False
    """Whether the text of the page records is Markdown."""
    links: bool = False
    fail_on: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=20)] = []
    """Gates such as `success<0.95`. A crawl that does not meet one ends with exit code 30."""
    fresh: bool = False
    """Whether to forget an earlier run of the same name."""
    refresh: bool = False
    """Whether to visit known pages again and store only what changed."""
    wait: Wait = 0.0


class ChangeLimits(Input):
    """Limits and exclusions of a running crawl. A limit that is not given stays, and 0 means no limit. Without any, nothing
    is changed."""

    crawl: CrawlName
    limit: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    """Maximum number of pages."""
    size_limit: Annotated[int, Meta(ge=0, le=1_000_000_000_000)] | None = None
    """Maximum bytes of all bodies."""
    time_limit: Annotated[float, Meta(ge=0, le=31_536_000)] | None = None
    """Maximum working time in seconds, earlier runs included."""
    exclude: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = []
    """Regular expressions: URLs that match one are not fetched any more, also if they wait in the queue."""
    readmit: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = []
    """Exclusions that were added so, and apply no longer."""


class AddUrls(Input):
    """URLs to add to a crawl. Options have the names and meanings of `gossamer add`."""

    crawl: CrawlName
    urls: Annotated[list[Target], Meta(min_length=1, max_length=10_000)]
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] | None = None
    id: Annotated[str, Meta(max_length=500)] | None = None
    use: Annotated[str, Meta(max_length=200)] | None = None
    carry: Any = None
    key: Annotated[str, Meta(max_length=500)] | None = None
    again: bool = False
    if_older: Annotated[float, Meta(ge=1, le=3_153_600_000)] | None = None
    """Seconds."""
    as_seeds: bool = False


class ChangePriority(Input):
    """The waiting URLs whose priority changes."""

    crawl: CrawlName
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
    host: HostName | None = None
    match: (
        Annotated[
            str,
            Meta(max_length=1000, description="A regular expression.", extra_json_schema={"format": "regex"}),
        ]
        | None
    ) = None
    dry_run: bool = False
    """Whether only to count the URLs."""
    confirm: Confirmation = None


class ShareFleet(Input):
    """A crawl's share of the fleet."""

    crawl: CrawlName
    weight: Annotated[int, Meta(ge=1, le=1000)] | None = None
    precedence: Annotated[int, Meta(ge=-100, le=100)] | None = None


class ListCrawlHosts(Input):
    """Which hosts of a crawl to list."""

    crawl: CrawlName
    sort: Literal["waiting", "delay", "next", "host", "in_flight", "failing"] = "waiting"
    limit: Limit = 20


class ListRows(Input):
    """Which rows of a crawl to list."""

    crawl: CrawlName
    host: HostName | None = None
    since: Since = None
    where: Annotated[list[Comparison], Meta(max_length=20)] = []
    limit: Limit = 100
    cursor: Cursor = None


class ListItems(ListRows):
    """Which items of a crawl to list."""

    kind: Annotated[str, Meta(max_length=200)] | None = None


class ListAttempts(ListRows):
    """Which requests of a crawl to list."""

    status: Annotated[str, Meta(pattern=r"^[1-5]([0-9][0-9]|xx)$", examples=["404", "5xx"])] | None = None
    outcome: Annotated[str, Meta(max_length=50)] | None = None


class ListSkipped(ListRows):
    """Which skipped URLs of a crawl to list."""

    reason: SkipReason | None = None


class RequeueSkipped(Input):
    """Which skipped URLs of a crawl to requeue."""

    crawl: CrawlName
    host: HostName | None = None
    since: Since = None
    where: Annotated[list[Comparison], Meta(max_length=20)] = []
    reason: SkipReason | None = None
    as_seeds: bool = False
    """Whether the scope, the patterns and the limits do not apply. The hosts join the scope."""
    dry_run: bool = False
    """Whether only to count the URLs."""
    confirm: Confirmation = None


class ListDeadLetters(Input):
    """Which dead letters of a crawl to list."""

    crawl: CrawlName
    host: HostName | None = None
    reason: Reason | None = None
    since: Since = None
    limit: Limit = 100
    cursor: Cursor = None


class ListActions(Input):
    """Which actions to list."""

    crawl: CrawlName | None = None
    who: (
        Annotated[str, Meta(max_length=300, description="The name or id of a token, or USER@MACHINE.")] | None
    ) = None
    operation: Annotated[str, Meta(max_length=100, examples=["dead_drop", "dead drop"])] | None = None
    since: Since = None
    limit: Limit = 100
    cursor: Cursor = None


class DecideDeadLetters(Input):
    """Which dead letters of a crawl to requeue or drop."""

    crawl: CrawlName
    host: HostName | None = None
    reason: Reason | None = None
    since: Since = None
    dry_run: bool = False
    """Whether only to count the letters."""
    confirm: Confirmation = None


class OneHost(Input):
    """One host."""

    host: HostName


class PauseHost(Input):
    """A host to pause, and for how long."""

    host: HostName
    seconds: Annotated[float, Meta(gt=0, le=315_360_000)] | None = None
    """None: until the host is resumed."""


class PaceHost(Input):
    """The fixed pace of a host."""

    host: HostName
    delay: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    """Seconds between the starts of requests. None: as learned."""
    per_host: Annotated[int, Meta(ge=0, le=1000)] | None = None
    """Concurrent requests. 0: the crawl's setting. None: unchanged."""


class OneWorker(Input):
    """One worker, or all."""

    worker: WorkerName


class Scrape(Input):
    """A page to fetch and read. Nothing is stored."""

    url: WebAddress
    site: SiteName | None = None
    """The site file that reads the page."""
    use: Annotated[str, Meta(max_length=200)] | None = None
    """The page function that reads the page."""
    text: bool = False
    markdown: bool = False
    html: bool = False
    links: bool = False
    screenshot: Literal["page", "full"] | None = None
    """A screenshot of the visible part or of the whole page. A browser loads the page then."""


class AddWebhook(Input):
    """A receiver of events."""

    url: WebAddress
    events: Annotated[list[EventWord], Meta(max_length=10)] = []
    """Default: `crawl.started`, `crawl.changed` and `crawl.ended`. `items` selects all events with new items."""
    crawls: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{0,80}$")] = ""
    """Only crawls whose names begin with this text. Default: all that the token sees."""
    secret: (
        Annotated[
            str, Meta(pattern=r"^whsec_[A-Za-z0-9+/]{32,128}={0,2}$", description="Default: a new one.")
        ]
        | None
    ) = None


class OneWebhook(Input):
    """One webhook."""

    webhook: WebhookName


class ListDeadDeliveries(Input):
    """Which events that were given up to list."""

    webhook: WebhookName
    limit: Limit = 100
    cursor: Cursor = None


class ResendDeliveries(Input):
    """Which events that were given up to deliver again."""

    webhook: WebhookName
    number: Annotated[str, Meta(pattern=r"^[0-9]{1,20}-[0-9]{1,20}$")] | None = None
    """One event. Default: all."""


class ListEvents(Input):
    """Which events to send."""

    crawl: CrawlName | None = None
    """Only events of this crawl. Default: of all crawls."""
