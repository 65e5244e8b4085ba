"""Compares the twelve programs of the cookbook as Scrapy spiders and as site files on the same local sites.

    python benchmarks/cookbook.py [--pages 60] [--only quotes,books] [--out benchmarks/results/cookbook.txt]

`--pages` is the number of pages per listing. The benchmark compares the items, the lines of code and the CPU
time. Blank lines do not count as code. The CPU seconds are those of the complete command with all processes
that it starts. The CPU seconds in brackets are those of a run over two pages, most of which is the start.
Scrapy runs with its default settings except for a delay of 0. gossamer runs with `--delay 0 --per-host 8
--depth 1000`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COOKBOOK = ROOT / "examples" / "cookbook"
BASE = "http://127.0.0.1:8000"
NAMES = (
    "quotes",
    "books",
    "login",
    "search",
    "api",
    "sitemap",
    "csv_seeds",
    "images",
    "gone",
    "shared",
    "arguments",
    "pipeline",
)
CATEGORIES = "categories=poetry,travel,history"
FILES = ("file", "reference")
"""Kinds of rows that describe files."""


class Run(NamedTuple):
    """The items of one program, as JSON texts with their counts, and its CPU and wall time."""

    items: Counter[str]
    cpu: float
    wall: float


@contextmanager
def served(pages: int) -> Iterator[int]:
    """Serves the sites of the cookbook, and yields the port."""
    spec = util.spec_from_file_location("serve", COOKBOOK / "serve.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.server(0, pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prepare(name: str, kind: str, folder: Path, port: int, pages: int) -> None:
    """Copies a program and its input file into a folder, and replaces the port of the sites."""
    text = (COOKBOOK / kind / f"{name}.py").read_text()
    (folder / f"{name}.py").write_text(
        text.replace(BASE, f"http://127.0.0.1:{port}").replace("8000", str(port))
    )
    rows = "".join(f"http://127.0.0.1:{port}/feed/{n},shelf {n % 3}\n" for n in range(pages * 10))
    (folder / "urls.csv").write_text(f"url,shelf\n{rows}")


def scrapy_command(name: str) -> list[str]:
    """Returns the command that runs a spider."""
    command = [sys.executable, "-m", "scrapy", "runspider", f"{name}.py", "-O", "items.jsonl"]
    command += ["-s", "LOG_LEVEL=ERROR", "-s", "DOWNLOAD_DELAY=0"]
    return [*command, "-a", CATEGORIES] if name == "arguments" else command


def gossamer_command(name: str, port: int) -> list[str]:
    """Returns the command that crawls with a site file."""
    command = [sys.executable, "-m", "gossamer", "crawl", f"{name}.py", "-o", "items.jsonl", "--quiet"]
    command += ["--delay", "0", "--per-host", "8", "--depth", "1000"]
    if name == "sitemap":
        command.insert(5, f"sitemap:http://127.0.0.1:{port}/sitemap/sitemap.xml")
    return [*command, "-a", CATEGORIES] if name == "arguments" else command


def run(name: str, kind: str, port: int, pages: int) -> Run:
    """Runs one program in a temporary folder. Raises SystemExit if the program fails."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(name, kind, folder, port, pages)
        command = scrapy_command(name) if kind == "spiders" else gossamer_command(name, port)
        out = folder / "measured.json"
        environment = {**os.environ, "PASSWORD": "secret", "PYTHONPATH": str(ROOT / "src")}
        measured = [sys.executable, str(ROOT / "benchmarks" / "measured.py"), str(out), *command]
        done = subprocess.run(measured, cwd=folder, env=environment, capture_output=True, text=True)
        cpu, wall, _, code = json.loads(out.read_text())
        if code or done.returncode:
            sys.exit(f"{kind}/{name}.py ended with {code}:\n{done.stdout}{done.stderr}")
        return Run(items(folder, port), cpu, wall)


def items(folder: Path, port: int) -> Counter[str]:
    """Returns the items that a program wrote, each as JSON, and the number of different stored files."""
    found = Counter[str]()
    for line in (folder / "items.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("_kind") not in FILES:
            found[json.dumps(plain(row, port), sort_keys=True)] += 1
    if (folder / "shop.sqlite").exists():
        found["shop.sqlite"] = products(folder / "shop.sqlite")
    stored = [*folder.glob("files/**/*"), *folder.glob(".gossamer/*/files/**/*")]
    found["files"] = len({one.read_bytes() for one in stored if one.is_file()})
    return found


def plain(row: dict[str, Any], port: int) -> dict[str, Any]:
    """Returns an item without the fields that each program adds."""
    cover = row.pop("cover", None) or next(iter(row.pop("file_urls", ())), None)
    fields = {name: value for name, value in row.items() if not name.startswith("_") and name != "files"}
    return fields | ({"cover": cover.partition(str(port))[2]} if cover else {})


def products(path: Path) -> int:
    """Returns the number of products in the database."""
    import sqlite3

    with sqlite3.connect(path) as base:
        (count,) = base.execute("SELECT count(*) FROM product").fetchone()
    base.close()
    return int(count)


def lines_of_code(name: str, kind: str) -> int:
    """Returns the number of lines of a program that are not blank."""
    return sum(1 for line in (COOKBOOK / kind / f"{name}.py").read_text().splitlines() if line.strip())


def main() -> None:
    """Prints a line for each program, and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    import scrapy

    lines = [
        f"Scrapy {scrapy.__version__}, Python {sys.version.split()[0]}, {given.pages} pages of each listing",
        "",
    ]
    lines.append(f"{'spider':<12}{'items':>7}{'equal':>7}{'lines':>12}{'CPU s':>26}{'ratio':>8}")
    sums: list[float] = [0, 0, 0, 0]
    for name in given.only.split(","):
        with served(2) as port:
            starts = [run(name, kind, port, 2).cpu for kind in ("spiders", "sites")]
        with served(given.pages) as port:
            theirs, ours = (run(name, kind, port, given.pages) for kind in ("spiders", "sites"))
        code = [lines_of_code(name, kind) for kind in ("spiders", "sites")]
        equal = "yes" if theirs.items == ours.items else "NO"
        cpu = f"{theirs.cpu:.2f} ({starts[0]:.2f}) / {ours.cpu:.2f} ({starts[1]:.2f})"
        count = sum(ours.items.values()) - ours.items["files"] - ours.items["shop.sqlite"]
        lines.append(
            f"{name:<12}{count:>7}{equal:>7}{f'{code[0]} / {code[1]}':>12}{cpu:>26}{ours.cpu / theirs.cpu:>8.2f}"
        )
        print(lines[-1], flush=True)
        sums = [was + one for was, one in zip(sums, (*code, theirs.cpu, ours.cpu), strict=True)]
    total = f"{sums[2]:.2f} / {sums[3]:.2f}"
    lines.append(
        f"{'all':<12}{'':>14}{f'{sums[0]:.0f} / {sums[1]:.0f}':>12}{total:>26}{sums[3] / sums[2]:>8.2f}"
    )
    print("\n".join(["", *lines]))
    if given.out:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
