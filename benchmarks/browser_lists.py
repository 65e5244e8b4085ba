"""Measures whether the rung `browser` finds all rows of lists that load while they are scrolled, and how long that
takes.

    python benchmarks/browser_lists.py [--program firefox-esr] [--seed 43] [--only NAME] [--steps 60]

Serves the thirty lists of `tests/support/scrolled_lists.py`: a list in the window, in an inner box, of recycled
rows, with a button, and with an observer, each with delays of 0 to 2 s, and once endless. Each page is visited
once with `scroll`, and three times (with long delays once) while it scrolls itself: by one view in each frame of the
browser, until the last row is there. The ideal time is the median of these visits. An endless list is scrolled by `--steps` steps. The
exit code is 1 if a row is missing, double or at the wrong place.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.rendering import Render, read_rendering
from gossamer.model.request import Request
from support.scrolled_lists import ListServer, ScrolledList, generated, row_numbers, serving_lists


class Measured(NamedTuple):
    """A visit of a list. Times are in seconds."""

    rows: int
    expected: int
    is_right: bool
    took: float
    ideal: float
    told: str


async def here(_host: str, _port: int) -> list[str]:
    """Resolves every name to this machine."""
    return ["127.0.0.1"]


class Visitor:
    """Visits lists with a browser."""

    def __init__(self, server: ListServer, program: str | None, steps: int) -> None:
        self._server, self._steps = server, steps
        self._looks: dict[str, Render] = {}
        self.collector = BrowserCollector(
            Resolver(["127.0.0.0/8"], lookup=here),
            agent="benchmark/1",
            domain=lambda host: host,
            render=lambda host: self._looks.get(host.partition(":")[0], Render()),
            program=program,
            total=120.0,
        )

    async def visit(self, one: ScrolledList, query: str = "") -> tuple[Page, float]:
        """Visits a list, and returns the page and the time."""
        self._server.forget()
        began = time.perf_counter()
        url = f"http://{one.name}.test:{self._server.url.rpartition(':')[2]}/{one.name}/{query}"
        got = await self.collector.collect(Request(url), {})
        assert isinstance(got, Page), got
        return got, time.perf_counter() - began

    async def measure(self, one: ScrolledList) -> Measured:
        """Visits a list with scrolling, and while it scrolls itself."""
        host = f"{one.name}.test"
        options = {"steps": self._steps if one.rows is None else 1000}
        press = {"press": ".more"} if one.kind == "button" else {}
        self._looks[host] = read_rendering({"scroll": {**options, **press}})
        got, took = await self.visit(one)
        found = row_numbers(one.name, re.findall(r'href="([^"]*)"', got.body.decode()))
        sent = len(self._server.sent(one.name)) + one.first
        # the rows of an endless virtual list that it received but did not show are not in the page
        expected = one.rows or (len(found) if one.kind == "virtual" else sent)
        self._looks[host] = read_rendering("[data-driven]")
        visits = 3 if one.delay < 0.5 else 1
        ideal = statistics.median([(await self.visit(one, f"?driven={expected}"))[1] for _ in range(visits)])
        return Measured(
            len(found),
            expected,
            found == list(range(expected)) and len(found) > one.first + one.batch,
            took,
            ideal,
            " ".join((*got.console, got.late)).strip(),
        )


async def run(given: argparse.Namespace) -> bool:
    """Prints a line for each list. Returns whether all rows were found."""
    lists = [one for one in generated(given.seed) if given.only in one.name]
    results: dict[str, Measured] = {}
    with serving_lists(lists) as server:
        visitor = Visitor(server, given.program, given.steps)
        try:
            await visitor.visit(lists[0])
            for one in lists:
                result = results[one.name] = await visitor.measure(one)
                print(
                    f"{one.name:17} {result.rows:4} of {result.expected:4} rows{' ' if result.is_right else '!'}"
                    f" {result.took:6.2f} s, ideal {result.ideal:6.2f} s, ratio {result.took / result.ideal:5.2f}"
                    f"  {result.told}",
                    flush=True,
                )
        finally:
            await visitor.collector.close()
    delayed = [results[one.name] for one in lists if one.delay >= 0.2]
    others = [results[one.name] for one in lists if one.delay < 0.2]
    for name, some in (("0.2 s and more", delayed), ("less", others)):
        if some:
            ratios = [one.took / one.ideal for one in some]
            print(
                f"delays of {name}: {len(some)} lists, {sum(one.is_right for one in some)} right,"
                f" ratio {statistics.median(ratios):.2f} in the median, {max(ratios):.2f} at most,"
                f" {sum(ratio <= 1.5 for ratio in ratios)} at most 1.5"
            )
    every = list(results.values())
    whole = sum(one.took for one in every) / sum(one.ideal for one in every)
    print(f"all: {sum(one.is_right for one in every)} of {len(every)} right, ratio of the sums {whole:.2f}")
    return all(one.is_right for one in every)


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=60)
    return 0 if asyncio.run(run(parser.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
