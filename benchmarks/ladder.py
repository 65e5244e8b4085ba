"""Compares the cost of the ladder on a synthetic web of block pages with an oracle, and with the browser for
every page.

    python benchmarks/ladder.py --seeds 101-120 [--hosts 60] [--stand-in] [--keep FOLDER] [--plot benchmarks/results/ladder.svg]

The oracle knows the cheapest sufficient rung of each page. The goals must be met by the worst seed: at least
99 % of the pages are fetched, the cost is at most 1.25 times that of the oracle and 1/5 of that of the
browser, no request is forbidden by robots.txt, and no request is sooner than the host's delay.

The web (tests/walls) is a separate process, which decides by the requests that arrive. The crawl is the
complete command with all four rungs. Chromium is real, or with `--stand-in` a program that sends the same
requests and allows many seeds. The unlocker is an API on loopback. The costs are those of
`gossamer.politeness.ladder`, counted in the attempts log. The log is compared with the requests that the
hosts received. For each page, the oracle pays for the rung that the host required when the page was first
requested. The oracle pays nothing for pages that are forbidden to all. If the folder of a seed already
exists, the seed is only evaluated, without a crawl.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gossamer.politeness.ladder import COSTS, RUNGS
from walls.crawl import Ran, Size, crawl, ran
from walls.judge import Judged

PRICES = dict(zip(RUNGS, COSTS, strict=True))
GOT, RATIO, PART = 0.99, 1.25, 0.2


def row(seed: int, done: Ran) -> str:
    """Returns a line about a crawl."""
    one = done.judged
    tries = " ".join(f"{rung} {one.tries[rung]}" for rung in RUNGS)
    faults = f"forbidden by robots.txt {one.private}, too soon {len(one.hasty)}"
    return (
        f"seed {seed:>4}: got {one.got} of {one.due} ({one.share:.2%}), cost {one.ours:,.0f}, oracle {one.oracle:,.0f}, "
        f"ratio {one.ratio:.3f}, of always-browser {one.part:.3f}; {one.requests} requests ({tries}), {faults}; "
        f"{done.seconds:.0f} s, exit {done.code}{'; THE LOGS DISAGREE' if one.odd else ''}"
    )


def kinds(several: Mapping[int, Ran]) -> str:
    """Returns lines with the cost of each kind of host, over all seeds."""
    total: dict[str, list[float]] = {}
    for done in several.values():
        for kind, numbers in done.judged.kinds.items():
            total[kind] = [a + b for a, b in zip(total.get(kind, [0.0] * 4), numbers, strict=True)]
    return "\n".join(
        f"  {kind:<10} got {got:,.0f} of {due:,.0f}, cost {ours:,.0f}, oracle {oracle:,.0f}, ratio {ours / oracle:.3f}"
        for kind, (due, got, ours, oracle) in total.items()
    )


async def run(seed: int, hosts: int, keep: Path | None, stand_in: bool, more: tuple[str, ...]) -> Ran:
    """Runs one seed."""
    with contextlib.ExitStack() as stack:
        if keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        elif (folder := keep / str(seed)).exists():
            return ran(folder, seed, PRICES)
        else:
            folder.mkdir(parents=True)
        return await crawl(folder.resolve(), seed, Size(hosts), costs=PRICES, stand_in=stand_in, more=more)


def line(points: list[tuple[float, float]], colour: str, name: str, lower: float = 4) -> str:
    """Returns a line of a chart, with its name at its end."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    label = f'<text x="{x + 4:.0f}" y="{y + lower:.0f}" fill="{colour}">{name}</text>'
    return f'<polyline points="{path}" fill="none" stroke="{colour}"/>{label}'


def growth(worst: Judged, wide: float, high: float) -> list[str]:
    """Returns the lines of a chart of the cost by number of fetched pages."""
    pages, most = len(worst.curve), PRICES["browser"] * len(worst.curve)
    x, y = wide / pages, high / most
    ours = [(n * x, high - one * y) for n, (one, _) in enumerate(worst.curve, 1)]
    oracle = [(n * x, high - other * y) for n, (_, other) in enumerate(worst.curve, 1)]
    return [
        line([(0, high), (wide, 0)], "#888", "always the browser"),
        line([(0, high), (wide, high * (1 - PART))], "#ccc", "a fifth of it", -4),
        line([(0, high), *ours[::5], ours[-1]], "#c33", "the ladder"),
        line([(0, high), *oracle[::5], oracle[-1]], "#36c", "the oracle", 16),
        f'<text x="{wide / 2:.0f}" y="{high + 30:.0f}" text-anchor="middle">pages got, of the worst seed ({pages:,})</text>',
        f'<text x="-6" y="6" text-anchor="end">{most:,.0f}</text><text x="-6" y="{high:.0f}" text-anchor="end">cost 0</text>',
    ]


