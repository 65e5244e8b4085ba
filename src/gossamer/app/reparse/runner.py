"""Runs a site's functions over stored pages, batch by batch. An interrupted run resumes exactly where it
stopped.

All items first go to `items.jsonl` in the run's folder. When all pages are read, the items are compared and
written to the outputs. `state.json` holds the progress of the run. `state.json` is always written after the
lines of `items.jsonl` that it counts. When a run resumes, it first removes the lines that were added to
`items.jsonl` after the last write of `state.json`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import xxhash

from gossamer.app.reparse import processes as working
from gossamer.app.reparse.comparison import Difference, compare
from gossamer.app.sink_setup import item_columns
from gossamer.collectors.archive.collector import ArchiveCollector, merge_archives
from gossamer.config.data_files import make_folder, open_file
from gossamer.errors import ConfigError
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Row
from gossamer.sinks.columns import Columns
from gossamer.sinks.crash_safe_file import ExactFile, sync_folder
from gossamer.sinks.output_spec import open_output
from gossamer.sites.failed_pages import FailedPages
from gossamer.sites.loaded_site import LoadedSite
from gossamer.worker.reader import PageReceivers, Reader, ReadSettings

BATCH_ROWS = 1000
SAVE_INTERVAL_S = 1.0
"""Seconds between two saves of the state. If the process is killed, only the work since the last save is
lost."""


class ReparseState(msgspec.Struct):
    """The progress of a run. `given`: the inputs of the run as JSON. A run can only be resumed with the same
    inputs. `owner`: identifies the run in its output files. A resumed run keeps its `owner`."""

    given: str
    owner: str = ""
    batches: int = 0
    length: int = 0
    pages: int = 0
    passed: int = 0
    items: int = 0
    rejected: int = 0
    failed: int = 0
    unread: int = 0
    reasons: dict[str, int] = {}
    written: int = 0
    """The number of bytes of `items.jsonl` that were already written to the outputs."""
    lengths: dict[str, int] = {}
    done: bool = False


class ProgressListener(Protocol):
    """Shows the progress of a run. Receives the run's state and the total number of stored responses."""

    def show(self, state: ReparseState, total: int) -> None: ...


class ReparseResult(msgspec.Struct):
    """The result of a run. `read`: the number of stored responses that were read. `pages`: the number of
    responses that a site function read. `unread`: a count of damaged places in the files and of responses
    that no longer exist. `broken`: the first few damaged places, each with the reason."""

    read: int
    pages: int
    passed: int
    items: int
    rejected: int
    failed: int
    reasons: dict[str, int]
    difference: Difference | None
    items_file: str
    details_file: str | None
    outputs: list[str]
    unread: int = 0
    broken: list[str] = []
    kept: str | None = None
    """The folder that contains the unreadable pages, each with the reason. `kept` is None if all pages could
    be read."""


