"""Nothing lost, whatever fails: sixty faults at random moments of one crawl on a fleet.

    python benchmarks/chaos.py [--faults 60] [--hosts 40] [--pages 500] [--workers 4] [--delay 0.05] [--seed 1] [--kinds LIST] [--apart]

Worker processes, the store (a master with one replica under three Sentinels), the broker, the web: each on a
machine of its own (a network namespace; needs root and /dev/net/tun). Two schedulers see to the run. A
supervisor starts again what died. Struck are: a process of a worker, a worker, all workers, the broker, the
store's master, the scheduler that leads (kill -9), a worker that stands still for 35 s (SIGSTOP), a worker
whose clock goes back an hour and 20 s later forward again, a worker cut off from the store for 5 s. With
--apart packets take 2 to 100 ms from a worker to any other machine, and 1 % are lost.

At the end: pages or items missing or twice, starts closer than the delay, more pages fetched again than
leases expired. A frozen worker's own requests up to 5 s after its wake are not judged (what it asks then is
fenced, but is asked), nor those held up by a lost packet. Exit 1 when anything is wrong. The faults, their
moments and whom they strike follow from --seed.
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
    """One crawl with all its faults."""
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
    """Start all, crawl, judge; the exit code."""
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
