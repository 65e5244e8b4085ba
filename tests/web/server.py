"""The server: one protocol object per connection, rendered answers for plain pages, and acts for odd URLs."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import socket
import struct
import sys
import time
import zlib
from typing import Any

from web import robots, wire
from web.acts import ACTS
from web.hosts import MISSING, Host, Ready
from web.odd import Odd
from web.plan import Plan
from web.record import Record

TICK = 8_000_000  # ns: the kernel counts in jiffies of up to 4 ms, so a smaller lag is ignored


class Trip:
    """One request in progress, with the methods that an act uses to answer it."""

    def __init__(self, conn: Conn, host: Host, found: Odd, headers: dict[str, str], number: int) -> None:
        self.conn, self.odd, self.headers, self.number = conn, found, headers, number
        self.plan, self.host, self.tries = host.plan, host.number, host.tries.get(found.path, 1)
        self.sent, self.at = 0, time.monotonic_ns()

    def write(self, data: bytes) -> None:
        self.sent += len(data)
        self.at = time.monotonic_ns()
        self.conn.transport.write(data)

    def send(self, status: int, body: bytes, headers: wire.Headers = ()) -> None:
        """Sends a complete and correct answer, with gzip if the client accepts it and no coding is set."""
        names = {name for name, _ in headers}
        if "Content-Type" not in names:
            headers = (*headers, ("Content-Type", wire.HTML))
        if (
            self.plan.gzip
            and "Content-Encoding" not in names
            and len(body) > 500
            and takes_gzip(self.headers)
        ):
            body, headers = wire.zipped(body), (*headers, ("Content-Encoding", "gzip"))
        self.write(wire.answer(status, body, headers))
        self.done(status)

    def done(self, status: int, close: bool = False) -> None:
        self.conn.over(self.number, (status, self.sent, self.odd.act), self.at if status else 0, close)


def takes_gzip(headers: dict[str, str]) -> bool:
    return "gzip" in headers.get("accept-encoding", "")


class Conn(asyncio.Protocol):
    """One connection, whose requests are answered one after the other."""

    count = 0

    def __init__(self, hosts: dict[str, Host], host: Host | None) -> None:
        self.hosts, self.host = hosts, host
        self.buffer, self.busy, self.requests, self.current = b"", False, 0, 0
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.free = asyncio.Event()
        self.closing = False
        # no later request can have arrived before this time, because the last answer was not sent yet
        self.since = time.monotonic_ns()
        Conn.count += 1
        self.number = Conn.count

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        sock = transport.get_extra_info("socket")
        self.peer = (transport.get_extra_info("peername") or ("",))[0]
        self.raw = socket.socket(fileno=sock.fileno()) if sock is not None else None
        self.free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        if self.raw is not None:
            self.raw.detach()
            self.raw = None
        for running in (self.task, self.timer):
            if running is not None:
                running.cancel()
        self.free.set()
        if self.current and self.host is not None:
            self.host.record.end(self.current, 0, 0, "left")

    def pause_writing(self) -> None:
        self.free.clear()

    def resume_writing(self) -> None:
        self.free.set()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while self.buffer and not self.busy and not self.closing and self._one():
            pass

    def _one(self) -> bool:
        """Take one complete request from the buffer and serve it. Returns False if the buffer contains no
        complete request."""
        at = self.buffer.find(b"\r\n\r\n")
        if at < 0:
            return False
        lines = self.buffer[:at].decode("latin-1").split("\r\n")
        first = lines[0].split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        end = at + 4 + int(headers.get("content-length") or 0)
        if len(self.buffer) < end:
            return False
        self.buffer = self.buffer[end:]
        host = self.host if self.host is not None else self.hosts.get(headers.get("host", ""))
        if host is None or len(first) != 3:
            self.transport.write(wire.answer(400, b"which host?"))
            self.transport.close()
            return False
        self.host = host
        self._serve(host, first[0], first[1], headers)
        return True

    def _serve(self, host: Host, method: str, target: str, headers: dict[str, str]) -> None:
        self.requests += 1
        self.busy = True
        plan = host.plan
        self.current = host.record.begin(
            (self.number, self.peer),
            host.authority,
            (method, target, headers),
            min(lag_of(self.raw), time.monotonic_ns() - self.since),
        )
        path = target if target.startswith("/") else "/" + target.split("/", 3)[-1]
        gz = plan.gzip and takes_gzip(headers)
        found = host.ready.get((path, gz)) or self._find(host, path, gz)
        if isinstance(found, Odd):
            self._start(Trip(self, host, found, headers, self.current))
            return
        status, data = shaped(found, method, headers)
        close = headers.get("connection", "").lower() == "close"
        wait = plan.latency + (
            plan.spread * (zlib.crc32(path.encode()) % 1000) / 1000 if plan.spread else 0.0
        )
        if wait:
            self.timer = asyncio.get_running_loop().call_later(
                wait, self._send, status, data, found[3], close
            )
        else:
            self._send(status, data, found[3], close)

    def _find(self, host: Host, path: str, gz: bool) -> Ready | Odd:
        """Returns the answer to a path without a rendered answer: robots.txt, an odd URL, a page rendered
        now, or a 404 page."""
        tries = host.tries[path] = host.tries.get(path, 0) + 1
        if (said := robots.answer(host.plan, host.number, path, tries)) is not None:
            if said.act:
                return Odd(path, act=said.act)
            return said.status, "", wire.answer(said.status, said.body, said.headers), "robots"
        if (found := host.odd(path)) is not None:
            host.tries[found.path] = tries if path == found.path else host.tries.get(found.path, 0) + 1
            return found
        return host.plain(path, gz) or MISSING

    def _send(self, status: int, data: bytes, kind: str, close: bool) -> None:
        # before the write, because the client may react before this process continues
        at = time.monotonic_ns()
        self.transport.write(data)
        self.over(self.current, (status, len(data), kind), at, close)

    def _start(self, trip: Trip) -> None:
        running = ACTS[trip.odd.act](trip)
        if running is not None:
            self.task = asyncio.get_running_loop().create_task(running)

    def over(self, number: int, what: tuple[int, int, str], at: int, close: bool) -> None:
        """Record the end of an answer. Then close the connection, or continue with data that has arrived in
        the meantime."""
        assert self.host is not None
        self.host.record.end(number, *what, at)
        self.current, self.busy, self.since = 0, False, at
        if close:
            self.closing = True
            self.transport.close()
        elif self.buffer:
            asyncio.get_running_loop().call_soon(self.data_received, b"")

    def reset(self) -> None:
        """End the connection with a RST."""
        assert self.raw is not None
        assert self.host is not None
        self.host.record.end(self.current, 0, 0, "reset")
        self.current, self.closing = 0, True
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def shaped(ready: Ready, method: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Returns the status and bytes for this request: 304 if the client has the current page, and no body for
    HEAD."""
    status, etag, data, _kind = ready
    if etag and headers.get("if-none-match") == etag:
        return 304, wire.head(304, (("ETag", etag),))
    return status, data[: data.find(b"\r\n\r\n") + 4] if method == "HEAD" else data


