"""Malformed messages on the broker's queues. Workers survive them and reject each message with a reason."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kombu
import pytest
import redis

from support.fleet_workers import SRC, Fleet, Server, Worker, until
from support.rabbitmq import SERVER, Rabbit

TASK = "gossamer.slice"
HEADERS: dict[str, Any] = {
    "task": TASK,
    "id": "x",
    "lang": "py",
    "timelimit": [None, None],
    "eta": None,
    "expires": None,
    "retries": 0,
}
GOOD = [
    [1, "http", 0, "queued never"],
    {},
    {"callbacks": None, "errbacks": None, "chain": None, "chord": None},
]


def bodies() -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yields malformed messages, each as a body and its message properties."""
    text = json.dumps(GOOD).encode()
    plain = {"content_type": "application/json", "content_encoding": "utf-8", "headers": HEADERS}
    yield from (
        (body, plain)
        for body in (b"{", b"[]", b'"x"', b"1", b"", b"\x00\xff", b"null", b"x" * 2_000_000, b"[" * 100_000)
    )
    yield b"[" * 50_000 + b"]" * 50_000, plain
    for args in (
        [],
        [1],
        [2, "http", 0, "t"],
        [1, "http", "0", "t"],
        [1, "http", 0, {}],
        [1, "http", True, "t"],
        {},
        None,
        [1, "http", 0, "t", 1],
    ):
        yield json.dumps([args, {}, {}]).encode(), plain
    yield json.dumps([GOOD[0], {"lane": "http"}, {}]).encode(), plain
    for headers in (
        {},
        {"task": TASK},
        {"task": "os.system", "id": "x"},
        {"task": None, "id": "x"},
        {"task": ["x"], "id": "x"},
        {"task": TASK, "id": ["x"]},
        HEADERS | {"timelimit": "soon"},
        HEADERS | {"timelimit": [1]},
        HEADERS | {"timelimit": {"a": 1}},
        HEADERS | {"eta": "soon"},
        HEADERS | {"eta": "9999-12-31T23:59:59"},
        HEADERS | {"expires": [1]},
        HEADERS | {"expires": "1999-01-01"},
        HEADERS | {"compression": "application/x-gzip"},
        HEADERS | {"compression": "rubbish"},
    ):
        yield text, plain | {"headers": headers}
    yield (
        zlib.compress(b"\0" * 10_000_000),
        plain | {"headers": HEADERS | {"compression": "application/x-gzip"}},
    )
    yield text, plain | {"content_type": "application/x-python-serialize", "content_encoding": "binary"}
    yield text, plain | {"content_type": "text/strange"}
    yield text, plain | {"content_encoding": "klingon"}


def survives(fleet: Fleet, worker: Worker, sent: int) -> None:
    """Checks that the worker counts and reports all malformed messages, still crawls, and exits with code 0
    when stopped."""

    def counted() -> bool:
        found = [one for one in fleet.json("workers", "list") if one["state"] == "running"]
        assert worker.process.poll() is None, worker.said()[-3000:]
        return bool(found) and found[0]["malformed"] >= sent

    until(f"{sent} malformed messages", counted)
    (one,) = fleet.json("workers", "list")
    assert one["malformed"] == sent
    finding = next(one for one in fleet.json("doctor") if one["what"] == "queue")
    assert finding["level"] == "warn"
    assert f"{sent} malformed messages rejected; the last one, on queue " in finding["found"]
    name = fleet.run(
        "submit",
        "http://127.0.0.1:1/",
        "--allow-private",
        "127.0.0.0/8",
        "--quiet",
        "--allow-port",
        "1",
        "--retries",
        "none",
        "--ignore-robots",
    ).strip()
    assert fleet.ended(name)["dead"] == 1
    assert (worker.stop(), "Traceback" in worker.said()) == (0, False)


