"""Counts keywords and discovers terms on a million generated pages, and compares each count with a brute
count.

    python benchmarks/keywords_million.py [--pages 1000000] [--keywords 1000] [--processes 2] [--folder DIR]

The pages have about 590 words (4.4 KB) and are written in the format of a crawl. The words of the pages have
the frequencies of real texts (../shared/data/articles-zyte, or the pages of docs/ if that file does not
exist) and a tail of rare words by Zipf's law. Each twentieth page is a copy of the page before it with a date
in front. During writing, numpy counts the keywords of the list by word numbers. The brute count shares no
code with gossamer. Then one process tree counts the list and discovers terms. The benchmark prints the CPU
time of that tree per page, the maximum of its memory, and the number of counts that differ from the brute
count. The sketch that identifies copies is made when a page is written, as in a crawl. The CPU time for
making sketches is printed separately.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gossamer.client.near_duplicates import make_sketch

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT.parent / "shared" / "data" / "articles-zyte.jsonl.gz"
WORDS_PER_PAGE, TAIL, BLOCK = 590, 300_000, 2_000
PHRASES = 2_000
"""The number of phrases of three words. Each page contains one of these phrases, as real texts would."""


def real_words() -> list[tuple[str, int]]:
    """Returns the words of real texts with their frequencies, most frequent first."""
    count: Counter[str] = Counter()
    if SAMPLE.is_file():
        with gzip.open(SAMPLE, "rt") as file:
            for line in file:
                count.update(re.findall(r"[a-z]{1,20}", json.loads(line)["text"].lower()))
    else:
        for path in (ROOT / "docs").rglob("*.md"):
            count.update(re.findall(r"[a-z]{1,20}", path.read_text().lower()))
    return count.most_common()


def vocabulary() -> tuple[list[str], Any]:
    """Returns the words, with a full stop as word number 0, and their cumulative probabilities."""
    found = real_words()
    words = [".", *(word for word, _ in found), *(f"rare{n}" for n in range(TAIL))]
    weights = np.array([n for _, n in found], dtype=float)
    tail = 1.0 / (len(found) + 1 + np.arange(TAIL))
    tail *= weights.sum() * 0.05 / tail.sum()  # one word in twenty is rare
    own = np.concatenate(([weights.sum() / 15], weights, tail))
    return words, np.cumsum(own) / own.sum()


class Brute:
    """Counts single words and pairs of words by their word numbers."""

    def __init__(self, singles: Any, pairs: Any, size: int) -> None:
        self._singles, self._pairs = np.sort(singles), np.sort(pairs)
        self._size = size
        self.single, self.single_pages = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.pair, self.pair_pages = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)

    def add(self, ids: Any) -> None:
        """Counts a block of pages. Each row of `ids` is a page."""
        self.single += np.bincount(ids.ravel(), minlength=self._size)
        rows = np.sort(ids, axis=1)
        first = np.concatenate((np.ones((len(rows), 1), bool), rows[:, 1:] != rows[:, :-1]), axis=1)
        self.single_pages += np.bincount(rows[first], minlength=self._size)
        codes = ids[:, :-1].astype(np.int64) * self._size + ids[:, 1:]
        place = np.minimum(np.searchsorted(self._pairs, codes), len(self._pairs) - 1)
        hits = self._pairs[place] == codes
        self.pair += np.bincount(place[hits], minlength=len(self._pairs))
        row = np.nonzero(hits)[0]
        self.pair_pages += np.bincount(
            np.unique(place[hits] * len(ids) + row) // len(ids), minlength=len(self._pairs)
        )

    def of(self, words: list[str]) -> dict[str, tuple[int, int]]:
        """Returns the count and the number of pages of each keyword."""
        found = {words[n]: (int(self.single[n]), int(self.single_pages[n])) for n in self._singles.tolist()}
        for place, code in enumerate(self._pairs.tolist()):
            name = f"{words[code // self._size]} {words[code % self._size]}"
            found[name] = int(self.pair[place]), int(self.pair_pages[place])
        return found


def write_pages(path: Path, pages: int, keywords: int) -> dict[str, tuple[int, int]]:
    """Writes the pages, and returns the brute count of the keywords without copies."""
    words, cumulated = vocabulary()
    chance = np.random.default_rng(23)
    texts = np.array(words, dtype=object)
    frequent = len(words) - TAIL
    singles = 50 + chance.choice(frequent - 50, keywords * 7 // 10, replace=False)
    pair_ids = np.searchsorted(cumulated, chance.random((keywords * 30, 2))).astype(np.int64)
    pair_ids = pair_ids[(pair_ids > 20).all(axis=1) & (pair_ids < frequent).all(axis=1)]
    pairs = np.unique(pair_ids[:, 0] * len(words) + pair_ids[:, 1])
    pairs = chance.permutation(pairs)[: keywords - len(singles)]
    fixed = 200 + chance.integers(0, frequent - 200, (PHRASES, 3))
    brute = Brute(singles, pairs, len(words))
    made, copied, sketching = 0, "", 0.0
    with path.open("wb") as file:
        while made < pages:
            ids = np.searchsorted(cumulated, chance.random((min(BLOCK, pages - made), WORDS_PER_PAGE)))
            for row, (phrase, place) in enumerate(
                zip(
                    chance.integers(0, len(fixed), len(ids)),
                    chance.integers(0, WORDS_PER_PAGE - 3, len(ids)),
                    strict=True,
                )
            ):
                ids[row, place : place + 3] = fixed[phrase]
            copies = np.arange(made, made + len(ids)) % 20 == 19
            brute.add(ids[~copies])
            for row, is_copy in zip(texts[ids], copies.tolist(), strict=True):
                text = f"Seen on 2026-11-25. {copied}" if is_copy else " ".join(row)
                copied = copied if is_copy else text
                title = "" if is_copy else f"Page {made}"
                began = time.process_time()
                sketch = make_sketch(text, title)
                sketching += time.process_time() - began
                url = f"https://site{made % 3}.example/{made}"
                page = {"url": url, "title": title, "language": "en", "text": text, "sketch": sketch}
                file.write(msgspec.json.encode(page) + b"\n")
                made += 1
    print(f"CPU a page for the sketch: {1000 * sketching / pages:.3f} ms")
    return brute.of(words)


class Memory:
    """The maximum memory of a process and its descendants, in MiB, sampled five times per second.

    `shared_once` is the sum of their PSS. If n processes share a page of a library, each process counts 1/n
    of the page. `summed` is the sum of their resident memory, in which such a page counts n times. `largest`
    is the resident memory of the largest process. `without`: processes that do not count.
    """

    def __init__(self, pid: int, without: Collection[int] = ()) -> None:
        self.shared_once = self.summed = self.largest = 0.0
        self._without = without
        self._pid, self._stop = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            found = list(self._now(self._pid))
            if found:
                self.shared_once = max(self.shared_once, sum(pss for pss, _ in found))
                self.summed = max(self.summed, sum(rss for _, rss in found))
                self.largest = max(self.largest, max(rss for _, rss in found))

    def _now(self, pid: int) -> Iterator[tuple[float, float]]:
        """Yields the PSS and the resident memory of a process and of each of its descendants."""
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:  # the process has ended
            return
        sizes = {
            name: int(size.split()[0]) / 1024 for name, _, size in (one.partition(":") for one in lines[1:])
        }
        if pid not in self._without:
            yield sizes.get("Pss", 0.0), sizes.get("Rss", 0.0)
        for child in children:
            yield from self._now(int(child))

    def stop(self) -> str:
        """Stops sampling, and returns a text with the maximum values."""
        self._stop.set()
        self._thread.join()
        return (
            f"peak of resident memory: {self.shared_once:,.0f} MiB over all processes, each page once (PSS); "
            f"{self.largest:,.0f} MiB in the largest process; {self.summed:,.0f} MiB if the libraries that processes "
            "share count in each of them"
        )


COUNT = """
import sys, json
from pathlib import Path
from gossamer.uses.keywords.counting import CountOptions, count_texts
if __name__ == "__main__":
    given = json.loads(Path(sys.argv[2]).read_text())
    options = CountOptions(keywords=given, processes=int(sys.argv[4]))
    print(count_texts([sys.argv[1]], Path(sys.argv[3]), options, lambda line: print(line, file=sys.stderr)))
