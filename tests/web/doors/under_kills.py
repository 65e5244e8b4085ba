"""Three crawls by the three clients on a fleet, while the server and the worker are killed. A test and a benchmark run
it."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from firecrawl import Firecrawl
from scrapyd_api import ScrapydAPI

from operations.service_process import Serving
from support.answers import answering
from support.fleet_workers import Fleet, Server, Worker
from support.processes import free_port
from web.doors.mcp import Mcp

MAX_POLL_BYTES = 4096
TIMEOUT_S = 1800.0
SITE = """
import gossamer

site = gossamer.Site("shop", seeds=["WEB/0"])


class Leaf(gossamer.Item, key="url"):
    url: str


@site.page(r".*")
def read(page):
    yield Leaf(url=page.url)
    yield from page.follow("a")
"""


def tree_of(pages: int) -> type[BaseHTTPRequestHandler]:
    """Returns a site whose page N links to the pages 2N+1 and 2N+2."""

    class Tree(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # a killed worker
                super().handle()

        def do_GET(self) -> None:
            number = self.path.removeprefix("/")
            is_page = number.isdecimal() and int(number) < pages
            body = b""
            if is_page:
                links = [n for n in (2 * int(number) + 1, 2 * int(number) + 2) if n < pages]
                body = f"<title>{number}</title><p>Page {number}, which has some words to read.</p>".encode()
                body += "".join(f'<a href="/{n}">{n}</a>' for n in links).encode()
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Disable the request log."""

    return Tree


class Report(NamedTuple):
    """What happened. `wrong`: what must not happen."""

    wrong: list[str]
    kills: dict[str, int]
    polls: int
    largest_poll: int
    seconds: float


class Doors:
    """A fleet of one worker, and one server at a fixed address."""

    def __init__(self, folder: Path, store: Server, web: str) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "sites").mkdir()
        (folder / "sites" / "shop.py").write_text(SITE.replace("WEB", web))
        self.fleet = Fleet(folder, store.url(0), [store.url(1)])
        self.worker: Worker = self.fleet.worker("w0")
        self.server = self._serve()
        self.kills: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _serve(self) -> Serving:
        out = f"{self.folder / 'out'}/{{crawl}}/:jsonl"
        given = ["allow_private=127.0.0.0/8", "delay=0", "per_host=8", f"store={self.fleet.store}"]
        words = [word for one in [*given, f"broker={self.fleet.brokers[0]}"] for word in ("-s", one)]
        return Serving(self.folder, *words, "-o", out, "--sites", "sites", port=self.port)

    def kill_server(self) -> None:
        self.server.kill()
        self.server.close()
        self.server = self._serve()
        self.kills["server"] += 1

    def kill_worker(self) -> None:
        self.worker.kill()
        self.kills["worker"] += 1
        self.worker = self.fleet.worker(f"w{self.kills['worker']}")

    def close(self) -> None:
        self.server.close()
        self.fleet.__exit__()


