"""Compares the CPU time of crawlers on the same local webs, as ratios.

    python benchmarks/cost.py [--quick] [--rounds N] [--web WEB,...] [--only CONTENDER,...]
        [--against REVISION] [--output FILE]

Each contender crawls one host, which tests/web serves with gzip in a separate process that is not counted. A
contender sends 64 requests at once without a delay, does not request robots.txt, follows the links within the
host and writes one JSON row per page:

- `bare`: gossamer's HTTP client and parser with a list of all URLs, as the floor.
- `colly`, `scrapy`: the peers in `peers/`, with everything in memory. The benchmark builds Colly and installs
  Scrapy in the user's cache.
- `against`, `gossamer`: gossamer at a git revision, and of the working tree. Both have an embedded store.

The figure is the CPU time (user and system) of all processes of a contender from start to end, including the
store, per 1,000 requests that the web answered. The speed of a shared machine varies, so compare the ratios. In
each round the contenders run one after the other, and the tables show medians of the rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from cost_webs import CACHE, WEBS, Site, checked
from measured import COMPILED, measure
from real_pages import Missing

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
PEERS = ROOT / "benchmarks" / "peers"
CRAWL = (
    *(sys.executable, "-m", "gossamer", "crawl", "{url}", "--quiet"),
    *("--data", "{folder}/data", "-o", "{out}"),
    *("--ignore-robots", "--delay", "0", "--concurrency", "64", "--allow-private", "127.0.0.0/8"),
    *("--per-host", "400"),  # more than 64, because this limit also counts fetched pages until their commit
)
WHO = ("bare", "colly", "scrapy", "against", "gossamer")
QUICK_PAGES = 100
TOLERANCE = 0.01
"""The share of the pages by which a contender may miss the web's pages without a remark."""


class Failed(Exception):
    """A contender failed. The text contains the end of its log."""


class Contender(NamedTuple):
    """A crawler. Its command contains the placeholders {url}, {urls}, {out} and {folder}."""

    title: str
    command: tuple[str, ...]
    source: Path | None = None
    """The folder that contains the package gossamer."""


BARE = Contender("bare loop", (sys.executable, str(PEERS / "bare_loop.py"), "{urls}", "{out}"), ROOT / "src")


class Run(NamedTuple):
    """One crawl. `each` is in CPU seconds per 1,000 requests, `wall` in seconds, `rss` in MiB."""

    each: float
    requests: int
    pages: int
    """The number of the web's pages that were fetched, each counted once."""
    rows: int
    robots: int
    """The number of requests for robots.txt."""
    wall: float
    rss: float


Runs = dict[str, list[Run]]
"""The runs of each contender on one web, by round."""
Say = Callable[[str], None]


def scrapy() -> Contender:
    """Installs Scrapy into an environment of its own if it is missing."""
    python, ready = str(CACHE / "scrapy" / "bin" / "python"), CACHE / "scrapy" / "ready"
    if not ready.exists():
        checked(sys.executable, "-m", "venv", "--clear", str(CACHE / "scrapy"))
        checked(python, "-m", "pip", "install", "--quiet", "scrapy")
        ready.touch()
    version = checked(python, "-c", "import scrapy; print(scrapy.__version__)")
    return Contender(f"Scrapy {version}", (python, str(PEERS / "scrapy_peer.py"), "{url}", "{out}"))


def colly() -> Contender:
    """Builds Colly's program if it is missing or older than its source."""
    binary, source = CACHE / "colly_peer", PEERS / "colly"
    if not binary.exists() or binary.stat().st_mtime < (source / "main.go").stat().st_mtime:
        shutil.copytree(source, CACHE / "colly", dirs_exist_ok=True)
        checked("go", "mod", "tidy", cwd=CACHE / "colly")
        checked("go", "build", "-o", str(binary), ".", cwd=CACHE / "colly")
    version = (source / "go.mod").read_text().split("colly/v2 ")[1].split()[0]
    return Contender(f"Colly {version}", (str(binary), "{url}", "{out}"))


def against(revision: str, scratch: Path) -> Contender:
    """Unpacks the sources of a revision."""
    name = checked("git", "rev-parse", "--short", f"{revision}^{{commit}}", cwd=ROOT)
    checked("git", "archive", "-o", f"{scratch}/against.tar", name, "src", cwd=ROOT)
    shutil.unpack_archive(scratch / "against.tar", scratch / "against")
    return Contender(f"gossamer {name}", CRAWL, scratch / "against" / "src")


def working_tree() -> Contender:
    """Names the working tree by its last commit."""
    try:
        name = checked("git", "describe", "--always", "--dirty= with changes", "--exclude=*", cwd=ROOT)
    except Missing:
        name = "revision unknown"
    return Contender(f"gossamer, working tree ({name})", CRAWL, ROOT / "src")


def made(options: argparse.Namespace, scratch: Path, say: Say) -> dict[str, Contender]:
    """Returns the selected contenders, except those that cannot be installed, which are reported."""
    makers: dict[str, Callable[[], Contender]] = {
        "bare": lambda: BARE,
        "colly": colly,
        "scrapy": scrapy,
        "against": lambda: against(options.against, scratch),
        "gossamer": working_tree,
    }
    contenders = {}
    for who in (who for who in WHO if who in options.only):
        try:
            contenders[who] = makers[who]()
        except Missing as error:
            say(f"{who} is not available, so there are no ratios for it: {error}\n")
    for source in {one.source for one in contenders.values() if one.source}:
        checked(sys.executable, "-m", "compileall", "-q", str(source))  # so that no crawl compiles modules
    return contenders


