"""A pass revisits the known URLs of a crawl. This module decides whether a pass may begin. When a pass
begins, the module adds the requests of the pass to the frontier."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.config.data_files import make_folder
from gossamer.errors import GossamerError, UsageError, of_data
from gossamer.frontier.cold import hot_limit, set_hot_limit
from gossamer.frontier.crawls import UNDER_WAY, Record
from gossamer.frontier.summary import crawl_counts
from gossamer.recrawl import known_pages
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.worker.link_intake import TakenLinks

PROGRESS_INTERVAL_S = 10.0
"""Seconds between progress messages."""


async def begins_pass(setup: Setup, store: Store, record: Record | None) -> bool:
    """Returns whether a new pass of `--refresh` or `--if-older` begins. Before a pass begins, the logs of known
    pages are merged. Returns False if an interrupted pass continues. If a crawl starts over without `--refresh`, its
    known pages are deleted. Raises UsageError if URLs are still pending or no page is known."""
    job, folder = setup.job, setup.known_at
    assert folder is not None, "only processes of a fleet have none"
    by_age = job.settings.if_older is not None and not job.fresh and record is not None
    try:
        make_folder(folder)
        if not (job.refresh or by_age):
            if record is None or job.fresh:
                known_pages.forget(folder)
                known_pages.forget_table(folder)
            return False
        if record is not None:
            n = await crawl_counts(store, setup.crawl)
            pending = n["open"] - n["infra"]
            if by_age and pending and not (job.refresh or record.refreshing):
                return False  # the first run was interrupted, and continues
            setup.job = msgspec.structs.replace(job, refresh=True)
            if pending and record.refreshing:
                return False
            if pending:
                raise UsageError(
                    f"{pending} URLs of crawl {setup.crawl} are still pending: finish it first with the "
                    "same command without --refresh"
                )
            if record.fleet and record.state in UNDER_WAY:
                raise UsageError(
                    f"crawl {setup.crawl} is just ending on the fleet: run the same command again in a moment"
                )
        await asyncio.to_thread(_from_table, folder)
        if not await asyncio.to_thread(known_pages.merge_logs, folder) and job.refresh:
            raise UsageError(
                f"crawl {setup.crawl} knows no page yet: run the same command without --refresh first"
            )
    except OSError as error:
        raise _unfit(setup, error) from error
    return True


def _from_table(folder: Path) -> None:
    """Converts the page table to a log, if an earlier run of the crawl used `--revisit`."""
    if not known_pages.has_table(folder):
        return
    from gossamer.recrawl.page_table import PageTable

    table = PageTable(folder / known_pages.TABLE_NAME)
    try:
        table.export_lines(folder / known_pages.name_of("revisit"))
    finally:
        table.close()
    known_pages.forget_table(folder)


async def visit_again(
    setup: Setup, store: Store, record: Record, say: Callable[[str], None] = lambda _: None
) -> None:
    """Adds the known URLs to the frontier. With `--if-older`, a page whose last good visit is younger is only added
    to the seen set, and counts as skipped (`recent`). If the process is killed during the call, the next call adds the
    remaining URLs. Adding a URL twice has no effect. `say` receives progress messages."""
    if not record.refreshing or record.seeded:
        return
    adds = Enqueuer(setup, store)
    folder, added, told = setup.known_at, 0, time.monotonic()
    age = setup.job.settings.if_older
    since = None if age is None else time.time() - age
    assert folder is not None, "only processes of a fleet have none"
    try:
        await set_hot_limit(
            store, setup.crawl, hot_limit(setup.job.settings.cold, setup.job.settings.store is None)
        )
        await adds.scope.refresh()
        for batch in known_pages.lines(folder):
            taken = TakenLinks()
            for line in batch:
                request = known_pages.request_of(line)
                if since is not None and known_pages.is_good_since(line, since):
                    adds.intake.skip_recent(request, line.known.end, taken)
                    continue
                seed = request.depth == 0 and request.referrer is None
                adds.take(request, taken, "ors" if seed else "or", beside="*" if setup.open else "")
            await adds.add(taken)
            added += len(batch)
            if time.monotonic() - told >= PROGRESS_INTERVAL_S:
                told = time.monotonic()
                say(f"{added} known URLs added")
    except OSError as error:
        raise _unfit(setup, error) from error


async def check_known_to_fleet(setup: Setup, store: Store) -> None:
    """Raises UsageError if a submitted crawl has `--revisit`, but an earlier run did not record the pages
    that it visited. The crawl could never revisit these pages, because the seen set rejects their URLs."""
    if setup.job.settings.revisit is None or setup.job.fresh:
        return
    folder = setup.known_at
    if (folder is not None and known_pages.has_any(folder)) or await has_stored_table(store, setup.crawl):
        return
    if (await crawl_counts(store, setup.crawl))["pages"]:
        raise UsageError(
            f"crawl {setup.crawl} visited its pages without --revisit and without --known, so it knows none of "
            "them: give --fresh to start over, or another --name"
        )


async def give_to_fleet(setup: Setup, store: Store) -> None:
    """Moves known pages into the page table of a submitted crawl with `--revisit`. Earlier runs recorded the
    known pages in a folder. If the process is killed during the move, the next call repeats the move."""
    folder = setup.known_at
    if setup.job.settings.revisit is None or folder is None or not known_pages.has_any(folder):
        return
    from gossamer.recrawl.stored_table import VisitOutcomes

    try:
        await asyncio.to_thread(_from_table, folder)
        await asyncio.to_thread(known_pages.merge_logs, folder)
        for batch in known_pages.lines(folder):
            await VisitOutcomes(store, setup.crawl).add(batch)
        known_pages.forget(folder)
    except OSError as error:
        raise _unfit(setup, error) from error


async def has_stored_table(store: Store, crawl: str) -> bool:
    """Returns whether a fleet visited pages of the crawl with `--revisit`."""
    own = keys.stored_table(crawl, store.buckets)
    return bool(await store.guard(cast(Awaitable[Any], store.client.exists(own.facts, own.outcomes))))


def _unfit(setup: Setup, error: OSError) -> GossamerError:
    given = setup.job.known
    return of_data(given, error, "--known") if given else of_data(setup.job.settings.data, error)
