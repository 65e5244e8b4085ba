"""Serves a request handler as an HTTP server on a free port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def answering(
    handler: type[BaseHTTPRequestHandler], address: str = "127.0.0.1", port: int = 0
) -> Iterator[int]:
    """Serves the handler for the duration of the block. Yields the port."""
    with ThreadingHTTPServer((address, port), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
