"""Kafka: pages and items as JSON messages. Consumers that read only committed messages get each message
exactly once. Needs the extra `kafka`.

By default, the message key is the host, which keeps the rows of a host in order. `?key=_key` uses the item's
key, so a compacted topic keeps the newest row of each item. `?key=item` uses the kind and the key, for topics
with several kinds. `?key=FIELD` uses a field of the row, or `_key` if the row lacks that field.

A batch is one transaction of an idempotent producer. The transaction also commits the journal's position, as
the offset of a separate consumer group (`gossamer-...`). Therefore, the messages and the position are always
stored together. A new process first fences the producer of the old process, and then reads the position.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkAway, SinkError
from gossamer.model.visit import Row
from gossamer.sinks.columns import cell_value
from gossamer.sinks.jsonl import decode
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import SinkUrl

CALL_TIMEOUT_S = 20.0
"""The maximum duration of a call in seconds."""
_MAX_HEAD_BYTES = 1024
"""The maximum size in bytes of a Kafka message without the row, the key and the kind."""
Result = TypeVar("Result")


class KafkaTopic:
    """The Shipper for `kafka://HOST:PORT,HOST:PORT/TOPIC`. aiokafka has an event loop of its own, which runs
    only during a call."""

    knows = True

    def __init__(self, place: SinkUrl, name: str, refuse: Refuse) -> None:
        try:
            import aiokafka  # noqa: F401
        except ImportError:
            raise ConfigError(f"-o {place.where} needs a client: {install_command('kafka')}") from None
        self.where, self._name, self._refuse = place.where, f"gossamer-{name}", refuse
        self.refused: list[Row] = []
        self._topic = urlsplit(place.url).path.strip("/")
        self._options = _options(place)
        self._key = place.given.get("key", "host")
        self._most = 0
        self._runner: asyncio.Runner | None = None
        self._producer: Any = None
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # this module reports the errors itself

    def open(self) -> int:
        """See `shipper.Shipper`. If the topic is missing, the brokers create it, provided that they are
        configured to do so. Otherwise raises SinkError."""
        return self._run(self._open())

    def begin(self) -> None:
        """See `shipper.Shipper`. Rows of earlier runs stay, because they cannot be removed."""

    def send(self, start: int, end: int, lines: Sequence[JournalRow]) -> int:
        """See `shipper.Shipper`. A row that is too large for the topic is passed to `refuse`."""
        fit, refused = [], []
        for line in lines:
            size = (
                len(bytes(line.row))
                + len(self._keyed(line))
                + len(line.key.encode())
                + len(line.kind.encode())
                + _MAX_HEAD_BYTES
            )
            if size > self._most:
                why = f"a message may have at most {self._most} bytes (max.message.bytes of the topic)"
                refused.append(Row(line.kind, line.key, msgspec.json.decode(line.row)))
                self._refuse(self.where, refused[-1], why)
            else:
                fit.append(line)
        self._run(self._send(end, fit))
        self.refused += refused
        return end

    def _keyed(self, line: JournalRow) -> bytes:
        """Returns the message key of a row."""
        found: Any = line.key
        if self._key == "host":
            found = line.host
        elif self._key == "item":
            found = f"{line.kind}:{line.key}"
        elif self._key != "_key":
            row = decode(bytes(line.row))
            value = cell_value(row.get(self._key)) if isinstance(row, dict) else None
            found = line.key if value is None else value
        return str(found).encode("utf-8", "replace")

    def drop(self) -> None:
        """See `shipper.Shipper`."""
        runner, producer = self._runner, self._producer
        self._runner = self._producer = None
        if runner is not None:
            with contextlib.suppress(Exception):
                runner.run(_within(producer.stop(), 2.0) if producer is not None else asyncio.sleep(0))
            runner.close()

    async def _open(self) -> int:
        import aiokafka
        from aiokafka.admin import AIOKafkaAdminClient
        from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
        from aiokafka.errors import KafkaConnectionError

        admin = AIOKafkaAdminClient(**self._options)
        try:
            await admin.start()
        except KafkaConnectionError as error:
            raise await self._why() or error from None
        try:
            if self._topic not in await admin.list_topics() and not await self._asked_for():
                raise SinkError(
                    f"{self.where}: there is no topic {self._topic}, and the brokers do not "
                    "create it: create it first"
                )
            (found,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, self._topic)])
            told = {entry[0]: entry[1] for resource in found.resources for entry in resource[4]}
            self._most = int(told.get("max.message.bytes") or 1_048_588)
            self._producer = aiokafka.AIOKafkaProducer(
                **self._options, transactional_id=self._name, max_request_size=2 * self._most + (1 << 20)
            )
            await self._producer.start()
            # This fences off an older producer of the same name.
            await self._producer.begin_transaction()
            await self._producer.abort_transaction()
            offsets = await admin.list_consumer_group_offsets(self._name)
            return max((one.offset for one in offsets.values()), default=0)
        finally:
            await admin.close()

    async def _asked_for(self) -> bool:
        """Requests the topic's metadata as a producer does, because most brokers then create a missing topic.
        Returns whether the topic now exists."""
        import aiokafka
        from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

        async with aiokafka.AIOKafkaProducer(**self._options) as producer:
            try:
                return bool(await producer.partitions_for(self._topic))
            except TopicAuthorizationFailedError:
                raise
            except KafkaError:
                return False

    async def _why(self) -> Exception | None:
        """Connects to each broker in turn. Returns the last connection error, or None if all brokers accept
        the connection. The admin client does not report this error."""
        from aiokafka.conn import create_conn
        from aiokafka.errors import KafkaError

        found: Exception | None = None
        options = {name: value for name, value in self._options.items() if name != "bootstrap_servers"}
        for broker in self._options["bootstrap_servers"].split(","):
            split = urlsplit(f"//{broker}")
            try:
                (await create_conn(split.hostname, split.port or 9092, **options)).close()
            except (KafkaError, OSError, TimeoutError) as error:
                found = error
        return found

    async def _send(self, end: int, lines: Sequence[JournalRow]) -> None:
        from aiokafka import TopicPartition
        from aiokafka.structs import OffsetAndMetadata

        producer = self._producer
        # If the transaction stays open after a failure, the next producer of this name aborts it.
        await producer.begin_transaction()
        sent = [
            await producer.send(
                self._topic,
                bytes(line.row),
                key=self._keyed(line),
                headers=[
                    ("kind", line.kind.encode("utf-8", "replace")),
                    ("key", line.key.encode("utf-8", "replace")),
                ],
            )
            for line in lines
        ]
        await asyncio.gather(*sent)
        position = {TopicPartition(self._topic, 0): OffsetAndMetadata(end, "")}
        await producer.send_offsets_to_transaction(position, self._name)
        await producer.commit_transaction()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        from aiokafka import errors

        hopeless = (
            errors.TopicAuthorizationFailedError,
            errors.ClusterAuthorizationFailedError,
            errors.GroupAuthorizationFailedError,
            errors.TransactionalIdAuthorizationFailed,
            errors.SaslAuthenticationFailed,
            errors.InvalidTopicError,
            errors.UnsupportedSaslMechanismError,
            errors.IllegalSaslStateError,
        )
        self._runner = self._runner or asyncio.Runner()
        try:
            return self._runner.run(_within(work, CALL_TIMEOUT_S))
        except hopeless as error:
            raise SinkError(f"{self.where}: {_line(error)}") from error
        except (errors.KafkaError, OSError, TimeoutError) as error:
            raise SinkAway(f"{self.where} does not accept rows: {_line(error)}") from error


async def _within(work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    async with asyncio.timeout(seconds):
        return await work


def _options(place: SinkUrl) -> dict[str, Any]:
    from aiokafka.helpers import create_ssl_context

    split, given = urlsplit(place.url), place.given
    user, _, hosts = split.netloc.rpartition("@")
    tls = given.get("tls") == "yes" or "ca_file" in given
    options: dict[str, Any] = {
        "bootstrap_servers": hosts,
        "client_id": "gossamer",
        "request_timeout_ms": 10_000,
    }
    options["security_protocol"] = ("SASL_" if user else "") + ("SSL" if tls else "PLAINTEXT")
    if tls:
        options["ssl_context"] = create_ssl_context(cafile=given.get("ca_file"))
    if user:
        called, _, password = user.partition(":")
        options |= {
            "sasl_mechanism": given.get("sasl", "PLAIN"),
            "sasl_plain_username": unquote(called),
            "sasl_plain_password": unquote(password),
        }
    return options


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
