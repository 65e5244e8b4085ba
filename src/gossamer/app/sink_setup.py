"""Builds the outputs of a crawl from its settings. The outputs are the sinks for rows, the store for files,
and the function that makes rows of links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.app.job import Setup
from gossamer.config.optional_deps import install_command
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.items.assets import (
    FILES,
    REFERENCES,
    File,
    FileWithThumbnails,
    Reference,
    StoredFile,
    marked_fields,
)
from gossamer.model.interfaces import FileOutput, TableSink
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import LINK, Row
from gossamer.parsing import pdf, thumbnails
from gossamer.parsing.html import Document
from gossamer.sinks import columns, graph
from gossamer.sinks.append_log import AppendLog, log_path
from gossamer.sinks.item_files import AssetFolder, parse_file_store
from gossamer.sinks.open_outputs import SiteOutput, open_all
from gossamer.sinks.output_spec import parse
from gossamer.sinks.rows_in_data_folder import KeptRows
from gossamer.sites.loaded_site import LoadedSite
from gossamer.store.store import Store
from gossamer.worker.asset_download import AssetDownloads
from gossamer.worker.outputs import Say, SinkRetry
from gossamer.worker.reader import Reader
from gossamer.worker.records import edges

if TYPE_CHECKING:
    from gossamer.worker.near_duplicates import DuplicateMarker

Outputs = tuple[list[FileOutput], list[TableSink]]


def make_outputs(
    setup: Setup,
    sites: Sequence[LoadedSite],
    aside: str = "",
    store: str | None = None,
    kept: KeptRows | None = None,
) -> Outputs:
    """Returns the sinks of a job, which write to files and tables. `aside`: the file for rejected items.
    `store`: the identity of the store, or None in a process that writes no rows and only finishes the output
    files of other processes. `kept`: the crawl's kept rows."""
    job = setup.job
    pages = {
        "page": columns.page_columns(
            text=job.text,
            links=job.links,
            duplicates=job.settings.duplicates != "off",
            ids=setup.ids,
        )
    }
    compared = _compares(sites)
    declared = [(site.name, item) for site in sites for items in site.items.values() for item in items]
    taken = {"page", "attempt", LINK}
    if any(marked_fields(item) for _, item in declared):
        taken |= {FILES, REFERENCES}
    if names := taken & {item.__name__.lower() for _, item in declared}:
        raise ConfigError(
            f"an item class may not be called {names.pop().title()} here: that kind is the records'"
        )
    kinds = item_columns([item for _, item in declared], compared, setup.ids) if sites else pages
    here = {site.name for site in sites}
    specs = [(output.spec, output.overwrite) for output in job.outputs if not output.sites]
    own = [
        SiteOutput(
            one.spec,
            frozenset(one.sites),
            item_columns([item for name, item in declared if name in one.sites], compared, setup.ids),
        )
        for one in job.outputs
        if not here.isdisjoint(one.sites)
    ]
    folder = str(Path(job.settings.data) / setup.crawl)
    log = None if store is None else append_log(setup, store)
    return open_all(
        specs,
        kinds,
        job.pages,
        pages,
        setup.owner,
        own,
        aside,
        job.refresh,
        folder,
        job.attempts,
        job.graph,
        log,
        kept,
    )


def append_log(setup: Setup, store: str) -> AppendLog:
    """Returns the log in which a crawl records its appends to output files. `store`: the identity of the
    store."""
    path = log_path(Path(setup.job.settings.data) / setup.crawl, setup.segment)
    return AppendLog(path, setup.owner, store, fresh=setup.job.fresh, finished=lambda: setup.finished)


def kept_rows(setup: Setup, store: str) -> KeptRows:
    """Returns the file in which a crawl keeps its rows. `store`: the identity of the store."""
    return KeptRows(
        Path(setup.job.settings.data) / setup.crawl,
        overwrite=not setup.job.refresh,
        owner=setup.owner,
        log=append_log(setup, store),
    )


def item_columns(items: Iterable[type], compared: bool = False, ids: bool = False) -> columns.Columns:
    """Maps each kind of rows to its columns. The kinds are the kinds of items and, if the items have such
    fields, the rows that describe files and references. `compared` and `ids` have the same meaning as in
    `columns.item_columns`."""
    items = list(items)
    kinds: dict[str, Sequence[columns.Column]] = dict(columns.item_columns(items, compared, ids))
    named = [mark for item in items for _, mark in marked_fields(item)]
    if named:
        kinds[REFERENCES] = (*columns.struct_columns(Reference), *columns.OURS)
    files = [mark for mark in named if isinstance(mark, File)]
    if files:
        row = FileWithThumbnails if any(mark.rule.thumbnails for mark in files) else StoredFile
        kinds[FILES] = (*columns.struct_columns(row), *columns.OURS)
    return kinds


def duplicate_marker(
    settings: Settings, sites: Sequence[LoadedSite], store: Store, crawl: str
) -> DuplicateMarker | None:
    """Returns the object that marks near-duplicate pages and items. Returns None if the crawl does not
    compare pages or items."""
    if settings.duplicates == "off" and not _compares(sites):
        return None
    from gossamer.state.near_duplicate_index import DEFAULT_MAX_GROUPS, NearDuplicateIndex
    from gossamer.worker.near_duplicates import DuplicateMarker

    _, _, most = settings.duplicates.partition("?most=")
    return DuplicateMarker(NearDuplicateIndex(store, crawl, int(most or DEFAULT_MAX_GROUPS)))


def _compares(sites: Sequence[LoadedSite]) -> bool:
    if not any(site.site.steps for site in sites):
        return False
    from gossamer.sites.item_builder import has_comparing_step

    return has_comparing_step(sites)


def link_rows(
    setup: Setup, key: Callable[[str], str]
) -> Callable[[Page, Request, Document], list[Row]] | None:
    """Returns the function that creates rows from the links of a page. Returns None if no output stores such
    rows. `key`: returns the canonical form of a URL."""
    job = setup.job
    return (
        None if job.graph is None else partial(edges, setup.crawl, key, graph.kind(parse(job.graph).format))
    )


def open_file_store(
    setup: Setup, reader: Reader, folder: Path, say: Say, stop: asyncio.Event
) -> AssetDownloads | None:
    """Returns the object that downloads and stores the files of a crawl's items. Returns None if the crawl
    downloads no files. Raises UsageError, ConfigError."""
    job = setup.job
    if not reader.fetches:
        return None
    named = [
        mark
        for site in reader.sites
        for items in site.items.values()
        for item in items
        for _, mark in marked_fields(item)
    ]
    if setup.segment and job.files is None and any(isinstance(mark, File) for mark in named):
        raise ConfigError(
            "on a fleet files need a place that all workers reach: --files FOLDER or s3://..., or --files off"
        )
    if any(isinstance(mark, File) and mark.rule.text for mark in named) and not pdf.available():
        raise ConfigError(f"File(text=True) needs pypdfium2: {install_command('pdf')}")
    if any(isinstance(mark, File) and mark.rule.thumbnails for mark in named) and not thumbnails.available():
        raise ConfigError(f"File(thumbnails=...) needs Pillow: {install_command('images')}")
    where = AssetFolder(parse_file_store(job.files or str(folder / "files")))
    waiting, most = SinkRetry(say, stop), job.settings.max_size
    return AssetDownloads(where, reader.rows, waiting, most, pdf.text, thumbnails.thumbnails)
