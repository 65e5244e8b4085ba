"""Removes the leftovers of dead workers in a broker: outdated slot messages, mailboxes, unacknowledged
messages and empty queues.

Other programs may use the same broker. Therefore the cleanup removes an object only if the object certainly
belongs to gossamer and nothing needs the object any more. A slot accepts only a message with the slot's
current ticket, so a message with another ticket is useless. A mailbox is useless if the store has a record of
the mailbox's worker and the last heartbeat in this record is too old. A heartbeat is too old if its age is at
least the given age and at least twice DEAD_AFTER_S. RabbitMQ removes mailboxes and requeues unacknowledged
messages of dead workers itself. Redis does not.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from gossamer.app.cleanup import DAY, CleanupKind, CleanupScene
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, StoreError
from gossamer.fleet import brokers
from gossamer.fleet.brokers import all_of
from gossamer.state.cleanup import Removed
from gossamer.state.slots import Slots
from gossamer.state.workers import DEAD_AFTER_S, WORKERS, WorkerRecord

TASK = "gossamer.slice"
MAX_INSPECTED_MESSAGES = 1000
"""The maximum number of messages of a lane that one run inspects."""
_BINDING, _MAILBOX, _APART = "_kombu.binding.", ".celery.pidbox", b"\x06\x16"


class HeldMessage(NamedTuple):
    """A message in the broker that the cleanup inspects. Call `away` to remove the message, or `back` to
    return the message to its queue."""

    slot: tuple[str, int, str] | None
    """The lane, the slot number and the ticket of the message, or None if the message is not a slot message
    of this version of gossamer."""
    size: int
    away: Callable[[], object]
    back: Callable[[], object]


async def clean_queues(scene: CleanupScene, age: float) -> Removed:
    """Removes or counts the leftovers in the fleet's broker. `age` is in seconds. Removes nothing if the
    broker does not answer, or if the broker's settings are invalid. If the user listed the parts to clean,
    raises StoreError or ConfigError instead."""
    try:
        kombu = brokers.import_kombu()
    except ImportError:  # this machine does not belong to a fleet
        return Removed()
    try:
        where = broker_options(scene.settings)
    except ConfigError:
        if scene.asked:
            raise
        where = None
    if where is None:
        return Removed()
    raw = await scene.broom.do(scene.store.client.hgetall(WORKERS))
    crew = [WorkerRecord.of(name, record) for name, record in raw.items()]
    gone = [
        one
        for one in crew
        if one.state != "unread" and scene.broom.now - one.beat >= max(age, 2 * DEAD_AFTER_S)
    ]
    lanes = {lane for one in crew for lane in one.lanes} | {"http"}
    connection = kombu.Connection(where[0], transport_options=where[1], connect_timeout=5)
    try:
        await asyncio.to_thread(connection.ensure_connection, max_retries=1, interval_start=0.2, timeout=5)
        found = await _messages(scene, connection, lanes)
        empty = lanes - {lane for one in crew if one not in gone for lane in one.lanes} - {"http"}
        rest = asyncio.to_thread(_rest, connection, {one.name for one in gone}, empty, scene.broom.dry)
        return found + await rest
    except (
        kombu.exceptions.OperationalError,
        *connection.connection_errors,
        *connection.channel_errors,
    ) as error:
        if scene.asked:
            raise StoreError(
                f"the broker does not answer, or not as it must: {brokers.format_error(error)}"
            ) from None
        return Removed()
    finally:
        await asyncio.to_thread(connection.release)


PART = CleanupKind("what dead workers left in the broker", DAY, clean_queues)


def broker_options(settings: Settings) -> tuple[str, dict[str, Any]] | None:
    """Returns the fleet's brokers, as a URL and transport options for kombu. Returns None if there is no
    fleet. Raises ConfigError."""
    given = settings.broker or ((settings.store,) if settings.store else ())
    if not given:
        return None
    urls, options = all_of(given)
    return ";".join(urls), {"socket_timeout": 10, "socket_connect_timeout": 5, **options}


async def _messages(scene: CleanupScene, connection: Any, lanes: set[str]) -> Removed:
    """Removes or counts messages with outdated tickets. First inspects the unacknowledged messages, then the
    queue of each lane."""
    found = Removed()
    for look in (
        partial(_unacked, connection),
        *(partial(_queued, connection, lane) for lane in sorted(lanes)),
    ):
        held = await asyncio.to_thread(_all, look)
        for one in held:
            stale = one.slot is not None and not await Slots(scene.store).waits(*one.slot)
            found += Removed(int(stale), one.size * stale)
            await asyncio.to_thread(one.away if stale and not scene.broom.dry else one.back)
    return found


def _all(look: Callable[[], Iterator[HeldMessage]]) -> list[HeldMessage]:
    return list(look())


def _queued(connection: Any, lane: str) -> Iterator[HeldMessage]:
    """Yields the messages of a lane. Takes each message from the queue before yielding it. For each message,
    the caller must call `back`, which returns the message to its queue, or `away`, which removes the
    message."""
    channel = connection.channel()
    try:
        channel.queue_declare(lane, passive=True)
    except connection.channel_errors:
        return
    queue = brokers.import_kombu().Queue(lane, channel=channel)
    for _ in range(MAX_INSPECTED_MESSAGES):
        message = queue.get(no_ack=False)
        if message is None:
            return
        with contextlib.suppress(ValueError):
            slot = _slot(message.headers or {}, message.body)
        yield HeldMessage(slot, len(message.body), message.ack, message.requeue)


def _unacked(connection: Any) -> Iterator[HeldMessage]:
    """Yields unacknowledged messages if the broker is Redis. RabbitMQ requeues such messages itself."""
    if (client := _redis(connection)) is None:
        return
    for tag, raw in client.hscan_iter("unacked"):
        with contextlib.suppress(ValueError, TypeError, KeyError, IndexError):
            message = json.loads(raw)[0]
            slot = _slot(message["headers"], base64.b64decode(message["body"]))
            yield HeldMessage(slot, len(raw), partial(_let_go, client, tag), _leave)


def _leave() -> None:
    """Leaves a message unacknowledged."""


def _let_go(client: Any, tag: bytes) -> None:
    pipe = client.pipeline()
    pipe.zrem("unacked_index", tag)
    pipe.hdel("unacked", tag)
    pipe.execute()


def _rest(connection: Any, gone: set[str], lanes: set[str], dry: bool) -> Removed:
    """Removes or counts the mailboxes of dead workers, index entries without a message, and empty queues of
    lanes without a worker."""
    client = _redis(connection)
    if client is None:
        return sum((_lane(connection, lane, dry) for lane in lanes), Removed())
    key, found = f"{_BINDING}{_MAILBOX[1:]}", Removed()
    boxes = [
        one for one in client.smembers(key) if one.split(_APART)[-1].decode().removesuffix(_MAILBOX) in gone
    ]
    marks = client.zrange("unacked_index", 0, -1)
    there = client.hmget("unacked", marks) if marks else []
    lost = [mark for mark, message in zip(marks, there, strict=True) if message is None]
    keys = [
        f"{kind}{lane}"
        for lane in lanes
        if not client.exists(lane)
        for kind in (_BINDING, "_kombu.binding_permanent.")
    ]
    keys = [one for one in keys if client.exists(one)]
    found = Removed(len(boxes) + len(lost) + len(keys), sum(map(len, [*boxes, *lost, *keys])))
    for do, what in ((client.srem, boxes), (client.zrem, lost)):
        if what and not dry:
            do(key if do == client.srem else "unacked_index", *what)
    if keys and not dry:
        client.delete(*keys)
    return found


def _lane(connection: Any, lane: str, dry: bool) -> Removed:
    """Removes or counts the queue of a lane in RabbitMQ if the queue is empty. RabbitMQ itself deletes the
    queue only if the queue is empty and unused."""
    channel = connection.channel()
    try:
        state = channel.queue_declare(lane, passive=True)
        if state.message_count or state.consumer_count:
            return Removed()
        if not dry:
            channel.queue_delete(lane, if_unused=True, if_empty=True)
    except connection.channel_errors:
        return Removed()
    return Removed(1, 0)


def _redis(connection: Any) -> Any:
    """Returns kombu's client if the broker uses the Redis protocol, otherwise None."""
    return connection.default_channel.client if connection.transport.driver_type == "redis" else None


def _slot(headers: dict[str, Any], body: Any) -> tuple[str, int, str] | None:
    """Returns the slot of a message as lane, number and ticket. Returns None for messages of other programs
    and other versions. Raises ValueError if the body is not JSON."""
    if headers.get("task") != TASK:
        return None
    words = json.loads(body)[0]
    match words:
        case [1, str(lane), int(slot), str(ticket)]:
            return lane, slot, ticket
    return None