class ReparseRun:
    """A run over stored pages. `folder`: the run's own folder. `stored`: the files and folders that contain
    the pages. `outputs`: pairs of an output's spec and a boolean, which is true if the output is overwritten.
    `shown`: an object that displays the progress."""

    def __init__(
        self,
        folder: Path,
        stored: Sequence[Path],
        sites: Sequence[LoadedSite],
        *,
        outputs: Sequence[tuple[str, bool]] = (),
        old: Path | None = None,
        processes: int = 1,
        fresh: bool = False,
    ) -> None:
        self.folder, self.sites, self.old = folder, sites, old
        self._stored = [str(one) for one in stored]
        self._outputs, self._processes = outputs, processes
        self.shown: ProgressListener | None = None
        versions = {site.name: [site.version, repr(dict(site.site.args))] for site in sites}
        self._given, self._fresh = [self._stored, versions, list(outputs)], fresh
        make_folder(folder)
        self.items, self.details = folder / "items.jsonl", folder / "differences.jsonl"
        self.state = ReparseState("")

    def work(self) -> ReparseResult:
        """Reads the pages, compares the items and writes them to the outputs. Raises GossamerError. After a
        KeyboardInterrupt the run can be resumed."""
        opened = merge_archives(self._stored)
        keys = opened.keys()
        if not keys:
            raise ConfigError(f"{', '.join(self._stored)} contains no page")
        try:
            self.state = self._begun(keys)
            self._read(
                opened,
                [keys[at : at + working.BATCH_PAGES] for at in range(0, len(keys), working.BATCH_PAGES)],
                len(keys),
            )
        finally:
            opened.shut()
        difference = compare(self.old, self.items, self.details) if self.old is not None else None
        self._write()
        self.state.done = True
        self._save()
        state = self.state
        return ReparseResult(
            len(keys),
            state.pages,
            state.passed,
            state.items,
            state.rejected,
            state.failed,
            state.reasons,
            difference,
            str(self.items),
            str(self.details) if difference is not None else None,
            [spec for spec, _ in self._outputs],
            state.unread + len(opened.skipped),
            opened.skipped[:5],
            str(self.folder / "failed") if state.failed else None,
        )

    def _begun(self, keys: Sequence[str]) -> ReparseState:
        """If a run over the same pages with the same sites was interrupted, returns its state. Otherwise
        creates, saves and returns a new state."""
        pages = xxhash.xxh3_64_hexdigest("\n".join(keys).encode("utf-8", "surrogatepass"))
        given = json.dumps([*self._given, pages, _bytes(self._stored)], sort_keys=True)
        known = self._known() if not self._fresh else None
        if known is not None and not known.done and known.given == given:
            return known
        self.state = ReparseState(given, f"reparse-{secrets.token_hex(4)}")
        self._save()  # save the new state first; the lines of the earlier state are removed afterwards
        return self.state

    def _read(self, opened: ArchiveCollector, batches: Sequence[Sequence[str]], total: int) -> None:
        state, file = self.state, ExactFile(str(self.items), overwrite=True)
        if not state.batches:
            file.prepare()
            shutil.rmtree(self.folder / "failed", ignore_errors=True)
        file.append(state.length, b"")
        reasons, lines, saved = Counter(state.reasons), list[bytes](), time.monotonic()
        if state.batches < len(batches):
            make = partial(make_reading, opened, self.sites, self.folder / "failed")
            with contextlib.closing(
                working.read_in_processes(batches[state.batches :], self._processes, make)
            ) as read:
                for batch in read:
                    self._take(batch, reasons)
                    lines.append(batch.lines)
                    if self.shown is not None:
                        self.shown.show(state, total)
                    if time.monotonic() - saved >= SAVE_INTERVAL_S or state.batches == len(batches):
                        state.length = file.append(state.length, b"".join(lines))
                        self._save()
                        saved = time.monotonic()
                        lines.clear()
        file.close(state.length)

    def _take(self, batch: working.ParsedBatch, reasons: Counter[str]) -> None:
        """Adds the counts of a batch to the state. The caller writes the lines of the batch before it saves
        this state."""
        state = self.state
        state.batches += 1
        for name in ("pages", "passed", "items", "rejected", "unread"):
            setattr(state, name, getattr(state, name) + getattr(batch, name))
        state.failed += len(batch.failed)
        reasons.update(why for _, why in batch.failed)
        state.reasons = dict(reasons.most_common(100))

    def _write(self) -> None:
        """Writes the items to the outputs."""
        if not self._outputs:
            return
        columns = item_columns(item for site in self.sites for items in site.items.values() for item in items)
        state = self.state
        sinks: list[Any] = [
            open_output(spec, columns, overwrite=overwrite, owner=state.owner, folder=str(self.folder))
            for spec, overwrite in self._outputs
        ]
        with self.items.open("rb") as file:
            for sink in sinks:
                self._prepare(sink)
            while state.written < state.length:
                file.seek(state.written)
                lines = [file.readline() for _ in range(BATCH_ROWS)]
                rows = [_row(line, columns) for line in lines if line]
                for sink in sinks:
                    self._hand(sink, rows)
                state.written += sum(map(len, lines))
                self._save()
        for sink in sinks:
            for one in sink.sinks() if not hasattr(sink, "upsert") else ():
                one.close(state.lengths[one.target()])
            if hasattr(sink, "upsert"):
                sink.close()

    def _prepare(self, sink: Any) -> None:
        if hasattr(sink, "upsert"):
            sink.prepare()
            return
        for one in sink.sinks():
            if one.target() not in self.state.lengths:
                self.state.lengths[one.target()] = one.prepare()
                self._save()
            one.append(self.state.lengths[one.target()], ())

    def _hand(self, sink: Any, rows: list[Row]) -> None:
        if hasattr(sink, "upsert"):
            sink.upsert(rows)
            return
        for one, part in sink.route(rows):
            name = one.target()
            if name not in self.state.lengths:
                self.state.lengths[name] = one.prepare()
                self._save()
            self.state.lengths[name] = one.append(self.state.lengths[name], part)

    def _known(self) -> ReparseState | None:
        try:
            return msgspec.json.decode((self.folder / "state.json").read_bytes(), type=ReparseState)
        except (OSError, msgspec.MsgspecError):
            return None

    def _save(self) -> None:
        aside = self.folder / "state.new"
        with open(aside, "wb", opener=open_file) as file:
            file.write(msgspec.json.encode(self.state))
            file.flush()
            os.fsync(file.fileno())
        aside.rename(self.folder / "state.json")
        sync_folder(str(self.folder))


@contextlib.contextmanager
def make_reading(
    opened: ArchiveCollector, sites: Sequence[LoadedSite], folder: Path, note: working.BatchPosition
) -> Iterator[Callable[[Sequence[str]], working.ParsedBatch]]:
    """Yields a function that reads one batch in this process. With its first three arguments bound,
    `make_reading` is a `processes.Make`. `folder`: the folder in which unreadable pages are stored."""
    opened.again()
    why = list[str]()
    nobody: Any = working.NoLinks()
    aside = FailedPages(folder)

    def keep(page: Page, request: Request, detail: str) -> None:
        why.append(detail)
        aside.keep(page, request, detail)

    reader = Reader(sites, nobody, lambda url: url, ReadSettings(pages=False), PageReceivers(keep))
    reader.builders.open(folder.parent.name, folder.parent)
    try:
        yield partial(working.read, reader, why, opened, note)
    finally:
        reader.builders.close()


def _bytes(stored: Sequence[str]) -> int:
    """Returns the size of the stored pages in bytes. If this size has changed, an interrupted run is not
    resumed, because added pages may contain newer responses for the same URLs."""
    files = (one for path in map(Path, stored) for one in (path.rglob("*") if path.is_dir() else (path,)))
    return sum(one.stat().st_size for one in files if one.suffix in (".gz", ".warc", ".jsonl"))


def _row(line: bytes, columns: Columns) -> Row:
    """Parses an item's line into a row. In decimal columns, and in JSON columns with known element types,
    numbers with a fraction become Decimal values."""
    item = msgspec.json.decode(line, type=dict[str, Any])
    decimals = [
        column.name for column in columns.get(item["_kind"], ()) if column.type == "decimal" or column.shape
    ]
    if decimals:
        exact = _exact(line)
        item |= {name: exact[name] for name in decimals if exact.get(name) is not None}
    return Row(item["_kind"], item["_key"], item)


def _exact(line: bytes) -> dict[str, Any]:
    from decimal import Decimal

    return msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode(line)
