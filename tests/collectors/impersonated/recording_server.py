"""A TLS server that records the start of each connection: the ClientHello, the HTTP/2 frames before the
first response, and the headers in order.

The server itself parses the ClientHello (`client_hello.py`) and the HTTP/2 frames (RFC 9113). Only the TLS
handshake uses Python's `ssl`, and header compression uses `hpack`."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Any

from hpack import Decoder, Encoder

from collectors.impersonated.client_hello import Hello

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclass
class Seen:
    """A recorded connection: its ClientHello, the frames before the first response, and the headers of
    each request in the order sent."""

    hello: Hello | None = None
    frames: list[dict[str, Any]] = field(default_factory=list)
    requests: list[list[tuple[str, str]]] = field(default_factory=list)
    protocol: str = ""
    paths: list[str] = field(default_factory=list)

    def akamai(self) -> str:
        """Return Akamai's HTTP/2 fingerprint: settings, window, priorities and the order of
        pseudo-headers."""
        first = next(f for f in self.frames if f["frame_type"] == "SETTINGS")
        window = next(
            (f["window_size_increment"] for f in self.frames if f["frame_type"] == "WINDOW_UPDATE"), 0
        )
        parts = [
            f"{f['stream_id']}:{f['exclusive']}:{f['depends']}:{f['weight']}"
            for f in self.frames
            if f["frame_type"] == "PRIORITY"
        ]
        order = ",".join(name[1] for name, _ in self.requests[0] if name.startswith(":"))
        return "|".join(
            [
                ";".join(f"{s['key']}:{s['value']}" for s in first["settings"]),
                str(window),
                ",".join(parts) or "0",
                order,
            ]
        )

    def headers(self, request: int = -1) -> list[tuple[str, str]]:
        """Return the headers of a request in order, with their names as sent and without pseudo-headers."""
        return [(name, value) for name, value in self.requests[request] if not name.startswith(":")]


class Recorder:
    """`async with Recorder(context)` runs a server on this machine. Without a context, the server uses
    plain HTTP. `seen`: the connections. `news`: set at each request."""

    def __init__(
        self,
        context: ssl.SSLContext | None,
        *,
        body: bytes = b"<title>seen</title>",
        also: dict[str, str] | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.address = address
        self.context, self.body, self.also, self.seen = context, body, also or {}, list[Seen]()
        self.bodies: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.news = asyncio.Event()
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def __aenter__(self) -> Recorder:
        self._server = await asyncio.start_server(self._serve, self.address, 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await ended(self._server, self._tasks)

    def url(self, host: str = "www.example.test", path: str = "/") -> str:
        return f"http{'s' if self.context else ''}://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = Seen()
        self.seen.append(seen)
        self._tasks.add(asyncio.current_task())
        pipe = Pipe(reader, writer, self.context)
        try:
            await pipe.shake(seen)
            await (self._two if seen.protocol == "h2" else self._one)(pipe, seen)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def _answer(self, path: str) -> tuple[bytes, dict[str, str]]:
        return self.bodies.get(path, (self.body, {"content-type": "text/html", **self.also}))

    async def _one(self, pipe: Pipe, seen: Seen) -> None:
        while True:
            head = await pipe.until(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")[:-2]
            seen.requests.append([tuple(line.split(": ", 1)) for line in lines])  # type: ignore[misc]
            seen.paths.append(first.split(" ")[1])
            self.news.set()
            body, headers = self._answer(first.split(" ")[1])
            more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            await pipe.write(f"HTTP/1.1 200 OK\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def _two(self, pipe: Pipe, seen: Seen) -> None:
        assert await pipe.exactly(len(PREFACE)) == PREFACE
        decoder, encoder, block = Decoder(), Encoder(), b""
        await pipe.write(frame(4, 0, 0, b""))
        while True:
            head = await pipe.exactly(9)
            payload = await pipe.exactly(int.from_bytes(head[:3], "big"))
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF
            if kind == 7:
                return
            told, fragment = taken(kind, flags, stream, payload)
            if told:
                seen.frames.append(told)
            if kind == 4 and not flags & 1:
                await pipe.write(frame(4, 1, 0, b""))
            elif kind == 6 and not flags & 1:
                await pipe.write(frame(6, 1, 0, payload))
            elif kind in (1, 9):
                block = fragment if kind == 1 else block + fragment
                if flags & 4:
                    fields = [(_text(name), _text(value)) for name, value in decoder.decode(block, raw=True)]
                    seen.requests.append(fields)
                    seen.paths.append(dict(fields)[":path"])
                    self.news.set()
                    body, headers = self._answer(dict(fields)[":path"])
                    await pipe.write(
                        frame(1, 4, stream, encoder.encode([(":status", "200"), *headers.items()]))
                    )
                    for at in range(0, max(1, len(body)), 16384):
                        part = body[at : at + 16384]
                        await pipe.write(frame(0, int(at + 16384 >= len(body)), stream, part))


def taken(kind: int, flags: int, stream: int, payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Return a frame in the notation of the captures, and the frame's part of a header block. For a frame
    type that the captures omit, the first value is an empty dict."""
    told: dict[str, Any] = {"stream_id": stream}
    if kind == 4 and not flags & 1:
        pairs = [payload[i : i + 6] for i in range(0, len(payload), 6)]
        settings = [
            {"key": int.from_bytes(one[:2], "big"), "value": int.from_bytes(one[2:], "big")} for one in pairs
        ]
        return {"frame_type": "SETTINGS", **told, "settings": settings}, b""
    if kind == 8:
        return {
            "frame_type": "WINDOW_UPDATE",
            **told,
            "window_size_increment": int.from_bytes(payload, "big") & 0x7FFFFFFF,
        }, b""
    if kind == 2:
        return {"frame_type": "PRIORITY", **told, **weight(payload)}, b""
    if kind == 1:
        if flags & 8:
            payload = payload[1 : len(payload) - payload[0]]
        if flags & 0x20:
            told, payload = told | weight(payload), payload[5:]
        return {"frame_type": "HEADERS", **told}, payload
    return {}, payload


