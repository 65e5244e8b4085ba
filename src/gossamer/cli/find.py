"""`gossamer find`: searches the text of the pages that a crawl kept."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, read_settings
from gossamer.errors import DiskFull, UsageError

if TYPE_CHECKING:
    from gossamer.cli.query import LocalRows, SharedRows
    from gossamer.collectors.archive.collector import ArchiveCollector
    from gossamer.config.settings import Settings
    from gossamer.uses.search.index import IndexedPage, PageSource, SearchIndex, SearchResult, SearchResults
    from gossamer.uses.search.query import Query

Words = Annotated[
    list[str],
    Argument(
        metavar="QUERY...",
        help="Words, 'a phrase', -without, a OR b, map*, title: heading: text: url: site: lang: before: after:",
    ),
]
CrawlName = Annotated[
    str | None, Option("--crawl", metavar="NAME", help="The crawl (default: the only one that kept pages).")
]
Archive = Annotated[
    str | None,
    Option("--archive", metavar="PATH", help="Stored pages instead of a crawl: a WARC, or a folder of them."),
]
Index = Annotated[
    str | None, Option("--index", metavar="FILE", help="The index (default search.db in the crawl's folder).")
]
NoUpdate = Annotated[bool, Option("--no-update", help="Search the index as it is; read no pages.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="Results per page (10; 0: all).", least=0)]
Page = Annotated[int, Option("--page", metavar="N", help="Which page of results (1).", least=1)]
ByDate = Annotated[bool, Option("--by-date", help="The newest pages first, instead of the best.")]
Count = Annotated[bool, Option("--count", help="Print only the number of results.")]
REMARK_S = 5.0
"""Seconds between two messages while an index is built."""


def find(
    query: Words,
    crawl: CrawlName = None,
    archive: Archive = None,
    index: Index = None,
    no_update: NoUpdate = False,
    limit: Limit = 10,
    page: Page = 1,
    by_date: ByDate = False,
    count: Count = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Search the text of the pages that a crawl kept. The index is updated first."""
    from gossamer.uses.search.index import SearchIndex
    from gossamer.uses.search.query import from_arguments, parse

    text = from_arguments(query)
    parsed = parse(text)
    settings = read_settings(data, store, setting)
    try:
        with _source(settings, crawl, archive) as source:
            path = Path(index) if index is not None else source.folder / "search.db"
            if no_update and not path.exists():
                raise UsageError(f"{path}: there is no index yet; leave out --no-update")
            if not path.parent.is_dir():
                if index is not None:
                    raise UsageError(f"--index {index}: there is no folder {path.parent}")
                path.parent.mkdir(parents=True)
            with SearchIndex(path) as opened:
                if not no_update:
                    update(opened, source)
                answer(opened, source.name, text, parsed, limit, page, by_date, count, as_json)
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "disk I/O" in str(error):
            raise DiskFull(
                f"the index cannot be written: {error}: free some space, then run the same command again"
            ) from error
        raise UsageError(f"the index cannot be used: {error}") from error
    return 0


class _RecordSource:
    """A source for the search index that reads the page records of a crawl. `signature` changes when rows are
    added. It is None if changes cannot be detected, for example in a database."""

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


class _ArchiveSource:
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
        """Closes the files. The pages can be read until then."""
        if self._opened is not None:
            self._opened.shut()

    def why_empty(self) -> str:
        return f"{', '.join(map(str, self._paths))} has no page with text"


def _stored_page(opened: ArchiveCollector, url: str) -> PageSource | None:
    """Returns a stored page. Returns None if the response is not a page but a redirect, an error, a block or
    robots.txt."""
    from gossamer.collectors.archive.answers import is_blocked
    from gossamer.uses.search.index import PageSource
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
    return of_page(url, fetched, page.body, page.content_type)


@contextlib.contextmanager
def _source(
    settings: Settings, crawl: str | None, archive: str | None
) -> Iterator[_RecordSource | _ArchiveSource]:
    """Opens the stored pages of a crawl. Whole pages are preferred, because they contain headings and dates.
    If there are none, the page records are used. Raises UsageError."""
    from gossamer.cli.query import opened_crawl
    from gossamer.cli.reparse import crawl_folder, local_copy, stored_page_paths
    from gossamer.sites.manifest import NAME, read_manifest

    if archive is not None:
        folder = crawl_folder(Path(settings.data), crawl, archive)
        pages = _ArchiveSource(crawl or archive, folder, [local_copy(archive, folder)])
        with contextlib.closing(pages):
            yield pages
        return
    if crawl is None and settings.store is None:
        crawl = _only_crawl(Path(settings.data))
    with opened_crawl(settings, crawl) as stored:
        folder = Path(stored.folder)
        archives = read_manifest(folder).archives if (folder / NAME).exists() else []
        if archives:
            pages = _ArchiveSource(stored.name, folder, stored_page_paths(archives, folder))
            with contextlib.closing(pages):
                yield pages
        else:
            yield _RecordSource(stored)


