"""Measures at the web server how crawls share a fleet, and how a host with very many URLs affects small
hosts.

    python benchmarks/fair.py [--rounds 3] [--urls 1000000] [--hosts 1000] [--only shares|giant]

- `shares` runs two crawls over 20 hosts each with weights 1 and 3, and then with the weights exchanged. One
  worker of two processes has capacity for 16 visits. The requests of both crawls are counted while both have
  work. The goal is a ratio within 10 % of 3.
- `giant` crawls small hosts with four requests each (robots.txt and three pages) and 0.5 s between the starts
  of requests, on one worker of two processes. The benchmark measures the seconds from the first to the last
  request to these hosts, and the requests per second until 90 % of the requests were sent. Rounds alternate
  between the small hosts alone and the small hosts after a host with `--urls` URLs that were added before
  them. `frontier.py --only giant` measures the frontier alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fleet.test_fair_share import share
from support.fleet_workers import Fleet, Server, until
from web import preset, serve


def shares(weights: tuple[int, int]) -> float:
    """Returns the ratio of the requests of the heavier crawl to those of the lighter crawl."""
    plan = preset("tiny", hosts=40, pages=300, latency=0.2, robots=("allow",))
    with (
        tempfile.TemporaryDirectory() as name,
        serve(plan) as web,
        Server(Path(name) / "s") as server,
        Fleet(Path(name), server.url(0), [server.url(1)], "60s") as fleet,
    ):
        first, second = share(fleet, web, weights, 300)
    return max(first, second) / min(first, second)


def giant(urls: int, hosts: int) -> tuple[float, float]:
    """Crawls small hosts that were added after a host of `urls` URLs.

    Returns the seconds of the small hosts, and their requests per second until 90 % of them were sent.
    """
    plan = preset("tiny", hosts=hosts + 1, pages=3, robots=("allow",))
    with tempfile.TemporaryDirectory() as name, serve(plan) as web, Server(Path(name) / "s") as server:
        big, *small = web.plan.seeds()
        listed = Path(name) / "list.txt"
        with listed.open("w") as file:
            file.writelines(f"{big}none/{number}\n" for number in range(urls))
            file.writelines(f"{seed}\n" for seed in small)
        with Fleet(Path(name), server.url(0), [server.url(1)], "60s") as fleet:
            crawl = fleet.submit(str(listed), name="crawl", delay="0.5", setting="retries=none")
            fleet.worker(processes=2)
            mine = {seed.split("/")[2] for seed in small}

            def at() -> list[int]:
                return sorted(hit.start for hit in web.log() if hit.host in mine)

            until("the small hosts are done", lambda: len(at()) >= 4 * hosts, 600)
            times = at()
            fleet.run("cancel", crawl)
    most = len(times) * 9 // 10
    return (times[-1] - times[0]) / 1e9, most / (times[most - 1] - times[0]) * 1e9


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.only in ("", "shares"):
        found = [shares(weights) for _ in range(options.rounds) for weights in ((1, 3), (3, 1))]
        print("weights 1 and 3:", ", ".join(f"{one:.2f}" for one in found), flush=True)
    if options.only in ("", "giant"):
        runs: dict[int, list[tuple[float, float]]] = {0: [], options.urls: []}
        for _ in range(options.rounds):
            for urls, each in runs.items():
                each.append(giant(urls, options.hosts))
                print(f"giant of {urls:,}: {each[-1][0]:.1f} s, {each[-1][1]:.0f} requests/s", flush=True)
        for urls, each in runs.items():
            middle = [statistics.median(one[part] for one in each) for part in (0, 1)]
            print(
                f"{options.hosts:,} small hosts, giant of {urls:,}: {middle[0]:.1f} s, {middle[1]:.0f} requests/s"
            )


if __name__ == "__main__":
    main()
