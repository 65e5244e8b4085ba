"""Checks that parsers handle 100,000 mutated inputs without an exception, a hang or memory growth (Linux).

    python benchmarks/hostile.py [--count 20000] [--seed 1] [--kinds html,robots,sitemap,header,coding] [--at N]

There are 20,000 inputs of each of the five kinds. tests/e2e/mutants.py makes the inputs from real pages
(examples, .sites, and the shared test data if available), and defines the guarantees for each kind. The
benchmark prints one line per kind with the number of inputs, the failures, the CPU time per input (median and
maximum), and the resident memory after a fifth of the inputs and at the end. `--at N` reads only input N. The
exit code is 1 if an input fails or takes more than 2 s of CPU time, or if the memory grows by more than 32
MiB. If an input takes a minute, the benchmark ends with a traceback.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from e2e.mutants import KINDS, Eater, seeds  # noqa: E402 - it lies beside the tests

LONGEST, HANG, GROWTH = 2.0, 60, 32.0


def resident() -> float:
    """Returns the resident memory of this process in MiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def feed(kind: str, count: int, seed: int) -> bool:
    """Reads all inputs of one kind. Returns whether all of them were read without failures."""
    eater, times, wrong, early = Eater(), [], list[str](), 0.0
    for n in range(count):
        if n % 50 == 0:
            faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            times.append(eater.eat(kind, n, seed))
        except Exception as error:  # noqa: BLE001 - any exception is a failure
            wrong.append(f"{n}: {error!r}"[:300])
        if n == count // 5:
            early = resident()
    faulthandler.cancel_dump_traceback_later()
    late = resident()
    longest = max(times, default=0.0)
    slow = [str(n) for n, took in enumerate(times) if took > LONGEST]
    print(
        f"| {kind} | {count:,} of {len(seeds(kind))} | {len(wrong)} | {statistics.median(times) * 1e6:.0f} us | "
        f"{longest * 1e3:.0f} ms | {early:.0f} MiB | {late:.0f} MiB |",
        flush=True,
    )
    for line in (*wrong[:5], *(f"slow: {n}" for n in slow[:5])):
        print(f"  {line}", file=sys.stderr, flush=True)
    return not wrong and not slow and late - early < GROWTH


def main() -> None:
    """Reads the inputs of all kinds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--at", type=int, help="only this one")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    faulthandler.enable()
    if options.at is not None:
        for kind in kinds:
            print(kind, f"{Eater().eat(kind, options.at, options.seed):.6f} s")
        return
    print(
        f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores, seed {options.seed}\n"
    )
    print(
        "| kind | mutants of seeds | raised or wrong | CPU, median | longest | memory early | memory late |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    right = [feed(kind, options.count, options.seed) for kind in kinds]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
