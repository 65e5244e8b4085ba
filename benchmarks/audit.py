"""Measures the cost of `gossamer audit`: memory and CPU time for a large site, and CPU time for reading a
page.

    python benchmarks/audit.py [--pages 100000] [--links 40] [--html FOLDER] [--against FOLDER_WITH_SOURCE]

The pages are generated. Each page has `--links` links. Every tenth page or so has a fault: no title, noindex,
the text of another page, or a link to a page that does not exist. The pages are written in batches of 256, as
by a crawl. Then the benchmark builds the link graph, runs all checks, and writes the report, the CSV files,
the sitemap and the link graph. The table shows the CPU seconds of each step and the maximum resident memory
of the process so far. The floor is the memory before any pages are written.

`--against` runs the checks again on the same database, three times with this version and three times with another
one, in turn.

`--html` reads the pages of a folder, and prints the CPU time for extracting a page's facts and links, as a
ratio to the floor. The floor is the time for parsing the page and reading its links and visible text, which
every crawl with `--text` does.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gossamer.model.page import Page
from gossamer.parsing.html import parse
from gossamer.parsing.links import find_hrefs
from gossamer.parsing.page_view import PageView
from gossamer.uses.audit.database import AuditDatabase, ResponseRow
from gossamer.uses.audit.exports import write_output
from gossamer.uses.audit.link_checks import CheckedLinks
from gossamer.uses.audit.link_graph import build_graph
from gossamer.uses.audit.model import PageFacts, PageLink
from gossamer.uses.audit.page_facts import read_page, sketch_of
from gossamer.uses.audit.run import check_scope, evaluate_checks, summarize

SITE = "https://large.example"
BATCH = 256
WORDS = [f"word{n}" for n in range(2000)]
MAX_HTML = 300


def memory_mb() -> float:
    """Returns the maximum resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step(name: str, work: Callable[[], object]) -> object:
    """Runs a step, and prints its CPU seconds, its wall time and the maximum memory so far."""
    start, clock = time.process_time(), time.perf_counter()
    found = work()
    print(
        f"{name:<34}{time.process_time() - start:>12.1f}{time.perf_counter() - clock:>12.1f}{memory_mb():>12.0f}",
        flush=True,
    )
    return found


def pages(n: int, links: int) -> Iterator[tuple[str, PageFacts, list[PageLink], bytes, float]]:
    """Yields the pages of a generated site."""
    rng = random.Random(3)
    for number in range(n):
        url = f"{SITE}/part-{number % 100}/page-{number}.html" if number else f"{SITE}/"
        fault = number % 50
        text = rng.choices(WORDS, k=120) if fault != 1 else WORDS[:120]
        targets = [(number * 8 + place + 1) % n for place in range(8)]
        targets += [rng.randrange(n) for _ in range(links - 8)]
        found = [
            PageLink(f"{SITE}/part-{to % 100}/page-{to}.html" if to else f"{SITE}/", "a", f"Page {to}")
            for to in targets
        ]
        if fault == 2:
            found.append(PageLink(f"{SITE}/gone-{number % 100}.html", "a", "The page that is gone"))
        facts = PageFacts(
            url=url,
            is_html=True,
            titles=[] if fault == 3 else [f"Page {number} of the large site of this benchmark"],
            descriptions=[f"What page {number} is about, in a sentence of a usual length for a result."],
            h1s=[f"Heading {number}"],
            headings=[1, 2, 2],
            canonicals=[url],
            canonical=url,
            language="en",
            robots=["noindex"] if fault == 4 else [],
            words=120,
            text_hash=f"{number if fault != 1 else 'copy'}",
            main_hash=f"{number}",
            viewport=True,
            ids=[f"id-{place}" for place in range(20)],
        )
        yield url, facts, found, sketch_of(text), 0.1


def measure_checks(path: str) -> None:
    """Prints the CPU seconds of all checks on a stored site, and the number of findings."""
    with AuditDatabase(path) as database:
        number, scope = (
            database.audits()[-1].number,
            check_scope(database, [], True, CheckedLinks(0, 0, 0, 0)),
        )
        start = time.process_time()
        results = evaluate_checks(database, number, None, scope, lambda _: None)
        spent = time.process_time() - start
    print(f"{spent:.1f} s of CPU, {sum(one.count for one in results):,} findings of {len(results)} checks")


