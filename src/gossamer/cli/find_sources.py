"""Finds the crawls that `gossamer find` searches, and reads their stored pages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.app.query.opened_crawl import LocalRows, SharedRows
    from gossamer.collectors.archive.collector import ArchiveCollector
    from gossamer.config.settings import Settings
    from gossamer.uses.search.document import IndexedPage, PageSource


class FoundCrawl(NamedTuple):
    """A crawl that is searched. `settings`: the settings that open the crawl's store. `name`: the crawl's
    name, or None if the crawl is the only one in its store."""

    name: str | None
    settings: Settings


class RecordSource:
    """A source for the search index that reads the page records of a crawl. `signature` changes when rows are
    added. `signature` is None if changes cannot be detected, for example in a database."""

    kind = "records"

    def __init__(self, stored: LocalRows | SharedRows) -> None:
        self.name, self.folder, self._stored = stored.name, Path(stored.folder), stored
        from gossamer.uses.search.sources import TextCount

        self._counted = TextCount()

    @property
    def signature(self) -> str | None:
        from gossamer.sinks.output_spec import parse
        from gossamer.sinks.rows_in_data_folder import NAME

        paths = [parse(spec).path for spec in self._stored.outputs]
        if any("://" in path for path in paths):
            return None
        return signature([self.folder / NAME, *map(Path, paths)])

    def pages(self) -> Iterator[PageSource]:
        from gossamer.uses.search.sources import of_records

        return of_records(self._stored.rows("pages"), self._counted)

    def why_empty(self) -> str:
        if n := self._counted.records:
            return (
                f"{self.name} kept the records of {n} pages, but no text: crawl again with --fresh and --text, or "
                "with -o pages.warc.gz, and repeat this command"
            )
        return (
            f"{self.name} has no page with text yet: crawl with --text, or with -o pages.warc.gz (a crawl of "
            "sites keeps page records with --pages FILE)"
        )


class ArchiveSource:
    """A source for the search index that reads whole stored pages of a crawl."""

    kind = "pages"

    def __init__(self, name: str, folder: Path, paths: list[Path]) -> None:
        self.name, self.folder, self._paths = name, folder, paths
        self._opened: ArchiveCollector | None = None

    @property
    def signature(self) -> str | None:
        return signature(self._paths)

    def pages(self) -> Iterator[PageSource]:
        from gossamer.cli.printing import remark
        from gossamer.collectors.archive.collector import merge_archives

        opened = self._opened = merge_archives([str(path) for path in self._paths])
        for key in opened.keys():  # noqa: SIM118 - a collector is no mapping
            if " " not in key and (source := _stored_page(opened, key)) is not None:
                yield source
        for line in opened.skipped[:5]:
            remark(line)

    def close(self) -> None:
        """Closes the files. After this call, pages can no longer be read."""
        if self._opened is not None:
            self._opened.shut()

    def why_empty(self) -> str:
        return f"{', '.join(map(str, self._paths))} has no page with text"


def _stored_page(opened: ArchiveCollector, url: str) -> PageSource | None:
    """Returns a stored page, or None if the response is not a page: a redirect, an error, a block, robots.txt."""
    from gossamer.collectors.archive.answers import is_blocked
    from gossamer.uses.search.document import PageSource
    from gossamer.uses.search.sources import GONE

    try:
        kept = opened.find(url)
    except OSError:
        return None
    if kept is None or is_blocked(kept) or (kept.asked.use or "").startswith("@"):
        return None
    if url.endswith("/robots.txt") or (kept.status not in GONE and not 200 <= kept.status < 300):
        return None
    fetched = datetime.fromtimestamp(kept.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return PageSource(url, fetched, partial(_document, opened, url, fetched), kept.status in GONE)


def _document(opened: ArchiveCollector, url: str, fetched: str) -> IndexedPage | None:
    from gossamer.model.page import Page as StoredPage
    from gossamer.model.request import Request
    from gossamer.uses.search.sources import of_page

    kept = opened.find(url)
    page = opened.page(Request(url), kept) if kept is not None else None
    if not isinstance(page, StoredPage):
        return None
    return of_page(url, fetched, page.body, page.read_as)


@contextlib.contextmanager
def opened_source(found: FoundCrawl) -> Iterator[RecordSource | ArchiveSource]:
    """Opens the stored pages of a crawl. Whole pages are preferred, because they have headings and dates. If
    the crawl stored no whole pages, its page records are opened. Raises UsageError."""
    from gossamer.app.query.opened_crawl import opened_crawl
    from gossamer.cli.printing import remark
    from gossamer.cli.reparse import stored_page_paths

    with opened_crawl(found.settings, found.name, remark) as stored:
        if archives := stored.archives:
            folder = Path(stored.folder)
            pages = ArchiveSource(stored.name, folder, stored_page_paths(archives, folder))
            with contextlib.closing(pages):
                yield pages
        else:
            yield RecordSource(stored)


@contextlib.contextmanager
def opened_archive(settings: Settings, name: str | None, archive: str) -> Iterator[ArchiveSource]:
    """Opens stored pages that no crawl of the data folder wrote. Raises UsageError."""
    from gossamer.cli.reparse import crawl_folder, local_copy

    folder = crawl_folder(Path(settings.data), name, archive)
    pages = ArchiveSource(name or archive, folder, [local_copy(archive, folder)])
    with contextlib.closing(pages):
        yield pages


def find_crawls(
    names: list[str], settings: Settings, settings_of: Callable[[str], Settings]
) -> list[FoundCrawl]:
    """Returns the chosen crawls, each once. `names`: names of crawls, patterns such as `shop-*`, and folders of crawls.
    `settings_of`: returns the settings for another data folder. Raises UsageError."""
    if not names:
        return [FoundCrawl(_only_crawl(Path(settings.data)) if settings.store is None else None, settings)]
    found: dict[tuple[str, str], FoundCrawl] = {}
    for name in names:
        folder = Path(name)
        if folder.parent != Path() or (folder / "crawl.json").exists():
            if not folder.is_dir():
                raise UsageError(f"--crawl {name}: no crawl has such a folder")
            data = str(folder.absolute().parent)
            local = msgspec.structs.replace(settings_of(data), store=None)
            found[data, folder.name] = FoundCrawl(folder.name, local)
        elif "*" in name or "?" in name:
            matching = [one for one in _known_crawls(settings) if fnmatchcase(one, name)]
            if not matching:
                raise UsageError(f"--crawl {name!r}: no crawl that kept pages has such a name")
            found |= {("", one): FoundCrawl(one, settings) for one in matching}
        else:
            found["", name] = FoundCrawl(name, settings)
    return list(found.values())


def _known_crawls(settings: Settings) -> list[str]:
    if settings.store is None:
        return _searchable_crawls(Path(settings.data))
    from gossamer.app.query.shared_store import names_of_crawls

    return names_of_crawls(settings)


def _searchable_crawls(data: Path) -> list[str]:
    """Returns the crawls of a data folder. Leaves out a crawl if all its outputs are Python classes, as in
    the crawls of `audit`, `prices`, `keywords` and `ranks`."""
    from gossamer.app.repair import read_crawl_file

    names = []
    for folder in sorted(path.parent for path in data.glob("*/attempts.jsonl")):
        known = read_crawl_file(folder)
        outputs = known.outputs if known is not None else ()
        if not outputs or not all(one.startswith(("site://", "python://")) for one in outputs):
            names.append(folder.name)
    return names


def _only_crawl(data: Path) -> str:
    names = _searchable_crawls(data)
    if not names:
        raise UsageError(f"no crawl in {data} kept pages that can be searched: crawl with --text")
    if len(names) > 1:
        raise UsageError(
            f"several crawls exist: {', '.join(names)}; give --crawl NAME, or --crawl '*' for all"
        )
    return names[0]


def signature(paths: list[Path]) -> str:
    """Returns a text that changes when one of the files, or a file in one of the folders, is written."""
    found = []
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            with contextlib.suppress(OSError):
                facts = file.stat()
                found.append(f"{file} {facts.st_size} {facts.st_mtime_ns}")
    return "\n".join(found)
