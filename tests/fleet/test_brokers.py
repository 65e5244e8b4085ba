"""Tests with real brokers: RabbitMQ, a broker that dies and comes back, and a list of brokers whose first one
is dead."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import kombu
import pytest
import redis

from gossamer.fleet import brokers
from gossamer.fleet.brokers import LOGGERS, BrokerTroubleFilter
from gossamer.fleet.message_checks import Consumer
from support import fork_server, processes
from support.fleet_workers import Fleet, Server, until
from support.processes import free_port
from support.rabbitmq import SERVER, Rabbit
from web import Web, preset, serve


@pytest.mark.parametrize("slots", [None, 8191])
def test_a_node_of_a_cluster_is_told_so(tmp_path: Path, slots: int | None) -> None:
    """`slots` is None for a node without slots."""
    (tmp_path / "nodes").mkdir()
    node = Server(tmp_path / "nodes", more=("--cluster-enabled", "yes"))
    node.port = processes.free_port()
    with node:
        with redis.Redis(port=node.port) as client:
            if slots is not None:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, slots)
        said = brokers.why_unusable(node.url(0), ("http",))
    assert "node of a Cluster" in said, said
    assert str(node.port) in said


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=4, pages=100, latency=0.01)) as web:
        yield web


def whole(fleet: Fleet, name: str) -> None:
    """Checks that the crawl finished and that each page has exactly one row."""
    summary = fleet.ended(name, 120)
    rows = fleet.rows()
    assert summary["state"] == "finished"
    assert len(rows) == summary["pages"] == len({row["url"] for row in rows}) > 200


@pytest.fixture
def rabbit(tmp_path: Path) -> Iterator[Rabbit]:
    if SERVER is None and os.environ.get("CI") != "true":
        pytest.skip("rabbitmq-server is not here: as root on Debian ./test gets it")
    with Rabbit(tmp_path / "rabbit") as rabbit:
        yield rabbit


def test_rabbitmq_that_dies_and_comes_back(rabbit: Rabbit, server: Server, tmp_path: Path, web: Web) -> None:
    with Fleet(tmp_path, server.url(0), [rabbit.url], "3s") as fleet:
        fleet.worker(processes=2)
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.1")
        until("pages", lambda: fleet.status(name)["pages"] > 20)
        rabbit.kill()
        rabbit.start()
        whole(fleet, name)


def test_the_pauses_before_the_next_try_to_reach_a_broker_do_not_grow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = SimpleNamespace(
        broker_connection_retry_on_startup=True, broker_connection_retry=True, broker_connection_max_retries=8
    )
    one = object.__new__(Consumer)
    one.app, one.first_connection_attempt = SimpleNamespace(conf=conf), True
    one.broker_connection_retry_attempt = 0
    slept = list[float]()
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    with pytest.raises(kombu.exceptions.OperationalError, match="refused"):
        one.ensure_connected(kombu.Connection(f"redis://127.0.0.1:{free_port()}"))
    assert sum(slept) <= 8


def test_the_trouble_with_a_broker_is_one_line_a_minute() -> None:
    shown = BrokerTroubleFilter()

    def report(text: str, error: Exception) -> logging.LogRecord:
        given = (type(error), error, None)
        return logging.LogRecord(LOGGERS[0], logging.ERROR, "", 0, text, ("x",), given)

    full = redis.ResponseError("OOM command not allowed when used memory > 'maxmemory'.")
    first, second = report("Error in timer: %r", full), report("Error in timer: %r", full)
    assert shown.filter(first)
    assert first.getMessage() == f"The broker failed: {full}"
    assert first.exc_info is None
    assert not shown.filter(second)
    bug = report("Error in timer: %r", KeyError("x"))
    assert shown.filter(bug)
    assert bug.exc_info is not None, "a bug keeps its traceback"


def test_a_broker_that_dies_and_comes_back(server: Server, tmp_path: Path, web: Web) -> None:
    with (
        Server(tmp_path / "broker") as broker,
        Fleet(tmp_path, server.url(0), [broker.url(0)], "3s") as fleet,
    ):
        fleet.worker(processes=2)
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.1")
        until("pages", lambda: fleet.status(name)["pages"] > 5)
        broker.kill()
        until("the broker is named", lambda: "the broker takes no messages" in fleet.run("status", name))
        assert "gossamer_broker_up 0" in fleet.run("metrics", "--once")
        pages = fleet.status(name)["pages"]
        broker.start()
        began = time.monotonic()
        until("pages again", lambda: fleet.status(name)["pages"] > pages)
        assert time.monotonic() - began < 6, "about 3 s, and more on a busy machine"
        until("the broker is up", lambda: "gossamer_broker_up 1" in fleet.run("metrics", "--once"))
        whole(fleet, name)
        assert "Traceback" not in fleet.workers[0].said()


def test_the_second_broker_serves_when_the_first_is_dead(server: Server, tmp_path: Path, web: Web) -> None:
    dead = f"valkey://127.0.0.1:{free_port()}/0"
    with Fleet(tmp_path, server.url(0), [dead, server.url(1)], "3s") as fleet:
        fleet.worker()
        whole(fleet, fleet.submit(*web.plan.seeds(), output="out/", delay="0.02"))


def test_a_user_with_the_documented_rights_is_enough_and_one_without_is_told_at_once(
    fleet: Fleet, server: Server, web: Web
) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()
    rights = documented.partition("ACL SETUSER broker on >PASSWORD ")[2].partition("\n")[0].split()
    with redis.Redis(port=server.port) as client:
        client.execute_command("ACL", "SETUSER", "broker", "on", ">pa55w0rd", *rights)
        client.execute_command(
            *["ACL", "SETUSER", "store", "on", ">pa55w0rd", "~{b:*", "~gossamer*", "+@all"]
        )
    who, where = "valkey://{}:pa55w0rd@", f"127.0.0.1:{server.port}/1"
    fleet.brokers = [who.format("store") + where]
    said = fleet.run("worker", code=8)
    assert "see docs/fleet.md for the rights it needs" in said
    assert "pa55w0rd" not in said
    assert "docs/fleet.md" in fleet.run("clean", "--what", "queues", code=8)
    fleet.brokers = [who.format("broker") + where]
    fleet.worker()
    whole(fleet, fleet.submit(*web.plan.seeds(), output="out/", delay="0.02"))
    assert "Traceback" not in fleet.workers[0].said()


def test_doctor_tells_of_a_broker_that_forgets_messages(fleet: Fleet, tmp_path: Path) -> None:
    with Server(tmp_path / "broker") as broker, redis.Redis(port=broker.port) as client:
        fleet.brokers = [broker.url(0)]
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert not [one for one in fleet.json("doctor") if one["what"] == "broker memory"], "it has no bound"
        client.config_set("maxmemory", "1gb")
        found = [one for one in fleet.json("doctor") if one["what"] == "broker memory"]
    assert [(one["level"], "allkeys-lru" in one["found"]) for one in found] == [("warn", True)]


def test_doctor_tells_of_each_broker(fleet: Fleet, server: Server) -> None:
    dead = f"valkey://joe:geheim@127.0.0.1:{free_port()}/0"
    fleet.brokers = [dead, server.url(1)]
    found = [(one["what"], one["level"]) for one in fleet.json("doctor")]
    assert [row for row in found if row[0] == "broker"] == [("broker", "warn"), ("broker", "ok")]
    fleet.brokers = [dead]
    done = fork_server.run(
        [sys.executable, "-m", "gossamer", "doctor"],
        env=fleet.env(),
        cwd=fleet.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 8
    assert "bad   broker        valkey://***:***@127.0.0.1" in done.stdout
