"""Serves the metrics over HTTP, so that Prometheus can scrape them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gossamer.errors import ConfigError, UsageError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HOME = b'<!doctype html><title>gossamer</title><a href="/metrics">metrics</a>\n'


def check_bind(address: str) -> None:
    """Raises UsageError if this machine cannot listen at an address, on any port."""
    try:
        with socket.socket(socket.AF_INET) as one:
            one.bind((address, 0))
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--bind {address}: {why}: name an IPv4 address of this machine") from None


class MetricsServer:
    """Serves `/metrics` and `/healthz`. `page` returns the metrics, and is called in the server's threads. If
    `port` is 0, any free port is used."""

    def __init__(self, bind: str, port: int, page: Callable[[], str]) -> None:
        """Raises ConfigError if the address cannot be used."""
        try:
            self._server = ThreadingHTTPServer((bind, port), _handler(page))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"metrics cannot be served at {bind}:{port}: {why}: choose another --port"
            ) from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    def start(self) -> None:
        """Starts the server."""
        self._thread.start()

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(page: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "gossamer", ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._send(200, CONTENT_TYPE, page().encode())
            elif path == "/healthz":
                self._send(200, "text/plain", b"ok\n")
            else:
                self._send(200 if path == "/" else 404, "text/html", _HOME)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing, because a scrape every few seconds is not worth an event."""

    return Handler
