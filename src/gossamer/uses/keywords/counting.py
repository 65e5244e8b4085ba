"""Counts stored texts: finds copies, counts chunks in several processes, and merges the counts. If a count is
stopped or killed, the next call continues with the remaining chunks."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.errors import ResourceError, UsageError
from gossamer.uses.keywords.count_chunk import (
    ChunkCounts,
    CountPlan,
    count_chunk,
    index_chunk,
    marker_of,
)
from gossamer.uses.keywords.matching import CONTEXT_CHARS, KeywordMatcher
from gossamer.uses.keywords.merging import (
    SITES,
    SKIPPED,
    connect,
    find_copies,
    merge_keywords,
    merge_pages,
    merge_terms,
)
from gossamer.uses.keywords.page_contexts import CountedTexts, write_counted
from gossamer.uses.keywords.texts import PAGES_PER_CHUNK, Chunk, chunks_of

VERSION: Final = 4
PARTS: Final = "parts"
AUTO_KEYWORDS: Final = 200
"""Number of discovered terms that a run counts as keywords if the user gives no keyword list."""
PROGRESS_S: Final = 5.0
Tell = Callable[[str], None]


class CountOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a count."""

    keywords: list[str] = []
    """The keywords of the user's list. If the user gives no keywords, the run counts the most important
    discovered terms."""
    stem: str = ""
    """The stemming language, `auto` for the language of each page, or '' for no stemming."""
    processes: int = 1
    context: int = CONTEXT_CHARS
    """Maximum number of characters of a context on each side of the keyword."""


class CountResult(msgspec.Struct, kw_only=True):
    """The totals of a count."""

    pages: int
    """Number of pages with any text, including copies."""
    counted: int
    copies: int
    """Number of pages that are not counted because they are copies of other pages. A page is a copy if its
    text nearly equals the text of another page, or if a later line has the same URL."""
    empty: int
    unread: int
    words: int
    sites: list[str]
    keywords: int
    listed: bool
    """Whether the keywords come from a keyword list of the user."""


def count_texts(files: Sequence[str], target: Path, options: CountOptions, tell: Tell) -> CountResult:
    """Counts the texts of files, and writes the tables into the folder `target`. `tell`: called with messages for
    the user. Raises GossamerError."""
    folder = target / PARTS
    chunks = chunks_of(files)
    if not chunks:
        raise UsageError("there is no page with a text")
    _begin(folder, files, options, chunks)
    plan = CountPlan(
        folder=str(folder),
        files=list(files),
        stem=options.stem,
        context=options.context,
        minimum=1 if len(chunks) == 1 else 2,
    )
    work = _Work(plan, chunks, options.processes, tell)
    indexed = work.run("index", "pages read")
    if not (folder / SITES).is_file():
        work.merge("copies", target)
    sites = msgspec.json.decode((folder / SITES).read_bytes(), type=list[str])
    plan = msgspec.structs.replace(plan, sites=sites, keywords=options.keywords)
    work.plan = plan
    counted = work.run("terms", "pages counted")
    tell("merging the counts")
    work.merge("terms", target)
    step = "terms"
    if not options.keywords:
        step = "list"
        work.plan = plan = msgspec.structs.replace(plan, keywords=work.merge("top", target), discover=False)
        work.run("list", "pages counted again for the terms that matter most")
    work.merge("keywords", target, step)
    write_counted(target, CountedTexts(files=list(files), stem=options.stem, context=options.context))
    shutil.rmtree(folder)
    return CountResult(
        pages=indexed.pages,
        counted=counted.pages,
        copies=indexed.pages - counted.pages,
        empty=indexed.empty,
        unread=indexed.unread,
        words=counted.words,
        sites=sites,
        keywords=len(plan.keywords),
        listed=bool(options.keywords),
    )


def top_terms(target: Path, limit: int) -> list[str]:
    """Returns the discovered terms with the highest total scores over all sites. The term with the highest
    score comes first."""
    with connect(target) as base:
        path = str(target / "terms.parquet").replace("'", "''")
        rows = base.execute(
            f"SELECT term FROM read_parquet('{path}') GROUP BY term ORDER BY sum(score) DESC, term LIMIT {int(limit)}"
        ).fetchall()
    return [term for (term,) in rows]


def _begin(folder: Path, files: Sequence[str], options: CountOptions, chunks: Sequence[Chunk]) -> None:
    """Removes partial counts of other files, keywords or versions."""
    facts = [
        VERSION,
        list(files),
        chunks[-1].end,
        len(chunks),
        options.keywords,
        options.stem,
        options.context,
    ]
    given = msgspec.json.encode(facts)
    plan = folder / "plan.json"
    if not plan.is_file() or plan.read_bytes() != given:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        plan.write_bytes(given)


