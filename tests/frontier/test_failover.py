"""The effect of a failover or a lost reply on claims and settles. No caller notices either of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import redis

from gossamer.errors import Stale, StoreError
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim, Commit, Settle
from gossamer.store.keys import bucket_of, tag
from gossamer.store.store import Store, connect
from support.cluster import Cluster, cluster
from support.lossy_wire import Wire, wire
from support.processes import Process, followers
from support.sentinel import Watched, watched

DELAY = 400


def links(frontier: Frontier, *urls: str) -> Adds:
    adds: Adds = {}
    for url in urls:
        host, entry = pack(Request(url))
        group = (bucket_of(host, frontier.store.buckets), host, 0, "http", "o", "")
        adds.setdefault(group, []).extend((*frontier.remainder(hash(url) & (2**64 - 1)), entry))
    return adds


def frontier_of(store: Store, **policy: int) -> Frontier:
    return Frontier(store, "c", Policy(**({"obey_robots": False, "delay": DELAY} | policy)))  # type: ignore[arg-type]


@pytest.fixture(params=["sentinel", "cluster"])
def pair(request: pytest.FixtureRequest) -> Iterator[Watched | Cluster]:
    """A store with one replica per master."""
    if request.param == "sentinel":
        with watched() as one:
            yield one
    else:
        with cluster(replicas=1) as many:
            yield many


def master_of(pair: Watched | Cluster, bucket: int) -> Process:
    return pair.servers[0] if isinstance(pair, Watched) else pair.master_of(tag(bucket))


def replica_of(pair: Watched | Cluster, bucket: int) -> Process:
    if isinstance(pair, Watched):
        return pair.servers[1]
    return pair.nodes[pair.nodes.index(pair.master_of(tag(bucket))) + 3]


Opened = Callable[[str], Awaitable[Store]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Yields a function that opens a client with a long patience: `await opened(url)`. The client is closed
    at the end of the test."""
    stores: list[Store] = []

    async def some(url: str) -> Store:
        stores.append(connect(url, patience=60.0))
        await stores[-1].open(64, "test")
        return stores[-1]

    yield some
    for store in stores:
        await store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    """A server that is killed at the end of the test, whatever its state."""
    one = Process(tmp_path, "--save", "", "--appendonly", "yes").ready()
    yield one
    one.kill()


async def without_replica(pair: Watched | Cluster, store: Store, bucket: int, master: redis.Redis) -> None:
    """Kills the replica and makes the store's client notice it."""
    replica_of(pair, bucket).kill()
    await until(lambda: followers(master) == 0)
    await store.client.servers.look()
    assert (await store.client.servers.serving(tag(bucket))).replicas == 0


async def until(said: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not said():  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0.005)


async def claim(frontier: Frontier, bucket: int, k: int = 10) -> list[Claim]:
    got = await frontier.all_buckets.claim([(bucket, k)])
    return [one for each in got for one in each.claims if each.sure]


async def test_after_a_failover_each_host_waits_for_its_delay(
    pair: Watched | Cluster, opened: Opened
) -> None:
    store = await opened(pair.url)
    frontier = frontier_of(store)
    hosts = ["a.example", "b.a.example", "c.a.example"]
    bucket = bucket_of(hosts[0], 64)
    await frontier.add(links(frontier, *(f"http://{host}/{n}" for host in hosts for n in range(3))))
    first = await claim(frontier, bucket)
    assert sorted(one.host for one in first) == hosts
    await frontier.settle(
        bucket, [Settle(one.token, "d", since=0, delay=DELAY) for one in first], {"pages": 3}, {}
    )
    master_of(pair, bucket).kill()
    found: list[Claim] = []
    asked_first = 0
    while not found:
        got = await frontier.all_buckets.claim([(bucket, 10)])
        if got and not asked_first:
            asked_first = got[0].now
        found = [one for each in got for one in each.claims]
        if found:
            assert got[0].now >= asked_first + DELAY, "of the new server's time"
        await asyncio.sleep(0.02)
    assert (await store.guard(store.client.get(f"{tag(bucket)}e"))).split()[1] != b"0"


