"""Checks that a crawl fetches every reachable page exactly once, with one process and with two.

    python benchmarks/exactness.py [--pages 2000] [--processes 1 2] [--only NAME]

The webs are large test webs, traps, and the documentation that ./test unpacks into .sites. The benchmark
prints one line per web with the numbers of requests, pages and rows. The line lists the faults: pages that
are missing, fetched twice, forbidden or never linked, and counts that do not add up during the crawl. The
line also contains the share of requests wasted in traps and the gaps between requests that are too short. The
exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from e2e.runs import job, rows, watched, wrong_rows  # noqa: E402 - they lie beside the tests
from web import Plan, preset, serve  # noqa: E402
from web.docs import reachable  # noqa: E402
from web.judge import delays, faults, fetched, robots_first, violations, wasted  # noqa: E402


def webs(pages: int) -> dict[str, tuple[Plan, dict[str, Any]]]:
    """Returns the plan of each web and the settings of its crawl, by name."""
    odd = preset("small", pages=pages // 20, crawl_delay=(0.02,), retry_after=0)
    found: dict[str, tuple[Plan, dict[str, Any]]] = {
        "plain": (preset("real2k", pages=pages), {"per_host": 16}),
        "odd": (odd, {"per_host": 4}),
        "traps": (preset("traps"), {"per_host": 16}),
        "traps-any": (preset("traps"), {"per_host": 16, "scope": "any"}),
        "polite": (preset("hosts50"), {"delay": (0.25, 0.25), "concurrency": 128}),
    }
    for folder in sorted(ROOT.glob(".sites/*/html")):
        found[folder.parent.name] = (Plan(folder=str(folder.resolve())), {"per_host": 16})
    return found


def of_documentation(plan: Plan, log: list[Any], found: list[dict[str, Any]]) -> list[str]:
    """Returns the faults of a crawl of documentation."""
    asked = {url.removeprefix(plan.origin(0)): n for url, n in fetched(log).items()}
    wrong = [
        f"requested {asked.get(page, 0)} times: {page}"
        for page in reachable(plan.folder).pages
        if asked.get(page) != 1
    ]
    wrong += [f"requested {n} times: {path}" for path, n in asked.items() if n > 1]
    return wrong + [f"{len(found) - len({row['url'] for row in found})} rows twice"] * (
        len(found) != len({row["url"] for row in found})
    )


async def crawl(name: str, plan: Plan, processes: int, settings: dict[str, Any]) -> bool:
    """Runs one crawl. Returns whether it has no faults."""
    with tempfile.TemporaryDirectory(prefix="gt-") as folder, serve(plan) as web:
        began = time.monotonic()
        summary, looked = await watched(job(web.plan.seeds(), Path(folder), processes=processes, **settings))
        seconds, log, found = time.monotonic() - began, web.log(), rows(Path(folder) / "out.jsonl")
        if plan.folder:
            wrong = of_documentation(web.plan, log, found)
        else:
            wrong = [
                *faults(log, web.plan, orphans=False),
                *robots_first(log, web.plan),
                *wrong_rows(found, web.plan),
            ]
        waste = wasted(log, web.plan)
        soon = violations(log, delays(web.plan, 0.25)) if "delay" in settings else []
    sums = sum(not one.adds_up() for one in [*looked, summary])
    wrong += [f"{waste:.1%} wasted"] * (waste > 0.05) + [f"{sums} sums do not add up"] * bool(sums)
    wrong += [f"{one.host} {one.kind} {one.found:.3f}" for one in soon]
    print(
        f"{name}, {processes} processes: {len(log)} requests, {summary.pages} pages, {len(found)} rows in {seconds:.1f} s; "
        f"{len(looked)} sums looked at, {waste:.1%} wasted, {len(soon)} gaps too short; "
        + ("; ".join(wrong[:5]) + f" ({len(wrong)} faults)" if wrong else "nothing wrong"),
        flush=True,
    )
    return not wrong


def main() -> None:
    """Crawls all webs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", choices=webs(20))
    options = parser.parse_args()
    right = [
        asyncio.run(crawl(name, plan, processes, settings))
        for name, (plan, settings) in webs(options.pages).items()
        if options.only in (None, name)
        for processes in options.processes
    ]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
