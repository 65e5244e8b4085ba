"""Reads a queue of messages that other programs fill: a list, a sorted set or a stream of Redis or Valkey, or a
queue of RabbitMQ. Each message is a URL or a JSON line.

A message leaves its queue only when its URL is in the frontier. Until then, taken messages are in the list
`KEY:gossamer:GROUP` (lists and sorted sets), among the pending entries of the group (streams), or unacknowledged
(RabbitMQ). After a kill, the next run reads them again, and the seen set rejects the URLs that it knows. While the
server does not answer, the producer waits, for at most MAX_OUTAGE_S seconds, and then also reads them again. A queue
has no end, so the crawl runs until it is stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from gossamer.app.producers.source import BATCH_URLS, UrlBatch
from gossamer.app.targets import Rejected, parse_line, parse_queue
from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, GossamerError, StoreError
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request
from gossamer.store import address
from gossamer.store.blocking_client import BlockingClient
from gossamer.store.server_errors import RedisError

POLL_INTERVAL_S = 0.5
"""Seconds between two looks at an empty queue."""
TIMEOUT_S = 10.0
MAX_OUTAGE_S = 300.0
"""The maximum number of seconds for which the producer waits for the server of the queue."""
_TAKE = {
    "list": "local got = redis.call('LPOP', KEYS[1], ARGV[1]) or {}\n",
    "list right": "local got = redis.call('RPOP', KEYS[1], ARGV[1]) or {}\n",
    "zset": """
local got, found = {}, redis.call('ZPOPMAX', KEYS[1], ARGV[1])
for j = 1, #found, 2 do got[#got + 1] = found[j + 1] .. '\\t' .. found[j] end
""",
}
_TAKE["zset low"] = _TAKE["zset"].replace("ZPOPMAX", "ZPOPMIN")
_KEEP = "for j = 1, #got, 1000 do redis.call('RPUSH', KEYS[2], unpack(got, j, math.min(j + 999, #got))) end\nreturn got"
"""The end of each script of `_TAKE`: keeps the taken messages until they are added."""


class Message(NamedTuple):
    """A message. `name`: what the queue calls it. `score`: its score in a sorted set. `again`: whether the queue has
    delivered it before."""

    body: bytes
    name: Any = None
    score: float | None = None
    again: bool = False


class Queue(Protocol):
    """A queue of messages. The methods block, and raise StoreError if the server does not answer."""

    def open(self) -> None: ...

    def take(self, again: bool) -> list[Message]:
        """Takes up to BATCH_URLS messages. `again`: the messages that an earlier run took and did not add."""

    def done(self, messages: list[Message]) -> None:
        """Removes taken messages, whose URLs are in the frontier."""

    def close(self) -> None: ...


class RedisQueue:
    """A list, a sorted set or a stream. One connection, which a call opens again after a failure."""

    def __init__(self, kind: str, url: str, given: dict[str, str]) -> None:
        self._kind, self._key = kind, given["key"]
        self._group = given.get("group", "gossamer")
        self._taken = f"{self._key}:gossamer:{self._group}"
        order = given.get("take", "")
        self._script = "" if kind == "stream" else _TAKE[f"{kind} {order}".strip()] + _KEEP
        self._client = BlockingClient(address.parse(url, "TARGET"), TIMEOUT_S, TIMEOUT_S)
        self.close = self._client.close
        self._where = mask(url)

    def _do(self, *words: Any) -> Any:
        try:
            return self._client.execute_command(*words)
        except RedisError as error:
            raise StoreError(f"the queue {self._key} at {self._where}: {error}") from error

    def open(self) -> None:
        wanted = {"list": "list", "zset": "zset", "stream": "stream"}[self._kind]
        found = self._do("TYPE", self._key)
        found = found.decode() if isinstance(found, bytes) else found
        if found not in ("none", wanted):
            raise ConfigError(f"{self._key} is a {found}, so write redis-{found}:// or name another key")
        if self._kind == "stream":
            try:
                self._do("XGROUP", "CREATE", self._key, self._group, "0", "MKSTREAM")
            except StoreError as error:
                if "BUSYGROUP" not in str(error):
                    raise

    def take(self, again: bool) -> list[Message]:
        if self._kind == "stream":
            found = self._do(
                "XREADGROUP",
                "GROUP",
                self._group,
                "gossamer",
                "COUNT",
                BATCH_URLS,
                "STREAMS",
                self._key,
                "0" if again else ">",
            )
            entries = found[0][1] if found else []
            return [Message(_line_of(fields or []), name) for name, fields in entries]
        if again:
            got = self._do("LRANGE", self._taken, 0, BATCH_URLS - 1)
        else:
            got = self._do("EVAL", self._script, 2, self._key, self._taken, BATCH_URLS)
        return [Message(*_scored(one)) if self._kind == "zset" else Message(one) for one in got]

    def done(self, messages: list[Message]) -> None:
        if self._kind == "stream":
            for first in range(0, len(messages), 1000):
                self._do(
                    "XACK", self._key, self._group, *(one.name for one in messages[first : first + 1000])
                )
        else:
            self._do("LTRIM", self._taken, len(messages), -1)


def _scored(entry: bytes) -> tuple[bytes, None, float]:
    score, _, body = entry.partition(b"\t")
    return body, None, float(score)


def _line_of(fields: list[bytes]) -> bytes:
    """Returns the line of a stream's entry: its only value, or its fields as JSON."""
    if len(fields) == 2:
        return fields[1]
    names = [one.decode("utf-8", "replace") for one in fields]
    return msgspec.json.encode(dict(zip(names[::2], names[1::2], strict=True)))


