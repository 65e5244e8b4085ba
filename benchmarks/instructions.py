"""Guards the instructions of a start and of a page of three kinds of real pages, counted with valgrind (Linux).

    python benchmarks/instructions.py                    compares the working tree with the best figures
    python benchmarks/instructions.py --against REV      compares with that revision, and changes no file
        [--here OPTIONS]                                 more options of the working tree's crawls, in one text
        [-- CRAWL OPTIONS]                               more options of all crawls

The exit code is 1 if a figure is more than 1.03 of its bound. ./test runs the first form, before the tests.

A start is a crawl of a web of one page. The cost of a page is (crawl of N pages - start) / N. `real_pages.py`
makes the webs. The instructions are those of all processes of the command, including the embedded store.
A busy machine adds instructions: a crawl lasts longer, so its timers fire more often. So nothing should run beside it.

`best_instructions.json` contains the best figure of each kind, the git tree of `src` that it was measured with, and
the versions of everything else that the figures depend on, including the pages. With the same versions, the bounds
are these figures. With other versions, the recorded trees are measured first, and their figures are the bounds
on this machine (kept in .sites/). A figure that is more than 1 % better replaces the best one.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import real_pages
from real_pages import SITES, Missing

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
BEST = ROOT / "benchmarks" / "best_instructions.json"
KNOWN = SITES / "instructions.json"
"""Figures of recorded trees that were measured on this machine, keyed by versions and tree."""
PAGES = {"start": 1, "documentation": 60, "shop": 60, "small": 500}
WORSE, BETTER = 1.03, 0.99
CLEAR = 1.1
"""A ratio above this one is not measured again, because no variation between runs explains it."""
CRAWL = ("--delay", "0", "--per-host", "64", "--concurrency", "64", "--allow-private", "127.0.0.0/8")
_COUNTED = re.compile(r"I +refs: +([\d,]+)")
Figures = dict[str, float]


# Measuring


def count(source: Path, url: str, folder: Path, options: Sequence[str], tool: bool = True) -> int:
    """Returns the instructions of one crawl with the package in `source`. The rows are in `folder`/out.jsonl.

    Without `tool`, the crawl runs without valgrind and the result is 0. Raises RuntimeError if the crawl fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    valgrind = [
        *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
        *("--cachegrind-out-file=/dev/null", f"--log-file={folder}/valgrind.%p"),
    ]
    crawl = [sys.executable, "-m", "gossamer", "crawl", url, "--quiet", "--data", f"{folder}/data"]
    crawl += ["-o", f"{folder}/out.jsonl", *CRAWL, *options]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [*valgrind * tool, *crawl], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr[-2000:]}")
    patience = time.monotonic() + 10.0  # the store's server may end later than the command
    while True:
        logs = [log.read_text(errors="replace") for log in folder.glob("valgrind.*")]
        if all(map(_COUNTED.search, logs)) or time.monotonic() > patience:
            break
        time.sleep(0.05)
    return sum(int(found[1].replace(",", "")) for log in logs if (found := _COUNTED.search(log)))


class Webs:
    """The served webs of all kinds, below a scratch folder. Raises Missing if the machine lacks a source."""

    def __init__(self, folder: Path) -> None:
        if sys.platform != "linux" or not shutil.which("valgrind"):
            raise Missing("valgrind")
        self.folder = folder
        docs, manual = SITES / "python3-doc" / "html", SITES / "postgresql-doc" / "html"
        self.webs = {kind: folder / kind for kind in PAGES}
        real_pages.small(self.webs["start"], [manual], PAGES["start"])
        real_pages.documentation(self.webs["documentation"], [docs], PAGES["documentation"], 20_000, 100_000)
        real_pages.shop(self.webs["shop"], PAGES["shop"])
        real_pages.small(self.webs["small"], [manual], PAGES["small"])

    def runs(self, source: Path, kinds: list[str], options: Sequence[str]) -> dict[str, int]:
        """Returns the instructions of one crawl of each kind of web with the package in `source`."""
        with ThreadPoolExecutor(2) as pool:
            return dict(
                zip(kinds, pool.map(lambda kind: self.run(source, kind, options), kinds), strict=True)
            )

    def run(self, source: Path, kind: str, options: Sequence[str], tool: bool = True) -> int:
        from web import Plan, serve

        out = Path(tempfile.mkdtemp(dir=self.folder))
        with serve(Plan(folder=str(self.webs[kind].resolve()), robots=("allow",))) as web:
            counted = count(source, web.url(0, "/"), out / "run", options, tool)
        with (out / "run" / "out.jsonl").open() as rows:
            found = sum('"status":200' in row for row in rows)
        if found != PAGES[kind]:
            raise RuntimeError(f"{kind}: the crawl found {found} pages instead of {PAGES[kind]}")
        shutil.rmtree(out)
        if tool:
            print(f"{kind}: {counted:,}", file=sys.stderr)
        return counted


