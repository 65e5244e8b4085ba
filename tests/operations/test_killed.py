"""A killed or restarted `gossamer serve` loses no crawl, does nothing twice, and leaves no gap in the events."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from cli.conftest import stop_store
from gossamer.client.service_client import Client
from gossamer.operations.results import CrawlEvent
from gossamer.store.embedded import Embedded
from operations.killed_rounds import kill_rounds
from operations.service_process import Serving, serving
from support.repetitions import ALL


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_store(tmp_path)


def ended(client: Client, crawl: str) -> Any:
    return client.wait(crawl, timeout=120)


def test_two_servers_on_one_store_act_as_one_and_a_kill_ends_no_crawl(folder: Path, web: str) -> None:
    with serving(folder) as one, serving(folder) as two:
        first, second = Client(one.url), Client(two.url)
        first.start(f"{web}/", name="books", delay=0.3)
        assert second.status("books").state == "running"
        second.pause("books")
        assert first.status("books").state == "paused"
        one.kill()
        assert second.status("books").state == "paused"
        second.resume("books")
        two.kill()
        with serving(folder) as three:
            found = ended(Client(three.url), "books")
            assert (found.state, found.pages, found.adds_up()) == ("finished", 13, True)
            assert len(list(Client(three.url).pages("books"))) == 13


@pytest.mark.parametrize("moment", [n / 10 for n in range(20)] if ALL else [0.5])
def test_a_kill_while_a_crawl_is_started_starts_it_once(folder: Path, web: str, moment: float) -> None:
    """The repeated request finds the crawl, at whatever moment the server died."""
    given = {"targets": [f"{web}/"], "delay": 0.05}
    with serving(folder) as one:
        asking = threading.Thread(target=broken_off, args=(one, given))
        asking.start()
        time.sleep(moment)  # the moments are spread over the start of a process
        one.kill()
        asking.join()
    with serving(folder) as two:
        answer = repeated(two, given)
        assert answer.status == 202, answer.body
        found = ended(Client(two.url), answer.json["crawl"])
        assert (found.state, found.pages, found.adds_up()) == ("finished", 13, True)
        assert [one.crawl for one in Client(two.url).crawls()] == [answer.json["crawl"]]
        rows = [row["url"] for row in Client(two.url).pages(found.crawl)]
        assert len(rows) == len(set(rows)) == 13


@pytest.mark.parametrize("moment", [n / 40 for n in range(20)] if ALL else [0.05, 0.3])
def test_a_kill_while_a_run_is_started_starts_it_once(folder: Path, web: str, moment: float) -> None:
    """The run is alive or not started at all, and the repeated request finds or starts it."""
    given, path = {"urls": [f"{web}/1"], "delay": 0.1}, "/v1/prices/runs"
    with serving(folder) as one:
        asking = threading.Thread(target=broken_off, args=(one, given, path))
        asking.start()
        time.sleep(moment)
        one.kill()
        asking.join()
    with serving(folder) as two:
        answer = repeated(two, given, path)
        assert answer.status == 202, answer.body
        client = Client(two.url)
        done = client.wait_run(answer.json["run"], timeout=120)
        assert (done.state, done.exit_code) == ("finished", 0), done
        assert [found.run for found in client.runs()] == [done.run]
        assert done.summary is not None
        assert done.summary["run"] == 1  # the first run of the history, and no second one
        assert [row["runs"] for row in client.price_failing()] == [1]


def broken_off(server: Serving, given: dict[str, Any], path: str = "/v1/crawls") -> None:
    try:
        server.ask("POST", path, given, Idempotency_Key="once")
    except (OSError, http.client.HTTPException):
        return


def repeated(server: Serving, given: dict[str, Any], path: str = "/v1/crawls") -> Any:
    """Repeats the request until the key of the killed server is free."""
    while True:
        answer = server.ask("POST", path, given, Idempotency_Key="once")
        if answer.status != 409 or answer.json["type"] != "/problems/same-request-running":
            return answer
        time.sleep(0.5)


def test_events_continue_after_a_kill_without_a_gap(folder: Path, web: str) -> None:
    seen: list[tuple[str, CrawlEvent]] = []
    with serving(folder) as one:
        client = Client(one.url)
        client.start(f"{web}/", name="first", delay=0.2)
        for number, event in client.events():
            seen.append((number, event))
            if event.pages >= 3:
                break
        one.kill()
    with serving(folder) as two:
        client = Client(two.url)
        client.start(f"{web}/1", name="second", scope="page")
        late = []
        for number, event in client.events(after=seen[-1][0]):
            seen.append((number, event))
            late.append(event)
            if {"first", "second"} <= {one.crawl for one in late if one.type == "crawl.ended"}:
                break
        again = []
        for number, event in client.events(after=seen[0][0]):
            again.append((number, event))
            if number == seen[-1][0]:
                break
    assert again == seen[1:]
    mine = [event for _, event in seen if event.crawl == "first"]
    assert [one.type for one in mine if one.type != "crawl.updated"] == ["crawl.started", "crawl.ended"]
    assert all(one.before == other.state for other, one in itertools.pairwise(mine))
    assert mine[-1].pages == 13


def test_viewers_share_one_read_of_the_store(folder: Path, web: str) -> None:
    """Twenty viewers cost the store as many commands as one."""
    with serving(folder) as server:
        server.crawl(f"{web}/1", "one", scope="page")
        first, many = commands_while_watched(folder, server, 1), commands_while_watched(folder, server, 20)
    assert many <= first * 2 + 20


def commands_while_watched(folder: Path, server: Serving, viewers: int) -> int:
    """Returns the number of commands that the store runs in some seconds of events."""
    store = Embedded(folder / ".gossamer")
    with contextlib.ExitStack() as stack, redis.Redis.from_url(store.start()) as client:
        for _ in range(viewers):
            wire = stack.enter_context(socket.create_connection((server.host, server.port)))
            wire.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert wire.recv(1000).startswith(b"HTTP/1.1 200")
        before = client.info("stats")["total_commands_processed"]
        time.sleep(3)
        after = client.info("stats")["total_commands_processed"]
    store.leave()
    return int(after - before)


@pytest.mark.parametrize("moments", [[n / 10 for n in range(20)] if ALL else [0.05, 0.4]], ids=["moments"])
def test_a_kill_during_create_bulk_and_stream_does_nothing_twice(
    folder: Path, web: str, moments: list[float]
) -> None:
    """`benchmarks/api_kills.py` kills at 200 moments."""
    assert kill_rounds(folder, web, moments) > len(moments)
