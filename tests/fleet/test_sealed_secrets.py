"""Headers and passwords given to `gossamer submit`. With a session key, the store contains them only
encrypted."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import ClassVar

import redis

from support.fleet_workers import Fleet, Server, until

PASSWORDS = ("CANARY-header", "CANARY-password")


class Answers(http.server.BaseHTTPRequestHandler):
    """Records the secret headers of each request."""

    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.append(f"{self.headers['X-Token']} {self.headers['Authorization']}")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def in_store(server: Server) -> bytes:
    """Returns a dump of all values in the store."""
    with redis.Redis(port=server.port) as client:
        return b"".join(client.dump(key) or b"" for key in client.scan_iter(count=1000))


def test_what_was_typed_is_sealed_and_reaches_the_host(fleet: Fleet, server: Server, tmp_path: Path) -> None:
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    key = tmp_path / "key"
    key.write_text("a key of some length")
    sealed = ("-s", f"session_key=${{file:{key}}}")
    seed = f"http://ann:{PASSWORDS[1]}@127.0.0.1:{web.server_port}/"
    words = ("--allow-private", "127.0.0.0/8", "--quiet", "-o", "out/", "-H", f"X-Token: {PASSWORDS[0]}")
    name = fleet.run("submit", seed, *words, *sealed, "--name", "c").strip()
    assert not [word for word in PASSWORDS if word.encode() in in_store(server)]

    stranger = fleet.worker("stranger")
    until("it refuses", lambda: "give this worker the session_key" in fleet.run("workers", "list"))
    assert stranger.stop() == 0
    assert not Answers.heard
    fleet.worker("friend", *sealed)
    assert fleet.ended(name)["pages"] == 1
    assert any(f"{PASSWORDS[0]} Basic " in one for one in Answers.heard)
    assert not [word for word in PASSWORDS if word.encode() in in_store(server)]
    web.shutdown()
    thread.join()
    web.server_close()
