"""A web server that records POST requests, and answers with given statuses or hangs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Call(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """The requests that a server received. `statuses` are its answers in order, and the last one repeats."""

    def __init__(self, statuses: Sequence[int], hang: bool) -> None:
        self.calls: list[Call] = []
        self.statuses, self.url = list(statuses), ""
        self._free = threading.Event()
        if not hang:
            self._free.set()

    def release(self) -> None:
        """Lets hanging requests continue."""
        self._free.set()

    def answer(self, call: Call) -> int:
        """Records a request and returns the status of its answer."""
        self.calls.append(call)
        self._free.wait(30)
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]


@contextlib.contextmanager
def receiving(statuses: Sequence[int] = (200,), *, hang: bool = False) -> Iterator[Receiver]:
    """Runs a receiver on loopback."""
    got = Receiver(statuses, hang)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = got.answer(Call(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    got.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield got
    finally:
        got.release()
        server.shutdown()
        server.server_close()
