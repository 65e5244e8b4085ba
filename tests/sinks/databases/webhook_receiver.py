"""A receiver of webhooks as a program: `python webhook_receiver.py PORT DATABASE SECRET`. The database stores
each batch id once, on disk.

The library of the Standard Webhooks project verifies signatures. The receiver answers 422 to a row whose kind
is `refused`, and 413 to more than 8 MB.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

PORT, BASE, SECRET = sys.argv[1:]
base = sqlite3.connect(BASE, isolation_level=None)
base.execute("PRAGMA journal_mode=WAL")
base.execute("PRAGMA synchronous=FULL")
base.execute("CREATE TABLE IF NOT EXISTS batch (id TEXT PRIMARY KEY)")
base.execute("CREATE TABLE IF NOT EXISTS row (kind TEXT, key TEXT, row TEXT)")


class Hook(BaseHTTPRequestHandler):
    """Accepts rows by POST to `/`. Any other path answers 404."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            Webhook(SECRET).verify(
                body.decode(), dict(self.headers.items()) | {k.lower(): v for k, v in self.headers.items()}
            )
        except WebhookVerificationError:
            return self.answer(401)
        if self.path != "/":
            return self.answer(404)
        if len(body) > 8_000_000:
            return self.answer(413)
        rows = json.loads(body)["rows"]
        if any(one["kind"] == "refused" for one in rows):
            return self.answer(422)
        try:
            base.execute("BEGIN IMMEDIATE")
            base.execute("INSERT INTO batch VALUES (?)", [self.headers["webhook-id"]])
            base.executemany(
                "INSERT INTO row VALUES (?, ?, ?)",
                [(r["kind"], r["key"], json.dumps(r["row"])) for r in rows],
            )
            base.execute("COMMIT")
        except sqlite3.IntegrityError:  # this batch was stored before
            base.execute("ROLLBACK")
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        """Log nothing."""


HTTPServer(("127.0.0.1", int(PORT)), Hook).serve_forever()
