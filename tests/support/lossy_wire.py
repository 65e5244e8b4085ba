"""A connection between client and server that loses replies. The server has executed the call, but the client
does not get the reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Wire:
    """Forwards bytes from `port` to the server. The reply to the next call that contains `lose` is lost."""

    def __init__(self) -> None:
        self.port = 0
        self.lose = b""
        self.lost = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: int) -> None:
        """Forwards one connection."""
        from_server, to_server = await asyncio.open_connection("127.0.0.1", to)
        hushed, done = asyncio.Event(), asyncio.Event()
        back = asyncio.create_task(_back(from_server, writer, hushed, done))
        try:
            while data := await reader.read(1 << 20):
                if self.lose and self.lose in data:
                    self.lose = b""
                    hushed.set()
                    to_server.write(data)
                    await done.wait()
                    self.lost += 1
                    return
                to_server.write(data)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            back.cancel()
            for end in (writer, to_server):
                end.close()


async def _back(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hushed: asyncio.Event, done: asyncio.Event
) -> None:
    try:
        while data := await reader.read(1 << 20):
            if hushed.is_set():
                break
            writer.write(data)
    finally:
        done.set()
        writer.close()


@contextlib.asynccontextmanager
async def wire(to: int) -> AsyncIterator[Wire]:
    """Forwards connections to a server's port for the duration of an `async with`."""
    one = Wire()
    server = await asyncio.start_server(lambda r, w: one.carry(r, w, to), "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
