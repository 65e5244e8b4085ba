"""Whether brokers answer, allow what Celery does there, and keep what they are given."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Sequence
from typing import Any

from gossamer.config.redaction import mask
from gossamer.errors import StoreError
from gossamer.fleet.broker_urls import OTHER, all_of

MAILBOX = "celery.pidbox"
_OBJECT = re.compile(r"[\s:]*<redis\..*")
_CLUSTER = (
    "MOVED",
    "ot served",
    "in request don't hash to the same slot",
    "CROSSSLOT",
    "CLUSTERDOWN",
    "in cluster mode",
)


def library() -> Any:
    """kombu, which comes with Celery, untyped; ImportError where it is not."""
    kombu = importlib.import_module("kombu")
    importlib.import_module("gossamer.fleet.rabbitmq_tls")
    return kombu


def check(brokers: Sequence[str], lanes: Sequence[str]) -> None:
    """Raise StoreError when no broker can be used for these lanes, naming those that were tried."""
    said = [tried(one, lanes) for one in brokers]
    if all(said):
        raise StoreError(f"no broker can be used; tried {'; '.join(said)}")


def tried(broker: str, lanes: Sequence[str], seconds: float = 5.0) -> str:
    """Why a broker cannot be used for these lanes, in one line that names it; empty when it can."""
    kombu = library()
    (places, options), said = all_of([broker]), ""
    for place in places:
        connection = None
        try:
            connection = kombu.Connection(place, transport_options=options, connect_timeout=seconds)
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=seconds)
            for lane in lanes:
                # as Celery does
                kombu.Queue(lane, kombu.Exchange(lane), lane)(connection.default_channel).declare()
            if place.startswith(("redis", "sentinel")):
                _allowed(connection.default_channel, lanes)
            return ""
        except Exception as error:  # noqa: BLE001 - each transport has errors of its own
            said = f"{mask(broker)}: {plain(error)}"
        finally:
            if connection is not None:
                connection.release()
    return said


def evicts(broker: str, seconds: float = 5.0) -> str:
    """The policy by which a Redis that is full forgets messages; empty where it forgets none, is no Redis, or
    does not say."""
    kombu = library()
    places, options = all_of([broker])
    for place in places:
        if place.startswith(("redis", "sentinel")):
            with (
                contextlib.suppress(Exception),
                kombu.Connection(place, transport_options=options, connect_timeout=seconds) as connection,
            ):
                info = connection.default_channel.client.info("memory")
                policy = str(info.get("maxmemory_policy", "noeviction"))
                return policy if info.get("maxmemory") and policy != "noeviction" else ""
    return ""


def _allowed(channel: Any, lanes: Sequence[str]) -> None:
    """Raise when the user of a Redis may not do what kombu does there: writes and a channel by which nothing
    changes."""
    client = channel.client
    for lane in lanes:
        client.lrem(lane, 0, "")
    client.hdel(channel.unacked_key, "")
    client.zrem(channel.unacked_index_key, "")
    client.srem(channel.keyprefix_queue % "celery.pidbox", "")
    client.delete(f"doctor.{MAILBOX}", f"doctor.{MAILBOX}\x06\x163")  # the second: of a priority
    with contextlib.closing(client.pubsub()) as listening:
        listening.psubscribe(f"{channel.keyprefix_fanout}{MAILBOX}")
        listening.subscribe(
            f"{channel.keyprefix_fanout}celeryev/worker.online"
        )  # needs the rights that publishing does
        for _ in range(2):
            listening.get_message(timeout=5)


def plain(error: BaseException) -> str:
    """A transport's error in one line, without secrets."""
    cause = error.__cause__ or error
    text = _OBJECT.sub("", mask(" ".join(str(cause).split())))[:200] or type(cause).__name__
    if any(word in text for word in _CLUSTER):
        return f"it is a node of a Cluster: {OTHER}"
    if text.startswith("No master found"):  # redis-py keeps to itself why
        return f"{text} by its Sentinels: are they up, and are service, sentinel_user and sentinel_password right?"
    return f"{text}: see docs/fleet.md for the rights it needs" if "no permissions" in text.lower() else text
