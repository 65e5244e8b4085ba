"""`gossamer.Client` steers and reads crawls through `gossamer serve`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from gossamer.client.service_connection import ServiceConnection
from gossamer.errors import ServiceAway
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.stats import Letter
from gossamer.model.summary import Summary
from gossamer.operations import results, results_of_uses, results_of_views
from gossamer.operations.table import BY_NAME
from gossamer.sinks import jsonl
from gossamer.state.action_log import Action

Kind = TypeVar("Kind")
Row = dict[str, Any]
WAIT_S = 30.0
"""Seconds for which the server holds a request that waits for the end of a crawl."""
SILENCE_S = 40.0
"""A stream of events without a line for this many seconds counts as lost. The server sends one every 15 s."""
RECONNECT_S = 1.0


class Client:
    """The crawls of one `gossamer serve`. Errors are those of `gossamer.errors`. A request that gets no answer is
    repeated within `timeout`, and changes nothing twice.

    >>> client = Client("http://127.0.0.1:8321", token="gsm_...")  # doctest: +SKIP
    >>> crawl = client.start("https://books.toscrape.com/", limit=100)  # doctest: +SKIP
    >>> client.wait(crawl.crawl).pages  # doctest: +SKIP
    100
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str | None = None
    ) -> None:
        """`url`: the address of `gossamer serve`. `timeout`: the number of seconds after which a call fails,
        repetitions included. `ca_file`: a file of certificates that the server's certificate is checked with."""
        self._connection = ServiceConnection(url, token, timeout, ca_file)
        self._timeout = timeout

    def version(self) -> results.Version:
        """Returns the version of the server, and what the token permits."""
        return self._do(results.Version, "version")

    def crawls(self, state: str | None = None) -> Iterator[results.CrawlEntry]:
        """Yields all crawls by name."""
        yield from self._pages(results.CrawlPage, "crawl_list", {"state": state})

    def start(
        self,
        *targets: str,
        sites: Sequence[str] = (),
        args: Mapping[str, str] | None = None,
        name: str | None = None,
        scope: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        size_limit: int | None = None,
        delay: float | None = None,
        per_host: int | None = None,
        concurrency: int | None = None,
        rate: float | None = None,
        priority: int | None = None,
        sitemaps: bool = False,
        text: bool = False,
        markdown: bool = False,
        links: bool = False,
        fail_on: Sequence[str] = (),
        fresh: bool = False,
        refresh: bool = False,
        wait: float = 0.0,
    ) -> results.CrawlStatus:
        """Starts a crawl, or resumes the unfinished crawl `name`. `targets`: URLs, `sitemap:URL`, `feed:URL`. `sites`:
        names of site files that the server has. `wait`: see `status`. The other options are those of the command
        `gossamer crawl`."""
        given = {name: value for name, value in locals().items() if name not in ("self", "targets")}
        lists = {"sites": list(sites), "include": list(include), "exclude": list(exclude)}
        more = {"args": dict(args or {}), "targets": list(targets), "fail_on": list(fail_on)}
        return self._do(results.CrawlStatus, "crawl_start", **{**given, **lists, **more})

    def status(self, crawl: str, wait: float = 0.0) -> results.CrawlStatus:
        """Returns the state of a crawl. `wait`: return only when the crawl has ended, or after this many seconds, at
        most 60."""
        return self._do(results.CrawlStatus, "crawl_show", crawl=crawl, wait=wait or None)

    def outcome(self, crawl: str, wait: float = 0.0) -> results.CrawlOutcome:
        """Returns how a crawl ended: its exit code, and its counts. `wait`: see `status`."""
        return self._do(results.CrawlOutcome, "crawl_outcome", crawl=crawl, wait=wait or None)

    def wait(self, crawl: str, timeout: float | None = None) -> results.CrawlStatus:
        """Waits until a crawl has ended in any way, and returns its state. `timeout`: the maximum number of seconds.
        Raises ServiceAway after this time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_S if deadline is None else max(0.0, min(WAIT_S, deadline - time.monotonic()))
            found = self.status(crawl, left)
            if found.state in ENDED:
                return found
            if deadline is not None and time.monotonic() >= deadline:
                raise ServiceAway(f"crawl {crawl} is still {found.state} after {timeout:g} s")

    def pause(self, crawl: str) -> results.CrawlHandle:
        """Pauses a crawl."""
        return self._do(results.CrawlHandle, "crawl_pause", crawl=crawl)

    def resume(self, crawl: str) -> results.CrawlHandle:
        """Continues a paused crawl."""
        return self._do(results.CrawlHandle, "crawl_resume", crawl=crawl)

    def finish(self, crawl: str) -> results.CrawlHandle:
        """Retries nothing more. URLs that have not failed are still fetched."""
        return self._do(results.CrawlHandle, "crawl_finish", crawl=crawl)

    def stop(self, crawl: str) -> results.CrawlHandle:
        """Ends a crawl gracefully and keeps its queue."""
        return self._do(results.CrawlHandle, "crawl_stop", crawl=crawl)

    def cancel(self, crawl: str) -> results.CrawlHandle:
        """Ends a crawl and drops its queue."""
        return self._do(results.CrawlHandle, "crawl_cancel", crawl=crawl)

    def accept(self, crawl: str) -> Summary:
        """Confirms that a run which is not like the last good runs is right."""
        return self._do(Summary, "crawl_accept", crawl=crawl)

    def add(
        self,
        crawl: str,
        *urls: str,
        priority: int | None = None,
        id: str | None = None,  # noqa: A002 - the name of the option
        use: str | None = None,
        carry: Any = None,
        key: str | None = None,
        again: bool = False,
        if_older: float | None = None,
        as_seeds: bool = False,
    ) -> results.AddedUrls:
        """Adds URLs to a crawl that is running, paused or ended. The options are those of `gossamer.add`."""
        given = {name: value for name, value in locals().items() if name not in ("self", "urls")}
        return self._do(results.AddedUrls, "crawl_add", **given, urls=list(urls))

    def priority(
        self,
        crawl: str,
        n: int,
        *,
        host: str | None = None,
        match: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> results.Reprioritized:
        """Changes the priority of waiting URLs: of those of `host`, or those that `match` matches. `dry_run`: only
        count them. `confirm`: the `confirm` of a dry run, which is needed for more than 1,000."""
        return self._do(
            results.Reprioritized,
            "crawl_priority",
            crawl=crawl,
            priority=n,
            host=host,
            match=match,
            dry_run=dry_run,
            confirm=confirm,
        )

    def weight(
        self, crawl: str, weight: int | None = None, *, precedence: int | None = None
    ) -> results.FleetShare:
        """Changes a crawl's share of the fleet."""
        return self._do(results.FleetShare, "crawl_weight", crawl=crawl, weight=weight, precedence=precedence)

    def hosts(self, crawl: str, sort: str = "waiting", limit: int = 20) -> list[results.CrawlHost]:
        """Returns the first hosts of a crawl, sorted by `sort`."""
        return self._do(results.CrawlHostList, "crawl_hosts", crawl=crawl, sort=sort, limit=limit).items

    def items(
        self,
        crawl: str,
        *,
        kind: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> Iterator[Row]:
        """Yields the items of a crawl. Few rows are in memory at once."""
        return self._rows("item_list", crawl=crawl, kind=kind, host=host, since=since, where=list(where))

    def pages(
        self, crawl: str, *, host: str | None = None, since: str | None = None, where: Sequence[str] = ()
    ) -> Iterator[Row]:
        """Yields the page records of a crawl. Few rows are in memory at once."""
        return self._rows("page_list", crawl=crawl, host=host, since=since, where=list(where))

    def attempts(
        self,
        crawl: str,
        *,
        status: str | None = None,
        outcome: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> Iterator[Row]:
        """Yields the requests of a crawl. Few rows are in memory at once."""
        given = {name: value for name, value in locals().items() if name != "self"}
        return self._rows("attempt_list", **{**given, "where": list(where)})

    def skipped(
        self,
        crawl: str,
        *,
        reason: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> Iterator[Row]:
        """Yields the URLs that a crawl found and did not fetch. Few rows are in memory at once."""
        given = {name: value for name, value in locals().items() if name != "self"}
        return self._rows("skipped_list", **{**given, "where": list(where)})

    def requeue_skipped(
        self,
        crawl: str,
        *,
        reason: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        as_seeds: bool = False,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> results.RequeuedUrls:
        """Requeues skipped URLs. The filters decide again, unless `as_seeds` is true. `dry_run`, `confirm`: see
        `requeue`."""
        given = {name: value for name, value in locals().items() if name != "self"}
        return self._do(results.RequeuedUrls, "skipped_requeue", **{**given, "where": list(where)})

    def export(
        self,
        crawl: str,
        file: str | os.PathLike[str],
        what: Literal["items", "pages", "attempts", "skipped"] = "items",
        *,
        kind: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> int:
        """Writes the rows of a crawl to a file, and returns its size in bytes. The ending of the name chooses the format:
        `.jsonl`, `.csv` or `.parquet`. The rows never are in memory together. A Parquet file has one `kind` of items."""
        given = {"crawl": crawl, "kind": kind, "host": host, "since": since, "where": list(where)}
        return self._connection.save(f"{what.removesuffix('s')}_list", given, file)

    def dead_letters(
        self, crawl: str, *, host: str | None = None, reason: str | None = None, since: str | None = None
    ) -> Iterator[Letter]:
        """Yields the dead letters of a crawl, which are URLs that it gave up."""
        yield from self._pages(
            results.LetterPage, "dead_list", {"crawl": crawl, "host": host, "reason": reason, "since": since}
        )

    def requeue(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> results.Decided:
        """Requeues dead letters. `dry_run`: only count them, and show some. `confirm`: the `confirm` of a dry run, which is
        needed for more than 1,000."""
        return self._do(
            results.Decided,
            "dead_requeue",
            crawl=crawl,
            host=host,
            reason=reason,
            since=since,
            dry_run=dry_run,
            confirm=confirm,
        )

    def drop(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> results.Decided:
        """Drops dead letters for good. `dry_run`, `confirm`: see `requeue`."""
        return self._do(
            results.Decided,
            "dead_drop",
            crawl=crawl,
            host=host,
            reason=reason,
            since=since,
            dry_run=dry_run,
            confirm=confirm,
        )

    def undo(self, crawl: str) -> results.UndoneLetters:
        """Undoes the last requeue or drop of dead letters, if it was made in the last 10 minutes."""
        return self._do(results.UndoneLetters, "dead_undo", crawl=crawl)

    def actions(
        self,
        *,
        crawl: str | None = None,
        who: str | None = None,
        operation: str | None = None,
        since: str | None = None,
    ) -> Iterator[Action]:
        """Yields who changed what, newest first. `who`: the name or id of a token, or `USER@MACHINE`."""
        given = {name: value for name, value in locals().items() if name != "self"}
        yield from self._pages(results.ActionPage, "action_list", given)

    def host(self, host: str) -> results.HostStatus:
        """Returns the state of a host, which all crawls share."""
        return self._do(results.HostStatus, "host_show", host=host)

    def pause_host(self, host: str, seconds: float | None = None) -> results.HostChange:
        """Pauses requests to a host in all crawls."""
        return self._do(results.HostChange, "host_pause", host=host, seconds=seconds)

    def resume_host(self, host: str) -> results.HostChange:
        """Ends the pause of a host."""
        return self._do(results.HostChange, "host_resume", host=host)

    def pace_host(
        self, host: str, delay: float | None = None, *, per_host: int | None = None
    ) -> results.HostChange:
        """Sets a fixed delay in seconds for a host. None: as learned. Raises RequestConflict if somebody else changes
        the host at the same time."""
        tag, _ = self._connection.call_tagged(BY_NAME["host_show"], {"host": host})
        given = {"host": host, "delay": delay, "per_host": per_host}
        return self._connection.call(results.HostChange, "host_rate", given, {"If-Match": tag})

    def workers(self) -> list[Row]:
        """Returns the workers of the fleet."""
        return self._do(results.FleetWorkers, "worker_list").items

    def drain_worker(self, worker: str) -> results.Ordered:
        """Lets a worker finish its claims and start nothing new."""
        return self._do(results.Ordered, "worker_drain", worker=worker)

    def stop_worker(self, worker: str) -> results.Ordered:
        """Stops a worker gracefully."""
        return self._do(results.Ordered, "worker_stop", worker=worker)

    def scrape(
        self,
        url: str,
        *,
        site: str | None = None,
        use: str | None = None,
        text: bool = False,
        markdown: bool = False,
        html: bool = False,
        links: bool = False,
        screenshot: Literal["page", "full"] | None = None,
    ) -> results.ScrapedPage:
        """Fetches and reads one page, and stores nothing. `screenshot`: a picture (PNG) of the visible part or of the whole
        page, which a browser loads then."""
        return self._do(
            results.ScrapedPage,
            "scrape",
            url=url,
            site=site,
            use=use,
            text=text,
            markdown=markdown,
            html=html,
            links=links,
            screenshot=screenshot,
        )

    def add_webhook(
        self, url: str, *, events: Sequence[str] = (), crawls: str = "", secret: str | None = None
    ) -> results.AddedWebhook:
        """Adds a receiver of events. `events`: the types of events, and `items` for all events with new items. `crawls`:
        only crawls whose names begin with this text. The result contains the secret, which is never shown again."""
        given = {"url": url, "events": list(events), "crawls": crawls, "secret": secret}
        return self._do(results.AddedWebhook, "webhook_add", **given)

    def webhooks(self) -> list[results.WebhookStatus]:
        """Returns the receivers of events."""
        return self._do(results.WebhookList, "webhook_list").items

    def remove_webhook(self, webhook: str) -> results.RemovedWebhook:
        """Removes a receiver of events, with the events that wait for it."""
        return self._do(results.RemovedWebhook, "webhook_remove", webhook=webhook)

    def undelivered(self, webhook: str) -> Iterator[results.DeadDelivery]:
        """Yields the events whose delivery was given up."""
        yield from self._pages(results.DeadDeliveryPage, "webhook_dead", {"webhook": webhook})

    def resend(self, webhook: str, number: str | None = None) -> results.Resent:
        """Delivers events again that were given up: the event `number`, or all."""
        return self._do(results.Resent, "webhook_resend", webhook=webhook, number=number)

    def events(self, crawl: str | None = None, after: str = "") -> Iterator[tuple[str, results.CrawlEvent]]:
        """Yields the changes of crawls as they happen, each with its number. `after`: the number of the last event
        that was seen, or `0-0` for all that are kept. A lost connection is made again, and no event is left out."""
        failed = 0.0
        while True:
            number, data = "", b""
            try:
                for line in self._connection.events({"crawl": crawl}, after, SILENCE_S):
                    failed = 0.0
                    name, _, value = line.partition(b": ")
                    if name == b"id":
                        number = value.decode()
                    elif name == b"data":
                        data = value
                    elif not line and number and data:
                        after = number
                        yield number, msgspec.json.decode(data, type=results.CrawlEvent)
                        number, data = "", b""
            except (ServiceAway, OSError) as error:
                failed = failed or time.monotonic()
                if time.monotonic() - failed > self._timeout:
                    raise ServiceAway(f"{self._connection.url} sends no events: {error}") from error
            time.sleep(RECONNECT_S)

    def explain(
        self, url: str, crawl: str | None = None, *, depth: int | None = None
    ) -> results_of_uses.Explanation:
        """Explains why a URL was or was not fetched: the verdict of each check, and the rule that decided."""
        return self._do(results_of_uses.Explanation, "explain", url=url, crawl=crawl, depth=depth)

    def activity(self, crawl: str) -> results_of_views.CrawlActivity:
        """Counts the requests of a crawl over time, by the class of their responses."""
        return self._do(results_of_views.CrawlActivity, "crawl_activity", crawl=crawl)

    def page(self, crawl: str, url: str) -> results_of_views.PageInspection:
        """Returns a page of a crawl: its record, items, requests, and its stored body."""
        return self._do(results_of_views.PageInspection, "page_show", crawl=crawl, url=url)

    def dead_groups(self, crawl: str) -> results_of_views.LetterGroups:
        """Groups the dead letters of a crawl by reason and host, most first."""
        return self._do(results_of_views.LetterGroups, "dead_groups", crawl=crawl)

    def compare(self, crawl: str, other: str) -> results_of_views.CrawlComparison:
        """Compares the counts of two crawls."""
        return self._do(results_of_views.CrawlComparison, "crawl_compare", crawl=crawl, other=other)

    def map(
        self,
        url: str,
        *,
        scope: str = "host",
        search: str | None = None,
        sitemaps: bool = True,
        pages: int = 1,
        limit: int = 5000,
    ) -> results_of_uses.SiteMap:
        """Returns the URLs of a site: those of its sitemaps, and the links of its first pages."""
        return self._do(
            results_of_uses.SiteMap,
            "site_map",
            url=url,
            scope=scope,
            search=search,
            sitemaps=sitemaps,
            pages=pages,
            limit=limit,
        )

    def freshness(self, crawl: str) -> results_of_uses.CrawlFreshness:
        """Returns how fresh the copies of a crawl with revisits are."""
        return self._do(results_of_uses.CrawlFreshness, "crawl_freshness", crawl=crawl)

    def changed(self, crawl: str, *urls: str) -> results_of_uses.ChangedPages:
        """Reports pages as changed."""
        return self._do(results_of_uses.ChangedPages, "crawl_changed", crawl=crawl, urls=list(urls))

    def fix_rung(self, host: str, rung: str | None = None) -> results_of_uses.RungChange:
        """Fetches the pages of a host only with one rung of the ladder, in all crawls whose ladder has it."""
        return self._do(results_of_uses.RungChange, "host_rung", host=host, rung=rung)

    def rates(self) -> dict[str, float]:
        """Returns the caps on the requests per second of all crawls together."""
        return self._do(results_of_uses.RateCaps, "rate_list").caps

    def cap_rate(self, lane: str, rate: float | None) -> dict[str, float]:
        """Caps the requests per second of a lane or of the whole fleet, while crawls run."""
        return self._do(results_of_uses.RateCaps, "rate_cap", lane=lane, rate=rate).caps

    def proxies(self) -> Iterator[results_of_uses.ProxyEntry]:
        """Yields the proxies of the server's lists, and those that workers have used: whether they work, and where they cool down."""
        yield from self._pages(results_of_uses.ProxyPage, "proxy_list", {})

    def sessions(self) -> list[Row]:
        """Returns log-ins at sites: account, state, time of the log-in and last use."""
        return self._do(results_of_uses.SessionList, "session_list").items

    def alerts(self, *, state: str | None = None) -> results_of_uses.AlertList:
        """Returns firing, pending and resolved alerts, and muted rules."""
        return self._do(results_of_uses.AlertList, "alert_list", state=state)

    def mute_alerts(self, rule: str, seconds: float = 3600.0) -> results_of_uses.AlertMute:
        """Sends no notifications of alerts for some time."""
        return self._do(results_of_uses.AlertMute, "alert_mute", rule=rule, seconds=seconds)

    def unmute_alerts(self, rule: str) -> results_of_uses.AlertMute:
        """Ends a mute."""
        return self._do(results_of_uses.AlertMute, "alert_unmute", rule=rule)

    def metrics(self) -> str:
        """Returns the metrics of all crawls and workers in the text format of Prometheus."""
        return self._text("metrics")

    def schedules(self) -> results_of_uses.ScheduleList:
        """Returns all schedules: the next due time, the last run and its result."""
        return self._do(results_of_uses.ScheduleList, "schedule_list")

    def add_schedule(
        self,
        schedule: str,
        cron: str,
        *,
        targets: Sequence[str] = (),
        sites: Sequence[str] = (),
        tz: str | None = None,
        jitter: float | None = None,
        spread: float | None = None,
        missed: str | None = None,
        overlap: str | None = None,
        scope: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        delay: float | None = None,
        rate: float | None = None,
        sitemaps: bool = False,
        text: bool = False,
        links: bool = False,
        refresh: bool = False,
    ) -> results_of_uses.ScheduleChange:
        """Adds a crawl by the clock, or changes the schedule of this name."""
        return self._do(
            results_of_uses.ScheduleChange,
            "schedule_add",
            schedule=schedule,
            cron=cron,
            targets=list(targets),
            sites=list(sites),
            tz=tz,
            jitter=jitter,
            spread=spread,
            missed=missed,
            overlap=overlap,
            scope=scope,
            include=list(include),
            exclude=list(exclude),
            depth=depth,
            limit=limit,
            time_limit=time_limit,
            delay=delay,
            rate=rate,
            sitemaps=sitemaps,
            text=text,
            links=links,
            refresh=refresh,
        )

    def pause_schedule(self, schedule: str) -> results_of_uses.ScheduleChange:
        """Pauses a schedule until it is resumed."""
        return self._do(results_of_uses.ScheduleChange, "schedule_pause", schedule=schedule)

    def resume_schedule(self, schedule: str) -> results_of_uses.ScheduleChange:
        """Resumes a paused schedule."""
        return self._do(results_of_uses.ScheduleChange, "schedule_resume", schedule=schedule)

    def run_schedule(self, schedule: str, wait: float = 0.0) -> results_of_uses.CommandRun:
        """Runs a schedule now, as a process of its own."""
        return self._do(results_of_uses.CommandRun, "schedule_run", schedule=schedule, wait=wait)

    def schedule_runs(self, schedule: str, limit: int = 20) -> list[Row]:
        """Returns the last runs of a schedule, latest first: when, how they ended, and why."""
        return self._do(results_of_uses.ScheduleRuns, "schedule_runs", schedule=schedule, limit=limit).items

    def remove_schedule(self, schedule: str) -> results_of_uses.ScheduleChange:
        """Removes a schedule."""
        return self._do(results_of_uses.ScheduleChange, "schedule_remove", schedule=schedule)

    def runs(self, *, use: str | None = None) -> Iterator[results_of_uses.CommandRun]:
        """Yields the runs that were started by the API, by name: prices, ranks, keywords, audits and schedules."""
        yield from self._pages(results_of_uses.RunPage, "run_list", {"use": use})

    def run(self, run: str, wait: float = 0.0) -> results_of_uses.CommandRun:
        """Returns a run: its state, exit code and summary."""
        return self._do(results_of_uses.CommandRun, "run_show", run=run, wait=wait)

    def stop_run(self, run: str) -> results_of_uses.CommandRun:
        """Stops a run gracefully, like Ctrl-C."""
        return self._do(results_of_uses.CommandRun, "run_stop", run=run)

    def price_list(
        self,
        *,
        history: str = "prices",
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> Iterator[Row]:
        """Yields the current prices, as the table `prices` of `gossamer prices report` does."""
        return self._table("price_list", history=history, shop=shop, tag=tag, product=product)

    def price_moves(
        self,
        *,
        history: str = "prices",
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 30,
    ) -> Iterator[Row]:
        """Yields the biggest changes of price, biggest first."""
        return self._table("price_moves", history=history, shop=shop, tag=tag, product=product, days=days)

    def price_market(self, *, history: str = "prices", product: str | None = None) -> Iterator[Row]:
        """Yields the comparison of the offers of a product, or of all products with several targets, cheapest first."""
        return self._table("price_market", history=history, product=product)

    def price_stale(
        self,
        *,
        history: str = "prices",
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 2,
    ) -> Iterator[Row]:
        """Yields the targets that no visit has found for days, oldest first."""
        return self._table("price_stale", history=history, shop=shop, tag=tag, product=product, days=days)

    def price_failing(
        self, *, history: str = "prices", state: str | None = None, shop: str | None = None, runs: int = 1
    ) -> Iterator[Row]:
        """Yields the targets that fail: since when, in how many runs, and the last response."""
        return self._table("price_failing", history=history, state=state, shop=shop, runs=runs)

    def price_shops(self, *, history: str = "prices") -> Iterator[Row]:
        """Yields the shops with their state: ok, redesigned, away or moved."""
        return self._table("price_shops", history=history)

    def price_series(
        self, target: str, *, history: str = "prices", variant: str = "", since: str | None = None
    ) -> Iterator[Row]:
        """Yields the prices of a target, oldest first."""
        return self._table("price_series", target=target, history=history, variant=variant, since=since)

    def price_events(
        self,
        *,
        history: str = "prices",
        target: str | None = None,
        kind: str | None = None,
        since: str | None = None,
    ) -> Iterator[Row]:
        """Yields the changes of prices, availability, sellers, pages and shops, oldest first."""
        return self._table("price_events", history=history, target=target, kind=kind, since=since)

    def price_matches(self, *, history: str = "prices", skipped: bool = False) -> Iterator[Row]:
        """Yields pairs of offers that wait for a decision, most similar first."""
        return self._table("price_matches", history=history, skipped=skipped)

    def price_decide(
        self, one: str, other: str, decision: str, *, history: str = "prices"
    ) -> results_of_views.MatchDecision:
        """Decides whether two targets offer the same product: `same`, `different` or `later`."""
        given = {"one": one, "other": other, "decision": decision}
        return self._do(results_of_views.MatchDecision, "price_decide", history=history, **given)

    def price_report(
        self,
        *,
        history: str = "prices",
        days: int = 30,
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> str:
        """Returns the report on a price history as HTML."""
        return self._text("price_report", history=history, days=days, shop=shop, tag=tag, product=product)

    def rank_report(self, *, history: str = "ranks", days: int = 30, domain: str | None = None) -> str:
        """Returns the report on a rank history as HTML."""
        return self._text("rank_report", history=history, days=days, domain=domain)

    def keyword_report(self, *, folder: str = "keywords", run: str | None = None) -> str:
        """Returns the report on a count of keywords as HTML."""
        return self._text("keyword_report", folder=folder, run=run)

    def audit_report(self, audit: str) -> str:
        """Returns the report on the last complete audit of a site as HTML."""
        return self._text("audit_report", audit=audit)

    def price_run(
        self,
        *,
        lists: Sequence[str] = (),
        urls: Sequence[str] = (),
        history: str = "prices",
        delay: float | None = None,
        within: float | None = None,
        spread: float | None = None,
        partly: bool = False,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> results_of_uses.CommandRun:
        """Starts a price run: visits all product pages, and records every change."""
        return self._do(
            results_of_uses.CommandRun,
            "price_run",
            lists=list(lists),
            urls=list(urls),
            history=history,
            delay=delay,
            within=within,
            spread=spread,
            partly=partly,
            if_older=if_older,
            wait=wait,
        )

    def rank_positions(
        self,
        *,
        history: str = "ranks",
        domain: str | None = None,
        days: int = 7,
        moves: bool = False,
        tag: str | None = None,
    ) -> Iterator[Row]:
        """Yields the current, best and worst positions of the own domains, and the change in some days."""
        return self._table("rank_positions", history=history, domain=domain, days=days, moves=moves, tag=tag)

    def rank_history(
        self, keyword: str, *, history: str = "ranks", domain: str | None = None, days: int = 30
    ) -> Iterator[Row]:
        """Yields the results of all checks of a keyword, including failed checks, oldest first."""
        return self._table("rank_history", keyword=keyword, history=history, domain=domain, days=days)

    def rank_competitors(
        self, *, history: str = "ranks", domain: str | None = None, side_by_side: bool = False
    ) -> Iterator[Row]:
        """Yields the comparison of domains by share of voice, or side by side for each keyword."""
        return self._table("rank_competitors", history=history, domain=domain, side_by_side=side_by_side)

    def rank_features(self, *, history: str = "ranks", days: int = 30) -> Iterator[Row]:
        """Yields the features of first result pages, and how often they contain own domains."""
        return self._table("rank_features", history=history, days=days)

    def rank_volatility(self, *, history: str = "ranks", days: int = 30) -> Iterator[Row]:
        """Yields how much the first ten results changed from run to run."""
        return self._table("rank_volatility", history=history, days=days)

    def rank_competing(self, *, history: str = "ranks", days: int = 30) -> Iterator[Row]:
        """Yields the keywords for which several own pages compete."""
        return self._table("rank_competing", history=history, days=days)

    def rank_failing(self, *, history: str = "ranks") -> Iterator[Row]:
        """Yields the searches that were never checked, and those whose last check failed or was skipped."""
        return self._table("rank_failing", history=history)

    def rank_events(
        self, *, history: str = "ranks", kind: str | None = None, since: str | None = None
    ) -> Iterator[Row]:
        """Yields the changes that checks found, oldest first."""
        return self._table("rank_events", history=history, kind=kind, since=since)

    def rank_run(
        self,
        lists: Sequence[str],
        *,
        history: str = "ranks",
        budget: int | None = None,
        first: int | None = None,
        strategy: str | None = None,
        no_fallback: bool = False,
        failed: bool = False,
        domain: str | None = None,
        engine: str | None = None,
        country: str | None = None,
        language: str | None = None,
        device: str | None = None,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> results_of_uses.CommandRun:
        """Starts a rank run by the provider of the server's settings, and records positions."""
        return self._do(
            results_of_uses.CommandRun,
            "rank_run",
            lists=list(lists),
            history=history,
            budget=budget,
            first=first,
            strategy=strategy,
            no_fallback=no_fallback,
            failed=failed,
            domain=domain,
            engine=engine,
            country=country,
            language=language,
            device=device,
            if_older=if_older,
            wait=wait,
        )

    def keyword_runs(self, *, folder: str = "keywords") -> Iterator[Row]:
        """Yields the keyword counts of a folder, oldest first."""
        return self._table("keyword_runs", folder=folder)

    def keyword_totals(
        self, *, folder: str = "keywords", run: str | None = None, site: str | None = None
    ) -> Iterator[Row]:
        """Yields the counted keywords, the most frequent first: counts, pages, density, places on the pages."""
        return self._table("keyword_totals", folder=folder, run=run, site=site)

    def keyword_terms(
        self,
        *,
        folder: str = "keywords",
        run: str | None = None,
        site: str | None = None,
        language: str | None = None,
        words: int = 0,
    ) -> Iterator[Row]:
        """Yields the words and phrases that matter on the pages, with count, pages, density and TF-IDF."""
        return self._table("keyword_terms", folder=folder, run=run, site=site, language=language, words=words)

    def keyword_pages(
        self, keyword: str, *, folder: str = "keywords", run: str | None = None, site: str | None = None
    ) -> Iterator[Row]:
        """Yields the pages with a keyword: count, density, where on the page, and the first contexts."""
        return self._table("keyword_pages", keyword=keyword, folder=folder, run=run, site=site)

    def keyword_gaps(
        self, mine: str, theirs: str, *, folder: str = "keywords", run: str | None = None
    ) -> Iterator[Row]:
        """Yields the keywords and terms that a competitor's pages have and the own pages do not have."""
        return self._table("keyword_gaps", mine=mine, theirs=theirs, folder=folder, run=run)

    def keyword_overlap(self, *, folder: str = "keywords", run: str | None = None) -> Iterator[Row]:
        """Yields the comparison of the sites of a run pair by pair: the keywords on both sites, and on only one."""
        return self._table("keyword_overlap", folder=folder, run=run)

    def keyword_cannibals(
        self, *, folder: str = "keywords", run: str | None = None, site: str | None = None
    ) -> Iterator[Row]:
        """Yields keywords for which several pages of one site compete."""
        return self._table("keyword_cannibals", folder=folder, run=run, site=site)

    def keyword_trend(
        self, keyword: str, *, folder: str = "keywords", site: str | None = None
    ) -> Iterator[Row]:
        """Yields how often a keyword was found in each run, oldest first."""
        return self._table("keyword_trend", keyword=keyword, folder=folder, site=site)

    def keyword_run(
        self,
        *,
        urls: Sequence[str] = (),
        keywords: Sequence[str] = (),
        lists: Sequence[str] = (),
        folder: str = "keywords",
        stem: str | None = None,
        context: int | None = None,
        limit: int | None = None,
        scope: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> results_of_uses.CommandRun:
        """Starts a keyword count: crawls sites, counts keywords in their main texts, and discovers the terms that matter."""
        return self._do(
            results_of_uses.CommandRun,
            "keyword_run",
            urls=list(urls),
            keywords=list(keywords),
            lists=list(lists),
            folder=folder,
            stem=stem,
            context=context,
            limit=limit,
            scope=scope,
            include=list(include),
            exclude=list(exclude),
            delay=delay,
            if_older=if_older,
            fresh=fresh,
            wait=wait,
        )

    def audits(self) -> Iterator[results_of_uses.AuditEntry]:
        """Yields the audited sites by name, each with the counts of its last complete audit."""
        yield from self._pages(results_of_uses.AuditPage, "audit_list", {})

    def audit(self, audit: str) -> results_of_uses.AuditReport:
        """Returns the last complete audit of a site: counts, and the result of each check."""
        return self._do(results_of_uses.AuditReport, "audit_show", audit=audit)

    def audit_findings(
        self, audit: str, *, check: str | None = None, severity: str | None = None, new: bool = False
    ) -> Iterator[Row]:
        """Yields the findings of the last complete audit of a site."""
        return self._table("audit_findings", audit=audit, check=check, severity=severity, new=new)

    def audit_checks(self) -> list[Row]:
        """Returns all checks of an audit: what they find, and how to mend it."""
        return self._do(results.RowPage, "audit_checks").items

    def audit_run(
        self,
        url: str,
        *,
        audit: str | None = None,
        crawl: str | None = None,
        limit: int | None = None,
        depth: int | None = None,
        external: int | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        as_host: str | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> results_of_uses.CommandRun:
        """Starts an audit: crawls a site, and reports what is broken in it."""
        return self._do(
            results_of_uses.CommandRun,
            "audit_run",
            url=url,
            audit=audit,
            crawl=crawl,
            limit=limit,
            depth=depth,
            external=external,
            include=list(include),
            exclude=list(exclude),
            delay=delay,
            as_host=as_host,
            if_older=if_older,
            fresh=fresh,
            wait=wait,
        )

    def find(
        self, query: str, *, crawl: Sequence[str] = (), by_date: bool = False, limit: int = 10, page: int = 1
    ) -> results_of_uses.FoundPages:
        """Searches the texts of the pages that crawls kept, best first."""
        return self._do(
            results_of_uses.FoundPages,
            "find",
            query=query,
            crawl=list(crawl),
            by_date=by_date,
            limit=limit,
            page=page,
        )

    def wait_run(self, run: str, timeout: float | None = None) -> results_of_uses.CommandRun:
        """Waits until a run has ended, and returns its state. `timeout`: the maximum number of seconds. Raises
        ServiceAway after this time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_S if deadline is None else max(0.0, min(WAIT_S, deadline - time.monotonic()))
            found = self.run(run, left)
            if found.state != "running":
                return found
            if deadline is not None and time.monotonic() >= deadline:
                raise ServiceAway(f"run {run} still runs after {timeout:g} s")

    def _do(self, kind: type[Kind], operation: str, **given: Any) -> Kind:
        return self._connection.call(kind, operation, given)

    def _text(self, operation: str, **given: Any) -> str:
        return self._connection.call_tagged(BY_NAME[operation], given)[1].decode()

    def _pages(self, kind: type[Any], operation: str, given: dict[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            found = self._connection.call(kind, operation, {"limit": 200, **given, "cursor": cursor})
            yield from found.items
            if (cursor := found.next) is None:
                return

    def _table(self, operation: str, **given: Any) -> Iterator[Row]:
        """Yields the rows of a table. The server reads a table anew for each page, so the pages are large."""
        return self._pages(results.RowPage, operation, {"limit": 1000, **given})

    def _rows(self, operation: str, **given: Any) -> Iterator[Row]:
        for line in self._connection.lines(operation, given):
            if line:
                yield jsonl.decode(line)
