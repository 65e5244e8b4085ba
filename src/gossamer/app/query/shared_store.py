"""Reads the rows and attempts of a crawl in a shared store from any machine. The rows come from the outputs
that the crawl's workers write. The attempts come from an output of attempts or from the store's table of
attempts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from gossamer.app import job_payload
from gossamer.app.job import Setup
from gossamer.app.login_setup import seal_of
from gossamer.app.open_store import open_url
from gossamer.app.query.sources import natural_rows_of, rows_of
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, UsageError
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.frontier_client import Frontier
from gossamer.sinks.output_spec import WHOLE, column_choice
from gossamer.sinks.sink_url import kind_of
from gossamer.state.attempts_table import AttemptsTable, TableSize
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.store import Store

Row = dict[str, Any]


class SharedCrawl:
    """A crawl in a shared store. Open the crawl with a `with` statement. The methods of this class are
    synchronous."""

    def __init__(self, settings: Settings, crawl: str | None) -> None:
        """If `crawl` is None, the store must contain only one crawl."""
        self._settings, self._wanted = settings, crawl
        self._runner = asyncio.Runner()
        self.name = crawl or ""
        self._setup: Setup | None = None
        self._outputs: list[str] = []
        self._archives: list[str] = []

    def __enter__(self) -> SharedCrawl:
        """Opens the store. Raises StoreError if the store cannot be opened. Raises UsageError if the store
        has no such crawl."""
        try:
            self._store = self._runner.run(open_url(self._settings.store or "", embedded=False))
            self._runner.run(self._open(self._store))
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._store.close())
        self._runner.close()

    async def _open(self, store: Store) -> None:
        crawls = Crawls(store)
        if self._wanted is None:
            names = await crawls.names()
            if len(names) != 1:
                raise UsageError(f"name a crawl; the fleet has {', '.join(names) or 'none'}")
            self.name = names[0]
        record = await crawls.need(self.name)
        raw = await FleetCrawls(store).job(self.name)
        if raw is None:
            self._outputs = [one for one in record.outputs if "***" not in one]
            return
        seal = partial(seal_of, self._settings, store)
        self._setup = job_payload.unpack_setup(raw, self._settings, store.url, "", seal)
        shared = job_payload.read_outputs(raw)
        lengths = await Frontier(store, self.name).all_lengths()
        segments = sorted(job_payload.committed_segments(list(lengths)))
        for spec in [*(one.spec for one in shared.outputs), *filter(None, [shared.pages])]:
            self._outputs += _readable(spec, segments)
            self._archives += _stored_pages(spec, segments)
        self._attempts = _readable(shared.attempts, segments) if shared.attempts else []

    _attempts: list[str] = []  # noqa: RUF012 - replaced, never changed

    @property
    def archives(self) -> list[str]:
        """The output parts in which the workers stored whole pages. Each part is a path or URL. A part in the
        format `objects` has the prefix `objects:`. The list includes parts in folders that do not exist on
        this machine."""
        return self._archives

    @property
    def is_of_fleet(self) -> bool:
        """Whether the crawl was submitted to a fleet. Any worker of the fleet may have written rows of the
        crawl."""
        return self._setup is not None

    @property
    def outputs(self) -> list[str]:
        """The outputs that this machine can read, each in the form of `-o`. A database counts as one output.
        In a folder, the file of each worker process counts as one output."""
        return self._outputs

    def rows(self, sign: str, *, natural: bool = False) -> Iterator[Row]:
        """Yields the rows that have a field named `sign`. Raises UsageError if no output can be read on this
        machine."""
        specs = [one for one in self._outputs if _is_here(one)]
        if not specs:
            told = ", ".join(self._outputs) or "it has no output that can be read"
            raise UsageError(
                f"{self.name}: no rows can be read here: {told}; run this where its folder is, or submit it with "
                "-o to a database or a folder that all machines reach"
            )
        first = kind_of(specs[0])
        for spec in specs[:1] if first else [one for one in specs if not kind_of(one)]:
            read = natural_rows_of(spec) if natural else rows_of(spec)
            yield from (row for row in read if sign in row)

    def attempts(self) -> Iterator[Row]:
        """Yields the attempts from the crawl's `--attempts` output. If the crawl has no such output, yields
        the attempts from the store."""
        specs = [one for one in self._attempts if _is_here(one)]
        if self._attempts and not specs:
            raise ConfigError(
                f"{self.name}: its attempts are in {', '.join(self._attempts)}, which is not here"
            )
        for spec in specs:
            yield from (row for row in rows_of(spec) if "outcome" in row)
        if not specs:
            batches = AttemptsTable(self._store, self.name).batches()
            while batch := self._runner.run(_next(batches)):
                yield from batch

    def attempts_size(self) -> TableSize:
        """Returns the size of the store's table of attempts."""
        return self._runner.run(AttemptsTable(self._store, self.name).size())


def names_of_crawls(settings: Settings) -> list[str]:
    """Returns the names of all crawls of a shared store. Raises StoreError."""

    async def names() -> list[str]:
        store = await open_url(settings.store or "", embedded=False)
        try:
            return await Crawls(store).names()
        finally:
            await store.close()

    return asyncio.run(names())


async def _next(batches: AsyncIterator[list[Row]]) -> list[Row]:
    return await anext(batches, [])


def _readable(spec: str, segments: list[str]) -> list[str]:
    """Returns the outputs that a reader must open to read the shared output `spec`. If `spec` is a database,
    returns `[spec]`. If `spec` is a folder, returns one file per worker process."""
    if kind_of(spec):
        return [spec]
    folder, form = job_payload.folder_of(spec)
    if form in WHOLE or folder is None or column_choice(spec) is not None:
        return []
    return [job_payload.part_of_output(spec, segment) for segment in segments]


def _stored_pages(spec: str, segments: list[str]) -> list[str]:
    """Returns the parts of an output that stores whole pages. Returns [] if the output stores rows."""
    if kind_of(spec) or job_payload.folder_of(spec)[1] not in WHOLE:
        return []
    parts = [job_payload.part_of_output(spec, segment) for segment in segments]
    return [one for one in parts if "://" in one or not _is_unwritten(Path(one.removeprefix("objects:")))]


def _is_unwritten(part: Path) -> bool:
    """Returns whether the worker that owns `part` has stored no pages. In this case, the folder of `part`
    exists, but `part` itself is missing."""
    return part.parent.is_dir() and not part.exists()


def _is_here(spec: str) -> bool:
    """Returns whether an output can be read on this machine."""
    if kind_of(spec):
        return True
    path = Path(spec.partition(":")[0])
    return path.exists() or any(path.parent.glob(f"{path.stem}.*"))
