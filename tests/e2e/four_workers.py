"""Four workers on one store, and a web that treats them differently: one worker is healthy, one is slow,
one is banned, and one has no network."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pycurl

from e2e.runs import job
from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.open_store import open_url
from gossamer.app.seeding import prepare, seed
from gossamer.frontier.crawls import Crawls
from gossamer.model.request import Request
from support import fork_server

SLOW = 0.4
"""Seconds by which each response to the slow worker is delayed."""
SOURCES = {"good": "127.0.0.10", "slow": "127.0.0.11", "banned": "127.0.0.12", "dead": "127.0.0.13"}
SERVER = """
import asyncio, random, sys, time
port, hard, banned = int(sys.argv[1]), set(sys.argv[2].split(",")), sys.argv[3]
rng, pages, tops = random.Random(5), 400, ("/", "/a", "/b")  # a banned worker takes no more than some of a host's tops

async def answer(reader, writer):
    host, peer = writer.get_extra_info("sockname")[0], writer.get_extra_info("peername")[0]
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            path = head.split()[1].decode()
            refused = peer == banned or host in hard and rng.random() < 0.6
            if path == "/robots.txt":
                status, body = ("403 No" if peer == banned else "404 No"), b""
            elif peer == banned or refused and path not in tops:
                status, body = "403 No", b"no"
            else:
                status, body = "200 OK", b"<title>t</title>"
                if path in tops:
                    body += b"".join(b'<a href="/%d">x</a>' % n for n in range(pages))
            await asyncio.sleep(0.01)
            writer.write(("HTTP/1.1 %s\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n" % (status, len(body))).encode() + body)
            print(time.time(), peer, host, path, status[:3], flush=True)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    for host in sys.argv[4:]:
        await asyncio.start_server(answer, host, port)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class Seen(NamedTuple):
    """A request in the log of the server. `at` is in seconds since the epoch."""

    at: float
    worker: str
    host: str
    path: str
    status: int


class Web(NamedTuple):
    """A web of easy hosts and hard hosts. Hard hosts refuse three of five requests."""

    port: int
    easy: list[str]
    hard: list[str]
    log: Path

    def seen(self) -> list[Seen]:
        """Return the page requests so far."""
        names = {address: name for name, address in SOURCES.items()}
        found = []
        for row in self.log.read_text().splitlines()[1:]:
            with contextlib.suppress(ValueError):  # a truncated last line
                at, peer, host, path, status = row.split()
                if path != "/robots.txt":
                    found.append(Seen(float(at), names.get(peer, peer), host, path, int(status)))
        return found


@contextlib.contextmanager
def serving(folder: Path, port: int, easy: int = 12, hard: int = 4) -> Iterator[Web]:
    """Run the web in a process of its own."""
    hosts = [f"127.0.3.{n + 1}" for n in range(easy + hard)]
    web = Web(port, hosts[:easy], hosts[easy:], folder / "web.log")
    with web.log.open("w") as out:
        words = [sys.executable, "-c", SERVER, str(port), ",".join(web.hard), SOURCES["banned"], *hosts]
        process = fork_server.Popen(words, stdout=out)
    try:
        while "ready" not in web.log.read_text():
            assert process.poll() is None, "the web did not start"
            time.sleep(0.05)
        yield web
    finally:
        process.kill()
        process.wait()


class Crew(NamedTuple):
    """The workers by name, and the lines that they logged."""

    benches: dict[str, CrawlWorker]
    said: list[tuple[str, str]]


@asynccontextmanager
async def working(
    web: Web,
    folder: Path,
    store: str,
    *,
    names: Sequence[str] = tuple(SOURCES),
    delay: float = 0.5,
    scored: bool = True,
    turn: float = 2.0,
    probe: float = 30.0,
) -> AsyncIterator[Crew]:
    """Run the crawl on these workers until the block ends."""
    seeds = [f"http://{host}:{web.port}/{top}" for top in ("", "a", "b") for host in (*web.easy, *web.hard)]
    one = job(
        seeds, folder, processes=4, delay=(delay, delay), concurrency=32, allow_port=(web.port,), store=store
    )
    setup, given = prepare(one)
    opened = [await open_url(store, embedded=False) for _ in names]
    record = await Crawls(opened[0]).begin(setup.crawl, setup.spec, [])
    stop, crew = asyncio.Event(), Crew({}, [])
    for name, mine in zip(names, opened, strict=True):
        crew.benches[name] = _worker(
            CrawlWorker(setup, mine, name, stop), name, crew.said, scored, turn, probe
        )
    await seed(setup, opened[0], given, record)
    works = [asyncio.create_task(crawl_worker.run()) for crawl_worker in crew.benches.values()]
    try:
        yield crew
    finally:
        stop.set()
        await asyncio.gather(*works)
        for crawl_worker, mine in zip(crew.benches.values(), opened, strict=True):
            await crawl_worker.close()
            await mine.close()


def _worker(
    crawl_worker: CrawlWorker, name: str, said: list[tuple[str, str]], scored: bool, turn: float, probe: float
) -> CrawlWorker:
    crawl_worker.score_keeper._turn, crawl_worker.score_keeper._probe = turn, probe
    crawl_worker.score_keeper._tell = lambda line: said.append((name, line))
    any_request = Request("http://a.example/")
    for collector in (
        crawl_worker.network.collectors.pages(any_request).collector,
        crawl_worker.network.collectors.robots(any_request).collector,
    ):
        options: Any = getattr(collector, "_options")  # noqa: B009 - of this kind of collector
        options.append((pycurl.INTERFACE, SOURCES[name]))
        if name == "slow":
            slowed(collector)
    if name == "dead":
        unplug(crawl_worker)
    if not scored:
        crawl_worker.score_keeper.saw = lambda visit: None  # type: ignore[method-assign] # as if there were no scores
        crawl_worker.score_keeper._patience = lambda wait: None
    return crawl_worker


def slowed(collector: Any) -> None:
    """Delay each response of a collector."""
    collect = collector.collect

    async def later(request: Any, headers: Any, guise: Any = None) -> Any:
        found = await collect(request, headers, guise)
        await asyncio.sleep(SLOW)
        if hasattr(found, "body"):
            found.elapsed += SLOW
        return found

    collector.collect = later


def unplug(crawl_worker: CrawlWorker) -> None:
    """Let each DNS lookup of a worker fail."""

    async def nobody(host: str, port: int) -> list[str]:
        raise OSError("the network is unreachable")

    crawl_worker.network.resolver._lookup = nobody


def plug(crawl_worker: CrawlWorker) -> None:
    """Let DNS lookups of a worker succeed again."""
    crawl_worker.network.resolver._lookup = crawl_worker.network.resolver._getaddrinfo
    crawl_worker.network.resolver._known.clear()
