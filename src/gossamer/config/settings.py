"""The settings of a crawl. The settings are not nested, have the names of the options of `gossamer crawl`,
and never change after gossamer has read them.

`load` merges the sources: the defaults, `gossamer.toml`, environment variables (`GOSSAMER_DELAY`), `-s
delay=2`, and the options. Later sources override earlier ones. Secrets are never written to `gossamer.toml`.
The file contains references to secrets, as `${env:NAME}` or `${file:PATH}`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer import __version__
from gossamer.config import value_parsers
from gossamer.config.redaction import MASK, mask, register_in
from gossamer.config.secret_refs import KEPT, reveal_references
from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.model.proxy import ROTATIONS
from gossamer.url.routes import MODES as ROUTE_MODES

FILE = "gossamer.toml"
PREFIX = "GOSSAMER_"
PROJECT = "https://pypi.org/project/gossamer/"
DEFAULT_MAX_PAGES_PER_HOST = 10_000
DEFAULT_RETRIES = (60.0, 300.0, 1800.0)
RETRY_TIME_S = 120.0
"""The maximum number of seconds for which a crawl with its own store goes on when only retries are left."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, parsed and checked. `ABOUT` describes each setting. Times are in seconds, and sizes are
    in bytes."""

    store: str | None = None
    data: str = ".gossamer"
    keep: int | None = 10 << 30
    """The maximum size of the rows that crawls keep in the data folder. None means that crawls keep no rows
    in the data folder."""
    keep_attempts: int | None = 64 << 20
    """The maximum compressed size of the attempts log of each crawl in a shared store. None means that a
    shared store contains no attempts logs."""
    keep_skipped: int | None = 16 << 20
    """The maximum size of the list of skipped URLs of each crawl on each machine. None means that no list is
    written."""
    cold: str | None = None
    user_agent: str | None = None
    contact: str | None = None
    scope: str = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    depth: int = 50
    limit: int | None = None
    time_limit: float | None = None
    size_limit: int | None = None
    delay: tuple[float, float] | None = None
    """The shortest and the longest delay between requests to a host. If `delay` is None, the delay of each
    host is learned."""
    host_rate: float | None = None
    """The rate from which `delay` was computed, in requests per second per host."""
    per_host: int = 1
    polite_by: str = "host"
    rate: float | None = None
    lane: str = "http"
    region: str | None = None
    retries: tuple[float, ...] | None = None
    """The wait before each retry. If `retries` is None, the waits are DEFAULT_RETRIES, and a crawl with its
    own store ends soon after only retries are left (`retry_time`)."""
    revisit: str | None = None
    """When pages are revisited: `auto`, or the time after which each page is visited again. If `revisit` is
    None, pages are visited only once."""
    if_older: float | None = None
    revisit_budget: str | None = None
    max_age: float | None = None
    min_age: float | None = None
    importance: tuple[str, ...] = ()
    """The importance of pages for revisits, as `PATTERN=WEIGHT` texts."""
    concurrency: int | str = "auto"
    """A number, or `auto`."""
    processes: int | str = 1
    """A number, or `auto`."""
    log_level: str = "info"
    log_format: str | None = None
    """The format of the log. If `log_format` is None, the command `crawl` shows its progress instead of a
    log, and other processes log as text."""
    ladder: tuple[str, ...] = value_parsers.RUNGS[:1]
    browser: tuple[str, ...] = ("any",)
    session: float = 3600.0
    session_key: str | None = None
    """A reference to the key, never the key itself."""
    proxies: tuple[str, ...] = ()
    rotation: str = "request"
    proxy_check: str | None = None
    chromium: str | None = None
    browser_pages: int = 4
    browser_requests: int = 200
    ignore_robots: bool = False
    allow_private: tuple[str, ...] = ()
    allow_port: tuple[int, ...] = ()
    host_pages: int | None = None
    host_bytes: int | None = None
    host_time: float | None = None
    rate_limit_wait: float = 3600.0
    """The longest wait, in seconds, that a host may demand (429, 503, Retry-After). URLs of a host that demands a
    longer one become dead letters."""
    seen: str = "default"
    drop_parameters: tuple[str, ...] = ()
    fragments: str = "auto"
    text_format: str = "plain"
    duplicates: str = "off"
    guard: str = "on"
    timeout: float = 30.0
    max_size: int = 16 << 20
    cache: str | None = None
    http2: bool = True
    ca_file: str | None = None
    unlocker: str | None = None
    unlocker_key: str | None = None
    """A reference to the key, never the key itself."""
    unlocker_shape: tuple[str, ...] = ()
    credits: int | None = None
    credits_daily: int | None = None
    broker: tuple[str, ...] = ()
    sites: str = "."
    slice: float = 60.0
    recycle_slices: int = 1000
    recycle_time: float = 4 * 3600.0
    recycle_memory: int = 600 << 20
    metric_domains: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    """The receivers of alerts. Secrets of a receiver are given as references to the secrets."""
    alert_rules: str | None = None
    webhooks: tuple[str, ...] = ()
    """The receivers of events of `serve`, with references to their secrets, never the secrets themselves."""
    histories: tuple[str, ...] = ()
    """Histories in PostgreSQL that callers of `serve` may name, as `NAME=postgresql://...` with references to secrets."""
    keep_runs: int = 1000
    """The number of ended runs of `serve` whose folders are kept."""
    message_fields: tuple[str, ...] = ()
    """The names of fields in messages and lists of other programs, as `THEIRS=OURS` texts."""
    traces: str | None = None
    trace_sample: float = 0.01

    @property
    def agent(self) -> str:
        """The value of the User-Agent header: the setting, or the default."""
        return self.user_agent or f"gossamer/{__version__} (+{self.contact or PROJECT})"

    @property
    def waits(self) -> tuple[float, ...]:
        """The wait before each retry in seconds."""
        return DEFAULT_RETRIES if self.retries is None else self.retries

    @property
    def retry_time(self) -> float | None:
        """The maximum number of seconds for which the crawl goes on when only retries are left. None means
        that the crawl waits for all retries."""
        own_store = self.store is None and self.revisit is None
        return RETRY_TIME_S if own_store and self.retries is None else None

    @property
    def page_cap(self) -> int:
        """The page limit of a discovered host, in the form that the frontier expects. A limit that the user
        set is passed as a negative number and applies to all hosts equally."""
        return DEFAULT_MAX_PAGES_PER_HOST if self.host_pages is None else -self.host_pages


class SettingSpec(NamedTuple):
    """Describes a setting: the function that parses its value, the JSON types that it accepts, and a text
    that explains it."""

    read: Callable[[Any], Any]
    types: str
    text: str


_MAX_INTEGER = 1 << 53
_LIST = "array string"
ABOUT: dict[str, SettingSpec] = {
    "store": SettingSpec(
        value_parsers.store,
        "string",
        "URL of a shared store, for example redis://HOST, redis+sentinel:// or redis+cluster:// "
        "(docs/stores.md). Without a URL, gossamer runs its own store in `data`",
    ),
    "data": SettingSpec(
        value_parsers.line, "string", "folder for the store, the logs and the state of crawls"
    ),
    "keep": SettingSpec(
        value_parsers.kept_size,
        "integer string",
        "maximum total size of the items and page records that crawls keep in `data`, in bytes or "
        "as 500M, 10G. The rows of the oldest finished crawls are removed first. off: crawls keep "
        "no rows",
    ),
    "keep_attempts": SettingSpec(
        value_parsers.kept_size,
        "integer string",
        "maximum size of each crawl's attempts in a shared store after compression, in bytes or "
        "as 500M. The oldest attempts are dropped first. off: the store keeps no attempts. With "
        "revisit, also the maximum size of attempts.jsonl (at least 1M)",
    ),
    "keep_skipped": SettingSpec(
        value_parsers.kept_size,
        "integer string",
        "maximum size of each crawl's list of skipped URLs (skipped.jsonl), in bytes or as 16M. A "
        "full list says so. off: no list is written",
    ),
    "cold": SettingSpec(
        value_parsers.cold,
        "string",
        "where the URLs of long queues are stored: sqlite: in `data` (the default if the store is "
        "in `data`), redis://HOST:PORT of a server that keeps them on its disk, or off. ?hot=N: "
        "number of URLs per host and priority that stay in memory (512)",
    ),
    "user_agent": SettingSpec(
        value_parsers.line,
        "string",
        "the User-Agent header. The default contains gossamer, its version and `contact`",
    ),
    "contact": SettingSpec(
        value_parsers.line, "string", "URL or e-mail address that the default User-Agent header contains"
    ),
    "scope": SettingSpec(
        partial(value_parsers.one_of, value_parsers.SCOPES),
        "string",
        "which links are followed: page, prefix, host, domain or any",
    ),
    "include": SettingSpec(
        value_parsers.patterns, _LIST, "visit only URLs that match one of these regular expressions"
    ),
    "exclude": SettingSpec(
        value_parsers.patterns, _LIST, "visit no URL that matches one of these regular expressions"
    ),
    "depth": SettingSpec(
        partial(value_parsers.count, 0, 1_000_000), "integer", "maximum distance from a seed, in links"
    ),
    "limit": SettingSpec(
        partial(value_parsers.count, 1, _MAX_INTEGER), "integer", "maximum number of pages of the crawl"
    ),
    "time_limit": SettingSpec(
        value_parsers.span,
        "number string",
        ("maximum time for which the crawl runs, in seconds or as 90s, 5m, 2h. Earlier runs are included"),
    ),
    "size_limit": SettingSpec(
        value_parsers.size,
        "integer string",
        "maximum size of all bodies as received, in bytes or as 500k, 10M, 2G",
    ),
    "delay": SettingSpec(
        value_parsers.delay,
        "number string",
        "seconds between the starts of two requests to a host, or a range such as 5-10. Without "
        "this setting, the delay of each host is learned",
    ),
    "host_rate": SettingSpec(
        value_parsers.host_rate,
        "number string",
        "requests per second to a host, or requests per minute such as 30/m. Another unit for "
        "`delay`: a rate of 2 is a delay of 0.5",
    ),
    "per_host": SettingSpec(partial(value_parsers.count, 1, 1000), "integer", "parallel requests per host"),
    "polite_by": SettingSpec(
        partial(value_parsers.one_of, value_parsers.POLITE_BY),
        "string",
        "whose hosts share one politeness budget: host, domain or ip (address)",
    ),
    "rate": SettingSpec(value_parsers.rate, "number", "maximum requests per second of the whole crawl"),
    "lane": SettingSpec(
        value_parsers.lane, "string", "the lane of the workers that serve a host if its site sets no lane"
    ),
    "region": SettingSpec(
        value_parsers.label,
        "string",
        "of a crawl: the region whose workers serve its hosts. Of a worker: the region in which "
        "it runs. None: any region",
    ),
    "retries": SettingSpec(
        value_parsers.retries,
        _LIST,
        "the wait before each retry, such as 1m,5m,30m, or none. By default 1m,5m,30m. If the store is in "
        "`data` and this is not set, the crawl ends at most 2 minutes after only retries are left",
    ),
    "revisit": SettingSpec(
        value_parsers.revisit,
        "number string",
        "the crawl never ends, and visits known pages again. auto: each page as often as it "
        "changes. A time such as 24h: each page after this time",
    ),
    "if_older": SettingSpec(
        value_parsers.span,
        "number string",
        "a crawl that ended visits known pages again, but only those whose last good visit is older than this, "
        "in seconds or as 24h",
    ),
    "revisit_budget": SettingSpec(
        value_parsers.budget,
        "string",
        "maximum number of visits to known pages: a share of the pages that the crawl may fetch "
        "(10%), or a rate such as 5000/d, 200/h",
    ),
    "max_age": SettingSpec(
        value_parsers.span,
        "number string",
        "with revisit: maximum time between two visits of a page, in seconds or as 30d",
    ),
    "min_age": SettingSpec(
        value_parsers.span,
        "number string",
        "with revisit: minimum time between two visits of a page, in seconds or as 1h",
    ),
    "importance": SettingSpec(
        value_parsers.importance,
        _LIST,
        "with revisit: PATTERN=WEIGHT sets how important the matching pages are (default 1). With "
        "inlinks, a page is more important if more pages link to it",
    ),
    "concurrency": SettingSpec(
        value_parsers.concurrency,
        "integer string",
        "number of parallel visits in a process. auto: from 64 on, as many as hosts, processor, "
        "memory and open files allow",
    ),
    "processes": SettingSpec(
        value_parsers.processes, "integer string", "number of processes. auto: one per core"
    ),
    "log_level": SettingSpec(
        partial(value_parsers.one_of, value_parsers.LOG_LEVELS),
        "string",
        ("lowest level at which log records of site files are printed: debug, info, warning or error"),
    ),
    "log_format": SettingSpec(
        partial(value_parsers.one_of, ("text", "json")),
        "string",
        "format of the log on stderr, with one event per line: text or json. By default, crawl "
        "shows its progress instead, and workers log text",
    ),
    "ladder": SettingSpec(
        value_parsers.ladder,
        _LIST,
        "ways to fetch a page, in this order: plain (without disguise), impersonated (as a "
        "browser), browser (Chromium), unlocker (an API). A blocked visit climbs to the next one",
    ),
    "browser": SettingSpec(
        value_parsers.words,
        _LIST,
        "browsers to imitate on the impersonated rung: any, chrome, firefox147, ... With firefox, the browser "
        "rung uses Firefox",
    ),
    "session": SettingSpec(
        value_parsers.span, "number string", "how long a site sees the same browser, in seconds or as 30m, 1h"
    ),
    "session_key": SettingSpec(
        value_parsers.reference,
        "string",
        "reference to the key that encrypts log-ins: ${env:NAME} or ${file:PATH}",
    ),
    "proxies": SettingSpec(
        value_parsers.words,
        _LIST,
        ("files of proxies. Each request goes through one of them, and no request is sent without a proxy"),
    ),
    "rotation": SettingSpec(
        partial(value_parsers.one_of, ROTATIONS),
        "string",
        "when the proxy changes: for each request, session or host",
    ),
    "proxy_check": SettingSpec(
        value_parsers.page,
        "string",
        "URL of a test page that each proxy must fetch in the background. A text that the page "
        "must contain may follow after a space",
    ),
    "chromium": SettingSpec(
        value_parsers.line, "string", "program of the browser rung. The default is Chromium or Chrome on PATH"
    ),
    "browser_pages": SettingSpec(
        partial(value_parsers.count, 1, 64), "integer", "parallel pages in a process's browser"
    ),
    "browser_requests": SettingSpec(
        partial(value_parsers.count, 0, 100_000),
        "integer",
        "maximum number of requests that a page in the browser makes to its own host; others fail",
    ),
    "ignore_robots": SettingSpec(value_parsers.flag, "boolean", "do not request robots.txt"),
    "allow_private": SettingSpec(
        value_parsers.networks,
        _LIST,
        "networks of private addresses that may be visited, such as 10.1.0.0/16",
    ),
    "allow_port": SettingSpec(
        value_parsers.ports,
        "array integer",
        "ports in addition to those of the seeds and 80, 443, 8080, 8443",
    ),
    "host_pages": SettingSpec(
        partial(value_parsers.count, 1, _MAX_INTEGER),
        "integer",
        "maximum number of pages of a host without a seed. By default up to 10,000, depending on "
        "how many domains in good standing link to the host",
    ),
    "host_bytes": SettingSpec(
        value_parsers.size,
        "integer string",
        "maximum size of all bodies of one host as received, in bytes or as 10M",
    ),
    "host_time": SettingSpec(
        value_parsers.span,
        "number string",
        "maximum time since a host's first request, in seconds or as 5m. Only time during which "
        "the crawl runs counts",
    ),
    "rate_limit_wait": SettingSpec(
        value_parsers.span,
        "number string",
        "longest wait that a host may demand with the status 429 or 503, in seconds or as 2h. URLs of a "
        "host that demands a longer one become dead letters (rate-limited)",
    ),
    "seen": SettingSpec(
        partial(value_parsers.one_of, value_parsers.SEEN),
        "string",
        "how seen URLs are stored: default, exact, or bloom (smallest)",
    ),
    "drop_parameters": SettingSpec(
        value_parsers.words, _LIST, "query parameters to ignore, in addition to tracking parameters"
    ),
    "fragments": SettingSpec(
        partial(value_parsers.one_of, ROUTE_MODES),
        "string",
        "whether #/routes of single-page applications are pages of their own. auto: only if a "
        "page in the browser shows that its site uses them. routes: always. drop: never",
    ),
    "text_format": SettingSpec(
        partial(value_parsers.one_of, ("plain", "markdown")),
        "string",
        "form of the text that --text adds to page records: plain or markdown",
    ),
    "duplicates": SettingSpec(
        value_parsers.duplicates,
        "string",
        "which pages with the same text are marked: off, exact, or near (also pages with nearly "
        "the same text). ?most=N: maximum number of groups",
    ),
    "guard": SettingSpec(
        partial(value_parsers.one_of, ("on", "off")),
        "string",
        "whether a run that is not like the last good runs ends with exit code 31: on or off",
    ),
    "timeout": SettingSpec(
        value_parsers.span,
        "number string",
        "maximum time for fetching one page, and for the functions of a site that read it, "
        "in seconds or as 90s, 5m",
    ),
    "max_size": SettingSpec(
        value_parsers.size,
        "integer string",
        ("maximum size of a body as received, in bytes or as 16M. The decoded body may have twice this size"),
    ),
    "cache": SettingSpec(
        value_parsers.line,
        "string",
        "folder in which pages are kept: each page is fetched once and then replayed",
    ),
    "http2": SettingSpec(value_parsers.flag, "boolean", "use HTTP/2 if the server does"),
    "ca_file": SettingSpec(
        value_parsers.file, "string", "file of trusted certificates (PEM) instead of the system's"
    ),
    "unlocker": SettingSpec(
        value_parsers.line,
        "string",
        "API of the unlocker rung: scraperapi, zenrows, brightdata, zyte or scrapfly, each with "
        "optional ?options, or the URL of another API",
    ),
    "unlocker_key": SettingSpec(
        value_parsers.reference, "string", "reference to the unlocker's key: ${env:NAME} or ${file:PATH}"
    ),
    "unlocker_shape": SettingSpec(
        value_parsers.texts,
        _LIST,
        "how the requests and responses of an unlocker look, if `unlocker` is a URL",
    ),
    "credits": SettingSpec(
        partial(value_parsers.count, 0, _MAX_INTEGER),
        "integer",
        "maximum number of unlocker credits that the crawl spends",
    ),
    "credits_daily": SettingSpec(
        partial(value_parsers.count, 0, _MAX_INTEGER),
        "integer",
        "maximum number of unlocker credits that all crawls together spend per day (UTC)",
    ),
    "broker": SettingSpec(
        partial(value_parsers.words, between=value_parsers.URLS),
        _LIST,
        "URLs of Celery's brokers (redis, valkey, unix, redis+sentinel, amqp). If a broker fails, "
        "Celery uses the next one",
    ),
    "sites": SettingSpec(
        value_parsers.line, "string", "folder in which a worker of a fleet has its site files"
    ),
    "slice": SettingSpec(
        value_parsers.span,
        "number string",
        "how long a worker of a fleet crawls before it checks whether to continue",
    ),
    "recycle_slices": SettingSpec(
        partial(value_parsers.count, 1, 1_000_000),
        "integer",
        "number of slices after which a worker replaces its process",
    ),
    "recycle_time": SettingSpec(
        value_parsers.span, "number string", "time after which a worker replaces its process"
    ),
    "recycle_memory": SettingSpec(
        value_parsers.size, "integer string", "memory use above which a worker replaces its process"
    ),
    "metric_domains": SettingSpec(
        value_parsers.words,
        _LIST,
        "registered domains that have priority for metrics of their own. At most 50 domains have "
        "such metrics",
    ),
    "alerts": SettingSpec(
        value_parsers.texts,
        _LIST,
        "receivers of alerts: https://HOST/PATH, slack+https://..., mailto:ADDRESS?smtp=smtp://HOST, "
        "command:PROGRAM (docs/alerts.md)",
    ),
    "alert_rules": SettingSpec(value_parsers.line, "string", "a TOML file that changes the alert rules"),
    "webhooks": SettingSpec(
        value_parsers.texts,
        _LIST,
        "receivers of the events of serve: https://HOST/PATH?secret=${env:NAME}&events=crawl.ended (docs/api.md)",
    ),
    "histories": SettingSpec(
        value_parsers.histories,
        _LIST,
        "NAME=postgresql://... names a price or rank history in PostgreSQL for callers of serve (docs/api.md)",
    ),
    "keep_runs": SettingSpec(
        partial(value_parsers.count, 0, 1_000_000),
        "integer",
        "number of runs of serve whose folders are kept. Older ones are removed when a run starts, except those of the last 24 hours",
    ),
    "message_fields": SettingSpec(
        value_parsers.message_fields,
        _LIST,
        "THEIRS=OURS renames a field of the JSON lines and messages that other programs write. THEIRS= ignores the "
        "field, and *= ignores all unknown fields (docs/producers.md)",
    ),
    "traces": SettingSpec(
        value_parsers.receiver,
        "string",
        ("the OpenTelemetry receiver of traces, such as http://HOST:4318 (docs/traces.md). None: no traces"),
    ),
    "trace_sample": SettingSpec(
        value_parsers.share,
        "number string",
        "share of URLs that is traced, from 0 to 1. Failed visits are always traced",
    ),
}


class GivenSetting(NamedTuple):
    """A setting's value and the place where it was set, for example `gossamer.toml`, `GOSSAMER_DELAY`, `-s
    delay=2` or `--delay`."""

    where: str
    name: str
    value: object


def load(
    given: Iterable[GivenSetting] = (),
    *,
    folder: str | os.PathLike[str] = ".",
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Reads all sources and returns the settings. `given` contains the `-s` values and the options. Later
    entries override earlier ones. `folder` is the folder that may contain gossamer.toml.

    Raises ConfigError for an invalid or unknown setting, or UsageError if the setting came from an option
    (`--delay`), or if `-s` names an unknown setting. The message names the source and suggests the most
    similar setting.
    """
    env = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    sources = [_of_file(Path(folder)), _of_environment(env), list(given)]
    for one in (one for source in sources for one in _one_of_delays(source, values)):
        kind: type[GossamerError] = UsageError if one.where.startswith("--") else ConfigError
        if one.name not in ABOUT:
            # `-s` is an option, so a name that does not exist is a mistake in the command
            kind = UsageError if one.where.startswith("-") else ConfigError
            meant = value_parsers.nearest(one.name, ABOUT) or ": gossamer config schema names all"
            raise kind(f"{one.where}: there is no setting {one.name!r}{meant}")
        try:
            value = reveal_references(one, env, one.where.endswith(FILE))
            for text in value if isinstance(value, list | tuple) else (value,):
                register_in(str(text))
            values[one.name] = ABOUT[one.name].read(value)
            if one.name == "host_rate":
                values["delay"] = (1 / values["host_rate"],) * 2
        except ValueError as error:
            shown = MASK if one.name in KEPT else mask(str(one.value))
            raise kind(f"{one.where}: {one.name} = {shown}: {error}") from None
    return Settings(**values)


def _one_of_delays(source: list[GivenSetting], values: dict[str, Any]) -> list[GivenSetting]:
    """Returns the settings of one source. If this source sets `delay` or `host_rate`, removes the `delay` and
    the `host_rate` of earlier sources from `values`. Raises UsageError or ConfigError if this source sets
    both `delay` and `host_rate`."""
    given = {one.name: one.where for one in source if one.name in ("delay", "host_rate")}
    if len(given) > 1:
        kind: type[GossamerError] = UsageError if given["host_rate"].startswith("--") else ConfigError
        raise kind(
            f"{given['delay']} and {given['host_rate']}: delay and host_rate both set the time between two "
            "requests to a host: give only one of them"
        )
    for name in ("delay", "host_rate") if given else ():
        values.pop(name, None)
    return source


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Returns the settings as plain values with secrets masked. `user_agent` is the header's actual value."""
    plain = msgspec.to_builtins(settings)
    plain["user_agent"] = settings.agent
    return {name: _masked(value) for name, value in plain.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_masked(one) for one in value]
    return mask(value) if isinstance(value, str) else value


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of gossamer.toml."""
    properties = {}
    for name, default in msgspec.to_builtins(Settings()).items():
        types = ABOUT[name].types.split()
        properties[name] = {"type": types if len(types) > 1 else types[0], "description": ABOUT[name].text}
        if default is not None:
            properties[name]["default"] = list(default) if isinstance(default, tuple) else default
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FILE,
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _of_file(folder: Path) -> list[GivenSetting]:
    path = folder / FILE
    try:
        text = path.read_text("utf-8-sig")
        import tomllib  # imported late, because most folders have no such file

        found = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    return [GivenSetting(str(path), name, value) for name, value in found.items()]


def _of_environment(env: Mapping[str, str]) -> list[GivenSetting]:
    return [
        GivenSetting(k, k.removeprefix(PREFIX).lower(), v)
        for k, v in sorted(env.items())
        if k.startswith(PREFIX) and v
    ]
