"""Counts one chunk of stored texts and writes the partial counts as Parquet files. Chunks are counted in any
order, by any number of processes. A marker file shows that a chunk is done, so a count that was killed
continues with the remaining chunks."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import xxhash

from gossamer.client.near_duplicates import bands, make_sketch
from gossamer.parsing.words import count_words, tokens
from gossamer.uses.keywords.arrow_columns import blobs, integers, numbers, table, texts
from gossamer.uses.keywords.matching import (
    CONTEXT_CHARS,
    FIRST,
    MAX_CONTEXTS,
    ZONES,
    KeywordMatcher,
    cut_contexts,
)
from gossamer.uses.keywords.term_counts import TermBatch
from gossamer.uses.keywords.texts import Chunk, StoredText, read_chunk, site_of

OTHERS: Final = "(others)"
"""The common name of all sites that are not counted separately. Only the MAX_SITES largest sites are counted
separately."""
_COUNTS: Final = ("page", "keyword", *ZONES, "first")
_PIECE_CHARS: Final = 200_000


class CountPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that each process needs to count chunks. `folder`: the folder for the partial counts."""

    folder: str
    files: list[str] = []
    sites: list[str] = []
    """The names of the sites for which the run has separate counts."""
    keywords: list[str] = []
    stem: str = ""
    context: int = CONTEXT_CHARS
    """Maximum number of characters of a context on each side of the keyword."""
    discover: bool = True
    minimum: int = 1
    """The minimum number of occurrences of a phrase in one batch of pages. Phrases with fewer occurrences in
    the batch are dropped."""


class ChunkCounts(msgspec.Struct, kw_only=True):
    """The totals of a chunk, as stored in its marker file."""

    pages: int = 0
    unread: int = 0
    """Number of lines of the chunk that cannot be decoded as a page."""
    empty: int = 0
    """Number of pages that have no main text."""
    words: int = 0


def marker_of(folder: str, step: str, number: int) -> Path:
    """Returns the path of the file that exists once a step has handled a chunk."""
    return Path(folder) / f"{step}-{number:06}.json"


def index_chunk(plan: CountPlan, chunk: Chunk) -> ChunkCounts:
    """Writes the index of a chunk: the position of each page in its file, and the hashes by which copies of
    the page are found. `time` is the time of the fetch in ms, or 0 if it is not known. `same` is a hash of
    the title and the main text, or 0 for a page without a main text.
    `band0` to `band7` are the bands of the sketch, or -1 if the text has too few words."""
    rows: list[tuple[int, ...]] = []
    shown: list[tuple[str, str, str, str]] = []
    sketches: list[bytes] = []
    totals = ChunkCounts()
    file = plan.files.index(chunk.path)
    for line in read_chunk(chunk):
        if line is None:
            totals.unread += 1
            continue
        page, text = line.page, line.page.body
        totals.pages += 1
        totals.empty += not text
        sketch = page.sketch or make_sketch(text, (page.headings or [page.title or ""])[0])
        same = (
            xxhash.xxh3_64_intdigest(f"{page.title}\n{text}".encode("utf-8", "replace")) >> 1 if text else 0
        )
        found = [int.from_bytes(band[1:], "big") for band in bands(sketch)] or [-1] * 8
        rows.append((line.number, file, line.start, line.length, round(page.fetched_at * 1000), same, *found))
        shown.append((page.url, site_of(page.url), page.code, page.title or ""))
        sketches.append(sketch)
    names = ("page", "file", "start", "length", "time", "same", *(f"band{j}" for j in range(8)))
    columns = {name: integers(row[j] for row in rows) for j, name in enumerate(names)}
    columns |= {
        name: texts(one[j] for one in shown) for j, name in enumerate(("url", "site", "language", "title"))
    }
    _write_table(plan.folder, "index", chunk.number, "index", table({**columns, "sketch": blobs(sketches)}))
    return _done(plan.folder, "index", chunk.number, totals)


def count_chunk(
    plan: CountPlan,
    step: str,
    matcher: KeywordMatcher,
    skipped: frozenset[int],
    chunk: Chunk,
    shown: Counter[int],
) -> ChunkCounts:
    """Writes the counts of a chunk's pages, except for the pages in `skipped`. `shown`: the number of
    contexts of each keyword that this process wrote for earlier chunks. A process writes at most MAX_CONTEXTS
    contexts of each keyword, because the tables do not contain more."""
    work = _ChunkWork(plan, matcher, shown)
    sites = {site: number for number, site in enumerate(plan.sites)}
    for line in read_chunk(chunk):
        if line is not None and line.number not in skipped:
            work.add(line.number, line.page, sites.get(site_of(line.page.url), len(sites)))
    work.write(step, chunk.number)
    return _done(plan.folder, step, chunk.number, work.totals)


