"""How soon a host gets its next request after an answer, counted at the server.

    python benchmarks/turnaround.py [--pages 1500] [--rounds 3] [--only rates|gaps|fleet]

One host on the loopback interface, whose start page links to all other pages (2 KB, 10 known links each).

- `rates`: pages a second from the first to the last page, with `--delay 0` and 1 or 4 requests at once, with
  immediate answers and with answers after 20 ms. Floors: a bare loop (the same client and parser with the
  list of URLs, no frontier) and, if installed, Scrapy. `ideal` is requests at once / answer time.
- `gaps`: the shortest and the median gap between two starts, with a fixed delay and with the adaptive one.
- `fleet`: the same gaps with two worker processes on a shared store.

The server runs in a process of its own and records the start and the end of each request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from measured import Cost, measure

TEXT = "<p>" + "The quick brown fox jumps over the lazy dog. " * 36 + "</p>"


class Hit(NamedTuple):
    """A request: its path, and its start and end in monotonic seconds."""

    path: str
    start: float
    end: float


class Answers(asyncio.Protocol):
    """Answers the requests of one connection. `pages`: number of pages; `wait`: seconds before an answer."""

    def __init__(self, pages: int, wait: float, hits: list[Hit]) -> None:
        self.pages, self.wait, self.hits = pages, wait, hits
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keeps the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answers a request after the wait. Requests are small, so each arrives in one piece."""
        path, start = data.split(b" ", 2)[1].decode(), time.monotonic()
        if path.startswith("/p/") and self.wait:
            asyncio.get_running_loop().call_later(self.wait, self.answer, path, start)
        else:
            self.answer(path, start)

    def answer(self, path: str, start: float) -> None:
        """Sends a page."""
        status, body = "200 OK", ""
        if path == "/":
            body = "".join(f"<a href=/p/{n}>{n}</a>" for n in range(self.pages))
        elif path.startswith("/p/"):
            number = int(path[3:])
            links = "".join(f"<a href=/p/{(number + 7 * n) % self.pages}>{n}</a>" for n in range(10))
            body = f"<html><title>{number}</title><body>{links}{TEXT}"
        else:
            status = "404 Not Found"
        head = f"HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write((head + body).encode())
        self.hits.append(Hit(path, start, time.monotonic()))


def server(pages: int, wait: float, pipe: Connection) -> None:
    """Serves until the pipe gets a message, then sends the requests."""

    async def run() -> None:
        hits: list[Hit] = []
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Answers(pages, wait, hits), "127.0.0.1", 0)
        pipe.send(listening.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        pipe.send([tuple(hit) for hit in hits])

    asyncio.run(run())


class Web:
    """A running server."""

    def __init__(self, port: int, pipe: Connection) -> None:
        self.port, self._pipe, self.hits = port, pipe, list[Hit]()

    def stop(self) -> list[Hit]:
        """Ends the server. Returns the requests for pages, in the order of their starts."""
        self._pipe.send("stop")
        self.hits = sorted((Hit(*one) for one in self._pipe.recv()), key=lambda hit: hit.start)
        return [hit for hit in self.hits if hit.path.startswith("/p/")]


@contextmanager
def serving(pages: int, wait: float) -> Iterator[Web]:
    """Runs a server."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=server, args=(pages, wait, theirs))
    process.start()
    try:
        yield Web(ours.recv(), ours)
    finally:
        process.kill()
        process.join()


def rate(hits: list[Hit]) -> float:
    """Pages a second between the first and the last."""
    return (len(hits) - 1) / (hits[-1].start - hits[0].start)


def gossamer(folder: Path, web: Web, *options: str) -> Cost:
    """Crawls the web with the package of this tree."""
    command = [sys.executable, "-m", "gossamer", "crawl", f"http://127.0.0.1:{web.port}/"]
    command += ["--quiet", "--allow-private", "127.0.0.0/8", "--data", str(folder / "data")]
    return measure([*command, "-o", str(folder / "out.jsonl"), *options], folder / "cost.json")


def scrapy(folder: Path, web: Web, pages: int, at_once: int) -> Cost:
    """Crawls the web with Scrapy, without a delay."""
    peer = [sys.executable, str(Path(__file__).parent / "peers" / "scrapy_peer.py")]
    where = [f"http://127.0.0.1:{web.port}/", "--pages", str(pages + 1), "--concurrency", str(at_once)]
    return measure([*peer, *where, "--output", str(folder / "out.jsonl")], folder / "cost.json")


def bare(pages: int, wait: float, at_once: int) -> float:
    """Pages a second of the bare loop."""
    with serving(pages, wait) as web, tempfile.TemporaryDirectory() as name:
        listed = Path(name) / "urls.txt"
        listed.write_text("".join(f"http://127.0.0.1:{web.port}/p/{n}\n" for n in range(pages)))
        peer = [sys.executable, str(Path(__file__).parent / "peers" / "bare_loop.py"), str(listed)]
        peer += ["--concurrency", str(at_once), "--output", str(Path(name) / "out.jsonl")]
        subprocess.run(peer, check=True, capture_output=True)
        return rate(web.stop())
