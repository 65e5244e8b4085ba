"""Compares the CPU time per page with peers on the same local web in the same minutes.

    python benchmarks/speed.py [--rounds 3] [--copies 4] [--web docs|python|postgresql|synthetic]
        [--only bare,gossamer,two,scrapy,colly] [--quick]

The web consists of some copies of Python's or PostgreSQL's documentation or of both (Debian's packages, which
./test unpacks into .sites/). The web is one host with gzip. tests/web serves this host in a separate process
that is not counted. With `synthetic`, the web is that of `real2k` with `--copies` times 2,000 pages. Each
crawler sends 64 requests at once without a delay, obeys robots.txt, and writes one JSON line per page. The
bare loop is the same client and parser with a given list of URLs. The CPU time (user and system) is that of
all processes of a crawler from start to end, including the store. The table shows medians of interleaved
rounds. The speed of a shared machine varies, so compare the ratios. Scrapy is installed and Colly is built in
the user's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from measured import Cost, measure

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
PEERS = ROOT / "benchmarks" / "peers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gossamer-benchmarks"
NAMES = {
    "bare": "bare loop",
    "gossamer": "gossamer",
    "two": "gossamer, 2 processes",
    "scrapy": "Scrapy",
    "colly": "Colly",
}

WEBS = {
    "docs": ("python3-doc", "postgresql-doc"),
    "python": ("python3-doc",),
    "postgresql": ("postgresql-doc",),
}


class Run(NamedTuple):
    """One round of one crawler."""

    cost: Cost
    rows: int
    pages: int
    """The number of distinct URLs among the rows."""

    @property
    def each(self) -> float:
        """Returns the CPU seconds per 1,000 distinct pages."""
        return self.cost.cpu / max(self.pages, 1) * 1000


def corpus(folder: Path, copies: int, packages: Iterable[str]) -> Path:
    """Copies some documentation several times below one start page.

    The copies give the start of a crawl the same weight as in a larger crawl.
    """
    links = []
    for package in packages:
        source = ROOT / ".sites" / package / "html"
        if not source.exists():
            sys.exit(f"{source} is missing: ./test unpacks it")
        for copy in range(copies):
            shutil.copytree(source, folder / f"{package}-{copy}", ignore_dangling_symlinks=True)
            links.append(f'<a href="{package}-{copy}/index.html">{package}</a>')
    (folder / "index.html").write_text(" ".join(links))
    return folder


def scrapy() -> list[str]:
    """Returns the command of Scrapy. Installs Scrapy if it is missing."""
    python = CACHE / "scrapy" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / "scrapy")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "scrapy"], check=True)
    return [str(python), str(PEERS / "scrapy_peer.py")]


def colly() -> list[str]:
    """Returns the command of Colly. Builds the command if it is missing or older than its source."""
    binary, source = CACHE / "colly_peer", PEERS / "colly" / "main.go"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        shutil.copytree(PEERS / "colly", CACHE / "colly", dirs_exist_ok=True)
        subprocess.run(["go", "mod", "tidy"], cwd=CACHE / "colly", check=True, capture_output=True)
        subprocess.run(["go", "build", "-o", str(binary), "."], cwd=CACHE / "colly", check=True)
    return [str(binary)]


def commands(url: str, urls: Path, out: Path, only: list[str]) -> dict[str, list[str]]:
    """Returns the commands of the selected crawlers."""
    python = sys.executable
    crawl = [
        python,
        "-m",
        "gossamer",
        "crawl",
        url,
        "--data",
        str(out.parent / "data"),
        "-o",
        str(out),
        "--quiet",
    ]
    crawl += ["--delay", "0", "--per-host", "400", "--concurrency", "64", "--allow-private", "127.0.0.0/8"]
    made: dict[str, Callable[[], list[str]]] = {
        "bare": lambda: [python, str(PEERS / "bare_loop.py"), str(urls), str(out)],
        "gossamer": lambda: crawl,
        "two": lambda: [*crawl, "--processes", "2"],
        "scrapy": lambda: [*scrapy(), url, str(out)],
        "colly": lambda: [*colly(), url, str(out)],
    }
    return {who: make() for who, make in made.items() if who in only}


def run(command: list[str], out: Path) -> Run:
    """Runs one crawler with empty folders."""
    shutil.rmtree(out.parent / "data", ignore_errors=True)
    out.unlink(missing_ok=True)
    cost = measure(command, out.parent / "cost.json")
    rows = [json.loads(line) for line in out.open("rb")] if out.exists() else []
    if cost.code or not rows:
        print(
            f"exit {cost.code}, {len(rows)} rows: {' '.join(command)}\n{(out.parent / 'cost.log').read_text()[-2000:]}"
        )
    return Run(cost, len(rows), len({row["url"] for row in rows}))


def web_of(options: argparse.Namespace, folder: Path) -> tuple[Any, list[str]]:
    """Returns the plan of the web, and the paths of its pages with the start page first."""
    from web import Plan, graph, preset

    if options.web == "synthetic":
        plan = preset("real2k", pages=2000 * options.copies, robots=("allow",))
        return plan, [graph.path(i) for i in range(plan.pages)]
    site = corpus(folder / "site", options.copies, WEBS[options.web])
    pages = (f"/{path.relative_to(site)}" for path in site.rglob("*.html") if path.is_file())
    return Plan(folder=str(site.resolve()), robots=("allow",)), [
        "/index.html",
        *sorted(set(pages) - {"/index.html"}),
    ]


def main() -> None:
    """Measures and prints a table."""
    from web import serve

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--web", choices=(*WEBS, "synthetic"), default="docs")
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="one round, one copy")
    options = parser.parse_args()
    if options.quick:
        options.rounds = options.copies = 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan, paths = web_of(options, folder)
        with serve(plan) as web:
            urls, out = folder / "urls.txt", folder / "out.jsonl"
            urls.write_text("\n".join(web.url(0, path) for path in paths))
            wanted = commands(web.url(0, paths[0]), urls, out, options.only.split(","))
            found: dict[str, list[Run]] = {who: [] for who in wanted}
            for _ in range(options.rounds):
                for who, command in wanted.items():
                    found[who].append(run(command, out))
    report(found, options, len(paths))


def report(found: dict[str, list[Run]], options: argparse.Namespace, files: int) -> None:
    """Prints a table of medians, with the medians of the ratios to gossamer within each round."""
    ours = found.get("gossamer", [])
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[1]:.1f}; web {options.web}, {files} pages in it; {options.rounds} rounds\n"
    )
    print(
        "| contender | CPU s per 1,000 pages | of the rounds | to gossamer | wall s | largest process | pages | rows |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for who, runs in found.items():
        each = [one.each for one in runs]
        ratio = (
            statistics.median(a.each / b.each for a, b in zip(runs, ours, strict=True))
            if ours
            else float("nan")
        )
        wall, rss = (statistics.median(getattr(one.cost, what) for one in runs) for what in ("wall", "rss"))
        spread = "-".join(dict.fromkeys((f"{min(each):.3f}", f"{max(each):.3f}")))
        pages = "-".join(
            dict.fromkeys((str(min(one.pages for one in runs)), str(max(one.pages for one in runs))))
        )
        rows = "-".join(
            dict.fromkeys((str(min(one.rows for one in runs)), str(max(one.rows for one in runs))))
        )
        print(
            f"| {NAMES[who]} | {statistics.median(each):.3f} | {spread} | {ratio:.2f} | {wall:.2f} | {rss:.0f} MiB | {pages} | {rows} |"
        )


if __name__ == "__main__":
    main()
