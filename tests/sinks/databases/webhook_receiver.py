"""A receiver of webhooks in a process of its own: `python webhook_receiver.py PORT DATABASE SECRET`. Each batch id
counts once, on disk.

Signatures are judged by the library of the Standard Webhooks project. A row whose kind is `refused` is
answered with 422, more than 8 MB with 413.
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
    """POST / takes rows, any other path is gone."""

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
        except sqlite3.IntegrityError:  # it was here already
            base.execute("ROLLBACK")
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


HTTPServer(("127.0.0.1", int(PORT)), Hook).serve_forever()
