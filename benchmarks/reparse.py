"""Measures the cost of reading stored pages again, in CPU microseconds per page.

    python benchmarks/reparse.py [--pages 20000] [--rounds 3] [--crawl]

The pages are those of Python's documentation, each under several URLs with a different comment. The pages are
stored as WARC in the format of a crawl, with gzip as received. The floor decompresses and parses the bodies
with the same parser in one process with the same settings as a crawl. The floor runs once with isal, which
gossamer uses, and once with Python's zlib. `reparse` is a complete run of the command with one process and a
site function of three selectors. This run writes and compares the items. The CPU time is that of all
processes from start to end. The table shows medians of interleaved rounds.

At the end, the floor and the reading take turns of a hundred pages in one process. The load of the machine
affects this measurement least. The measurement excludes the command's start, its state and the comparison of
items.

`--crawl` instead crawls as many pages from tests/web with the same site and output, and reads them again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

from isal import isal_zlib
from measured import measure
from real_pages import SITES, documentation

from gossamer.app.process_tuning import settle_in
from gossamer.app.reparse.processes import BatchPosition
from gossamer.app.reparse.runner import make_reading
from gossamer.collectors.archive.collector import archive_collector
from gossamer.model.page import Exchange
from gossamer.model.visit import RAW, Raw, RequestContext, Row
from gossamer.parsing import html
from gossamer.sinks.warc import Warc
from gossamer.sites import load_all

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
SITE = """
from gossamer import Item, Site

site = Site("docs", seeds=["{seed}"], follow=True, hosts=["{host}"])


class Doc(Item, key="url"):
    url: str
    title: str
    heading: str
    links: int


@site.page()
def doc(page):
    yield Doc(url=page.url, title=page.title or "", heading=page.css("h1::text").get() or "", links=len(page.css("a")))
