"""100,000 mutated inputs, 20,000 of each kind, through the parts that read them: no exception, no hang, no
growth (Linux).

    python benchmarks/hostile.py [--count 20000] [--seed 1] [--kinds html,robots,sitemap,header,coding] [--at N]

The mutants and what must hold of each are in tests/e2e/mutants.py; true pages (examples, .sites) and, where
it is there, the shared test data are their seeds. One line a kind: inputs, what went wrong, CPU a mutant
(median, longest), resident memory after a fifth of them and at the end. `--at N` reads one mutant alone. Exit
1 when anything went wrong, one took more than 2 s of CPU, or memory grew by more than 32 MiB. A mutant that
takes a minute ends it all with the place where it hangs.
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
    """Resident MiB of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def feed(kind: str, count: int, seed: int) -> bool:
    """All mutants of one kind; whether all went well."""
    eater, times, wrong, early = Eater(), [], list[str](), 0.0
    for n in range(count):
        if n % 50 == 0:
            faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            times.append(eater.eat(kind, n, seed))
        except Exception as error:  # noqa: BLE001 - that is the question
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
    """All kinds."""
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
