"""Imports saved result pages into the rank history. The pages are HTML files, JSON answers of providers, or
WARC files. HTML and JSON files may be compressed with gzip."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gossamer.client.stored_pages import read_warc
from gossamer.errors import UsageError
from gossamer.parsing.ranks import ResultPage
from gossamer.parsing.ranks.page_rules import PageRules
from gossamer.uses.prices.targets import RejectedLine
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, RankEvent, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.provider_answers import READERS, read_answer
from gossamer.uses.ranks.rank_crawl import parse_page
from gossamer.uses.ranks.search_urls import read_search_url

_SAVED_FROM = re.compile(rb"<!-- saved from url=\(\d+\)(\S+) -->")
_WARC = (".warc", ".warc.gz")


class SavedPage(NamedTuple):
    """A result page that was saved to a file. `url` is '' if the URL of the page is unknown."""

    name: str
    url: str
    body: bytes
    time: float
    status: int = 200


class Imported(NamedTuple):
    """The result of an import. `rejected`: the pages that were not imported, each with the reason."""

    pages: int
    runs: int
    rejected: list[RejectedLine]
    events: list[RankEvent]


def read_saved(paths: Iterable[str]) -> Iterator[SavedPage]:
    """Yields the saved pages in files, WARC files and folders. Includes the subfolders of a folder. Raises
    UsageError if a path does not exist."""
    for name in paths:
        path = Path(name)
        if name.lower().endswith(_WARC):
            for one in read_warc(name):
                yield SavedPage(f"{name} {one.url}", one.url, one.body, one.time, one.status)
        elif path.is_dir():
            files = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
            yield from read_saved(str(one) for one in files)
        elif path.is_file():
            yield _of_file(path)
        else:
            raise UsageError(f"{name}: there is no such file or folder")


def _of_file(path: Path) -> SavedPage:
    try:
        body, time = path.read_bytes(), path.stat().st_mtime
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if body[:2] == b"\x1f\x8b":
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError, zlib.error):
            body = b""
    saved = _SAVED_FROM.search(body[:5000])
    return SavedPage(str(path), saved[1].decode("utf-8", "replace") if saved else "", body, time)


def import_pages(
    history: RankHistory, pages: Iterable[SavedPage], *, depth: Depth, layout: PageRules | None = None
) -> Imported:
    """Imports the saved pages of listed searches. All pages of a day (UTC) form one run. Rejects a page that
    is older than the last run, because the runs of a history are in chronological order."""
    searches, rejected = history.searches(), list[RejectedLine]()
    latest = history.run()[1]
    days: dict[int, list[FetchedResultPage]] = defaultdict(list)
    for one in pages:
        found = _fetched(one, searches, layout)
        if isinstance(found, FetchedResultPage) and found.time < latest:
            found = "it is older than the last run of this history: import it into another one (--history)"
        if isinstance(found, str):
            rejected.append(RejectedLine(one.name, 0, found, one.url))
        else:
            days[int(found.time // DAY_S)].append(found)
    events: list[RankEvent] = []
    for _, group in sorted(days.items()):
        group.sort(key=lambda one: one.time)
        history.begin_run(searches=sorted({one.search for one in group}), at=group[0].time)
        history.record(group)
        events += history.end_run(depth)
    return Imported(sum(map(len, days.values())), len(days), rejected, events)


def _fetched(
    one: SavedPage, searches: Mapping[str, Search], layout: PageRules | None
) -> FetchedResultPage | str:
    """Converts a saved page to a FetchedResultPage. Returns the reason as text if the page cannot be assigned
    to a listed search."""
    known = read_search_url(one.url) if one.url else None
    if one.url and known is None:
        return "its URL is not that of a result page"
    if one.body.lstrip()[:1] in (b"{", b"["):
        return _of_json(one, searches)
    engines = (known[0].engine,) if known else ("google", "bing")
    why = "it is not a result page of a keyword of the list"
    for engine in engines:
        page = known[1] if known else 1
        parsed = parse_page("html", one.body, engine, page, one.url or None, layout)
        words = known[0].keyword if known else (parsed.query or "")
        if not words:
            why = "neither its URL nor its search field tells the keyword"
            continue
        name = _find(searches, engine, words, known[0] if known else None)
        if name in searches:
            at = page if known else parsed.page or 1
            return _page(one, name, at, parsed, "html")
        why = name
    return why


def _of_json(one: SavedPage, searches: Mapping[str, Search]) -> FetchedResultPage | str:
    for provider in READERS:
        for engine in ("google", "bing"):
            parsed = read_answer(provider, one.body, engine)
            if parsed.verdict != "layout_unknown" and parsed.query:
                name = _find(searches, engine, parsed.query, None)
                if name in searches:
                    return _page(one, name, parsed.page or 1, parsed, provider)
    return "it is not the answer of a search provider to a keyword of the list"


def _page(one: SavedPage, name: str, page: int, parsed: ResultPage, form: str) -> FetchedResultPage:
    error = "" if one.status < 400 else f"HTTP {one.status}"
    return FetchedResultPage(
        search=name,
        page=page,
        time=one.time,
        parsed=None if error and parsed.writes_positions else parsed,
        error=error,
        source="file",
        form=form,
        url=one.url,
        body=one.body,
    )


def _find(searches: Mapping[str, Search], engine: str, words: str, known: Search | None) -> str:
    """Returns the id of the listed search that matches a saved page. Returns the reason as text if no search
    or several searches match."""
    plain = " ".join(words.casefold().split())
    names = [
        name
        for name, one in searches.items()
        if one.engine == engine
        and " ".join(one.keyword.casefold().split()) == plain
        and (known is None or not known.country or known.country == one.country)
        and (known is None or not known.language or known.language == one.language)
    ]
    if len(names) == 1:
        return names[0]
    desktop = [name for name in names if searches[name].device == "desktop"]
    if len(desktop) == 1:
        return desktop[0]
    if not names:
        return f"the list has no search {words[:200]!r} on {engine}"
    return f"the list has {len(names)} searches {words[:200]!r} on {engine}, and the page does not tell which"


def shown_rejected(rejected: Sequence[RejectedLine], most: int) -> list[str]:
    """Returns one message per rejected page, for at most `most` pages."""
    return [f"{one.source}: {one.reason}" for one in rejected[:most]]
