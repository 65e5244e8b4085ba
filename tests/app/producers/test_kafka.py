"""Tests of Kafka topics as a source, on a real Apache Kafka: commits after URLs are added, rebalancing,
stopping and continuing."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.producers.feed_crawl import fed, fed_until, queued
from e2e.runs import job, rows
from gossamer.app.runner import crawl
from gossamer.app.targets import target_kind
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, StoreError, UsageError
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.summary import crawl_counts
from sinks.databases.database_servers import running
from web import preset, serve


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Start an Apache Kafka broker on the loopback interface, and yield its HOST:PORT."""
    with running("kafka") as place:
        yield f"127.0.0.1:{place.server.port}"


async def send(broker: str, topic: str, values: list[Any], partitions: int = 4) -> None:
    """Create the topic if it is missing, and send the values to it. Each value's first 20 bytes are its
    key."""
    import aiokafka
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    if topic not in await admin.list_topics():
        await admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
    await admin.close()
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=broker)
    await producer.start()
    for value in values:
        raw = value if isinstance(value, bytes) else value.encode()
        await producer.send(topic, raw, key=raw[:20])
    await producer.stop()


def urls(n: int, first: int = 0) -> list[str]:
    return [f"https://h{j % 20}.example/{j}" for j in range(first, first + n)]


async def test_messages_are_added_and_their_offsets_committed(tmp_path: Path, broker: str) -> None:
    values = [
        *urls(300),
        json.dumps({"url": "https://x.example/", "priority": 4}),
        "no url",
        b"\xff\xfe",
        "{",
    ]
    await send(broker, "many", values)
    one = job([f"kafka://{broker}/many?group=g1"], tmp_path)
    async with fed_until(one, 301):
        await asyncio.sleep(1)
    aside = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert sorted(line["text"] for line in aside) == ["no url", "{", "��"]
    assert all(line["source"].startswith("many[") for line in aside)
    await send(broker, "many", urls(50, 300))
    async with fed_until(one, 351) as (store, _):
        await asyncio.sleep(1)
        n = await crawl_counts(store, "c")
        assert (n["found"], n["skip:duplicate"]) == (351, 0), "what was committed does not come again"


async def test_a_crawl_does_not_end_while_its_producer_is_at_work(tmp_path: Path, broker: str) -> None:
    await send(broker, "work", urls(3))
    async with fed_until(job([f"kafka://{broker}/work?group=g1"], tmp_path), 3) as (store, task):
        frontier = Frontier(store, "c", Policy(delay=0, obey_robots=False, per_host=10))
        assert (await frontier.requeue_expired(0))[1] == 4, "three URLs and a producer"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await frontier.requeue_expired(0))[1] == 3


async def test_it_is_crawled_as_messages_come_until_it_is_stopped(tmp_path: Path, broker: str) -> None:
    with serve(preset("tiny", hosts=3, pages=20)) as web:
        pages = sorted(web.plan.must_fetch(sitemaps=False))
        await send(broker, "pages", pages[:30])
        one = job([f"kafka://{broker}/pages?group=g1"], tmp_path, scope="page")
        for begun, so_far in ((0, 30), (30, 60)):
            await send(broker, "pages", pages[begun:so_far])
            stop = asyncio.Event()
            running = asyncio.create_task(crawl(one, stop=stop))
            async with asyncio.timeout(60):
                while len(found(tmp_path)) < so_far:  # noqa: ASYNC110 - a file grows
                    await asyncio.sleep(0.1)
            assert not running.done()
            stop.set()
            summary = await running
            assert (summary.state, summary.pages) == ("stopped", so_far)
    assert found(tmp_path) == sorted(pages)


def found(tmp_path: Path) -> list[str]:
    path = tmp_path / "out.jsonl"
    return sorted(row["requested_url"] for row in rows(path)) if path.exists() else []


async def test_two_members_of_a_group_share_a_topic_and_lose_nothing(tmp_path: Path, broker: str) -> None:
    await send(broker, "shared", urls(400))
    target = f"kafka://{broker}/shared?group=g1"
    one, other = (job([target], tmp_path / name, cold="off") for name in ("one", "other"))
    async with fed_until(one, 1) as (store, _), fed_until(other, 0) as (second, leaving):
        last = 400
        async with asyncio.timeout(60):
            # send messages until the second member has received some of them
            while not (await crawl_counts(second, "c"))["added"]:
                await send(broker, "shared", urls(100, last))
                last += 100
                await asyncio.sleep(0.5)
        leaving.cancel()
        await send(broker, "shared", urls(100, last))
        for _ in range(600):
            missing = set(urls(last + 100)) - await queued(store) - await queued(second)
            if not missing:
                break
            await asyncio.sleep(0.1)
        assert not missing


async def test_a_broker_that_is_down_and_a_topic_that_is_not_there(tmp_path: Path, broker: str) -> None:
    with pytest.raises(StoreError, match=r"the Kafka broker 127.0.0.1:1 does not answer"):
        await fed(job(["kafka://127.0.0.1:1/t"], tmp_path / "a"))
    await send(broker, "there", ["https://a.example/"])
    with pytest.raises(ConfigError, match="has no topic nowhere; its topics are"):
        await fed(job([f"kafka://{broker}/nowhere"], tmp_path / "b"))


async def test_a_missing_client_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiokafka", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("kafka"))):
        await fed(job(["kafka://127.0.0.1:1/t"], tmp_path))


@pytest.mark.parametrize(
    "text", ["kafka://", "kafka://host:1", "kafka://host:1/", "kafka://h/t?x=1", "kafka://h/a/b"]
)
def test_what_is_no_topic(text: str) -> None:
    with pytest.raises(UsageError, match="kafka://HOST:PORT/TOPIC"):
        target_kind(text)