class Polls:
    """Asks what the clients ask, beside them, because they do not show how large an answer is."""

    def __init__(self, port: int) -> None:
        self.port, self.number, self.largest = port, 0, 0

    def ask(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            body = connection.getresponse().read()
        finally:
            connection.close()
        found = json.loads(body)
        if found.get("status") == "scraping" or found.get("running"):
            self.number += 1
            self.largest = max(self.largest, len(body))
        return found


def patiently(call: Callable[[], Any]) -> Any:
    """Repeats a call of a client until the server is there, as a program that uses the client does."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return call()
        except Exception:  # the clients raise errors of several libraries
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def crawl_under_kills(folder: Path, pages: int, kills: int, seed: int) -> Report:
    """Crawls a site of `pages` pages by each client, with `kills` kills. Raises AssertionError if it takes too long."""
    rng, began = random.Random(seed), time.monotonic()
    with answering(tree_of(pages)) as port, Server(folder / "store") as store:
        web = f"http://127.0.0.1:{port}"
        doors = Doors(folder, store, web)
        try:
            polls, found, wrong = Polls(doors.port), dict[str, list[str]](), list[str]()
            clients = [
                threading.Thread(target=one, args=(doors, web, polls, found), daemon=True)
                for one in (by_firecrawl, by_mcp, by_scrapyd)
            ]
            for client in clients:
                client.start()
            strike(doors, pages, kills, rng, polls)
            for client in clients:
                client.join(TIMEOUT_S)
        finally:
            doors.close()
    expected = {f"{web}/{n}" for n in range(pages)}
    for name in ("firecrawl-py", "firecrawl-mcp", "python-scrapyd-api"):
        urls = found.get(name)
        if urls is None:
            wrong.append(f"{name} has no result")
            continue
        missing, twice = expected - set(urls), len(urls) - len(set(urls))
        if missing or twice or set(urls) - expected:
            wrong.append(
                f"{name}: {len(missing)} pages missing, {twice} twice, {len(set(urls) - expected)} strange"
            )
    if polls.largest > MAX_POLL_BYTES:
        wrong.append(f"a poll had {polls.largest} bytes")
    return Report(wrong, dict(doors.kills), polls.number, polls.largest, time.monotonic() - began)


def strike(doors: Doors, pages: int, kills: int, rng: random.Random, polls: Polls) -> None:
    """Kills the server and the worker in turn, spread over the progress of the crawls."""
    for number in range(kills):
        until = (number + 1) * 3 * pages // (kills + 2)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            crawls = patiently(lambda: polls.ask("/v1/crawls"))["items"]
            if sum(one["pages"] for one in crawls) >= until:
                break
            time.sleep(0.2)
        time.sleep(rng.uniform(0, 0.5))
        doors.kill_worker() if number % 2 else doors.kill_server()


def by_firecrawl(doors: Doors, web: str, polls: Polls, found: dict[str, list[str]]) -> None:
    client = Firecrawl(api_url=doors.url)
    crawl = patiently(lambda: client.start_crawl(f"{web}/0", crawl_entire_domain=True, sitemap="skip")).id
    while True:
        patiently(lambda: polls.ask(f"/v2/crawl/{crawl}"))
        status = patiently(lambda: client.get_crawl_status(crawl))
        if status.status != "scraping" and len(status.data) >= status.completed:
            break  # the client keeps the pages so far if the server is killed while it reads them
        time.sleep(0.5)
    found["firecrawl-py"] = [one.metadata.source_url for one in status.data]


def by_mcp(doors: Doors, web: str, polls: Polls, found: dict[str, list[str]]) -> None:
    with Mcp(doors.url) as client:
        given = {"url": f"{web}/0", "crawlEntireDomain": True, "sitemap": "skip", "limit": 100_000}
        while True:
            good, text = client.tool("crawl", **given)
            if good and (value := json.loads(text)).get("status") == "completed":
                if len(value["data"]) >= value["completed"]:
                    break
                given = {"id": value["id"]}
                while True:
                    good, text = client.tool("check_crawl_status", **given)
                    if good and len((value := json.loads(text))["data"]) >= value["completed"]:
                        break
                    time.sleep(0.5)
                break
            time.sleep(0.5)
    found["firecrawl-mcp"] = [one["metadata"]["sourceURL"] for one in value["data"]]


def by_scrapyd(doors: Doors, web: str, polls: Polls, found: dict[str, list[str]]) -> None:
    client = ScrapydAPI(doors.url)

    def schedule() -> str:
        if client.job_status("sites", "job"):
            return "job"  # the server was killed before it answered
        return str(client.schedule("sites", "shop", jobid="job"))

    job = patiently(schedule)
    while patiently(lambda: client.job_status("sites", job)) != "finished":
        patiently(lambda: polls.ask("/listjobs.json?project=sites"))
        time.sleep(0.5)
    lines = patiently(lambda: read_items(doors.port, job))
    found["python-scrapyd-api"] = [json.loads(line)["url"] for line in lines]


def read_items(port: int, job: str) -> list[bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", f"/items/sites/shop/{job}.jl")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise OSError(body)
        return body.splitlines()
    finally:
        connection.close()
