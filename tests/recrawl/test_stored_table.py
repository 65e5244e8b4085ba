"""The table of known pages in the store. Each outcome counts once, even if a process dies, and two processes
cannot both write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from gossamer.app.open_store import open_url
from gossamer.app.page_table_storage import SharedTableStorage
from gossamer.errors import InUse
from gossamer.frontier.crawls import forget_crawl
from gossamer.model.request import KnownPage
from gossamer.model.visit import KnownLine
from gossamer.recrawl import stored_table
from gossamer.recrawl.page_table import line_of
from gossamer.recrawl.page_table_chunks import CHUNK_PAGES
from gossamer.recrawl.revisit_rules import RevisitRules, rules_of
from gossamer.recrawl.scheduled_pages import ScheduledPages
from gossamer.recrawl.stored_table import VisitOutcomes
from gossamer.store import keys
from gossamer.store.store import Store

NOW, DAY = 1_800_000_000, 86_400


def rules() -> RevisitRules:
    found = rules_of("auto", "100/d", None, 60.0, ())
    assert found is not None
    return found


async def do(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


def freely(_: str) -> float:
    return 1e9


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator[Store]:
    found = await open_url(valkey_url, embedded=False)
    yield found
    await found.close()


async def opened(store: Store, now: int = NOW) -> tuple[SharedTableStorage, ScheduledPages]:
    home = SharedTableStorage(store, "c")
    pages = await home.open(rules(), do)
    pages.restore(now)
    return home, pages


async def taken(home: SharedTableStorage, pages: ScheduledPages, now: int = NOW) -> None:
    while await home.take_visits(pages, now, do):
        pass


def seen(numbers: range | list[int], now: int = NOW, said: str = "x") -> list[KnownLine]:
    return [
        KnownLine(f"https://{'ab'[n % 2]}.example/{n}", now, KnownPage(200, f'"{n}"', body=said, said=said))
        for n in numbers
    ]


def facts_of(pages: ScheduledPages) -> dict[int, Any]:
    """Returns all pages, without the numbers of their hosts."""
    return {one.id: one._replace(host=0) for one in pages.table.select("")}


async def test_a_second_process_reads_what_the_first_one_wrote(store: Store) -> None:
    home, pages = await opened(store)
    outcomes = VisitOutcomes(store, "c")
    await outcomes.add(seen(range(3 * CHUNK_PAGES)))
    await taken(home, pages)
    batch, chosen = pages.choose(NOW + 400 * DAY, 10, freely)
    await home.commit(do)
    await outcomes.add(seen([5, 7], NOW + DAY, "y"))
    await taken(home, pages, NOW + DAY)
    pages.store_facts(NOW + DAY)
    await home.commit(do)

    _, after = await opened(store, NOW + DAY)
    assert after.last_batch()[0] == batch
    assert {one.id for one in after.table.queued()} == {one.id for one in pages.table.queued()}
    assert len(chosen) == 10
    near = {number: page._replace(changes=0, days=0) for number, page in facts_of(after).items()}
    assert near == {n: page._replace(changes=0, days=0) for n, page in facts_of(pages).items()}
    assert {one.name: one.pages for one in after.table.sums.hosts(9)} == {"a.example": 192, "b.example": 192}
    assert after.schedule.measured == pages.schedule.measured
    assert sum(one.changed for one in after.table.select("")) == 2


async def test_an_outcome_that_is_reported_twice_counts_once(store: Store) -> None:
    home, pages = await opened(store)
    outcomes = VisitOutcomes(store, "c")
    await outcomes.add(seen([1]))
    await taken(home, pages)
    for _ in range(2):
        await outcomes.add(seen([1], NOW + DAY, "y"))
        await outcomes.add([KnownLine("https://a.example/0", NOW + DAY, KnownPage(500))])
    await taken(home, pages, NOW + DAY)
    found = {line_of(one).url[-1]: (one.visits, one.changed, one.failed) for one in pages.table.select("")}
    assert found == {"1": (1, 1, 0), "0": (0, 0, 1)}


async def test_inlinks_are_counted_once_and_read_by_the_next_process(store: Store) -> None:
    home, pages = await opened(store)
    outcomes = VisitOutcomes(store, "c")
    numbers = [7, 7 + stored_table.INLINK_CHUNKS, 2**64 - 1, 2**63]
    first, second = seen([1, 2])
    first.links, second.links = numbers[:3], numbers[:1]
    await outcomes.add([first, second])
    await taken(home, pages)
    first.links = numbers[:3]
    await outcomes.add([first])  # reported again by another worker, because the first worker was killed
    await taken(home, pages)
    await home.commit(do)
    home, pages = await opened(store)
    assert [pages.table.inlinks.of(number) for number in numbers] == [2, 1, 1, 0]
    (third,) = seen([3])
    third.links = [numbers[1]]
    await outcomes.add([third])
    await taken(home, pages)
    _, pages = await opened(store)
    assert [pages.table.inlinks.of(number) for number in numbers] == [2, 2, 1, 0]


async def test_of_two_processes_only_one_writes(store: Store) -> None:
    first, pages = await opened(store)
    second, others = await opened(store)
    await VisitOutcomes(store, "c").add(seen(range(4)))
    await taken(first, pages)
    await VisitOutcomes(store, "c").add(seen(range(4, 6)))
    with pytest.raises(InUse, match="another process"):
        await taken(second, others)
    await taken(first, pages)
    assert len(pages.table.select("")) == 6
    _, after = await opened(store)
    assert len(after.table.select("")) == 6


async def test_a_commit_whose_reply_was_lost_is_not_made_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, pages = await opened(store)
    await VisitOutcomes(store, "c").add(seen(range(2)))
    real: Callable[..., Awaitable[Any]] = stored_table.call_until_confirmed

    async def loses_the_reply(*args: Any) -> Any:
        await real(*args)
        raise ConnectionError

    monkeypatch.setattr(stored_table, "call_until_confirmed", loses_the_reply)
    with pytest.raises(ConnectionError):
        await home.take_visits(pages, NOW, do)
    monkeypatch.setattr(stored_table, "call_until_confirmed", real)
    await VisitOutcomes(store, "c").add(seen(range(2), NOW + DAY, "y"))
    await taken(home, pages, NOW + DAY)
    assert [(one.visits, one.changed) for one in pages.table.select("")] == [(1, 1), (1, 1)]
    assert facts_of((await opened(store))[1]).keys() == facts_of(pages).keys()


async def test_a_kill_before_the_commit_loses_no_outcome(store: Store) -> None:
    home, pages = await opened(store)
    await VisitOutcomes(store, "c").add(seen(range(2)))
    await home._stored.pull(do)
    pages.take_visits(NOW)  # the process dies here

    home, pages = await opened(store)
    assert not pages.table.select("")
    await taken(home, pages)
    assert len(pages.table.select("")) == 2


async def test_forgotten_pages_leave_no_chunk_almost_empty(store: Store) -> None:
    home, pages = await opened(store)
    await VisitOutcomes(store, "c").add(seen(range(4 * CHUNK_PAGES)))
    await taken(home, pages)
    every = pages.table.select("ORDER BY id")
    pages.table.forget_pages([one for n, one in enumerate(every) if n % 8])
    await home.commit(do)
    chunks = keys.stored_table("c", store.buckets).chunks
    assert await store.client.hlen(chunks) <= 3  # type: ignore[misc]
    _, after = await opened(store)
    assert facts_of(after).keys() == {one.id for n, one in enumerate(every) if not n % 8}


async def test_a_damaged_entry_is_skipped(store: Store) -> None:
    home, pages = await opened(store)
    key = keys.stored_table("c", store.buckets).outcomes
    await store.client.rpush(key, b"nothing")  # type: ignore[misc]
    await VisitOutcomes(store, "c").add(seen([1]))
    await taken(home, pages)
    assert len(pages.table.select("")) == 1
    assert await store.client.llen(key) == 0  # type: ignore[misc]


async def test_a_removed_crawl_leaves_no_key(store: Store) -> None:
    home, pages = await opened(store)
    await VisitOutcomes(store, "c").add(seen(range(4)))
    await taken(home, pages)
    pages.choose(NOW + 400 * DAY, 2, freely)
    await home.commit(do)
    await VisitOutcomes(store, "c").add(seen(range(4)))
    found = [key async for page in store.scan("*c:v?") for key in page]
    assert len(found) == 4
    assert all(keys.known(key.decode()) for key in found)
    await forget_crawl(store, "c")
    assert not [key async for page in store.scan("*c:v?") for key in page]
