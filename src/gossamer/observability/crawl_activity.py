"""Computes the current figures of a crawl: its rates in the last minutes, the age of its last page, its
response times and, if the crawl gets no pages, the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.frontier.crawls import UNDER_WAY
from gossamer.frontier.recent_rates import LaneRate, lane_rates, recent_rates
from gossamer.frontier.stats import CrawlStatistics
from gossamer.frontier.summary import crawl_counts
from gossamer.model.response_times import BOUNDS_S, quantile
from gossamer.model.summary import Summary
from gossamer.observability.why_idle import QUIET_S, Idle, why_idle


class ResponseTimes(msgspec.Struct, frozen=True):
    """Response times of a crawl's requests in seconds."""

    mean: float
    p50: float
    p95: float


class Current(msgspec.Struct, frozen=True):
    """The current figures of a crawl."""

    pages: tuple[float, float]
    """Pages per second in the last minute and in the last ten minutes."""
    requests: tuple[float, float]
    """Requests per second in the last minute and in the last ten minutes."""
    last_page_age: float | None
    """Seconds since the last page, or None before the first page."""
    response: ResponseTimes | None
    """The response times of the crawl's requests, or None before the first request."""
    idle: Idle | None
    """The reason why a crawl under way gets no pages. The reason is determined if the crawl's state is not
    `running`, or if the crawl got no page in the last QUIET_S seconds. If the crawl gets pages or has ended,
    `idle` is None."""
    lanes: Sequence[LaneRate] = ()
    """Pages per second for each group of workers with the same lanes and region. `lanes` is empty unless the
    crawl is a running crawl of a fleet. Workers without a region are left out if they serve only the lane
    `http`."""

    def plain(self) -> dict[str, Any]:
        """Returns the values as `status --json` prints them."""
        return {
            "pages_per_second": _windows(self.pages),
            "requests_per_second": _windows(self.requests),
            "last_page_age": None if self.last_page_age is None else round(self.last_page_age, 1),
            "response_seconds": msgspec.to_builtins(self.response),
            "idle": None if self.idle is None else self.idle._asdict(),
            "lanes": [
                {"lanes": one.lanes, "region": one.region, "pages_per_second": _windows(one.pages)}
                for one in self.lanes
            ],
        }


def _windows(rates: tuple[float, float]) -> dict[str, float]:
    return {"1m": round(rates[0], 3), "10m": round(rates[1], 3)}


async def current_figures(statistics: CrawlStatistics, summary: Summary) -> Current:
    """Returns the current figures of a crawl. `summary`: its state decides whether the crawl is under way, because
    the record of a crawl whose process died still says `running`."""
    record, now = await statistics.crawls.need(summary.crawl), await statistics.now()
    (recent,) = await recent_rates(statistics.store, [record.name], now, [record.started_at])
    age = None if recent.last is None else max(0.0, now - recent.last)
    going = summary.state in UNDER_WAY
    quiet = going and (summary.state != "running" or age is None or age > QUIET_S)
    return Current(
        recent.pages if going else (0.0, 0.0),
        recent.requests if going else (0.0, 0.0),
        age,
        await _response_times(statistics, record.name),
        await why_idle(statistics, record, summary) if quiet else None,
        await lane_rates(statistics.store, record.name, now, record.started_at)
        if going and record.fleet
        else (),
    )


async def _response_times(statistics: CrawlStatistics, name: str) -> ResponseTimes | None:
    """Returns the response times over all collectors."""
    counts = await crawl_counts(statistics.store, name)
    intervals, tenths = [0] * (len(BOUNDS_S) + 1), 0
    for field, n in counts.items():
        what, _, rest = field.partition("|")
        if what == "le":
            intervals[int(rest.rpartition("|")[2])] += n
        elif what == "seconds":
            tenths += n
    total = sum(intervals)
    if not total:
        return None
    mean = tenths / 10_000 / total
    return ResponseTimes(
        round(mean, 4), quantile(0.5, intervals, mean) or 0.0, quantile(0.95, intervals, mean) or 0.0
    )
