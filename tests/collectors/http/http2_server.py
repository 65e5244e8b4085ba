"""HTTP/2 servers over TLS on the loopback interface: a server that counts its connections, and helpers
that send arbitrary frames."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import h2.settings

from web import Plan, certs

ADDRESS = Plan("tls", hosts=1, pages=1, tls="ok").name_of(0)
HEAD = [(":status", "200"), ("content-type", "text/html"), ("x-a", "b")]

Say = Callable[[h2.connection.H2Connection, int, asyncio.StreamWriter], Awaitable[None]]
"""A function that writes the response on an HTTP/2 stream. After each call, the server sends the data that
the connection object has collected."""


def made(folder: Path, fault: str, alpn: tuple[str, ...] = ()) -> tuple[ssl.SSLContext, str]:
    """Return a server context for 127.0.0.x, and the path of the CA certificate."""
    folder.mkdir()
    ca, cert, key = certs.make(Plan("tls", hosts=1, pages=1, tls=fault), folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context, str(ca)


@dataclass
class Multiplexed:
    """A running server, with the number of its connections and the headers of its requests."""

    port: int
    accepts: int = 0
    seen: list[dict[bytes, bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://{ADDRESS}:{self.port}/"


async def two(conn: h2.connection.H2Connection, stream: int, writer: asyncio.StreamWriter) -> None:
    """Send the default response."""
    conn.send_headers(stream, HEAD)
    conn.send_data(stream, b"<p>two", end_stream=True)


@contextlib.asynccontextmanager
async def multiplexed(
    context: ssl.SSLContext, say: Say = two, streams: int = 100
) -> AsyncIterator[Multiplexed]:
    """Run a server until the block ends. `streams` is the maximum number of concurrent streams per
    connection."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.accepts += 1
        conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        conn.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: streams})
        conn.initiate_connection()
        writer.write(conn.data_to_send())
        try:
            while data := await reader.read(65536):
                for event in conn.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        server.seen.append(dict(event.headers))
                        await say(conn, event.stream_id, writer)
                writer.write(conn.data_to_send())
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError, ssl.SSLError):
                await writer.wait_closed()

    listener = await asyncio.start_server(talk, ADDRESS, 0, ssl=context, backlog=512)
    server = Multiplexed(listener.sockets[0].getsockname()[1])
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame (RFC 9113 section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


async def without_end(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write the same data repeatedly until the client disconnects."""
    while not writer.is_closing():
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(0)
