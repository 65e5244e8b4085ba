"""Manages the *kept rows*. A crawl with the embedded store keeps a copy of its rows in the data folder. An
output that is added to the crawl later receives the kept rows. `--keep` limits the size of the kept rows."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.enqueuer import policy
from gossamer.app.job import Setup
from gossamer.app.preflight import output_values
from gossamer.app.producer_runner import say_nothing
from gossamer.config.redaction import mask
from gossamer.errors import GossamerError
from gossamer.frontier.crawl_lock import hold_lock
from gossamer.frontier.crawls import Crawls, Record
from gossamer.frontier.frontier_client import Frontier
from gossamer.sinks.output_spec import parse
from gossamer.sinks.rows_in_data_folder import (
    INCOMPLETE,
    NAME,
    TARGET,
    mark_incomplete,
    remove_kept,
    unfilled_message,
)
from gossamer.sites.manifest import lacking_message, note_lacking, write_manifest
from gossamer.store.store import Store
from gossamer.worker.backfill_outputs import PASS, is_absent, lacking_part


def note_kept(setup: Setup) -> None:
    """If a run of a resumed crawl did not keep its rows, records in the crawl's folder that the kept rows are
    incomplete."""
    folder = Path(setup.job.settings.data) / setup.crawl
    if setup.keeps_rows and not (folder / NAME).exists() and not (folder / INCOMPLETE).exists():
        mark_incomplete(folder, "the rows of its first runs were not kept")
    elif not setup.keeps_rows and (folder / NAME).exists():
        mark_incomplete(folder, "a run with --keep off did not keep its rows")


async def reached_rows(frontier: Frontier) -> dict[str, int]:
    """Called before a pass (`--refresh`) begins. Returns how many of the kept rows each output of a crawl
    already contains. The result maps each output to an offset in the file of kept rows. All rows before this
    offset were written to the output. The key PASS maps to the offset of the pass's first row. Returns {} if
    the crawl keeps no rows."""
    lengths = await frontier.all_lengths()
    if (end := lengths.pop(TARGET, None)) is None:
        return {}
    return dict.fromkeys([PASS, *lengths], end) | await frontier.filling() | {PASS: end}


async def fill_added(setup: Setup, store: Store, record: Record, warn: Callable[[str], None]) -> None:
    """Writes the kept rows of a finished crawl into outputs that were added or deleted since. Reports outputs
    that lack rows."""
    folder = Path(setup.job.settings.data) / setup.crawl
    values = [value for value in output_values(setup.job) if value != "-"]
    if setup.job.per_pass:
        warn = say_nothing
    lengths = await Frontier(store, setup.crawl, policy(setup.job.settings)).all_lengths()
    torn = any(lacking_part(path, length) for path, length in lengths.items())
    if not torn and not {*values} - {*record.outputs} and not any(map(_is_deleted, values)):
        if line := lacking_message(folder, values):
            warn(line)
        return
    setup.owner = f"{setup.crawl}@{record.started_at}"
    crawl_worker = CrawlWorker(setup, store, "filler", asyncio.Event())
    try:
        await crawl_worker.outputs.open()
        await crawl_worker.outputs.finish()
    finally:
        await crawl_worker.close()
    outputs = [(one.spec, not one.sites) for one in setup.job.outputs]
    write_manifest(
        folder, outputs, [site.path for site in crawl_worker.sites if site.script_site is None], anew=False
    )
    for line in crawl_worker.outputs.backfill.torn:
        warn(line)
    if crawl_worker.outputs.backfill.unfilled:
        warn(unfilled_message(setup.crawl, crawl_worker.outputs.backfill.unfilled, folder))
    elif crawl_worker.outputs.backfill.added:
        warn(
            f"{', '.join(map(mask, crawl_worker.outputs.backfill.added))}: filled with what {setup.crawl} found before"
        )
    note_lacking(folder, crawl_worker.outputs.backfill.unfilled, crawl_worker.outputs.backfill.whole)
    if line := lacking_message(folder, values):
        warn(line)


def _is_deleted(spec: str) -> bool:
    path = parse(spec).path
    return "://" not in path and is_absent(os.path.abspath(path))


async def bound_kept(setup: Setup, store: Store) -> None:
    """Limits the size of all kept rows in the data folder to `--keep`. Removes the kept rows of the oldest
    finished crawls first."""
    keep, data = setup.job.settings.keep, Path(setup.job.settings.data)
    if not setup.keeps_rows or keep is None:
        return
    files = await asyncio.to_thread(_by_age, data)
    size = sum(length for _, length, _ in files)
    for _, length, folder in files:
        if size <= keep:
            return
        record = await Crawls(store).get(folder.name)
        if folder.name == setup.crawl or (
            record is not None and record.state not in ("finished", "cancelled")
        ):
            continue
        with contextlib.suppress(GossamerError), hold_lock(folder, folder.name):
            remove_kept(
                folder, f"its rows were removed, the oldest first, to stay within --keep {keep} bytes"
            )
            await Frontier(store, folder.name, policy(setup.job.settings)).no_length(TARGET)
            size -= length


def _by_age(data: Path) -> list[tuple[float, int, Path]]:
    """Returns one entry for each file of kept rows. An entry contains the time of the last write, the size in
    bytes and the folder."""
    found = [(path.stat(), path.parent) for path in data.glob(f"*/{NAME}")]
    return sorted((there.st_mtime, there.st_size, folder) for there, folder in found)
