"""Crawls that end while a `submit` adds URLs to them, and stores that go down or are emptied while a command
waits or a worker works."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import redis

from support import fork_server
from support.fleet_workers import Fleet, Server, until
from support.processes import free_port
from web import Web, preset, serve


@pytest.fixture
def web() -> Iterator[Web]:
    """Hosts to crawl."""
    with serve(preset("tiny", hosts=4, pages=100, latency=0.01)) as web:
        yield web


@contextlib.contextmanager
def submitting(fleet: Fleet, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a `submit` whose standard input stays open."""
    process = fork_server.Popen(
        [sys.executable, "-m", "gossamer", "submit", *words, "--allow-private", "127.0.0.0/8"],
        env=fleet.env() | {"PYTHONUNBUFFERED": "1"},
        cwd=fleet.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def waiting(fleet: Fleet) -> int:
    """Returns the number of URLs that the crawl has so far."""
    crawls = fleet.json("status")
    return int(crawls[0]["found"]) if crawls else 0


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(("verb", "state"), [("cancel", "cancelled"), ("stop", "stopped")])
def test_a_crawl_that_is_ended_ends_the_submit_that_adds_to_it(
    fleet: Fleet, workers: int, verb: str, state: str
) -> None:
    for _ in range(workers):
        fleet.worker()
        fleet.ready(1)
    # without robots.txt, because a stop leaves its claims that have not begun to the end of their lease (30 s)
    with submitting(fleet, "-", "--name", "c", "--ignore-robots") as process:
        assert process.stdin is not None
        port = free_port()  # nothing listens there
        hosts = (f"127.1.{n // 250}.{n % 250 + 1}" for n in range(1000))
        process.stdin.write("".join(f"http://{host}:{port}/\n" for host in hosts))
        process.stdin.flush()
        until("URLs", lambda: waiting(fleet) >= 990)
        fleet.run(verb, "c")
        assert process.wait(30) == 11
        err = process.stderr.read() if process.stderr is not None else ""
    assert f"crawl c is {state}" in err or f"crawl c is {state[:-2]}" in err or f"crawl c is {verb}" in err, (
        err
    )
    assert "while its lists were being added" in err
    status = until("it ended", lambda: (found := fleet.json("status", "c"))["state"] == state and found)
    assert verb == "stop" or status["pending"] == 0, status
    assert status["found"] == status["failed"] + status["pending"] + status["dead"] + sum(
        status["skipped"].values()
    )


@pytest.mark.parametrize("how", ["restarts", "pauses"])
def test_a_submit_that_waits_waits_for_the_store_too(
    fleet: Fleet, server: Server, web: Web, how: str
) -> None:
    fleet.worker()
    fleet.ready(1)
    with submitting(
        fleet, *web.plan.seeds(), "--name", "c", "--wait", "--json", "--delay", "0.1", "-o", "out/"
    ) as process:
        until("pages", lambda: waiting(fleet) > 5)
        assert server.process is not None
        if how == "restarts":
            server.kill()
            time.sleep(2)
            server.start()
        else:
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(12)
            server.process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, json.loads(out)["state"]) == (0, "finished"), err
    assert "waiting for it" in err
    assert "answers again" in err
    assert len(fleet.rows()) == json.loads(out)["pages"]


def test_an_emptied_store_is_told_by_all_and_the_same_crawl_can_be_submitted_again(
    fleet: Fleet, server: Server, web: Web
) -> None:
    worker = fleet.worker()
    fleet.ready(1)
    with submitting(
        fleet, *web.plan.seeds(), "--name", "c", "--wait", "--delay", "0.3", "-o", "out/"
    ) as process:
        until("pages", lambda: waiting(fleet) > 20)
        with redis.Redis(port=server.port) as client:
            client.flushall()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 8
    assert sum("was emptied" in line for line in err.splitlines()) == 1
    until("the worker tells", lambda: "was emptied" in worker.said())
    assert "Traceback" not in worker.said()
    before = len(fleet.rows())
    name = fleet.submit(*web.plan.seeds(), name="c", delay="0.01", output="again/")
    summary = fleet.ended(name)
    rows = [row["url"] for row in fleet.rows("again")]
    assert summary["state"] == "finished"
    assert len(rows) == summary["pages"] == len(set(rows)) > 30
    assert len(fleet.rows()) == before, "nothing more is written to the parts of the crawl that is gone"


def test_an_embedded_crawl_tells_that_its_shared_store_was_emptied(
    fleet: Fleet, server: Server, web: Web
) -> None:
    words = [
        sys.executable,
        "-m",
        "gossamer",
        "crawl",
        *web.plan.seeds(),
        "--name",
        "c",
        "--delay",
        "0.3",
        "--allow-private",
        "127.0.0.0/8",
    ]
    process = subprocess.Popen(
        [*words, "-o", "c.jsonl"], env=fleet.env(), cwd=fleet.folder, stderr=subprocess.PIPE, text=True
    )
    try:
        until("pages", lambda: waiting(fleet) > 20)
        with redis.Redis(port=server.port) as client:
            client.flushall()
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 8, err
    assert sum("was emptied" in line for line in err.splitlines()) == 1
    with redis.Redis(port=server.port) as client:
        assert not client.exists("gossamer:crawl:c")
