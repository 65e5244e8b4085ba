"""Sends one command to a server on a Unix socket, without asyncio."""

from __future__ import annotations

import socket
from typing import Any

import hiredis

from gossamer.store.replies import convert
from gossamer.store.server_errors import Lost, LostInTime, server_error

_INCOMPLETE = object()


def call_socket(path: str, seconds: float, *args: Any) -> Any:
    """Sends a command to the server on a Unix socket and returns its reply. `seconds`: the time limit for
    connecting, and for each part of the reply. Raises RedisError."""
    reader = hiredis.Reader(replyError=server_error, notEnoughData=_INCOMPLETE)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(path)
            connection.sendall(hiredis.pack_command((*args[0].split(), *args[1:])))
            while (reply := reader.gets()) is _INCOMPLETE:
                if not (data := connection.recv(65536)):
                    raise Lost("Connection closed by server.")
                reader.feed(data)
    except TimeoutError as error:
        raise LostInTime(f"no answer from {path} within {seconds:g} s") from error
    except OSError as error:
        raise Lost(str(error)) from error
    if isinstance(reply, Exception):
        raise reply
    return convert(args[0], {}, reply)
