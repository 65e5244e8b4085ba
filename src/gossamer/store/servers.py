"""The set of servers that currently hold the store: a single server, the master that Sentinels name, or the
masters of a Cluster.

Each discovery replaces the whole set. After a failover, the set therefore contains the new masters.
"""

from __future__ import annotations

import asyncio
import binascii
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

from gossamer.errors import Away
from gossamer.store.address import Address, HostPort
from gossamer.store.discovery import SLOTS, Look, Nodes, Range, Sentinels, by_itself
from gossamer.store.server import Server
from gossamer.store.server_errors import MovedError, RedisError
from gossamer.store.store_errors import to_gossamer_error

DISCOVERY_TTL_S = 5.0
"""The result of a discovery is used for this many seconds, unless a call fails."""


@lru_cache(8192)
def cluster_slot(key: str | bytes) -> int:
    """Returns the Cluster slot of a key. If the key has text in braces, only the text in the first braces
    counts."""
    name = key if isinstance(key, bytes) else key.encode()
    if (first := name.find(b"{")) >= 0 and (last := name.find(b"}", first + 1)) > first + 1:
        name = name[first + 1 : last]
    return binascii.crc_hqx(name, 0) % SLOTS


class Servers:
    """The servers of the store at an address. `embedded`: whether the store is the server of a data folder,
    so that no discovery is needed."""

    def __init__(self, address: Address, timeout: float, *, embedded: bool) -> None:
        self.address, self._timeout, self.embedded = address, timeout, embedded
        self._by_place: dict[HostPort, Server] = {}
        self._by_slot: list[Server | None] = []
        self._only: Server | None = None
        """The server that holds all keys, or None if the store is a Cluster or if the master has not been
        found yet. The server at a single address or at a Unix socket never changes. Discovery through the
        Sentinels finds the master of a Sentinel service."""
        self._ranges: list[Range] = []
        self.turn = 0
        """A counter that changes whenever the set of servers that accept writes changes."""
        self._looked = 0.0
        self._lock = asyncio.Lock()
        self._sentinels: Sentinels | None = None
        self._find: Callable[[Address, Look], Awaitable[list[Range]]] = by_itself
        if address.kind == "sentinel":
            self._sentinels = Sentinels(address)
            self._find = self._sentinels.find
        elif address.kind == "cluster":
            self._find = Nodes(address, self._server).find
        else:
            self._only = self._server(address.places[0])

    async def serving(self, key: str | bytes | None = None) -> Server:
        """Returns the server that holds a key. If no key is given, returns any server."""
        if (only := self._sole()) is not None:
            return only
        if not self._by_slot:
            await self.look()
        found = self._by_slot[cluster_slot(key) if key is not None else 0] if self._by_slot else self._only
        if found is None:
            raise Away(
                f"the store at {self.address.shown} does not answer: no node serves the slot of {key!r}"
            )
        return found

    async def groups(self, keys: Sequence[str]) -> dict[Server, list[int]]:
        """Groups keys by server. The result maps each server to the indexes of its keys in `keys`."""
        found: dict[Server, list[int]] = {}
        only = self._sole()
        for j, key in enumerate(keys):
            server = (
                only
                or (self._by_slot[cluster_slot(key)] if self._by_slot else None)
                or await self.serving(key)
            )
            found.setdefault(server, []).append(j)
        return found

    async def all(self) -> list[Server]:
        """Returns all servers that accept writes."""
        if (only := self._sole()) is not None:
            return [only]
        await self.serving()
        if not self._by_slot and self._only is not None:
            return [self._only]
        return list(dict.fromkeys(server for server in self._by_slot if server is not None))

    @property
    def may_follow(self) -> bool:
        """Returns whether a replica may take over. For Sentinels and Clusters, the result is True even if no
        replica is known. A replica may connect between two discoveries and be promoted at once."""
        return self.address.kind in ("sentinel", "cluster") or any(
            one.replicas for one in self._by_place.values()
        )

    def stale(self, *, forget: bool = False) -> None:
        """Marks the result of the last discovery as outdated. If `forget` is true, the next caller must
        repeat the discovery before it sends anything."""
        if forget and (self._sentinels is not None or self._by_slot):
            self._only, self._by_slot, self._ranges = None, [], []
        self._looked = min(self._looked, time.monotonic() - DISCOVERY_TTL_S - 1) if self._looked else 0.0

    def moved(self, error: MovedError) -> None:
        """Applies a MOVED reply, which names the new server of a slot."""
        if self._by_slot:
            self._by_slot[error.slot_id] = self._server(HostPort(error.host, error.port))
            self._ranges, self.turn = [], self.turn + 1

    async def fresh(self) -> None:
        """Repeats the discovery if the last discovery is older than DISCOVERY_TTL_S."""
        if time.monotonic() - self._looked > DISCOVERY_TTL_S and not self.embedded:
            await self.look()

    async def look(self) -> None:
        """Finds the servers that currently accept writes, and their replicas. If no server is found, raises
        Away. The message of Away lists the addresses that were tried. Raises StoreError for an error in the
        configuration."""
        began = time.monotonic()
        async with self._lock:
            if self._looked >= began:
                return
            try:
                ranges = await self._find(self.address, self._look_at)
            except (RedisError, OSError) as error:
                raise to_gossamer_error(error, self.address) from error
            if ranges != self._ranges:
                before, self._ranges, self.turn = self._only, ranges, self.turn + 1
                self._take(ranges)
                if before is not None and before is not self._only:
                    await before.client.pool.close_idle()
            if self._sentinels is not None and self._only is not None:
                self._only.trust()
            self._looked = time.monotonic()

    @property
    def changes(self) -> int:
        """A number that changes whenever the store may have lost writes: after a server restarted, or after
        another server took over."""
        return self.turn + sum(one.client.pool.restarts for one in self._by_place.values())

    def _sole(self) -> Server | None:
        """Returns the server that holds all keys. Returns None if it must be looked for first, also after the
        master of a Sentinel service restarted, because another server may have taken over."""
        return None if self._only is None or self._only.client.pool.is_replaced else self._only

    async def drop_idle(self) -> None:
        """Closes idle connections, because connections from before an outage no longer work."""
        for server in self._by_place.values():
            await server.client.pool.close_idle()

    async def close(self) -> None:
        """Closes all connections."""
        for server in self._by_place.values():
            await server.close()
        if self._sentinels is not None:
            await self._sentinels.close()

    def _server(self, place: HostPort) -> Server:
        if place not in self._by_place:
            self._by_place[place] = Server(place, self.address, self._timeout, plain=self.embedded)
        return self._by_place[place]

    def _take(self, ranges: list[Range]) -> None:
        if self.address.kind != "cluster":
            self._only = self._server(ranges[0][2])
            return
        self._by_slot = [None] * SLOTS
        for first, last, place in ranges:
            self._by_slot[first : last + 1] = [self._server(place)] * (last + 1 - first)

    async def _look_at(self, place: HostPort) -> Server:
        server = self._server(place)
        await server.look()
        return server
