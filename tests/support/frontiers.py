"""Fixtures with a frontier on the test's own store, which is a server and a Cluster in turn. After each test,
the store must contain no key that `frontier.keys` does not define."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import redis

from conftest import valkey_binary, wait_for
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim, Claimed, Settle
from gossamer.store.keys import known
from gossamer.store.store import Store, connect
from support.cluster import Cluster, cluster


def no_strange_keys(client: redis.Redis) -> None:
    strange = [key.decode() for key in client.scan_iter() if not known(key.decode())]
    assert strange == [], "name these keys in frontier/keys.py"


@pytest.fixture
def key_checks() -> list[Callable[[redis.Redis], None]]:
    """Check for unknown keys after each test of the folders that use this module."""
    return [no_strange_keys]


@pytest.fixture(scope="session")
def whole_cluster() -> Iterator[Cluster]:
    with cluster() as one:
        yield one


@pytest.fixture
def cluster_url(whole_cluster: Cluster) -> Iterator[str]:
    """The URL of an empty Cluster of three nodes, `redis+cluster://...`."""
    whole_cluster.empty()
    yield whole_cluster.url
    for node in whole_cluster.nodes:
        with node.client() as client:
            no_strange_keys(client)


@pytest.fixture(params=["server", "cluster"])
def any_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, once for each kind of store."""
    return str(request.getfixturevalue({"server": "valkey_url", "cluster": "cluster_url"}[request.param]))


@pytest.fixture
async def store(any_url: str) -> AsyncIterator[Store]:
    store = connect(any_url)
    await store.open(1, "test")
    yield store
    await store.close()


class Bed:
    """A frontier with short methods for tests. Delays are in milliseconds, and robots.txt is ignored by
    default."""

    def __init__(self, store: Store, crawl: str = "c", **policy: Any) -> None:
        self.store = store
        self.frontier = Frontier(
            store, crawl, Policy(**({"delay": 0, "per_host": 1000, "obey_robots": False} | policy))
        )
        self.marks: dict[str, int] = {}

    async def add(
        self, *urls: str, flags: str = "o", voucher: str = "", **needs: Any
    ) -> tuple[int, int, int]:
        """Add URLs as seeds of their hosts."""
        adds: Adds = {}
        for url in urls:
            request = Request(url, **needs)
            host, stored = pack(request)
            group = (0, host, request.priority, "http", flags, voucher)
            adds.setdefault(group, []).extend(
                (*self.frontier.remainder(hash((url, "s")) & (2**64 - 1)), stored)
            )
        return await self.frontier.add(adds)

    async def claim(self, k: int = 100) -> list[Claim]:
        return (await self.claimed(k)).claims

    async def claimed(self, k: int = 100) -> Claimed:
        return await self.frontier.claim(0, k)

    async def end(self, claim: Claim, action: str = "d", **settle: Any) -> None:
        settle.setdefault("since", 0 if action not in ("k", "b") else -1)
        counts = {"pages": 1} if action == "d" else {"skip:robots": 1} if action == "k" else {}
        await self.frontier.settle(0, [Settle(claim.token, action, **settle)], counts, {})

    async def counts(self) -> dict[str, int]:
        raw = await self.store.client.hgetall(f"{{b:000}}{self.frontier.crawl}:n")
        return {k.decode(): int(float(v)) for k, v in raw.items()}

    async def later(self, ms: int) -> None:
        """Simulate that `ms` milliseconds pass, by moving every time in the store back."""

        def earlier(moment: bytes) -> bytes:
            return b"%d" % (int(moment) and int(moment) - ms)

        client = self.store.client
        for key in [key async for page in self.store.scan("{b:000}*") for key in page]:
            first, kind = (*key.partition(b"}")[2].split(b":"), b"")[:2]
            if first == b"h":
                for field, value in (await client.hgetall(key)).items():
                    if field in (b"n", b"p", b"w", b"eh", b"es"):
                        await client.hset(key, field, earlier(value))
                    elif field == b"b":
                        faults, openings, since, ends, rest = value.split(b",", 4)
                        await client.hset(
                            key, field, b",".join((faults, openings, earlier(since), earlier(ends), rest))
                        )
            elif kind in (b"r", b"u", b"t", b"rt", b"l"):
                for member in await client.zrange(key, 0, -1):
                    await client.zincrby(key, -ms, member)
            elif kind == b"lp":
                for token, record in (await client.hgetall(key)).items():
                    *front, before, start, entry = record.split(b"\t", 5)
                    await client.hset(
                        key, token, b"\t".join((*front, earlier(before), earlier(start), entry))
                    )

    async def adds_up(self) -> bool:
        n = await self.counts()
        skipped = sum(v for k, v in n.items() if k.startswith("skip:"))
        ended = sum(n.get(k, 0) for k in ("pages", "redirected", "failed", "dead"))
        return n.get("found", 0) == ended + n.get("open", 0) - n.get("infra", 0) + skipped


@pytest.fixture
def bed(store: Store) -> Callable[..., Bed]:
    return lambda crawl="c", **policy: Bed(store, crawl, **policy)


@pytest.fixture(scope="session")
def other_server() -> Iterator[str]:
    """A second Valkey, in place of a disk store that speaks the same protocol."""
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path = f"{folder}/v.sock"
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"]
        server = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL)
        try:
            wait_for(path, server)
            yield f"unix://{path}"
        finally:
            server.kill()
            server.wait()
