"""Computes the current speed of a crawl and the time of its last page, from the counts that `settle.lua`
keeps for each period of 10 s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gossamer.store import keys
from gossamer.store.store import Store

PERIOD_S = 10
MINUTE, TEN_MINUTES = 6, 60
"""The number of complete periods in each of the two windows over which rates are computed. Each window also
includes the current period, which is still incomplete."""


class RecentRates(NamedTuple):
    """Pages and requests per second in the last minute and in the last ten minutes. `last`: the time of the
    last page in seconds since the epoch, or None if no page was fetched yet."""

    pages: tuple[float, float] = (0.0, 0.0)
    requests: tuple[float, float] = (0.0, 0.0)
    last: float | None = None


class LaneRate(NamedTuple):
    """Pages per second of the workers of one lane and region, in the last minute and in the last ten minutes.
    `lanes`: the lanes of the workers, joined by `+`. `region`: the region of the workers, or '' if the
    workers have no region."""

    lanes: str
    region: str
    pages: tuple[float, float]


async def recent_rates(
    store: Store, crawls: Sequence[str], now: float, began: Sequence[float]
) -> list[RecentRates]:
    """Returns the recent rates of each crawl. `now`: the store's time. `began`: the start time of each crawl
    in `crawls`. All times are in seconds since the epoch. If a crawl began later than the window of a rate,
    the rate is measured from the beginning of the crawl."""
    pipe = store.client.pipeline(transaction=False)
    for name in crawls:
        for bucket in range(store.buckets):
            pipe.hgetall(f"{keys.tag(bucket)}{name}:rp")
    found = await store.guard(pipe.execute()) if crawls else []
    return [
        _recent(found[j * store.buckets : (j + 1) * store.buckets], now, start)
        for j, start in enumerate(began)
    ]


async def lane_rates(store: Store, crawl: str, now: float, began: float) -> list[LaneRate]:
    """Returns the recent rates of a crawl, grouped by the lanes and the region of its workers. Excludes
    workers that serve only the lane `http` and have no region. The arguments are those of `recent_rates`."""
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hgetall(f"{keys.tag(bucket)}{crawl}:rl")
    found: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    for fields in await store.guard(pipe.execute()):
        for field, value in fields.items():
            lanes, region, _ = field.decode().split("|")
            number, pages = map(int, value.split(b","))
            periods = found.setdefault((lanes, region), {})
            periods[number] = (periods.get(number, (0, 0))[0] + pages, 0)
    return [
        LaneRate(lanes, region, rates_of(periods, 0, now, began).pages)
        for (lanes, region), periods in sorted(found.items())
    ]


def _recent(buckets: Sequence[dict[bytes, bytes]], now: float, began: float) -> RecentRates:
    periods, last = dict[int, tuple[int, int]](), 0
    for fields in buckets:
        for field, value in fields.items():
            if field == b"at":
                last = max(last, int(value))
                continue
            number, pages, requests = map(int, value.split(b","))
            some = periods.get(number, (0, 0))
            periods[number] = (some[0] + pages, some[1] + requests)
    return rates_of(periods, last, now, began)


def rates_of(periods: Mapping[int, tuple[int, int]], last: int, now: float, began: float) -> RecentRates:
    """Calculates the rates. `periods`: maps the number of a period to its pages and requests. `last`: the
    time of the last page in ms, or 0 if there is none."""
    current = int(now) // PERIOD_S
    rates = []
    for window in (MINUTE, TEN_MINUTES):
        span = max(1.0, min(window * PERIOD_S + now % PERIOD_S, now - began))
        some = [both for number, both in periods.items() if current - window <= number <= current]
        rates.append((sum(pages for pages, _ in some) / span, sum(requests for _, requests in some) / span))
    (minute, ten) = rates
    return RecentRates((minute[0], ten[0]), (minute[1], ten[1]), last / 1000 if last else None)
