"""The errors of a Valkey server and of the connection to the server. The store converts these errors to
gossamer errors (`store_errors`).

The error message of a server begins with an error code. This module defines an exception class for each known
error code. The message of the exception does not contain the error code.
"""

from __future__ import annotations


class RedisError(Exception):
    """The base class of the errors of a server and of a connection."""


class Lost(RedisError):
    """The connection cannot be made, or it was lost."""


class LostInTime(RedisError):
    """The server did not answer in time."""


class Replaced(Lost):
    """A new connection led to another server process than before. Nothing was sent."""


class BusyLoadingError(Lost):
    """The server is loading its data."""


class AuthenticationError(Lost):
    """The server refused the user or the password."""


class ResponseError(RedisError):
    """The server replied with an error."""


class NoPermissionError(ResponseError):
    """The user may not run this command."""


class NoScriptError(ResponseError):
    """The server does not have the script yet."""


class ReadOnlyError(ResponseError):
    """The server is a replica."""


class ClusterDownError(ResponseError):
    """The Cluster, or the master of the replica, is currently unavailable."""


class TryAgainError(ResponseError):
    """The slot of the key is being moved between two nodes of a Cluster."""


class AskError(ResponseError):
    """The slot is being moved to another node. `slot_id`: the slot. `host`, `port`: the other node."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        slot, node = text.split(" ")
        self.slot_id = int(slot)
        self.host, _, port = node.rpartition(":")
        self.port = int(port)


class MovedError(AskError):
    """The slot belongs to another node."""


_CLASSES: dict[str, type[RedisError]] = {
    "ERR": ResponseError,
    "OOM": ResponseError,
    "EXECABORT": ResponseError,
    "CROSSSLOT": ResponseError,
    "LOADING": BusyLoadingError,
    "NOAUTH": AuthenticationError,
    "WRONGPASS": AuthenticationError,
    "NOPERM": NoPermissionError,
    "NOSCRIPT": NoScriptError,
    "READONLY": ReadOnlyError,
    "ASK": AskError,
    "MOVED": MovedError,
    "TRYAGAIN": TryAgainError,
    "CLUSTERDOWN": ClusterDownError,
    "MASTERDOWN": ClusterDownError,
}


def server_error(text: str) -> RedisError:
    """Returns the exception for an error reply of a server. `text` is the text of the reply."""
    code, _, rest = text.partition(" ")
    if code not in _CLASSES:
        return ResponseError(text)
    if rest == "max number of clients reached":
        return Lost(rest)
    return _CLASSES[code](rest)
