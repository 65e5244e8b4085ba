"""Checks that a crawl on a fleet loses nothing during sixty faults at random moments.

    python benchmarks/chaos.py [--faults 60] [--hosts 40] [--pages 500] [--workers 4] [--delay 0.05] [--seed 1] [--kinds LIST] [--apart]

The workers, the store (a master with one replica under three Sentinels), the broker and the web each run on a
simulated machine of their own. Each machine is a network namespace, which requires root and /dev/net/tun. Two
schedulers watch the run. A supervisor restarts ended processes. The faults are:

- `kill -9` of a process of a worker, of a worker, of all workers, of the broker, of the store's master, or of
  the leading scheduler
- a worker that is frozen for 35 s (SIGSTOP)
- a worker whose clock is set back by an hour and, 20 s later, forward again
- a worker that is cut off from the store for 5 s

With `--apart`, packets from a worker to any other machine take 2 to 100 ms, and 1 % of them are lost.

At the end, the benchmark looks for pages or items that are missing or written twice, for requests that start
sooner than the delay, and for more repeated fetches than expired leases. Two kinds of requests are ignored:
requests that a lost packet delayed, and requests of a frozen worker within 5 s after its wake, because
fencing rejects only the results of such requests. The exit code is 1 if anything is wrong. `--seed`
determines the faults, their moments and their targets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fleet.chaos import field, machines, planned
from fleet.strikes import KINDS
from fleet.verdict import fetched_again, wrong
from support.machines_apart import Machines, apart, refused
from web import preset
from web.judge import fetched


def main() -> None:
    """Runs one crawl with all its faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("faults", 60), ("hosts", 40), ("pages", 500), ("workers", 4), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument(
        "--apart",
        action="store_true",
        help="2 to 100 ms between a worker and the others, 1 %% of the packets lost",
    )
    options = parser.parse_args()
    if why := refused():
        sys.exit(f"machines of their own are not allowed here: {why}")
    far, loss = ((0.002, 0.1), 0.01) if options.apart else ((0.0, 0.0), 0.0)
    with (
        tempfile.TemporaryDirectory(prefix="gt-") as name,
        apart(machines(options.workers, *far), loss, options.seed) as places,
        places.at("desk"),
    ):
        sys.exit(run(options, Path(name), places))


def run(options: argparse.Namespace, folder: Path, places: Machines) -> int:
    """Starts all machines, crawls, and judges the result. Returns the exit code."""
    total, began = options.hosts * options.pages, time.monotonic()
    plan = preset("tiny", hosts=options.hosts, pages=options.pages, latency=0.02, first=10)
    strikes = planned(options.kinds.split(","), options.faults, total, options.seed)
    with field(folder, places, plan, options.workers) as (chaos, web):
        try:
            summary = chaos.crawl(web, KINDS, strikes, options.delay)
        finally:
            print("\n".join(chaos.told), flush=True)
        faults = wrong(chaos, web, summary, options.delay)
        again = fetched_again(fetched(web.log()))
    dealt = ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(one.kind for one in strikes).items()))
    print(
        f"{summary['pages']} pages, {options.workers} workers, {len(chaos.told)} faults ({dealt}), seed {options.seed}"
        f"{', apart' if options.apart else ''}: {time.monotonic() - began:.0f} s; {again} pages fetched again, "
        f"{summary['lapsed']} leases expired, {summary['retried']} retries; "
        f"{'; '.join(faults) or 'nothing missing or twice, no start too close'}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    main()
