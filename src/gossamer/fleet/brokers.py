"""Converts broker URLs (docs/stores.md) for kombu. Checks that brokers answer, grant the rights that Celery
needs, and do not discard messages when they are full."""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, StoreError
from gossamer.store import address

OTHER = (
    "Celery cannot use a cluster as its broker: give it a server of its own, Sentinel "
    "(redis+sentinel://) or RabbitMQ (amqp://)"
)
TLS = "gossamer_tls"
"""The key of a transport option. The option's value maps `host:port` to the TLS options, for each broker with
an `amqps://` URL."""
_AMQP = ("heartbeat", "login_method")
"""URL parameters that kombu accepts for RabbitMQ."""
_SENTINEL = ("master_name", "sentinel_kwargs")


class KombuBroker(NamedTuple):
    """One or more brokers, in the form that kombu expects."""

    urls: tuple[str, ...]
    """The URLs of the brokers. Several URLs are the addresses of the Sentinels of one service."""
    options: dict[str, Any]
    """The transport options for kombu."""


def kombu_url(url: str) -> KombuBroker:
    """Converts the URL of one broker for kombu. Raises ConfigError if the URL cannot be a broker.

    >>> kombu_url("valkey://broker:6379/1").urls
    ('redis://broker:6379/1',)
    """
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    if scheme in ("amqp", "amqps"):
        return _rabbit(url, scheme)
    if scheme not in address.SCHEMES:
        raise ConfigError(
            f"broker {mask(url)}: the scheme must be one of {', '.join((*address.SCHEMES, 'amqp', 'amqps'))}"
        )
    found = address.parse(url, "broker")
    if found.kind == "cluster":
        raise ConfigError(f"broker {mask(url)}: {OTHER}")
    return _redis(found)


