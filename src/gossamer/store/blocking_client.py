"""A client of one server for code that runs without an event loop."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from gossamer.store.address import Address
from gossamer.store.blocking_call import exchange
from gossamer.store.commands import Command, Commands
from gossamer.store.connection import Dialling, converted_replies, tls_context, transaction_words
from gossamer.store.server_errors import Lost, LostInTime


class BlockingClient(Commands):
    """One connection to a server. Only one thread at a time uses the client. If a call fails, the next call
    opens a new connection.

    `timeout`: seconds for which the server may stay silent. `connect_timeout`: seconds for connecting to one
    address of the server.
    """

    def __init__(self, address: Address, timeout: float, connect_timeout: float) -> None:
        self._dialling = Dialling(address.places[0], address, timeout, connect_timeout)
        self._socket: socket.socket | None = None

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Sends one command and returns its reply. Raises RedisError."""
        (reply,) = self.send([(args, options)])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def pipeline(self, transaction: bool = True) -> BlockingPipe:
        """Returns a pipeline. If `transaction` is true, the server runs no other command between the commands
        of the pipeline."""
        return BlockingPipe(self, transaction)

    def send(self, commands: Sequence[Command], transaction: bool = False) -> list[Any]:
        """Sends commands together. Returns one reply per command. If the server answers a command with an
        error, the reply is the error. Raises Lost or LostInTime, and ResponseError while logging in."""
        where = self._dialling.where
        words = transaction_words(commands) if transaction else [args for args, _ in commands]
        try:
            connection = self._socket = self._socket or self._open()
            return converted_replies(commands, exchange(connection, words), transaction)
        except TimeoutError as error:
            self.close()
            raise LostInTime(f"no answer from {where} within {self._dialling.timeout:g} s") from error
        except OSError as error:
            self.close()
            raise Lost(f"{where}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def _open(self) -> socket.socket:
        how = self._dialling
        if how.place.port:
            connection = socket.create_connection((how.place.host, how.place.port), how.connect_timeout)
        else:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if not how.place.port:
                connection.connect(how.place.host)
            if how.address.tls:
                connection = tls_context(how.address).wrap_socket(connection, server_hostname=how.place.host)
            connection.settimeout(how.timeout)
            greeting = how.greeting()
            for reply in exchange(connection, greeting) if greeting else ():
                if isinstance(reply, Exception):
                    raise reply
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Closes the connection."""
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()


class BlockingPipe(Commands):
    """Collects commands, and sends them together."""

    def __init__(self, client: BlockingClient, transaction: bool) -> None:
        self._client, self._transaction = client, transaction
        self._commands: list[Command] = []

    def execute_command(self, *args: Any, **options: Any) -> BlockingPipe:
        """Collects one command. Returns the pipeline."""
        self._commands.append((args, options))
        return self

    def execute(self) -> list[Any]:
        """Returns one reply per command. If commands failed, raises the first error."""
        commands, self._commands = self._commands, []
        replies = self._client.send(commands, self._transaction) if commands else []
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return replies