def lag_of(sock: socket.socket | None) -> int:
    """Returns the ns since the kernel got the request, so that a delay of this process is not attributed to
    the crawler."""
    if sock is None or sys.platform != "linux":
        return 0
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)
    late: int = struct.unpack_from("I", info, 52)[0] * 1_000_000
    return late if TICK <= late < 10_000_000_000 else 0


def bind(plan: Plan) -> tuple[Plan, list[tuple[socket.socket, int | None]]]:
    """Binds one socket per host, all on the same port. If the plan has no port, a free one is chosen."""
    wanted = (
        [("127.0.0.1", None)]
        if plan.names
        else [(plan.name_of(number), number) for number in plan.all_hosts()]
    )
    for _ in range(50):
        socks: list[tuple[socket.socket, int | None]] = []
        port = plan.port
        try:
            for where, number in wanted:
                sock = socket.socket()
                socks.append((sock, number))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((where, port))
                port = sock.getsockname()[1]
        except OSError:
            for sock, _number in socks:
                sock.close()
            if plan.port:
                raise
            continue
        return dataclasses.replace(plan, port=port), socks
    raise OSError("no port is free on all addresses of the web")


async def start(
    plan: Plan, record: Record, tls: Any = None
) -> tuple[Plan, dict[str, Host], list[asyncio.Server]]:
    """Listens on all hosts. Returns the plan with its port, the hosts by authority, and the servers."""
    plan, socks = bind(plan)
    hosts = {plan.authority(number): Host(plan, number, record) for number in plan.all_hosts()}
    loop, servers = asyncio.get_running_loop(), []
    for sock, number in socks:
        host = hosts[plan.authority(number)] if number is not None else None
        make = functools.partial(Conn, hosts, host)
        servers.append(await loop.create_server(make, sock=sock, backlog=512, ssl=tls))
    return plan, hosts, servers
