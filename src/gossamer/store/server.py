"""One server: its connections, what it says of itself.

A connection notes the run id of the process at its other end, so that a claim can say whom it believes to
ask: after a change the script holds the bucket's hosts (`failover.lua`).
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

LOOK = 2.0
"""Seconds in which a server must say what it is."""
LAG = 10
"""Seconds without a word after which a replica follows no longer."""
RUN = "run id of the server"
"""As the last argument of a command it becomes the run id of the server's process that the connection leads
to."""
_RUN_ID = re.compile(rb"run_id:(\w+)")


class _Packing:
    """Packs commands in C: redis-py's own packer costs 1 us an argument, and a page has a hundred of them."""

    run_id = b""

    def pack_command(self, *args: Any) -> list[bytes]:
        """One buffer of one command; `SCRIPT LOAD` is two words on the wire."""
        if args[-1] is RUN:
            args = (*args[:-1], self.run_id)
        return [hiredis.pack_command((*str(args[0]).split(), *args[1:]))]


async def _greet(connection: Any) -> None:
    """What a new connection does first: log in, and learn whose process is at the other end."""
    await connection.on_connect()
    try:
        await connection.send_command("INFO", "server")
        text = await connection.read_response()
    except ResponseError:  # the user may not ask
        connection.run_id = b""
        return
    found = _RUN_ID.search(text if isinstance(text, bytes) else str(text).encode())
    connection.run_id = found[1] if found else b""


class Server:
    """One process that takes writes, and the connections to it."""

    def __init__(self, place: HostPort, address: Address, timeout: float, *, plain: bool = False) -> None:
        self.place = place
        self.replicas = 0
        """Replicas that follow it."""
        self.filling = 0
        """Replicas that are being filled: they follow soon."""
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
        """standalone, sentinel or cluster."""
        return str(self.info.get("redis_mode") or self.info.get("server_mode") or "standalone")

    @property
    def role(self) -> str:
        """master or slave; master also where the user may not ask."""
        return str(self.info.get("role", "master"))

    async def look(self) -> None:
        """Ask what it is, and who follows it."""
        try:
            async with asyncio.timeout(LOOK):
                self.info = dict(await self.client.info())
        except TimeoutError as error:
            raise LostInTime(f"{self.place} does not answer within {LOOK:.0f} s") from error
        except NoPermissionError:
            self.info = {}
        self.told(self.info)

    def told(self, info: Any) -> None:
        """Who follows it, as its INFO says; where the user may not ask, nobody."""
        told = info if isinstance(info, dict) else {}
        followers = [v for k, v in told.items() if re.fullmatch(r"slave\d+", k) and isinstance(v, dict)]
        online = [one for one in followers if one.get("state") == "online"]
        self.replicas, self.filling = (
            sum(int(one.get("lag", 0)) <= LAG for one in online),
            len(followers) - len(online),
        )

    async def close(self) -> None:
        """Let the connections go."""
        await self.client.connection_pool.aclose()
