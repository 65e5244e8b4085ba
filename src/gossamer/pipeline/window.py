"""The last pages of a crawl as one process saw them, and the gates that are looked at over them. Pure but for what it remembers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gossamer.pipeline.gates import Gate
from gossamer.quality import LEAST, Run, of_counts
from gossamer.summary import Summary

PAGES = 100
"""Pages of the window; fewer than half of them are not judged."""
EVERY = 10
"""Pages between judgements."""


class Trip(NamedTuple):
    """A gate that is not met. `reason`: for people, one line."""

    gate: Gate
    reason: str


class Window:
    """`gates`: by the site whose pages they judge, "" for all of the crawl; `runs`: the last good ones of each site."""

    def __init__(self, gates: Mapping[str, Sequence[Gate]], runs: Mapping[str, Sequence[Run]]) -> None:
        self._gates = [(site, gate) for site, some in gates.items() for gate in some if gate.action]
        self._runs = runs
        self._pages: deque[dict[str, int]] = deque()
        self._total: dict[str, int] = {}
        self._told: set[str] = set()
        self._since = 0

    def saw(self, counts: Mapping[str, int], dead: bool) -> list[Trip]:
        """A visit ended with these counts, or as a dead letter; the gates that are not met now. A warning is told once."""
        if not self._gates or not (dead or "pages" in counts):
            return []
        kept = {name: n for name, n in counts.items() if name[:2] == "q|" or name in ("pages", "succeeded")}
        if dead:
            kept["dead"] = 1
        self._pages.append(kept)
        total = self._total
        for name, n in kept.items():
            total[name] = total.get(name, 0) + n
        if len(self._pages) > PAGES:
            for name, n in self._pages.popleft().items():
                total[name] -= n
        self._since += 1
        if self._since < EVERY or len(self._pages) < PAGES // 2:
            return []
        self._since = 0
        return self._judge()

    def forget(self) -> None:
        """Begin anew: the site file was mended, or somebody wants the crawl to go on as it is."""
        self._pages.clear()
        self._total.clear()
        self._told.clear()
        self._since = 0

    def _judge(self) -> list[Trip]:
        now = self._summary()
        trips = []
        for site, gate in self._gates:
            if site and site not in now.sites:
                continue
            judged = now if not site else now.of_site(site)
            if gate.test(judged) and f"{site} {gate.text}" not in self._told:
                self._told.add(f"{site} {gate.text}")
                trips.append(Trip(gate, f"gate {gate.text!r} over the last {len(self._pages)} pages" + told(judged)))
        return trips

    def _summary(self) -> Summary:
        n = {name: count for name, count in self._total.items() if count or "|f|" in name}
        return Summary(
            crawl="", state="running", reason=None, started_at="", elapsed=0.0, found=0, pages=n.get("pages", 0), redirected=0, items=0,
            succeeded=n.get("succeeded", 0), failed=0, skipped={}, retried=0, dead=n.get("dead", 0), pending=0, bytes=0,
            pages_per_second=0.0, hosts=0, errors={}, outputs=[], sites=of_counts(n, self._runs, LEAST),
        )  # fmt: skip


def told(summary: Summary) -> str:
    """What the sites give, in a few words: where their fields are missing most."""
    words = []
    for name, one in summary.sites.items():
        low = sorted((share, field) for field, share in one.coverage.items() if share < 1.0)[:3]
        fields = "".join(f", {field} {share:.0%}" for share, field in low)
        words.append(f"{name}: quality {one.quality:.0%}{fields}")
    return f" ({'; '.join(words)})" if words else ""