class _ChunkWork:
    """Collects the counts of the pages of one chunk."""

    def __init__(self, plan: CountPlan, matcher: KeywordMatcher, shown: Counter[int]) -> None:
        self.totals = ChunkCounts()
        self._plan, self._matcher = plan, matcher
        self._counts, self._words = array("q"), array("q")
        self._anchors: Counter[tuple[str, int]] = Counter()
        self._shown = shown
        self._contexts: list[tuple[int, int, int, str]] = []
        self._batch = TermBatch()
        self._terms: list[Any] = []

    def add(self, number: int, page: StoredText, site: int) -> None:
        """Counts one page."""
        text = page.body
        pieces = [tokens(piece) for piece in pieces_of(text)]
        body = pieces[0] if len(pieces) == 1 else [word for piece in pieces for word in piece]
        if not self._plan.discover:
            words = count_words(body)
        elif body:
            words = self._batch.add((site, page.code), body)
            if self._batch.is_full:
                self._hand_over()
        else:
            words = 0
        self.totals.pages += 1
        self.totals.words += words
        self._words.extend((number, site, words, len(body)))
        if self._matcher.keywords:
            self._count(number, page, text, body)

    def _count(self, number: int, page: StoredText, text: str, body: Sequence[str]) -> None:
        found = self._matcher.count(page, body)
        for keyword, counts in found.items():
            self._counts.extend((number, keyword, *counts))
        wanted = {
            keyword
            for keyword, counts in found.items()
            if counts[FIRST] >= 0 and self._shown[keyword] < MAX_CONTEXTS
        }
        if wanted:
            self._show(number, text, body, page.code, wanted)
        for url, shown in page.anchors:
            for keyword in self._matcher.of_anchor(shown, page.code):
                self._anchors[url, keyword] += 1

    def _show(self, number: int, text: str, body: Sequence[str], language: str, wanted: set[int]) -> None:
        """Stores contexts of the keywords in `wanted`. `wanted`: the keywords for which this process has
        stored fewer than MAX_CONTEXTS contexts."""
        chosen: list[tuple[int, int]] = []
        for place, keyword in self._matcher.find(body, language):
            if keyword in wanted and self._shown[keyword] < MAX_CONTEXTS:
                self._shown[keyword] += 1
                chosen.append((place, keyword))
        places = [(place, self._matcher.width(keyword)) for place, keyword in chosen]
        cut = cut_contexts(text, places, self._plan.context)
        for (place, keyword), context in zip(chosen, cut, strict=True):
            self._contexts.append((number, keyword, place, context))

    def _hand_over(self) -> None:
        self._terms += self._batch.tables(self._plan.minimum)
        self._batch = TermBatch()

    def write(self, step: str, chunk: int) -> None:
        """Writes the partial counts."""
        folder = self._plan.folder
        _write_numbers(folder, step, chunk, "words", ("page", "site", "words", "tokens"), self._words)
        if self._matcher.keywords:
            _write_numbers(folder, step, chunk, "counts", _COUNTS, self._counts)
            anchors = {
                "url": texts(url for url, _ in self._anchors),
                "keyword": integers(keyword for _, keyword in self._anchors),
                "anchors": integers(self._anchors.values()),
            }
            _write_table(folder, step, chunk, "anchors", table(anchors))
            contexts = {
                "page": integers(page for page, _, _, _ in self._contexts),
                "keyword": integers(keyword for _, keyword, _, _ in self._contexts),
                "place": integers(place for _, _, place, _ in self._contexts),
                "context": texts(context for _, _, _, context in self._contexts),
            }
            _write_table(folder, step, chunk, "contexts", table(contexts))
        if self._plan.discover:
            self._hand_over()
            if self._terms:
                import pyarrow as pa

                _write_table(folder, step, chunk, "terms", pa.concat_tables(self._terms))


def pieces_of(text: str) -> list[str]:
    """Splits a long text between paragraphs, so that no phrase is cut and a very long text takes little
    memory. Most texts are returned as one piece."""
    if len(text) <= _PIECE_CHARS:
        return [text]
    pieces, start = [], 0
    while start < len(text):
        end = text.find("\n\n", start + _PIECE_CHARS)
        end = len(text) if end < 0 else end
        pieces.append(text[start:end])
        start = end
    return pieces


def _write_numbers(
    folder: str, step: str, chunk: int, name: str, columns: Sequence[str], values: array[int]
) -> None:
    import numpy as np

    rows = np.frombuffer(values, dtype=np.int64).reshape(-1, len(columns))
    _write_table(
        folder, step, chunk, name, table({one: numbers(rows[:, j]) for j, one in enumerate(columns)})
    )


def _write_table(folder: str, step: str, chunk: int, name: str, table: Any) -> None:
    import pyarrow.parquet as pq

    path = Path(folder) / f"{step}.{name}-{chunk:06}.parquet"
    pq.write_table(table, f"{path}.new", compression="zstd")
    os.replace(f"{path}.new", path)


def _done(folder: str, step: str, chunk: int, totals: ChunkCounts) -> ChunkCounts:
    path = marker_of(folder, step, chunk)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(totals))
    os.replace(new, path)
    return totals
