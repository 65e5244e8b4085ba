"""Judges a crawl of a web of walls by the records of the hosts: the pages fetched, their cost compared with
an oracle's choice, and politeness."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from walls.plan import NEEDS, Host, token

RUNGS = ("plain", "impersonated", "browser", "unlocker")
Line = dict[str, Any]


@dataclass
class Judged:
    """The figures of a crawl. `ours` and `oracle` are costs. `curve` contains (ours, oracle) after each
    fetched page, in order."""

    due: int
    got: int = 0
    ours: float = 0.0
    oracle: float = 0.0
    browser: float = 0.0
    tries: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, list[float]] = field(default_factory=dict)
    """For each kind of host: pages due, pages fetched, our cost, the oracle's cost."""
    curve: list[tuple[float, float]] = field(default_factory=list)
    private: int = 0
    """The number of requests that robots.txt forbids."""
    hasty: list[str] = field(default_factory=list)
    """Requests that came earlier than the host's delay allows."""
    requests: int = 0
    odd: list[str] = field(default_factory=list)
    """Disagreements between the crawl's own log and the hosts' log."""

    @property
    def share(self) -> float:
        """The share of the due pages that were fetched."""
        return self.got / max(1, self.due)

    @property
    def ratio(self) -> float:
        """The ratio of our cost to the oracle's cost."""
        return self.ours / self.oracle

    @property
    def part(self) -> float:
        """Our cost as a share of the cost of a browser visit per page."""
        return self.ours / self.browser


def lines(path: Path) -> list[Line]:
    """Reads a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def place(url: str) -> tuple[str, str]:
    """Returns the host name without port, and the path."""
    host, _, path = url.partition("://")[2].partition("/")
    return host.partition(":")[0], "/" + path.partition("?")[0]


def judge(
    seed: int,
    web: list[Host],
    log: list[Line],
    attempts: list[Line],
    items: list[Line],
    costs: Mapping[str, float],
    delay: float,
) -> Judged:
    """Judges a crawl. `log` contains the hosts' records, `attempts` is the crawl's own log, `items` contains
    the `url` and `token` of each page, and `costs` are the costs of the rungs."""
    asked = [one for one in log if one["kind"] == "page"]
    first: dict[tuple[str, str], Line] = {}
    for one in asked:
        first.setdefault((one["host"], one["path"]), one)
    made = [one for one in attempts if not one["url"].endswith("/robots.txt")]
    came = {place(one["url"]) for one in items if one["token"] == token(seed, *place(one["url"]))}
    out = Judged(sum(len(host.due()) for host in web), requests=len(asked))
    spent: Counter[tuple[str, str]] = Counter()
    for one in made:
        out.tries[one["rung"]] += 1
        spent[place(one["url"])] += costs[one["rung"]]
    for host in web:
        known = out.kinds.setdefault(host.kind, [0, 0, 0, 0])
        for path in host.due():
            at = first.get((host.name, path))
            needs = at["needs"] if at is not None else NEEDS[host.defence(path, 0.0)]
            known[0] += 1
            known[1] += (host.name, path) in came
            known[3] += costs[RUNGS[needs]]
        known[2] += sum(cost for (name, _), cost in spent.items() if name == host.name)
    out.got = sum(int(known[1]) for known in out.kinds.values())
    out.ours, out.oracle = sum(spent.values()), sum(known[3] for known in out.kinds.values())
    out.browser = costs["browser"] * out.due
    _curve(out, made, first, costs)
    _polite(out, web, asked, delay)
    _agree(out, made, asked)
    return out


def _curve(
    out: Judged, made: list[Line], first: dict[tuple[str, str], Line], costs: Mapping[str, float]
) -> None:
    ours = oracle = 0.0
    for one in sorted(made, key=lambda one: one["ts"]):
        ours += costs[one["rung"]]
        at = first.get(place(one["url"]))
        if one["outcome"] == "done" and at is not None and at["needs"] < len(RUNGS):
            oracle += costs[RUNGS[at["needs"]]]
            out.curve.append((ours, oracle))


def _polite(out: Judged, web: list[Host], asked: list[Line], delay: float) -> None:
    """Records pages that robots.txt forbids, and pages that follow the previous page sooner than the delay. A
    page that reloads itself counts as one page."""
    slow = {host.name: max(delay, host.crawl_delay) for host in web}
    by_host: dict[str, list[Line]] = defaultdict(list)
    for one in asked:
        out.private += one["path"].startswith("/private")
        by_host[one["host"]].append(one)
    for name, seen in by_host.items():
        for before, one in itertools.pairwise(seen):
            itself = before["path"] == one["path"] and before["agent"] == one["agent"] and one["script"]
            if not itself and one["t"] - before["t"] < 0.85 * slow[name]:
                out.hasty.append(f"{name}{one['path']} {one['t'] - before['t']:.3f} s after {before['path']}")


def _agree(out: Judged, made: list[Line], asked: list[Line]) -> None:
    """Compares the rungs in the crawl's own log with the clients that the hosts saw."""
    said = Counter(one["rung"] for one in made if one["status"] is not None)
    seen = Counter(
        "unlocker" if one["by"] == "provider" else "browserlike" if one["browserlike"] else "plain"
        for one in asked
    )
    if said["plain"] != seen["plain"] or said["unlocker"] != seen["unlocker"]:
        out.odd.append(f"it says {dict(said)}, the hosts saw {dict(seen)}")
    if said["impersonated"] + said["browser"] > seen["browserlike"]:
        out.odd.append(f"it says {dict(said)}, the hosts saw {dict(seen)}")
