"""Operations that show several things of a crawl beside each other."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from gossamer.app.query.activity import read_activity
from gossamer.errors import UsageError
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.stats import Letter
from gossamer.frontier.summary import crawl_counts
from gossamer.operations import inputs, inputs_of_views, results_of_views
from gossamer.operations.context import OperationContext
from gossamer.operations.crawls import status_of
from gossamer.store.store import Store
from gossamer.worker.records import format_time

MAX_LETTERS = 20_000
"""Maximum number of dead letters that one request groups."""
REST = 20
"""The groups of a crawl whose dead letters grow are read again after this many times the seconds that it took."""
UNCOMPARED = ("elapsed", "pages_per_second")


class _KnownGroups(NamedTuple):
    """The groups of a crawl, which all viewers share. `state`: the numbers of dead letters, and of those ever written.
    `read_at` and `seconds`: when they were read, and how long it took."""

    groups: results_of_views.LetterGroups
    state: tuple[int, int]
    read_at: float
    seconds: float


_groups: WeakKeyDictionary[Store, dict[str, _KnownGroups]] = WeakKeyDictionary()


async def crawl_activity(context: OperationContext, given: inputs.OneCrawl) -> results_of_views.CrawlActivity:
    """Counts the requests of a crawl over time, by the class of their responses, in at most 60 periods."""
    record = await context.need(given.crawl)
    try:
        found = await asyncio.to_thread(read_activity, context.settings, given.crawl)
    except UsageError:
        found = None  # the crawl has just begun
    periods = [
        results_of_views.ActivityPeriod(
            at=format_time(at),
            requests=sum(statuses.values()),
            statuses={name: n for name, n in statuses.items() if n},
        )
        for at, statuses in (found.periods(0.0 if record.state in ENDED else time.time()) if found else [])
    ]
    return results_of_views.CrawlActivity(
        crawl=given.crawl,
        requests=found.requests if found else 0,
        seconds=found.seconds if found else 1,
        periods=periods,
    )


async def dead_groups(context: OperationContext, given: inputs.OneCrawl) -> results_of_views.LetterGroups:
    """Groups the dead letters of a crawl by reason and host, most first. At most 20,000 letters are read."""
    await context.need(given.crawl)
    counts = await crawl_counts(context.store, given.crawl)
    state = counts["dead"], counts["letter"]
    known = _groups.setdefault(context.store, {}).get(given.crawl)
    if known is not None and (
        known.state == state
        or (state[0] >= known.state[0] and time.monotonic() - known.read_at < known.seconds * REST)
    ):
        return known.groups
    began = time.monotonic()
    groups = await _read_groups(context, given.crawl)
    now = time.monotonic()
    _groups[context.store][given.crawl] = _KnownGroups(groups, state, now, now - began)
    return groups


async def _read_groups(context: OperationContext, crawl: str) -> results_of_views.LetterGroups:
    found: dict[tuple[str, str], list[Any]] = {}
    counted = 0
    is_complete = True
    async for letter in context.statistics.dead(crawl):
        if counted == MAX_LETTERS:
            is_complete = False
            break
        counted += 1
        group = found.setdefault((letter.reason, letter.host), [0, letter.at, letter])
        group[0] += 1
        group[1] = min(group[1], letter.at)
        if letter.at >= group[2].at:
            group[2] = letter
    groups = [_group(n, oldest, letter) for n, oldest, letter in found.values()]
    groups.sort(key=lambda one: (-one.letters, one.reason, one.host))
    return results_of_views.LetterGroups(crawl=crawl, counted=counted, is_complete=is_complete, groups=groups)


def _group(n: int, oldest: float, last: Letter) -> results_of_views.LetterGroup:
    return results_of_views.LetterGroup(
        reason=last.reason,
        host=last.host,
        letters=n,
        oldest=oldest,
        newest=last.at,
        sample=msgspec.to_builtins(last),
    )


async def crawl_compare(
    context: OperationContext, given: inputs_of_views.CompareCrawls
) -> results_of_views.CrawlComparison:
    """Compares the counts of two crawls, for example of two runs of the same site."""
    await context.need(given.crawl)
    await context.need(given.other)
    here = _counts(msgspec.to_builtins(await status_of(context, given.crawl)))
    there = _counts(msgspec.to_builtins(await status_of(context, given.other)))
    counts = [
        results_of_views.ComparedCount(
            name=name,
            here=here.get(name, 0),
            there=there.get(name, 0),
            change=round(100 * (here.get(name, 0) / there[name] - 1), 1) if there.get(name) else None,
        )
        for name in dict.fromkeys((*here, *there))
        if here.get(name, 0) or there.get(name, 0)
    ]
    return results_of_views.CrawlComparison(crawl=given.crawl, other=given.other, counts=counts)


def _counts(state: dict[str, Any]) -> dict[str, float]:
    """Returns the counts of a crawl. Those of a mapping are named `errors: timeout`."""
    found: dict[str, float] = {}
    for name, value in state.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in UNCOMPARED:
            found[name] = value
        elif name in ("errors", "skipped", "duplicates", "counters"):
            found |= {f"{name}: {key}": n for key, n in value.items()}
    return found
