"""Messages, jobs, requests and records that a newer gossamer wrote. Each is refused with one log line, and
none is misread or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import redis
from celery import Celery

from gossamer.app import job_payload
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.fleet.app import TASK
from gossamer.identity.encryption import Encryption
from gossamer.politeness import scores
from gossamer.store.store import _mismatch
from support.fleet_workers import Fleet, Server, until
from web import Web, preset, serve


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=2, pages=20)) as web:
        yield web


def refused(fleet: Fleet) -> dict[str, str]:
    """Returns the parts of a crawl that worker w does not work on, with the reasons."""
    found = {w["name"].partition("@")[0]: w for w in fleet.json("workers", "list")}
    return dict(found["w"]["refuses"]) if "w" in found else {}


def test_a_worker_meets_what_a_newer_one_wrote(fleet: Fleet, server: Server, web: Web) -> None:
    names = ("job", "words", "request", "plain")
    for name in names:
        fleet.submit(*web.plan.seeds(), name=name, output=f"{name}/", delay="0.01")
    with redis.Redis(port=server.port) as client:
        jobs: dict[str, Any] = {name: client.hget(f"gossamer:crawl:{name}", "job") for name in names}
        newer = {
            "job": {"version": 2},
            "words": {"uses": [*json.loads(jobs["words"])["uses"], "settings.rockets"]},
        }
        for name, change in newer.items():
            client.hset(f"gossamer:crawl:{name}", "job", json.dumps(json.loads(jobs[name]) | change))
        (queue, *_) = client.scan_iter("{b:*}request:q:*")
        entry: Any = client.lindex(queue, 0)
        path, depth, referrer, *_ = msgspec.msgpack.decode(entry[3:])
        client.lset(queue, 0, entry[:3] + msgspec.msgpack.encode([path, depth, referrer, {"rockets": 2}]))
        client.hset("gossamer:workers", "future@h", json.dumps({"format": 2, "name": "future@h", "crew": 3}))
        with Celery(broker=f"redis://127.0.0.1:{server.port}/1", set_as_current=False) as sender:
            sender.send_task(TASK, (2, {"lane": "http"}), {"more": 1}, queue="http")
        worker = fleet.worker()
        until("it refuses three crawls", lambda: len(refused(fleet)) == 3)
        said = refused(fleet)
        assert (
            said["job"]
            == "it was submitted as format 2, this worker knows 1: run the same gossamer everywhere"
        )
        assert "submitted with settings.rockets, which this worker does not know" in said["words"]
        assert "needs rockets, which this gossamer does not know" in said["request"]
        assert "a message of format 2 was ignored; this worker reads format 1" in worker.said()
        found = {w["name"]: (w["state"], w["version"]) for w in fleet.json("workers", "list")}
        assert found["future@h"] == ("unread", "unknown")
        assert fleet.ended("plain")["state"] == "finished"
        until("nothing is held", lambda: not list(client.scan_iter("{b:*}request:l")))
        (back,) = [one for one in client.lrange(queue, 0, -1) if b"rockets" in one]  # type: ignore[union-attr]
        assert back[:3] == entry[:3], "given back, not crashed"
        client.lset(queue, client.lpos(queue, back), entry)  # type: ignore[arg-type]
        for name in newer:
            client.hset(f"gossamer:crawl:{name}", "job", jobs[name])
    for name in names:
        summary = fleet.ended(name)
        rows = [row["url"] for row in fleet.rows(name)]
        assert (summary["state"], summary["dead"]) == ("finished", 0)
        assert len(rows) == summary["pages"] == len(set(rows)) == len(fleet.rows("plain")) > 30
    assert "Traceback" not in worker.said()


def test_a_job_that_cannot_be_read() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        job_payload.unpack_setup(
            b'{"version": 1, "setup": {"job": 3}}', Settings(), "valkey://h", "x", lambda: Encryption(None, 1)
        )


def test_scores_of_another_format_are_left_out() -> None:
    ours, newer = scores.WorkerScore("w"), {"name": "n", "format": 2}
    raws = [msgspec.json.encode(ours), json.dumps(newer).encode(), b'{"name": 3}']
    assert [one.name for one in scores.read(raws)] == ["w"]


@pytest.mark.parametrize(
    ("found", "word"), [("0", "an older"), ("2", "a newer"), ("10", "a newer"), ("x", "a newer")]
)
def test_a_store_of_another_format(found: str, word: str) -> None:
    assert f"use {word} gossamer" in _mismatch("version", found, "1")
