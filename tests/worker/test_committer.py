"""Group commit. No claim is settled before its rows are durable, and rows of claims that were not settled are
removed."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import DiskFull, SinkAway, SinkError
from gossamer.model.visit import PageRecord, Row, Settle, Visit
from gossamer.store.store import Store
from gossamer.worker import committer as committing
from gossamer.worker.outputs import OutageRules, Outputs
from worker.worker_parts import SEED, Make, Net, Road, links, until

URLS = [f"http://a.example/{k}" for k in range(6)]


def rows(path: Path) -> list[str]:
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]


def row(url: str) -> Row:
    nothing = {name: None for name in PageRecord.__struct_fields__ if name not in ("text", "out_links")}
    return Row("page", url, PageRecord(**nothing | {"url": url}))  # type: ignore[arg-type] # only the URL matters


async def claimed(road: Road, *found: str) -> list[Visit]:
    """Returns visits of new claims, each with a row."""
    await road.add(*found)
    claims = await road.claim(len(found))
    assert len(claims) == len(found)
    return [
        Visit(
            claim,
            Settle(claim.token, "d", since=0),
            rows=[row(claim.request.url)],
            counts={"pages": 1, "found": 0},
        )
        for claim in claims
    ]


async def commit(road: Road, *visits: Visit) -> None:
    """Hand visits over to the committer and commit all of them."""
    for visit in visits:
        road.committer.put(visit)
    road.committer.close()
    await road.committer.run()


class Table:
    """A database sink whose upserts can be slow or fail."""

    def __init__(self, wait: float = 0.0, error: Exception | None = None) -> None:
        self.wait, self.error, self.keys = wait, error, list[str]()

    def target(self) -> str:
        return "table"

    def prepare(self) -> int:
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        time.sleep(self.wait)
        if self.error is not None:
            raise self.error
        self.keys += [row.key for row in rows]

    def close(self) -> None:
        """Does nothing, because the sink holds no resources."""


async def test_rows_are_there_when_claims_are_settled(road: Make) -> None:
    table = road(Net())
    await table.outputs.open()
    await commit(table, *await claimed(table, *URLS))
    assert sorted(rows(table.path)) == URLS
    n = await table.counts()
    assert (n["pages"], n["open"], await table.leases()) == (6, 0, 0)
    assert (await table.frontier.lengths([str(table.path)])) == [table.path.stat().st_size]
    table.outputs.release()


async def test_committed_rows_are_sent_while_the_crawl_goes_on(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = road(Net())
    await table.outputs.open()
    sent: list[int] = []

    async def ship() -> None:
        sent.append(len(rows(table.path)))

    monkeypatch.setattr(table.outputs, "ship", ship)
    running = asyncio.create_task(table.committer.run())
    table.committer.put((await claimed(table, URLS[0]))[0])
    await until(lambda: sent == [1])
    assert not running.done()
    table.committer.close()
    await running
    table.outputs.release()


async def test_a_row_that_a_file_refuses_is_counted_with_its_visit(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies after the settle has counted the row, although no later visit counts it."""
    table = road(Net())
    await table.outputs.open()
    sink: Any = table.outputs._all()[0]
    sink.refused, append = [], sink.append

    def refusing(committed: int, some: Any) -> Any:
        sink.refused.append(some[0])
        return append(committed, some)

    async def die() -> None:
        raise RuntimeError("the process dies")

    monkeypatch.setattr(sink, "append", refusing)
    monkeypatch.setattr(table.outputs, "ship", die)
    table.committer.put((await claimed(table, URLS[0]))[0])
    table.committer.close()
    with pytest.raises(RuntimeError):
        await table.committer.run()
    assert (await table.counts())["fate|page|r"] == 1
    table.outputs.release()


