"""A server process, and free ports."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import redis

from conftest import valkey_binary

_TAKEN = Path(tempfile.gettempdir()) / "gossamer-test-ports"
_held: list[int] = []  # a port is given out once for as long as this process lives


def free_port() -> int:
    """Returns a port that is free on every address, and that no other test is given."""
    _TAKEN.mkdir(exist_ok=True)
    while True:
        # below the ephemeral ports of the system; hypothesis gives `random` the same seed in each process
        port = random.SystemRandom().randrange(20_000, 32_000)
        lock = os.open(_TAKEN / str(port), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("0.0.0.0", port))
        except OSError:
            os.close(lock)
            continue
        _held.append(lock)
        return port


class Process:
    """A server in a folder of its own. A test can kill it, freeze it, and restart it with its data."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        port: int = 0,
        binary: str = "",
        tls: bool = False,
        config: str = "",
        host: str = "127.0.0.1",
    ) -> None:
        self.port, self.host = port or free_port(), host
        self.folder = folder / str(self.port)
        self.folder.mkdir(parents=True)
        self.config = self.folder / "server.conf"
        self.config.write_text(config)
        self.words = [
            binary or valkey_binary(),
            str(self.config),
            "--bind",
            host,
            "--dir",
            str(self.folder),
            "--protected-mode",
            "no",
        ]
        self.words += ["--port", "0", "--tls-port", str(self.port)] if tls else ["--port", str(self.port)]
        self.words += list(words)
        self.start()

    def start(self) -> None:
        """Start or restart the server."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=subprocess.STDOUT)

    def client(self, **options: Any) -> redis.Redis:
        """Returns a plain client of this server."""
        return redis.Redis(self.host, self.port, retry=None, **options)

    def ready(self, seconds: float = 20, **options: Any) -> Process:
        """Waits until the server answers. Returns the process itself."""
        deadline = time.monotonic() + seconds
        with self.client(**options) as client:
            while True:
                try:
                    client.ping()
                except redis.ConnectionError:
                    assert self.process.poll() is None, (self.folder / "log").read_text()
                    assert time.monotonic() < deadline, "a test server does not answer"
                    time.sleep(0.01)
                else:
                    return self

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        self.process.kill()
        self.process.wait()

    def halt(self) -> None:
        """Freeze the server with SIGSTOP."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume the frozen server."""
        os.kill(self.process.pid, signal.SIGCONT)


def until(what: Any, seconds: float = 20) -> None:
    """Wait until `what()` is true."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if what():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def followers(client: redis.Redis) -> int:
    """Returns the number of replicas that follow a master and have all of its data."""
    info = client.info("replication")
    found = [info.get(f"slave{n}") for n in range(int(info["connected_slaves"]))]
    return sum(isinstance(one, dict) and one["state"] == "online" for one in found)
