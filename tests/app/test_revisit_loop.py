"""Tests of the loop that schedules revisits of known pages, on a real store with an artificial clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Job, Setup
from gossamer.app.open_store import open_url
from gossamer.app.page_table_storage import Do, FolderTableStorage, SharedTableStorage
from gossamer.app.revisit_loop import RevisitLoop
from gossamer.app.revisit_setup import FleetSignals, rules_of_job, with_site_rules
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, UsageError
from gossamer.frontier.crawls import Spec
from gossamer.model.request import KnownPage, Request
from gossamer.model.site import Site
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import KnownLine, Settle
from gossamer.recrawl.freshness import read_freshness, read_reported, report_changed
from gossamer.recrawl.known_pages import TABLE_NAME
from gossamer.recrawl.page_table import VisitInbox, line_of
from gossamer.recrawl.scheduled_pages import ScheduledPages
from gossamer.recrawl.stored_table import VisitOutcomes
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store

HOUR, DAY = 3600.0, 86_400.0
URL = "https://a.example/"


class OutcomesAtHand(SharedTableStorage):
    """Storage of the page table in the store. `reports` is added to the list of visit outcomes before this
    list is read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "c")
        self.refuses, self.reports, self._list = True, list[KnownLine](), VisitOutcomes(store, "c")

    async def take_visits(self, pages: ScheduledPages, now: int, do: Do) -> bool:
        lines, self.reports = self.reports, []
        await self._list.add(lines)
        return await super().take_visits(pages, now, do)


class Desk:
    """A crawl of one host, with a revisit loop that the test runs step by step. `on_fleet`: the page table
    is in the store, not in a folder."""

    def __init__(self, store: Store, folder: Path, on_fleet: bool) -> None:
        self.store, self.folder, self.told, self.on_fleet = store, folder, list[str](), on_fleet
        self.wall, self.mono = 1_800_000_000.0, 1000.0
        (folder / "c").mkdir(parents=True)

    async def open(self, **given: Any) -> RevisitLoop:
        """Open the revisit loop."""
        options: dict[str, Any] = {"revisit": "auto", "revisit_budget": "2400/d", "delay": (0.0, 0.0)} | given
        settings = Settings(data=str(self.folder), per_host=100, ignore_robots=True, **options)
        job = Job(targets=[URL], settings=settings)
        setup = Setup(job=job, crawl="c", spec=Spec(job.targets), store="", seeds=[URL], allowed=[])
        rules = rules_of_job(job)
        assert rules is not None
        home = OutcomesAtHand(self.store) if self.on_fleet else FolderTableStorage(self.folder / "c")
        self.loop = RevisitLoop(
            setup, self.store, rules, self.told.append, lambda: self.wall, lambda: self.mono, home
        )
        self.home, self.adds = home, Enqueuer(setup, self.store)
        await self.loop.open(self.adds)
        return self.loop

    def see(self, paths: list[str], said: str = "x") -> None:
        """Report a visit of each path."""
        known = KnownPage(200, body=said, said=said)
        self.report([KnownLine(f"{URL}{path}", int(self.wall), known) for path in paths])

    def report(self, lines: list[KnownLine]) -> None:
        """Write outcomes to the place from which the loop reads them."""
        if isinstance(self.home, OutcomesAtHand):
            self.home.reports += lines
            return
        inbox = VisitInbox(self.folder / "c" / TABLE_NAME)
        inbox.write(lines)
        inbox.close()

    async def pass_time(self, seconds: float) -> None:
        """Advance both clocks minute by minute, and run one step of the loop per minute."""
        for _ in range(round(seconds / 60)):
            self.wall, self.mono = self.wall + 60, self.mono + 60
            await self.loop.tick()

    async def visit(self) -> list[str]:
        """Visit the queued pages, and return their paths."""
        paths = []
        bucket = bucket_of("a.example", self.store.buckets)
        while claims := (await self.adds.frontier.claim(bucket, 64)).claims:
            paths += [one.request.url.removeprefix(URL) for one in claims]
            self.see(paths[-len(claims) :])
            await self.adds.frontier.settle(
                bucket, [Settle(one.token, ClaimEnd.DONE) for one in claims], {}, {}
            )
        return paths


@pytest.fixture(params=["folder", "store"])
async def desk(request: pytest.FixtureRequest, valkey_url: str, tmp_path: Path) -> AsyncIterator[Desk]:
    store = await open_url(valkey_url, embedded=False)
    desk = Desk(store, tmp_path, request.param == "store")
    yield desk
    await desk.loop.close()
    await store.close()


async def test_the_budget_is_spent_evenly(desk: Desk) -> None:
    await desk.open(min_age=1.0)
    desk.see([str(n) for n in range(300)])
    await desk.loop.tick()
    await desk.pass_time(HOUR)
    assert 98 <= len(await desk.visit()) <= 101, "2,400 a day are 100 an hour"
    assert desk.loop.budget.used == pytest.approx(1.0, abs=0.02)