async def test_a_stale_token_leaves_no_row(road: Make) -> None:
    table = road(Net())
    await table.outputs.open()
    visits = await claimed(table, *URLS)
    await table.frontier.requeue_expired(0, nobody_lives=True)
    again = await table.claim(2)
    for visit, claim in zip(visits, again, strict=False):
        visit.claim, visit.settle.token, visit.rows = claim, claim.token, [row(claim.request.url)]
    await commit(table, *visits)
    assert sorted(rows(table.path)) == sorted(claim.request.url for claim in again)
    assert table.committer.refused == 4
    n = await table.counts()
    assert (n["pages"], n["open"]) == (2, 4)
    assert await table.adds_up()
    table.outputs.release()


async def test_when_all_tokens_are_stale_the_file_is_as_before(road: Make) -> None:
    table = road(Net())
    await table.outputs.open()
    first = await claimed(table, URLS[0])
    await commit(table, *first)
    before = table.path.read_bytes()
    visits = await claimed(table, *URLS[1:])
    await table.frontier.requeue_expired(0, nobody_lives=True)
    await commit(table, *visits)
    assert table.path.read_bytes() == before
    assert (await table.counts())["pages"] == 1
    table.outputs.release()


async def test_the_links_of_a_refused_visit_are_not_lost(road: Make) -> None:
    """The worker remembers the links as taken, so it treats them as known when it reads the page again."""
    table = road(Net({SEED: links(*URLS)}))
    await table.outputs.open()
    await table.add(SEED)
    visits: list[Visit] = []
    await table.visitor.visit(await table.claim(), visits.append)
    await table.frontier.requeue_expired(0, nobody_lives=True)
    again: list[Visit] = []
    await table.visitor.visit(await table.claim(), again.append)
    await commit(table, *visits, *again)
    assert table.committer.refused == 1
    assert rows(table.path) == [SEED]
    assert sorted(claim.request.url for claim in await table.claim()) == URLS
    assert await table.adds_up()
    table.outputs.release()


async def test_a_length_that_somebody_else_committed_settles_nothing(road: Make, store: Store) -> None:
    table = road(Net())
    await table.outputs.open()
    visits = await claimed(table, *URLS)
    await store.client.hset("{b:000}c:f", str(table.path), 10_000)
    with pytest.raises(SinkError, match=r"out\.jsonl"):
        await commit(table, *visits)
    assert await table.leases() == 6
    assert (await table.counts()).get("pages", 0) == 0
    table.outputs.release()


async def test_two_processes_share_a_file(road: Make, store: Store) -> None:
    one, two = road(Net()), road(Net())
    for each in (one, two):
        each.outputs._alone = False
    await one.outputs.open()
    await two.outputs.open()
    visits = await claimed(one, *URLS)
    await asyncio.gather(commit(one, *visits[:3]), commit(two, *visits[3:]))
    assert sorted(rows(one.path)) == URLS
    one.outputs.release()
    two.outputs.release()


async def test_a_tail_that_nobody_committed_is_cut_when_the_crawl_resumes(road: Make) -> None:
    table = road(Net())
    await table.outputs.open()
    await commit(table, *await claimed(table, *URLS[:3]))
    table.outputs.release()
    whole = table.path.read_bytes()
    with table.path.open("ab") as file:
        file.write(b'{"url": "http://a.exam')
    again = road(Net())
    await again.outputs.open()
    assert again.path.read_bytes() == whole
    again.outputs.release()


@pytest.mark.parametrize("error", [SinkError("no"), DiskFull("full"), RuntimeError("bug")])
async def test_a_sink_that_fails_settles_nothing(road: Make, error: Exception) -> None:
    table = road(Net(), tables=(Table(error=error),))
    await table.outputs.open()
    with pytest.raises(type(error)):
        await commit(table, *await claimed(table, *URLS))
    assert await table.leases() == 6
    assert (await table.counts()).get("pages", 0) == 0
    assert table.path.read_bytes() == b""
    table.outputs.release()


async def test_a_sink_that_fails_ends_the_worker(road: Make) -> None:
    table = road(Net(), tables=(Table(error=SinkError("the table is gone")),))
    await table.add(SEED)
    with pytest.raises(SinkError, match="the table is gone"):
        await table.run()
    assert (await table.leases(), (await table.counts())["open"]) == (0, 1), "it is in the queue again"


