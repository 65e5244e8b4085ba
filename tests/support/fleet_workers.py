"""Servers and workers as processes that a test can stop, kill and restart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import redis

from conftest import valkey_binary
from gossamer.app.open_store import open_url
from gossamer.errors import GossamerError
from gossamer.frontier.summary import summary
from gossamer.model.summary import Summary
from gossamer.state.workers import WorkerRecords
from support import fork_server
from support.processes import free_port

SRC = Path(__file__).parents[2] / "src"
WAIT = 60.0
Result = TypeVar("Result")


def until(what: str, call: Any, seconds: float = WAIT) -> Any:
    """Wait until `call()` returns something true. Returns that result. Sleeps longer after a call that takes
    longer, such as a command, because other tests need the processor."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := call():
            return found
        now = time.monotonic()
        assert now < deadline, f"{what}: not within {seconds} s"
        time.sleep(min(1.0, max(0.05, 4 * (now - began))))


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine in an event loop of its own, because the test may be in one. The loop's thread is on the
    machine (`machines_apart`) of the caller."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def _summary(store_url: str, name: str) -> Summary:
    store = await open_url(store_url, embedded=False)
    try:
        return await summary(store, name)
    finally:
        await store.close()


async def _states(store_url: str) -> list[str]:
    store = await open_url(store_url, embedded=False)
    try:
        return [worker.state for worker in await WorkerRecords(store).all()]
    finally:
        await store.close()


class Server:
    """A Valkey server with an append-only file, on its own loopback port."""

    def __init__(
        self, folder: Path, binary: str = "", host: str = "127.0.0.1", more: Sequence[str] = ()
    ) -> None:
        self.more = more
        self.folder, self.host, self.port, self._binary = folder, host, free_port(), binary or valkey_binary()
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, db: int) -> str:
        """Returns the URL of one of the server's databases."""
        return f"valkey://{self.host}:{self.port}/{db}"

    def start(self) -> None:
        """Start the server with its existing data."""
        self.folder.mkdir(exist_ok=True)
        words = [
            "--port",
            str(self.port),
            "--bind",
            self.host,
            "--protected-mode",
            "no",
            "--dir",
            str(self.folder),
            "--save",
            "",
            "--appendonly",
            "yes",
            *self.more,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([self._binary, *words], stdout=log, stderr=log)
        until("the server answers", self.answers)

    def answers(self) -> bool:
        """Returns whether the server answers."""
        with contextlib.suppress(redis.RedisError), redis.Redis(self.host, self.port) as client:
            return bool(client.ping())
        return False

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Worker:
    """One `gossamer worker` process, or a plain Celery worker, with its log file."""

    def __init__(self, fleet: Fleet, name: str, words: Sequence[str], before: Sequence[str] = ()) -> None:
        self.name, self.log = name, fleet.folder / f"{name}.log"
        with self.log.open("ab") as log:
            self.process = fork_server.Popen(
                [*before, sys.executable, *words],
                stdout=log,
                stderr=log,
                cwd=fleet.folder,
                env=fleet.env(),
                start_new_session=True,
            )

    def children(self) -> list[int]:
        """Returns the pids of the worker's crawling processes."""
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        return [int(pid) for pid in found.stdout.split()]

    def signal(self, number: int) -> None:
        """Sends a signal to all processes of the worker."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Sends SIGKILL to all processes of the worker."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Sends SIGTERM to the main process. Returns its exit code."""
        self.process.terminate()
        return self.process.wait(WAIT)

    def said(self) -> str:
        """Returns the worker's log."""
        return self.log.read_text()


class Fleet:
    """Workers on one store, with a shared folder."""

    def __init__(
        self, folder: Path, store: str, brokers: Sequence[str], slice_: str = "5s", src: Path = SRC
    ) -> None:
        """`src` is the source folder whose gossamer the commands and workers run."""
        self.folder, self.store, self.brokers, self.slice, self.src = folder, store, brokers, slice_, src
        self.workers: list[Worker] = []

    def env(self) -> dict[str, str]:
        """Returns the environment of all commands of the fleet."""
        base = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")}
        own = {
            "STORE": self.store,
            "BROKER": ",".join(self.brokers),
            "SLICE": self.slice,
            "RETRIES": "0.1,0.2,0.3",
        }
        return (
            base | {"PYTHONPATH": str(self.src)} | {f"GOSSAMER_{name}": value for name, value in own.items()}
        )

    def run(self, *words: str, code: int = 0) -> str:
        """Runs a command, which must exit with `code`. Returns its output."""
        done = fork_server.run(
            [sys.executable, "-m", "gossamer", *words],
            env=self.env(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, (
            done.stdout + done.stderr,
            *(worker.said()[-2000:] for worker in self.workers),
        )
        return done.stdout if code == 0 else done.stderr

    def json(self, *words: str) -> Any:
        """Returns the JSON output of a command."""
        return json.loads(self.run(*words, "--json"))

    def status(self, name: str) -> dict[str, Any]:
        """Returns the summary of a crawl, without the command that prints it, which would take longer."""
        try:
            found: dict[str, Any] = msgspec.to_builtins(run_apart(_summary(self.store, name)))
        except GossamerError as error:  # as where the command fails
            raise AssertionError(str(error)) from error
        return found

    def worker(self, name: str = "w", *words: str, processes: int = 1, before: Sequence[str] = ()) -> Worker:
        """Start a worker. `before` is a command that wraps the worker's command."""
        own = ["-m", "gossamer", "worker", "-n", name, "--processes", str(processes), *words]
        self.workers.append(Worker(self, name, own, before))
        return self.workers[-1]

    def celery(self, name: str = "w", lane: str = "http") -> Worker:
        """Start a worker with the plain Celery command."""
        own = ["-m", "celery", "-A", "gossamer.fleet", "worker", "-Q", lane, "-n", f"{name}@%h", "-c", "1"]
        self.workers.append(Worker(self, name, own))
        return self.workers[-1]

    def ready(self, count: int) -> None:
        """Wait until `count` workers are running."""

        def states() -> list[str]:
            if self.src != SRC:  # only that version knows its records
                return [worker["state"] for worker in self.json("workers", "list")]
            return run_apart(_states(self.store))

        until(f"{count} workers", lambda: states().count("running") >= count)

    def submit(self, *targets: str, **options: str) -> str:
        """Submit a crawl of the test web. Returns the crawl's name."""
        words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
        return self.run("submit", *targets, "--allow-private", "127.0.0.0/8", "--quiet", *words).strip()

    def ended(self, name: str, seconds: float = WAIT) -> dict[str, Any]:
        """Wait until a crawl has ended. Returns its summary."""

        ends = ("finished", "limited", "stopped", "cancelled", "failed")
        try:
            until(f"{name} ends", lambda: self.status(name)["state"] in ends, seconds)
        except AssertionError as error:
            raise AssertionError(
                f"{error}; {self.json('status', name)}; {[w.said()[-3000:] for w in self.workers]}"
            ) from None
        found: dict[str, Any] = self.json("status", name)
        return found

    def rows(self, folder: str = "out") -> list[dict[str, Any]]:
        """Returns all rows in the JSON lines files of a folder."""
        return [
            json.loads(line)
            for part in sorted((self.folder / folder).glob("*.jsonl"))
            for line in part.read_bytes().splitlines()
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()
