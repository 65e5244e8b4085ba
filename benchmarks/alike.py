"""Measures the quality and the cost of near-duplicate detection on real pages and variants of them.

    python benchmarks/alike.py [--data ../shared/data] [--docs FOLDER ...] [--versions OLD NEW] [--half tune|held]
        [--seed N] [--sample N] [--show N] [--least LIKENESS]
    python benchmarks/alike.py --memory 1000000 [--buckets N]

The pages are the articles, products and examples in `--data` and the documentation in `.sites`. With
`--docs`, only the HTML files in the given folders are read. The benchmark makes one variant of each page per
kind of change. Product pages also get a sibling, which has another name and price in the same text and counts
as a different page. All pages are added in random order to an index on a real Valkey. A pair of pages in one
group is right if both are variants of the same page, and wrong otherwise. The hosts are split into two halves
by a hash of their names. Use `--half tune` to choose parameters, and report the results of `--half held`.

`--versions` compares two releases of the same documentation. Two versions of a page count as the same page if
difflib finds a similarity of at least 0.9 between their words.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import difflib
import gzip
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import xxhash

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from conftest import valkey_binary, wait_for  # noqa: E402
from gossamer.model import minhash  # noqa: E402
from gossamer.model.minhash import GroupQuery, Placed, Sketch, make_sketch  # noqa: E402
from gossamer.parsing import html  # noqa: E402
from gossamer.parsing.content_text import gist_of  # noqa: E402
from gossamer.state.near_duplicate_index import NearDuplicateIndex  # noqa: E402
from gossamer.store.store import Store, connect  # noqa: E402
from worker.page_variants import KINDS, sibling, text_of, translated  # noqa: E402


class One(NamedTuple):
    """A page or a variant: number of the original page, kind of change, sort of page, URL and HTML."""

    base: int
    kind: str
    sort: str
    url: str
    html: str


def rows(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            yield row["url"], text_of(base64.b64decode(row["html"]["b64"]))


def folder_of(path: Path, host: str) -> Iterator[tuple[str, str]]:
    for page in sorted([*path.rglob("*.html"), *path.rglob("*.html.en")]):
        if page.stat().st_size < 300_000:
            yield f"http://{host}/{page.relative_to(path)}", text_of(page.read_bytes())


def pages(words: argparse.Namespace, chance: random.Random) -> list[tuple[str, str, str]]:
    """Returns the sort, URL and HTML of each page, for one half of the hosts or for all hosts."""
    found = [("article", *page) for page in rows(words.data, "articles-zyte")]
    found += [("product", *page) for page in rows(words.data, "products")]
    found += [
        ("listing", f"http://{p.stem}.example/", p.read_text())
        for p in (words.data / "examples").glob("*.html")
    ]
    if words.docs:
        found = []
    for path in words.docs or [ROOT / ".sites/postgresql-doc/html", ROOT / ".sites/python3-doc/html"]:
        # Documentation has only one host. Each chapter counts as a host, so that both halves contain
        # chapters.
        some = [("docs", *page) for page in folder_of(path, path.parent.name)]
        found += chance.sample(some, min(len(some), words.sample))
    half = {"tune": 0, "held": 1}.get(words.half)
    return [page for page in found if half is None or zlib.crc32(_host(page[1]).encode()) % 2 == half]


def _host(url: str) -> str:
    parts = urlsplit(url)
    return (
        parts.netloc + re.split(r"[-.\d]", parts.path.rsplit("/", 1)[-1])[0]
        if "." not in parts.netloc
        else parts.netloc
    )


def variants(base: int, sort: str, url: str, page: str, chance: random.Random) -> Iterator[One]:
    """Yields the page itself, one variant per kind of change, and (for a product) a sibling."""
    yield One(base, "itself", sort, url, page)
    for kind, make in KINDS.items():
        yield One(base, kind, sort, url, make(page, chance))
    yield One(base, "translated", sort, url, translated(page, chance))
    if sort == "product" and (other := sibling(page, chance)) is not None:
        yield One(-base - 1, "sibling", sort, url, other)


def sketched(one: One, spent: Counter[str]) -> Sketch:
    """Computes the sketch of a page as the crawler does, and adds the CPU nanoseconds of each step to
    `spent`."""
    began = time.process_time_ns()
    document = html.parse(one.html.encode("utf-8", "replace"), "text/html; charset=utf-8", one.url)
    parsed = time.process_time_ns()
    same = bytes.fromhex(document.text_hash)[:8]
    hashed = time.process_time_ns()
    said = gist_of(document.tree)
    told = time.process_time_ns()
    found = Sketch(same, make_sketch(*said))
    spent.update(
        parse=parsed - began,
        hash=hashed - parsed,
        gist=told - hashed,
        sketch=time.process_time_ns() - told,
        pages=1,
    )
    return found


@contextmanager
def server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path = f"{folder}/v.sock"
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "no"]
        process = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL)
        try:
            wait_for(path, process)
            yield f"unix://{path}"
        finally:
            process.kill()
            process.wait()


async def opened(url: str, buckets: int = 64) -> Store:
    store = connect(url)
    await store.open(buckets, "test")
    return store


async def place(asked: list[GroupQuery]) -> list[Placed]:
    with server() as url:
        store = await opened(url)
        index, placed = NearDuplicateIndex(store, "c"), list[Placed]()
        for at in range(0, len(asked), 256):
            placed += await index.place(asked[at : at + 256])
        await store.close()
        return placed


def paired(ones: list[One], placed: list[Placed], bases: dict[int, list[int]]) -> Counter[tuple[str, bool]]:
    """Counts the pairs of variants of the same page, by category and by whether both are in one group."""
    right: Counter[tuple[str, bool]] = Counter()
    for members in bases.values():
        for a, b in itertools.combinations(members, 2):
            one, other = ones[a], ones[b]
            good = placed[a].group == placed[b].group
            right["all", good] += 1
            right[f"sort {one.sort}", good] += 1
            if "itself" in (one.kind, other.kind):
                right[f"kind {other.kind if one.kind == 'itself' else one.kind}", good] += 1
    return right


def quality(words: argparse.Namespace) -> None:
    """Prints the precision and the recall of pairs, in total and by kind of change."""
    chance, spent = random.Random(words.seed), Counter[str]()
    ones = [one for base, page in enumerate(pages(words, chance)) for one in variants(base, *page, chance)]
    chance.shuffle(ones)
    asked = [GroupQuery("page", chance.getrandbits(64), sketched(one, spent)) for one in ones]
    placed = asyncio.run(place(asked))
    groups: dict[str, list[int]] = defaultdict(list)
    bases: dict[int, list[int]] = defaultdict(list)
    for j, (one, where) in enumerate(zip(ones, placed, strict=True)):
        groups[where.group].append(j)
        bases[one.base].append(j)
    right = paired(ones, placed, bases)
    wrong = [
        (ones[a], ones[b])
        for members in groups.values()
        for a, b in itertools.combinations(members, 2)
        if ones[a].base != ones[b].base
    ]
    together = right["all", True]
    short = sum(not one.sketch.near for one in asked)
    print(
        f"{len(bases)} pages, {len(ones)} with variants, {short} of few words; seed {words.seed}, half {words.half or 'both'}"
    )
    print(
        f"precision {together / max(1, together + len(wrong)):.4f} ({len(wrong)} wrong pairs of {together + len(wrong)})"
    )
    for name in sorted({name for name, _ in right}):
        pairs = right[name, True] + right[name, False]
        print(f"recall {name:18} {right[name, True] / pairs:.4f} of {pairs} pairs")
    for (a_url, b_url), n in Counter(tuple(sorted((a.url, b.url))) for a, b in wrong).most_common(words.show):
        print(f"wrong: {n} pairs of {a_url[-70:]} and {b_url[-70:]}")
    torn = Counter(
        ones[members[0]].url for members in bases.values() if len({placed[j].group for j in members}) > 1
    )
    print("torn:", *list(torn)[: words.show], sep="\n  ")
    n = spent.pop("pages")
    print("CPU a page:", ", ".join(f"{name} {took / n / 1e6:.2f} ms" for name, took in spent.items()))


def versions(words: argparse.Namespace) -> None:
    """Compares the pages of two releases. The expected result follows from the similarity of their words."""
    old, new = words.versions
    spent, counts, asked = Counter[str](), Counter[str](), list[GroupQuery]()
    names = [page.name for page in sorted(new.glob("*.html")) if (old / page.name).exists()]
    chance = random.Random(words.seed)
    labels = []
    for name in chance.sample(names, min(len(names), words.sample)):
        texts = [text_of((folder / name).read_bytes()) for folder in (old, new)]
        a, b = (
            html.parse(text.encode(), "text/html; charset=utf-8", "http://x/").text.split() for text in texts
        )
        labels.append((name, difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if a != b else 1.0))
        asked += [
            GroupQuery(
                "page",
                xxhash.xxh3_64_intdigest(f"{j}{name}".encode()),
                sketched(One(0, "", "", "http://x/", text), spent),
            )
            for j, text in enumerate(texts)
        ]
    placed = asyncio.run(place(asked))
    for (_, label), (one, other) in zip(labels, zip(placed[::2], placed[1::2], strict=True), strict=True):
        same = one.group == other.group
        sort = "changed, the same" if 0.9 <= label < 1 else "unchanged" if label == 1 else "changed much"
        counts[f"{sort}: {'one group' if same else 'apart'}"] += 1
    groups = defaultdict(set)
    for j, one in enumerate(placed):
        groups[one.group].add(labels[j // 2][0])
    counts["groups of different pages"] = sum(len(names) > 1 for names in groups.values())
    print(dict(sorted(counts.items())))


async def keys_of(store: Store, pattern: str) -> int:
    """Returns the memory of the matching keys in bytes, as reported by MEMORY USAGE."""
    keys = [key async for page in store.scan(f"{{b:???}}{pattern}") for key in page]
    return sum([await store.client.memory_usage(key, samples=0) or 0 for key in keys])


async def memory(pages_: int, buckets: int) -> None:
    """Prints the store's memory in bytes and its CPU time per page, for a number of different pages."""
    with server() as url:
        store = await opened(url, buckets)
        chance = random.Random(1)

        def some() -> list[GroupQuery]:
            return [
                GroupQuery(
                    "page", chance.getrandbits(64), Sketch(chance.randbytes(8), chance.randbytes(63) + b"\0")
                )
                for _ in range(250)
            ]

        async def told() -> tuple[int, float]:
            cpu = await store.client.info("cpu")
            return (await store.client.info("memory"))["used_memory"], cpu["used_cpu_user"] + cpu[
                "used_cpu_sys"
            ]

        await NearDuplicateIndex(store, "warm", 1 << 40).place(
            some()
        )  # the first call allocates memory for the script and the connection, which is not to be measured
        index, before, steps = (
            NearDuplicateIndex(store, "c", 1 << 40),
            await told(),
            [pages_ // 100, pages_ // 10, pages_],
        )
        for n in range(1, pages_ // 250 + 1):
            await index.place(some())
            if n * 250 in steps:
                used, cpu = await told()
                kept = await keys_of(store, "c:y*") / (n * 250)
                each = f"{(used - before[0]) / (n * 250):.1f} B, of its keys {kept:.1f} B"
                print(
                    f"{n * 250} pages: {each}, {(cpu - before[1]) / n * 4000:.0f} us of the store's CPU a page",
                    flush=True,
                )
        await store.close()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    words.add_argument("--docs", type=Path, nargs="*", default=[])
    words.add_argument("--versions", type=Path, nargs=2)
    words.add_argument("--half", choices=["tune", "held"])
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--sample", type=int, default=200)
    words.add_argument("--show", type=int, default=20)
    words.add_argument(
        "--least",
        type=float,
        default=minhash.MIN_LIKENESS,
        help="likeness from which on two are nearly the same",
    )
    words.add_argument("--memory", type=int)
    words.add_argument("--buckets", type=int, default=1)
    given = words.parse_args()
    minhash.MIN_LIKENESS = given.least  # type: ignore[misc] # to choose it by
    if given.memory:
        asyncio.run(memory(given.memory, given.buckets))
    elif given.versions:
        versions(given)
    else:
        quality(given)


if __name__ == "__main__":
    main()