async def test_a_slow_sink_holds_no_host_up(road: Make) -> None:
    """The slots of finished requests are freed before their rows are durable."""
    net = Net({SEED: links(*URLS)})
    table = road(net, tables=(Table(wait=2.5),), per_host=1)
    await table.add(SEED)
    running = asyncio.create_task(table.run())
    await until(lambda: len(net.asked) >= 1)
    await table.add("http://a.example/other")
    await until(lambda: len(net.asked) >= 2, 2.2)
    assert (await table.counts()).get("pages", 0) == 0, "the first page is not durable yet"
    assert await running == "finished"
    assert sorted(net.asked) == sorted([SEED, "http://a.example/other", *URLS])
    assert sorted(rows(table.path)) == sorted(net.asked)


async def test_a_host_is_asked_again_before_the_rows_of_its_last_page_are_durable(road: Make) -> None:
    net, table, go = Net(), Table(), threading.Event()
    upsert = table.upsert
    table.upsert = lambda rows: (go.wait(30), upsert(rows))[1]  # type: ignore[method-assign]
    parts = road(net, tables=(table,), per_host=1)
    await parts.add(*URLS[:6])
    running = asyncio.create_task(parts.run())
    await until(lambda: len(net.asked) == 6)
    assert (await parts.counts()).get("pages", 0) == 0, "no page is durable yet"
    go.set()
    assert await running == "finished"
    assert sorted(rows(parts.path)) == sorted(net.asked) == sorted(URLS[:6])
    assert await parts.adds_up()


