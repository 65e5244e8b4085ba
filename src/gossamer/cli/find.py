"""`gossamer find`: searches the text of the pages that a crawl kept."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, read_settings
from gossamer.errors import DiskFull, UsageError

if TYPE_CHECKING:
    from gossamer.cli.find_sources import ArchiveSource, RecordSource
    from gossamer.config.settings import Settings
    from gossamer.uses.search.index import SearchIndex
    from gossamer.uses.search.query import Query
    from gossamer.uses.search.search_many_crawls import FoundIn, FoundInAll

Words = Annotated[
    list[str],
    Argument(
        metavar="QUERY...",
        help="Words, 'a phrase', -without, a OR b, map*, title: heading: text: url: site: lang: before: after:",
    ),
]
CrawlNames = Annotated[
    list[str] | None,
    Option(
        "--crawl",
        metavar="NAME",
        help="A crawl (default: the only one that kept pages), its folder, or 'shop-*'; repeatable.",
    ),
]
Archive = Annotated[
    str | None,
    Option("--archive", metavar="PATH", help="Stored pages instead of a crawl: a WARC, or a folder of them."),
]
Index = Annotated[
    str | None,
    Option(
        "--index",
        metavar="FILE",
        help="The index (default search.db in the crawl's folder).",
    ),
]
NoUpdate = Annotated[bool, Option("--no-update", help="Search the index as it is; read no pages.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="Results per page (10; 0: all).", least=0)]
Page = Annotated[int, Option("--page", metavar="N", help="Which page of results (1).", least=1)]
ByDate = Annotated[bool, Option("--by-date", help="The newest pages first, instead of the best.")]
Count = Annotated[bool, Option("--count", help="Print only the number of results.")]
REMARK_S = 5.0
"""Seconds between two messages while an index is built."""


class ShownPart(NamedTuple):
    """Options that select the results to show, and the output format."""

    limit: int
    page: int
    by_date: bool
    only_count: bool
    as_json: bool

    @property
    def offset(self) -> int:
        """The number of results that precede the current page of results."""
        return (self.page - 1) * self.limit


def find(
    query: Words,
    crawl: CrawlNames = None,
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
    """Search the text of the pages that crawls kept. The index of each crawl is updated first."""
    from gossamer.uses.search.query import from_arguments, parse

    text = from_arguments(query)
    parsed = parse(text)
    settings = read_settings(data, store, setting)
    sources = _sources(settings, crawl or [], archive, setting)
    if index is not None and len(sources) > 1:
        raise UsageError(f"--index is the index of one crawl, and there are {len(sources)}: leave it out")
    try:
        with contextlib.ExitStack() as stack:
            indexes = _updated_indexes(sources, index, no_update, stack)
            answer(indexes, text, parsed, ShownPart(limit, page, by_date, count, as_json))
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "disk I/O" in str(error):
            raise DiskFull(
                f"the index cannot be written: {error}: free some space, then run the same command again"
            ) from error
        raise UsageError(f"the index cannot be used: {error}") from error
    return 0


def _sources(
    settings: Settings, crawls: list[str], archive: str | None, pairs: list[str] | None
) -> list[AbstractContextManager[RecordSource | ArchiveSource]]:
    """Returns the sources to search, which the caller must open. Raises UsageError."""
    from gossamer.cli.find_sources import find_crawls, opened_archive, opened_source

    if archive is not None:
        if len(crawls) > 1:
            raise UsageError("--archive goes with one --crawl at most")
        return [opened_archive(settings, next(iter(crawls), None), archive)]
    found = find_crawls(crawls, settings, lambda folder: read_settings(folder, None, pairs))
    return [opened_source(one) for one in found]


def _updated_indexes(
    sources: list[AbstractContextManager[RecordSource | ArchiveSource]],
    index: str | None,
    no_update: bool,
    stack: contextlib.ExitStack,
) -> dict[str, SearchIndex]:
    """Opens and updates the index of each source. If there are several sources, a crawl without text is left
    out, and a remark names the crawl. Raises UsageError if no source has text."""
    from gossamer.cli.printing import remark
    from gossamer.uses.search.index import SearchIndex

    indexes: dict[str, SearchIndex] = {}
    problem: UsageError | None = None
    for opened in sources:
        try:
            with opened as source:
                path = _index_path(source, index, no_update)
                found = stack.enter_context(SearchIndex(path))
                if not no_update:
                    update(found, source)
                name = source.name if source.name not in indexes else str(source.folder)
                indexes[name] = found
        except UsageError as error:
            if len(sources) == 1:
                raise
            remark(f"left out: {error}")
            problem = error
    if not indexes:
        raise problem or UsageError("there is nothing to search")
    return indexes


def _index_path(source: RecordSource | ArchiveSource, index: str | None, no_update: bool) -> Path:
    """Returns the path of an index, and creates the default folder if the folder is missing. Raises
    UsageError."""
    path = Path(index) if index is not None else source.folder / "search.db"
    if no_update and not path.exists():
        raise UsageError(f"{path}: there is no index yet; leave out --no-update")
    if not path.parent.is_dir():
        if index is not None:
            raise UsageError(f"--index {index}: there is no folder {path.parent}")
        path.parent.mkdir(parents=True)
    return path


def update(index: SearchIndex, source: RecordSource | ArchiveSource) -> None:
    """Updates the index with the stored pages of the crawl. Raises UsageError if the crawl stored no text."""
    from gossamer.cli.printing import remark

    now = source.signature
    is_same = now is not None and now == index.fact("signature") and source.kind == index.fact("kind")
    if is_same:
        return
    if source.kind != index.fact("kind"):
        index.forget_times()  # whole pages and page records have different fields
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


def answer(indexes: dict[str, SearchIndex], text: str, query: Query, part: ShownPart) -> None:
    """Searches and prints the results."""
    from gossamer.cli.printing import put_json
    from gossamer.uses.search.search_many_crawls import find_in_all

    start = time.perf_counter()
    names = {"crawl": next(iter(indexes))} if len(indexes) == 1 else {"crawl": None, "crawls": [*indexes]}
    if part.only_count:
        total = sum(index.count(query) for index in indexes.values())
        if part.as_json:
            put_json({**names, "query": text, "total": total})
        else:
            print(total)
        return
    found = find_in_all(indexes, query, part.limit, part.offset, by_date=part.by_date)
    seconds = time.perf_counter() - start
    pages = sum(map(len, indexes.values()))
    if part.as_json:
        put_json(
            {
                **names,
                "query": text,
                "total": found.total,
                "offset": part.offset,
                "pages": pages,
                "seconds": round(seconds, 4),
                "results": [_as_json(result) for result in found.results],
            }
        )
        return
    _print(found, part, pages, seconds, is_of_several=len(indexes) > 1)


def _as_json(found: FoundIn) -> dict[str, Any]:
    result = found.page
    return {
        "crawl": found.crawl,
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


def _print(found: FoundInAll, part: ShownPart, pages: int, seconds: float, *, is_of_several: bool) -> None:
    from gossamer.cli.printing import clean_line, remark
    from gossamer.cli.terminal import has_colours, painter

    colours = has_colours(sys.stdout)
    paint = painter(colours)
    before, after = ("\0", "\1") if colours else ("**", "**")

    def shown(text: str, style: str) -> str:
        line = clean_line(text.replace("\0", "\ue000").replace("\1", "\ue001"))
        parts = line.replace("\ue001", "\ue000").split("\ue000")
        return "".join(paint(piece, "bold green" if at % 2 else style) for at, piece in enumerate(parts))

    for number, (crawl, result) in enumerate(found.results, part.offset + 1):
        title = result.title.marked(before, after) or result.url
        facts = [(result.published or result.fetched)[:10], result.language, crawl if is_of_several else None]
        line = " · ".join(filter(None, facts))
        print(f"{number:>2}. {shown(title, 'bold')}")
        print(f"    {paint(clean_line(result.url), 'cyan')}  {paint(clean_line(line), 'dim')}")
        print(f"    {shown(result.snippet.marked(before, after), '')}\n")
    if not found.total:
        remark(f"none of {pages:,} pages matches")
    elif not found.results:
        remark(f"page {part.page} is beyond the last of {found.total:,} results")
    else:
        last = part.offset + len(found.results)
        more = f"; --page {part.page + 1} shows more" if part.limit and last < found.total else ""
        print(
            f"{part.offset + 1} to {last} of {found.total:,} results in {seconds * 1000:.0f} ms, {pages:,} pages{more}"
        )
