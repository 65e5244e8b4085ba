"""The last pages of a crawl, and the gates that are looked at over them. Pure but for what it remembers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.items.gates import QualityGate
from gossamer.model.quality import LEAST, GoodRun, SitePart, of_counts
from gossamer.model.summary import Summary

PAGES = 100
"""Pages of the window; fewer than half of them are not judged."""
EVERY, AMONG = 10, 60
"""Pages that a process keeps to itself before it tells the others; that all of them keep together."""


class GateFailure(NamedTuple):
    """A gate that is not met. `name`: it and its site's; `reason`: for people, one line."""

    gate: QualityGate
    name: str
    reason: str


class Window:
    """`gates`: by the site whose pages they judge, "" for all of the crawl; `runs`: the last good ones of
    each site."""

    def __init__(
        self, gates: Mapping[str, Sequence[QualityGate]], runs: Mapping[str, Sequence[GoodRun]]
    ) -> None:
        self._gates = [(site, gate) for site, some in gates.items() for gate in some if gate.action]
        self._runs = runs
        self._parts: deque[SitePart] = deque()
        self._pages = 0
        self._total: dict[str, int] = {}
        self._told: set[str] = set()

    def __bool__(self) -> bool:
        """Whether any gate is looked at."""
        return bool(self._gates)

    @property
    def every(self) -> int:
        """Pages after which a process tells of them."""
        return max(2, min(EVERY, AMONG // max(1, len({part.who for part in self._parts}))))

    def saw(self, parts: Iterable[SitePart]) -> list[GateFailure]:
        """These pages came; the gates that are not met now, each told once."""
        for part in parts:
            self._parts.append(part)
            self._add(part, 1)
        while self._parts and self._pages - self._parts[0].pages >= PAGES:
            self._add(self._parts.popleft(), -1)
        return self._judge() if self._pages >= PAGES // 2 else []

    def forget(self) -> None:
        """Begin anew: the site file was mended, or somebody wants the crawl to go on as it is."""
        self._parts.clear()
        self._pages = 0
        self._total.clear()
        self._told.clear()

    def _add(self, part: SitePart, sign: int) -> None:
        self._pages += sign * part.pages
        for name, n in part.counts.items():
            self._total[name] = self._total.get(name, 0) + sign * n

    def _judge(self) -> list[GateFailure]:
        now = self._summary()
        trips = []
        for site, gate in self._gates:
            if site and site not in now.sites:
                continue
            judged = now if not site else now.of_site(site)
            name = f"{site} {gate.text}".strip()
            if gate.test(judged) and name not in self._told:
                self._told.add(name)
                reason = f"gate {gate.text!r} over the last {self._pages} pages" + told(judged)
                trips.append(GateFailure(gate, name, reason))
        return trips

    def _summary(self) -> Summary:
        n = {name: count for name, count in self._total.items() if count or "|f|" in name}
        return Summary(
            crawl="",
            state="running",
            reason=None,
            started_at="",
            elapsed=0.0,
            found=0,
            pages=n.get("pages", 0),
            redirected=0,
            items=0,
            succeeded=n.get("succeeded", 0),
            failed=0,
            skipped={},
            retried=0,
            dead=n.get("dead", 0),
            pending=0,
            bytes=0,
            pages_per_second=0.0,
            hosts=0,
            errors={},
            outputs=[],
            sites=of_counts(n, self._runs, LEAST),
        )


def told(summary: Summary) -> str:
    """What the sites give, in a few words: where their fields are missing most."""
    words = []
    for name, one in summary.sites.items():
        low = sorted((share, field) for field, share in one.coverage.items() if share < 1.0)[:3]
        fields = "".join(f", {field} {share:.0%}" for share, field in low)
        words.append(f"{name}: quality {one.quality:.0%}{fields}")
    return f" ({'; '.join(words)})" if words else ""


def counted(counts: dict[str, int], visit: Mapping[str, int], dead: bool) -> bool:
    """Add the counts of a visit that ended, maybe as a dead letter, to those of others; whether it is one of
    a page."""
    if not (dead or "pages" in visit):
        return False
    if dead:
        counts["dead"] = counts.get("dead", 0) + 1
    for name, n in visit.items():
        if name[:2] == "q|" or name in ("pages", "succeeded"):
            counts[name] = counts.get(name, 0) + n
    return True