async def test_rows_are_on_the_disk_before_their_claims_are_settled(
    road: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, steps, sync = road(Net()), list[str](), getattr(os, "fdatasync", os.fsync)
    await table.outputs.open()
    visits, settle = await claimed(table, *URLS), table.frontier.settle_all

    def synced(fd: int) -> None:
        sync(fd)
        steps.append(f"{len(rows(table.path))} rows synced")

    async def settled(*given: object, **more: object) -> object:
        steps.append("settled")
        return await settle(*given, **more)  # type: ignore[arg-type] # handed on

    monkeypatch.setattr(os, "fdatasync", synced, raising=False)
    monkeypatch.setattr(table.frontier, "settle_all", settled)
    await commit(table, *visits)
    assert steps == [f"{len(URLS)} rows synced", "settled"]
    table.outputs.release()


async def test_a_busy_worker_gathers(road: Make) -> None:
    """Waiting visits are committed together while the worker is fully loaded, and without delay when it is
    not."""
    table = road(Net())
    table.committer.limits = committing.GatherLimits(60.0, 5, 256)
    visits = await claimed(table, *URLS)
    committer, batches = table.committer, list[int]()
    is_busy = True
    running = asyncio.create_task(committer.run(lambda: is_busy, lambda batch: batches.append(len(batch))))
    for visit in visits[:4]:
        committer.put(visit)
        await asyncio.sleep(2 * committing.GATHER_WAIT_S)
    assert not batches
    committer.put(visits[4])
    await until(lambda: batches == [5])
    committer.put(visits[5])
    await asyncio.sleep(2 * committing.GATHER_WAIT_S)
    assert batches == [5]
    is_busy = False
    await until(lambda: batches == [5, 1])
    committer.close()
    await running
    table.outputs.release()


def test_where_hosts_allow_many_at_once_more_is_gathered() -> None:
    assert [committing.gather_limits(slots, 64).most for slots in (1, 255, 256)] == [256, 256, 512]


async def test_when_much_waits_no_more_is_claimed(road: Make) -> None:
    net = Net({SEED: links(*(f"/{k}" for k in range(60)))})
    table = road(net, tables=(slow := Table(wait=0.6),), concurrency=4)
    table.committer.limits = committing.GatherLimits(0.4, 5, 5)
    await table.add(SEED)
    running = asyncio.create_task(table.run())
    await until(lambda: len(net.asked) >= 5)
    await asyncio.sleep(0.2)
    assert len(net.asked) <= 2 * 5 + 2 * 4, "what waits, and what was under way when it became too much"
    slow.wait = 0.0
    assert await running == "finished"
    assert len(rows(table.path)) == len(slow.keys) == 61


async def test_while_a_sink_is_away_no_more_is_claimed_and_nothing_is_lost(road: Make) -> None:
    net, away, said = Net(wait=0.03), Table(error=SinkAway("the database does not answer")), list[str]()

    async def say(message: str, begins: bool) -> None:
        said.append(message)

    parts = road(net, concurrency=4)
    parts.outputs = Outputs(
        parts.frontier, lock=parts.folder / "tables.lock", tables=[away], outages=OutageRules(say)
    )
    parts.committer._outputs = parts.outputs
    await parts.add(*(f"{SEED}{k}" for k in range(120)))
    running = asyncio.create_task(parts.run())
    await until(lambda: parts.outputs.waiting.is_away)
    asked = len(net.asked)
    await until(lambda: said)
    assert len(net.asked) <= asked + 2 * 4 < 120, "the visits that were running, and claims under way"
    away.error = None
    assert await running == "finished"
    assert sorted(away.keys) == sorted(net.asked)
    assert len(away.keys) == 120


async def test_a_commit_that_is_stuck_stops_claims(road: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "MAX_COMMIT_S", 0.1)
    net, table, go = Net(wait=0.02), Table(), threading.Event()
    upsert = table.upsert
    table.upsert = lambda rows: (go.wait(30), upsert(rows))[1]  # type: ignore[method-assign]
    parts = road(net, tables=(table,), concurrency=4)
    await parts.add(*(f"{SEED}{k}" for k in range(120)))
    running = asyncio.create_task(parts.run())
    await until(lambda: parts.committer.full)
    asked = len(net.asked)
    await asyncio.sleep(0.3)
    assert len(net.asked) <= asked + 2 * 4
    go.set()
    assert await running == "finished"
    assert sorted(table.keys) == sorted(net.asked)
    assert asked < len(table.keys) == 120


@pytest.mark.parametrize("concurrency", [1, 4, 16])
async def test_a_process_holds_at_most_two_commits_and_the_running_visits(
    road: Make, concurrency: int
) -> None:
    """If the process is killed now, so many pages are fetched again."""
    net, table, go = Net(wait=0.02), Table(), threading.Event()
    upsert = table.upsert
    table.upsert = lambda rows: (go.wait(30), upsert(rows))[1]  # type: ignore[method-assign]
    parts = road(net, tables=(table,), concurrency=concurrency)
    parts.committer.limits = committing.GatherLimits(0.1, 8, 8)
    await parts.add(*(f"{SEED}{k}" for k in range(120)))
    running = asyncio.create_task(parts.run())
    await until(lambda: parts.committer.full and len(parts.committer.unsettled_visits()) == len(net.asked))
    assert len(net.asked) <= 2 * 8 + concurrency
    go.set()
    assert await running == "finished"


async def test_a_large_batch_counts_by_its_bytes(road: Make) -> None:
    table = road(Net())
    visits = await claimed(table, URLS[0])
    visits[0].size = committing.MAX_COMMIT_BYTES
    assert not table.committer.full
    table.committer.put(visits[0])
    assert table.committer.full
    table.outputs.release()


async def test_a_lost_reply_writes_nothing_twice(road: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has settled the claims, but the reply was lost. The next worker reads the committed length
    and keeps the rows."""
    table = road(Net())
    await table.outputs.open()
    settle = table.frontier.settle_all

    async def lost(*given: object, **more: object) -> None:
        await settle(*given, **more)  # type: ignore[arg-type] # handed on
        raise ConnectionError

    monkeypatch.setattr(table.frontier, "settle_all", lost)
    with pytest.raises(ConnectionError):
        await commit(table, *await claimed(table, *URLS))
    table.outputs.release()
    again = road(Net())
    await again.outputs.open()
    assert sorted(rows(again.path)) == URLS
    assert await again.leases() == 0
    again.outputs.release()
