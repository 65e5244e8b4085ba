"""Turns the replies of a Valkey server into Python values.

The server's protocol (RESP2) has only texts, integers and lists. Replies to commands that are not listed here
are not converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def convert(name: str, options: dict[str, Any], reply: Any) -> Any:
    """Returns the value of a reply to the command `name`. If the reply is an error, returns it unchanged."""
    found = _KINDS.get(name)
    if found is None or isinstance(reply, Exception):
        return reply
    return found(reply, options)


def read_info(text: bytes) -> dict[str, Any]:
    """Returns the fields of INFO. A value is a number or a text. A value of the form `a=1,b=2` becomes a
    dict."""
    found: dict[str, Any] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if colon and not name.startswith("#"):
            found[name] = _info_value(value)
    return found


def _info_value(text: str) -> Any:
    if "=" in text:
        pairs = (one.rpartition("=") for one in text.split(",") if one)
        return {name: _info_value(value) for name, _, value in pairs}
    if "," in text:
        return [_info_value(one) for one in text.split(",") if one]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _pairs(reply: Any, _: dict[str, Any]) -> dict[bytes, bytes]:
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _texts(reply: Any, _: dict[str, Any]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in zip(reply[::2], reply[1::2], strict=True)}


def _scored(reply: Any, options: dict[str, Any]) -> Any:
    if not options.get("withscores"):
        return reply
    return [(member, float(score)) for member, score in zip(reply[::2], reply[1::2], strict=True)]


def _entries(reply: Any, _: dict[str, Any]) -> list[tuple[bytes, dict[bytes, bytes]]]:
    return [(number, dict(zip(fields[::2], fields[1::2], strict=True))) for number, fields in reply]


def _number(reply: Any, _: dict[str, Any]) -> float | None:
    return None if reply is None else float(reply)


def _done(reply: Any, _: dict[str, Any]) -> bool | None:
    return None if reply is None else reply in (b"OK", b"PONG", 1)


_KINDS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "CONFIG GET": _texts,
    "CONFIG SET": _done,
    "EXPIRE": _done,
    "HEXISTS": _done,
    "HGETALL": _pairs,
    "HINCRBYFLOAT": _number,
    "HSCAN": lambda reply, _: (int(reply[0]), _pairs(reply[1], _)),
    "INFO": lambda reply, _: read_info(reply),
    "PEXPIRE": _done,
    "PING": _done,
    "SCAN": lambda reply, _: (int(reply[0]), reply[1]),
    "SET": _done,
    "SMEMBERS": lambda reply, _: set(reply),
    "TIME": lambda reply, _: (int(reply[0]), int(reply[1])),
    "XRANGE": _entries,
    "XREVRANGE": _entries,
    "ZRANGE": _scored,
    "ZRANGEBYSCORE": _scored,
    "ZSCORE": _number,
}
