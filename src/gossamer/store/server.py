"""One Valkey server: its connections, and its replicas according to INFO.

A connection stores the run id of the server process to which it is connected. Each claim sends this run id.
If the id has changed since the last claim, the script delays the hosts of the bucket (`failover.lua`).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import hiredis
import redis.asyncio as redis
from redis.exceptions import NoPermissionError, ResponseError
from redis.exceptions import TimeoutError as LostInTime

from gossamer.store.address import Address, HostPort

INFO_TIMEOUT_S = 2.0
"""Seconds within which a server must answer INFO."""
MAX_REPLICA_LAG_S = 10
"""Seconds without an acknowledgment after which a replica no longer counts."""
RUN = "run id of the server"
"""A placeholder that may be the last argument of a command. The connection replaces it with the run id of its
server process."""
_RUN_ID = re.compile(rb"run_id:(\w+)")


class _Packing:
    """A connection mixin that packs commands in C. redis-py's own packer takes 1 us per argument, and the
    commands for one page have a hundred arguments."""

    run_id = b""

    def pack_command(self, *args: Any) -> list[bytes]:
        """Packs a command into one buffer. A command name such as `SCRIPT LOAD` is sent as two words."""
        if args[-1] is RUN:
            args = (*args[:-1], self.run_id)
        return [hiredis.pack_command((*str(args[0]).split(), *args[1:]))]


async def _greet(connection: Any) -> None:
    """Sets up a new connection: logs in, and reads the run id of the server process."""
    await connection.on_connect()
    try:
        await connection.send_command("INFO", "server")
        text = await connection.read_response()
    except ResponseError:  # the user may not call INFO
        connection.run_id = b""
        return
    found = _RUN_ID.search(text if isinstance(text, bytes) else str(text).encode())
    connection.run_id = found[1] if found else b""


class Server:
    """One server process that accepts writes, and the connections to it."""

    def __init__(self, place: HostPort, address: Address, timeout: float, *, plain: bool = False) -> None:
        self.place = place
        self.replicas = 0
        """Number of replicas that are online."""
        self.filling = 0
        """Number of replicas that are still loading their first copy of the data."""
        self.info: dict[str, Any] = {}
        kind = "unix" if not place.port else "tls" if address.tls else "tcp"
        base = {
            "unix": redis.UnixDomainSocketConnection,
            "tls": redis.SSLConnection,
            "tcp": redis.Connection,
        }[kind]
        where: dict[str, Any] = {"host": place.host, "port": place.port, "socket_keepalive": True}
        self.client = redis.Redis(
            connection_pool=redis.BlockingConnectionPool(
                connection_class=type("Packing", (_Packing, base), {}),
                max_connections=64,
                timeout=timeout,
                socket_timeout=timeout,
                socket_connect_timeout=min(timeout, 3.0),
                retry=None,
                redis_connect_func=None if plain else _greet,
                **(where if place.port else {"path": place.host}),
                **address.options(),
            )
        )

    @property
    def mode(self) -> str:
        """The mode of the server: standalone, sentinel or cluster."""
        return str(self.info.get("redis_mode") or self.info.get("server_mode") or "standalone")

    @property
    def role(self) -> str:
        """The role of the server: master or slave. It is also master if the database user may not call
        INFO."""
        return str(self.info.get("role", "master"))

    async def look(self) -> None:
        """Reads INFO."""
        try:
            async with asyncio.timeout(INFO_TIMEOUT_S):
                self.info = dict(await self.client.info())
        except TimeoutError as error:
            raise LostInTime(f"{self.place} does not answer within {INFO_TIMEOUT_S:.0f} s") from error
        except NoPermissionError:
            self.info = {}
        self.told(self.info)

    def told(self, info: Any) -> None:
        """Updates the numbers of replicas from a reply to INFO. They are 0 if the database user may not call
        INFO."""
        told = info if isinstance(info, dict) else {}
        followers = [v for k, v in told.items() if re.fullmatch(r"slave\d+", k) and isinstance(v, dict)]
        online = [one for one in followers if one.get("state") == "online"]
        self.replicas, self.filling = (
            sum(int(one.get("lag", 0)) <= MAX_REPLICA_LAG_S for one in online),
            len(followers) - len(online),
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self.client.connection_pool.aclose()
