"""Broker URLs: as people write them, as Celery wants them; and whether one answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from gossamer.errors import ConfigError, StoreError
from gossamer.masking import mask

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
        raise ConfigError(
            f"broker {mask(url)}: Celery cannot use a cluster as its broker: give it a server of its own, "
            "Sentinel (redis+sentinel://) or RabbitMQ (amqp://)"
        )
    if scheme not in SCHEMES:
        raise ConfigError(f"broker {mask(url)}: the scheme must be one of {', '.join(SCHEMES)}")
    if scheme == "unix":
        path, _, query = rest.partition("?")
        return f"redis+socket://{path}{f'?virtual_host={db}' if (db := _one(query, 'db')) else ''}", {}
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


def check(app: Any, brokers: Sequence[str], seconds: float = 5.0) -> None:
    """Raise StoreError when no broker answers, naming those that were tried."""
    said = []
    for url in urls(brokers)[0]:
        connection = app.connection_for_write(url=url, connect_timeout=seconds)
        try:
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=seconds)
            return
        except Exception as error:  # noqa: BLE001 - each transport has errors of its own
            said.append(f"{mask(url)}: {_plain(error)}")
        finally:
            connection.release()
    raise StoreError(f"no broker answers; tried {'; '.join(said)}")


def _plain(error: BaseException) -> str:
    cause = error.__cause__ or error
    return mask(" ".join(str(cause).split()))[:200] or type(cause).__name__