async def test_a_claim_with_ended_requests_is_no_change_of_the_server(
    pair: Watched | Cluster, opened: Opened
) -> None:
    store = await opened(pair.url)
    frontier = frontier_of(store, delay=0)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, *(f"http://a.example/{n}" for n in range(3))))
    (first,) = await claim(frontier, bucket, 1)
    change = f"{tag(bucket)}e"
    before = await store.guard(store.client.get(change))
    run, since = before.split(b" ")
    with master_of(pair, bucket).client() as master:
        assert run.decode() == master.info()["run_id"]
    assert since == b"0"
    ended = {bucket: [Settle(first.token, "d", since=0, delay=0)]}
    (got,) = await frontier.all_buckets.claim([(bucket, 1)], uncommitted=ended)
    assert [one.host for one in got.claims] == ["a.example"], "its slot is free"
    assert await store.guard(store.client.get(change)) == before


async def test_who_does_not_wait_finds_the_new_master_too(pair: Watched | Cluster) -> None:
    """For example a scheduler's client, which fails at once and tries again later."""
    store = connect(pair.url)
    await store.open(64, "test")
    victim = master_of(pair, 0)
    victim.kill()
    failed = 0
    async with asyncio.timeout(30):
        while True:
            try:
                await store.run("elect_scheduler", 0, "", "somebody", 1000)
            except StoreError:
                failed += 1
                await asyncio.sleep(0.05)
            else:
                break
    assert failed
    victim.start()  # as a replica, which would refuse writes
    assert (await store.run("elect_scheduler", 0, "", "somebody", 1000))[0]
    await store.close()


async def test_claims_that_no_replica_knows_of_are_not_sure(pair: Watched | Cluster, opened: Opened) -> None:
    store = await opened(pair.url)
    frontier = frontier_of(store)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, "http://a.example/1", "http://a.example/2"))
    replica_of(pair, bucket).halt()
    try:
        (got,) = await frontier.all_buckets.claim([(bucket, 10)])
        assert len(got.claims) == 1
        assert not got.sure
        adding = asyncio.create_task(frontier.add(links(frontier, "http://a.example/3")))
        await asyncio.sleep(1.5)
        assert not adding.done(), "nor is an add over before a replica has it"
    finally:
        replica_of(pair, bucket).go_on()
    await asyncio.wait_for(adding, 20)


async def test_a_replica_that_came_since_the_last_look_is_waited_for(
    pair: Watched | Cluster, opened: Opened
) -> None:
    store = await opened(pair.url)
    frontier = frontier_of(store)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, "http://a.example/1", "http://a.example/2"))
    replica = replica_of(pair, bucket)
    with master_of(pair, bucket).client() as master:
        await without_replica(pair, store, bucket, master)
        replica.start()
        await until(lambda: followers(master) == 1)
        replica.halt()
        try:
            (got,) = await frontier.all_buckets.claim([(bucket, 10)])
        finally:
            replica.go_on()
        assert len(got.claims) == 1
        assert not got.sure, "the replica that will take over does not know of it"


async def test_a_replica_that_is_being_filled_is_waited_for_shortly(
    pair: Watched | Cluster, opened: Opened
) -> None:
    store = await opened(pair.url)
    frontier = frontier_of(store)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, "http://a.example/1", "http://a.example/2"))
    with master_of(pair, bucket).client() as master:
        master.config_set("repl-diskless-sync-delay", 5)
        master.config_set("repl-backlog-size", 16384)
        await without_replica(pair, store, bucket, master)
        # larger than the replication backlog, so that a full resynchronization is necessary
        master.set(f"{tag(bucket)}x", b"x" * 1_000_000)
        replica_of(pair, bucket).start()
        await until(lambda: master.info("replication")["connected_slaves"] == 1)
        assert followers(master) == 0
        master.config_resetstat()
        (got,) = await frontier.all_buckets.claim([(bucket, 10)])
        assert (len(got.claims), got.sure) == (1, True), "while it is filled it cannot take over"
        assert "cmdstat_wait" in master.info("commandstats")


async def test_a_store_without_replicas_is_not_asked_for_them(valkey_url: str, opened: Opened) -> None:
    store = await opened(valkey_url)
    frontier = frontier_of(store)
    await store.client.config_resetstat()
    await frontier.add(links(frontier, "http://a.example/1"))
    bucket = bucket_of("a.example", 64)
    for one in await claim(frontier, bucket):
        await frontier.settle(bucket, [Settle(one.token, "d", since=0)], {"pages": 1}, {})
    assert "cmdstat_wait" not in await store.client.info("commandstats")


