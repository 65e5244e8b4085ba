"""Reads a Kafka topic. The value of each message is a URL or a JSON line. The keys of Kafka messages are
ignored. Needs the extra `kafka`.

Offsets are committed after the URLs were added. After a kill or a rebalance, a message may arrive twice. The
seen set rejects the URL of the repeated message. Malformed messages are rejected with their offset. A topic
has no end, so the crawl runs until it is stopped.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gossamer.app.producers.source import BATCH_URLS, UrlBatch
from gossamer.app.targets import Rejected, parse_line
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, StoreError
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

POLL_TIMEOUT_MS = 500
"""Milliseconds for which one poll of the Kafka topic waits for messages."""


class KafkaUrls:
    """The producer for a topic, `kafka://HOST:PORT/TOPIC?group=GROUP`. Several brokers are separated by
    commas."""

    beside = "*"

    def __init__(self, text: str, fields: tuple[str, ...] = ()) -> None:
        self._fields = fields
        found = urlsplit(text)
        self.brokers, self.topic = found.netloc, found.path.strip("/")
        self.group = parse_qs(found.query).get("group", ["gossamer"])[0]
        self.name = f"kafka {self.brokers}/{self.topic} {self.group}"
        self._consumer: Any = None
        self._ends: dict[Any, int] = {}

    async def open(self, collector: Collector) -> None:
        """Connects to a broker, and checks that the topic exists."""
        try:
            import aiokafka
            from aiokafka.errors import KafkaError
        except ImportError:
            raise ConfigError(f"kafka://... needs a client: {install_command('kafka')}") from None
        # gossamer reports failures itself, so aiokafka need not log them
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.brokers,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            client_id="gossamer",
        )
        try:
            await self._consumer.start()
            topics = await self._consumer.topics()
        except (KafkaError, OSError) as error:
            raise StoreError(
                f"the Kafka broker {self.brokers} does not answer: {error or type(error).__name__}"
            ) from error
        if self.topic not in topics:
            known = ", ".join(sorted(topics)[:5]) or "none"
            raise ConfigError(
                f"the Kafka broker {self.brokers} has no topic {self.topic}; its topics are {known}"
            )
        self._consumer.subscribe([self.topic])

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields the messages of the partitions that are assigned to this consumer."""
        while True:
            got = await self._consumer.getmany(timeout_ms=POLL_TIMEOUT_MS, max_records=BATCH_URLS)
            requests, rejected = [], list[Rejected]()
            for partition, messages in got.items():
                for message in messages:
                    found = parse_line(
                        message.value or b"",
                        f"{self.topic}[{partition.partition}]",
                        message.offset,
                        self._fields,
                    )
                    if isinstance(found, Request):
                        requests.append(found)
                    elif found is not None:
                        rejected.append(found)
                self._ends[partition] = messages[-1].offset + 1
            if got:
                yield UrlBatch(requests, rejected, {})

    async def added(self, batch: UrlBatch) -> None:
        """Commits the offsets of the messages that were read. Skips partitions that are now assigned to
        another member of the group."""
        from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

        ends = {
            partition: end
            for partition, end in self._ends.items()
            if partition in self._consumer.assignment()
        }
        self._ends.clear()
        try:
            if ends:
                await self._consumer.commit(ends)
        except (CommitFailedError, IllegalStateError):
            pass  # the group receives these messages again, and the seen set rejects their URLs
        except KafkaError as error:
            raise StoreError(
                f"the Kafka broker {self.brokers} does not accept the offsets: {error}; run it again"
            ) from error

    async def close(self) -> None:
        """Leaves the consumer group."""
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None
