"""Checks each message of the broker before Celery reads it. A malformed message is acknowledged, counted and
kept in the store.

A valid message only names a slot. This module refuses every message that does not have exactly the form of a
slot message. A wrongly refused message costs only seconds, because the keeper sends another message. Some
malformed messages would otherwise make Celery end the worker.
"""

from __future__ import annotations

import base64
import importlib
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from celery.worker import consumer
from kombu.transport import TRANSPORT_ALIASES

from gossamer.config.redaction import mask

over_redis: Any = importlib.import_module("kombu.transport.redis")
compression: Any = importlib.import_module("kombu.compression")
_json: Any = importlib.import_module("kombu.utils.json")

log = logging.getLogger("gossamer.worker")

VERSION = 1
"""The version of the format of slot messages."""
TASK = "gossamer.slice"
MAX_BODY_BYTES = 64 << 10
"""The maximum size in bytes of a body that is read. A slot message has 200 bytes."""
SHOWN_CHARS = 200
"""Number of characters of a malformed message body that are stored."""
RECONNECT_INTERVAL_S = 1.0
"""The number of seconds between two attempts to connect to a broker that does not answer."""
REPEAT_S = 60.0
"""Seconds after which the same fault is logged again."""
_NEVER = ("eta", "expires")
"""Headers that make Celery delay or discard a message."""


class Malformed(NamedTuple):
    """The record of a message that was refused as malformed."""

    at: float
    """The time at which the message was refused, in seconds since the epoch."""
    queue: str
    reason: str
    body: str
    """The first characters of the body, with secrets masked."""
    size: int
    """The size of the message's body in bytes."""


class RefusedMessages:
    """Logs refused messages and passes them to `keep`. The same fault is logged at most once a minute."""

    def __init__(self) -> None:
        self.keep: Callable[[Malformed], None] = lambda _: None
        self._logged: dict[str, tuple[float, int]] = {}

    def add(self, queue: object, reason: str, body: object) -> None:
        """Logs a refused message and passes it to `keep`."""
        raw = body if isinstance(body, bytes) else str(body).encode("utf-8", "replace")
        shown = mask(raw[: 4 * SHOWN_CHARS].decode("utf-8", "replace"))[:SHOWN_CHARS]
        one = Malformed(time.time(), str(queue)[:100], mask(reason)[:SHOWN_CHARS], shown, len(raw))
        if reason.startswith("a message of format"):
            line = reason
        else:
            line = (
                f"a malformed message on queue {one.queue} was rejected: {one.reason}; "
                f"{len(raw)} bytes: {shown[:80]!a}"
            )
        last, more = self._logged.get(one.reason, (0.0, 0))
        if one.at - last >= REPEAT_S:
            log.error("%s%s", line, f" (and {more} more since the last line)" if more else "")
            last, more = one.at, -1
        if len(self._logged) > 100:
            self._logged.clear()
        self._logged[one.reason] = last, more + 1
        self.keep(one)


refused = RefusedMessages()


class Unreadable:
    """A placeholder for a Redis list item that is not JSON."""

    def __init__(self, text: str) -> None:
        self.text = text


def _loads(text: Any, *args: Any, **options: Any) -> Any:
    try:
        return _json.loads(text, *args, **options)
    except Exception:  # noqa: BLE001 - anything may be on the queue: ValueError, RecursionError, ...
        return Unreadable(str(text))


def _compressed(*_: object) -> bytes:
    raise ValueError("it is compressed; messages of gossamer are not")


over_redis.loads = _loads
for _kind in list(compression.encoders()):  # a small compressed message could expand to gigabytes
    compression.register(_compressed, _compressed, _kind, aliases=[])


class _Checked:
    """A mixin for Redis transports. The mixin refuses list items that are not kombu envelopes."""

    def _deliver(self, message: Any, queue: str) -> None:
        if fault := envelope_fault(message):
            refused.add(
                queue,
                fault,
                message.text if isinstance(message, Unreadable) else json.dumps(message, default=str),
            )
        else:
            super()._deliver(message, queue)  # type: ignore[misc] # mixed into a transport


