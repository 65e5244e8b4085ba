"""The results of operations, where no struct of the application fits."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from gossamer.frontier.stats import Letter, Queued
from gossamer.model.summary import Summary
from gossamer.state.action_log import Action

JsonObject = dict[str, Any]
Texts = dict[str, str]
"""Aliases, because `dict` in the class `Summary` is the method of this name."""


class CrawlEntry(Summary, kw_only=True):
    """A crawl in the list of crawls."""

    broken_off: list[str] = msgspec.field(default_factory=list)
    """Producers, for example long lists of seeds, that were not read to the end."""
    go_on: str | None = None
    now: JsonObject = msgspec.field(default_factory=dict)
    """The current rates, the age of the last page, and the reason why a crawl is idle."""


class CrawlStatus(CrawlEntry, kw_only=True):
    """The state of one crawl. Its size does not depend on the number of pages."""

    slowest_hosts: list[JsonObject] = msgspec.field(default_factory=list)
    workers: JsonObject = msgspec.field(default_factory=dict)
    refusals: Texts = msgspec.field(default_factory=dict)
    expected_lost: float = 0.0
    weight: int = 1
    precedence: int = 0
    lanes: list[JsonObject] = msgspec.field(default_factory=list)


class CrawlOutcome(Struct, kw_only=True):
    """How a crawl ended. `exit_code`, `meaning` and `error` are null while the crawl runs. If the process of the crawl
    died, the exit code is 9, although the state is not that of an end."""

    crawl: str
    state: str
    reason: str | None
    exit_code: int | None
    """The exit code that `gossamer crawl` returns."""
    meaning: str | None
    error: str | None
    """Why the crawl failed, or null if it did not."""
    found: int
    pages: int
    items: int
    failed: int
    dead: int
    pending: int


COUNTS_OF_OUTCOME = ("crawl", "state", "reason", "found", "pages", "items", "failed", "dead", "pending")


class CrawlPage(Struct, kw_only=True):
    """A page of crawls."""

    items: list[CrawlEntry]
    next: str | None


class CrawlHandle(Struct, kw_only=True):
    """The state of a crawl after an operation, and what the operation did."""

    crawl: str
    state: str
    said: str


class AddedUrls(Struct, kw_only=True):
    """The result of adding URLs. The fields are those of `gossamer.Added`."""

    crawl: str
    state: str
    running: bool
    continued: bool
    added: int
    duplicates: int
    recent: int
    refused: dict[str, int]
    refused_urls: list[list[str]]
    rejected: int
    rejected_lines: list[dict[str, Any]]


class Reprioritized(Struct, kw_only=True):
    """The number of URLs whose priority changed."""

    crawl: str
    priority: int
    urls: int
    dry_run: bool
    confirm: str | None = None
    """After a dry run: what confirms the change for 60 s."""


class FleetShare(Struct, kw_only=True):
    """A crawl's share of the fleet."""

    crawl: str
    weight: int
    precedence: int


class CrawlLimits(Struct, kw_only=True):
    """What was changed while a crawl ran. Of a limit, null means as it was started, and 0 no limit."""

    crawl: str
    limit: int | None = None
    size_limit: int | None = None
    time_limit: float | None = None
    exclude: list[str] = []


class CrawlHost(Struct, kw_only=True):
    """A host of a crawl. Times are in seconds."""

    host: str
    state: str
    waiting: int
    in_flight: int
    delay: float | None
    next: float
    retrying: int
    fixed_delay: float | None
    crawl_delay: float


class CrawlHostList(Struct, kw_only=True):
    """The first hosts of a crawl."""

    items: list[CrawlHost]


class RowPage(Struct, kw_only=True):
    """A page of rows. `note`: what is missing in it and why, or None."""

    items: list[dict[str, Any]]
    next: str | None
    note: str | None = None


class RequeuedUrls(Struct, kw_only=True):
    """The number of skipped URLs that were selected, and that were requeued."""

    crawl: str
    urls: int
    dry_run: bool
    added: int = 0
    refused: dict[str, int] = {}
    """Those that the crawl refuses again, by reason."""
    masked: int = 0
    """Those that cannot be requeued, because the list does not contain their secrets."""
    sample: list[str] = []
    confirm: str | None = None
    """After a dry run: what confirms the change for 60 s."""


class LetterPage(Struct, kw_only=True):
    """A page of dead letters."""

    items: list[Letter]
    next: str | None


