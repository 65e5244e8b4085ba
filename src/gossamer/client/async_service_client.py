"""`gossamer.AsyncClient` has the methods of `gossamer.Client` as coroutines. Each call runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from gossamer.client.service_client import Client

if TYPE_CHECKING:
    from gossamer.client.service_client import Row
    from gossamer.frontier.stats import Letter
    from gossamer.model.summary import Summary
    from gossamer.operations import results

Kind = TypeVar("Kind")
BATCH_ROWS = 500


class AsyncClient:
    """The crawls of one `gossamer serve`, for coroutines. Methods and errors are those of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str | None = None
    ) -> None:
        """See `Client`."""
        self._client = Client(url, token, timeout=timeout, ca_file=ca_file)

    async def version(self) -> results.Version:
        """Returns the version of the server, and what the token permits."""
        return await asyncio.to_thread(self._client.version)

    def crawls(self, state: str | None = None) -> AsyncIterator[results.CrawlEntry]:
        """Yields all crawls by name."""
        return _iterate(self._client.crawls(state), BATCH_ROWS)

    async def start(
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
        """Starts a crawl, or resumes the unfinished crawl `name`."""
        return await asyncio.to_thread(
            self._client.start,
            *targets,
            sites=sites,
            name=name,
            scope=scope,
            include=include,
            exclude=exclude,
            depth=depth,
            limit=limit,
            time_limit=time_limit,
            size_limit=size_limit,
            delay=delay,
            per_host=per_host,
            rate=rate,
            priority=priority,
            sitemaps=sitemaps,
            text=text,
            links=links,
            fresh=fresh,
            refresh=refresh,
            wait=wait,
        )

    async def status(self, crawl: str, wait: float = 0.0) -> results.CrawlStatus:
        """Returns the state of a crawl."""
        return await asyncio.to_thread(self._client.status, crawl, wait)

    async def wait(self, crawl: str, timeout: float | None = None) -> results.CrawlStatus:  # noqa: ASYNC109 - a thread waits
        """Waits until a crawl has ended in any way, and returns its state."""
        return await asyncio.to_thread(self._client.wait, crawl, timeout)

    async def pause(self, crawl: str) -> results.CrawlHandle:
        """Pauses a crawl."""
        return await asyncio.to_thread(self._client.pause, crawl)

    async def resume(self, crawl: str) -> results.CrawlHandle:
        """Continues a paused crawl."""
        return await asyncio.to_thread(self._client.resume, crawl)

    async def finish(self, crawl: str) -> results.CrawlHandle:
        """Retries nothing more."""
        return await asyncio.to_thread(self._client.finish, crawl)

    async def stop(self, crawl: str) -> results.CrawlHandle:
        """Ends a crawl gracefully and keeps its queue."""
        return await asyncio.to_thread(self._client.stop, crawl)

    async def cancel(self, crawl: str) -> results.CrawlHandle:
        """Ends a crawl and drops its queue."""
        return await asyncio.to_thread(self._client.cancel, crawl)

    async def accept(self, crawl: str) -> Summary:
        """Confirms that a run which is not like the last good runs is right."""
        return await asyncio.to_thread(self._client.accept, crawl)

    async def add(
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
        """Adds URLs to a crawl that is running, paused or ended."""
        return await asyncio.to_thread(
            self._client.add,
            crawl,
            *urls,
            priority=priority,
            id=id,
            use=use,
            carry=carry,
            key=key,
            again=again,
            if_older=if_older,
            as_seeds=as_seeds,
        )

    async def priority(
        self, crawl: str, n: int, *, host: str | None = None, match: str | None = None, dry_run: bool = False
    ) -> results.Reprioritized:
        """Changes the priority of waiting URLs: of those of `host`, or those that `match` matches."""
        return await asyncio.to_thread(
            self._client.priority, crawl, n, host=host, match=match, dry_run=dry_run
        )

    async def weight(
        self, crawl: str, weight: int | None = None, *, precedence: int | None = None
    ) -> results.FleetShare:
        """Changes a crawl's share of the fleet."""
        return await asyncio.to_thread(self._client.weight, crawl, weight, precedence=precedence)

    async def hosts(self, crawl: str, sort: str = "waiting", limit: int = 20) -> list[results.CrawlHost]:
        """Returns the first hosts of a crawl, sorted by `sort`."""
        return await asyncio.to_thread(self._client.hosts, crawl, sort, limit)

    def items(
        self,
        crawl: str,
        *,
        kind: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> AsyncIterator[Row]:
        """Yields the items of a crawl."""
        return _iterate(self._client.items(crawl, kind=kind, host=host, since=since, where=where), BATCH_ROWS)

    def pages(
        self, crawl: str, *, host: str | None = None, since: str | None = None, where: Sequence[str] = ()
    ) -> AsyncIterator[Row]:
        """Yields the page records of a crawl."""
        return _iterate(self._client.pages(crawl, host=host, since=since, where=where), BATCH_ROWS)

    def attempts(
        self,
        crawl: str,
        *,
        status: str | None = None,
        outcome: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> AsyncIterator[Row]:
        """Yields the requests of a crawl."""
        return _iterate(
            self._client.attempts(crawl, status=status, outcome=outcome, host=host, since=since, where=where),
            BATCH_ROWS,
        )

    def dead_letters(
        self, crawl: str, *, host: str | None = None, reason: str | None = None, since: str | None = None
    ) -> AsyncIterator[Letter]:
        """Yields the dead letters of a crawl, which are URLs that it gave up."""
        return _iterate(self._client.dead_letters(crawl, host=host, reason=reason, since=since), BATCH_ROWS)

    async def requeue(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: str | None = None,
        dry_run: bool = False,
    ) -> results.Decided:
        """Requeues dead letters."""
        return await asyncio.to_thread(
            self._client.requeue, crawl, host=host, reason=reason, since=since, dry_run=dry_run
        )

    async def drop(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: str | None = None,
        dry_run: bool = False,
    ) -> results.Decided:
        """Drops dead letters for good."""
        return await asyncio.to_thread(
            self._client.drop, crawl, host=host, reason=reason, since=since, dry_run=dry_run
        )

    async def host(self, host: str) -> results.HostStatus:
        """Returns the state of a host, which all crawls share."""
        return await asyncio.to_thread(self._client.host, host)

    async def pause_host(self, host: str, seconds: float | None = None) -> results.HostChange:
        """Pauses requests to a host in all crawls."""
        return await asyncio.to_thread(self._client.pause_host, host, seconds)

    async def resume_host(self, host: str) -> results.HostChange:
        """Ends the pause of a host."""
        return await asyncio.to_thread(self._client.resume_host, host)

    async def pace_host(
        self, host: str, delay: float | None = None, *, per_host: int | None = None
    ) -> results.HostChange:
        """Sets a fixed delay in seconds for a host."""
        return await asyncio.to_thread(self._client.pace_host, host, delay, per_host=per_host)

    async def workers(self) -> list[Row]:
        """Returns the workers of the fleet."""
        return await asyncio.to_thread(self._client.workers)

    async def drain_worker(self, worker: str) -> results.Ordered:
        """Lets a worker finish its claims and start nothing new."""
        return await asyncio.to_thread(self._client.drain_worker, worker)

    async def stop_worker(self, worker: str) -> results.Ordered:
        """Stops a worker gracefully."""
        return await asyncio.to_thread(self._client.stop_worker, worker)

    async def scrape(
        self,
        url: str,
        *,
        site: str | None = None,
        use: str | None = None,
        text: bool = False,
        markdown: bool = False,
        links: bool = False,
    ) -> results.ScrapedPage:
        """Fetches and reads one page, and stores nothing."""
        return await asyncio.to_thread(
            self._client.scrape, url, site=site, use=use, text=text, markdown=markdown, links=links
        )

    def events(
        self, crawl: str | None = None, after: str = ""
    ) -> AsyncIterator[tuple[str, results.CrawlEvent]]:
        """Yields the changes of crawls as they happen, each with its number."""
        return _iterate(self._client.events(crawl, after), 1)


async def _iterate(rows: Iterator[Kind], size: int) -> AsyncIterator[Kind]:
    """Yields what an iterator yields. Threads read up to `size` elements at a time."""
    while batch := await asyncio.to_thread(lambda: list(islice(rows, size))):
        for one in batch:
            yield one