def all_of(brokers: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Converts a list of brokers for Celery. If a broker fails, Celery tries the next one. Raises
    ConfigError."""
    urls, options = list[str](), dict[str, Any]()
    for broker in brokers:
        one = kombu_url(broker)
        urls += one.urls
        if _clash(options, one.options):
            raise ConfigError(
                f"broker {mask(broker)}: the Sentinels of a list of brokers must be those of one service"
            )
        options |= one.options | {TLS: options.get(TLS, {}) | one.options.get(TLS, {})}
    return urls, options


def _clash(all_: dict[str, Any], more: dict[str, Any]) -> bool:
    return any(name in all_ and name in more and all_[name] != more[name] for name in _SENTINEL)


def _redis(found: address.Address) -> KombuBroker:
    login = ""
    if found.user or found.password:
        secret = found.password.reveal() if found.password else ""
        login = f"{quote(found.user or '', '')}:{quote(secret, '')}@"
    if found.kind == "unix":
        path = quote(found.places[0].host)
        return KombuBroker((f"redis+socket://{login}{path}?virtual_host={found.db}",), {})
    query, options = _tls(found), dict[str, Any]()
    scheme = "rediss" if found.tls else "redis"
    if found.kind == "sentinel":
        scheme, options = "sentinel", {"master_name": found.service, "sentinel_kwargs": _of_sentinels(found)}
    ending = f"?{urlencode(query)}" if query else ""
    return KombuBroker(
        tuple(f"{scheme}://{login}{place}/{found.db}{ending}" for place in found.places), options
    )


def _tls(found: address.Address) -> dict[str, str]:
    """Returns the TLS parameters of a URL for kombu. The parameters always include `ssl_cert_reqs`, because
    kombu would otherwise accept any certificate."""
    given = {
        name: value
        for name, value in found.options().items()
        if name.startswith("ssl_") and value is not None
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()
    }


def _of_sentinels(found: address.Address) -> dict[str, Any]:
    given = {name: value for name, value in found.options(sentinel=True).items() if value is not None}
    return {**given, "ssl": True} if found.tls else given


def _rabbit(url: str, scheme: str) -> KombuBroker:
    shown = re.sub("://.*@", "://***:***@", url)
    try:
        parts = urlsplit(url)
        port = parts.port or (5671 if scheme == "amqps" else 5672)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        own = urlencode({name: value for name, value in given.items() if name in _AMQP})
        rest = urlencode({name: value for name, value in given.items() if name not in _AMQP})
        found = address.parse(f"rediss://{parts.hostname or 'localhost'}?{rest}", "broker")
    except ValueError as error:
        why = (
            "write / ? # @ of a password as %2F %3F %23 %40"
            if "@" in url
            else f"{str(error)[:1].lower()}{str(error)[1:]}"
        )
        raise ConfigError(f"broker {shown}: {why}") from None
    except ConfigError as error:
        why = str(error).partition(": ")[2].partition(";")[0]
        raise ConfigError(
            f"broker {shown}: {why}; write it as amqp://USER:PASSWORD@HOST:5672/VHOST"
        ) from None
    if scheme == "amqp" and rest:
        raise ConfigError(
            f"broker {shown}: {', '.join(sorted(set(given) - set(_AMQP)))}: only amqps:// has that"
        )
    place = (
        parts._replace(scheme=scheme, query=own).geturl().replace(";", "%3B")
    )  # kombu splits lists at semicolons
    if scheme == "amqp":
        return KombuBroker((place,), {})
    options = {name: value for name, value in found.options().items() if name.startswith("ssl_")}
    return KombuBroker((place,), {TLS: {f"{parts.hostname or 'localhost'}:{port}": options}})


REPEAT_S = 60.0
"""Seconds after which the same trouble with a broker is logged again."""
LOGGERS = ("kombu.asynchronous.hub", "kombu.asynchronous.timer", "celery.worker.consumer.consumer")
"""The loggers through which Celery reports a broker that does not answer or takes no messages."""
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


def import_kombu() -> Any:
    """Returns the kombu module, which is installed with Celery and has no types. Raises ImportError."""
    kombu = importlib.import_module("kombu")
    importlib.import_module("gossamer.fleet.rabbitmq_tls")
    return kombu


def check_brokers(brokers: Sequence[str], lanes: Sequence[str]) -> None:
    """Raises StoreError if no broker can be used for these lanes. The message lists all brokers."""
    said = [why_unusable(one, lanes) for one in brokers]
    if all(said):
        raise StoreError(f"no broker can be used; tried {'; '.join(said)}")


def why_unusable(broker: str, lanes: Sequence[str], seconds: float = 5.0) -> str:
    """Returns one line with the URL of a broker and the reason why the broker cannot be used for these lanes.
    Returns '' if the broker can be used."""
    kombu = import_kombu()
    (places, options), said = all_of([broker]), ""
    for place in places:
        connection = None
        try:
            connection = kombu.Connection(place, transport_options=options, connect_timeout=seconds)
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=seconds)
            for lane in lanes:
                # declares the queue in the same way as Celery
                kombu.Queue(lane, kombu.Exchange(lane), lane)(connection.default_channel).declare()
            if place.startswith(("redis", "sentinel")):
                _allowed(connection.default_channel, lanes)
            return ""
        except Exception as error:  # noqa: BLE001 - transports have errors of their own
            said = f"{mask(broker)}: {format_error(error)}"
        finally:
            if connection is not None:
                connection.release()
    return said


def eviction_policy(broker: str, seconds: float = 5.0) -> str:
    """Returns the policy by which a full Redis broker evicts messages. Returns '' if the broker evicts no
    messages, if the broker is not Redis, or if the broker does not report its policy."""
    kombu = import_kombu()
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
    """Raises an error if the Redis user lacks a right that kombu needs. Tests the rights with writes that
    change nothing, and with subscriptions to the channels."""
    client = channel.client
    for lane in lanes:
        client.lrem(lane, 0, "")
    client.hdel(channel.unacked_key, "")
    client.zrem(channel.unacked_index_key, "")
    client.srem(channel.keyprefix_queue % "celery.pidbox", "")
    # the second key is for messages of priority 3
    client.delete(f"doctor.{MAILBOX}", f"doctor.{MAILBOX}\x06\x163")
    with contextlib.closing(client.pubsub()) as listening:
        listening.psubscribe(f"{channel.keyprefix_fanout}{MAILBOX}")
        listening.subscribe(
            f"{channel.keyprefix_fanout}celeryev/worker.online"
        )  # subscribing needs the same rights as publishing
        for _ in range(2):
            listening.get_message(timeout=5)


class BrokerTroubleFilter(logging.Filter):
    """Shortens the reports about a broker to one line each, and drops a report that was logged within the last
    minute. Celery repeats them every few seconds, some with 2 kB of traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._until: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether to log a record."""
        if record.levelno < logging.WARNING:
            return True
        error = record.exc_info[1] if record.exc_info else None
        # an error of Python itself is a bug, and its traceback is needed
        if error is not None and (isinstance(error, OSError) or type(error).__module__ != "builtins"):
            text = "Connection to the broker lost" if "onnection" in str(record.msg) else "The broker failed"
            record.msg, record.args = f"{text}: {format_error(error)}", ()
            record.exc_info = record.exc_text = None
        text = re.sub(r"\d+", "", record.getMessage())  # without the number of the retry
        now = time.monotonic()
        if now < self._until.get(text, 0.0):
            return False
        if len(self._until) > 100:
            self._until.clear()
        self._until[text] = now + REPEAT_S
        return True


def format_error(error: BaseException) -> str:
    """Formats an error of a transport in one line, without secrets."""
    cause = error.__cause__ or error
    text = _OBJECT.sub("", mask(" ".join(str(cause).split())))[:200] or type(cause).__name__
    if any(word in text for word in _CLUSTER):
        return f"it is a node of a Cluster: {OTHER}"
    if text.startswith("No master found"):  # redis-py does not report the reason
        return (
            f"{text} by its Sentinels: are they up, and are service, sentinel_user and "
            "sentinel_password right?"
        )
    return f"{text}: see docs/fleet.md for the rights it needs" if "no permissions" in text.lower() else text
