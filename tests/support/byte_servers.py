"""Servers on loopback that send exactly the given bytes and record the requests that they get."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from gossamer.collectors.http.collector import HttpCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request

LOOPBACK = ("127.0.0.0/8", "::1")


@dataclass
class Asked:
    """One received request. `number` is its position on its connection, from 1."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int
    number: int


Reply = Callable[[Asked, asyncio.StreamWriter], Awaitable[bool | None]]
"""Writes the answer to a request. Returns True to close the connection."""


@dataclass
class Server:
    """A running server with its port, the number of accepted connections, and the requests."""

    host: str
    port: int
    scheme: str = "http"
    accepts: int = 0
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str = "/", host: str | None = None) -> str:
        host = host or self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}{path}"

    @property
    def lines(self) -> list[str]:
        return [one.line for one in self.asked]


@contextlib.asynccontextmanager
async def serving(
    reply: Reply, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Serve for the duration of the block. Connections that still hang are closed at its end."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.accepts += 1
        connection, number = server.accepts, 0
        try:
            while (asked := await read(reader)) is not None:
                number += 1
                asked.connection, asked.number = connection, number
                server.asked.append(asked)
                if await reply(asked, writer):
                    break
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    listener = await asyncio.start_server(talk, host, port, ssl=tls, limit=1 << 20, backlog=512)
    server = Server(host, listener.sockets[0].getsockname()[1], "https" if tls else "http")
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(first, headers, body, 0, 0)


def answer(body: bytes = b"<p>hello", status: int = 200, *headers: str, length: bool = True) -> bytes:
    """Returns a complete HTTP answer."""
    lines = [f"HTTP/1.1 {status} Words", *headers]
    if not any(one.lower().startswith("content-type") for one in headers):
        lines.append("Content-Type: text/html")
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def saying(data: bytes, end: bool = False) -> Reply:
    """Returns a reply that sends the same bytes to every request."""

    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return end

    return reply


@contextlib.asynccontextmanager
async def collecting(resolver: Resolver | None = None, **options: object) -> AsyncIterator[HttpCollector]:
    """A collector that may connect to loopback addresses."""
    own = resolver or Resolver(LOOPBACK)
    collector = HttpCollector(own, user_agent="test/1", **options)  # type: ignore[arg-type] # the test's own options
    try:
        yield collector
    finally:
        await collector.close()
        await own.close()


async def get(data: bytes, *, end: bool = False, path: str = "/", **options: object) -> Page | Failure:
    """Returns the collector's result for an answer."""
    async with serving(saying(data, end)) as server, collecting(**options) as collector:
        return await collector.collect(Request(server.url(path)), {})


def good(result: Page | Failure) -> Page:
    """Returns the page, or fails the test with the message of a failure."""
    assert isinstance(result, Page), result
    return result


def bad(result: Page | Failure) -> Failure:
    """Returns the failure, or fails the test if the result is a page."""
    assert isinstance(result, Failure), result
    return result


def names_of(table: dict[str, list[str]]) -> Resolver:
    """Returns a resolver that knows only these names and allows loopback addresses."""

    async def lookup(host: str, port: int) -> list[str]:
        return table.get(host, [])

    return Resolver(LOOPBACK, lookup=lookup)