class _QoS(over_redis.QoS):  # type: ignore[misc] # kombu is untyped
    def restore_by_tag(self, tag: Any, client: Any = None, leftmost: bool = False) -> None:
        """Restores an unacknowledged message, as kombu does. Refuses an entry that is not a message, because
        kombu would otherwise try to restore it again and again."""
        with self.channel.conn_or_acquire(client) as connection:
            raw = connection.hget(self.unacked_key, tag)
            found: Any = [] if raw is None else _loads(raw.decode("utf-8", "replace"))
            fault = ""
            if raw is not None:
                whole = isinstance(found, list) and len(found) == 3
                fault = (
                    envelope_fault(found[0])
                    if whole
                    else "it is not JSON of a message, exchange and routing key"
                )
            if fault:
                connection.hdel(self.unacked_key, tag)
                connection.zrem(self.unacked_index_key, tag)
                refused.add(self.unacked_key, fault, raw)
        if not fault:
            super().restore_by_tag(tag, client, leftmost)


class _Channel(over_redis.Channel):  # type: ignore[misc] # kombu is untyped
    QoS = _QoS


class _SentinelChannel(over_redis.SentinelChannel):  # type: ignore[misc] # kombu is untyped
    QoS = _QoS


class Transport(_Checked, over_redis.Transport):  # type: ignore[misc] # kombu is untyped
    """kombu's Redis transport with an additional check of each message."""

    Channel = _Channel


class SentinelTransport(_Checked, over_redis.SentinelTransport):  # type: ignore[misc] # kombu is untyped
    """kombu's Redis Sentinel transport with an additional check of each message."""

    Channel = _SentinelChannel


for _name in ("redis", "rediss", "valkey", "valkeys"):
    TRANSPORT_ALIASES[_name] = f"{__name__}:Transport"
TRANSPORT_ALIASES["sentinel"] = f"{__name__}:SentinelTransport"


def envelope_fault(message: Any) -> str:
    """Explains why an item of a Redis list is not a kombu envelope. Returns '' if the item is an envelope.

    >>> envelope_fault([]), envelope_fault({"body": ""})
    ('it is not a JSON object', 'it has no properties')
    """
    if isinstance(message, Unreadable):
        return "it is not JSON" if message.text else "it is empty"
    if not isinstance(message, dict):
        return "it is not a JSON object"
    properties, body = message.get("properties"), message.get("body")
    if not isinstance(properties, dict):
        return "it has no properties"
    where = properties.get("delivery_info")
    if not isinstance(properties.get("delivery_tag"), str) or not isinstance(where, dict):
        return "it has no delivery tag or delivery info"
    if not all(isinstance(where.get(name), str) for name in ("exchange", "routing_key")):
        return "its delivery info is malformed"
    if not isinstance(message.get("headers"), dict):
        return "it has no headers"
    if message["headers"].get("compression"):
        return "it is compressed"
    if not all(isinstance(message.get(name), str) for name in ("content-type", "content-encoding")):
        return "its content type or encoding is malformed"
    if not isinstance(body, str):
        return "its body is not text"
    match properties.get("body_encoding"):
        case None:
            return ""
        case "base64":
            try:
                base64.b64decode(body)
            except ValueError:
                return "its body is not base64"
            return ""
        case _:
            return "its body has an unknown encoding"


