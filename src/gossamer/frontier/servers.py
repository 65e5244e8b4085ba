"""Which servers hold the store now: one, the master that Sentinels name, or the masters of a Cluster.

Nothing is kept beyond what a look brings: after an outage the next look finds who took over.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import redis.asyncio as redis
from redis.crc import key_slot
from redis.exceptions import MovedError, RedisError, ResponseError

from gossamer.errors import Away, GossamerError, StoreError
from gossamer.frontier.address import Address, Place
from gossamer.frontier.server import Server
from gossamer.frontier.trouble import explained, passing, refused

SLOTS = 16384
FRESH = 5.0
"""Seconds for which a look is good when nothing fails."""


@lru_cache(8192)
def slot(key: str | bytes) -> int:
    """The slot of a key."""
    return int(key_slot(key if isinstance(key, bytes) else key.encode()))


class Servers:
    """The servers of an address. `embedded`: our own, beside a data folder, about which there is nothing to ask."""

    def __init__(self, address: Address, timeout: float, *, embedded: bool) -> None:
        self.address, self._timeout, self.embedded = address, timeout, embedded
        self._by_place: dict[Place, Server] = {}
        self._by_slot: list[Server | None] = []
        self._only: Server | None = None
        """The one server, where there is no more than one: always (server, unix), or since the last look (sentinel)."""
        self._looked = 0.0
        self._lock = asyncio.Lock()
        self._sentinels: dict[Place, redis.Redis] = {}
        if address.kind in ("server", "unix"):
            self._only = self._server(address.places[0])

    async def serving(self, key: str | bytes | None = None) -> Server:
        """The server of a key, or (None) any."""
        if self._only is not None:
            return self._only
        if not self._by_slot:
            await self.look()
        found = self._by_slot[slot(key) if key is not None else 0] if self._by_slot else self._only
        if found is None:
            raise Away(f"the store at {self.address.shown} does not answer: no node serves the slot of {key!r}")
        return found

    async def all(self) -> list[Server]:
        """All servers that take writes."""
        if self._only is not None:
            return [self._only]
        await self.serving()
        return list(dict.fromkeys(server for server in self._by_slot if server is not None))

    @property
    def followed(self) -> bool:
        """Whether some server has replicas."""
        return any(server.replicas for server in self._by_place.values())

    def stale(self) -> None:
        """What the last look found may be otherwise now."""
        self._looked = min(self._looked, time.monotonic() - FRESH - 1) if self._looked else 0.0

    def moved(self, error: MovedError) -> None:
        """A node said who has a slot now."""
        if self._by_slot:
            self._by_slot[error.slot_id] = self._server(Place(error.host, error.port))

    async def fresh(self) -> None:
        """Look again when the last look is old."""
        if time.monotonic() - self._looked > FRESH and not self.embedded:
            await self.look()

    async def look(self) -> None:
        """Find out who takes writes now, and who follows. Raises Away with what was tried, or StoreError for what is wrong."""
        began = time.monotonic()
        async with self._lock:
            if self._looked >= began:
                return
            try:
                await {"sentinel": self._ask_sentinels, "cluster": self._ask_cluster}.get(
                    self.address.kind, self._ask_server
                )()
            except (RedisError, OSError) as error:
                raise explained(error, self.address) from error
            self._looked = time.monotonic()

    async def drop_idle(self) -> None:
        """Connections from before an outage lead nowhere."""
        for server in self._by_place.values():
            await server.client.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        """Let all connections go."""
        for server in self._by_place.values():
            await server.close()
        for client in self._sentinels.values():
            await client.aclose()

    def _server(self, place: Place) -> Server:
        if place not in self._by_place:
            self._by_place[place] = Server(place, self.address, self._timeout, plain=self.embedded)
        return self._by_place[place]

    async def _ask_server(self) -> None:
        assert self._only is not None
        await self._only.look()
        at = f"the store at {self.address.shown}"
        if self._only.mode == "cluster":
            raise StoreError(f"{at} is a node of a Cluster: write redis+cluster://{self._only.place}")
        if self._only.mode == "sentinel":
            raise StoreError(f"{at} is a Sentinel: write redis+sentinel://{self._only.place}/SERVICE")
        if self._only.info.get("role") != "master":
            master = f"{self._only.info.get('master_host')}:{self._only.info.get('master_port')}"
            raise Away(f"{at} is a replica now: its master is {master}; write its address, or that of its Sentinels")

    async def _ask_sentinels(self) -> None:
        tried: list[str] = []
        unknown = None
        named: set[Place] = set()
        for place in self._order(self._sentinels):
            try:
                client = self._sentinel(place)
                found = await _call(client, "SENTINEL GET-MASTER-ADDR-BY-NAME", self.address.service)
                if found is None:
                    unknown = await _services(client)
                    tried.append(f"{place} (watches {unknown or 'no master'})")
                    continue
                master = Place(_text(found[0]), int(found[1]))
                if master in named:
                    continue
                named.add(master)
                await self._take(master)
                return
            except (RedisError, OSError, GossamerError) as error:
                tried.append(f"{place} ({self._why(error, place)})")
        kind = StoreError if unknown is not None and len(tried) == len(self.address.places) else Away
        hint = f": there is no service {self.address.service!r}" if kind is StoreError else ""
        raise kind(f"the store at {self.address.shown} does not answer{hint}: tried {', '.join(tried)}")

    async def _take(self, place: Place) -> None:
        """The Sentinels named a master: look whether it is one."""
        server = self._server(place)
        await server.look()
        if server.info.get("role") != "master":
            raise Away(f"{place} is named as master and is none yet")
        before, self._only = self._only, server
        if before is not None and before is not server:
            await before.client.connection_pool.disconnect(inuse_connections=False)

    def _sentinel(self, place: Place) -> redis.Redis:
        if place not in self._sentinels:
            address = self.address
            kind = redis.SSLConnection if address.tls else redis.Connection
            pool = redis.ConnectionPool(
                connection_class=kind, host=place.host, port=place.port, socket_timeout=2.0, socket_connect_timeout=1.0,
                retry=None, **address.options(sentinel=True),
            )  # fmt: skip
            self._sentinels[place] = redis.Redis(connection_pool=pool)
        return self._sentinels[place]

    async def _ask_cluster(self) -> None:
        tried: list[str] = []
        for place in self._order(self._by_place):
            server = self._server(place)
            try:
                ranges = await _call(server.client, "CLUSTER SLOTS")
                await self._map(ranges, place)
                return
            except (RedisError, OSError, GossamerError) as error:
                if isinstance(error, ResponseError) and "cluster support disabled" in str(error):
                    raise StoreError(
                        f"the store at {self.address.shown} is no Cluster: write redis://{place}"
                    ) from error  # fmt: skip
                tried.append(f"{place} ({self._why(error, place)})")
        raise Away(f"the store at {self.address.shown} does not answer: tried {', '.join(tried)}")

    async def _map(self, ranges: Any, asked: Place) -> None:
        by_slot: list[Server | None] = [None] * SLOTS
        for first, last, place in _masters(ranges, asked):
            by_slot[first : last + 1] = [self._server(place)] * (last + 1 - first)
        masters = list(dict.fromkeys(server for server in by_slot if server is not None))
        looks = await asyncio.gather(*(server.look() for server in masters), return_exceptions=True)
        for server, error in zip(masters, looks, strict=True):
            if isinstance(error, BaseException):
                if not passing(error):
                    raise error
                server.info = {}  # its replica will take over
        self._by_slot = by_slot

    def _order(self, known: Iterable[Place]) -> list[Place]:
        """Where to ask: those that answered before and those of the URL."""
        return list(dict.fromkeys((*known, *self.address.places)))

    def _why(self, error: BaseException, place: Place) -> str:
        if refused(error):
            raise explained(error, self.address) from error
        return re.sub(
            r"Error -?\d+ connecting to (\S+)\. (?:Connect call failed.*)?", r"\1 cannot be reached. ", str(error)
        ).strip(" .")


async def _call(client: redis.Redis, *args: Any) -> Any:
    return await client.execute_command(*args)  # type: ignore[no-untyped-call] # redis-py leaves it so


async def _services(client: redis.Redis) -> str:
    """The names of the services that a Sentinel watches."""
    found: Any = await client.sentinel_masters()
    return ", ".join(sorted(str(name) for name in found))


def _masters(ranges: Any, asked: Place) -> list[tuple[int, int, Place]]:
    """(first slot, last slot, master) of each range in the answer to CLUSTER SLOTS."""
    if isinstance(ranges, dict):  # as redis-py reads it
        found = [(first, last, one["primary"]) for (first, last), one in ranges.items()]
    else:
        found = [(one[0], one[1], one[2][:2]) for one in ranges]
    return [(int(first), int(last), Place(_text(host) or asked.host, int(port))) for first, last, (host, port) in found]


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")
