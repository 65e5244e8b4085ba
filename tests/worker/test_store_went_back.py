"""A store that is restarted from an older copy of its append-only file, while a worker goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import StoreChanged
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request, make_entry
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Adds, Settle
from gossamer.observability import logs
from gossamer.observability.snapshot import Observer
from gossamer.store import keys
from gossamer.store.store import Store, connect
from gossamer.worker import lease_keeper
from support.older_copy import OlderCopy, older_copy
from support.sentinel import watched
from worker.worker_parts import SEED, Net, Road, links, until

FIRST, SECOND, LAST = (f"{SEED}{name}" for name in ("first", "second", "last"))


class AtRequests(Net):
    """A network that calls a function when a URL is first requested."""

    def __init__(self, answers: dict[str, Any], steps: dict[str, Callable[[], Awaitable[None]]]) -> None:
        super().__init__(answers)
        self.steps = steps

    async def collect(
        self, request: Request, headers: dict[str, str], guise: Guise | object | None = None
    ) -> Page | Failure:
        if step := self.steps.pop(request.url, None):
            await step()
        return await super().collect(request, headers, guise)


@pytest.fixture
def older(tmp_path: Path) -> Iterator[OlderCopy]:
    with older_copy(tmp_path) as one:
        yield one


@pytest.fixture
def quick_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "SWEEP_INTERVAL_S", 0.5)
    monkeypatch.setattr(lease_keeper, "NO_SWEEP_AFTER_OUTAGE_S", 0.5)


async def opened(older: OlderCopy, patience: float = 60.0) -> Store:
    store = connect(f"redis://127.0.0.1:{older.server.port}", patience=patience)
    await store.open(1, "test")
    return store


@pytest.mark.usefixtures("quick_sweeps")
async def test_links_that_the_store_forgot_are_added_again(
    older: OlderCopy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The store forgets the visit of the page FIRST, and the links of that page."""
    store = await opened(older)
    answers = {SEED: links(FIRST), FIRST: links(SECOND), SECOND: links(LAST)}
    net = AtRequests(answers, {FIRST: older.copy, SECOND: older.go_back})
    table = Road(store, tmp_path, net, lease=2000)
    await table.add(SEED)
    assert await asyncio.wait_for(table.run(), 60) == "finished"
    rows = [json.loads(line)["url"] for line in table.path.read_text().splitlines()]
    assert sorted(rows) == sorted([SEED, FIRST, SECOND, LAST])
    assert (await table.counts())["pages"] == 4
    assert await table.adds_up()
    (said,) = (one for one in caplog.records if "went back" in one.message)
    assert "fetched again" in said.message
    assert vars(said)["event"] in logs.EVENTS
    assert (await Observer(store).totals())["went_back"] == 1
    await store.close()


@pytest.mark.usefixtures("quick_sweeps")
async def test_a_master_that_comes_back_after_a_failover_changes_no_file(tmp_path: Path) -> None:
    """The old master comes back from an older copy, and accepts writes until the Sentinels turn it into a
    replica. The only Sentinel that answers at first has forgotten the failover."""
    with watched() as pair:
        older = OlderCopy(tmp_path, pair.servers[0])
        store = connect(pair.url, patience=60.0)
        await store.open(1, "test")

        async def fails_over() -> None:
            await until(lambda: table.committer.idle)
            pair.fail_over(older)  # the event loop stands still, so no call fails meanwhile
            pair.forget_failover()
            asyncio.get_running_loop().call_later(2.0, pair.thaw)

        async def until_the_old_master_is_none() -> None:
            """If the worker uses the old master, commits pages there, and waits until it is a replica."""
            if (await store.client.servers.serving()).place.port == older.server.port:
                await until(lambda: table.committer.idle)
                with older.server.client() as client:
                    await until(lambda: client.info("replication")["role"] == "slave", 60)

        pages = [f"{SEED}{n}" for n in range(12)]
        # a page that is fetched again has a longer row
        answers = {SEED: links(*pages)} | {page: [links(), f"<title>{page}</title>"] for page in pages}
        steps = {pages[2]: older.copy, pages[5]: fails_over, pages[8]: until_the_old_master_is_none}
        table = Road(store, tmp_path, AtRequests(answers, steps), lease=2000, concurrency=1)
        await table.add(SEED)
        assert await asyncio.wait_for(table.run(), 60) == "finished"
        rows = [json.loads(line)["url"] for line in table.path.read_text().splitlines()]
        assert sorted(rows) == sorted([SEED, *pages])
        assert (await table.counts())["pages"] == 13
        await store.close()


