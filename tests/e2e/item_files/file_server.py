"""A local web of pages and files that counts the requests per path, and functions that create images and
PDFs."""

from __future__ import annotations

import contextlib
import http.server
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Answer = tuple[int, dict[str, str], bytes | Iterator[bytes]]


class Web:
    """`put(path, body, type)` stores a page or file. `asked`: the number of requests per path."""

    def __init__(self) -> None:
        self.there: dict[str, Callable[[], Answer] | Answer] = {"/robots.txt": (404, {}, b"")}
        self.asked: Counter[str] = Counter()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"

    def put(
        self, path: str, body: bytes | str, kind: str = "text/html", status: int = 200, **headers: str
    ) -> str:
        """Store a response for a path, and return its URL."""
        given = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        self.there[path] = (status, given, body.encode() if isinstance(body, str) else body)
        return self.url + path

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                # a crawler that has received enough closes the connection
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_GET(self) -> None:
                web.asked[self.path] += 1
                found = web.there.get(self.path, (404, {}, b"not here"))
                status, headers, body = found() if callable(found) else found
                if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                    status, body = 304, b""
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes):
                    self.send_header("Content-Length", str(len(body)))
                else:
                    self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for piece in [body] if isinstance(body, bytes) else body:
                        self.wfile.write(piece)
                except OSError:
                    self.close_connection = True
                if not isinstance(body, bytes):
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Disable the request log."""

        return Handler


@contextmanager
def serving() -> Iterator[Web]:
    """Run a web until the block ends."""
    web = Web()
    thread = threading.Thread(target=web.server.serve_forever)
    thread.start()
    try:
        yield web
    finally:
        web.server.shutdown()
        thread.join()
        web.server.server_close()


def png(width: int, height: int, seed: int = 0) -> bytes:
    """Return a PNG image of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([seed % 256]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def pdf(*pages: str) -> bytes:
    """Return a PDF with one page per line of text."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for line in pages:
        content = b"BT /F1 24 Tf 72 700 Td (" + line.encode("latin-1") + b") Tj ET"
        at = len(objects) + 1
        kids.append(f"{at} 0 R")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 "
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>" % (at + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>".encode()
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
