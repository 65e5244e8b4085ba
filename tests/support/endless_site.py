"""A local site without an end."""

from __future__ import annotations

import http.server
from typing import Any


class Endless(http.server.BaseHTTPRequestHandler):
    """A site whose pages link to two new ones each: /keep/N and /drop/N."""

    def do_GET(self) -> None:
        n = sum(map(ord, self.path)) if not self.path[-1].isdigit() else int(self.path.rpartition("/")[2])
        links = "".join(f'<a href="/{kind}/{2 * n + k}">x</a>' for k in (1, 2) for kind in ("keep", "drop"))
        body = f"<title>{self.path}</title>{links}".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""
