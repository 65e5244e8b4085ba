"""Starts `gossamer serve` as a process, and sends requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cli.command_line import SRC
from cli.conftest import stop_store

IN_PATH = {
    "crawl": "books",
    "host": "a.example",
    "worker": "w",
    "lane": "fleet",
    "schedule": "nightly",
    "run": "prices-0",
    "audit": "a.example",
    "webhook": "w",
}
"""Values for the fields in the paths of operations."""


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Serving:
    """A process of `gossamer serve`."""

    def __init__(self, folder: Path, *words: str, port: int = 0) -> None:
        self.folder = folder
        env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        env["PYTHONPATH"] = os.pathsep.join([str(SRC), env.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "gossamer", "serve", "--port", str(port), *words]
        self.process = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = ""
        while (line := self.process.stderr.readline()) and "the API is at" not in line:
            self.said += line
        found = re.search(r"http://(\S+):(\d+)", line)
        assert found, self.said + line
        self.host, self.port = found[1], int(found[2])
        self.url = f"http://{found[1]}:{found[2]}"
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line

    def ask(
        self, method: str, path: str, body: Any = None, raw: bytes | None = None, **headers: str
    ) -> Answer:
        """Sends a request. `headers` are written with `_` in place of `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            raw, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **sent}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, raw, sent)
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.headers.items()}, got.read())
        finally:
            connection.close()

    def crawl(self, target: str, name: str, **options: Any) -> dict[str, Any]:
        """Crawls a target to its end, and returns the state of the crawl."""
        given = {"targets": [target], "name": name, "wait": 60, **options}
        answer = self.ask("POST", "/v1/crawls", given)
        assert answer.status == 202, answer.body
        found: dict[str, Any] = answer.json
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=60)
        self._reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Serving]:
    """Serves for the duration of the block. The crawls of the folder `.gossamer` are found at the address."""
    server = Serving(folder, "-s", "allow_private=127.0.0.0/8", "-s", "delay=0.01", *words)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def served_folder(folder: Path, *words: str) -> Iterator[Serving]:
    """Serves as `serving`, and stops the store of the folder at the end."""
    try:
        with serving(folder, *words) as server:
            yield server
    finally:
        stop_store(folder)