def seeds_of(several: Mapping[int, Ran], wide: float, high: float) -> list[str]:
    """Returns the lines of a chart with the two figures of each seed, beside their goals."""
    out, step = [], wide / len(several)
    drawn: list[tuple[float, float, str, Callable[[Judged], float]]] = [
        (RATIO, 1.3, "cost in the oracle's", lambda one: (one.ratio - 1) / 0.3),
        (PART, 0.3, "cost in always-browser's", lambda one: one.part / 0.3),
    ]
    for goal, top, name, of in drawn:
        low = high * (0.45 if top > 1 else 1.0)
        tall = high * 0.42
        at = low - tall * ((goal - 1) / 0.3 if top > 1 else goal / 0.3)
        out.append(f'<line x1="0" x2="{wide}" y1="{low:.1f}" y2="{low:.1f}" stroke="#888"/>')
        out.append(
            f'<line x1="0" x2="{wide}" y1="{at:.1f}" y2="{at:.1f}" stroke="#c33" stroke-dasharray="4"/>'
        )
        out.append(f'<text x="{wide + 4}" y="{at + 4:.1f}" fill="#c33">{goal:g}</text>')
        out.append(
            f'<text x="{wide + 4}" y="{low + 4:.1f}">{"1" if top > 1 else "0"}</text><text x="0" y="{low - tall - 4:.1f}">{name}</text>'
        )
        for n, done in enumerate(several.values()):
            out.append(
                f'<circle cx="{(n + 0.5) * step:.1f}" cy="{low - tall * of(done.judged):.1f}" r="4" fill="#36c"/>'
            )
    return [
        *out,
        f'<text x="{wide / 2:.0f}" y="{high + 30:.0f}" text-anchor="middle">seeds {min(several)} to {max(several)}</text>',
    ]


def plot(several: Mapping[int, Ran]) -> str:
    """Returns both charts as SVG."""
    worst = max((done.judged for done in several.values()), key=lambda one: one.ratio)
    left, right = "\n".join(growth(worst, 380, 300)), "\n".join(seeds_of(several, 300, 300))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="370" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n<g transform="translate(70,30)" stroke-width="2">\n{left}\n</g>\n'
        f'<g transform="translate(630,30)">\n{right}\n</g>\n</svg>\n'
    ).replace("<text", '<text stroke="none"')


def met(several: Mapping[int, Ran]) -> bool:
    """Prints the worst figures of all seeds. Returns whether all goals are met."""
    found = [done.judged for done in several.values()]
    got, ratio, part = (
        min(one.share for one in found),
        max(one.ratio for one in found),
        max(one.part for one in found),
    )
    fine = (
        got >= GOT
        and ratio <= RATIO
        and part <= PART
        and not any(one.private or one.hasty or one.odd for one in found)
    )
    fine = fine and not any(done.code for done in several.values())
    print(
        f"the worst of {len(found)}: got {got:.2%}, {ratio:.3f} of the oracle's cost, {part:.3f} of always-browser's"
    )
    print(kinds(several))
    print("goals met" if fine else "GOALS NOT MET", flush=True)
    return fine


def main() -> int:
    """Runs the seeds. Returns 0 if all goals are met."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seeds", required=True, help="as 1-20 or 3,5")
    options.add_argument("--hosts", type=int, default=60)
    options.add_argument("--keep", type=Path, help="folder in which all that a run leaves is kept")
    options.add_argument("--plot", type=Path)
    options.add_argument("--stand-in", action="store_true", help="no real browser")
    given, more = options.parse_known_args()
    low, dash, high = given.seeds.partition("-")
    seeds = list(range(int(low), int(high) + 1)) if dash else [int(one) for one in given.seeds.split(",")]
    several: dict[int, Ran] = {}
    for seed in seeds:
        several[seed] = asyncio.run(run(seed, given.hosts, given.keep, given.stand_in, tuple(more)))
        print(row(seed, several[seed]), flush=True)
        one = several[seed]
        if one.code or one.judged.odd or one.judged.hasty:
            print(one.said, *one.judged.odd, *one.judged.hasty[:9], sep="\n", flush=True)
    if given.plot:
        given.plot.write_text(plot(several))
    return int(not met(several))


if __name__ == "__main__":
    sys.exit(main())
