"""`gossamer.Client` steers and reads crawls through `gossamer serve`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from gossamer.client.service_connection import ServiceConnection
from gossamer.errors import ServiceAway
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.stats import Letter
from gossamer.model.summary import Summary
from gossamer.operations import results
from gossamer.operations.table import BY_NAME
from gossamer.sinks import jsonl

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
        rate: float | None = None,
        priority: int | None = None,
        sitemaps: bool = False,
        text: bool = False,
        links: bool = False,
        fresh: bool = False,
        refresh: bool = False,
        wait: float = 0.0,
    ) -> results.CrawlStatus:
        """Starts a crawl, or resumes the unfinished crawl `name`. `targets`: URLs, `sitemap:URL`, `feed:URL`. `sites`:
        names of site files that the server has. `wait`: see `status`. The other options are those of the command
        `gossamer crawl`."""
        given = {name: value for name, value in locals().items() if name not in ("self", "targets")}
        lists = {"sites": list(sites), "include": list(include), "exclude": list(exclude)}
        return self._do(results.CrawlStatus, "crawl_start", **{**given, **lists, "targets": list(targets)})

    def status(self, crawl: str, wait: float = 0.0) -> results.CrawlStatus:
        """Returns the state of a crawl. `wait`: return only when the crawl has ended, or after this many seconds, at
        most 60."""
        return self._do(results.CrawlStatus, "crawl_show", crawl=crawl, wait=wait or None)

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

    def export(
        self,
        crawl: str,
        file: str | os.PathLike[str],
        what: Literal["items", "pages", "attempts"] = "items",
        *,
        kind: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> int:
        """Writes the rows of a crawl to a file, and returns its size in bytes. The ending of the name chooses the format:
        `.jsonl`, `.csv` or `.parquet`. The rows never are in memory together. A Parquet file has one `kind` of items."""
        given = {"crawl": crawl, "kind": kind, "host": host, "since": since, "where": list(where)}
        return self._connection.save(f"{what[:-1]}_list", given, file)

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

    def _do(self, kind: type[Kind], operation: str, **given: Any) -> Kind:
        return self._connection.call(kind, operation, given)

    def _pages(self, kind: type[Any], operation: str, given: dict[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            found = self._connection.call(kind, operation, {**given, "limit": 200, "cursor": cursor})
            yield from found.items
            if (cursor := found.next) is None:
                return

    def _rows(self, operation: str, **given: Any) -> Iterator[Row]:
        for line in self._connection.lines(operation, given):
            if line:
                yield jsonl.decode(line)