def cost(runs: Mapping[str, int]) -> Figures:
    """Returns the instructions of a start, and of a page of the other kinds.

    >>> cost({"start": 1_000, "small": 6_000})
    {'start': 1000.0, 'small': 10.0}
    """
    start = runs["start"]
    return {
        kind: (total - start) / PAGES[kind] if kind != "start" else float(total)
        for kind, total in runs.items()
    }


def measure(
    webs: Webs, source: Path, bounds: Mapping[str, float] | None = None, options: Sequence[str] = ()
) -> Figures:
    """Returns the figures of a package. Measures again what is neither clear nor within the bounds.

    A figure above its bound is the lowest of three. A figure that is better than its bound is the higher of two,
    so that the best figures do not become those of the luckiest runs.
    """
    webs.run(source, "documentation", options, tool=False)  # compiles the modules
    runs = webs.runs(source, list(PAGES), options)
    if bounds is None:
        return cost(runs)
    for _ in range(2):
        ratios = compare(cost(runs), bounds)
        if not (unclear := [kind for kind, ratio in ratios.items() if WORSE < ratio <= CLEAR]):
            break
        again = webs.runs(source, unclear, options)
        runs |= {kind: min(again[kind], runs[kind]) for kind in unclear}
    better = [kind for kind, ratio in compare(cost(runs), bounds).items() if ratio < BETTER]
    again = webs.runs(source, better, options)
    return cost(runs | {kind: max(again[kind], runs[kind]) for kind in better})


def archived(revision: str, folder: Path) -> Path:
    """Unpacks the files of a git tree, and returns the folder. Raises LookupError if the clone lacks the tree."""
    done = subprocess.run(["git", "archive", revision], cwd=ROOT, check=False, capture_output=True)
    if done.returncode:
        raise LookupError(
            f"this clone lacks {revision}, whose instructions are to be measured on this machine: "
            "`git fetch --unshallow`, or `git fetch --all --tags`, then run this again"
        )
    folder.mkdir()
    subprocess.run(["tar", "x", "-C", str(folder)], input=done.stdout, check=True)
    return folder