async def test_a_server_that_begins_again_holds_its_hosts_too(server: Process, opened: Opened) -> None:
    store = await opened(f"redis://127.0.0.1:{server.port}")
    frontier = frontier_of(store)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, "http://a.example/1", "http://b.a.example/2"))
    assert len(await claim(frontier, bucket, 1)) == 1
    server.kill()
    server.start()
    server.ready()
    await store.guard(store.client.exists("gossamer"))
    assert await claim(frontier, bucket) == [], "the other host was ready"
    while not await claim(frontier, bucket):  # noqa: ASYNC110 - it comes
        await asyncio.sleep(0.02)


@pytest.fixture
async def losing(server: Process, opened: Opened) -> AsyncIterator[tuple[Wire, Store]]:
    """Yields a wire that loses replies, and a store behind it."""
    async with wire(server.port) as one:
        yield one, await opened(f"redis://127.0.0.1:{one.port}")


def lose(one: Wire, store: Store, verb: str) -> None:
    """Lose the reply to the next call of a script that the server already has."""
    one.lose = store.digest(verb).encode()


async def busy(store: Store) -> tuple[Frontier, int, list[Claim]]:
    """Returns a frontier whose scripts are all loaded in the server, its bucket, and two claims."""
    frontier = frontier_of(store, delay=0, per_host=9)
    bucket = bucket_of("a.example", 64)
    await frontier.add(links(frontier, *(f"http://a.example/{n}" for n in range(3))))
    (one,) = await claim(frontier, bucket, 1)
    await frontier.settle(bucket, [Settle(one.token, "d", since=0)], {"pages": 1}, {}, [("out", 0, 5)])
    return frontier, bucket, await claim(frontier, bucket)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_lost_reply_to_a_settle_with_a_file_is_resolved_by_its_length(
    losing: tuple[Wire, Store], times: int
) -> None:
    one, store = losing
    frontier, bucket, claims = await busy(store)
    ends = [Settle(each.token, "d", since=0) for each in claims]
    settling = asyncio.create_task(
        frontier.settle(bucket, ends, {"pages": 2}, links(frontier, "http://a.example/9"), [("out", 5, 12)])
    )
    for n in range(times):
        lose(one, store, "settle")
        await until(lambda n=n: one.lost > n)
    await settling
    assert await frontier.lengths(["out"]) == [12]
    n = await crawl_counts(store, "c")
    assert (n["pages"], n["open"], n["added"]) == (3, 1, 4)


async def test_a_lost_reply_to_a_settle_without_files_ends_its_tokens(losing: tuple[Wire, Store]) -> None:
    one, store = losing
    frontier, bucket, claims = await busy(store)
    lose(one, store, "settle")
    commit = Commit(bucket, [Settle(each.token, "d", since=0) for each in claims], {"pages": 2}, {})
    (outcome,) = await frontier.settle_all([commit])
    assert isinstance(outcome, Stale)
    assert sorted(outcome.tokens) == sorted(each.token for each in claims)
    n = await crawl_counts(store, "c")
    assert (one.lost, n["pages"], n["open"]) == (1, 3, 0)


async def test_lost_replies_of_other_verbs_change_nothing(losing: tuple[Wire, Store]) -> None:
    one, store = losing
    frontier, bucket, claims = await busy(store)
    lose(one, store, "add")
    await frontier.add(links(frontier, "http://a.example/7"))
    await frontier.all_buckets.renew({bucket: [each.token for each in claims]})
    lose(one, store, "renew_leases")
    assert await frontier.all_buckets.renew({bucket: [each.token for each in claims]}) == []
    lose(one, store, "due_buckets")
    await frontier.all_buckets.due()
    async with asyncio.timeout(20):
        while not await frontier.all_buckets.due():  # noqa: ASYNC110 - a host becomes due by time alone
            await asyncio.sleep(0.02)
    n = await crawl_counts(store, "c")
    assert (one.lost, n["open"], n["added"]) == (3, 3, 4)
    assert n["found"] == n["pages"] + n["open"] + n["skip:duplicate"]
