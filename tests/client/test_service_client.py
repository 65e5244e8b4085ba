"""`gossamer.Client` against a real `gossamer serve`: the same crawl as by the command line, iterators, errors, and
repeated requests."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

import gossamer
from cli.command_line import PAGES
from cli.command_line import gossamer as run
from gossamer import errors
from operations.conftest import server, web
from operations.service_process import Serving

__all__ = ["server", "web"]


@pytest.fixture
def client(server: Serving) -> gossamer.Client:
    return gossamer.Client(server.url)


def plain(rows: Any) -> list[dict[str, Any]]:
    """Returns rows without what differs between two runs."""
    volatile = ("fetched_at", "elapsed", "referrer", "_seen_at", "depth")
    found = [{name: value for name, value in row.items() if name not in volatile} for row in rows]
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))


def test_the_same_crawl_by_command_line_and_client_has_the_same_rows(
    server: Serving, client: gossamer.Client, web: str
) -> None:
    words = ["--delay", "0.01", "--allow-private", "127.0.0.0/8", "--quiet"]
    code, _, err = run(server.folder, "crawl", "sites/shop.py", "--name", "by-hand", "-o", "h.jsonl", *words)
    assert code == 0, err
    by_hand = [json.loads(line) for line in (server.folder / "h.jsonl").read_text().splitlines()]
    done = client.wait(client.start(sites=["shop"], name="by-client", delay=0.01).crawl, timeout=120)
    assert (done.state, done.items) == ("finished", PAGES)
    assert plain(client.items("by-client")) == plain(by_hand)
    answer = server.ask("GET", "/v1/crawls/by-client/items?limit=1000").json["items"]
    assert plain(answer) == plain(by_hand)


def test_every_method_that_reads(client: gossamer.Client, web: str) -> None:
    host = web.removeprefix("http://")
    assert client.version().scope == "admin"
    assert "books" in [one.crawl for one in client.crawls()]
    assert client.status("books").pages == PAGES + 1
    assert [one.host for one in client.hosts("books")] == [host]
    assert len(list(client.pages("books", where=["depth=1"]))) == PAGES
    assert all(row["status"] == 200 for row in client.attempts("books", status="2xx"))
    assert list(client.dead_letters("books")) == []
    assert client.host(host).host == host
    assert client.workers() == []
    page = client.scrape(f"{web}/3", markdown=True, links=True)
    assert page.page is not None
    assert (page.page["title"], len(page.links or [])) == ("t/3", PAGES + 3)


def test_every_method_that_changes(client: gossamer.Client, web: str) -> None:
    host = web.removeprefix("http://")
    crawl = client.start(f"{web}/", name="steered", delay=30).crawl
    assert client.pause(crawl).state == "paused"
    assert client.add(crawl, *(f"{web}/none-{n}" for n in range(100)), priority=5).added == 100
    assert 0 < client.priority(crawl, 7, match="none").urls <= 100  # some may be claimed already
    assert client.weight(crawl, weight=3).weight == 3
    assert client.resume(crawl).state == "running"
    assert client.finish(crawl).state == "running"
    assert client.stop(crawl).state == "stopped"
    assert client.cancel(crawl).state == "cancelled"
    assert client.requeue(crawl, dry_run=True).letters == client.drop(crawl).letters == 0
    assert client.pause_host(host, seconds=60).paused is True
    assert client.resume_host(host).paused is False
    assert client.pace_host(host, delay=0.25).delay == 0.25
    assert client.pace_host(host).delay is None


def test_errors_are_those_of_the_tree(client: gossamer.Client, server: Serving) -> None:
    with pytest.raises(errors.UnknownCrawl, match="did you mean books") as unknown:
        client.status("boooks")
    assert unknown.value.problem is not None
    assert unknown.value.problem["status"] == 404
    with pytest.raises(errors.InvalidField, match=r"10\.0\.0\.1") as private:
        client.start("https://a.example/", "http://10.0.0.1/")
    assert private.value.pointer == "/targets/1"
    with pytest.raises(errors.UsageError, match="no worker is named"):
        client.drain_worker("w1")
    with pytest.raises(errors.ServiceAway, match="does not answer"):
        gossamer.Client("http://127.0.0.1:9", timeout=0.5).version()
    for address in ("valkey://store", "127.0.0.1:8321", "unix:///x"):
        with pytest.raises(errors.UsageError, match="with the address of a store, call"):
            gossamer.Client(address)


def test_a_wait_that_is_too_short_says_so(client: gossamer.Client, web: str) -> None:
    crawl = client.start(f"{web}/", name="long", delay=30).crawl
    with pytest.raises(errors.ServiceAway, match=r"still running after 0\.2 s"):
        client.wait(crawl, timeout=0.2)
    client.cancel(crawl)
    assert client.wait(crawl).state == "cancelled"


async def test_the_async_client(server: Serving, web: str) -> None:
    client = gossamer.AsyncClient(server.url)
    crawl = (await client.start(f"{web}/", name="async", delay=0.01)).crawl
    assert (await client.wait(crawl, 120)).state == "finished"
    assert len([row async for row in client.pages(crawl)]) == PAGES + 1
    assert "async" in [one.crawl async for one in client.crawls()]
    async for _, event in client.events(crawl, "0-0"):
        assert event.crawl == crawl
        if event.type == "crawl.ended":
            break


class Unsteady(http.server.BaseHTTPRequestHandler):
    """Answers the first requests with trouble, and remembers the idempotency keys."""

    keys: ClassVar[list[str | None]] = []
    troubles: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.keys.append(self.headers["Idempotency-Key"])
        trouble = self.troubles.pop(0) if self.troubles else ""
        if trouble == "cut":
            self.close_connection = True
            return
        body = {"type": "/problems/store-away", "detail": "away"} if trouble else {
            "crawl": "x", "state": "paused", "said": ""
        }  # fmt: skip
        raw = json.dumps(body).encode()
        self.send_response(503 if trouble else 200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b'c\r\n{"a":1}\n{"a"\r\n')
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@contextmanager
def unsteady(*troubles: str) -> Iterator[str]:
    Unsteady.keys, Unsteady.troubles = [], list(troubles)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unsteady) as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{one.server_port}"
        finally:
            one.shutdown()
            thread.join()


def test_a_change_is_repeated_with_the_same_key() -> None:
    with unsteady("cut", "503", "cut") as url:
        assert gossamer.Client(url).pause("x").state == "paused"
    assert len(Unsteady.keys) == 4
    assert len(set(Unsteady.keys)) == 1
    assert Unsteady.keys[0]


def test_a_stream_that_breaks_off_is_no_end() -> None:
    with unsteady() as url, pytest.raises(errors.ServiceAway, match="broke off"):
        list(gossamer.Client(url).pages("x"))
