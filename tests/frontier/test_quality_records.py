"""The quality records of a site: its last ten runs, each stored once, with unreadable records left out. The
second part tests the recent pages that many processes share."""

from __future__ import annotations

import pytest

from gossamer.frontier.crawls import forget_crawl
from gossamer.frontier.quality_records import GoodRuns, RecentPages
from gossamer.items.quality_gates import GateFailure, Window, count_visit, parse
from gossamer.model.quality import KEPT_RUNS, GoodRun, SitePart
from gossamer.store import keys
from gossamer.store.store import Store


async def test_the_last_good_runs_of_a_site(store: Store) -> None:
    runs = GoodRuns(store)
    for n in (*range(KEPT_RUNS + 2), KEPT_RUNS + 1):
        await runs.keep(
            "shop", GoodRun("c", f"2026-01-{n + 1:02}T00:00:00Z", 20, 1.0, 0.5, {"book.price": 0.9})
        )
    await store.guard(store.client.lpush(keys.quality("odd"), b"{"))
    found = await runs.load(["shop", "odd", "none"])
    assert [run.at[8:10] for run in found["shop"]] == [f"{n:02}" for n in range(KEPT_RUNS + 2, 2, -1)]
    assert (found["odd"], found["none"], await runs.load([])) == ([], [], {})
    assert 0 < await store.guard(store.client.ttl(keys.quality("shop"))) <= 400 * 86_400


class Process:
    """One process of a crawl with its window of recent pages, like `judging.RunJudge`."""

    def __init__(self, store: Store, name: str) -> None:
        self.name, self.lately = name, RecentPages(store, "c")
        self.window = Window({"shop": [parse("pause if coverage.price<0.9")]}, {})
        self.pages, self.counts = 0, dict[str, int]()

    async def saw(self, price: int) -> list[GateFailure]:
        visit = {"pages": 1, "succeeded": 1, "q|shop|p": 1, "q|shop|i|tea": 1, "q|shop|f|tea|price": price}
        self.pages += count_visit(self.counts, visit, "pages" in visit, dead=False)
        if self.pages < self.window.every:
            return []
        part = SitePart(self.name, self.pages, self.counts)
        self.pages, self.counts = 0, {}
        return self.window.saw(await self.lately.share(part))


@pytest.mark.parametrize("many", [1, 8, 50])
async def test_whatever_their_number_processes_see_together_what_changed_within_200_pages(
    store: Store, many: int
) -> None:
    all_of = [Process(store, f"p{n}") for n in range(many)]
    for n in range(800):
        assert await all_of[n % many].saw(1) == []
    tripped: dict[str, GateFailure] = {}
    for n in range(201):
        one = all_of[n % many]
        for trip in await one.saw(0):
            tripped[one.name] = trip
        if len(tripped) == many:
            break
    assert n <= (30 if many == 1 else 200)
    assert all(
        trip.reason.startswith("gate 'pause if coverage.price<0.9' over the last 1")
        for trip in tripped.values()
    )
    late = RecentPages(store, "c")
    await late.begin()  # a process does not count the pages that were visited before it started
    assert len(await late.share(SitePart("late", 1, {}))) == 1
    assert [await late.first("g"), await all_of[0].lately.first("g")] == [True, False]
    await late.begin(anew=True)
    assert await late.first("g")
    await forget_crawl(store, "c")
    assert [await store.guard(store.client.exists(key)) for key in (keys.lately("c"), keys.told("c"))] == [
        0,
        0,
    ]
