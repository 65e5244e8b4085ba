"""Compares two revisions by their instructions per page and per start, counted with valgrind (Linux).

    python benchmarks/instructions.py --against REVISION [--pages 200,800] [--rounds 3] [--here OPTIONS] [-- CRAWL OPTIONS]

Both revisions crawl the same two local webs from start to end. The cost per page follows from the difference
between the two crawls. The cost of a start is that of a crawl of one page. The instructions are those of all
processes of the command, including the embedded store. Instructions do not depend on the load of the machine,
except that the load slightly changes the size of batches. Therefore the rounds alternate between the
revisions, and the table shows medians.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
_COUNTED = re.compile(r"I +refs: +([\d,]+)")


def count(source: Path, url: str, folder: Path, options: list[str]) -> int:
    """Returns the instructions of one crawl with the package in `source`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    valgrind = [
        *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
        *("--cachegrind-out-file=/dev/null", f"--log-file={folder}/valgrind.%p"),
    ]
    crawl = [
        *(
            sys.executable,
            "-m",
            "gossamer",
            "crawl",
            url,
            "--quiet",
            "--data",
            f"{folder}/data",
            "-o",
            f"{folder}/out.jsonl",
        ),
        *(
            "--delay",
            "0",
            "--per-host",
            "16",
            "--concurrency",
            "16",
            "--allow-private",
            "127.0.0.0/8",
            *options,
        ),
    ]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [*valgrind, *crawl], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )
    if done.returncode:
        sys.exit(f"exit {done.returncode}: {done.stderr[-2000:]}")
    patience = time.monotonic() + 10.0  # the store's server may end later than the command
    while True:
        logs = [log.read_text(errors="replace") for log in folder.glob("valgrind.*")]
        if all(map(_COUNTED.search, logs)) or time.monotonic() > patience:
            break
        time.sleep(0.05)
    return sum(int(found[1].replace(",", "")) for log in logs if (found := _COUNTED.search(log)))


def main() -> None:
    """Counts the instructions, and prints a table."""
    from web import preset, serve

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", required=True, help="a git revision")
    parser.add_argument("--pages", default="200,800", help="sizes of the two webs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--here", default="", help="more options of the working tree's crawls, in one text")
    parser.add_argument("options", nargs="*", help="more options of crawl, after --")
    options = parser.parse_args()
    sizes = (1, *map(int, options.pages.split(",")))
    with tempfile.TemporaryDirectory() as name:
        old, folder = Path(name) / "old", Path(name) / "run"
        old.mkdir()
        archive = subprocess.run(
            ["git", "archive", options.against, "src"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "x", "-C", str(old)], input=archive.stdout, check=True)
        # compiles the modules, so that a start is counted without compilation
        for source in (old / "src", ROOT / "src"):
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
        found: dict[tuple[Path, int], list[int]] = defaultdict(list)
        for size in sizes:
            with serve(preset("real2k", pages=size, robots=("allow",))) as web:
                for _ in range(options.rounds):
                    for source in (old / "src", ROOT / "src"):
                        more = shlex.split(options.here) if source == ROOT / "src" else []
                        words = [*options.options, *more]
                        found[source, size].append(count(source, web.url(0, "/"), folder, words))
                        print(
                            f"{size} pages, {source.parent.name}: {found[source, size][-1]:,}",
                            file=sys.stderr,
                        )
    report(found, (old / "src", ROOT / "src"), sizes, options.against)


def report(
    found: dict[tuple[Path, int], list[int]], sources: tuple[Path, Path], sizes: tuple[int, ...], against: str
) -> None:
    """Prints the table of medians, with the ratio of the working tree to the other revision."""

    def cost(source: Path) -> tuple[float, float]:
        one, few, many = (statistics.median(found[source, size]) for size in sizes)
        return one, (many - few) / (sizes[2] - sizes[1])

    print(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC; {sizes[1]} and {sizes[2]} pages, medians\n")
    print(f"| instructions | {against} | working tree | ratio |\n| --- | ---: | ---: | ---: |")
    for name, before, after in zip(("a start with one page", "a page"), *map(cost, sources), strict=True):
        print(f"| {name} | {before:,.0f} | {after:,.0f} | {after / before:.3f} |")


if __name__ == "__main__":
    main()
