"""Opens asyncio connections to one Valkey server, and keeps them in a pool. hiredis packs the commands and
reads the replies.

A connection handles one call at a time. If a call is cancelled or fails, its connection is closed, because
the next call would receive the outstanding replies of the failed call.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import hiredis

from gossamer.store.address import Address, HostPort
from gossamer.store.commands import Command, Commands, Pipe
from gossamer.store.replies import convert
from gossamer.store.server_errors import Lost, LostInTime, Replaced, ResponseError, server_error

if TYPE_CHECKING:
    from ssl import SSLContext

MAX_CONNECTIONS = 64
"""Maximum number of connections to one server."""
RUN = "run id of the server"
"""A placeholder for the last argument of a command. Before a connection sends the command, the connection
replaces the placeholder with the run ID of its server process."""
_RUN_ID = re.compile(rb"run_id:(\w+)")
_INCOMPLETE = object()


class Dialling(NamedTuple):
    """The settings of a connection. `timeout`: seconds for which a server may stay silent. `connect_timeout`:
    seconds within which the connection must be open. `reads_run_id`: whether a new connection reads the run
    ID of the server process."""

    place: HostPort
    address: Address
    timeout: float
    connect_timeout: float
    for_sentinel: bool = False
    reads_run_id: bool = False

    @property
    def where(self) -> str:
        """The address of the server, for messages."""
        return str(self.place) if self.place.port else self.place.host

    def greeting(self) -> list[tuple[Any, ...]]:
        """Returns the first commands of a new connection, which log in and select the database."""
        address = self.address
        user, password = (
            (address.sentinel_user, address.sentinel_password)
            if self.for_sentinel
            else (address.user, address.password)
        )
        found: list[tuple[Any, ...]] = []
        if user or password:
            found.append(("AUTH", *([user] if user else []), password.reveal() if password else ""))
        if address.db and not self.for_sentinel:
            found.append(("SELECT", address.db))
        return found


class Connection(asyncio.Protocol):
    """A connection to a server. `call` sends commands and returns their replies."""

    def __init__(self, dialling: Dialling) -> None:
        self._dialling = dialling
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[list[Any]] | None = None
        self._closed: asyncio.Future[None] | None = None
        self._replies: list[Any] = []
        self._wanted = 0
        self._heard = 0.0
        self._run_id = b""
        self._timer: asyncio.TimerHandle

    @property
    def run_id(self) -> bytes:
        """The run ID of the server process, or b"" if it is unknown."""
        return self._run_id

    @property
    def is_open(self) -> bool:
        """Whether the connection is open, as far as this process knows."""
        return self._transport is not None and not self._transport.is_closing()

    async def open(self) -> None:
        """Connects to the server and logs in. Raises Lost, LostInTime or ResponseError."""
        how, loop = self._dialling, asyncio.get_running_loop()
        self._reader = hiredis.Reader(replyError=server_error, notEnoughData=_INCOMPLETE)
        self._closed = loop.create_future()
        try:
            async with asyncio.timeout(how.connect_timeout):
                if how.place.port:
                    tls = tls_context(how.address) if how.address.tls else None
                    await loop.create_connection(lambda: self, how.place.host, how.place.port, ssl=tls)
                else:
                    await loop.create_unix_connection(lambda: self, how.place.host)
        except TimeoutError as error:
            raise LostInTime("Timeout connecting to server") from error
        except OSError as error:
            raise Lost(_cannot_connect(how.where, error)) from error
        try:
            for reply in await self._exchange(how.greeting()):
                if isinstance(reply, Exception):
                    raise reply
            if how.reads_run_id:
                await self._read_run_id()
        except BaseException:
            self.close()
            raise

    async def _read_run_id(self) -> None:
        (text,) = await self._exchange([("INFO", "server")])
        if isinstance(text, Exception) and not isinstance(text, ResponseError):
            raise text
        # the database user may not call INFO
        found = _RUN_ID.search(text) if isinstance(text, bytes) else None
        self._run_id = found[1] if found else b""

    async def call(self, commands: Sequence[Command], transaction: bool) -> list[Any]:
        """Returns one reply per command. If a command failed, its reply is the error. If the server did not
        accept one of the commands of a transaction, every command gets the error as its reply."""
        words = transaction_words(commands) if transaction else [args for args, _ in commands]
        return converted_replies(commands, await self._exchange(words), transaction)

    async def _exchange(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not commands:
            return []
        if self._transport is None or self._transport.is_closing():
            raise Lost("Connection closed by server.")
        loop = asyncio.get_running_loop()
        packed = [self._pack(args) for args in commands]
        self._replies, self._wanted, self._waiter = [], len(commands), loop.create_future()
        self._heard = loop.time()
        self._timer = loop.call_later(self._dialling.timeout, self._check_silence)
        try:
            try:
                self._transport.write(packed[0] if len(packed) == 1 else b"".join(packed))
            except (
                RuntimeError
            ) as error:  # uvloop has closed the socket, although `is_closing` returned False
                self._transport = None
                raise Lost("Connection closed by server.") from error
            return await self._waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None
            self._timer.cancel()

    def _pack(self, args: tuple[Any, ...]) -> bytes:
        """Packs a command. A name such as `SCRIPT LOAD` is sent as two words."""
        if args[-1] is RUN:
            args = (*args[:-1], self._run_id)
        return bytes(hiredis.pack_command((*args[0].split(), *args[1:])))

    def _check_silence(self) -> None:
        waiter, loop = self._waiter, asyncio.get_running_loop()
        if waiter is None or waiter.done():
            return
        if (left := self._heard + self._dialling.timeout - loop.time()) > 0.001:
            self._timer = loop.call_later(left, self._check_silence)
            return
        waiter.set_exception(LostInTime(f"Timeout reading from {self._dialling.where}"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast(asyncio.Transport, transport)
        if self._dialling.place.port and (raw := transport.get_extra_info("socket")) is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            self.close()  # there was no request
            return
        self._reader.feed(data)
        try:
            while len(self._replies) < self._wanted:
                if (reply := self._reader.gets()) is _INCOMPLETE:
                    self._heard = asyncio.get_running_loop().time()
                    return
                self._replies.append(reply)
        except hiredis.ProtocolError as error:
            waiter.set_exception(Lost(f"{self._dialling.where} is not a Valkey server: {error}"))
            return
        waiter.set_result(self._replies)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        self._transport = None
        if self._waiter is not None and not self._waiter.done():
            why = f"Error while reading from {self._dialling.where} : {exc.args}" if exc else ""
            self._waiter.set_exception(Lost(why or "Connection closed by server."))
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)

    def close(self) -> None:
        """Closes the connection without waiting."""
        if self._transport is not None:
            self._transport.abort()

    async def closed(self) -> None:
        """Closes the connection and waits until it is closed."""
        if self._transport is not None and self._closed is not None:
            self.close()
            await asyncio.wait((self._closed,), timeout=1.0)


class Pool:
    """The connections to one server. A call uses an idle connection. If no connection is idle, the call opens
    another connection. The pool has at most MAX_CONNECTIONS connections."""

    def __init__(self, dialling: Dialling) -> None:
        self._dialling = dialling
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._room = asyncio.Semaphore(MAX_CONNECTIONS)
        self._run_id: bytes | None = None
        self._trusted = b""
        self._lost = False
        self.restarts = 0
        """Number of times that a new connection led to another server process than the connection before. If
        the database user may not call INFO, each replacement of a lost connection counts."""

    async def send(
        self, commands: Sequence[Command], transaction: bool = False, *, any_process: bool = False
    ) -> list[Any]:
        """Sends commands together. Returns one reply per command. If the server answers a command with an
        error, the reply is the error. Raises Lost or LostInTime. `any_process`: whether to send the commands
        also to a process that is not the trusted one. Otherwise, raises Replaced."""
        if self._room.locked():
            try:
                async with asyncio.timeout(self._dialling.timeout):
                    await self._room.acquire()
            except TimeoutError as error:
                raise Lost("No connection available.") from error
        else:
            await self._room.acquire()
        connection = self._idle.pop() if self._idle else Connection(self._dialling)
        self._used.add(connection)
        try:
            if not connection.is_open:
                await connection.open()
                self._opened(connection.run_id)
            if not (any_process or self._trusts(connection.run_id)):
                raise Replaced(f"{self._dialling.where} has restarted")
            return await connection.call(commands, transaction)
        finally:
            self._used.discard(connection)
            if connection.is_open:
                self._idle.append(connection)
            else:
                self._lost = True
            self._room.release()

    def _opened(self, run_id: bytes) -> None:
        if self._run_id is not None and (run_id != self._run_id or (not run_id and self._lost)):
            self.restarts += 1
        self._run_id, self._lost = run_id, False

    def trust(self, run_id: str) -> None:
        """Until the next call, `send` accepts only the process with this run ID, or any process if the run ID
        is empty."""
        self._trusted = run_id.encode()

    @property
    def is_replaced(self) -> bool:
        """Whether the last new connection led to another process than the trusted one."""
        return self._run_id is not None and not self._trusts(self._run_id)

    def _trusts(self, run_id: bytes) -> bool:
        # the run ID is empty if the database user may not call INFO
        return not self._trusted or not run_id or run_id == self._trusted

    async def close_idle(self) -> None:
        """Closes the connections that no call is using."""
        idle, self._idle = self._idle, []
        self._lost = self._lost or bool(idle)
        for connection in idle:
            await connection.closed()

    async def close(self) -> None:
        """Closes all connections."""
        await self.close_idle()
        for connection in list(self._used):
            await connection.closed()


class ServerClient(Commands):
    """Sends commands to one server."""

    def __init__(self, dialling: Dialling) -> None:
        self.pool = Pool(dialling)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Sends one command and returns its reply. Raises RedisError."""
        (reply,) = await self.pool.send([(args, options)])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def pipeline(self, transaction: bool = True) -> Pipe:
        """Returns a pipeline. If `transaction` is true, the server runs no other command between the commands
        of the pipeline."""
        return Pipe(self.pool.send, transaction)


