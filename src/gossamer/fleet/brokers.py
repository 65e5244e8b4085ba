"""Broker URLs: as people write them, as Celery wants them; and whether one answers."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from gossamer.errors import ConfigError, StoreError
from gossamer.masking import mask

MAILBOX = "celery.pidbox"
_OBJECT = re.compile(r"[\s:]*<redis\..*")
OTHER = "Celery cannot use a cluster as its broker: give it a server of its own, Sentinel (redis+sentinel://) or RabbitMQ (amqp://)"
_CLUSTER = (
    "MOVED",
    "ot served",
    "in request don't hash to the same slot",
    "CROSSSLOT",
    "CLUSTERDOWN",
    "in cluster mode",
)
SCHEMES = (
    "redis", "rediss", "valkey", "valkeys", "unix", "redis+sentinel", "valkey+sentinel", "amqp", "amqps",
)  # fmt: skip


def celery_url(url: str) -> tuple[str, dict[str, Any]]:
    """One broker URL as kombu knows it, and the transport options that it needs. ConfigError for what cannot be a broker.

    >>> celery_url("valkey://broker:6379/1")
    ('redis://broker:6379/1', {})
    """
    scheme, _, rest = url.partition("://")
    if scheme.endswith("+cluster"):
        raise ConfigError(f"broker {mask(url)}: {OTHER}")
    if scheme not in SCHEMES:
        raise ConfigError(f"broker {mask(url)}: the scheme must be one of {', '.join(SCHEMES)}")
    if scheme == "unix":
        path, _, query = rest.partition("?")
        return f"redis+socket://{path}{f'?virtual_host={db}' if (db := _one(query, 'db')) else ''}", {}
    try:
        for host in rest.partition("/")[0].rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port
    except ValueError as error:
        raise ConfigError(f"broker {mask(url)}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    if scheme.endswith("+sentinel"):
        return _sentinel(url)
    return f"{scheme.replace('valkeys', 'rediss').replace('valkey', 'redis')}://{rest}", {}


def _sentinel(url: str) -> tuple[str, dict[str, Any]]:
    """`redis+sentinel://[user:password@]host:26379,host/SERVICE[/DB]?sentinel_password=...`."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    service, _, db = parts.path.strip("/").partition("/")
    if not service or not hosts:
        raise ConfigError(f"broker {mask(url)}: name the master: redis+sentinel://host:26379,host2:26379/SERVICE")
    options: dict[str, Any] = {"master_name": unquote(service)}
    secret, user = _one(parts.query, "sentinel_password"), _one(parts.query, "sentinel_username")
    given = {"password": secret, "username": user}
    if any(given.values()):
        options["sentinel_kwargs"] = {name: value for name, value in given.items() if value}
    each = [host if host.rpartition("]")[2].count(":") else f"{host}:26379" for host in hosts.split(",") if host]
    return ";".join(f"sentinel://{login}{at}{host}/{db}" for host in each), options


def _one(query: str, name: str) -> str:
    return next(iter(parse_qs(query).get(name, [])), "")


def urls(brokers: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """All brokers for Celery, the first one first; the next is tried when one fails."""
    found, options = [], dict[str, Any]()
    for broker in brokers:
        url, more = celery_url(broker)
        found += url.split(";")
        options |= more
    return found, options


def check(brokers: Sequence[str], lanes: Sequence[str]) -> None:
    """Raise StoreError when no broker can be used for these lanes, naming those that were tried."""
    said = [tried(one, lanes) for one in brokers]
    if all(said):
        raise StoreError(f"no broker can be used; tried {'; '.join(said)}")


def tried(broker: str, lanes: Sequence[str], seconds: float = 5.0) -> str:
    """Why a broker cannot be used for these lanes, in one line that names it; empty when it can."""
    kombu: Any = importlib.import_module("kombu")  # comes with Celery, untyped
    (places, options), said = urls([broker]), ""
    for place in places:
        connection = kombu.Connection(place, transport_options=options, connect_timeout=seconds)
        try:
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=seconds)
            for lane in lanes:
                kombu.Queue(lane, kombu.Exchange(lane), lane)(connection.default_channel).declare()  # as Celery does
            if place.startswith(("redis", "sentinel")):
                _allowed(connection.default_channel, lanes)
            return ""
        except Exception as error:  # noqa: BLE001 - each transport has errors of its own
            said = f"{mask(broker)}: {plain(error)}"
        finally:
            connection.release()
    return said


def evicts(broker: str, seconds: float = 5.0) -> str:
    """The policy by which a Redis that is full forgets messages; empty where it forgets none, is no Redis, or does not say."""
    kombu: Any = importlib.import_module("kombu")
    places, options = urls([broker])
    for place in places:
        if place.startswith(("redis", "sentinel")):
            with contextlib.suppress(Exception), kombu.Connection(
                place, transport_options=options, connect_timeout=seconds
            ) as connection:  # fmt: skip
                info = connection.default_channel.client.info("memory")
                policy = str(info.get("maxmemory_policy", "noeviction"))
                return policy if info.get("maxmemory") and policy != "noeviction" else ""
    return ""


def _allowed(channel: Any, lanes: Sequence[str]) -> None:
    """Raise when the user of a Redis may not do what kombu does there: writes and a channel by which nothing changes."""
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
    return f"{text}: see docs/fleet.md for the rights it needs" if "no permissions" in text.lower() else text
