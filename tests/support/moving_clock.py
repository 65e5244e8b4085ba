"""A real store whose clock a test can move: a Valkey under libfaketime, which reads its time from a file."""

from __future__ import annotations

import glob
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis

from conftest import valkey_binary, wait_for

LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"


class Moved:
    """A store at `url` with its own clock. `move` shifts the clock, and `set` sets it to a time."""

    def __init__(self, url: str, file: Path) -> None:
        self.url, self._file, self.offset = url, file, 0.0

    def move(self, seconds: float) -> None:
        """Move the clock by a number of seconds. Returns when the store uses the new time."""
        self.offset += seconds
        aside = self._file.with_suffix(".new")
        aside.write_text(f"{self.offset:+.3f}\n")
        aside.replace(self._file)
        with redis.Redis.from_url(self.url) as client:
            while abs(client.time()[0] - self.now()) > 2:
                time.sleep(0.01)

    def set(self, moment: str) -> None:
        """Set the clock to a time such as `2026-03-29T00:59:58Z`."""
        self.move(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() - self.now())

    def now(self) -> float:
        """Returns the time of the store, in seconds since the epoch."""
        return time.time() + self.offset

    def stamp(self) -> str:
        """Returns the time of the store, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="seconds")


def faked(**more: str) -> dict[str, str]:
    """Returns the environment of a process with a clock of its own. Only its time of day moves, never the
    monotonic clock."""
    found = glob.glob(LIBRARY)
    if not found:
        pytest.skip("no faketime here: ./test gets it where apt-get is")
    return {**os.environ, "LD_PRELOAD": found[0], "FAKETIME_DONT_FAKE_MONOTONIC": "1", **more}


@contextmanager
def moved_store() -> Iterator[Moved]:
    """A store for one test."""
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path, file = f"{folder}/v.sock", Path(folder) / "clock"
        env = faked(FAKETIME_TIMESTAMP_FILE=str(file), FAKETIME_NO_CACHE="1")
        file.write_text("+0\n")
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"]
        server = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL, env=env)
        try:
            wait_for(path, server)
            yield Moved(f"unix://{path}", file)
        finally:
            server.kill()
            server.wait()
