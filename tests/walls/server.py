"""Serves TLS at each host's own address, with HTTP/1.1 and HTTP/2. The server reads the client's fingerprint,
gets the wall's answer, and sends it."""

from __future__ import annotations

import asyncio
import ssl

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from collectors.impersonated.client_hello import Hello, grease
from collectors.impersonated.recording_server import Pipe, Seen
from walls.wall import Client, Wall

REASONS = {
    200: "OK",
    202: "Accepted",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    503: "Service Unavailable",
}


def browserlike(hello: Hello) -> bool:
    """Returns whether a ClientHello looks like a browser's. Chrome and Safari send GREASE, Firefox sends
    delegated credentials, and no library sends either of them by default."""
    return any(map(grease, hello.raw)) or 34 in hello.raw


async def talk(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext, wall: Wall
) -> None:
    """Serves one connection until it is closed."""
    seen, pipe = Seen(), Pipe(reader, writer, context)
    try:
        await pipe.shake(seen)
        assert seen.hello is not None
        client = Client(writer.get_extra_info("peername")[0], browserlike(seen.hello), seen.hello.ja4())
        await (_two if seen.protocol == "h2" else _one)(pipe, client, wall)
    except (OSError, asyncio.IncompleteReadError, ssl.SSLError, EOFError, h2.exceptions.ProtocolError):
        pass
    finally:
        writer.transport.abort()


async def _one(pipe: Pipe, client: Client, wall: Wall) -> None:
    while True:
        head = (await pipe.until(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")[:-2]
        asked = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status, headers, text = wall.answer(client, first.split(" ")[1], asked)
        body = text.encode()
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        told = f"HTTP/1.1 {status} {REASONS[status]}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
        await pipe.write(told.encode() + body)


async def _two(pipe: Pipe, client: Client, wall: Wall) -> None:
    conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
    conn.initiate_connection()
    await pipe.write(conn.data_to_send())
    client.settings = {}
    while True:
        data, pipe.held = pipe.held or await pipe.some(), b""
        for event in conn.receive_data(data):
            if isinstance(event, h2.events.RemoteSettingsChanged):
                client.settings |= {int(code): one.new_value for code, one in event.changed_settings.items()}
            elif isinstance(event, h2.events.RequestReceived):
                asked: dict[str, str] = {}
                for name, value in event.headers:  # a client may split its cookies over several headers
                    asked[name] = f"{asked[name]}; {value}" if name == "cookie" and name in asked else value
                status, headers, text = wall.answer(client, asked[":path"], asked)
                body = text.encode()
                conn.send_headers(event.stream_id, [(":status", str(status)), *headers.items()])
                assert len(body) <= conn.local_flow_control_window(event.stream_id), "pages are small"
                for at in range(0, len(body), 16384):
                    conn.send_data(event.stream_id, body[at : at + 16384])
                conn.end_stream(event.stream_id)
            elif isinstance(event, h2.events.ConnectionTerminated):
                return
        await pipe.write(conn.data_to_send())
