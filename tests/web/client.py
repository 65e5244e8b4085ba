"""The client of the test web, which starts its process, queries it and stops it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support import fork_server
from web.plan import Plan
from web.record import Hit, read

_opener = urllib.request.ProxyHandler({})


@dataclass(frozen=True)
class Web:
    """A running web. `plan` contains the actual port, so that its URLs are correct. `ca` is the file of the
    CA if the web uses TLS."""

    plan: Plan
    control: str
    pid: int
    ca: str = ""

    def url(self, host: int = 0, path: str = "/") -> str:
        return self.plan.url(host, path)

    def log(self) -> list[Hit]:
        """Returns all requests since the last reset, by start time. Requests in flight have `end` 0."""
        return read(self._ask("log").decode().splitlines(keepends=True))

    def reset(self) -> None:
        """Delete all recorded requests and the request counts of the URLs, so that flaky URLs fail again."""
        self._ask("reset")

    def stats(self) -> dict[str, float]:
        """Returns `requests`, `open` requests, `sent` bytes, `cpu` seconds of the process, `rss` in MiB, and
        `lag`, the largest one in s."""
        found: dict[str, float] = json.loads(self._ask("stats"))
        return found

    def _ask(self, what: str) -> bytes:
        opener = urllib.request.build_opener(_opener)  # without the proxies of the environment
        with opener.open(f"{self.control}/__control/{what}", timeout=60) as reply:
            body: bytes = reply.read()
        return body


@contextlib.contextmanager
def serve(plan: Plan, log: Path | str | None = None) -> Iterator[Web]:
    """Start the web of a plan in its own process. The web stops at the end of the block, or with this
    process.

    >>> with serve(Plan(pages=30)) as web:  # doctest: +SKIP
    ...     crawl(web.url()); hits = web.log()
    """
    command = [sys.executable, "-m", "web", "--plan", plan.to_json(), *(["--log", str(log)] if log else [])]
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
    process = fork_server.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield _ready(plan, process)
    finally:
        _end(process)


def _ready(plan: Plan, process: subprocess.Popen[bytes]) -> Web:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the web did not start (exit {process.wait()}); its words are on stderr")
    said: dict[str, Any] = json.loads(line)
    return Web(
        replace(plan, port=said["port"]),
        f"http://{plan.first}.0.0.1:{said['control']}",
        process.pid,
        said["ca"],
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