async def test_a_pause_does_not_save_up_budget(desk: Desk) -> None:
    await desk.open(min_age=1.0)
    desk.see([str(n) for n in range(300)])
    await desk.loop.tick()
    desk.wall, desk.mono = desk.wall + DAY, desk.mono + DAY
    await desk.loop.tick()
    assert len(await desk.visit()) <= 3


async def test_a_clock_that_is_set_is_told_and_bounded(desk: Desk) -> None:
    await desk.open(min_age=1.0)
    desk.see([str(n) for n in range(10)])
    await desk.pass_time(120)
    ages = {one.id: one.due - desk.wall for one in desk.loop.pages.table.sums.sample(20)}
    desk.wall -= 500 * DAY
    await desk.loop.tick()
    assert "set back by 43,200,000 s" in desk.told[-1]
    now = {one.id: one.due - desk.wall for one in desk.loop.pages.table.sums.sample(20)}
    assert all(abs(now[one] - ages[one]) < 2 for one in ages)
    desk.wall += 900 * DAY
    await desk.loop.tick()
    assert "jumped ahead" in desk.told[-1]
    assert len(await desk.visit()) <= 8


async def test_a_batch_that_a_kill_cut_off_is_queued_by_the_next_run(desk: Desk) -> None:
    loop = await desk.open(min_age=1.0)
    desk.see(["1", "2", "3"])
    await loop.tick()
    _, chosen = await loop._change(loop.pages.choose, int(desk.wall + HOUR), 2, lambda _: 1e9)
    await loop.close()
    loop = await desk.open(min_age=1.0)
    await loop._queue(*loop.pages.last_batch())
    await loop._queue(*loop.pages.last_batch())
    assert len(await desk.visit()) == len(chosen) == 2


async def test_lost_visits_are_made_up_for(desk: Desk) -> None:
    loop = await desk.open(min_age=1.0)
    desk.see(["1", "2", "3"])
    await loop.tick()
    await loop._change(loop.pages.choose, int(desk.wall + HOUR), 3, lambda _: 1e9)
    desk.mono += 60
    await desk.pass_time(HOUR)
    assert sorted(set(await desk.visit())) == ["1", "2", "3"]


async def test_a_page_that_a_user_reports_is_visited_next(desk: Desk) -> None:
    loop = await desk.open(revisit="20h", min_age=1.0)
    desk.see([str(n) for n in range(5)])
    await loop.tick()
    await desk.pass_time(600)
    assert await desk.visit() == []
    assert await report_changed(desk.store, "c", [f"{URL}3"])
    await desk.pass_time(120)
    assert await desk.visit() == ["3"]


async def test_signals_of_a_list_that_another_process_watches_make_pages_due_sooner(desk: Desk) -> None:
    loop = await desk.open(revisit="20h", min_age=1.0)
    desk.see([str(n) for n in range(5)])
    await loop.tick()
    assert await FleetSignals(desk.store, "c").signal([Request(f"{URL}3"), Request(f"{URL}new")]) is None
    await loop.tick()
    found = {line_of(one).url: one.signals for one in loop.pages.table.select("")}
    assert found == {f"{URL}{n}": int(n == 3) for n in range(5)}
    assert await read_reported(desk.store, "c", 10) == []


async def test_the_report_is_in_the_store_and_a_small_budget_is_told(desk: Desk) -> None:
    loop = await desk.open(max_age=600.0, min_age=1.0)
    desk.see([str(n) for n in range(100)])
    await loop.tick()
    await desk.pass_time(60)
    found = await read_freshness(desk.store, "c")
    assert found is not None
    assert (found.pages, found.budget) == (100, 2400.0)
    assert "100 pages need 15,158 visits a day for --max-age, and the budget allows 2,400" in desk.told[-1]


async def test_pages_that_the_scope_no_longer_allows_are_forgotten(desk: Desk) -> None:
    await desk.open(min_age=1.0)
    desk.report([KnownLine("https://other.example/", int(desk.wall), KnownPage(200, body="1"))])
    desk.see(["1"])
    await desk.pass_time(HOUR)
    assert set(await desk.visit()) == {"1"}
    assert desk.loop.pages.table.sums.page_count() == 1


class Loaded:
    """A loaded site file."""

    def __init__(self, site: Site) -> None:
        self.site, self.name = site, site.name


def test_a_site_file_names_the_rules_and_options_come_first() -> None:
    news: Any = Loaded(Site("news", revisit="auto", max_age="7d", importance={"/a/": 3}))
    job = with_site_rules(Job(targets=["x"], settings=Settings(max_age=60.0)), [news])
    assert (job.settings.revisit, job.settings.max_age) == ("auto", 60.0)
    assert job.settings.importance == ("/a/=3",)
    shop: Any = Loaded(Site("shop", revisit="24h"))
    with pytest.raises(ConfigError, match="news, shop set different values of revisit"):
        with_site_rules(Job(targets=["x"], settings=Settings()), [news, shop])
    with pytest.raises(UsageError, match="exclude one another"):
        with_site_rules(Job(targets=["x"], settings=Settings(revisit="auto"), refresh=True), [])