def _only_crawl(data: Path) -> str:
    """Returns the only crawl of a data folder. The crawls of `audit`, `prices`, `keywords` and `ranks` are
    ignored, because their rows are passed only to Python code. Raises UsageError."""
    from gossamer.app.repair import read_crawl_file

    names = []
    for folder in sorted(path.parent for path in data.glob("*/attempts.jsonl")):
        known = read_crawl_file(folder)
        outputs = known.outputs if known is not None else ()
        if not outputs or not all(one.startswith(("site://", "python://")) for one in outputs):
            names.append(folder.name)
    if not names:
        raise UsageError(f"no crawl in {data} kept pages that can be searched: crawl with --text")
    if len(names) > 1:
        raise UsageError(f"which crawl? there are {', '.join(names)}: give --crawl NAME")
    return names[0]


def signature(paths: list[Path]) -> str:
    """Returns a text that changes when a file at one of the paths, or in a folder, is written."""
    found = []
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            with contextlib.suppress(OSError):
                facts = file.stat()
                found.append(f"{file} {facts.st_size} {facts.st_mtime_ns}")
    return "\n".join(found)


def update(index: SearchIndex, source: _RecordSource | _ArchiveSource) -> None:
    """Updates the index with the stored pages of the crawl. Raises UsageError if the crawl stored no text."""
    from gossamer.cli.printing import remark

    now = source.signature
    if now is not None and now == index.fact("signature") and source.kind == index.fact("kind"):
        return
    if source.kind != index.fact("kind"):
        index.forget_times()  # pages from the other kind of source have different fields
    index.set_fact("kind", source.kind)
    last = time.monotonic()

    def progress(count: int) -> None:
        nonlocal last
        if time.monotonic() - last > REMARK_S:
            last = time.monotonic()
            remark(f"{count:,} pages of {source.name} were read for the index")

    done = index.update(source.pages(), progress)
    if not done.pages:
        raise UsageError(source.why_empty())
    if now is not None:
        index.set_fact("signature", now)
    if done.written or done.removed:
        gone = f", {done.removed:,} removed" if done.removed else ""
        remark(f"the index of {source.name} has {done.pages:,} pages: {done.written:,} new or changed{gone}")


def answer(
    index: SearchIndex,
    crawl: str,
    text: str,
    query: Query,
    limit: int,
    page: int,
    by_date: bool,
    count: bool,
    as_json: bool,
) -> None:
    """Searches and prints the results."""
    from gossamer.cli.printing import put_json

    start = time.perf_counter()
    if count:
        total = index.count(query)
        if as_json:
            put_json({"crawl": crawl, "query": text, "total": total})
        else:
            print(total)
        return
    offset = (page - 1) * limit
    found = index.find(query, limit, offset, by_date=by_date)
    seconds = time.perf_counter() - start
    if as_json:
        put_json(
            {
                "crawl": crawl,
                "query": text,
                "total": found.total,
                "offset": offset,
                "pages": len(index),
                "seconds": round(seconds, 4),
                "results": [_as_json(result) for result in found.results],
            }
        )
        return
    _print(found, offset, limit, page, len(index), seconds)


def _as_json(result: SearchResult) -> dict[str, Any]:
    return {
        "url": result.url,
        "title": result.title.text,
        "score": round(result.score, 6),
        "language": result.language,
        "published": result.published,
        "fetched_at": result.fetched,
        "snippet": result.snippet.text,
        "marks": result.snippet.marks,
        "title_marks": result.title.marks,
    }


def _print(found: SearchResults, offset: int, limit: int, page: int, pages: int, seconds: float) -> None:
    from gossamer.cli.printing import clean_line, remark
    from gossamer.cli.terminal import has_colours, painter

    colours = has_colours(sys.stdout)
    paint = painter(colours)
    before, after = ("\0", "\1") if colours else ("**", "**")

    def shown(text: str, style: str) -> str:
        line = clean_line(text.replace("\0", "\ue000").replace("\1", "\ue001"))
        parts = line.replace("\ue001", "\ue000").split("\ue000")
        return "".join(paint(part, "bold green" if at % 2 else style) for at, part in enumerate(parts))

    for number, result in enumerate(found.results, offset + 1):
        title = result.title.marked(before, after) or result.url
        facts = " · ".join(filter(None, [(result.published or result.fetched)[:10], result.language]))
        print(f"{number:>2}. {shown(title, 'bold')}")
        print(f"    {paint(clean_line(result.url), 'cyan')}  {paint(clean_line(facts), 'dim')}")
        print(f"    {shown(result.snippet.marked(before, after), '')}\n")
    if not found.total:
        remark(f"none of {pages:,} pages matches")
    elif not found.results:
        remark(f"page {page} is beyond the last of {found.total:,} results")
    else:
        last = offset + len(found.results)
        more = f"; --page {page + 1} shows more" if limit and last < found.total else ""
        print(
            f"{offset + 1} to {last} of {found.total:,} results in {seconds * 1000:.0f} ms, {pages:,} pages{more}"
        )
