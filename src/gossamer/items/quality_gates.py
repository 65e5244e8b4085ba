"""Parses quality gates (`--fail-on`, `gates=`), and tests them against a window of recent pages while a crawl
runs. No function does I/O. A gate is a condition on the numbers of a crawl. Gates have a grammar of their
own, and are never evaluated as Python code.

    gate = [("warn" | "pause" | "stop") "if"] expression
    expression = term ("or" term)*;  term = comparison ("and" comparison)*
    comparison = name ("<" | "<=" | ">" | ">=" | "==" | "!=") number, or "(" expression ")"

A comparison can use these names:

- the numbers of the summary
- `success`: share of fetched URLs that ended with status 2xx or 304, and 0 if nothing was fetched
- `skipped` and `errors`: sums over all reasons, or one reason such as `skipped.robots` or `errors.dns`
- `quality`: the lowest quality score of any site
- `yield`: the lowest number of items per page of any site
- `coverage.price` or `coverage.book.price`: the share of items that have this field, at the site where the
  share is lowest
- `drift`, `drift.price`, `drift.quality`, `drift.yield`: the decrease since the last good runs, at the site
  with the largest decrease

An expression describes the bad case: the gate is not met if the expression is true. A gate with an action is
also tested while the crawl runs. If a gate contains only names from LATELY, such as `success`, the gate is
tested over the last pages (`Window`). If a gate contains counts, the gate is tested over the whole crawl so
far.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.config.value_parsers import nearest
from gossamer.errors import UsageError
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.quality import MIN_ITEMS, GoodRun, Quality, SitePart, of_counts
from gossamer.model.summary import Summary
from gossamer.model.verdict import ERRORS, SKIPS

WINDOW_PAGES = 100
"""Number of recent pages over which gates are tested while a crawl runs. Gates are tested for the first time
after WINDOW_PAGES / 2 pages."""
MAX_LOCAL_PAGES, MAX_UNREPORTED_PAGES = 10, 60
"""`MAX_LOCAL_PAGES` is the maximum number of pages that a process counts before the process reports its
counts. `MAX_UNREPORTED_PAGES` is the maximum number of pages that have not been reported, over all processes
of the crawl."""


class GateFailure(NamedTuple):
    """A quality gate that is not met. `name`: the text of the gate, preceded by the name of the site if the
    gate was tested for a single site. `reason`: a message of one line."""

    gate: QualityGate
    name: str
    reason: str


class Window:
    """A sliding window over the last pages of a crawl. The gates with an action are tested over this window.

    `gates`: maps the name of each site to the gates for the site. The name "" stands for the whole crawl.
    `runs`: the last good runs of each site.
    """

    def __init__(
        self, gates: Mapping[str, Sequence[QualityGate]], runs: Mapping[str, Sequence[GoodRun]]
    ) -> None:
        self._gates = [
            (site, gate) for site, some in gates.items() for gate in some if gate.action and not gate.counts
        ]
        self._runs = runs
        self._parts: deque[SitePart] = deque()
        self._pages = 0
        self._total: dict[str, int] = {}
        self._told: set[str] = set()

    def __bool__(self) -> bool:
        """Returns whether there are gates to test."""
        return bool(self._gates)

    @property
    def every(self) -> int:
        """The number of pages after which a process reports its counts."""
        return max(
            2, min(MAX_LOCAL_PAGES, MAX_UNREPORTED_PAGES // max(1, len({part.who for part in self._parts})))
        )

    def saw(self, parts: Iterable[SitePart]) -> list[GateFailure]:
        """Adds the counts of more pages to the window. Returns the gates that the pages in the window do not
        meet. Each gate is returned only once."""
        for part in parts:
            self._parts.append(part)
            self._add(part, 1)
        while self._parts and self._pages - self._parts[0].pages >= WINDOW_PAGES:
            self._add(self._parts.popleft(), -1)
        return self._judge() if self._pages >= WINDOW_PAGES // 2 else []

    def forget(self) -> None:
        """Empties the window, for example after the site file was repaired or when a user resumes the paused
        crawl."""
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
                reason = f"gate {gate.text!r} over the last {self._pages} pages" + quality_text(judged)
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
            sites=of_counts(n, self._runs, MIN_ITEMS),
        )


def quality_text(summary: Summary) -> str:
    """Returns a short text with the quality of each site. For each site, the text also contains the three
    fields with the lowest coverage, if their coverage is less than 100 %. Returns '' if there are no
    sites."""
    words = []
    for name, one in summary.sites.items():
        low = sorted((share, field) for field, share in one.coverage.items() if share < 1.0)[:3]
        fields = "".join(f", {field} {share:.0%}" for share, field in low)
        words.append(f"{name}: quality {one.quality:.0%}{fields}")
    return f" ({'; '.join(words)})" if words else ""


def count_visit(counts: dict[str, int], visit: Mapping[str, int], is_page: bool, dead: bool) -> bool:
    """Adds the counts of a finished visit to `counts`. `is_page`: the visit fetched a page. `dead`: the visit
    ended as a dead letter. Returns whether the visit counts as a page."""
    if not (dead or is_page):
        return False
    if dead:
        counts["dead"] = counts.get("dead", 0) + 1
    for name, n in visit.items():
        if name[:2] == "q|" or name in ("pages", "succeeded"):
            counts[name] = counts.get(name, 0) + n
    return True


NUMBERS = (
    "success",
    "found",
    "pages",
    "redirected",
    "items",
    "rejected",
    "dropped",
    "succeeded",
    "new",
    "changed",
    "unchanged",
    "gone",
    "refused",
    "failed",
    "retried",
    "dead",
    "pending",
    "bytes",
    "pages_per_second",
    "hosts",
    "elapsed",
    "skipped",
    "errors",
    "quality",
    "yield",
    "drift",
)
NAMES = (*NUMBERS, *(f"skipped.{word}" for word in SKIPS), *(f"errors.{word}" for word in ERRORS))
LATELY = ("success", "quality", "yield", "coverage", "drift")
"""Names of numbers that can be computed over the last pages of a running crawl. For example, `success` is a
share of the pages, and `yield` is the number of items per page."""
ACTIONS = ("warn", "pause", "stop")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_WORD = lazy_pattern(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?%?)|(?P<name>[A-Za-z_]\w*(?:\.[\w-]+){0,2})|(?P<mark>[<>=!]=|[<>()]))"
)
MAX_DEPTH = 20
MAX_CHARS = 2000

Test = Callable[[Summary], bool]


class QualityGate(NamedTuple):
    """A parsed gate. `action`: one of ACTIONS, or "" if the gate is tested only at the end of the crawl.
    `test`: returns True if the gate is not met. `text`: the gate as written."""

    action: str
    test: Test
    text: str
    fields: tuple[str, ...] = ()
    """The fields whose coverage the gate tests."""
    counts: bool = False
    """Whether the gate tests counts of the whole crawl instead of shares of the last pages."""


def parse(text: str) -> QualityGate:
    """Parses a gate. Raises UsageError.

    >>> parse("dead>0 or success<95%").action, parse("pause if coverage.price<0.9").action
    ('', 'pause')
    """
    if len(text) > MAX_CHARS:
        raise _wrong(text[:80], f"it is longer than {MAX_CHARS} characters")
    words, names = _words(text), list[str]()
    action = ""
    if words[1:2] == ["if"]:
        if words[0] not in ACTIONS:
            raise _wrong(
                text,
                f"{words[0]!r} is not an action{nearest(words[0], ACTIONS)}; there are {', '.join(ACTIONS)}",
            )
        action, words = words[0], words[2:]
    test, rest = _either(text, words, 0, 0, names)
    if rest != len(words):
        raise _wrong(text, f"{words[rest]!r} is unexpected")
    odd = [name for name in names if name.partition(".")[0] not in LATELY]
    if action and odd and len(odd) < len(names):
        raise _wrong(
            text,
            f"{odd[0]} counts the whole crawl, and the others are shares of its last pages ({', '.join(LATELY)}); "
            "write two gates",
        )
    fields = tuple(name[9:] for name in names if name.startswith("coverage."))
    return QualityGate(action, test, text.strip(), fields, counts=bool(odd))


def number_value(summary: Summary, name: str) -> float:
    """Returns one number of the summary. `name` is the name of the number, for example `dead` or
    `coverage.price`. If there is too little data, returns NaN, for which every comparison except `!=` is
    false."""
    group, _, rest = name.partition(".")
    sites = summary.sites.values()
    if group in ("coverage", "drift"):
        return _of_fields(list(sites), group, rest)
    if name == "quality":
        return min((one.quality for one in sites), default=1.0)
    if name == "yield":
        return min((one.per_page for one in sites), default=0.0)
    if rest:
        return float(getattr(summary, group).get(rest, 0))
    if name == "success":
        ended = summary.pages + summary.failed + summary.dead
        return summary.succeeded / ended if ended else 0.0
    found = getattr(summary, name)
    if found is None:
        return math.nan  # the outputs of the crawl cannot know the number
    return float(sum(found.values()) if isinstance(found, dict) else found)


def _of_fields(sites: list[Quality], group: str, wanted: str) -> float:
    """Compares the values of the field `wanted` for all sites and kinds, and returns the worst value. The
    worst value is the lowest coverage or the largest drift. If `wanted` is '', compares the values of all
    fields. The coverage of a field that no item has is 0."""
    found = [
        share
        for one in sites
        for name, share in getattr(one, group).items()
        if not wanted or name == wanted or name.partition(".")[2] == wanted
    ]
    judged = [share for share in found if not math.isnan(share)]
    if group == "drift":
        return max(judged, default=0.0)
    if found:
        return min(judged, default=math.nan)
    return 0.0 if any(one.items for one in sites) or not any(one.pages for one in sites) else math.nan


def _words(text: str) -> list[str]:
    words, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _WORD.match(text, at)
        if not found:
            raise _wrong(text, f"{text[at:].split()[0]!r} is not understood")
        words.append(found[0].strip())
        at = found.end()
    return words


def _either(text: str, words: list[str], at: int, depth: int, names: list[str]) -> tuple[Test, int]:
    tests, at = _joined(text, words, at, depth, names, "or", _both)
    return (lambda summary: any(test(summary) for test in tests)), at


def _both(text: str, words: list[str], at: int, depth: int, names: list[str]) -> tuple[Test, int]:
    tests, at = _joined(text, words, at, depth, names, "and", _one)
    return (lambda summary: all(test(summary) for test in tests)), at


def _joined(
    text: str,
    words: list[str],
    at: int,
    depth: int,
    names: list[str],
    by: str,
    part: Callable[..., tuple[Test, int]],
) -> tuple[list[Test], int]:
    test, at = part(text, words, at, depth, names)
    tests = [test]
    while at < len(words) and words[at] == by:
        test, at = part(text, words, at + 1, depth, names)
        tests.append(test)
    return tests, at


def _one(text: str, words: list[str], at: int, depth: int, names: list[str]) -> tuple[Test, int]:
    if words[at : at + 1] == ["("] and depth < MAX_DEPTH:
        test, at = _either(text, words, at + 1, depth + 1, names)
        if words[at : at + 1] != [")"]:
            raise _wrong(text, "a ) is missing")
        return test, at + 1
    if len(words) < at + 3:
        raise _wrong(text, "it is incomplete")
    name, mark, number = words[at : at + 3]
    names.append(name)
    if name not in NAMES and not name.startswith(("coverage.", "drift.")):
        raise _wrong(text, f"unknown measurement {name!r}{nearest(name, (*NAMES, 'coverage.FIELD'))}")
    if mark not in _COMPARE:
        raise _wrong(text, f"after {name} comes one of {' '.join(_COMPARE)}")
    if not number[0].isdigit():
        raise _wrong(text, f"{number!r} is not a number")
    bound = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    group = name.partition(".")[0]
    if bound > 1 and group in LATELY and group != "yield":
        raise _wrong(text, f"{name} is a share, from 0 to 1 or to 100%")
    if number.endswith("%") and group not in LATELY:
        raise _wrong(text, f"{name} is a count, which has no %")
    return (lambda summary: _COMPARE[mark](number_value(summary, name), bound)), at + 3


def _wrong(text: str, why: str) -> UsageError:
    return UsageError(f"gate {text!r}: {why}; write it as success<0.95 or `pause if coverage.price<0.9`")
