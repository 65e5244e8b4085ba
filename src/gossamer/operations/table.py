"""The table of operations."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from gossamer.model.summary import Summary
from gossamer.operations import inputs, results


class Operation(Struct, frozen=True, kw_only=True):
    """One operation."""

    name: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    """The path of the route. The other fields of the input are in the query (GET) or in the body."""
    code: str
    """The function, as `module:function` of this package. The client does not import it."""
    input: type[inputs.Input]
    result: type
    scope: Literal["read", "run", "admin"] = "read"
    reach: Literal["crawl", "crawls", "store", "none"] = "crawl"
    """What the operation concerns: the crawl in its path, all crawls that the caller sees, the whole store (the
    token then needs to have no prefix), or no crawl."""
    command: str
    """The command that does the same, or '' if there is none."""
    method_of_client: str
    example: dict[str, Any] = {}
    status: int = 200
    streams: bool = False
    """Whether the rows are also available as NDJSON, CSV and Parquet."""
    tagged: str = ""
    """The name of the operation whose entity tag `If-Match` is compared with, or ''."""
    needs_tag: bool = False

    @property
    def changes(self) -> bool:
        """Whether the operation changes anything."""
        return self.method != "GET"

    @property
    def call(self) -> Callable[..., Awaitable[Any]]:
        """The function of the operation."""
        module, _, name = self.code.partition(":")
        found: Callable[..., Awaitable[Any]] = getattr(
            importlib.import_module(f"gossamer.operations.{module}"), name
        )
        return found

    @property
    def about(self) -> str:
        """The description of the operation, which is the docstring of its function."""
        return " ".join((inspect.getdoc(self.call) or "").split())

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields of the input that are in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


def _steering(verb: str, result: type = results.CrawlHandle) -> Operation:
    return Operation(
        name=f"crawl_{verb}",
        method="POST",
        path=f"/v1/crawls/{{crawl}}/{verb}",
        code=f"crawls:crawl_{verb}",
        input=inputs.OneCrawl,
        result=result,
        scope="run",
        command=verb,
        method_of_client=verb,
        example={"crawl": "books"},
        tagged="crawl_show",
    )


def _rows(what: str, command: str, code: str, given: type[inputs.Input]) -> Operation:
    return Operation(
        name=f"{what.rstrip('s')}_list",
        method="GET",
        path=f"/v1/crawls/{{crawl}}/{what}",
        code=code,
        input=given,
        result=results.RowPage,
        command=command,
        method_of_client=what,
        example={"crawl": "books", "limit": 2},
        streams=True,
    )


OPERATIONS = (
    Operation(
        name="version",
        method="GET",
        path="/v1/version",
        code="hosts:version",
        input=inputs.NoInput,
        result=results.Version,
        reach="none",
        command="version",
        method_of_client="version",
    ),
    Operation(
        name="crawl_list",
        method="GET",
        path="/v1/crawls",
        code="crawls:crawl_list",
        input=inputs.ListCrawls,
        result=results.CrawlPage,
        reach="crawls",
        command="status",
        method_of_client="crawls",
        example={"limit": 10},
    ),
    Operation(
        name="crawl_start",
        method="POST",
        path="/v1/crawls",
        code="starting:crawl_start",
        input=inputs.StartCrawl,
        result=results.CrawlStatus,
        scope="run",
        reach="crawls",
        command="crawl",
        method_of_client="start",
        example={"targets": ["https://books.toscrape.com/"], "name": "books", "limit": 100, "wait": 1.0},
        status=202,
    ),
    Operation(
        name="crawl_show",
        method="GET",
        path="/v1/crawls/{crawl}",
        code="crawls:crawl_show",
        input=inputs.ShowCrawl,
        result=results.CrawlStatus,
        command="status",
        method_of_client="status",
        example={"crawl": "books"},
        tagged="crawl_show",
    ),
    _steering("pause"),
    _steering("resume"),
    _steering("finish"),
    _steering("stop"),
    _steering("cancel"),
    _steering("accept", Summary),
    Operation(
        name="crawl_add",
        method="POST",
        path="/v1/crawls/{crawl}/urls",
        code="crawls:crawl_add",
        input=inputs.AddUrls,
        result=results.AddedUrls,
        scope="run",
        command="add",
        method_of_client="add",
        example={"crawl": "books", "urls": ["https://books.toscrape.com/"], "priority": 5},
    ),
    Operation(
        name="crawl_priority",
        method="POST",
        path="/v1/crawls/{crawl}/priority",
        code="crawls:crawl_priority",
        input=inputs.ChangePriority,
        result=results.Reprioritized,
        scope="run",
        command="priority",
        method_of_client="priority",
        example={"crawl": "books", "priority": 3, "match": "travel", "dry_run": True},
    ),
    Operation(
        name="crawl_weight",
        method="POST",
        path="/v1/crawls/{crawl}/weight",
        code="crawls:crawl_weight",
        input=inputs.ShareFleet,
        result=results.FleetShare,
        scope="admin",
        command="weight",
        method_of_client="weight",
        example={"crawl": "books", "weight": 2},
        tagged="crawl_show",
    ),
    Operation(
        name="crawl_hosts",
        method="GET",
        path="/v1/crawls/{crawl}/hosts",
        code="crawls:crawl_hosts",
        input=inputs.ListCrawlHosts,
        result=results.CrawlHostList,
        command="status",
        method_of_client="hosts",
        example={"crawl": "books", "sort": "failing"},
    ),
    _rows("items", "items", "rows:item_list", inputs.ListItems),
    _rows("pages", "export", "rows:page_list", inputs.ListRows),
    _rows("attempts", "attempts", "rows:attempt_list", inputs.ListAttempts),
    Operation(
        name="dead_list",
        method="GET",
        path="/v1/crawls/{crawl}/dead-letters",
        code="rows:dead_list",
        input=inputs.ListDeadLetters,
        result=results.LetterPage,
        command="dead list",
        method_of_client="dead_letters",
        example={"crawl": "books", "reason": "timeout"},
    ),
    Operation(
        name="dead_requeue",
        method="POST",
        path="/v1/crawls/{crawl}/dead-letters/requeue",
        code="rows:dead_requeue",
        input=inputs.DecideDeadLetters,
        result=results.Decided,
        scope="run",
        command="dead requeue",
        method_of_client="requeue",
        example={"crawl": "books", "reason": "timeout", "dry_run": True},
    ),
    Operation(
        name="dead_drop",
        method="POST",
        path="/v1/crawls/{crawl}/dead-letters/drop",
        code="rows:dead_drop",
        input=inputs.DecideDeadLetters,
        result=results.Decided,
        scope="run",
        command="dead drop",
        method_of_client="drop",
        example={"crawl": "books", "reason": "timeout", "dry_run": True},
    ),
    Operation(
        name="host_show",
        method="GET",
        path="/v1/hosts/{host}",
        code="hosts:host_show",
        input=inputs.OneHost,
        result=results.HostStatus,
        reach="store",
        command="host show",
        method_of_client="host",
        example={"host": "books.toscrape.com"},
        tagged="host_show",
    ),
    Operation(
        name="host_pause",
        method="POST",
        path="/v1/hosts/{host}/pause",
        code="hosts:host_pause",
        input=inputs.PauseHost,
        result=results.HostChange,
        scope="admin",
        reach="store",
        command="host pause",
        method_of_client="pause_host",
        example={"host": "books.toscrape.com", "seconds": 300.0},
        tagged="host_show",
    ),
    Operation(
        name="host_resume",
        method="POST",
        path="/v1/hosts/{host}/resume",
        code="hosts:host_resume",
        input=inputs.OneHost,
        result=results.HostChange,
        scope="admin",
        reach="store",
        command="host resume",
        method_of_client="resume_host",
        example={"host": "books.toscrape.com"},
        tagged="host_show",
    ),
    Operation(
        name="host_rate",
        method="PUT",
        path="/v1/hosts/{host}/rate",
        code="hosts:host_rate",
        input=inputs.PaceHost,
        result=results.HostChange,
        scope="admin",
        reach="store",
        command="host rate",
        method_of_client="pace_host",
        example={"host": "books.toscrape.com", "delay": 2.5},
        tagged="host_show",
        needs_tag=True,
    ),
    Operation(
        name="worker_list",
        method="GET",
        path="/v1/workers",
        code="hosts:worker_list",
        input=inputs.NoInput,
        result=results.FleetWorkers,
        reach="store",
        command="workers list",
        method_of_client="workers",
    ),
    Operation(
        name="worker_drain",
        method="POST",
        path="/v1/workers/{worker}/drain",
        code="hosts:worker_drain",
        input=inputs.OneWorker,
        result=results.Ordered,
        scope="admin",
        reach="store",
        command="workers drain",
        method_of_client="drain_worker",
        example={"worker": "w1@machine"},
    ),
    Operation(
        name="worker_stop",
        method="POST",
        path="/v1/workers/{worker}/stop",
        code="hosts:worker_stop",
        input=inputs.OneWorker,
        result=results.Ordered,
        scope="admin",
        reach="store",
        command="workers stop",
        method_of_client="stop_worker",
        example={"worker": "w1@machine"},
    ),
    Operation(
        name="scrape",
        method="POST",
        path="/v1/scrape",
        code="pages:scrape",
        input=inputs.Scrape,
        result=results.ScrapedPage,
        scope="run",
        reach="none",
        command="try",
        method_of_client="scrape",
        example={"url": "https://books.toscrape.com/", "links": True, "markdown": True},
    ),
    Operation(
        name="webhook_add",
        method="POST",
        path="/v1/webhooks",
        code="webhooks:webhook_add",
        input=inputs.AddWebhook,
        result=results.AddedWebhook,
        scope="admin",
        reach="crawls",
        command="webhooks add",
        method_of_client="add_webhook",
        example={"url": "https://books.toscrape.com/hook", "events": ["crawl.ended"]},
    ),
    Operation(
        name="webhook_list",
        method="GET",
        path="/v1/webhooks",
        code="webhooks:webhook_list",
        input=inputs.NoInput,
        result=results.WebhookList,
        reach="crawls",
        command="webhooks list",
        method_of_client="webhooks",
    ),
    Operation(
        name="webhook_remove",
        method="POST",
        path="/v1/webhooks/{webhook}/remove",
        code="webhooks:webhook_remove",
        input=inputs.OneWebhook,
        result=results.RemovedWebhook,
        scope="admin",
        reach="crawls",
        command="webhooks remove",
        method_of_client="remove_webhook",
        example={"webhook": "4f2a91c07d5e"},
    ),
    Operation(
        name="webhook_dead",
        method="GET",
        path="/v1/webhooks/{webhook}/dead",
        code="webhooks:webhook_dead",
        input=inputs.ListDeadDeliveries,
        result=results.DeadDeliveryPage,
        reach="crawls",
        command="webhooks dead",
        method_of_client="undelivered",
        example={"webhook": "4f2a91c07d5e"},
    ),
    Operation(
        name="webhook_resend",
        method="POST",
        path="/v1/webhooks/{webhook}/resend",
        code="webhooks:webhook_resend",
        input=inputs.ResendDeliveries,
        result=results.Resent,
        scope="admin",
        reach="crawls",
        command="webhooks resend",
        method_of_client="resend",
        example={"webhook": "4f2a91c07d5e"},
    ),
)
"""All operations. The order is the order of `docs/openapi.json`."""
BY_NAME = {one.name: one for one in OPERATIONS}

NOT_OFFERED = {
    "alerts files": "writes files of this machine",
    "alerts list": "not yet",
    "alerts mute": "not yet",
    "alerts test": "not yet",
    "alerts unmute": "not yet",
    "audit": "not yet",
    "changed": "not yet",
    "check": "runs site files against saved pages, while a site is written",
    "clean": "removes files of this machine",
    "config schema": "describes the settings of this machine",
    "config show": "shows the settings of this machine",
    "dead show": "the list contains all fields of a letter",
    "doctor": "checks this machine",
    "explain": "not yet",
    "find": "not yet",
    "host rung": "not yet",
    "metrics": "a server of its own, for Prometheus",
    "new": "writes a site file",
    "rate": "not yet",
    "reparse": "not yet",
    "scheduler": "a process of the fleet",
    "serve": "the server itself",
    "sessions forget": "not yet",
    "sessions list": "not yet",
    "shell": "interactive",
    "submit": "crawl_start submits the crawl if serve uses a shared store",
    "tokens add": "tokens are managed on the machine of the server, so that no token can make another",
    "tokens list": "as tokens add",
    "tokens remove": "as tokens add",
    "top": "interactive; the events contain the same counts",
    "worker": "a process of the fleet",
}
"""Commands without an operation, each with the reason."""
NOT_OFFERED_GROUPS = {"prices": "not yet", "keywords": "not yet", "ranks": "not yet", "schedule": "not yet"}
"""Groups of commands without an operation, each with the reason."""
