"""Measures automatic concurrency and fixed numbers of requests at once on many slow hosts with a delay.

    python benchmarks/concurrency.py [--hosts 500] [--pages 11] [--delay 0.2] [--wait 0.05] [--longest 2]
        [--fixed 64,256,600] [--rounds 1] [--against FOLDER]

Each host has a fixed response time between `--wait` and `--longest`. The times are spread evenly on a
logarithmic scale. The ideal is the time that politeness and latency allow for the slowest host: its number of
requests times the delay or the response time, whichever is longer. The table shows the seconds from the first
to the last request at the server, their ratio to the ideal, the CPU time per page of all processes (including
the store), and the maximum number of requests in flight. The floor is a bare loop, which has the same client
and parser and one task per host, keeps the delay itself, and has no frontier. `--against` is the `src` folder
of another revision, which runs with its default settings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from answers import Hit, Plan, Web, serving
from measured import COMPILED, Cost, measure

BARE = Path(__file__).parent / "peers" / "bare_hosts.py"


def crawl(folder: Path, web: Web, *options: str) -> Cost:
    """Crawls all hosts."""
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"{web.url(host)}\n" for host in range(web.plan.hosts)))
    command = [sys.executable, "-m", "gossamer", "crawl", str(seeds), "--quiet"]
    command += ["--allow-private", "127.0.0.0/8", "--data", str(folder / "data")]
    return measure([*command, "-o", str(folder / "out.jsonl"), *options], folder / "cost.json")


def bare(folder: Path, web: Web, delay: float) -> Cost:
    """Fetches the same URLs without a frontier."""
    seeds = folder / "seeds.txt"
    paths = ["/robots.txt", "/", *(f"/p/{n}" for n in range(web.plan.pages))]
    seeds.write_text("".join(f"{web.url(h, path)}\n" for h in range(web.plan.hosts) for path in paths))
    return measure(
        [sys.executable, str(BARE), str(seeds), str(folder / "out.jsonl"), str(delay)], folder / "cost.json"
    )


def in_flight(hits: list[Hit]) -> int:
    """Returns the maximum number of requests in flight."""
    most = now = 0
    for _, step in sorted([(hit.start, 1) for hit in hits] + [(hit.end, -1) for hit in hits]):
        now += step
        most = max(most, now)
    return most


def shortest_gap(hits: list[Hit]) -> float:
    """Returns the shortest time between the starts of two requests to one host."""
    last: dict[str, float] = {}
    found = float("inf")
    for hit in hits:
        found = min(found, hit.start - last.get(hit.host, float("-inf")))
        last[hit.host] = hit.start
    return found


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--pages", type=int, default=11)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--wait", type=float, default=0.05)
    parser.add_argument("--longest", type=float, default=2.0)
    parser.add_argument("--fixed", default="64,256,600")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against")
    options = parser.parse_args()
    plan = Plan(options.pages, options.wait, options.longest, options.hosts)
    ideal = (options.pages + 2) * max(options.delay, options.longest)
    ways: dict[str, list[str] | None] = {"bare loop": None, "gossamer, auto": []}
    ways |= {f"gossamer, {n}": ["--concurrency", n] for n in options.fixed.split(",") if n}
    if options.against:
        ways["gossamer of --against"] = []
    found: dict[str, list[tuple[float, float, int, float, int]]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, words in ways.items():
            COMPILED.pop("PYTHONPATH", None)
            if way.endswith("--against"):
                COMPILED["PYTHONPATH"] = options.against
            with serving(plan) as web, tempfile.TemporaryDirectory() as name:
                cost = (
                    bare(Path(name), web, options.delay)
                    if words is None
                    else crawl(Path(name), web, "--delay", str(options.delay), *words)
                )
                pages, hits = len(web.stop()), web.hits
                wall = hits[-1].end - hits[0].start
                found[way].append((wall, cost.cpu / pages * 1e3, in_flight(hits), shortest_gap(hits), pages))
                if cost.code:
                    print(f"exit {cost.code}: {(Path(name) / 'cost.log').read_text()[-1000:]}")
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}; "
        f"{options.hosts} hosts x {options.pages + 1} pages and robots.txt, answers in {options.wait:g} to "
        f"{options.longest:g} s, delay {options.delay:g} s; ideal {ideal:.1f} s; {options.rounds} rounds, medians\n"
    )
    print("| way | wall s | to the ideal | CPU ms a page | most at once | shortest gap ms | pages |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way, runs in found.items():
        wall, cpu, most, gap, pages = (statistics.median(column) for column in zip(*runs, strict=True))
        print(
            f"| {way} | {wall:.1f} | {wall / ideal:.2f} | {cpu:.2f} | {most:.0f} | {gap * 1e3:.0f} | {pages:.0f} |"
        )


if __name__ == "__main__":
    main()
