"""A proxy on the loopback interface (HTTP CONNECT, or SOCKS5 with host names) that records the requested
targets."""

from __future__ import annotations

import asyncio
import contextlib

from collectors.impersonated.recording_server import ended


class Proxy:
    """`async with Proxy({host: port})` connects each host name to its port on this machine, and refuses
    other names. `asked`: the requested targets as `host:port`, in order."""

    def __init__(self, places: dict[str, int], scheme: str = "http", credentials: str = "") -> None:
        self.places, self.scheme, self.credentials = places, scheme, credentials
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await ended(self._server, self._tasks)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.credentials and self.credentials + '@'}127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        back: asyncio.StreamWriter | None = None
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            port = await (self._socks if self.scheme == "socks5h" else self._connect)(reader, writer)
            if port is not None:
                there, back = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(_pour(reader, back), _pour(there, writer))
        for end in (writer, back):
            if end is not None:
                end.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int | None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        place = head.split(b" ")[1].decode()
        self.asked.append(place)
        port = self.places.get(place.rpartition(":")[0])
        writer.write(
            b"HTTP/1.1 200 Connection established\r\nX-Of-The-Proxy: 1\r\n\r\n"
            if port
            else b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
        )
        return port

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int | None:
        await reader.readexactly((await reader.readexactly(2))[1])
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        assert kind == 3, "a name was resolved before the proxy was asked"
        name = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        self.asked.append(f"{name}:{int.from_bytes(await reader.readexactly(2), 'big')}")
        port = self.places.get(name)
        writer.write(b"\x05" + (b"\x00" if port else b"\x02") + b"\x00\x01\x7f\x00\x00\x01\x00\x00")
        return port


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(ConnectionError):
        writer.close()