def measure_site(count: int, links: int, against: str = "") -> None:
    """Measures an audit of a generated site."""
    print(f"{count:,} pages with {links} links{'':<6}{'CPU s':>12}{'wall s':>12}{'memory MB':>12}")
    print(f"{'floor: nothing yet':<34}{0:>12.1f}{0:>12.1f}{memory_mb():>12.0f}")
    with tempfile.TemporaryDirectory() as folder, AuditDatabase(f"{folder}/audit.db") as database:
        record = database.begin(f"{SITE}/", {})
        with database.transaction() as base:
            base.execute("INSERT INTO hosts VALUES ('large.example')")

        def write() -> None:
            batch = []
            for one in pages(count, links):
                batch.append(one)
                if len(batch) == BATCH:
                    database.write_pages(batch)
                    batch = []
            database.write_pages(batch)
            database.write_responses(
                ResponseRow(f"{SITE}/gone-{n}.html", 404, "done", None, 0.1, 0, None, "2026")
                for n in range(100)
            )

        step("make and write pages", write)
        step("link graph, near-duplicates", lambda: build_graph(database, f"{SITE}/"))
        checked = CheckedLinks(0, 0, 0, 0)
        results = step(
            "all checks",
            lambda: evaluate_checks(
                database, record.number, None, check_scope(database, [], True, checked), lambda _: None
            ),
        )
        done = summarize(database, record, None, "finished", [], checked, results, "")  # type: ignore[arg-type]
        for name in ("report.html", "csv/", "links.gexf", "sitemap.xml"):
            step(f"write {name}", lambda name=name: write_output(f"{folder}/{name}", database, done))  # type: ignore[misc]
        size = (Path(folder) / "audit.db").stat().st_size / 1e6
        print(
            f"{done.errors:,} errors, {done.warnings:,} warnings, {done.notices:,} notices; database {size:,.0f} MB"
        )
        ours = str(Path(__file__).resolve().parents[1] / "src")
        for source, name in ((ours, "this version"), (against, "the other version")) * 3 if against else ():
            print(f"all checks, {name}, load {os.getloadavg()[0]:.1f}: ", end="", flush=True)
            command = [sys.executable, __file__, "--checks", f"{folder}/audit.db"]
            subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, check=True)


def measure_pages(folder: Path) -> None:
    """Measures the CPU time for reading the pages of a folder."""
    files = sorted(folder.rglob("*.html"))
    files = files[:: max(1, len(files) // MAX_HTML)][:MAX_HTML]
    ours: list[float] = []
    floor: list[float] = []
    for file in files:
        body, url = file.read_bytes(), f"{SITE}/{file.name}"

        def plain(body: bytes = body, url: str = url) -> None:
            document = parse(body, "text/html", url)
            find_hrefs(document)
            _ = document.text, document.title, document.text_hash

        def facts(body: bytes = body, url: str = url) -> None:
            read_page(PageView(Page(url, 200, [("content-type", "text/html")], body, 0.0, 0.1, len(body))))

        for work, times in ((plain, floor), (facts, ours)):
            start = time.process_time()
            work()
            times.append(1000 * (time.process_time() - start))
    ratio = statistics.median(one / other for one, other in zip(ours, floor, strict=True) if other)
    print(
        f"{len(files)} pages of {folder.parent.name}: facts {statistics.mean(ours):.2f} ms (median {statistics.median(ours):.2f}) "
        f"of CPU a page; floor {statistics.mean(floor):.2f} ms (median {statistics.median(floor):.2f}); ratio {ratio:.1f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=100_000)
    options.add_argument("--links", type=int, default=40)
    options.add_argument("--html", type=Path, action="append", default=[])
    options.add_argument("--against", default="")
    options.add_argument("--checks", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.checks:
        measure_checks(given.checks)
        return
    if given.pages:
        measure_site(given.pages, given.links, given.against)
    for folder in given.html:
        measure_pages(folder)


if __name__ == "__main__":
    main()
