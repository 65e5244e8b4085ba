"""Measures how much CPU time per page a crawl needs to store complete responses.

    python benchmarks/archive.py [--rounds 3] [--copies 2] [--outputs warc,objects] [--alone]

The web consists of some copies of Python's documentation with gzip, served by tests/web in a separate process
that is not counted. Each round crawls this web first with JSON lines as the only output, and
then once with each of the outputs in addition. The table shows the medians of the rounds. The CPU time is
that of all processes, including the store. The difference between two crawls is therefore the cost of the
output, which collects, compresses, hashes and writes the responses.

`--alone` does not crawl. The benchmark then makes as many responses, each with a comment of its own, converts
the responses to rows and writes the rows in batches of 64. Each batch is synced and indexed. The CPU time is
that of this process alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import real_pages
from measured import measure

from gossamer.app.process_tuning import settle_in
from gossamer.model.page import Exchange, Page
from gossamer.model.request import Request
from gossamer.sinks.warc import Warc
from gossamer.worker.records import raw_row

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
DOCUMENTATION_PAGES = 530
OUTPUTS = {"warc": "{0}/out.warc.gz", "folder": "{0}/raw/:warc", "objects": "objects:{0}/objects"}


def main() -> None:
    """Measures and prints a table."""
    from web import Plan, serve

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--outputs", default="warc,objects")
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    if given.alone:
        each = [alone(DOCUMENTATION_PAGES * given.copies) for _ in range(given.rounds)]
        print(*(f"{one:.0f}" for one in each), f"us a page, median {statistics.median(each):.0f}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = real_pages.SITES / "python3-doc" / "html"
        site = real_pages.documentation(folder / "site", (source,), DOCUMENTATION_PAGES * given.copies)
        found: dict[str, list[float]] = {}
        with serve(Plan(folder=str(site.resolve()), robots=("allow",))) as web:
            for _ in range(given.rounds):
                for which in ("", *given.outputs.split(",")):
                    with tempfile.TemporaryDirectory() as own:
                        words = crawl(web.plan.seeds()[0], own)
                        words += ["-o", OUTPUTS[which].format(own)] if which else []
                        cost = measure(words, Path(own) / "cost.json")
                        if cost.code:
                            sys.exit(f"exit {cost.code}: {(Path(own) / 'cost.log').read_text()[-2000:]}")
                        rows = (Path(own) / "out.jsonl").read_bytes().splitlines()
                        pages = len({json.loads(row)["url"] for row in rows})
                        found.setdefault(which, []).append(cost.cpu / pages * 1e6)
                        print(
                            f"{which or 'rows alone':<12}{pages:>7} pages {found[which][-1]:>8.0f} us a page",
                            flush=True,
                        )
    base = statistics.median(found[""])
    for which, each in found.items():
        print(
            f"{which or 'rows alone':<12}{statistics.median(each):>8.0f} us{statistics.median(each) - base:>+8.0f}"
        )


HEAD = (
    b'HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 21:00:00 GMT\r\nContent-Type: text/html\r\nETag: "6740f1a2"\r\n'
    b"Last-Modified: Sat, 21 Nov 2026 20:00:00 GMT\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
)
SENT = (
    b"GET /%d.html HTTP/1.1\r\nHost: docs.test\r\nUser-Agent: gossamer/0.1 (+https://docs.test/bot)\r\n"
    b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)


def alone(count: int) -> float:
    """Returns the CPU microseconds per page for making and writing the rows."""
    settle_in()
    files = sorted((ROOT / ".sites" / "python3-doc" / "html").rglob("*.html"))
    packed = [gzip.compress(file.read_bytes()) for file in files if file.stat().st_size]
    used = 0.0
    with tempfile.TemporaryDirectory(dir=ROOT) as own:
        sink = Warc(f"{own}/out.warc.gz", owner="benchmark")
        length = sink.prepare()
        for at in range(0, count, 64):
            pages = [
                page(n, packed[n % len(packed)] + gzip.compress(b"<!-- %d -->" % n))
                for n in range(at, min(at + 64, count))
            ]
            began = time.process_time()
            length = sink.append(
                length, [raw_row(Request(one.url, 3, referrer="http://docs.test/"), one) for one in pages]
            )
            used += time.process_time() - began
        began = time.process_time()
        sink.close(length)
        used += time.process_time() - began
    return used / count * 1e6


def page(n: int, body: bytes) -> Page:
    """Returns a response as a crawl gets it."""
    return Page(
        f"http://docs.test/{n}.html",
        200,
        [("content-type", "text/html")],
        b"",
        1700000000.0 + n / 400,
        0.01,
        len(body),
        address="127.0.0.1",
        exchange=Exchange(SENT % n, HEAD, body),
    )


def crawl(url: str, own: str) -> list[str]:
    """Returns the command of a crawl that writes page records as JSON lines."""
    words = [
        sys.executable,
        "-m",
        "gossamer",
        "crawl",
        url,
        "--data",
        f"{own}/data",
        "-o",
        f"{own}/out.jsonl",
        "--quiet",
    ]
    return [
        *words,
        "--delay",
        "0",
        "--per-host",
        "80",
        "--concurrency",
        "64",
        "--allow-private",
        "127.0.0.0/8",
    ]


if __name__ == "__main__":
    main()
