"""Sends commands to a server without asyncio."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import hiredis

from gossamer.store.replies import convert
from gossamer.store.server_errors import Lost, LostInTime, server_error

_INCOMPLETE = object()


def call_socket(path: str, seconds: float, *args: Any) -> Any:
    """Sends a command to the server on a Unix socket and returns its reply. `seconds`: the time limit for
    connecting, and for each part of the reply. Raises RedisError."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(path)
            (reply,) = exchange(connection, [args])
    except TimeoutError as error:
        raise LostInTime(f"no answer from {path} within {seconds:g} s") from error
    except OSError as error:
        raise Lost(str(error)) from error
    if isinstance(reply, Exception):
        raise reply
    return convert(args[0], {}, reply)


def exchange(connection: socket.socket, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Sends commands together and returns one reply per command. An error of the server is a reply. Raises
    Lost if the server closes the connection or is not a Valkey server, and OSError."""
    reader = hiredis.Reader(replyError=server_error, notEnoughData=_INCOMPLETE)
    connection.sendall(b"".join(hiredis.pack_command((*args[0].split(), *args[1:])) for args in commands))
    replies: list[Any] = []
    try:
        while len(replies) < len(commands):
            if (reply := reader.gets()) is not _INCOMPLETE:
                replies.append(reply)
                continue
            if not (data := connection.recv(65536)):
                raise Lost("Connection closed by server.")
            reader.feed(data)
    except hiredis.ProtocolError as error:
        raise Lost(f"the server is not a Valkey server: {error}") from error
    return replies
