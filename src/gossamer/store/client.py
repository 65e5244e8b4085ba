"""The client of a store. The client sends each command to the server that holds the command's key. A client
that waits for the end of outages repeats a command after an outage.

If a reply is lost, the command is sent again. The methods of the client are therefore only for commands that
can safely run twice. Use `StoreClient.send` for all other commands, because `StoreClient.send` sends each command only
once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from gossamer.errors import Away, GossamerError
from gossamer.store.commands import Command, Commands, Pipe
from gossamer.store.reconnect import OutageWaiter
from gossamer.store.server import Server
from gossamer.store.server_errors import MovedError, RedisError, Replaced
from gossamer.store.servers import Servers
from gossamer.store.store_errors import is_passing

MAX_REDIRECTIONS = 5
"""Maximum number of times that one call is sent to another server: by redirections of a Cluster, or because a
server has restarted."""
REPLICA_TIMEOUT_MS = 1000
"""Milliseconds within which a replica must confirm a write."""
SYNCING_TIMEOUT_MS = 250
"""The number of milliseconds within which a replica must confirm a write if no replica is online and at least
one replica is loading its first copy of the data. A replica that is still loading could become master before
the replica receives the latest writes."""


class UnconfirmedReply(NamedTuple):
    """A reply to a command. No replica has confirmed the writes of the command. A failover may undo the
    writes of the command."""

    reply: Any


_WHO: Command = (("INFO", "replication"), {})
_KEYLESS = frozenset(
    ("PING", "INFO", "TIME", "CONFIG", "SCRIPT", "FLUSHALL", "DBSIZE", "SCAN", "ACL", "CLIENT", "ECHO")
)


def key_of(args: Sequence[Any]) -> str | bytes | None:
    """Returns the key that determines the server for a command, or None if any server can run the command."""
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


class StoreClient(Commands):
    """Sends each command to the right server. The attribute `patience` contains the client's OutageWaiter."""

    def __init__(self, servers: Servers, seconds: float) -> None:
        self.servers = servers
        self.patience = OutageWaiter(seconds, self._healthy, servers.address.shown)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Sends one command and returns its reply. The methods for all commands call this method."""
        while True:
            try:
                return await self._once(args, options)
            except (RedisError, OSError, Away) as error:
                self._doubt(error)
                if not self.patience.patient or not is_passing(error):
                    raise
                await self.patience.wait(error)

    async def _once(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for hop in range(MAX_REDIRECTIONS):
            server = await self.servers.serving(key_of(args))
            try:
                return await _call(server, *args, **options)
            except MovedError as error:
                if hop + 1 == MAX_REDIRECTIONS or self.servers.address.kind != "cluster":
                    raise
                self.servers.moved(error)
            except Replaced:  # another server may have taken over, so `serving` looks for it
                if hop + 1 == MAX_REDIRECTIONS:
                    raise
        raise AssertionError

    def pipeline(self, transaction: bool = True) -> Pipe:
        """Returns a pipeline, which sends all its commands for a server together. In a transaction, all
        commands must belong to one server."""
        return Pipe(self._send_patiently, transaction)

    async def send(
        self, commands: Sequence[Command], transaction: bool = False, confirm: bool = False
    ) -> list[Any]:
        """Sends each command once to its server, in parallel, and returns the replies. If a command fails,
        its reply is the error.

        If `confirm` is true, a reply is wrapped in `UnconfirmedReply` unless a replica has received the
        writes. A reply of a server without replicas is not wrapped.
        """
        if len(commands) == 1 and not transaction and not (confirm and self.servers.may_follow):
            try:
                return [await self._once(*commands[0])]
            except (RedisError, OSError, GossamerError) as error:
                self._doubt(error)
                return [error]
        replies: list[Any] = [None] * len(commands)
        left = list(range(len(commands)))
        for _ in range(MAX_REDIRECTIONS):
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
            elsewhere = MovedError if self.servers.address.kind == "cluster" else Replaced
            left = [j for j in left if isinstance(replies[j], elsewhere)]
            if not left:
                break
            for j in left:
                if isinstance(replies[j], MovedError):
                    self.servers.moved(replies[j])
        for reply in replies:
            self._doubt(reply)
        return replies

    async def _send_patiently(self, commands: Sequence[Command], transaction: bool) -> list[Any]:
        """Sends the commands of a pipeline. If the client waits for the end of outages, repeats the commands
        that failed because of an outage."""
        replies = await self.send(commands, transaction)
        while self.patience.patient:
            left = [
                j for j, reply in enumerate(replies) if isinstance(reply, BaseException) and is_passing(reply)
            ]
            if not left:
                break
            await self.patience.wait(replies[left[0]])
            again = await self.send([commands[j] for j in left], transaction)
            for j, reply in zip(left, again, strict=True):
                replies[j] = reply
        return replies

    def _doubt(self, reply: Any) -> None:
        """If a reply indicates an outage, the next call looks for the current master. The method does nothing
        for a client that waits for the end of outages, because that client's background probe finds the
        current master."""
        if isinstance(reply, BaseException) and not self.patience.patient and is_passing(reply):
            self.servers.stale(forget=True)

    async def _to(
        self, server: Server, mine: dict[int, Command], replies: list[Any], transaction: bool, confirm: bool
    ) -> None:
        sent = list(mine.values())
        followed, asks = server.replicas > 0, confirm and self.servers.may_follow
        if asks:
            sent += _wait(sent, REPLICA_TIMEOUT_MS) if followed else [_WHO]
        got = await _all(server, sent, transaction)
        if asks and not (_has(got[-1]) if followed else await _kept(server, sent, got[-1])):
            self.servers.stale()
            got = [reply if isinstance(reply, BaseException) else UnconfirmedReply(reply) for reply in got]
        for j, reply in zip(mine, got, strict=False):
            replies[j] = reply

    async def _healthy(self) -> None:
        """Raises an error if any server rejects writes."""
        await self.servers.drop_idle()
        await self.servers.look()
        for server in await self.servers.all():
            key = await self._key_at(server)
            await _call(server, "PEXPIRE", key, 1)  # a write without effect

    async def _key_at(self, server: Server) -> str:
        for bucket in range(4096 if self.servers.address.kind == "cluster" else 1):
            key = f"{{b:{bucket:03x}}}"
            if await self.servers.serving(key) is server:
                return key
        return "gossamer:none"

    async def aclose(self) -> None:
        """Closes all connections."""
        await self.patience.close()
        await self.servers.close()


async def _call(server: Server, *args: Any, **options: Any) -> Any:
    return await server.client.execute_command(*args, **options)


def _wait(scripts: list[Command], most: int) -> list[Command]:
    """Returns two commands: a write and a WAIT. The WAIT ends when one replica has received the write, or
    after `most` milliseconds. A replica that has received the write has also received all earlier writes."""
    return [(("SET", f"{scripts[0][0][3]}w", "", "PX", REPLICA_TIMEOUT_MS), {}), (("WAIT", 1, most), {})]


def _has(said: Any) -> bool:
    """Returns whether the reply of WAIT counts at least one replica."""
    return isinstance(said, int) and said > 0


async def _kept(server: Server, scripts: list[Command], who: Any) -> bool:
    """Returns whether the writes would survive a failover: a replica has received them, or there is no
    replica that could take over.

    `who`: a recent reply of the server to INFO. A replica may have connected since the previous reply.
    """
    server.told(who)
    if not server.replicas and not server.filling:
        return True
    wait = _wait(scripts, REPLICA_TIMEOUT_MS if server.replicas else SYNCING_TIMEOUT_MS)
    _, said, who = await _all(server, [*wait, _WHO], False)
    server.told(who)
    return _has(said) or (isinstance(said, int) and not server.replicas)


async def _all(server: Server, commands: list[Command], transaction: bool) -> list[Any]:
    """Sends commands together and returns the replies. If sending fails, each command gets the error as its
    reply."""
    try:
        return await server.client.pool.send(commands, transaction)
    except (RedisError, OSError) as error:
        return [error] * len(commands)
