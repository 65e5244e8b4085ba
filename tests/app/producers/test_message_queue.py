"""Tests of queues of messages as a source, on a real Valkey and a real RabbitMQ: every message once, also after a
kill, in the order of priority, and bad ones aside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from app.producers.feed_crawl import fed_until, queued
from e2e.runs import job, rows
from gossamer.app import producer_runner
from gossamer.app.producers import message_queue
from gossamer.app.producers.message_queue import QueueUrls
from gossamer.app.targets import SeedLine, parse_queue, target_kind
from gossamer.config import value_parsers
from gossamer.errors import ConfigError, StoreError, UsageError
from support.fleet_workers import Server
from support.rabbitmq import Rabbit

FOREIGN = ("proxy_type=proxy", "timestamp=added_at", "retries=")


@pytest.fixture(scope="module")
def whole_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Server(tmp_path_factory.mktemp("queues")) as one:
        yield one.url(1).replace("valkey", "redis")


@pytest.fixture
def server(whole_server: str) -> str:
    """The URL of an empty server, `redis://...`."""
    with redis.Redis.from_url(whole_server) as client:
        client.flushall()
    return whole_server


def url(n: int) -> str:
    return f"https://h{n % 5}.example/{n}"


def message(n: int) -> bytes:
    """Returns a message with the fields of another program."""
    told = {
        "id": f"m{n}",
        "url": url(n),
        "retries": 0,
        "proxy_type": "residential",
        "timestamp": "2026-11-29T03:00:00",
    }
    return json.dumps(told).encode()


def push(client: redis.Redis, kind: str, messages: list[bytes]) -> None:
    for n, one in enumerate(messages):
        if kind == "zset":
            client.zadd("tasks", {one: n})
        elif kind == "stream":
            client.xadd("tasks", {"message": one})
        else:
            client.rpush("tasks", one)


def left(client: redis.Redis, kind: str) -> int:
    """Returns how many messages are not added yet."""
    if kind == "stream":
        group = client.xinfo_groups("tasks")[0]
        return int(group["pending"]) + int(group["lag"] or 0)
    return int(client.zcard("tasks") if kind == "zset" else client.llen("tasks")) + int(
        client.llen("tasks:gossamer:gossamer")
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_queue, "POLL_INTERVAL_S", 0.02)


async def until(shows: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not shows():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", ["list", "zset", "stream"])
async def test_each_message_is_added_once_and_leaves_the_queue(
    tmp_path: Path, server: str, kind: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_queue, "BATCH_URLS", 40)
    one = job([f"{server.replace('redis', f'redis-{kind}', 1)}?key=tasks"], tmp_path, message_fields=FOREIGN)
    with redis.Redis.from_url(server) as client:
        push(
            client,
            kind,
            [*map(message, range(100)), b"{", b'{"url": "https://x.example/", "new": 1}', b"\xff"],
        )
        async with fed_until(one, 100) as (store, _):
            await until(lambda: left(client, kind) == 0)
            assert await queued(store) == {url(n) for n in range(100)}
        aside = rows(tmp_path / "data" / "c" / "rejected.jsonl")
        assert len(aside) == 3
        assert any("unknown field `new`" in line["reason"] for line in aside)
        push(client, kind, [message(100)])
        async with fed_until(one, 101):
            await until(lambda: left(client, kind) == 0)


@pytest.mark.parametrize("kind", ["list", "zset", "stream"])
async def test_what_a_killed_run_took_comes_again(server: str, kind: str, quick: None) -> None:
    source = f"{server.replace('redis', f'redis-{kind}', 1)}?key=tasks"
    with redis.Redis.from_url(server) as client:
        push(client, kind, [url(n).encode() for n in range(10)])
        killed = QueueUrls(source)
        await killed.open(None)  # type: ignore[arg-type]
        first = await anext(killed.batches(None))
        await killed.close()
        assert left(client, kind) == 10, "taken, and not added"
        again = QueueUrls(source)
        await again.open(None)  # type: ignore[arg-type]
        second = await anext(again.batches(None))
        await again.added(second)
        await again.close()
        assert left(client, kind) == 0
    assert [one.url for one in second.requests] == [one.url for one in first.requests]
    assert sorted(one.url for one in second.requests) == sorted(url(n) for n in range(10))


async def test_a_sorted_set_gives_the_highest_score_first_and_its_priority(server: str) -> None:
    with redis.Redis.from_url(server) as client:
        client.zadd("tasks", {url(1): 1, url(2): 7.4, json.dumps({"url": url(3), "priority": 2}): 5})
        source = QueueUrls(f"{server.replace('redis', 'redis-zset', 1)}?key=tasks")
        await source.open(None)  # type: ignore[arg-type]
        batch = await anext(source.batches(None))
        await source.close()
    assert [(one.url, one.priority) for one in batch.requests] == [(url(2), 7), (url(3), 2), (url(1), 1)]


async def test_rabbitmq(tmp_path: Path, quick: None) -> None:
    import amqp

    with Rabbit(tmp_path / "rabbit") as rabbit:
        source = f"{rabbit.url.rstrip('/')}/?queue=tasks"
        with amqp.Connection(f"127.0.0.1:{rabbit.port}") as connection:
            channel = connection.channel()
            channel.queue_declare("tasks", auto_delete=False)
            for n in range(20):
                channel.basic_publish(amqp.Message(message(n)), routing_key="tasks")
            channel.basic_publish(amqp.Message(b"{"), routing_key="tasks")
            killed = QueueUrls(source, FOREIGN)
            await killed.open(None)  # type: ignore[arg-type]
            await anext(killed.batches(None))
            await killed.close()
            one = job([source], tmp_path, message_fields=FOREIGN)
            async with fed_until(one, 20) as (store, _):
                await until(lambda: channel.queue_declare("tasks", passive=True).message_count == 0)
                assert await queued(store) == {url(n) for n in range(20)}
    assert [line["text"] for line in rows(tmp_path / "data" / "c" / "rejected.jsonl")] == ["{"]


@pytest.mark.parametrize("kind", ["list", "zset", "stream"])
async def test_an_outage_of_the_queue_is_waited_out(tmp_path: Path, kind: str, quick: None) -> None:
    with Server(tmp_path / "own", more=("--appendfsync", "always")) as own:
        source = f"redis-{kind}://127.0.0.1:{own.port}/0?key=tasks"
        with redis.Redis(port=own.port) as client:
            push(client, kind, [*map(message, range(10)), b"{"])
            async with fed_until(job([source], tmp_path, message_fields=FOREIGN), 10) as (store, task):
                for first in (10, 20):
                    own.kill()
                    await asyncio.sleep(0.2)
                    own.start()
                    push(client, kind, [*map(message, range(first, first + 10)), b"[%d" % first])
                    await until(lambda: left(client, kind) == 0)
                assert not task.done()
                assert await queued(store) == {url(n) for n in range(30)}
    assert sorted(line["text"] for line in rows(tmp_path / "data" / "c" / "rejected.jsonl")) == [
        "[10",
        "[20",
        "{",
    ]


async def test_a_rejected_message_that_is_read_again_is_kept_aside_once(
    tmp_path: Path, server: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job([f"{server.replace('redis', 'redis-list', 1)}?key=tasks"], tmp_path)
    with redis.Redis.from_url(server) as client:
        push(client, "list", [url(0).encode()])
        with monkeypatch.context() as patch:
            async with fed_until(one, 1):
                await until(lambda: left(client, "list") == 0)
                patch.setattr(
                    message_queue.RedisQueue, "done", lambda *_: None
                )  # killed before the messages leave
                push(client, "list", [b"{", url(1).encode(), b"{"])
                aside = tmp_path / "data" / "c" / "rejected.jsonl"
                await until(lambda: aside.exists() and rows(aside))
        push(client, "list", [b"x", url(2).encode()])
        async with fed_until(one, 3):
            await until(lambda: left(client, "list") == 0)
    assert [line["text"] for line in rows(tmp_path / "data" / "c" / "rejected.jsonl")] == ["{", "{", "x"]


async def test_thousands_of_malformed_messages_are_aside_and_told(
    tmp_path: Path, server: str, quick: None
) -> None:
    said: list[str] = []
    one = job(
        [f"{server.replace('redis', 'redis-list', 1)}?key=tasks"],
        tmp_path,
        message_fields=["proxytype=proxy", "retries="],
    )
    with redis.Redis.from_url(server) as client:
        client.rpush("tasks", *(message(n) if n % 2 else b"{%d" % n for n in range(12_000)))
        client.rpush("tasks", url(1))
        async with fed_until(one, 1, warn=said.append):
            await until(lambda: left(client, "list") == 0)
    aside = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert len(aside) == len({line["text"] for line in aside}) == 12_000
    assert {line["reason"] for line in aside if line["text"].startswith('{"id')} == {
        "unknown field `proxy_type` (message_fields names proxytype?)"
    }
    (line,) = said
    assert "'{0' is rejected: " in line
    assert line.endswith("rejected.jsonl")


async def test_a_full_file_of_malformed_messages_is_reported_once(
    tmp_path: Path, server: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_queue, "BATCH_URLS", 50)
    monkeypatch.setattr(producer_runner, "MAX_REJECTED_BYTES", 1 << 20)
    said: list[str] = []
    one = job([f"{server.replace('redis', 'redis-list', 1)}?key=tasks"], tmp_path)
    aside = tmp_path / "data" / "c" / "rejected.jsonl"
    with redis.Redis.from_url(server) as client:
        client.rpush("tasks", *(b"{%d%s" % (n, b"x" * 500) for n in range(4000)), url(1))
        async with fed_until(one, 1, warn=said.append):
            await until(lambda: left(client, "list") == 0)
        full = aside.stat().st_size
        assert 0 <= full - (1 << 20) < 1000 * 50
        assert len(said) == 2
        assert said[1] == f"{aside} has 1 MiB and is full: further rejected lines are only counted"
        client.rpush("tasks", b"{", url(2))
        async with fed_until(one, 2, warn=said.append):
            await until(lambda: left(client, "list") == 0)
    assert aside.stat().st_size == full
    assert len(said) == 4, "each run reports it"


async def test_a_queue_of_another_type_and_a_server_that_is_down_are_named(server: str) -> None:
    with redis.Redis.from_url(server) as client:
        client.rpush("tasks", "x")
    with pytest.raises(ConfigError, match=r"tasks is a list, so write redis-list://"):
        await QueueUrls(f"{server.replace('redis', 'redis-zset', 1)}?key=tasks").open(None)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="the queue tasks at"):
        await QueueUrls("amqp://127.0.0.1:1/?queue=tasks").open(None)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="the queue tasks at"):
        await QueueUrls("redis-list://127.0.0.1:1/0?key=tasks").open(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("redis-list://127.0.0.1:6379/0", "redis-list://HOST:6379/0[?]key=NAME"),
        ("amqp://127.0.0.1/?key=x", "queue=NAME"),
        ("redis-zset://127.0.0.1/?key=x&take=left", "write high or low"),
        ("redis-stream://127.0.0.1/?key=x&take=left", "write no take"),
    ],
)
def test_wrong_targets_say_how_to_write_them(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        target_kind(text)


def test_the_server_keeps_its_own_parameters() -> None:
    assert parse_queue("rediss-list://h:1/2?key=k&ca_file=x&take=left") == (
        "list",
        "rediss://h:1/2?ca_file=x",
        {"key": "k"},
    )


def test_names_of_fields() -> None:
    assert set(value_parsers.REQUEST_FIELDS) == set(SeedLine.__struct_fields__)
    with pytest.raises(ValueError, match=r"no field 'proxi' \(did you mean proxy"):
        value_parsers.message_fields(["proxy_type=proxi"])
    assert value_parsers.message_fields("proxy_type=proxy, retries=") == ("proxy_type=proxy", "retries=")
    with pytest.raises(ValueError, match="write THEIRS=OURS"):
        value_parsers.message_fields(["proxy_type"])


async def test_an_outage_of_rabbitmq_is_waited_out(tmp_path: Path, quick: None) -> None:
    import amqp

    def send(rabbit: Rabbit, numbers: range) -> None:
        with amqp.Connection(f"127.0.0.1:{rabbit.port}") as connection:
            channel = connection.channel()
            channel.queue_declare("tasks", durable=True, auto_delete=False)
            for n in numbers:
                channel.basic_publish(amqp.Message(message(n), delivery_mode=2), routing_key="tasks")

    with Rabbit(tmp_path / "rabbit") as rabbit:
        send(rabbit, range(10))
        one = job([f"{rabbit.url.rstrip('/')}/?queue=tasks"], tmp_path, message_fields=FOREIGN)
        async with fed_until(one, 10) as (store, task):
            rabbit.kill()
            await asyncio.sleep(0.5)
            rabbit.start()
            send(rabbit, range(10, 20))
            wanted = {url(n) for n in range(20)}
            async with asyncio.timeout(60):
                while await queued(store) != wanted:
                    assert not task.done() or task.result()
                    await asyncio.sleep(0.05)
