"""The way out of a browser: a SOCKS5 proxy (RFC 1928) of ours on loopback. It resolves each name by the egress guard, dials the checked
address and no other, and counts what passes. A browser that knows no other way reaches nothing that the guard refuses."""

from __future__ import annotations

import asyncio
import contextlib
from ipaddress import ip_address

from gossamer.collectors.failures import Why
from gossamer.collectors.http import Resolver

CONNECT = 10.0
"""Seconds that one address has to answer."""
PIECE = 64 << 10
MOST = 256
"""Connections at once."""
_USUAL = (80, 443)
_NO, _FAILED, _REFUSED, _COMMAND = 1, 4, 2, 7


class Tunnel:
    """One browser's way out, in turn one page's: `begin(room)` before it, then `got` bytes came. Without room nothing is dialled."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.got = self._room = 0
        self.over = False
        self.refused: dict[str, Why] = {}
        """Why authorities were not reached, since `begin`."""
        self.addresses: dict[str, str] = {}
        """The address dialled for each authority."""

    @property
    def url(self) -> str:
        """As a browser is told of it."""
        assert self._server is not None
        return f"socks5://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def open(self) -> None:
        """Listen, on loopback alone."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    def begin(self, room: int) -> None:
        """A page begins, which may use `room` bytes."""
        self.got, self._room, self.over = 0, room, False
        self.refused.clear()

    def end(self) -> None:
        """No page: what is open may end, nothing new is dialled."""
        self._room = 0

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from the browser's greeting to its end."""
        self._open.add(writer)
        try:
            async with asyncio.timeout(2 * CONNECT):
                authority = await _asked(reader, writer)
                there = await self._dial(authority, writer) if authority else None
            if there is not None:
                self._open.add(there[1])
                await self._join((reader, writer), there)
        except (OSError, EOFError, TimeoutError, ValueError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _dial(
        self, authority: str, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        host, _, port = authority.rpartition(":")
        known = host if int(port) in _USUAL else authority
        if not self._room or len(self._tasks) > MOST:
            writer.write(_reply(_NO))
            return None
        found = self._resolver.known(known) or await self._resolver.resolve(known)
        if not found.addresses:
            self.refused[known] = Why(found.reason, found.detail, found.final)
            writer.write(_reply(_REFUSED if found.reason == "private" else _FAILED))
            return None
        problem = ""
        for address in found.addresses[:3]:
            try:
                there = await asyncio.wait_for(asyncio.open_connection(address, int(port), limit=PIECE), CONNECT)
            except (OSError, TimeoutError) as error:
                problem = f"{address}: {getattr(error, 'strerror', None) or 'no answer'}"
                continue
            self.addresses[known] = address
            writer.write(_reply(0))
            return there
        self.refused[known] = Why("connect", f"nobody answers at {problem}")
        writer.write(_reply(_FAILED))
        return None

    async def _join(
        self, here: tuple[asyncio.StreamReader, asyncio.StreamWriter], there: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:  # fmt: skip
        """Both ways, until one ends."""
        out, back = self._pass(here[0], there[1], False), self._pass(there[0], here[1], True)
        ways = [asyncio.ensure_future(out), asyncio.ensure_future(back)]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._open.discard(there[1])
            there[1].close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE):
                self.got += len(data) * counts
                if self._room and self.got > self._room:
                    self.over = True
                    for one in self._open:
                        one.transport.abort()
                    return
                writer.write(data)
                await writer.drain()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """`host:port` that the browser wants, '' when it wants something else. Raises EOFError, ValueError."""
    version, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    if version != 5:
        return ""
    writer.write(b"\x05\x00")
    _, command, _, kind = await reader.readexactly(4)
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("ascii")
        if ":" in host:
            host = f"[{host}]"
    else:
        address = ip_address(await reader.readexactly(16 if kind == 4 else 4))
        host = f"[{address}]" if kind == 4 else str(address)
    port = int.from_bytes(await reader.readexactly(2), "big")
    if command != 1:
        writer.write(_reply(_COMMAND))
        return ""
    return f"{host}:{port}"


def _reply(code: int) -> bytes:
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))