def slot_fault(message: Any) -> str:
    """Explains why a message is not a slot message. Returns '' if the message is a slot message. Replaces the
    headers of a slot message with the headers that Celery needs."""
    headers, body = message.headers, message.body
    if not isinstance(headers, dict) or not isinstance(headers.get("task"), str):
        return "it names no task"
    if headers["task"] != TASK:
        return f"it is for the unknown task {headers['task'][:80]!r}"
    if not isinstance(headers.get("id"), str) or not 0 < len(headers["id"]) <= 255:
        return "it has no id"
    if any(headers.get(name) is not None for name in _NEVER) or not _limits(headers.get("timelimit")):
        return "its eta, expires or timelimit is not one of ours"
    if headers.get("compression"):
        return "it is compressed"
    if message.content_type != "application/json" or str(message.content_encoding).lower() != "utf-8":
        return (
            f"it is {str(message.content_type)[:80]!r} in "
            f"{str(message.content_encoding)[:40]!r}, not JSON in UTF-8"
        )
    if not isinstance(body, str | bytes) or len(body) > MAX_BODY_BYTES:
        return f"its body is larger than {MAX_BODY_BYTES} bytes"
    try:
        args, kwargs, embed = json.loads(body)
        version, *words = args
    except (ValueError, TypeError, RecursionError):
        return "its body is not the JSON of a task"
    if not isinstance(kwargs, dict) or not isinstance(embed, dict | None):
        return "its body is not the JSON of a task"
    if version != VERSION or isinstance(version, bool):
        return (
            f"a message of format {version!r:.40} was ignored; this worker reads format {VERSION}: "
            "run the same gossamer everywhere"
        )
    match words:
        case [str(lane), int(slot), str(ticket)] if (
            not kwargs
            and not isinstance(slot, bool)
            and 0 <= slot < 1 << 31
            and max(len(lane), len(ticket)) <= 255
        ):
            name = headers["id"]
            message.headers = {
                "lang": "py",
                "task": TASK,
                "id": name,
                "root_id": name,
                "parent_id": None,
                "group": None,
                "retries": 0,
                "eta": None,
                "expires": None,
                "timelimit": [None, None],
                "argsrepr": repr(tuple(args)),
                "kwargsrepr": "{}",
                "origin": str(headers.get("origin") or "")[:255],
                "ignore_result": True,
            }
            return ""
    return "its arguments are not those of a slot"


def _limits(found: Any) -> bool:
    """Returns whether a time limit has the form that Celery sends, which is two numbers or nulls. The worker
    ignores the time limit in the message, because the task has its own time limit."""
    if found is None:
        return True
    return (
        isinstance(found, list | tuple)
        and len(found) == 2
        and all(one is None or isinstance(one, int | float) for one in found)
    )


class Consumer(consumer.Consumer):  # type: ignore[misc] # Celery is untyped
    """A Celery consumer that accepts only messages for which `slot_fault` returns ''."""

    def ensure_connected(self, conn: Any) -> Any:
        """Connects to a broker. Tries again at short intervals, because Celery's own intervals grow to 30 s, for
        which the worker would stand idle after the broker is back."""
        steps = {
            "interval_start": RECONNECT_INTERVAL_S,
            "interval_step": 0,
            "interval_max": RECONNECT_INTERVAL_S,
        }
        conn.ensure_connection = partial(conn.ensure_connection, **steps)
        return super().ensure_connected(conn)

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Returns the function that is called with each received message."""
        handle = super().create_task_handler(*args, **options)
        passing = (*self.connection_errors, *self.connection.channel_errors)

        def received(message: Any) -> None:
            fault = slot_fault(message)
            if not fault:
                try:
                    handle(message)
                    return
                except passing:
                    raise
                except Exception as error:  # noqa: BLE001 - a message must never end its worker
                    fault = f"Celery cannot read it: {type(error).__name__}: {error}"
            self._refuse(message, fault)

        return received

    def on_decode_error(self, message: Any, exc: BaseException) -> None:
        """Refuses a message whose body kombu cannot decode."""
        self._refuse(message, f"it cannot be decoded: {type(exc).__name__}: {exc}")

    def _refuse(self, message: Any, fault: str) -> None:
        where = message.delivery_info if isinstance(message.delivery_info, dict) else {}
        refused.add(where.get("routing_key") or "?", fault, message.body)
        if not message.acknowledged:
            message.ack_log_error(log, self.connection_errors)
