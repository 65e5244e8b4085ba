"""Messages that dead workers leave in a real broker. The cleanup removes a message only if it certainly
belongs to gossamer and has no further use."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection

from gossamer.fleet import brokers
from gossamer.fleet.app import TASK
from support import fork_server
from support.fleet_workers import Fleet, Server, until
from support.rabbitmq import SERVER, Rabbit
from web import preset, serve

TAKE = "import os, sys; from kombu import Connection; Connection(sys.argv[1]).channel().basic_get('http'); os._exit(0)"


@pytest.fixture(params=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[str]:
    if request.param == "redis":
        yield server.url(1)
        return
    if SERVER is None and os.environ.get("CI") != "true":
        pytest.skip("rabbitmq-server is not here: as root on Debian ./test gets it")
    with Rabbit(tmp_path / "rabbit") as rabbit:
        yield rabbit.url


def queued(url: str, lane: str) -> int | None:
    """Returns the number of messages in a queue, or None if the queue does not exist."""
    with Connection(url) as connection:
        try:
            return int(connection.channel().queue_declare(lane, passive=True).message_count)
        except connection.channel_errors:
            return None


def cleaned(fleet: Fleet, *words: str) -> int:
    (row,) = fleet.json("clean", "--what", "queues", *words)
    return int(row["count"])


def age(client: redis.Redis, *names: str) -> None:
    """Set the last heartbeat of the named workers back by two days."""
    for key, raw in client.hgetall("gossamer:workers").items():  # type: ignore[union-attr]
        if key.decode().partition("@")[0] in names:
            record = json.loads(raw)
            client.hset("gossamer:workers", key, json.dumps({**record, "beat": record["beat"] - 2 * 86_400}))


def leave(sender: Celery, url: str) -> None:
    """Sends messages for slot 7, which waits for the ticket `wanted`: two useless messages, one of a newer
    gossamer, and one of a foreign task. A consumer takes the first message and dies, and RabbitMQ then
    requeues that message."""
    for words in ([1, "http", 0, "queued old"], [1, "http", 7, "queued older"], [2, "of a newer one"]):
        sender.send_task(TASK, words, queue="http")
    sender.send_task("somebody.else", [1, "http", 0, "queued old"], queue="http")
    sender.send_task(TASK, [1, "http", 7, "queued wanted"], queue="http")
    fork_server.run([sys.executable, "-c", TAKE, url], check=True)


def test_what_dead_workers_left(broker: str, server: Server, tmp_path: Path) -> None:
    url, rows = brokers.kombu_url(broker).urls[0], "http"
    with (
        Fleet(tmp_path, server.url(0), [broker]) as fleet,
        redis.Redis(port=server.port) as client,
        redis.Redis(port=server.port, db=1) as theirs,
        Celery(broker=url, set_as_current=False) as sender,
    ):
        dead, other = fleet.worker("dead"), fleet.worker("other", "--lane", "rare", "--data", "d2")
        fleet.ready(2)
        until(
            "its mailbox",
            lambda: broker.startswith("amqp") or theirs.scard("_kombu.binding.celery.pidbox") == 2,
        )
        _ = [one.kill() for one in (dead, other)]
        client.delete(*client.scan_iter("gossamer:slot:*"), "gossamer:none")
        with Connection(url) as connection:
            connection.channel().queue_purge("http")
        client.set("gossamer:slot:http:7", "queued wanted", ex=600)
        leave(sender, url)
        is_redis = not broker.startswith("amqp")
        if is_redis:
            theirs.sadd("_kombu.binding.celery.pidbox", "\x06\x16\x06\x16stranger@h.celery.pidbox")
            theirs.zadd("unacked_index", {"gone": 1})
            assert theirs.hlen("unacked") == 1
        until("all are there", lambda: queued(url, rows) == 5 - is_redis)
        assert cleaned(fleet, "--dry-run") == 2 + is_redis, (
            "the workers may live: messages that are of no use whoever lives"
        )
        assert queued(url, rows) == 5 - is_redis
        age(client, "dead", "other")
        lanes = 1 + is_redis  # on Redis a queue has two keys
        assert cleaned(fleet, "--dry-run") == 2 + lanes + 3 * is_redis
        assert "queues" in fleet.run("doctor")
        assert cleaned(fleet) == 2 + lanes + 3 * is_redis
        assert (queued(url, rows), queued(url, "rare"), cleaned(fleet)) == (3, None, 0)
        if is_redis:
            assert [one.split(b"\x16")[-1] for one in theirs.smembers("_kombu.binding.celery.pidbox")] == [  # type: ignore[union-attr]
                b"stranger@h.celery.pidbox"
            ]
            assert theirs.exists("unacked", "unacked_index", "_kombu.binding.rare") == 0
        works_after_all(fleet)


def works_after_all(fleet: Fleet) -> None:
    """Checks that a fleet can crawl with the cleaned broker."""
    with serve(preset("tiny", hosts=2, pages=20)) as web:
        fleet.worker("again", "--data", "d3")
        name = fleet.submit(*web.plan.seeds(), delay="0.01", output="out/")
        summary: dict[str, Any] = fleet.ended(name)
        assert (summary["state"], len(fleet.rows())) == ("finished", summary["pages"])


def test_a_broker_that_is_away(fleet: Fleet) -> None:
    fleet.brokers = ["valkey://127.0.0.1:1/0"]
    assert "the broker does not answer" in fleet.run("clean", "--what", "queues", code=8)
    assert "queues" in fleet.run("clean")