class Decided(Struct, kw_only=True):
    """The number of dead letters that were requeued or dropped."""

    crawl: str
    letters: int
    dry_run: bool
    sample: list[Letter] = []
    """After a dry run: some of the letters."""
    confirm: str | None = None
    """After a dry run: what confirms the change for 60 s."""


class ActionPage(Struct, kw_only=True):
    """A page of actions."""

    items: list[Action]
    next: str | None


class UndoneLetters(Struct, kw_only=True):
    """A requeue or drop of dead letters that was undone."""

    crawl: str
    verb: Literal["requeue", "drop"]
    letters: int
    """The number of URLs that are dead letters again."""
    kept: int
    """The number of requeued URLs that were fetched in the meantime and stay as they are."""


class HostStatus(Struct, kw_only=True):
    """The state of a host, which all crawls share. Times are in seconds."""

    host: str
    bucket: int
    known: bool
    in_flight: int
    at_once: int | None
    next: float
    delay: float | None
    fixed_delay: float | None
    pace: str
    crawl_delay: float
    paused: float
    rate_limited_until: str | None
    """The time (RFC 3339) before which nothing is requested, because the last response asked to slow down, or None."""
    robots: dict[str, dict[str, float]]
    crawls: list[Queued]
    breaker: dict[str, Any]
    ladder: dict[str, Any]
    blocks: list[dict[str, Any]]
    proxies: dict[str, int]
    sessions: list[dict[str, Any]]


class HostChange(Struct, kw_only=True):
    """What an operation changed about a host."""

    host: str
    paused: bool | None = None
    seconds: float | None = None
    delay: float | None = None
    per_host: int | None = None


class FleetWorkers(Struct, kw_only=True):
    """The workers of a fleet."""

    items: list[dict[str, Any]]


class Ordered(Struct, kw_only=True):
    """The workers that got an order."""

    order: str
    workers: list[str]


class ScrapedPage(Struct, kw_only=True):
    """One page, read as a crawl would read it."""

    url: str
    page: dict[str, Any] | None
    """The page record, or None if no page was received."""
    items: list[dict[str, Any]]
    text: str | None = None
    markdown: str | None = None
    html: str | None = None
    """The source of the page."""
    links: list[dict[str, Any]] | None = None
    screenshot: bytes | None = None
    """A PNG picture, in base64 in JSON."""
    robots: dict[str, Any] | None = None
    """The line of robots.txt that disallows the page."""
    errors: dict[str, int]
    skipped: dict[str, int]
    unread: list[str]
    """The reasons why a site could not read the page."""
    attempts: list[dict[str, Any]]


class Version(Struct, kw_only=True):
    """The version of gossamer, and what the caller may do."""

    version: str
    scope: str
    prefix: str
    crawls_at_once: int


class CrawlEvent(Struct, kw_only=True):
    """A change of a crawl. `type`: `crawl.started`, `crawl.updated` (counts), `crawl.changed` (another state) or
    `crawl.ended`."""

    type: str
    at: str
    crawl: str
    state: str
    before: str | None
    """The state before the change, or None for a new crawl."""
    reason: str | None
    found: int
    pages: int
    items: int
    new_items: int = 0
    """The number of items since the event before."""
    new_items_at: str | None = None
    """The address of a list that contains the new items. It may also contain items that earlier events counted."""
    failed: int
    dead: int
    pending: int


class WebhookStatus(Struct, kw_only=True):
    """A receiver of events. `url`: its address without secrets."""

    id: str
    url: str
    events: list[str]
    crawls: str
    """Only crawls whose names begin with this text."""
    created_at: str
    is_setting: bool
    """Whether the setting `webhooks` names it."""
    waiting: int
    dead: int
    """The numbers of events that wait for delivery, and of events that were given up."""


class AddedWebhook(WebhookStatus, kw_only=True):
    """A webhook that was added."""

    secret: str | None
    """The secret that signs the messages. It is shown only once, in the first answer."""


class WebhookList(Struct, kw_only=True):
    """All webhooks that the caller sees."""

    items: list[WebhookStatus]


class RemovedWebhook(Struct, kw_only=True):
    """A webhook that was removed."""

    id: str


class DeadDelivery(Struct, kw_only=True):
    """An event that was given up."""

    number: str
    """The number of the event. The header `webhook-id` of its messages is `evt_` and this number."""
    given_up_at: str
    attempts: int
    error: str
    event: JsonObject


class DeadDeliveryPage(Struct, kw_only=True):
    """A page of events that were given up."""

    items: list[DeadDelivery]
    next: str | None


class Resent(Struct, kw_only=True):
    """The number of events that are delivered again."""

    id: str
    events: int