def _merge(kind: str, plan: CountPlan, target: Path, step: str) -> list[str]:
    """Runs the merge `kind`. If `kind` is `top`, returns the most important terms, otherwise an empty
    list."""
    if kind == "top":
        return top_terms(target, AUTO_KEYWORDS)
    folder = target / PARTS
    with connect(folder) as base:
        if kind == "copies":
            find_copies(base, folder)
        elif kind == "terms":
            merge_terms(base, folder, plan.sites)
        else:
            merge_pages(base, folder, step, plan.sites)
    if kind == "keywords":
        with connect(folder) as base:
            merge_keywords(base, folder, step, plan.keywords)
    return []


class _Work:
    """Runs the steps of a count. A step skips the chunks that it has already handled. `processes`: the number
    of processes."""

    def __init__(self, plan: CountPlan, chunks: Sequence[Chunk], processes: int, tell: Tell) -> None:
        self.plan, self._chunks, self._processes, self._tell = plan, chunks, processes, tell

    def run(self, step: str, what: str) -> ChunkCounts:
        """Runs one step, and returns the totals of all chunks. Raises ResourceError if a process died."""
        total, done, shown = ChunkCounts(), 0, time.monotonic()
        left = []
        for chunk in self._chunks:
            known = _read_marker(self.plan.folder, step, chunk.number)
            if known is None:
                left.append(chunk)
            else:
                _add(total, known)
                done += 1
        if done:
            self._tell(f"{done:,} of {len(self._chunks):,} parts are done already: {total.pages:,} {what}")
        for counts in self._each(step, left):
            _add(total, counts)
            done += 1
            if time.monotonic() - shown > PROGRESS_S:
                shown = time.monotonic()
                self._tell(f"{total.pages:,} {what}, part {done:,} of {len(self._chunks):,}")
        return total

    def merge(self, kind: str, target: Path, step: str = "") -> list[str]:
        """Runs the merge `kind` (`_merge`). If there are several chunks, the merge runs in a separate
        process, so that its memory is freed at the end."""
        given = (kind, self.plan, target, step)
        if len(self._chunks) == 1:
            return _merge(*given)
        with ProcessPoolExecutor(1, get_context("spawn"), _ignore_interrupts) as pool:
            try:
                return pool.submit(_merge, *given).result()
            except BrokenProcessPool:
                raise ResourceError(
                    "the merging process died, perhaps for lack of memory: run the same command again"
                ) from None

    def _each(self, step: str, chunks: Sequence[Chunk]) -> Any:
        count = min(self._processes, len(chunks))
        if count <= 1:
            worker = _Worker(self.plan, step)
            yield from map(worker.handle, chunks)
            return
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # other pools do not return freed memory
        pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (self.plan, step))
        try:
            waiting: set[Future[ChunkCounts]] = set()
            for chunk in chunks:
                waiting.add(pool.submit(_handle, chunk))
                if len(waiting) >= 2 * count:
                    ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for one in ended:
                        yield one.result()
            for one in waiting:
                yield one.result()
        except BrokenProcessPool:
            raise ResourceError(
                "a counting process died, perhaps for lack of memory: run the same command again, with fewer --processes"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


class _Worker:
    """Runs one step of a count on several chunks, one after another, in one process."""

    def __init__(self, plan: CountPlan, step: str) -> None:
        self._plan, self._step = plan, step
        self._matcher = KeywordMatcher(plan.keywords, plan.stem)
        self._skipped: Any = None
        self._shown: Counter[int] = Counter()

    def handle(self, chunk: Chunk) -> ChunkCounts:
        """Handles one chunk and returns its totals. The calls of one process receive chunks in ascending
        order."""
        if self._step == "index":
            return index_chunk(self._plan, chunk)
        skipped = self._skips(chunk)
        return count_chunk(self._plan, self._step, self._matcher, skipped, chunk, self._shown)

    def _skips(self, chunk: Chunk) -> frozenset[int]:
        import numpy as np

        if self._skipped is None:
            self._skipped = np.load(Path(self._plan.folder) / SKIPPED)
        first = chunk.number * PAGES_PER_CHUNK
        low, high = np.searchsorted(self._skipped, (first, first + PAGES_PER_CHUNK))
        return frozenset(self._skipped[low:high].tolist())


_worker: list[_Worker] = []
"""A list that contains the `_Worker` of this process. The list is empty if this process does not belong to
the process pool."""


def _ignore_interrupts() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent handles the interrupt, and stops the pool


def _start(plan: CountPlan, step: str) -> None:
    _ignore_interrupts()
    _worker[:] = [_Worker(plan, step)]


def _handle(chunk: Chunk) -> ChunkCounts:
    return _worker[0].handle(chunk)


def _read_marker(folder: str, step: str, number: int) -> ChunkCounts | None:
    try:
        return msgspec.json.decode(marker_of(folder, step, number).read_bytes(), type=ChunkCounts)
    except FileNotFoundError:
        return None


def _add(total: ChunkCounts, one: ChunkCounts) -> None:
    for name in ChunkCounts.__struct_fields__:
        setattr(total, name, getattr(total, name) + getattr(one, name))
