"""`gossamer doctor` names the hosts whose slots, leases and queues do not agree, in a fleet and in a data folder."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from cli.command_line import gossamer
from gossamer.app.open_store import open_store
from gossamer.config.settings import Settings
from gossamer.store import keys
from support.answers import answering
from support.fleet_workers import Fleet, Server, until
from support.repetitions import ALL

AGREE = "the slots, leases and queues of all hosts agree"


class Waiting(http.server.BaseHTTPRequestHandler):
    """Answers no page until it may."""

    may = threading.Event()

    def do_GET(self) -> None:
        if self.path != "/robots.txt":
            self.may.wait(60)
        with contextlib.suppress(ConnectionError):  # the request may have ended before its answer
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b"x")

    def log_message(self, *_: object) -> None:
        """Disable the request log."""


@pytest.fixture
def web() -> Iterator[str]:
    Waiting.may.clear()
    with answering(Waiting) as port:
        yield f"127.0.0.1:{port}"
        Waiting.may.set()


def slots(lines: list[dict[str, str]]) -> tuple[str, str]:
    """Returns what `doctor` says about slots."""
    (one,) = [line for line in lines if line["what"] == "slots"]
    return one["level"], one["found"]


def test_a_fleet(fleet: Fleet, server: Server, web: str) -> None:
    fleet.worker()
    name = fleet.submit(*(f"http://{web}/{n}" for n in range(5)), scope="page", delay="0", per_host="2")
    client = redis.Redis(port=server.port)

    def visited() -> list[bytes]:
        return [one for one in client.scan_iter("{b:*}h:*") if client.hget(one, "i") == b"2"]

    [key] = until("two pages are requested", visited)
    assert slots(fleet.json("doctor")) == ("ok", AGREE)
    client.hincrby(key, "i", 3)
    [own] = client.scan_iter(f"{{b:*}}{name}:h:*")
    client.hset(own, "q", 9)
    told = f"{web}: 5 requests in flight, but 2 leases, a wrong number of queued URLs"
    assert slots(fleet.json("doctor")) == ("warn", told)
    if ALL:  # a worker looks for the first time after 30 s
        client.delete(keys.SWEPT)
        until(
            "the worker corrects them", lambda: f"corrected the slots of {web}: " in fleet.workers[0].said()
        )
        assert slots(fleet.json("doctor")) == ("ok", AGREE)
        Waiting.may.set()
        assert fleet.ended(name)["pages"] == 5


def test_a_data_folder(web: str, tmp_path: Path) -> None:
    def doctor() -> tuple[str, str]:
        code, out, err = gossamer(tmp_path, "doctor", "--json")
        assert code == 0, err
        return slots(json.loads(out))

    Waiting.may.set()
    code, _, err = gossamer(tmp_path, "crawl", f"http://{web}/1", "--scope", "page", "-o", "out.jsonl")
    assert code == 0, err
    assert doctor() == ("ok", AGREE)

    async def plant() -> None:
        store, embedded = await open_store(Settings(data=str(tmp_path / ".gossamer")))
        try:
            bucket = keys.bucket_of(web, store.buckets)
            await store.client.hset(f"{keys.tag(bucket)}h:{web}", "i", 4)
        finally:
            await store.close()
            assert embedded is not None
            embedded.leave()

    asyncio.run(plant())
    assert doctor() == ("warn", f"{web}: 4 requests in flight, but 0 leases")