def test_on_valkey(fleet: Fleet, server: Server) -> None:
    worker = fleet.worker()
    fleet.ready(1)
    envelope = {
        "body": base64.b64encode(json.dumps(GOOD).encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": HEADERS,
        "properties": {
            "delivery_tag": "t",
            "delivery_info": {"exchange": "", "routing_key": "http"},
            "body_encoding": "base64",
            "delivery_mode": 2,
        },
    }
    items: list[bytes] = [
        b"{",
        b"[]",
        b'"x"',
        b"1",
        b"\xff\xfe",
        b"null",
        b"z" * 2_000_000,
        b"[" * 100_000,
        b"{}",
        b'{"properties": 1}',
    ]
    items += [
        json.dumps(envelope | change).encode()
        for change in (
            {"body": 1},
            {"body": "%%%"},
            {"headers": None},
            {"headers": []},
            {"properties": {}},
            {"content-type": None},
            {"properties": envelope["properties"] | {"body_encoding": "rot13"}},
            {"properties": envelope["properties"] | {"delivery_info": None}},
            {"properties": envelope["properties"] | {"delivery_info": {"exchange": 1}}},
            {"properties": envelope["properties"] | {"delivery_tag": None}},
        )
    ]
    items.append(b"key=https://u:geheim@h/?api_key=geheim")
    with redis.Redis(port=server.port, db=1) as client:
        for item in items:
            client.lpush("http", item)
        for message, more in bodies():
            with kombu.Connection(server.url(1).replace("valkey", "redis")) as connection:
                connection.Producer().publish(message, routing_key="http", retry=False, **more)
        for rubbish in (b"{", b"[]", b"1", b'{"body": "x"}'):
            client.publish("/1.celery.pidbox", rubbish)
        for n, raw in enumerate((b"{", b"[]", b"[1, 2, 3]")):
            client.hset("unacked", f"old{n}", raw)
            client.zadd("unacked_index", {f"old{n}": 1})
        sent = len(items) + len(list(bodies())) + 4 + 3
        survives(fleet, worker, sent)
        assert not any(client.hexists("unacked", f"old{n}") for n in range(3))
    with redis.Redis(port=server.port) as client:
        kept = [json.loads(one) for one in client.lrange("gossamer:malformed", 0, -1)]  # type: ignore[union-attr]
        assert 0 < len(kept) <= 100
        assert all(one["reason"] and len(one["body"]) <= 200 and one["worker"] for one in kept)
        assert "geheim" not in json.dumps(kept) + worker.said()


@pytest.mark.skipif(not SERVER, reason="no RabbitMQ")
def test_on_rabbitmq(tmp_path: Path, server: Server) -> None:
    with Rabbit(tmp_path / "rabbit") as rabbit, Fleet(tmp_path, server.url(0), [rabbit.url]) as fleet:
        worker = fleet.worker()
        fleet.ready(1)
        with kombu.Connection(rabbit.url) as connection:
            for message, more in bodies():
                connection.Producer().publish(message, routing_key="http", retry=False, **more)
        survives(fleet, worker, len(list(bodies())))


def test_a_worker_that_nobody_asked_to_end_ends_with_an_error(fleet: Fleet) -> None:
    """The broker's library fails in the middle of the event loop, in an unexpected way."""
    (fleet.folder / "sitecustomize.py").write_text(
        "import threading, time, sys\n"
        "def fail():\n"
        "    import kombu.transport.redis as r\n"
        "    def broken(*_):\n"
        "        raise LookupError('https://u:geheim@h/')\n"
        "    r.MultiChannelPoller.on_readable = broken\n"
        "class Late:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'gossamer.fleet.worker_keeper':\n"
        "            threading.Timer(3, fail).start()\n"
        "sys.meta_path.insert(0, Late())\n"
    )
    worker = fleet.worker(before=("env", f"PYTHONPATH={fleet.folder}:{SRC}"))
    assert worker.process.wait(60) == 1
    (line,) = [line for line in worker.said().splitlines() if "ended unexpectedly" in line]
    assert "ended unexpectedly: LookupError: " in line
    assert "geheim" not in line