async def ended(server: asyncio.Server, tasks: set[asyncio.Task[None] | None]) -> None:
    """Stop a server, and cancel its connections."""
    server.close()
    mine = [task for task in tasks if task is not None]
    for task in mine:
        task.cancel()
    await asyncio.gather(*mine, return_exceptions=True)


class Pipe:
    """TLS over a stream with `ssl.MemoryBIO`, which gives access to the client's first bytes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext | None
    ) -> None:
        self.reader, self.writer, self.held = reader, writer, b""
        self.tls: ssl.SSLObject | None = None
        if context is not None:
            self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = context.wrap_bio(self.into, self.out, server_side=True)

    async def shake(self, seen: Seen) -> None:
        if self.tls is None:
            return
        first = b""
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._more()
                if seen.hello is None:
                    first += data
                    if len(first) >= 5 + int.from_bytes(first[3:5], "big"):
                        seen.hello = Hello.parse(first)
        await self._flush()
        seen.protocol = self.tls.selected_alpn_protocol() or ""

    async def _more(self) -> bytes:
        data = await self.reader.read(65536)
        if not data:
            raise EOFError
        if self.tls is not None:
            self.into.write(data)
        return data

    async def _flush(self) -> None:
        if data := self.out.read():
            self.writer.write(data)
            await self.writer.drain()

    async def some(self) -> bytes:
        if self.tls is None:
            return await self._more()
        while True:
            try:
                data = self.tls.read(65536)
            except ssl.SSLWantReadError:
                await self._flush()
                await self._more()
            else:
                if not data:
                    raise EOFError
                return data

    async def exactly(self, n: int) -> bytes:
        while len(self.held) < n:
            self.held += await self.some()
        out, self.held = self.held[:n], self.held[n:]
        return out

    async def until(self, mark: bytes) -> bytes:
        while mark not in self.held:
            self.held += await self.some()
        return await self.exactly(self.held.index(mark) + len(mark))

    async def write(self, data: bytes) -> None:
        if self.tls is None:
            self.writer.write(data)
            await self.writer.drain()
        else:
            self.tls.write(data)
            await self._flush()


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def weight(payload: bytes) -> dict[str, int]:
    word = int.from_bytes(payload[:4], "big")
    return {"exclusive": word >> 31, "depends": word & 0x7FFFFFFF, "weight": payload[4] + 1}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
