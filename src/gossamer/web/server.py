"""Runs the service with uvicorn: the socket, signals, and limits of connections."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.errors import ConfigError, UsageError
from gossamer.web.path_prefix import PathPrefix
from gossamer.web.service import Service

HEAD_TIMEOUT_S = 10.0
"""The maximum number of seconds until the head of a connection's first request has arrived."""
MAX_HEAD_BYTES = 64 << 10
MAX_CONNECTIONS = 2000
STOP_TIMEOUT_S = 5
IDLE_TIMEOUT_S = 15


def is_loopback(host: str) -> bool:
    """Returns whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Returns a socket that listens. Raises UsageError or ConfigError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise UsageError(f"--host {host}: name an address of this machine") from None
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(512)
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot serve at {host}:{port}: {why}: choose another --port") from None
    found.setblocking(False)
    return found


class LimitedProtocol(H11Protocol):
    """Closes a connection whose first request does not arrive in time."""

    def connection_made(self, transport: Any) -> None:
        """Begins the time limit."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_TIMEOUT_S, self._check)

    def _check(self) -> None:
        request: object = self.cycle  # None before the first request, although its type does not say so
        if request is None and not self.transport.is_closing():
            self.transport.close()


class SteadyServer(uvicorn.Server):
    """A server that leaves signals to its caller. `ready` is called when requests are answered."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to serve."""
        await super().startup(sockets)
        self._ready()


async def run(
    service: Service, listening: socket.socket, ready: Callable[[], None], prefix: str = ""
) -> None:
    """Serves until SIGINT or SIGTERM. `ready` is called when requests are answered. `prefix`: the path below which a
    proxy serves it, or ''."""
    config = uvicorn.Config(
        PathPrefix(service, prefix) if prefix else service,
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_TIMEOUT_S,
        timeout_graceful_shutdown=STOP_TIMEOUT_S,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    server = SteadyServer(config, ready)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    sending = asyncio.create_task(service.sender.run())
    await asyncio.wait([serving, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED)
    sending.cancel()
    await service.hub.close()
    server.should_exit = True
    await asyncio.gather(sending, return_exceptions=True)
    await serving
