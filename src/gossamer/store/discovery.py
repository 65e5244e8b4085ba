"""Finds the servers that currently accept writes: a single server, the master that Sentinels name, or the
masters of a Cluster.

The result is a list of (first slot, last slot, address), where the address is the host and the port of a
server. If no server is found, raises Away, whose message lists all addresses that were tried. If waiting
cannot fix the error, raises StoreError.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.errors import Away, GossamerError, StoreError
from gossamer.store.address import Address, HostPort
from gossamer.store.connection import Dialling, ServerClient
from gossamer.store.server import INFO_TIMEOUT_S, Server
from gossamer.store.server_errors import LostInTime, RedisError
from gossamer.store.store_errors import is_login_refused, is_passing, to_gossamer_error

SLOTS = 16384
_OWN = "the parameters sentinel_user and sentinel_password are for the Sentinels"
Range = tuple[int, int, HostPort]
Look = Callable[[HostPort], Awaitable[Server]]
"""A function that connects to a host and port, reads the INFO of the server there, and returns the server."""


async def by_itself(address: Address, look: Look) -> list[Range]:
    """Returns the slot range of a single server, which contains all slots. Raises StoreError if the server is
    a Sentinel or a Cluster node, and Away if it is a replica."""
    place = address.places[0]
    server = await look(place)
    at = f"the store at {address.shown}"
    if server.mode == "cluster":
        raise StoreError(f"{at} is a node of a Cluster: write redis+cluster://{place}")
    if server.mode == "sentinel":
        raise StoreError(
            f"{at} is a Sentinel: write redis+sentinel://{place}/{_services(server.info) or 'SERVICE'}"
        )
    if server.role != "master":
        master = f"{server.info.get('master_host')}:{server.info.get('master_port')}"
        raise Away(
            f"{at} is a replica: its master is {master}; write that address, or those of the Sentinels"
        )
    return [(0, SLOTS - 1, place)]


class Sentinels:
    """Finds the master through the Sentinels that an address lists. Keeps one connection to each Sentinel."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients = {place: _client(address, place) for place in address.places}

    async def find(self, address: Address, look: Look) -> list[Range]:
        """Asks the Sentinels for the address of the master, and returns the slot range of this master. The
        method first checks that the named server is a master."""
        tried: list[str] = []
        named: set[HostPort] = set()
        strangers = 0
        for place in list(self._clients):
            try:
                found = await self._named(place, address)
                if found is None:
                    strangers += 1
                    watched = _services(await send_command(self._clients[place], "INFO", "sentinel"))
                    tried.append(f"{place} (watches {watched or 'nothing'})")
                    continue
                master = HostPort(_text(found[0]), int(found[1]))
                if master not in named:
                    named.add(master)
                    if (await look(master)).role == "master":
                        # the next search begins with this Sentinel
                        self._clients = {place: self._clients.pop(place), **self._clients}
                        return [(0, SLOTS - 1, master)]
                    tried.append(f"{place} (names {master}, which is not a master yet)")
            except (RedisError, OSError, GossamerError) as error:
                if "unknown command" in str(error):
                    raise StoreError(
                        f"the store at {address.shown}: {place} is not a Sentinel: write redis://{place}"
                    ) from error
                tried.append(f"{place} ({_why(error, address)})")
        if strangers == len(self._clients):
            raise StoreError(
                f"the store at {address.shown}: no Sentinel watches {address.service!r}: {', '.join(tried)}"
            )
        raise Away(f"the store at {address.shown} does not answer: tried {', '.join(tried)}")

    async def _named(self, place: HostPort, address: Address) -> Any:
        """Gets the address of the master from a Sentinel. Sentinels have their own users and passwords."""
        try:
            return await send_command(
                self._clients[place], "SENTINEL GET-MASTER-ADDR-BY-NAME", address.service
            )
        except RedisError as error:
            if not is_login_refused(error):
                raise
            text = f"the Sentinel {place} refused its user/password ({error}): {_OWN}"
            raise StoreError(f"the store at {address.shown}: {text}") from error

    async def close(self) -> None:
        """Closes the connections."""
        for client in self._clients.values():
            await client.pool.close()


class Nodes:
    """Finds the masters of a Cluster through its nodes."""

    def __init__(self, address: Address, server: Callable[[HostPort], Server]) -> None:
        self._server = server
        self._places = list(address.places)
        """The addresses of the Cluster nodes, in the order in which they are queried. The address of the node
        that answered last comes first."""

    async def find(self, address: Address, look: Look) -> list[Range]:
        """Returns the slot ranges of the masters, as reported by the first node that answers. Connects to
        each master to check it."""
        tried: list[str] = []
        for place in list(self._places):
            try:
                found = await send_command(self._server(place).client, "CLUSTER SLOTS")
            except (RedisError, OSError) as error:
                if "cluster support disabled" in str(error):
                    raise StoreError(
                        f"the store at {address.shown} is not a Cluster: write redis://{place}"
                    ) from error
                if "unknown command" in str(error):
                    hint = f"{place} is a Sentinel: write redis+sentinel://{place}/SERVICE"
                    raise StoreError(f"the store at {address.shown}: {hint}") from error
                tried.append(f"{place} ({_why(error, address)})")
                continue
            ranges, places = _read(found, place)
            self._places = list(dict.fromkeys((place, *places, *address.places)))
            masters = list(dict.fromkeys(master for _, _, master in ranges))
            for seen in await asyncio.gather(*(look(master) for master in masters), return_exceptions=True):
                if isinstance(seen, BaseException) and not is_passing(seen):
                    raise seen  # a replica will replace a master that does not answer
            return ranges
        raise Away(f"the store at {address.shown} does not answer: tried {', '.join(tried)}")


async def send_command(client: ServerClient, *args: Any) -> Any:
    """Sends one command, with a timeout of INFO_TIMEOUT_S seconds."""
    try:
        async with asyncio.timeout(INFO_TIMEOUT_S):
            return await client.execute_command(*args)
    except TimeoutError as error:
        raise LostInTime(f"no answer within {INFO_TIMEOUT_S:.0f} s") from error


def _client(address: Address, place: HostPort) -> ServerClient:
    return ServerClient(Dialling(place, address, INFO_TIMEOUT_S, 1.0, for_sentinel=True))


def _services(info: Any) -> str:
    """Returns the names of the services that a Sentinel watches."""
    found = [
        one["name"] for key, one in info.items() if re.fullmatch(r"master\d+", key) and isinstance(one, dict)
    ]
    return ", ".join(sorted(map(str, found)))


def _read(found: Any, asked: HostPort) -> tuple[list[Range], list[HostPort]]:
    """Decodes the reply of CLUSTER SLOTS. Returns the masters by slot range, and all nodes."""

    def place(one: Any) -> HostPort:
        host = _text(one[0])
        return HostPort(host if host not in ("", "?") else asked.host, int(one[1]))

    rows = [(one[0], one[1], one[2], one[3:]) for one in found]
    ranges = [(int(first), int(last), place(master)) for first, last, master, _ in rows]
    nodes = [place(one) for _, _, master, replicas in rows for one in (master, *replicas)]
    return ranges, nodes


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")


def _why(error: BaseException, address: Address) -> str:
    """Returns a short description of one server's error, for a message that lists several servers. If waiting
    cannot fix the error, raises the error as a gossamer error."""
    if not is_passing(error):
        raise to_gossamer_error(error, address) from error
    reached = r"Error -?\d+ connecting to (\S+)\. (?:Connect call failed.*)?"
    return re.sub(reached, r"\1 cannot be reached: ", str(error)).strip(" .:")
