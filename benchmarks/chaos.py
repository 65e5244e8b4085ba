"""Nothing lost, whatever fails: sixty faults at random moments of one crawl on a fleet.

    python benchmarks/chaos.py [--faults 60] [--hosts 40] [--pages 500] [--workers 4] [--delay 0.05] [--seed 1]

Four worker processes under a supervisor (dead ones are started again after 1.5 s), a broker of their own, the store a master with one
replica under three Sentinels. Struck are: a process, a worker, all workers, the broker, the store's master (kill -9), a worker
that stands still for 35 s (SIGSTOP), a worker whose clock is an hour behind. At the end: pages and rows missing or
twice, starts closer than the delay (not looked at where a worker was frozen: what it asks when it wakes is fenced, but is asked), pages
fetched again. Exit 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fleet.chaos import KINDS, Chaos
from fleet.crews import Server
from servers.sentinel import watched
from web import preset, serve
from web.judge import fetched


def main() -> None:
    """One crawl with all its faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=500, help="of each host")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    kinds = options.kinds.split(",")
    strikes = [kinds[n % len(kinds)] for n in range(options.faults)]
    rng.shuffle(strikes)
    total, began = options.hosts * options.pages, time.monotonic()
    plan = preset("tiny", hosts=options.hosts, pages=options.pages, latency=0.02)
    with (
        tempfile.TemporaryDirectory(prefix="gt-") as name,
        watched() as store,
        Server(Path(name) / "broker") as broker,
        serve(plan) as web,
    ):
        chaos = Chaos(Path(name), store, broker, options.workers, rng)
        try:
            summary = chaos.crawl(web, strikes, total, delay=str(options.delay))
            wrong = chaos.wrong(web, summary, options.delay)
        finally:
            chaos.close()
        again = sum(n - 1 for n in fetched(web.log()).values())
    if summary["pages"] != total:
        wrong.append(f"{summary['pages']} pages counted, {total} are there")
    judged = "starts are not judged where workers were frozen" if chaos.struck["freeze"] else "no start too close"
    dealt = ", ".join(f"{n} {kind}" for kind, n in sorted(chaos.struck.items()))
    print(
        f"{summary['pages']} pages, {options.workers} workers, {sum(chaos.struck.values())} faults ({dealt}) in "
        f"{time.monotonic() - began:.0f} s: "
        f"{again} pages fetched again; {'; '.join(wrong) or f'nothing missing or twice; {judged}'}"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