"""


def main() -> None:
    """Runs once, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--keywords", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keeps the pages there, for another run")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="keywords-"))
    folder.mkdir(exist_ok=True)
    try:
        known = folder / "due.json"
        if not known.is_file():
            known.write_text(json.dumps(write_pages(folder / "pages.jsonl", options.pages, options.keywords)))
        due = {keyword: tuple(counts) for keyword, counts in json.loads(known.read_text()).items()}
        size = (folder / "pages.jsonl").stat().st_size
        print(f"{options.pages:,} pages, {size / options.pages:,.0f} bytes a page, {len(due):,} keywords")
        (folder / "list.json").write_text(json.dumps(list(due)))
        (folder / "count.py").write_text(COUNT)
        names = [str(folder / name) for name in ("count.py", "pages.jsonl", "list.json", "counts")]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen([sys.executable, *names, str(options.processes)])
        memory = Memory(process.pid)
        code = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"exit code {code}, {time.monotonic() - began:,.0f} s")
        print(f"CPU a page: {1000 * cpu / options.pages:.3f} ms (with merging and finding copies)")
        print(memory.stop())
        report(folder / "counts", due)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


def report(folder: Path, due: dict[str, tuple[int, int]]) -> None:
    """Prints how many counts differ from the brute count, and the numbers of discovered terms."""
    import duckdb

    base, path = duckdb.connect(), folder / "keywords.parquet"
    rows = base.execute(f"SELECT keyword, count, pages FROM '{path}' WHERE site = ''").fetchall()
    got = {keyword: (count, pages) for keyword, count, pages in rows}
    wrong = [keyword for keyword, counts in due.items() if got.get(keyword) != counts]
    print(f"keywords with a wrong count: {len(wrong)} of {len(due):,} {wrong[:5]}")
    print(f"occurrences of all keywords: {sum(count for count, _ in due.values()):,}")
    print(
        "discovered terms by words:",
        base.execute(
            f"SELECT words, count(*), max(count) FROM '{folder / 'terms.parquet'}' GROUP BY ALL ORDER BY 1"
        ).fetchall(),
    )
    if wrong:
        print([(keyword, due[keyword], got.get(keyword)) for keyword in wrong[:5]])


if __name__ == "__main__":
    main()
