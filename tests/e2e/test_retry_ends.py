"""The end of a crawl of which only retries are left: the wait is bounded, can be ended by a user, and follows
the schedule of the last command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.runs import job, rows, socket_of
from e2e.test_breakers import Ill, serving
from gossamer.app import runner
from gossamer.app.job import Job
from gossamer.app.open_store import open_existing_store, open_url
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.config import settings
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.retry_waits import only_retries
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.summary import Summary


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOOK_INTERVAL_S", 0.1)


async def dead(one: Job) -> list[tuple[str, str]]:
    async with open_existing_store(one.settings) as store:
        return [(letter.reason, letter.detail) async for letter in CrawlStatistics(store).dead("c")]


async def stopped_while_waiting(one: Job, ill: Ill) -> None:
    """Run the crawl until its only URL waits for a retry, and stop it."""
    stop = asyncio.Event()
    work = asyncio.create_task(crawl(one, stop=stop))
    await until_waiting(one, ill)
    stop.set()
    assert (await work).pending == 1


async def until_waiting(one: Job, ill: Ill) -> None:
    """Wait until the crawl has a URL that waits for a retry."""
    while not ill.asked or socket_of(Path(one.settings.data)) is None:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.02)
    store = await open_url(str(socket_of(Path(one.settings.data))), embedded=True)
    while await only_retries(store, "c") is None:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.02)
    await store.close()


async def ends(work: asyncio.Task[Summary], seconds: float = 20) -> Summary:
    return await asyncio.wait_for(work, seconds)


async def test_a_crawl_of_which_only_retries_are_left_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "RETRY_TIME_S", 2.0)
    ill = Ill(lambda n: 503 if n == 1 else 500 if n == 2 else 200)
    async with serving(ill) as origin:
        one = job([f"{origin}/{n}" for n in range(4)], tmp_path, retries=None)
        told: list[str] = []
        receivers = ExtraReceivers(warn=told.append)
        summary = await ends(asyncio.create_task(crawl(one, receivers=receivers)))
    assert (summary.state, summary.pages, summary.pending, summary.dead) == ("finished", 2, 0, 2)
    assert [line for line in told if "gossamer dead requeue c," in line] == told[-1:]
    assert summary.errors == {"http-5xx": 2}
    assert summary.adds_up()
    assert len(ill.asked) == 4, "the wait ends without another request"
    assert sorted(row["error"] or "" for row in rows(tmp_path / "out.jsonl")) == [
        "",
        "",
        "http-5xx",
        "http-5xx",
    ]
    assert sorted(await dead(one)) == [("http-5xx", "HTTP 500"), ("http-5xx", "HTTP 503")]


async def test_a_host_whose_robots_txt_cannot_be_read_holds_no_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "RETRY_TIME_S", 2.0)
    async with serving(Ill(lambda n: 200)) as origin, serving(Ill(lambda n: 200)) as gone:
        pass
    async with serving(Ill(lambda n: 200)) as origin:
        one = job([f"{origin}/a", f"{gone}/a", f"{gone}/b"], tmp_path, retries=None)
        summary = await ends(asyncio.create_task(crawl(one)))
    assert (summary.state, summary.pages, summary.pending, summary.dead) == ("finished", 1, 0, 2)
    assert summary.errors == {"robots-unreachable": 2}


async def test_a_retry_within_the_time_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "RETRY_TIME_S", 8.0)
    monkeypatch.setattr(settings, "DEFAULT_RETRIES", (1.0, 60.0))
    ill = Ill(lambda n: 500 if n in (0, 1, 3) else 200)
    async with serving(ill) as origin:
        one = job([f"{origin}/{n}" for n in range(2)], tmp_path, retries=None)
        summary = await ends(asyncio.create_task(crawl(one)))
    assert (summary.state, summary.pages, summary.dead) == ("finished", 1, 1)
    assert len(ill.asked) == 4, "each failed URL has had its first retry, and the second one is too late"


async def test_who_gives_retries_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "RETRY_TIME_S", 0.1)
    ill = Ill(lambda n: 200 if n else 500)
    async with serving(ill) as origin:
        summary = await crawl(job([f"{origin}/a"], tmp_path, retries=(2.0,)))
    assert (summary.state, summary.pages, summary.dead) == ("finished", 1, 0)


@pytest.mark.parametrize(("retries", "pages", "died"), [((), 0, 1), ((0.1,), 1, 0)])
async def test_a_resumed_crawl_applies_its_retries_to_what_waits(
    tmp_path: Path, retries: tuple[float, ...], pages: int, died: int
) -> None:
    ill = Ill(lambda n: 200 if n else 500)
    async with serving(ill) as origin:
        await stopped_while_waiting(job([f"{origin}/a"], tmp_path, retries=(3600.0,)), ill)
        summary = await ends(asyncio.create_task(crawl(job([f"{origin}/a"], tmp_path, retries=retries))))
    assert (summary.state, summary.pages, summary.dead) == ("finished", pages, died)
    assert len(ill.asked) == 1 + pages, "without retries, the URL is not requested again"


async def test_a_user_ends_the_wait(tmp_path: Path) -> None:
    ill = Ill(lambda n: 429)
    async with serving(ill) as origin:
        one = job([f"{origin}/a"], tmp_path, retries=(3600.0,))
        work = asyncio.create_task(crawl(one))
        await until_waiting(one, ill)
        store = await open_url(str(socket_of(Path(one.settings.data))), embedded=True)
        await Crawls(store).finish("c")
        await store.close()
        summary = await ends(work)
    assert (summary.state, summary.pending, summary.dead) == ("finished", 0, 1)
    assert summary.errors == {"rate-limited": 1}
