"""Small proxies on addresses of their own (HTTP, CONNECT and SOCKS5 on one port), good and bad, and a target
site that records the address of each client."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Light:
    """A proxy that listens on `address` and connects from it. `users` are the users that connected. `manner`
    is one of: good, dead (not listening), hangs, slow, refuses (407), breaks (accepts the connection and
    closes it), lies (answers itself). `asked` counts the connections."""

    address: str
    port: int
    manner: str = "good"
    secret: str = ""
    delay: float = 2.0
    asked: int = 0
    names: list[str] = field(default_factory=list)
    users: set[str] = field(default_factory=set)
    server: asyncio.Server | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> None:
        if self.manner != "dead":
            self.server = await asyncio.start_server(self._talk, self.address, self.port)

    async def stop(self) -> None:
        if self.server is not None:
            self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            await _ended(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        self.asked += 1
        if self.manner == "breaks":
            return
        if self.manner == "hangs":
            await asyncio.sleep(60)
        if self.manner == "slow":
            await asyncio.sleep(self.delay)
        if first == b"\x05":
            await self._socks(reader, writer)
        else:
            await self._http(first + await reader.readuntil(b"\r\n\r\n"), reader, writer)

    async def _http(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"proxy-authorization: basic "):
                self.users.add(base64.b64decode(line[27:]).decode())
        told = base64.b64encode(self.secret.encode())
        if self.manner == "refuses" or (self.secret and told not in head):
            writer.write(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        method, url, _ = head.split(b" ", 2)
        if method == b"CONNECT":
            host, _, port = url.decode().rpartition(":")
            there = await self._dial(host, int(port), writer)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await self._both(reader, writer, *there)
            return
        place, _, path = url.partition(b"://")[2].partition(b"/")
        if self.manner == "lies":
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>Buy me</h1>"[
                    :-2
                ]
            )
            await writer.drain()
            return
        host, _, port = place.decode().partition(":")
        there, back = await self._dial(host, int(port or 80), writer)
        lines = [
            line
            for line in head.split(b"\r\n")[1:-2]
            if not line.lower().startswith((b"proxy-", b"connection"))
        ]
        back.write(
            b"\r\n".join([method + b" /" + path + b" HTTP/1.1", *lines, b"Connection: close", b"", b""])
        )
        length = next(
            (line.partition(b":")[2] for line in lines if line.lower().startswith(b"content-length:")), b"0"
        )
        back.write(await reader.readexactly(int(length)))
        try:
            await _pour(there, writer)
        finally:
            await _ended(back)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        try:
            there = await self._dial(host, port, None)
        except OSError:
            writer.write(b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
            await writer.drain()
            return
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        await self._both(reader, writer, *there)

    async def _dial(
        self, host: str, port: int, writer: asyncio.StreamWriter | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.names.append(host)
        place = host if host.replace(".", "").isdecimal() else "127.0.0.1"
        try:
            return await asyncio.open_connection(place, port, local_addr=(self.address, 0))
        except OSError:
            if writer is not None:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
            raise

    async def _both(self, *ends: asyncio.StreamReader | asyncio.StreamWriter) -> None:
        reader, writer, there, back = ends
        try:
            await asyncio.gather(_pour(reader, back), _pour(there, writer))  # type: ignore[arg-type] # two of each
        finally:
            await _ended(back)  # type: ignore[arg-type]


async def _ended(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.CancelledError):
        writer.close()
    with contextlib.suppress(OSError, asyncio.CancelledError):
        await writer.wait_closed()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@contextlib.asynccontextmanager
async def lights(*some: Light) -> AsyncIterator[list[Light]]:
    """Runs proxies for the duration of the block."""
    try:
        for one in some:
            await one.start()
        yield list(some)
    finally:
        await asyncio.gather(*(one.stop() for one in some))


class Target:
    """A site of `pages` linked pages. `came` counts requests by address, `seen` contains the addresses of
    each cookie, and addresses in `banned` get 403."""

    def __init__(
        self, pages: int = 20, banned: frozenset[str] = frozenset(), address: str = "127.0.0.1"
    ) -> None:
        self.pages, self.banned, self.address = pages, banned, address
        self.came: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.seen: dict[str, set[str]] = {}
        self.port = 0
        self._made = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self._answer(head, writer.get_extra_info("peername")[0], writer)
                await writer.drain()
                if "connection: close" in head.lower():
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            await _ended(writer)

    def _answer(self, head: str, peer: str, writer: asyncio.StreamWriter) -> None:
        path = head.split(" ", 2)[1]
        path = "/" + path.partition("://")[2].partition("/")[2] if "://" in path else path
        self.came[peer] += 1
        self.paths[path] += 1
        more = ""
        cookie = next(
            (line.partition("sid=")[2] for line in head.split("\r\n") if line.lower().startswith("cookie:")),
            "",
        )
        if cookie:
            self.seen.setdefault(cookie, set()).add(peer)
        elif path != "/robots.txt":
            self._made += 1
            self.seen[f"s{self._made}"] = {peer}
            more = f"Set-Cookie: sid=s{self._made}; Path=/\r\n"
        if path == "/robots.txt":
            status, body = "404 None", "none"
        elif peer in self.banned:
            status, body = "403 No", "go away"
        else:
            status, body = (
                "200 OK",
                "<h1>True page</h1>" + "".join(f'<a href="/p{n}">x</a>' for n in range(self.pages)),
            )
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{more}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )


@contextlib.asynccontextmanager
async def target(
    pages: int = 20, banned: frozenset[str] = frozenset(), address: str = "127.0.0.1"
) -> AsyncIterator[Target]:
    """A running target."""
    one = Target(pages, banned, address)
    server = await asyncio.start_server(one.talk, address, 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
