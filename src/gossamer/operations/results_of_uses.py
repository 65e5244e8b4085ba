"""The results of the operations on schedules, uses and the state of a store."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class CommandRun(Struct, kw_only=True):
    """A run of a command that the API started. `use`: `prices`, `ranks`, `keywords`, `audit` or `schedule`."""

    run: str
    use: str
    state: Literal["running", "finished", "stopped", "failed"]
    started_at: str
    ended_at: str | None = None
    exit_code: int | None = None
    meaning: str | None = None
    """The meaning of the exit code."""
    reason: str | None = None
    """The last message of a run that failed."""
    summary: dict[str, Any] | None = None
    """The counts that the command printed."""


class RunPage(Struct, kw_only=True):
    """A page of runs."""

    items: list[CommandRun]
    next: str | None


class Explanation(Struct, kw_only=True):
    """Why a URL was or was not fetched. `gates`: the verdict of each check, with the rule that decided. `attempts`: the
    last requests."""

    url: str
    canonical: str
    crawl: str
    state: str
    gates: list[dict[str, Any]]
    now: str
    why: str
    attempts: list[dict[str, Any]]


class ScheduleList(Struct, kw_only=True):
    """All schedules."""

    items: list[dict[str, Any]]
    scheduler: str | None
    """The scheduler that leads, or None if no scheduler runs."""


class ScheduleChange(Struct, kw_only=True):
    """What an operation did to a schedule."""

    schedule: str
    did: Literal["added", "changed", "paused", "resumed", "removed"]
    next: str | None = None


class ScheduleRuns(Struct, kw_only=True):
    """The last runs of a schedule, latest first."""

    items: list[dict[str, Any]]


class ProxyEntry(Struct, kw_only=True):
    """A proxy and its state. Credentials are left out."""

    proxy: str
    """`provider/host:port`, and eight digits that depend on the credentials."""
    listed: bool
    """Whether a list of the server contains it. Other proxies are those of other machines."""
    scheme: str | None = None
    kind: str | None = None
    countries: list[str] = []
    provider: str | None = None
    state: Literal["ok", "quarantined", "unused"]
    seconds: float = 0.0
    """The rest of the quarantine."""
    good: float = 0.0
    bad: float = 0.0
    latency: float | None = None
    cooling: list[str] = []
    """The domains where it cools down after a block."""


class ProxyPage(Struct, kw_only=True):
    """A page of proxies."""

    items: list[ProxyEntry]
    next: str | None


class SessionList(Struct, kw_only=True):
    """Log-ins at sites, without cookies and credentials. `since` and `used` are ages in seconds."""

    items: list[dict[str, Any]]


class AlertList(Struct, kw_only=True):
    """Alerts, firing ones first. `mutes`: the end of each mute, by pattern. `evaluated`: whether a process evaluates the
    rules."""

    alerts: list[dict[str, Any]]
    mutes: dict[str, str]
    evaluated: bool


class AlertMute(Struct, kw_only=True):
    """A mute, and its end or None."""

    rule: str
    until: str | None


class RateCaps(Struct, kw_only=True):
    """The maximum requests per second, by lane. `fleet` stands for all workers."""

    caps: dict[str, float]


class RungChange(Struct, kw_only=True):
    """The rung that fetches the pages of a host. None: as learned."""

    host: str
    rung: str | None


class CrawlFreshness(Struct, kw_only=True):
    """How fresh the copies of a crawl with revisits are."""

    crawl: str
    freshness: dict[str, Any]


class ChangedPages(Struct, kw_only=True):
    """The number of pages that were reported as changed."""

    crawl: str
    pages: int


class MappedLink(Struct, kw_only=True):
    """A URL of a site. `source`: the sitemap or the page that contains it."""

    url: str
    source: str


class SiteMap(Struct, kw_only=True):
    """The URLs of a site. `problems`: sitemaps and pages that could not be read, each with the reason. `complete`:
    whether everything that was found is listed and all sitemaps were read."""

    url: str
    links: list[MappedLink]
    sitemaps: list[str]
    problems: dict[str, str]
    complete: bool


class FoundPages(Struct, kw_only=True):
    """The pages that match a query, best first. `pages`: the number of indexed pages."""

    query: str
    total: int
    pages: int
    offset: int
    seconds: float
    results: list[dict[str, Any]]
    crawl: str | None = None
    crawls: list[str] = []


class AuditEntry(Struct, kw_only=True):
    """A database of audits, and the counts of its last complete audit."""

    audit: str
    url: str | None = None
    audits: int = 0
    ended_at: str | None = None
    errors: int = 0
    warnings: int = 0
    notices: int = 0


class AuditPage(Struct, kw_only=True):
    """A page of audits."""

    items: list[AuditEntry]
    next: str | None


class AuditReport(Struct, kw_only=True):
    """The last complete audit of a site, as `gossamer audit FILE.db --json` prints it."""

    audit: str
    url: str
    number: int
    before: int | None
    state: str
    whole: bool
    reasons: list[str]
    pages: int
    recent: int
    indexable: int
    links: int
    external_checked: int
    external: int
    errors: int
    warnings: int
    notices: int
    infos: int
    new: int
    fixed: int
    seconds: float
    checks: list[dict[str, Any]]