"""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n\r\n"


def store(folder: Path, count: int) -> None:
    """Writes the WARC file, and the old items for the comparison."""
    files = sorted((ROOT / ".sites" / "python3-doc" / "html").rglob("*.html"))
    bodies = [file.read_bytes() for file in files if file.stat().st_size]
    sink, rows, length = Warc(str(folder / "pages.warc.gz"), owner="benchmark"), [], 0
    length = sink.prepare()
    for n in range(count):
        body = gzip.compress(bodies[n % len(bodies)] + b"<!-- %d -->" % n, 6)
        raw = Raw(
            f"http://docs.test/{n}",
            200,
            "text/html",
            1700000000.0 + n / 400,
            Exchange(b"GET / HTTP/1.1\r\n\r\n", HEAD, body),
            RequestContext(depth=3),
        )
        rows.append(Row(RAW, raw.url, raw))
        if len(rows) == 256:
            length, rows = sink.append(length, rows), []
    sink.close(sink.append(length, rows) if rows else length)
    (folder / "docs.py").write_text(SITE.format(seed="http://docs.test/", host="docs.test"))


def floor(folder: Path, count: int, by: Any = isal_zlib) -> float:
    """Returns the CPU microseconds per page for decompressing (with isal or zlib) and parsing alone."""
    lines = [json.loads(line.split(b" ", 2)[2]) for line in (folder / "pages.cdxj").read_bytes().splitlines()]
    used = 0.0
    with (folder / "pages.warc.gz").open("rb") as file:
        for line in lines:
            file.seek(int(line["offset"]))
            body = isal_zlib.decompress(file.read(int(line["length"])), 31).split(b"\r\n\r\n", 2)[2][:-4]
            began = time.process_time()
            html.parse(by.decompress(body, 31), "text/html; charset=utf-8", line["url"])
            used += time.process_time() - began
    return used / count * 1e6


def again(folder: Path, count: int, *words: str) -> float:
    """Returns the CPU microseconds per page of the command."""
    command = [
        sys.executable,
        "-m",
        "gossamer",
        "reparse",
        "--data",
        str(folder / "data"),
        "--processes",
        "1",
        "--fresh",
        "--json",
        *words,
    ]
    cost = measure(command, folder / "cost.json")
    log = (folder / "cost.log").read_text()
    if cost.code:
        sys.exit(log)
    said = json.loads(log.splitlines()[-1])
    if said.get("difference") is not None and said["difference"]["same"] != said["pages"]:
        sys.exit(f"items differ: {said}")
    if said["items"] != said["pages"] or said["pages"] < count * 0.9:
        sys.exit(f"not all were read: {said}")
    return cost.cpu / int(said["pages"]) * 1e6


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crawl", action="store_true")
    given = parser.parse_args()
    settle_in()
    if given.crawl:
        crawled(given.pages)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store(folder, given.pages)
        words = ["--archive", str(folder / "pages.warc.gz"), "--site", str(folder / "docs.py")]
        again(folder, given.pages, *words)
        old = next((folder / "data").glob("*/reparse/items.jsonl")).rename(folder / "old.jsonl")
        rounds = []
        for _ in range(given.rounds):
            alone = floor(folder, given.pages), floor(folder, given.pages, zlib)
            rounds.append((*alone, again(folder, given.pages, *words, "--old", str(old))))
            print(told(*rounds[-1]), flush=True)
        print("medians:", told(*(statistics.median(row) for row in zip(*rounds, strict=True))))
        ratios = [statistics.median(whole / one[at] for *one, whole in rounds) for at in (0, 1)]
        print(f"medians of ratios: {ratios[0]:.2f}, {ratios[1]:.2f}")
        step(folder, given.pages)


def step(folder: Path, count: int) -> None:
    """Compares the floor with the reading of the command, which take turns in one process."""
    opened, used = archive_collector(str(folder / "pages.warc.gz")), [0.0, 0.0]
    making = make_reading(opened, load_all([str(folder / "docs.py")]), folder / "failed", BatchPosition())
    read = making.__enter__()
    lines = [json.loads(line.split(b" ", 2)[2]) for line in (folder / "pages.cdxj").read_bytes().splitlines()]
    lines.sort(key=lambda line: int(line["offset"]))
    with (folder / "pages.warc.gz").open("rb") as file:
        for at in range(0, count, 100):
            bodies = []
            for line in lines[at : at + 100]:
                file.seek(int(line["offset"]))
                bodies.append(
                    isal_zlib.decompress(file.read(int(line["length"])), 31).split(b"\r\n\r\n", 2)[2][:-4]
                )
            times = [time.process_time()]
            for line, body in zip(lines[at : at + 100], bodies, strict=True):
                html.parse(isal_zlib.decompress(body, 31), "text/html; charset=utf-8", line["url"])
            times.append(time.process_time())
            if read([line["url"] for line in lines[at : at + 100]]).items != len(bodies):
                sys.exit("not all were read")
            times.append(time.process_time())
            used = [used[0] + times[1] - times[0], used[1] + times[2] - times[1]]
    making.__exit__(None, None, None)
    opened.shut()
    each = [one / count * 1e6 for one in used]
    print(f"in step: floor {each[0]:.0f} us, reading {each[1]:.0f} us, {each[1] / each[0]:.2f} times")


def told(quick: float, usual: float, whole: float) -> str:
    """Returns a line about one round."""
    return f"floor {quick:.0f} us (zlib {usual:.0f}), reparse {whole:.0f} us, {whole / quick:.2f} times ({whole / usual:.2f})"


def crawled(count: int) -> None:
    """Measures a crawl that stores its pages with the same function, and the reading of these pages."""
    from web import Plan, serve

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = documentation(folder / "web", (SITES / "python3-doc" / "html",), count)
        with serve(Plan(folder=str(site.resolve()), robots=("allow",))) as web:
            seed = web.plan.seeds()[0]
            (folder / "docs.py").write_text(SITE.format(seed=seed, host=seed.split("/")[2]))
            command = [
                sys.executable,
                "-m",
                "gossamer",
                "crawl",
                str(folder / "docs.py"),
                "--data",
                str(folder / "data"),
                "--quiet",
            ]
            command += [
                "--delay",
                "0",
                "--per-host",
                "80",
                "--allow-private",
                "127.0.0.0/8",
                "-o",
                str(folder / "items.jsonl"),
            ]
            cost = measure([*command, "-o", str(folder / "pages.warc.gz")], folder / "crawl.json")
        pages = len((folder / "items.jsonl").read_bytes().splitlines())
        whole = again(folder, pages, "docs", "--old", str(folder / "items.jsonl"))
        each = cost.cpu / pages * 1e6
        print(f"crawl of {pages} pages {each:.0f} us, reparse {whole:.0f} us: {whole / each:.2f} of it")


if __name__ == "__main__":
    main()
