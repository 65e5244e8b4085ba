"""The client of a store: redis-py's words, sent to the server that holds the key, again after an outage where
there is patience.

Whatever is called here may be sent twice, when a reply was lost: so it only holds for what may be said twice.
What may not goes through `Client.send`, which tries once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import redis.asyncio as redis
from redis.asyncio.client import Pipeline
from redis.exceptions import MovedError, RedisError

from gossamer.errors import Away, GossamerError
from gossamer.store.reconnect import Patience
from gossamer.store.server import Server
from gossamer.store.servers import Servers
from gossamer.store.store_errors import passing

HOPS = 5
"""Redirections of a Cluster that one call follows."""
WAIT = 1000
"""Milliseconds in which a replica must have what was written."""
FILLING = 250
"""The same while none is online: one that is being filled can lead before it is sent what was written
meanwhile."""
Command = tuple[tuple[Any, ...], dict[str, Any]]


class Unsure(NamedTuple):
    """A reply whose writes no replica has yet: a failover may take them back."""

    reply: Any


_WHO: Command = (("INFO", "replication"), {})
_KEYLESS = frozenset(
    ("PING", "INFO", "TIME", "CONFIG", "SCRIPT", "FLUSHALL", "DBSIZE", "SCAN", "ACL", "CLIENT", "ECHO")
)


def key_of(args: Sequence[Any]) -> str | bytes | None:
    """The key that decides where a command goes."""
    word = args[0]
    if word in ("EVALSHA", "EVAL"):
        found = args[3]
    elif len(args) < 2 or word.split()[0] in _KEYLESS:
        return None
    elif word.split()[0] == "OBJECT" and " " not in word:
        found = args[2]
    else:
        found = args[1]
    return found if isinstance(found, bytes) else str(found)


class Client(redis.Redis):
    """Sends each command to its server. `patience` is how long an outage is waited for."""

    def __init__(self, servers: Servers, seconds: float) -> None:
        super().__init__(connection_pool=redis.ConnectionPool())  # never used: each server has its own
        self.servers = servers
        self.patience = Patience(seconds, self._healthy, servers.address.shown)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """One command; what redis-py's methods come down to."""
        while True:
            try:
                return await self._once(args, options)
            except (RedisError, OSError, Away) as error:
                self._doubt(error)
                if not self.patience.patient or not passing(error):
                    raise
                await self.patience.wait(error)

    async def _once(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for hop in range(HOPS):
            server = await self.servers.serving(key_of(args))
            try:
                return await _call(server, *args, **options)
            except MovedError as error:
                if hop + 1 == HOPS or self.servers.address.kind != "cluster":
                    raise
                self.servers.moved(error)
        raise AssertionError

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipe:
        """Commands sent together, each to its server; as a transaction they must belong to one."""
        return Pipe(self, transaction)

    async def send(
        self, commands: Sequence[Command], transaction: bool = False, confirm: bool = False
    ) -> list[Any]:
        """The replies to commands, sent to their servers side by side, once. What went wrong stands in a
        reply's place.

        `confirm`: a reply counts when a replica has what was written, where there are replicas; else it is
        `Unsure`.
        """
        if len(commands) == 1 and not transaction and not (confirm and self.servers.may_follow):
            try:
                return [await self._once(*commands[0])]
            except (RedisError, OSError, GossamerError) as error:
                self._doubt(error)
                return [error]
        replies: list[Any] = [None] * len(commands)
        left = list(range(len(commands)))
        for _ in range(HOPS):
            by_server: dict[Server, list[int]] = {}
            for j in left:
                try:
                    server = await self.servers.serving(key_of(commands[j][0]))
                except (RedisError, OSError, GossamerError) as error:
                    replies[j] = error
                else:
                    by_server.setdefault(server, []).append(j)
            calls = [
                self._to(server, {j: commands[j] for j in mine}, replies, transaction, confirm)
                for server, mine in by_server.items()
            ]
            await (asyncio.gather(*calls) if len(calls) > 1 else calls[0] if calls else asyncio.sleep(0))
            left = [j for j in left if isinstance(replies[j], MovedError)]
            if not left or self.servers.address.kind != "cluster":
                break
            for j in left:
                self.servers.moved(replies[j])
        for reply in replies:
            self._doubt(reply)
        return replies

    def _doubt(self, reply: Any) -> None:
        """Where nobody waits there is no prober that looks who took over: who asks next does."""
        if isinstance(reply, BaseException) and not self.patience.patient and passing(reply):
            self.servers.stale(forget=True)

    async def _to(
        self, server: Server, mine: dict[int, Command], replies: list[Any], transaction: bool, confirm: bool
    ) -> None:
        sent = list(mine.values())
        followed, asks = server.replicas > 0, confirm and self.servers.may_follow
        if asks:
            sent += _wait(sent, WAIT) if followed else [_WHO]
        got = await _all(server, sent, transaction)
        if asks and not (_has(got[-1]) if followed else await _kept(server, sent, got[-1])):
            self.servers.stale()
            got = [reply if isinstance(reply, BaseException) else Unsure(reply) for reply in got]
        for j, reply in zip(mine, got, strict=False):
            replies[j] = reply

    async def _healthy(self) -> None:
        """Raise while some server does not take writes."""
        await self.servers.drop_idle()
        await self.servers.look()
        for server in await self.servers.all():
            key = await self._key_at(server)
            await _call(server, "PEXPIRE", key, 1)  # a write that changes nothing

    async def _key_at(self, server: Server) -> str:
        for bucket in range(4096 if self.servers.address.kind == "cluster" else 1):
            key = f"{{b:{bucket:03x}}}"
            if await self.servers.serving(key) is server:
                return key
        return "gossamer:none"

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Let all connections go."""
        await self.patience.close()
        await self.servers.close()


async def _call(server: Server, *args: Any, **options: Any) -> Any:
    return await server.client.execute_command(*args, **options)  # type: ignore[no-untyped-call] # redis-py leaves it so


def _wait(scripts: list[Command], most: int) -> list[Command]:
    """A write of its own, and who has it within so many milliseconds: all that was written before is older."""
    return [(("SET", f"{scripts[0][0][3]}w", "", "PX", WAIT), {}), (("WAIT", 1, most), {})]


def _has(said: Any) -> bool:
    """Whether WAIT found a replica."""
    return isinstance(said, int) and said > 0


async def _kept(server: Server, scripts: list[Command], who: Any) -> bool:
    """Whether a replica has what was written, or none could take over: one may have come since the last look,
    as INFO tells."""
    server.told(who)
    if not server.replicas and not server.filling:
        return True
    wait = _wait(scripts, WAIT if server.replicas else FILLING)
    _, said, who = await _all(server, [*wait, _WHO], False)
    server.told(who)
    return _has(said) or (isinstance(said, int) and not server.replicas)


async def _all(server: Server, commands: list[Command], transaction: bool) -> list[Any]:
    """The replies to commands sent together; what went wrong stands in a reply's place."""
    pipe = server.client.pipeline(transaction=transaction)
    pipe.command_stack = cast(Any, commands)
    try:
        return await pipe.execute(raise_on_error=False)
    except (RedisError, OSError) as error:
        return [error] * len(commands)


class Pipe(Pipeline):
    """Commands kept until `execute`; then as `Client.send`, what failed in passing again and again while
    there is patience."""

    def __init__(self, client: Client, transaction: bool) -> None:
        super().__init__(client.connection_pool, client.response_callbacks, transaction, None)
        self._client = client

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """The replies; raises the first error, or (`raise_on_error` false) leaves errors in their places."""
        commands, self.command_stack = cast(list[Command], list(self.command_stack)), []
        patience = self._client.patience
        replies = await self._client.send(commands, self.is_transaction)
        while patience.patient:
            left = [
                j for j, reply in enumerate(replies) if isinstance(reply, BaseException) and passing(reply)
            ]
            if not left:
                break
            await patience.wait(replies[left[0]])
            for j, reply in zip(
                left, await self._client.send([commands[j] for j in left], self.is_transaction), strict=True
            ):
                replies[j] = reply
        if raise_on_error:
            for reply in replies:
                if isinstance(reply, BaseException):
                    raise reply
        return replies
