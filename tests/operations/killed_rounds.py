"""Kills `gossamer serve` while it creates a crawl, changes many entries and streams events, and repeats the requests."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from pathlib import Path
from typing import Any

from gossamer.app.open_store import open_existing_store
from gossamer.client.service_client import Client
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import Request, pack
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Settle
from gossamer.store.keys import bucket_of
from operations.service_process import Answer, Serving

LETTERS = 30


def kill_rounds(folder: Path, web: str, moments: list[float]) -> int:
    """Kills a server at each of the moments (in seconds after the requests began), and checks what a repetition does.
    Returns the number of events. Raises AssertionError if anything was done twice, is missing, or if the stream of events
    has a gap."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-s", "allow_private=127.0.0.0/8", "-s", "delay=0.01", "--port", str(port)]
    server = Serving(folder, *words)
    client, seen = Client(server.url), list[str]()
    watching = threading.Thread(target=_watch, args=(client, seen, len(moments)), daemon=True)
    watching.start()
    names: list[str] = []
    for number, moment in enumerate(moments):
        asyncio.run(fill_letters(folder, f"bulk-{number}"))
        requests = [
            ("/v1/crawls", {"targets": [f"{web}/{number % 9}"], "scope": "page"}, f"create-{number}"),
            (f"/v1/crawls/bulk-{number}/dead-letters/drop", {"reason": "timeout"}, f"drop-{number}"),
        ]
        asking = [threading.Thread(target=_broken_off, args=(server, *one)) for one in requests]
        for one in asking:
            one.start()
        time.sleep(moment)  # the moments are spread over the requests
        server.kill()
        for one in asking:
            one.join()
        server.close()
        server = Serving(folder, *words)
        created, dropped = (_repeated(server, *one) for one in requests)
        assert created.status == 202, created.body
        assert dropped.status == 200, dropped.body
        names.append(created.json["crawl"])
        done = client.wait(names[-1], 120)
        assert (done.state, done.pages, done.adds_up()) == ("finished", 1, True), done
        bulk = client.status(f"bulk-{number}")
        assert (bulk.failed, bulk.dead, bulk.adds_up()) == (LETTERS, 0, True), bulk
    started = [one.crawl for one in client.crawls() if not one.crawl.startswith("bulk-")]
    assert sorted(started) == sorted(names)
    assert client.start(f"{web}/1", name="last", scope="page").crawl == "last"
    watching.join(120)
    assert not watching.is_alive()
    all_events = _all_events(client, seen[-1])
    server.close()
    assert seen == all_events[all_events.index(seen[0]) :]
    return len(seen)


def _watch(client: Client, seen: list[str], rounds: int) -> None:
    for number, event in client.events(after="0-0"):
        seen.append(number)
        if (event.crawl, event.type) == ("last", "crawl.ended"):
            return


def _all_events(client: Client, last: str) -> list[str]:
    found = []
    for number, _ in client.events(after="0-0"):
        found.append(number)
        if number == last:
            return found
    return found


def _broken_off(server: Serving, path: str, given: dict[str, Any], key: str) -> None:
    try:
        server.ask("POST", path, given, Idempotency_Key=key)
    except (OSError, http.client.HTTPException):
        return


def _repeated(server: Serving, path: str, given: dict[str, Any], key: str) -> Answer:
    """Repeats the request until the key of the killed server is free."""
    while True:
        answer = server.ask("POST", path, given, Idempotency_Key=key)
        if answer.status != 409 or answer.json["type"] != "/problems/same-request-running":
            return answer
        time.sleep(0.5)


async def fill_letters(folder: Path, crawl: str, hosts: int = 1, letters: int = LETTERS) -> None:
    """Writes an ended crawl with dead letters into the store of a folder, `letters` in all."""
    async with open_existing_store(Settings(data=str(folder / ".gossamer"))) as store:
        await Crawls(store).begin(crawl, Spec(targets=["http://h0.example/"]), [])
        frontier = Frontier(store, crawl, Policy(delay=0, obey_robots=False, per_host=1000))
        for number in range(hosts):
            host = f"h{number}.example"
            bucket = bucket_of(host, store.buckets)
            marks: list[Any] = []
            for n in range(letters // hosts):
                entry = pack(Request(f"http://{host}/{n}"))[1]
                marks += [*frontier.remainder(hash((number, n)) & 0x7FFFFFFFFFFFFFFF), entry]
            await frontier.add({(bucket, host, 0, "http", "o", ""): marks})
            while claims := (await frontier.claim(bucket, 64)).claims:
                ends = [
                    Settle(one.token, ClaimEnd.DEAD, reason="timeout", detail="no answer") for one in claims
                ]
                await frontier.settle(bucket, ends, {}, {})
        await Crawls(store).set(crawl, "stopped")
