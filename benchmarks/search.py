"""Measures search over 100,000 generated documents: building the index, its size, and queries.

    python benchmarks/search.py [--documents 100000] [--queries 40] [--full]

The documents have 60 to 700 words (400 on average) of a vocabulary of 50,000 words with Zipf's law. The
documents belong to 500 hosts, and are written in the format of a crawl with `--text`. The queries are phrases
that occur in the documents, with two qualifiers: `site:` and `title:`, `lang:` or `after:`. Each query is
also answered by a scan of all texts, which must find the same pages. The goal is that a phrase with two
qualifiers takes less than 50 ms. The floor of a query is the bare FTS5 query without ranking, dates and
snippets. The floor of the index is splitting the texts into words.
`--full` also measures words that almost every page contains.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gossamer.uses.search.document import IndexedPage, PageSource
from gossamer.uses.search.index import SearchIndex
from gossamer.uses.search.query import PageFilter, Term, parse
from gossamer.uses.search.words import indexed

HOSTS, VOCABULARY = 500, 50_000


def vocabulary(draw: random.Random) -> list[str]:
    syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "é")]
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(draw.choices(syllables, k=draw.randint(1, 5)))] = None
    return list(words)


def documents(count: int) -> Iterator[IndexedPage]:
    draw = random.Random(2026)
    words = vocabulary(draw)
    weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
    for number in range(count):
        text = draw.choices(words, cum_weights=weights, k=draw.randint(60, 700))
        title = draw.choices(words, cum_weights=weights, k=draw.randint(2, 9))
        day = f"202{draw.randint(0, 6)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        yield IndexedPage(
            f"https://h{draw.randrange(HOSTS)}.example/{number}",
            f"{day}T10:00:00.000Z",
            " ".join(title),
            "",
            " ".join(text),
            draw.choice(("en", "de", "fr")),
            None,
        )


def queries(path_of_texts: list[IndexedPage], count: int) -> list[str]:
    draw = random.Random(7)
    found: list[str] = []
    while len(found) < count:
        one = draw.choice(path_of_texts)
        words = one.text.split()
        at = draw.randrange(len(words) - 2)
        phrase = " ".join(words[at : at + draw.randint(2, 3)])
        site = f"site:{one.url.split('/')[2]}"
        other = draw.choice(
            (f"title:{draw.choice(one.title.split())}", f"lang:{one.language}", f"after:{one.day[:4]}")
        )
        found.append(f'"{phrase}" {site} {other}')
        found.append(f'"{phrase}" lang:{one.language} after:{one.day[:4]}')
    return found[:count]


def folded(text: str) -> str:
    """Returns the words of a generated text without accents, with a space before and after each word."""
    return f" {text.replace('é', 'e')} "


def scan(pages: list[tuple[IndexedPage, str, str]], text: str) -> set[str]:
    """Finds the matching pages by a scan of every text. `pages` contains documents with their folded text and
    title."""
    found = set()
    groups = [group[0] for group in parse(text).groups]
    for document, words, title in pages:
        for part in groups:
            if isinstance(part, Term):
                phrase = f" {' '.join(part.words)} "
                if phrase not in title and (part.column == "title" or phrase not in words):
                    break
            elif isinstance(part, PageFilter):
                if part.name == "site" and document.url.split("/")[2] != part.value:
                    break
                if part.name == "lang" and document.language != part.value:
                    break
                if part.name == "after" and document.day < part.value:
                    break
        else:
            found.add(document.url)
    return found


def spread(times: list[float]) -> str:
    ordered = sorted(times)
    return (
        f"median {statistics.median(ordered):.1f} ms, 95 % {ordered[int(len(ordered) * 0.95)]:.1f} ms, "
        f"largest {ordered[-1]:.1f} ms"
    )


def measure(index: SearchIndex, texts: list[str]) -> tuple[list[float], list[float], list[int]]:
    """Returns the CPU and wall milliseconds of each query, and the number of its results."""
    spent, walls, counts = list[float](), list[float](), list[int]()
    for text in texts:
        query = parse(text)
        start, wall = time.process_time(), time.perf_counter()
        found = index.find(query)
        spent.append((time.process_time() - start) * 1000)
        walls.append((time.perf_counter() - wall) * 1000)
        counts.append(found.total)
    return spent, walls, counts


def floor_of(index: SearchIndex, texts: list[str]) -> list[float]:
    """Returns the CPU milliseconds of the bare FTS5 query for each query."""
    floors = []
    for text in texts:
        phrases = " AND ".join(f'"{" ".join(term.words)}"' for term in parse(text).terms)
        start = time.process_time()
        index._connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (phrases,)).fetchall()
        floors.append((time.process_time() - start) * 1000)
    return floors


def run(folder: str, made: list[IndexedPage], texts: list[str], full: bool) -> list[set[str]]:
    """Builds and searches an index. Returns the URLs that each query finds."""
    path, size = Path(folder) / "search.db", sum(len(one.text) + len(one.title) for one in made)
    sources = [PageSource(one.url, one.fetched, lambda one=one: one) for one in made]  # type: ignore[misc]
    with SearchIndex(path) as index:
        start, wall = time.process_time(), time.perf_counter()
        index.update(sources)
        cpu, wall = time.process_time() - start, time.perf_counter() - wall
        held = path.stat().st_size
        print(
            f"  index: {cpu * 1e6 / len(made):.0f} us CPU a document, {wall:.0f} s; {held / 1e6:.0f} MB, "
            f"{held / size:.2f} bytes for each byte of text"
        )
        start = time.process_time()
        index.update(sources)
        print(
            f"  an update without news: {(time.process_time() - start) * 1e6 / len(made):.1f} us a document"
        )
        measure(index, texts)
        spent, walls, counts = measure(index, texts)
        print(f"  {len(texts)} phrases with two qualifiers, {sum(counts)} results: CPU {spread(spent)}")
        print(f"    wall time, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores: {spread(walls)}")
        print(f"    floor (FTS5 without qualifiers, rank and snippets): CPU {spread(floor_of(index, texts))}")
        if full:
            frequent = made[0].text.split()
            frequent.sort(key=lambda word: -sum(word in one.text for one in made[:200]))
            pairs = [f"{a} {b}" for a, b in itertools.pairwise(dict.fromkeys(frequent[:6]))]
            spent, _, counts = measure(index, pairs)
            print(f"  two words of {min(counts):,} to {max(counts):,} pages: CPU {spread(spent)}")
        return [{result.url for result in index.find(parse(text), 0).results} for text in texts]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=40)
    options.add_argument("--full", action="store_true")
    given = options.parse_args()
    made = list(documents(given.documents))
    size = sum(len(one.text) + len(one.title) for one in made)
    start = time.process_time()
    for one in made[:5000]:
        indexed(one.text)
        indexed(one.title)
    floor = (time.process_time() - start) * 1e6 / min(5000, len(made))
    print(
        f"{given.documents:,} documents, {size / 1e6:.0f} MB of text; floor: {floor:.0f} us CPU to split a document"
    )
    texts = queries(made, given.queries)
    with tempfile.TemporaryDirectory() as folder:
        found = run(folder, made, texts, given.full)
    pages = [(one, folded(one.text), folded(one.title)) for one in made]
    scanned = [scan(pages, text) for text in texts]
    same = sum(one == other for one, other in zip(found, scanned, strict=True))
    print(f"the same pages as a scan: {same} of {len(texts)}")


if __name__ == "__main__":
    main()
