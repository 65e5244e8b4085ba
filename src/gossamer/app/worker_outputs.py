"""Builds what a worker writes: the outputs, the attempts, and the visits of known pages."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.quality_gate_setup import hold_rows
from gossamer.app.sink_setup import kept_rows, make_outputs
from gossamer.errors import StoreError
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.quality_records import HeldRows
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.interfaces import Log, TableSink
from gossamer.model.visit import Visit
from gossamer.observability import logs
from gossamer.observability.attempts import AttemptsLog
from gossamer.recrawl import known_pages
from gossamer.sinks.attempts import attempt_row
from gossamer.sinks.open_outputs import usual_rows
from gossamer.sinks.output_spec import parse
from gossamer.sinks.rows_in_data_folder import INCOMPLETE, unfilled_message
from gossamer.sites.manifest import lacking_message, note_lacking
from gossamer.state.attempts_table import AttemptsTable
from gossamer.store.store import Store
from gossamer.worker.outputs import OutageRules, Outputs, PastRows, VisitRecords, WriterRights
from gossamer.worker.records import format_time
from gossamer.worker.row_counts import known_fates

if TYPE_CHECKING:
    from gossamer.recrawl.stored_table import VisitOutcomes


def make_worker_outputs(
    setup: Setup,
    enqueuer: Enqueuer,
    tables: Sequence[TableSink],
    ours: Callable[[], Awaitable[None]] | None,
    stop: asyncio.Event,
) -> tuple[Outputs, str]:
    """Returns the outputs of a worker, and the fates of rows that all of them can know (`count_rows`).
    `tables`: the sinks of the program that runs the worker. `ours`: see `worker.outputs.WriterRights`."""
    frontier, sites = enqueuer.frontier, enqueuer.sites
    store, segment = frontier.store, setup.segment and f"-{setup.segment}"
    folder = Path(setup.job.settings.data) / setup.crawl
    aside = str(folder / f"rejected-items{segment}.jsonl") if sites else ""
    kept = kept_rows(setup, store.identity) if setup.keeps_rows else None
    files, own_tables = make_outputs(setup, sites, aside, store.identity, kept)
    outputs = Outputs(
        frontier,
        lock=folder / f"output{segment}.lock",
        files=files,
        tables=[*own_tables, *usual_rows(tables, pages=not sites)],
        records=VisitRecords(
            _attempts_log(setup, folder),
            _known_log(setup),
            _attempts_table(setup, store),
            _visit_outcomes(setup, store),
            enqueuer.skipped,
        ),
        writer=WriterRights(setup.alone, ours),
        outages=OutageRules(partial(report_outage, store, setup.crawl), stop, setup.deadline),
        past=PastRows(
            partial(hold_rows, HeldRows(store, setup.crawl)) if sites else None,
            None if (folder / INCOMPLETE).exists() else kept,
            setup.job.refresh,
        ),
    )
    return outputs, known_fates(own_tables) if setup.sites or sites else ""


def _attempts_log(setup: Setup, folder: Path) -> AttemptsLog:
    """Returns the attempts log. The log has a limit if the crawl has `--revisit`, because such a crawl never
    ends by itself."""
    settings = setup.job.settings
    limit = None if settings.revisit is None else settings.keep_attempts or 0
    return AttemptsLog(folder / "attempts.jsonl", limit=limit)


def _attempts_table(setup: Setup, store: Store) -> AttemptsTable | None:
    """Returns the table of attempts in a shared store. Returns None if there is no such table, for example
    because `--attempts` names an output."""
    settings = setup.job.settings
    if settings.store is None or settings.keep_attempts is None or setup.job.attempts is not None:
        return None
    return AttemptsTable(store, setup.crawl, settings.keep_attempts)


def _known_log(setup: Setup) -> Log | None:
    """Returns the log to which visits of known pages are written. With `--revisit`, the page table reads its
    visits from this log. Returns None for a fleet with `--revisit`, because a fleet reports the visits to the
    store."""
    if setup.revisits_on_fleet or (at := setup.known_at) is None:
        return None
    if setup.job.settings.revisit is not None:
        from gossamer.recrawl.page_table import VisitInbox

        return VisitInbox(at / known_pages.TABLE_NAME)
    return AttemptsLog(at / known_pages.name_of(setup.segment), known_pages.FILE_MODE)


def _visit_outcomes(setup: Setup, store: Store) -> VisitOutcomes | None:
    """Returns the list in which the workers of a fleet record their visits of known pages. The list is in the
    store."""
    if not setup.revisits_on_fleet:
        return None
    from gossamer.recrawl.stored_table import VisitOutcomes

    return VisitOutcomes(store, setup.crawl)


async def count_rows(setup: Setup, crawls: Crawls, outputs: Outputs, fates: str) -> None:
    """Stores what the crawl counts as new, changed and unchanged, and prepares the outputs to count."""
    record = await crawls.need(setup.crawl)
    notes_pages = setup.known_at is not None or setup.revisits_on_fleet
    await crawls.tell(setup.crawl, fates or ("pages" if notes_pages else "nothing"))
    revisits = setup.job.settings.revisit is not None
    since = None if revisits else format_time(record.started_at)
    outputs.backfill.count_from(since, counted=record.tells.startswith("items"))


async def report_unfilled(setup: Setup, store: Store, outputs: Outputs) -> None:
    """Warns about outputs that were added after the first run and do not contain the earlier rows."""
    backfill, folder = outputs.backfill, Path(setup.job.settings.data) / setup.crawl
    found, lines = backfill.unfilled, [*backfill.torn]
    if found and (setup.job.refresh or (await CrawlStatistics(store).summary(setup.crawl)).pages):
        lines.append(unfilled_message(setup.crawl, found, folder))
    else:  # the first run: no output lacks a row
        found = []
    note_lacking(folder, [*backfill.changes, *found], backfill.whole)
    values = [one.spec for one in setup.job.outputs if one.spec not in found]
    lines.append(lacking_message(folder, values))
    for line in filter(None, () if setup.job.per_pass else lines):
        print(f"gossamer: {line}", file=sys.stderr)


async def report_outage(store: Store, crawl: str, line: str, away: bool) -> None:
    """Reports that an output failed, or that a failed output works again. The report goes to stderr or to the
    log, and to the crawl's state."""
    if logs.started() is None:
        print(f"gossamer: {line}", file=sys.stderr)
    else:
        logs.log_event("sink_away" if away else "sink_back", crawl=crawl, text=line)
    from gossamer.state.fleet_crawls import FleetCrawls

    with contextlib.suppress(StoreError):
        for state in ("running", "ending"):
            await FleetCrawls(store).turn(crawl, state, state, line if away else "")


def complete_attempts(spec: str | None, region: str) -> Callable[[Visit], None]:
    """Returns a function that adds this worker's region to the attempts of a visit. If an output of attempts
    is configured, the function also adds the attempts to the visit's rows."""
    form = parse(spec).format if spec is not None else ""

    def complete(visit: Visit) -> None:
        if region:
            for one in visit.attempts:
                one.region = region
        if form and visit.attempts:
            visit.rows = visit.rows + [
                attempt_row(msgspec.structs.asdict(one), form) for one in visit.attempts
            ]

    return complete
