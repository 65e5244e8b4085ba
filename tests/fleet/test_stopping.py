"""SIGTERM to a busy worker while the store or the broker is down, or accepts requests but does not answer.
The worker exits in time anyway."""

from __future__ import annotations

import http.server
import signal
import time
from pathlib import Path
from typing import ClassVar

import pytest
import redis

from gossamer.store import keys
from support.answers import answering
from support.fleet_workers import Fleet, Server, until
from web import preset, serve

WITHIN = 15.0
"""Seconds within which a worker exits. The documented limit is 10 s on an idle machine."""


@pytest.mark.parametrize(("who", "how"), [("store", "kill"), ("store", "freeze"), ("broker", "freeze")])
def test_a_stop_waits_for_nobody(tmp_path: Path, who: str, how: str) -> None:
    with (
        Server(tmp_path / "store") as store,
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, store.url(0), [broker.url(0)]) as fleet,
        serve(preset("tiny", hosts=4, pages=200, latency=0.1)) as web,
    ):
        worker = fleet.worker(processes=2)
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.2")
        until("pages", lambda: fleet.status(name)["pages"] > 10)
        victim = store if who == "store" else broker
        assert victim.process
        if how == "kill":
            victim.kill()
        else:
            victim.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        began = time.monotonic()
        worker.process.terminate()
        assert worker.process.wait(60) == 0
        assert time.monotonic() - began < WITHIN
        assert "Traceback" not in worker.said()
        if how == "kill":
            victim.start()
        else:
            victim.process.send_signal(signal.SIGCONT)
        fleet.worker("again", processes=2)
        fleet.run("stop", name)
        summary = fleet.ended(name)
        assert summary["state"] == "stopped"
        rows = [row["url"] for row in fleet.rows()]
        assert len(rows) == len(set(rows)) == summary["pages"]


class OneBroken(http.server.BaseHTTPRequestHandler):
    """Serves a page and a page that always fails."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response({"/": 200, "/broken": 500}.get(self.path, 404))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def test_finish_ends_the_waits_of_a_fleet(fleet: Fleet) -> None:
    with answering(OneBroken) as port:
        fleet.worker()
        seeds = [f"http://127.0.0.1:{port}/{path}" for path in ("", "broken")]
        name = fleet.submit(*seeds, output="out/", delay="0", retries="1h")
        until("a retry waits", lambda: (found := fleet.status(name))["pages"] == found["retried"] == 1)
        fleet.run("finish", name)
        summary = fleet.ended(name)
    assert (summary["state"], summary["pages"], summary["dead"]) == ("finished", 1, 1)
    assert summary["errors"] == {"http-5xx": 1}
    assert OneBroken.asked.count("/broken") == 1


@pytest.mark.parametrize(("verb", "state"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_crawl_ends_when_all_who_worked_on_it_died(
    fleet: Fleet, server: Server, verb: str, state: str
) -> None:
    """No worker is left on a crawl that must end, so the next workers have to return the claims of the dead
    ones."""
    with serve(preset("tiny", hosts=4, pages=200, latency=1.0)) as web:
        worker = fleet.worker(processes=2)
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.1")
        until("pages", lambda: fleet.status(name)["pages"] > 10)
        with redis.Redis(port=server.port) as client:
            # there are none between two slices
            until("claims", lambda: list(client.scan_iter(f"{{b:*}}{name}:l", count=1000)))
            worker.kill()
            client.hset(keys.record(name), "state", "stopping" if verb == "stop" else "cancelling")
            leases = list(client.scan_iter(f"{{b:*}}{name}:l", count=1000))
            assert leases
            for key in leases:
                client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), 1))
        fleet.worker("again")
        summary = fleet.ended(name, 40)
    assert summary["state"] == state
    assert len(fleet.rows()) == summary["pages"]
