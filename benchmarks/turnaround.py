"""Measures at the server how soon a host gets its next request after a response.

    python benchmarks/turnaround.py [--pages 1500] [--rounds 3] [--only rates,gaps,polite] [--against FOLDER]

There is one host on the loopback interface. The start page of this host links to all other pages, which have
2 KB and 10 known links each.

- `rates` measures pages per second from the first to the last page, with `--delay 0` and 1 or 4 requests at
  once, with immediate responses and with responses after 20 ms. The ideal is the number of requests at once
  divided by 20 ms. The floor is a bare loop with the same client and parser, the list of URLs and no
  frontier. The peer is Scrapy, if it is installed.
- `gaps` measures the shortest and the median time between the starts of two requests to the host, with a
  fixed delay and with the adaptive delay (at least 250 ms), for one process and for two (`--processes 2`).
- `polite` measures the CPU time per page of an ordinary crawl of 50 hosts with responses after 5 to 400 ms, a
  delay of 0.25 s and 64 visits at once. In this crawl, an early release of hosts has little benefit, and must
  not cost anything.

`--against` is the `src` folder of another revision. The table shows medians of interleaved rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import itertools

from answers import Hit, Plan, Web, serving
from measured import COMPILED, Cost, measure

PEERS = Path(__file__).parent / "peers"


def rate(hits: list[Hit]) -> float:
    """Returns the pages per second between the first and the last page."""
    return (len(hits) - 1) / (hits[-1].start - hits[0].start)


def crawl(folder: Path, web: Web, *options: str) -> Cost:
    """Crawls the web with gossamer."""
    command = [sys.executable, "-m", "gossamer", "crawl", web.url(), "--quiet"]
    command += ["--allow-private", "127.0.0.0/8", "--data", str(folder / "data")]
    return measure([*command, "-o", str(folder / "out.jsonl"), *options], folder / "cost.json")


def fetch(way: str, folder: Path, web: Web, at_once: int) -> Cost:
    """Fetches all pages by one of the methods."""
    out = folder / "out.jsonl"
    if way == "bare loop":
        listed = folder / "urls.txt"
        listed.write_text("".join(web.url(0, f"/p/{n}") + "\n" for n in range(web.plan.pages)))
        command = [sys.executable, str(PEERS / "bare_loop.py"), str(listed), str(out), str(at_once)]
        return measure(command, folder / "cost.json")
    if way == "Scrapy":
        command = [sys.executable, str(PEERS / "scrapy_peer.py"), web.url(), str(out), str(at_once)]
        return measure(command, folder / "cost.json")
    return crawl(folder, web, "--delay", "0", "--per-host", str(at_once))


def source(way: str, against: str | None) -> None:
    """Selects the package that the next command uses."""
    COMPILED.pop("PYTHONPATH", None)
    if way == "gossamer of --against":
        COMPILED["PYTHONPATH"] = str(against)


def rates(options: argparse.Namespace) -> None:
    """Measures and prints the pages per second."""
    ways = ["bare loop", *(["Scrapy"] if importlib.util.find_spec("scrapy") else []), "gossamer"]
    ways += ["gossamer of --against"] if options.against else []
    cases = [(wait, at_once) for wait in (0.0, 0.02) for at_once in (1, 4)]
    found: dict[tuple[str, float, int], list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for wait, at_once in cases:
            for way in ways:
                pages = options.pages if not wait else options.pages // 4
                source(way, options.against)
                with serving(Plan(pages, wait)) as web, tempfile.TemporaryDirectory() as name:
                    cost = fetch(way, Path(name), web, at_once)
                    hits = web.stop()
                    assert len(hits) >= pages, (way, len(hits), (Path(name) / "cost.log").read_text()[-500:])
                    found.setdefault((way, wait, at_once), []).append((rate(hits), cost.cpu / pages * 1e3))
    print("| pages/s, CPU ms a page | " + " | ".join(f"{w * 1e3:g} ms, {n} at once" for w, n in cases) + " |")
    print("| --- |" + " ---: |" * len(cases))
    print("| ideal | - | - | 50 | 200 |")
    for way in ways:
        cells = []
        for case in cases:
            speed, cpu = (statistics.median(column) for column in zip(*found[(way, *case)], strict=True))
            cells.append(f"{speed:.0f}, {cpu:.2f}")
        print(f"| {way} | " + " | ".join(cells) + " |")


def gaps(options: argparse.Namespace) -> None:
    """Measures and prints the gaps between the starts of requests."""
    ways = ["gossamer", *(["gossamer of --against"] if options.against else [])]
    cases = [
        (delay, processes, at_once)
        for delay in ("0.1", "")
        for processes in (1, 2)
        for at_once in ((1,) if not delay else (1, 2))
    ]
    print("\n| delay, processes, requests at once | way | shortest gap ms | median ms | longest ms | gaps |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for delay, processes, at_once in cases:
        for way in ways:
            source(way, options.against)
            between = list[float]()
            for _ in range(options.rounds):
                with serving(Plan(80 if delay else 30, 0.005)) as web, tempfile.TemporaryDirectory() as name:
                    words = ["--delay", delay] if delay else []
                    words += ["--processes", str(processes), "--per-host", str(at_once)]
                    crawl(Path(name), web, *words)
                    web.stop()
                    starts = [hit.start for hit in web.hits]
                    between += [(b - a) * 1e3 for a, b in itertools.pairwise(starts)]
            about = f"{delay or 'adaptive'}, {processes}, {at_once}"
            print(
                f"| {about} | {way} | {min(between):.1f} | {statistics.median(between):.1f} | {max(between):.1f} | {len(between)} |"
            )


def polite(options: argparse.Namespace) -> None:
    """Measures and prints the CPU time of a polite crawl of several hosts."""
    ways = ["gossamer", *(["gossamer of --against"] if options.against else [])]
    plan = Plan(40, 0.005, 0.4, 50)
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            source(way, options.against)
            with serving(plan) as web, tempfile.TemporaryDirectory() as name:
                seeds = [web.url(host) for host in range(1, plan.hosts)]
                cost = crawl(Path(name), web, *seeds, "--delay", "0.25", "--concurrency", "64")
                found[way].append(cost.cpu / len(web.stop()) * 1e3)
    print("\n| 50 hosts, delay 0.25 s | CPU ms a page | of the rounds |\n| --- | ---: | --- |")
    for way, each in found.items():
        print(
            f"| {way} | {statistics.median(each):.3f} | {', '.join(f'{one:.3f}' for one in sorted(each))} |"
        )
    if options.against:
        ratios = [ours / theirs for ours, theirs in zip(*found.values(), strict=True)]
        print(f"\nratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def main() -> None:
    """Measures and prints tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="rates,gaps,polite")
    parser.add_argument("--against")
    options = parser.parse_args()
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}; "
        f"{options.rounds} rounds, medians\n",
        flush=True,
    )
    for part in options.only.split(","):
        {"rates": rates, "gaps": gaps, "polite": polite}[part](options)


if __name__ == "__main__":
    main()