class RabbitQueue:
    """A queue of RabbitMQ, read with the AMQP client that Celery uses."""

    def __init__(self, url: str, given: dict[str, str]) -> None:
        try:
            from kombu.connection import Connection
        except ImportError:
            raise ConfigError(f"amqp://... needs a client: {install_command('fleet')}") from None
        self._queue, self._where = given["queue"], mask(url)
        self._make = partial(Connection, url, connect_timeout=TIMEOUT_S)
        self._connection: Any = self._make()
        self._errors = (*self._connection.connection_errors, *self._connection.channel_errors)
        self._channel: Any = None

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        try:
            if self._channel is None:
                self._connection = self._make()
                self._channel = self._connection.channel()
            return getattr(self._channel, name)(*args, **options)
        except self._errors as error:
            self.close()
            raise StoreError(f"the queue {self._queue} at {self._where}: {error}") from error

    def open(self) -> None:
        self._call("queue_declare", self._queue, passive=True)

    def take(self, again: bool) -> list[Message]:
        found: list[Message] = []
        while not again and len(found) < BATCH_URLS:  # the broker itself sends unacknowledged messages again
            message = self._call("basic_get", self._queue)
            if message is None:
                break
            body = message.body.encode() if isinstance(message.body, str) else bytes(message.body)
            redelivered = bool(message.delivery_info.get("redelivered"))
            found.append(Message(body, message.delivery_tag, again=redelivered))
        return found

    def done(self, messages: list[Message]) -> None:
        if messages:
            self._call("basic_ack", messages[-1].name, multiple=True)

    def close(self) -> None:
        self._channel = None
        self._connection.release()


class QueueUrls:
    """The producer for a queue of messages (docs/producers.md#queues)."""

    beside = "*"

    def __init__(self, text: str, fields: tuple[str, ...] = ()) -> None:
        kind, url, given = parse_queue(text)
        self._fields, self._called = fields, given.get("key") or given["queue"]
        self.name = f"{kind} {mask(url)} {self._called} {given.get('group', 'gossamer')}"
        self._queue: Queue = RabbitQueue(url, given) if kind == "amqp" else RedisQueue(kind, url, given)
        self._taken: list[Message] = []
        self._again = True
        """Whether the messages that were taken and not added must be read before new ones."""

    async def open(self, collector: Collector) -> None:
        """Connects to the server."""
        try:
            await asyncio.to_thread(self._queue.open)
        except GossamerError:
            await self.close()
            raise

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields the messages that an earlier run took and did not add, and then new messages for ever. Raises
        StoreError if the server does not answer for MAX_OUTAGE_S seconds."""
        answered = time.monotonic()
        while True:
            again = self._again
            try:
                self._taken = await asyncio.to_thread(self._queue.take, again)
            except StoreError as error:
                self._taken, self._again = [], True
                if time.monotonic() - answered > MAX_OUTAGE_S:
                    raise
                yield UrlBatch([], [], {}, trouble=f"{error}; it is tried again")
                await asyncio.sleep(POLL_INTERVAL_S)
                continue
            answered = time.monotonic()
            if self._taken:
                yield UrlBatch(*self._parsed(), {}, again=again or any(one.again for one in self._taken))
            elif again:
                self._again = False
            else:
                await asyncio.sleep(POLL_INTERVAL_S)

    def _parsed(self) -> tuple[list[Request], list[Rejected]]:
        requests, rejected = [], []
        # a batch that is read again has the same messages in the same order, so its rejected ones have the same numbers
        for number, message in enumerate(self._taken, 1):
            found = parse_line(message.body, self._called, number, self._fields)
            if isinstance(found, Request):
                if message.score and not found.priority:
                    most = 1_000_000
                    found = msgspec.structs.replace(
                        found, priority=max(-most, min(most, round(message.score)))
                    )
                requests.append(found)
            elif found is not None:
                rejected.append(found)
        return requests, rejected

    async def added(self, batch: UrlBatch) -> None:
        """Removes the messages of the batch from the queue. If the server does not answer, the messages are read
        again, because they may still be in the queue."""
        if self._taken:
            try:
                await asyncio.to_thread(self._queue.done, self._taken)
            except StoreError:
                self._again = True

    async def close(self) -> None:
        """Closes the connection."""
        await asyncio.to_thread(self._queue.close)