def transaction_words(commands: Sequence[Command]) -> list[tuple[Any, ...]]:
    """Returns the commands to send so that the server runs these commands as one transaction."""
    return [("MULTI",), *(args for args, _ in commands), ("EXEC",)]


def converted_replies(commands: Sequence[Command], replies: list[Any], transaction: bool) -> list[Any]:
    """Returns one reply per command, converted to Python values. `replies`: the replies to the sent commands,
    in a transaction with those to MULTI and EXEC."""
    if transaction:
        *queued, executed = replies
        if not isinstance(executed, list):
            error = next((one for one in queued if isinstance(one, Exception)), executed)
            return [error] * len(commands)
        replies = executed
    return [
        convert(args[0], options, reply) for (args, options), reply in zip(commands, replies, strict=True)
    ]


def tls_context(address: Address) -> SSLContext:
    """Returns the TLS settings of an address. Raises OSError if a file cannot be read."""
    import ssl

    context = ssl.create_default_context(cafile=address.ca_file)
    context.check_hostname = address.check_hostname and address.verify
    context.verify_mode = ssl.CERT_REQUIRED if address.verify else ssl.CERT_NONE
    if address.cert_file:
        context.load_cert_chain(address.cert_file, address.key_file)
    return context


def _cannot_connect(where: str, error: OSError) -> str:
    what = "".join(f" {one}" for one in error.args[:1])
    why = "".join(f" {one}." for one in error.args[1:2])
    return f"Error{what} connecting to {where}.{why}"
