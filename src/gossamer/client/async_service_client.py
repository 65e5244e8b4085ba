"""`gossamer.AsyncClient` has the methods of `gossamer.Client` as coroutines. Each call runs in a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from gossamer.client.service_client import Client

Given = ParamSpec("Given")
Kind = TypeVar("Kind")
BATCH_ROWS = 500


def _awaited(
    call: Callable[Concatenate[Client, Given], Kind],
) -> Callable[Concatenate[AsyncClient, Given], Coroutine[Any, Any, Kind]]:
    """Returns a method of `Client` as a coroutine function with the same parameters."""

    @functools.wraps(call)
    async def method(self: AsyncClient, /, *args: Given.args, **options: Given.kwargs) -> Kind:
        return await asyncio.to_thread(call, self._client, *args, **options)

    return method


def _iterated(
    call: Callable[Concatenate[Client, Given], Iterator[Kind]], size: int = BATCH_ROWS
) -> Callable[Concatenate[AsyncClient, Given], AsyncIterator[Kind]]:
    """Returns a method of `Client` that yields as one whose result is iterated with `async for`. Threads read up to
    `size` elements at a time."""

    @functools.wraps(call)
    async def method(self: AsyncClient, /, *args: Given.args, **options: Given.kwargs) -> AsyncIterator[Kind]:
        rows = call(self._client, *args, **options)
        while batch := await asyncio.to_thread(lambda: list(islice(rows, size))):
            for one in batch:
                yield one

    return method


class AsyncClient:
    """The crawls of one `gossamer serve`, for coroutines. Methods and errors are those of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str | None = None
    ) -> None:
        """See `Client`."""
        self._client = Client(url, token, timeout=timeout, ca_file=ca_file)

    version = _awaited(Client.version)
    crawls = _iterated(Client.crawls)
    start = _awaited(Client.start)
    status = _awaited(Client.status)
    outcome = _awaited(Client.outcome)
    wait = _awaited(Client.wait)
    pause = _awaited(Client.pause)
    resume = _awaited(Client.resume)
    finish = _awaited(Client.finish)
    stop = _awaited(Client.stop)
    cancel = _awaited(Client.cancel)
    accept = _awaited(Client.accept)
    add = _awaited(Client.add)
    priority = _awaited(Client.priority)
    weight = _awaited(Client.weight)
    hosts = _awaited(Client.hosts)
    items = _iterated(Client.items)
    pages = _iterated(Client.pages)
    attempts = _iterated(Client.attempts)
    skipped = _iterated(Client.skipped)
    requeue_skipped = _awaited(Client.requeue_skipped)
    export = _awaited(Client.export)
    dead_letters = _iterated(Client.dead_letters)
    requeue = _awaited(Client.requeue)
    drop = _awaited(Client.drop)
    undo = _awaited(Client.undo)
    actions = _iterated(Client.actions)
    host = _awaited(Client.host)
    pause_host = _awaited(Client.pause_host)
    resume_host = _awaited(Client.resume_host)
    pace_host = _awaited(Client.pace_host)
    workers = _awaited(Client.workers)
    drain_worker = _awaited(Client.drain_worker)
    stop_worker = _awaited(Client.stop_worker)
    scrape = _awaited(Client.scrape)
    add_webhook = _awaited(Client.add_webhook)
    webhooks = _awaited(Client.webhooks)
    remove_webhook = _awaited(Client.remove_webhook)
    undelivered = _iterated(Client.undelivered)
    resend = _awaited(Client.resend)
    events = _iterated(Client.events, 1)
    explain = _awaited(Client.explain)
    activity = _awaited(Client.activity)
    page = _awaited(Client.page)
    dead_groups = _awaited(Client.dead_groups)
    compare = _awaited(Client.compare)
    map = _awaited(Client.map)
    freshness = _awaited(Client.freshness)
    changed = _awaited(Client.changed)
    fix_rung = _awaited(Client.fix_rung)
    rates = _awaited(Client.rates)
    cap_rate = _awaited(Client.cap_rate)
    proxies = _iterated(Client.proxies)
    sessions = _awaited(Client.sessions)
    alerts = _awaited(Client.alerts)
    mute_alerts = _awaited(Client.mute_alerts)
    unmute_alerts = _awaited(Client.unmute_alerts)
    metrics = _awaited(Client.metrics)
    schedules = _awaited(Client.schedules)
    add_schedule = _awaited(Client.add_schedule)
    pause_schedule = _awaited(Client.pause_schedule)
    resume_schedule = _awaited(Client.resume_schedule)
    run_schedule = _awaited(Client.run_schedule)
    schedule_runs = _awaited(Client.schedule_runs)
    remove_schedule = _awaited(Client.remove_schedule)
    runs = _iterated(Client.runs)
    run = _awaited(Client.run)
    stop_run = _awaited(Client.stop_run)
    price_list = _iterated(Client.price_list)
    price_moves = _iterated(Client.price_moves)
    price_market = _iterated(Client.price_market)
    price_stale = _iterated(Client.price_stale)
    price_failing = _iterated(Client.price_failing)
    price_shops = _iterated(Client.price_shops)
    price_series = _iterated(Client.price_series)
    price_events = _iterated(Client.price_events)
    price_matches = _iterated(Client.price_matches)
    price_decide = _awaited(Client.price_decide)
    price_report = _awaited(Client.price_report)
    rank_report = _awaited(Client.rank_report)
    keyword_report = _awaited(Client.keyword_report)
    audit_report = _awaited(Client.audit_report)
    price_run = _awaited(Client.price_run)
    rank_positions = _iterated(Client.rank_positions)
    rank_history = _iterated(Client.rank_history)
    rank_competitors = _iterated(Client.rank_competitors)
    rank_features = _iterated(Client.rank_features)
    rank_volatility = _iterated(Client.rank_volatility)
    rank_competing = _iterated(Client.rank_competing)
    rank_failing = _iterated(Client.rank_failing)
    rank_events = _iterated(Client.rank_events)
    rank_run = _awaited(Client.rank_run)
    keyword_runs = _iterated(Client.keyword_runs)
    keyword_totals = _iterated(Client.keyword_totals)
    keyword_terms = _iterated(Client.keyword_terms)
    keyword_pages = _iterated(Client.keyword_pages)
    keyword_gaps = _iterated(Client.keyword_gaps)
    keyword_overlap = _iterated(Client.keyword_overlap)
    keyword_cannibals = _iterated(Client.keyword_cannibals)
    keyword_trend = _iterated(Client.keyword_trend)
    keyword_run = _awaited(Client.keyword_run)
    audits = _iterated(Client.audits)
    audit = _awaited(Client.audit)
    audit_findings = _iterated(Client.audit_findings)
    audit_checks = _awaited(Client.audit_checks)
    audit_run = _awaited(Client.audit_run)
    find = _awaited(Client.find)
    wait_run = _awaited(Client.wait_run)
