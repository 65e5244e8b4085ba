"""What keeping whole answers adds to a crawl: CPU microseconds a page.

    python benchmarks/archive.py [--rounds 3] [--copies 2] [--outputs warc,objects]

The web of `speed.py` (Python's documentation, some copies, gzip, served by tests/web in a process that is not counted). Each round
crawls it with one JSON line a page, and with each of the outputs beside that; rounds are interleaved, medians. Counted is the CPU time
of all processes, the store included, so the difference is what the output costs: collecting, packing, hashing, writing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from speed import corpus, run

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
OUTPUTS = {"warc": "{0}/out.warc.gz", "folder": "{0}/raw/:warc", "objects": "objects:{0}/objects"}


def main() -> None:
    """Measure and print a table."""
    from web import Plan, serve

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--outputs", default="warc,objects")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = corpus(folder, given.copies, ("python3-doc",))
        found: dict[str, list[float]] = {}
        with serve(Plan(folder=str((site).resolve()), robots=("allow",))) as web:
            for _ in range(given.rounds):
                for which in ("", *given.outputs.split(",")):
                    with tempfile.TemporaryDirectory() as own:
                        words = crawl(web.plan.seeds()[0], own)
                        words += ["-o", OUTPUTS[which].format(own)] if which else []
                        done = run(words, Path(own) / "out.jsonl")
                        found.setdefault(which, []).append(done.each * 1000)
                        print(
                            f"{which or 'rows alone':<12}{done.pages:>7} pages {done.each * 1000:>8.0f} us a page",
                            flush=True,
                        )
    base = statistics.median(found[""])
    for which, each in found.items():
        print(f"{which or 'rows alone':<12}{statistics.median(each):>8.0f} us{statistics.median(each) - base:>+8.0f}")


def crawl(url: str, own: str) -> list[str]:
    """The command of a crawl with its rows."""
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
    return [*words, "--delay", "0", "--per-host", "80", "--concurrency", "64", "--allow-private", "127.0.0.0/8"]


if __name__ == "__main__":
    main()
