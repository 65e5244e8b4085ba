"""Checks that a crawl loses nothing if it is killed twenty times with `kill -9` and restarted each time.

    python benchmarks/kills.py [--kills 20] [--hosts 8] [--pages 250] [--processes 1 2] [--seed 1]

The kills come at random moments. Each kill hits the main process (the worker, with `--processes 1`), the
embedded store, a worker process, or all of them. The benchmark prints one line per number of processes. The
line lists missing pages and broken or duplicate rows (JSON lines and CSV). The number of pages that were
fetched again is compared with the number of claims that were open at the kills. The line also contains the
number of repeated requests for robots.txt, which may be one per host and kill. The exit code is 1 if anything
is wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.kill_crawl import refetched, under_fire, verdicts
from e2e.runs import job
from gossamer.app.job import JobOutput
from web import preset, serve


def crawl(processes: int, options: argparse.Namespace) -> bool:
    """Runs one crawl with all its kills. Returns whether it has no faults."""
    rng = random.Random(options.seed)
    kinds = ["door", "store", "all"] + (["child"] if processes > 1 else [])
    strikes = [kinds[k % len(kinds)] for k in range(options.kills)]
    rng.shuffle(strikes)
    plan = preset("tiny", hosts=options.hosts, pages=options.pages, latency=0.02, spread=0.1)
    with tempfile.TemporaryDirectory(prefix="gt-") as name, serve(plan) as web:
        folder = Path(name)
        one = job(web.plan.seeds(), folder, per_host=4, processes=processes)
        one.outputs = [JobOutput(str(folder / "out.jsonl")), JobOutput(str(folder / "out.csv"))]
        told = under_fire(web, one, strikes, rng, options.hosts * options.pages)
        wrong = verdicts(web, told, folder / "out.jsonl", folder / "out.csv")
        pages, robots = refetched(web)
    summary = json.loads(told.said)
    ended = (
        summary["pages"] + summary["redirected"] + summary["failed"] + summary["dead"] + summary["pending"]
    )
    if summary["found"] != ended + sum(summary["skipped"].values()):
        wrong.append(f"the summary does not add up: {told.said}")
    if summary["pages"] != options.hosts * options.pages:
        wrong.append(f"{summary['pages']} pages counted, {options.hosts * options.pages} are there")
    dealt = ", ".join(f"{told.kills.count(kind)} {kind}" for kind in kinds)
    print(
        f"{processes} processes, {summary['pages']} pages, {len(told.kills)} kills ({dealt}) in {told.seconds:.0f} s: "
        f"{pages} pages fetched again ({sum(told.open)} claims were out), {robots} robots.txt again; "
        + ("; ".join(wrong) or "nothing missing, broken or twice"),
        flush=True,
    )
    return not wrong


def main() -> None:
    """Runs the crawl with each number of processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--pages", type=int, default=250, help="of each host")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    right = [crawl(processes, options) for processes in options.processes]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