def versions(webs: Webs) -> dict[str, str]:
    """Returns everything besides `src` that the figures depend on."""
    import pycurl

    def output(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    found = {
        "python": sys.version.replace("\n", ""),
        "libc": " ".join(platform.libc_ver()),
        "valgrind": output("valgrind", "--version"),
        "cpu": cpu[1] if cpu else platform.machine(),
        "curl": pycurl.version,
        "crawl": " ".join(CRAWL),
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for dependency in project["dependencies"]:
        name = re.match(r"[\w.-]+", dependency)
        assert name
        found[name[0]] = importlib.metadata.version(name[0])
    return found | {f"pages: {kind}": real_pages.digest(web) for kind, web in webs.webs.items()}


# Judging


def compare(figures: Mapping[str, float], bounds: Mapping[str, float]) -> Figures:
    """Returns the ratios of the figures to their bounds. Without a bound, the ratio is 0.

    >>> compare({"start": 90.0, "shop": 7.0}, {"start": 100.0})
    {'start': 0.9, 'shop': 0.0}
    """
    return {kind: figure / bounds[kind] if kind in bounds else 0.0 for kind, figure in figures.items()}


def too_dear(figures: Mapping[str, float], bounds: Mapping[str, float]) -> list[str]:
    """Returns a sentence for each figure that exceeds its bound."""
    return [
        f"{kind}: {figures[kind]:,.0f} instructions{'' if kind == 'start' else ' a page'}, "
        f"the best is {bounds[kind]:,.0f}, ratio {ratio:.3f} (at most {WORSE})"
        for kind, ratio in compare(figures, bounds).items()
        if ratio > WORSE
    ]


def bounds_of(
    record: Mapping[str, Any], now: Mapping[str, str], remeasured: Callable[[str], Mapping[str, float]]
) -> Figures:
    """Returns the best figures for the versions of this machine. `remeasured` measures a git tree of `src`.

    A recorded figure is the bound, even if it was measured with other versions, where the clone lacks its tree.
    """

    def bound(kind: str, one: Mapping[str, Any]) -> float:
        if record["versions"] != now:
            try:
                return remeasured(one["tree"])[kind]
            except LookupError as lacking:
                print(f"{kind}: compared with the figure of other versions: {lacking}", file=sys.stderr)
        return float(one["instructions"])

    return {kind: bound(kind, one) for kind, one in record["best"].items()}


def improved(
    record: Mapping[str, Any], now: Mapping[str, str], bounds: Mapping[str, float], figures: Mapping[str, float],
    made: Mapping[str, str],
) -> dict[str, Any] | None:  # fmt: skip
    """Returns the record with the better figures, which `made` describes, or None if no figure is better.

    All figures of a record belong to the same versions.
    """
    better = [kind for kind, ratio in compare(figures, bounds).items() if ratio < BETTER]
    if not better:
        return None
    best = {kind: {**one, "instructions": round(bounds[kind])} for kind, one in record["best"].items()}
    best |= {kind: {"instructions": round(figures[kind]), **made} for kind in better}
    return {"versions": dict(now), "best": best}


# The two forms of the command


def guard(folder: Path) -> str:
    """Compares the working tree with the best figures. Returns the report.

    Raises AssertionError with the report if a figure exceeds its bound, and Missing if the machine lacks something.
    """
    webs = Webs(folder)
    now = versions(webs)
    record = json.loads(BEST.read_text()) if BEST.exists() else {"versions": {}, "best": {}}

    def remeasured(tree: str) -> Mapping[str, float]:
        key = hashlib.sha256(json.dumps([now, tree], sort_keys=True).encode()).hexdigest()
        known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
        if key not in known:
            known[key] = measure(webs, archived(tree, folder / tree))
            KNOWN.write_text(json.dumps(known))
        figures: Figures = known[key]
        return figures

    bounds = bounds_of(record, now, remeasured)
    figures = measure(webs, ROOT / "src", bounds)
    report = table(figures, bounds, "best")
    if faults := too_dear(figures, bounds):
        advice = (
            "Profile the crawl (CONTRIBUTING.md) of this commit and of the best one (`tree` in "
            f"{BEST.relative_to(ROOT)}), or compare commits: python benchmarks/instructions.py --against COMMIT"
        )
        raise AssertionError("\n".join((*faults, "", report, "", advice)))
    if (new := improved(record, now, bounds, figures, made_of())) and os.environ.get("CI") != "true":
        BEST.write_text(json.dumps(new, indent=1) + "\n")
        report += f"\n\nBetter than the best: commit {BEST.relative_to(ROOT)} together with src."
    return report


def made_of() -> dict[str, str]:
    """Returns the git tree of `src` as it is now, the last commit of `src`, and the date.

    A commit of these files contains the same tree, so a figure can be recorded before its commit.
    """

    def git(*words: str, **more: str) -> str:
        environment = {**os.environ, **more}
        return subprocess.check_output(["git", *words], cwd=ROOT, env=environment, text=True).strip()

    with tempfile.TemporaryDirectory() as name:
        index = f"{name}/index"
        git("read-tree", "HEAD", GIT_INDEX_FILE=index)
        git("add", "src", GIT_INDEX_FILE=index)
        tree = git("write-tree", "--prefix=src/", GIT_INDEX_FILE=index)
    commit = git("log", "-1", "--format=%h", "--", "src")
    changes = "" if git("rev-parse", f"{commit}:src") == tree else " and changes"
    return {"tree": tree, "commit": commit + changes, "date": time.strftime("%Y-%m-%d", time.gmtime())}


def against(folder: Path, options: argparse.Namespace) -> tuple[str, list[str]]:
    """Compares the working tree with a revision. Returns the report, and the figures that are too high."""
    webs = Webs(folder)
    old = archived(f"{options.against}:src", folder / "old")
    before = measure(webs, old, options=options.options)
    after = measure(webs, ROOT / "src", before, [*options.options, *shlex.split(options.here)])
    return table(after, before, options.against), too_dear(after, before)


def table(figures: Mapping[str, float], bounds: Mapping[str, float], title: str) -> str:
    """Returns the figures, the bounds and their ratios as a table."""
    lines = [f"| instructions | {title} | working tree | ratio |", "| --- | ---: | ---: | ---: |"]
    for kind, ratio in compare(figures, bounds).items():
        name = "a start with one page" if kind == "start" else f"a page: {kind}"
        lines.append(f"| {name} | {bounds.get(kind, 0):,.0f} | {figures[kind]:,.0f} | {ratio:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the date and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", help="a git revision to compare with, instead of the best figures")
    parser.add_argument("--here", default="", help="more options of the working tree's crawls, in one text")
    parser.add_argument("options", nargs="*", help="more options of crawl, after --")
    options = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        try:
            if options.against:
                report, faults = against(Path(name), options)
            else:
                report = guard(Path(name))
        except (AssertionError, Missing, LookupError, RuntimeError) as trouble:
            sys.exit(f"missing: {trouble}" if isinstance(trouble, Missing) else str(trouble))
    print("\n".join((time.strftime("%Y-%m-%d %H:%M UTC\n", time.gmtime()), report)))
    if faults:
        sys.exit("\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
