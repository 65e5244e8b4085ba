"""A local web server for benchmarks of waiting, which responds after a set time and records each request.

`with serving(Plan(pages=100)) as web:` starts the server in a separate process that listens on all 127.x
addresses. Each address is a host. `/` links to all pages of the host. `/p/N` is a page of 2 KB with ten links
to known pages. A response takes `wait` seconds. If `longest` is set, each host has a fixed response time
between `wait` and `longest`. The times of the `hosts` hosts are spread evenly on a logarithmic scale.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import uvloop

TEXT = "<p>" + "The quick brown fox jumps over the lazy dog. " * 36 + "</p>"


ROBOTS = "User-agent: *\n" + "".join(f"Disallow: /private/{n}/\n" for n in range(20))


class Plan(NamedTuple):
    """The hosts and their pages. All times are in seconds."""

    pages: int
    wait: float = 0.0
    longest: float | None = None
    hosts: int = 1
    robots: bool = False
    """Whether each host has a robots.txt with 20 rules. If false, robots.txt returns status 404."""

    def address(self, host: int) -> str:
        """Returns the address of a host."""
        return f"127.7.{host // 200}.{host % 200 + 1}"

    def waits(self, address: str) -> float:
        """Returns the response time of a host in seconds."""
        if self.longest is None:
            return self.wait
        third, fourth = (int(part) for part in address.split(".")[2:])
        share = (third * 200 + fourth - 1) / max(1, self.hosts - 1)
        return float(self.wait * (self.longest / self.wait) ** share)


class Hit(NamedTuple):
    """A request with its host and path. `start` and `end` are monotonic times in seconds."""

    host: str
    path: str
    start: float
    end: float


class Answers(asyncio.Protocol):
    """Responds to the requests of one connection."""

    def __init__(self, plan: Plan, hits: list[Hit]) -> None:
        self.plan, self.hits = plan, hits
        self.transport: Any = None
        self.host, self.wait = "", 0.0

    def connection_made(self, transport: Any) -> None:
        """Determines the host from the local address of the connection."""
        self.transport, self.host = transport, transport.get_extra_info("sockname")[0]
        self.wait = self.plan.waits(self.host)

    def data_received(self, data: bytes) -> None:
        """Responds to a request after the waiting time. Each request is small and therefore arrives in one
        piece."""
        path, start = data.split(b" ", 2)[1].decode(), time.monotonic()
        if self.wait:
            asyncio.get_running_loop().call_later(self.wait, self.answer, path, start)
        else:
            self.answer(path, start)

    def answer(self, path: str, start: float) -> None:
        """Sends the response for a path."""
        status, body, pages = "200 OK", "", self.plan.pages
        if path == "/":
            body = "".join(f"<a href=/p/{n}>{n}</a>" for n in range(pages))
        elif path.startswith("/p/"):
            number = int(path[3:])
            links = "".join(f"<a href=/p/{(number + 7 * n) % pages}>{n}</a>" for n in range(10))
            body = f"<html><title>{number}</title><body>{links}{TEXT}"
        elif path == "/robots.txt" and self.plan.robots:
            body = ROBOTS
        else:
            status = "404 Not Found"
        head = f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write((head + body).encode())
        self.hits.append(Hit(self.host, path, start, time.monotonic()))


def _server(plan: Plan, pipe: Connection) -> None:
    async def run() -> None:
        hits: list[Hit] = []
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Answers(plan, hits), "0.0.0.0", 0, backlog=4096)
        pipe.send((listening.sockets[0].getsockname()[1], os.getpid()))
        await asyncio.to_thread(pipe.recv)
        pipe.send([tuple(hit) for hit in hits])

    uvloop.run(run())


class Web:
    """A running web server."""

    def __init__(self, plan: Plan, port: int, pipe: Connection) -> None:
        self.plan, self.port, self._pipe, self.hits = plan, port, pipe, list[Hit]()

    def url(self, host: int = 0, path: str = "/") -> str:
        """Returns a URL of a host."""
        return f"http://{self.plan.address(host)}:{self.port}{path}"

    def stop(self) -> list[Hit]:
        """Stops the server. Returns the requests for `/p/N` sorted by start time. `hits` contains all
        requests."""
        self._pipe.send("stop")
        self.hits = sorted((Hit(*one) for one in self._pipe.recv()), key=lambda hit: hit.start)
        return [hit for hit in self.hits if hit.path.startswith("/p/")]


@contextmanager
def serving(plan: Plan) -> Iterator[Web]:
    """Runs a web server in a separate process."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_server, args=(plan, theirs))
    process.start()
    try:
        port, _ = ours.recv()
        yield Web(plan, port, ours)
    finally:
        process.kill()
        process.join()
