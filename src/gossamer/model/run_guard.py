"""Compares a run with the last good runs of the same crawl. The functions are pure. docs/guard.md describes
the rules.

A run is described by its counts (`model.quality`), because counts exist for every crawl and cost nothing
extra. A number is unlike the earlier numbers only if three conditions hold. It lies outside the range of the
good runs, it differs from their median by more than a fixed share, and chance cannot explain the difference.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import NamedTuple, TypeVar

from gossamer.model.absence import USUAL_COVERAGE
from gossamer.model.quality import UNLIKE, RunRecord

MIN_RUNS = 3
"""Number of good runs from which their range is known. With fewer runs, only a run without pages or rows is
unlike them."""
LEVEL_RUNS = 10
"""Number of good runs from which the present size of a site is computed. A site that grows or shrinks is
compared with its recent size."""
WEEK_S = 6.5 * 86_400
"""If the good runs are from a shorter time, they may contain no weekend, so the bounds are wider."""
FALL, EARLY_FALL = 0.25, 0.5
"""The share by which a number of pages or rows may be below the median, after and before the first week."""
RISE = 3.0
"""The factor by which a number of rows may exceed all good runs."""
COVERAGE_FALL, RARE_FALL = 0.1, 0.7
"""The decrease in a field's coverage below all good runs that is permitted on sites of any size. For a field
that is not usual (`absence.USUAL_COVERAGE`), RARE_FALL is a share of the lowest coverage."""
MAX_SHARE = {"new": 0.8, "changed": 0.95, "gone": 0.5}
"""The shares of new, changed and gone items that are permitted on every site."""
VALUE_SHIFT = 70
"""The permitted difference between a field's mean magnitude and the good runs, in hundredths of a power of
ten. A difference of 70 is a factor of 5."""
SHARE_RISE = 0.3
"""The increase of such a share above the median that is permitted."""
MIN_SAMPLE = 10
"""Minimum number of items from which shares and means are compared."""
FEW = 5
"""If the good runs have fewer rows or pages of a template, their absence may be chance."""
DEVIATIONS = 4
"""The number of standard deviations that chance explains."""


class Unlike(NamedTuple):
    """One number of a run that is unlike the good runs. `name`: the kind and field, the kind, or the template.
    `text`: the number, and its usual value. `samples`: the counts whose sample pages show the difference, best
    first (`quality.SiteCounts`)."""

    site: str
    name: str
    text: str
    samples: tuple[str, ...] = ()


Counts = Mapping[str, int]
Name = TypeVar("Name")


def compare(now: RunRecord, good: Sequence[RunRecord], *, partial: bool = False) -> list[Unlike]:
    """Returns the numbers of a run that are unlike the good runs, the most basic first. `partial`: whether the
    run reads only pages that may have changed (`--refresh`), so that its numbers of rows say nothing.

    >>> nights = [RunRecord("c", f"2026-01-0{n}T00:00:00Z", {"pages": 40, "succeeded": 40}) for n in range(1, 9)]
    >>> compare(RunRecord("c", "2026-01-09T00:00:00Z", {"pages": 40, "succeeded": 38}), nights)
    []
    >>> compare(RunRecord("c", "2026-01-09T00:00:00Z", {"pages": 0, "succeeded": 0}), nights)[0].text
    'no page was read, 40 usually'
    """
    if not good:
        return []
    fall = FALL if _span_s(good) >= WEEK_S else EARLY_FALL
    of_now, of_good = _Run(now.counts), [_Run(run.counts) for run in good]
    found = _few_pages(of_now, of_good, fall)
    if not partial:
        templates = list(_templates(of_now, of_good, fall))
        found = templates + found if of_now.pages else found + templates
    found += [*_coverage(of_now, of_good), *_magnitudes(of_now, of_good)]
    if not partial:
        found += [*_rows(of_now, of_good, fall), *_fates(of_now, of_good)]
    return found


def line(found: Sequence[Unlike], now: RunRecord, good: Sequence[RunRecord]) -> str:
    """Returns the line that names the first difference, its template and a sample page. `good`: the good runs,
    newest first."""
    first = found[0]
    runs = (now, *good[:1])

    def sample(name: str) -> str:
        return next((run.samples[name] for run in runs if run.samples.get(name)), "")

    template = sample(f"q|{first.site}|t|{first.name.partition('.')[0]}")
    page = next(filter(None, map(sample, first.samples)), "")
    return "".join(
        (
            f"{UNLIKE}{f'{len(good)} good runs' if len(good) > 1 else 'good run'}: ",
            f"{first.site}: " if first.site else "",
            first.text,
            f", template {template}" if template else "",
            f", for example {page}" if page else "",
            f"; {len(found) - 1} more differences" if len(found) > 2 else "",
            "; 1 more difference" if len(found) == 2 else "",
        )
    )


class _Run:
    """The counts of a run, by subject."""

    def __init__(self, counts: Counts) -> None:
        self.pages = counts.get("succeeded", 0)
        self.items: dict[tuple[str, str], int] = defaultdict(int)
        """Maps each pair of a site and a kind to the number of items."""
        self.rejected: dict[tuple[str, str], int] = defaultdict(int)
        self.templates: dict[tuple[str, str], int] = defaultdict(int)
        self.fields: dict[tuple[str, str, str], int] = {}
        self.magnitudes: dict[tuple[str, str, str], int] = {}
        self.fates = {name: counts.get(f"fate:{name}", 0) for name in MAX_SHARE}
        for name, n in counts.items():
            if name.startswith("q|"):
                self._count(*name.split("|")[1:], n=n)
        told = any(name.startswith("fate:") for name in counts)
        self.seen = sum(self.items.values()) - sum(self.rejected.values()) if told else 0
        """The number of items, or 0 if no output stores the history of items."""

    def _count(self, site: str, what: str, *rest: str, n: int) -> None:
        match what, rest:
            case "p", (template,):
                self.templates[site, template] = n
            case "i", (kind,):
                self.items[site, kind] = n
            case "b", (kind,):
                self.rejected[site, kind] = n
            case "f", (kind, field):
                self.fields[site, kind, field] = n
            case "v", (kind, field):
                self.magnitudes[site, kind, field] = n

    def share(self, fate: str) -> float:
        of = self.seen + (self.fates["gone"] if fate == "gone" else 0)
        return min(1.0, self.fates[fate] / of) if of else 0.0

    def rows(self, of: tuple[str, str]) -> int:
        return self.items.get(of, 0) - self.rejected.get(of, 0)

    def pages_of(self, site: str) -> int:
        return sum(n for (of, _), n in self.templates.items() if of == site)


def _few_pages(now: _Run, good: Sequence[_Run], fall: float) -> list[Unlike]:
    before = [run.pages for run in good]
    usual = f"{median(before):.0f} usually"
    samples = tuple(f"q|{site}|p|{name}" for site, name in good[0].templates)
    if not now.pages and min(before) > 0 and (len(good) >= MIN_RUNS or min(before) >= MIN_SAMPLE):
        return [Unlike("", "pages", f"no page was read, {usual}", samples)]
    if _is_few(now.pages, before, fall):
        read = "1 page was" if now.pages == 1 else f"{now.pages} pages were"
        return [Unlike("", "pages", f"{read} read, {usual}", samples)]
    return []


def _templates(now: _Run, good: Sequence[_Run], fall: float) -> Iterable[Unlike]:
    for site, name in _names(run.templates for run in good):
        n, before = now.templates.get((site, name), 0), [run.templates.get((site, name), 0) for run in good]
        if _is_few(n, before, fall):
            read = "1 page" if n == 1 else f"{n} pages" if n else "no page"
            text = (
                f"{read} of template {name} {'was' if n < 2 else 'were'} read, {median(before):.0f} usually"
            )
            yield Unlike(site, name, text, (f"q|{site}|p|{name}",))


def _rows(now: _Run, good: Sequence[_Run], fall: float) -> Iterable[Unlike]:
    for of in _names(run.items for run in good):
        n, before, (site, kind) = now.rows(of), [run.rows(of) for run in good], of
        many = len(before) >= MIN_RUNS and n > RISE * max(before) + DEVIATIONS * MIN_SAMPLE
        samples = (f"q|{site}|e", f"q|{site}|i|{kind}")
        if many or _is_few(n, before, fall):
            yield Unlike(site, kind, f"{n} rows of kind {kind}, {median(before):.0f} usually", samples)
        elif len(before) >= MIN_RUNS:
            # the number of pages may be usual although half of them show nothing
            pages = now.pages_of(site)
            yields = [run.rows(of) / read for run in good if (read := run.pages_of(site))]
            expected = pages * min(yields, default=0)
            if n < (1 - FALL) * expected - 2 * math.sqrt(expected):
                usual = f"{median(yields) * pages:.0f} usually"
                yield Unlike(site, kind, f"{n} rows of kind {kind} on {pages} pages, {usual}", samples)


def _coverage(now: _Run, good: Sequence[_Run]) -> Iterable[Unlike]:
    for site, kind, field in _names(run.fields for run in good):
        of, n = (site, kind), now.items.get((site, kind), 0)
        before = [
            run.fields.get((site, kind, field), 0) / run.items[of]
            for run in good
            if run.items.get(of, 0) >= MIN_SAMPLE
        ]
        if n < MIN_SAMPLE or len(before) < MIN_RUNS:
            continue
        share, least = now.fields.get((site, kind, field), 0) / n, min(before)
        # one item more on either side, so that a share of 100 % does not exclude the first missing value
        likely = (least * n + 1) / (n + 2)
        chance = DEVIATIONS * math.sqrt(likely * (1 - likely) / n)
        usual = median(before)
        if share < least - max(COVERAGE_FALL if usual >= USUAL_COVERAGE else RARE_FALL * least, chance):
            text = f"field {kind}.{field} in {share:.0%} of {n} items, {usual:.0%} usually"
            yield Unlike(site, f"{kind}.{field}", text, (f"q|{site}|f|{kind}|{field}", f"q|{site}|i|{kind}"))


def _magnitudes(now: _Run, good: Sequence[_Run]) -> Iterable[Unlike]:
    for site, kind, field in _names(run.magnitudes for run in good):
        of = (site, kind, field)
        means = [_mean(run, of) for run in (now, *good) if run.fields.get(of, 0) >= MIN_SAMPLE]
        if len(means) <= MIN_RUNS or now.fields.get(of, 0) < MIN_SAMPLE:
            continue
        mean, *before = means
        beyond = max(min(before) - mean, mean - max(before))
        if beyond > VALUE_SHIFT:
            usual = f"{_value(median(before)):.4g} usually"
            text = f"field {kind}.{field} is about {_value(mean):.4g}, {usual}"
            yield Unlike(site, f"{kind}.{field}", text, (f"q|{site}|i|{kind}",))


def _fates(now: _Run, good: Sequence[_Run]) -> Iterable[Unlike]:
    if now.seen < MIN_SAMPLE:
        return
    for name, limit in MAX_SHARE.items():
        before = [run.share(name) for run in good if run.seen]
        if len(before) < MIN_RUNS:
            continue
        # the first of all runs finds only new items, so the median decides, and not the highest share
        share, usual = now.share(name), median(before)
        bound = max(limit, usual + SHARE_RISE)
        if share > bound + 2 * math.sqrt(limit * (1 - limit) / now.seen):
            yield Unlike("", name, f"{share:.0%} of {now.seen} items are {name}, {usual:.0%} usually")


def _is_few(n: int, before: Sequence[int], fall: float) -> bool:
    """Whether a number of pages or rows is unusually low. The tolerance for chance is that of a Poisson
    distribution, so that a small number is never low unless it is 0."""
    usual, least = median(before), min(before)
    if not n:
        enough = FEW if len(before) >= MIN_RUNS else 2 * MIN_SAMPLE
        return least > 0 and usual >= enough
    if len(before) < MIN_RUNS:
        return False
    usual = median(before[:LEVEL_RUNS])
    spread = 1.4826 * median(abs(one - usual) for one in before[:LEVEL_RUNS])
    bound = usual - max(fall * usual, 3 * spread) - math.sqrt(usual)
    return n < min(bound, 0.9 * least)


def _mean(run: _Run, of: tuple[str, str, str]) -> float:
    return run.magnitudes.get(of, 0) / run.fields[of]


def _value(magnitude: float) -> float:
    """Returns the value that has a magnitude (`quality.SiteCounts`)."""
    return float(10 ** (magnitude / 100) - 1)


def _span_s(good: Sequence[RunRecord]) -> float:
    times = [datetime.fromisoformat(run.at) for run in good]
    return (max(times) - min(times)).total_seconds()


def _names(runs: Iterable[Mapping[Name, int]]) -> list[Name]:
    return list(dict.fromkeys(name for run in runs for name in run))