def crawl(contender: Contender, web: Any, site: Site, scratch: Path) -> Run:
    """Runs one contender in an empty folder. Raises Failed if it fails."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        out, urls, log = (Path(name) / file for file in ("out.jsonl", "urls.txt", "cost.log"))
        urls.write_text("\n".join(web.url(0, quote(path)) for path in site.paths))
        places = {"url": web.url(0, "/"), "urls": urls, "out": out, "folder": name}
        command = [word.format(**places) for word in contender.command]
        environment = {**COMPILED, "PYTHONPATH": str(contender.source or "")}
        web.reset()
        cost = measure(command, Path(name) / "cost.json", environment)
        rows = out.read_bytes().count(b"\n") if out.exists() else 0
        if cost.code or not rows:
            end = log.read_text(errors="replace")[-1500:]
            raise Failed(
                f"{contender.title}: exit code {cost.code}, {rows} rows, no figure. Its log ends:\n{end}"
            )
        hits = [hit for hit in web.log() if hit.status]
    pages = {unquote(hit.path) for hit in hits if hit.status == 200} & set(site.paths)
    robots = sum(hit.path == "/robots.txt" for hit in hits)
    return Run(cost.cpu * 1000 / len(hits), len(hits), len(pages), rows, robots, cost.wall, cost.rss)


def compare(name: str, contenders: dict[str, Contender], options: argparse.Namespace, say: Say) -> Runs:
    """Crawls one web with all contenders and reports a table. A contender that fails once has no runs."""
    from web import serve

    pages, make = WEBS[name]
    runs: Runs = {who: [] for who in contenders}
    remarks: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        try:
            site = make(QUICK_PAGES if options.quick else pages, scratch)
        except Missing as error:
            say(f"## {name}\n\nNot measured, because this machine lacks {error}\n")
            return runs
        with serve(site.plan) as web:
            crawl(BARE, web, site, scratch)  # not measured: afterwards the web has all its answers in memory
            load = os.getloadavg()[0]
            for _ in range(options.rounds):
                for who in list(runs):
                    print(f"{name}: {contenders[who].title}", file=sys.stderr)
                    try:
                        runs[who].append(crawl(contenders[who], web, site, scratch))
                    except Failed as error:
                        remarks.append(str(error))
                        del runs[who]
    say(
        f"## {name}\n\n{site.description}. Load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end.\n"
    )
    say(
        "| contender | CPU s per 1,000 requests | to the working tree | to the floor | requests | pages | rows | wall s | largest process |"
    )
    say("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for who, mine in runs.items():
        middle = Run(*(statistics.median(column) for column in zip(*mine, strict=True)))
        ratios = f"{ratio(runs, who, 'gossamer')} | {ratio(runs, who, 'bare')}"
        say(
            f"| {contenders[who].title} | {middle.each:.3f} | {ratios} | {middle.requests:.0f} | {middle.pages:.0f} "
            f"| {middle.rows:.0f} | {middle.wall:.1f} | {middle.rss:.0f} MiB |"
        )
        remarks += [
            f"{contenders[who].title}: the number of {what} is not that of the web's pages."
            for what in ("requests", "pages", "rows")
            if any(abs(getattr(run, what) - len(site.paths)) > len(site.paths) * TOLERANCE for run in mine)
        ]
        if middle.robots:
            remarks.append(f"{contenders[who].title} requested robots.txt.")
    say("".join(f"\n{remark}\n" for remark in remarks))
    return runs


def ratio(runs: Runs, one: str, other: str) -> str:
    """Returns the median of the ratios of two contenders in the same round, or a dash."""
    pairs = list(zip(runs.get(one, ()), runs.get(other, ()), strict=False))
    return f"{statistics.median(a.each / b.each for a, b in pairs):.2f}" if pairs else "-"


def summary(found: dict[str, Runs], contenders: dict[str, Contender], say: Say) -> None:
    """Reports the ratios of all contenders to the working tree."""
    say("## Ratios to the working tree\n\n| contender | " + " | ".join(found) + " |")
    say("| --- |" + " ---: |" * len(found))
    for who, contender in contenders.items():
        say(
            f"| {contender.title} | "
            + " | ".join(ratio(runs, who, "gossamer") for runs in found.values())
            + " |"
        )
    say("")


def main() -> int:
    """Measures, and returns 1 if a contender failed."""
    words = partial(str.split, sep=",")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--web", type=words, default=list(WEBS), help=f"of {','.join(WEBS)} (default: all)")
    parser.add_argument("--only", type=words, default=list(WHO), help=f"of {','.join(WHO)} (default: all)")
    parser.add_argument("--against", default="7ddee0c", help="a git revision (default 7ddee0c)")
    parser.add_argument("--quick", action="store_true", help=f"webs of {QUICK_PAGES} pages")
    parser.add_argument("--output", type=Path, help="a file to which the text is appended, too")
    options = parser.parse_args()
    for given, known in ((options.web, WEBS), (options.only, WHO)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")

    def say(text: str) -> None:
        print(text, flush=True)
        if options.output:
            with options.output.open("a") as file:
                file.write(text + "\n")

    with tempfile.TemporaryDirectory() as folder:
        say(
            f"# {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {platform.machine()}, {os.cpu_count()} cores, "
            f"CPython {platform.python_version()}, rounds: {options.rounds}{', quick' * options.quick}\n"
        )
        contenders = made(options, Path(folder), say)
        found = {name: compare(name, contenders, options, say) for name in options.web}
    summary(found, contenders, say)
    return int(any(who not in runs for runs in found.values() for who in contenders))


if __name__ == "__main__":
    sys.exit(main())