@pytest.mark.usefixtures("quick_sweeps")
async def test_a_crawl_that_is_resumed_on_an_older_copy_has_each_row_once(
    older: OlderCopy, tmp_path: Path
) -> None:
    """The worker is gone, and its output is longer than the store knows."""
    store = await opened(older)
    answers = {SEED: links(FIRST), FIRST: links(SECOND), SECOND: links(LAST)}
    table = Road(store, tmp_path, AtRequests(answers, {FIRST: older.copy}), lease=2000)
    await table.add(SEED)
    assert await table.run() == "finished"
    await store.close()
    await older.go_back()
    store = await opened(older)
    table = Road(store, tmp_path, Net(dict(answers)), lease=2000)
    assert await asyncio.wait_for(table.run(), 60) == "finished"
    rows = [json.loads(line)["url"] for line in table.path.read_text().splitlines()]
    assert sorted(rows) == sorted([SEED, FIRST, SECOND, LAST])
    assert (await table.counts())["pages"] == 4
    await store.close()


@pytest.mark.usefixtures("quick_sweeps")
async def test_a_redirect_of_a_seed_that_the_store_forgot_is_recorded_again(
    older: OlderCopy, tmp_path: Path
) -> None:
    store = await opened(older)
    target = "http://b.example/"
    answers = {SEED: (301, {"location": target}, b""), target: links(f"{target}page")}
    net = AtRequests(answers, {SEED: older.copy, f"{target}page": older.go_back})
    table = Road(store, tmp_path, net, lease=2000)
    table.scope._redirects = Crawls(store)
    await table.add(Request(SEED), flags="s")
    assert await asyncio.wait_for(table.run(), 60) == "finished"
    rows = [json.loads(line)["url"] for line in table.path.read_text().splitlines()]
    assert sorted(rows) == sorted([target, f"{target}page"])
    assert await store.guard(store.client.smembers(keys.anchors("c"))) == {f"{SEED}\t{target}".encode()}
    await store.close()


async def test_links_that_were_lost_between_two_calls_are_added_again(older: OlderCopy) -> None:
    """The store goes back after it added the links to other buckets, before it settles the claim."""
    store = connect(f"redis://127.0.0.1:{older.server.port}", patience=60.0)
    await store.open(64, "test")
    frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False))
    await frontier.add({(0, "a.example", 0, "http", "o", ""): [1, 2, make_entry("http", "/", 0, None)]})
    (claim,) = (await frontier.claim(0, 1)).claims
    await older.copy()
    adding = frontier._settler._add

    async def then_goes_back(*args: Any) -> tuple[int, int, int]:
        frontier._settler._add = adding  # type: ignore[method-assign]
        added = await adding(*args)
        await older.go_back()
        return added

    frontier._settler._add = then_goes_back  # type: ignore[method-assign]
    adds: Adds = {
        (bucket, f"{bucket}.example", 0, "http", "o", ""): [3, bucket, make_entry("http", "/", 1, None)]
        for bucket in range(1, 4)
    }
    await frontier.settle(0, [Settle(claim.token, ClaimEnd.DONE)], {}, adds)
    assert await frontier.all_buckets.left() == (3, 4)
    await store.close()


async def test_a_store_that_lost_everything_is_another_store(
    older: OlderCopy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await older.copy()
    store = await opened(older)
    net = AtRequests({SEED: links(FIRST), FIRST: links(SECOND)}, {FIRST: older.go_back})
    table = Road(store, tmp_path, net)
    await table.add(SEED)
    with pytest.raises(StoreChanged, match="was emptied"):
        await asyncio.wait_for(table.run(), 60)
    assert not [line for line in caplog.messages if "went back" in line]
    await store.close()
