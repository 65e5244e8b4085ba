"""Computes the freshness of the copies in a crawl that visits its pages again. Some numbers are estimated
from the change rates of the pages. Other numbers are measured from the results of visits."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from gossamer import url as urls
from gossamer.config.redaction import mask
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls
from gossamer.recrawl import revisit_policy as policy
from gossamer.recrawl.page_schedule import SAMPLE_PAGES, PageSchedule
from gossamer.recrawl.page_table import PageTable
from gossamer.recrawl.revisit_rules import DAY_S
from gossamer.store import keys
from gossamer.store.store import Store

MAX_REPORTED = 10_000
"""The maximum number of reports of changed pages that the crawl has not read yet."""


class Freshness(msgspec.Struct, omit_defaults=False):
    """The freshness of a crawl at one moment. Shares are numbers from 0 to 1. `changes`, `budget`, `needed`
    and `saved` are numbers per day. Ages and intervals are in seconds."""

    at: float
    """The time at which the freshness was measured, in seconds since the epoch."""
    pages: int
    """Number of known pages."""
    queued: int
    """Number of known pages that are queued or being visited."""
    expected_stale: float | None = None
    """The mean share of time for which the copy of a page is expected to be stale."""
    stale_now: float | None = None
    """The share of pages that are expected to have changed since their last visit."""
    measured_stale: float | None = None
    """The share of time for which copies were stale, as measured by the visits that found a change. If a
    visit finds a change, the copy was stale for a part of the time since the previous visit. The stale part
    is estimated as half of the time since the previous visit if the page seldom changes, and as more than
    half if the page often changes."""
    changes: float = 0.0
    """The expected number of changes per day of all pages together."""
    budget: float = 0.0
    """The number of visits per day that the budget allows."""
    needed: float = 0.0
    """The number of visits per day that the schedule plans."""
    budget_used: float | None = None
    """The share of the budget that the crawl has used since the process began, or None in the first minute of
    the process."""
    saved: float | None = None
    """The number of visits per day that the schedule saves. A crawl with one interval for all pages would
    need this many more visits per day to keep its pages equally fresh."""
    never_changed: int = 0
    """Number of pages that were visited at least three times and never changed."""
    always_changed: int = 0
    """Number of pages that were visited at least three times and changed every time."""
    over_age: int = 0
    """Number of pages whose copies are older than the maximum age."""
    max_age: float = 0.0
    mean_interval: float | None = None
    """The mean planned time between two visits of a page."""
    revisits: int = 0
    """The number of visits so far, except the first visit of each page. Only a repeated visit of a page can
    reveal a change of the page."""
    changed: int = 0
    """The number of visits in `revisits` that found a change."""
    signals: float = 0.0
    """The number of signals that reported a page as changed. Signals come from sitemaps, feeds and users. A
    signal is counted when its page is next visited."""
    confirmed: float = 0.0
    """The number of `signals` after which the next visit found a change."""


def measure(
    schedule: PageSchedule, table: PageTable, now: int, budget: float, used: float | None
) -> Freshness:
    """Measures the freshness on a sample of the table. `budget`: the allowed visits per day. `used`: the
    share of the budget that was used."""
    counts = table.sums.counts(round(now - schedule.rules.max_age))
    found = Freshness(now, counts["pages"], counts["queued"], budget=budget, budget_used=used)
    found.never_changed, found.always_changed = counts["never"], counts["always"]
    found.revisits, found.changed = counts["visits"], counts["changed"]
    found.max_age = schedule.rules.max_age
    found.over_age = counts["old"]
    found.measured_stale = schedule.measured.share
    found.signals, found.confirmed = schedule.signals.signals, schedule.signals.confirmed
    sample = table.sums.sample(5 * SAMPLE_PAGES)
    if not sample:
        return found
    rates = [schedule.rate(one) for one in sample]
    spans = [max(1.0, one.due - one.last) / DAY_S for one in sample]
    n = len(sample)
    found.needed = found.pages * math.fsum(1 / days for days in spans) / n
    spans = [max(schedule.bounds.least, days * schedule.measured.lateness) for days in spans]
    shares = [policy.stale_share(rate, days) for rate, days in zip(rates, spans, strict=True)]
    ages = [policy.stale_now(rate, (now - one.last) / DAY_S) for rate, one in zip(rates, sample, strict=True)]
    more = schedule.measured.correction
    found.expected_stale, found.stale_now = (min(1.0, more * math.fsum(one) / n) for one in (shares, ages))
    found.changes = found.pages * math.fsum(rates) / n
    found.mean_interval = math.fsum(spans) / n * DAY_S
    if (mean := math.fsum(shares) / n) > 0:
        found.saved = (
            policy.uniform_visits(rates, found.pages, mean)
            - found.pages * math.fsum(1 / days for days in spans) / n
        )
    return found


async def publish(store: Store, crawl: str, found: Freshness) -> None:
    """Writes the freshness of a crawl to the store, where other processes can read it."""
    await _do(store, store.client.set(keys.freshness(crawl), msgspec.json.encode(found)))


async def read_freshness(store: Store, crawl: str) -> Freshness | None:
    """Returns the freshness that a crawl last published, or None."""
    raw = await _do(store, store.client.get(keys.freshness(crawl)))
    return msgspec.json.decode(raw, type=Freshness) if raw else None


class Reported(NamedTuple):
    """A page that was reported as changed. `certain`: True if a user reported the change, and False if a list
    such as a sitemap did."""

    url: str
    certain: bool


_UNCERTAIN = "~"
"""If the reason for a report is a list such as a sitemap, the report begins with this character. The prefix
is unambiguous because no URL begins with `~`."""


async def report_changed(store: Store, crawl: str, pages: Sequence[str], *, certain: bool = True) -> bool:
    """Reports pages as changed. If too many reports are still unread, stores no report and returns False."""
    key = keys.changed_pages(crawl)
    if await _do(store, store.client.llen(key)) + len(pages) > MAX_REPORTED:
        return False
    await _do(store, store.client.rpush(key, *(url if certain else _UNCERTAIN + url for url in pages)))
    return True


def urls_of_pages(texts: Sequence[str]) -> list[str]:
    """Returns the URLs of pages as a crawl knows them. Raises UsageError if a text is not an http(s) URL."""
    found = []
    for text in texts:
        if (url := urls.parse(text)) is None:
            raise UsageError(f"{mask(text[:200])!r} is not an http(s) URL")
        found.append(urls.split_credentials(url.partition("#")[0])[0])
    return found


async def report_pages(store: Store, crawl: str, found: Sequence[str]) -> int:
    """Reports pages as changed, and returns their number. Raises UsageError if the crawl does not visit its pages
    again, or if it has not yet read earlier reports."""
    await Crawls(store).need(crawl)
    if await read_freshness(store, crawl) is None:
        raise UsageError(f"crawl {crawl} does not visit its pages again: see gossamer crawl --revisit")
    if not await report_changed(store, crawl, found):
        raise UsageError(f"too many pages of {crawl} are reported already: try again in a minute")
    return len(found)


async def read_reported(store: Store, crawl: str, most: int) -> list[Reported]:
    """Returns the oldest reports, at most `most`."""
    found = await _do(store, store.client.lrange(keys.changed_pages(crawl), 0, most - 1))
    texts = [url.decode() for url in found]
    return [Reported(text.removeprefix(_UNCERTAIN), not text.startswith(_UNCERTAIN)) for text in texts]


async def drop_reported(store: Store, crawl: str, count: int) -> None:
    """Removes reports after they have been read and recorded."""
    await _do(store, store.client.ltrim(keys.changed_pages(crawl), count, -1))


async def _do(store: Store, call: Any) -> Any:
    return await store.guard(cast(Awaitable[Any], call))
