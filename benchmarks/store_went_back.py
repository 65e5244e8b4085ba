"""Crawls whose store loses its last writes: how many pages are missing, and how many rows are double?

    python benchmarks/store_went_back.py [--rounds 20] [--hosts 80] [--pages 100] [--age 0-30] [--delay 0.5]
                                         [--stores embedded alone replica takeover] [--seed 1]

At a random moment of each crawl, the append-only file of the store is copied. Some seconds later (`--age`),
the store is killed (`kill -9`) and started from the copy. In every second round, a worker is killed as well:
one of its processes, or all of them. A killed worker is started again. The number of pages is `--hosts` times
`--pages`. Each crawl writes JSON lines and PostgreSQL. The stores take turns:

embedded  `gossamer crawl` with two processes and the store of its data folder
alone     a fleet of two workers with one server
replica   the same; a replica follows the server, also when it went back, and Sentinels watch both
takeover  the same; the replica takes over before the killed server comes back from the copy

The exit code is 1 if a page is missing, a row is double, or a number of the summary is wrong. Then the log of the
workers is printed on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.runs import begin, children_of, command, end_all, job, kill, store_pid
from gossamer.app.job import JobOutput
from support.fleet_workers import Fleet, Server, Worker
from support.older_copy import OlderCopy, swap
from support.postgres import Postgres, running_postgres
from support.processes import Process, until
from support.sentinel import SERVICE, watched
from web import Web, preset, serve

ENDS = ("finished", "limited", "stopped", "cancelled", "failed")
LONGEST_S = 900.0
"""After this number of seconds, a crawl that has not ended counts as hung."""


class Loss(NamedTuple):
    """What one crawl lost. `age`: seconds between the copy and the kill. `again`: the number of pages that
    were fetched more than once. `wrong`: the faults. `log`: what the workers logged."""

    age: float
    victim: str
    again: int
    seconds: float
    wrong: list[str]
    log: str


class Embedded:
    """A crawl with two processes and the store of its data folder."""

    FILES = "/pages.jsonl"

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.data, self.delay = folder, folder / "data", options.delay
        self._files, self._copy = self.data / "store" / "appendonlydir", folder / "copy"

    def start(self, web: Web, outputs: list[str]) -> None:
        one = job(web.plan.seeds(), self.folder, delay=(self.delay, self.delay), processes=2)
        one.outputs = [JobOutput(output) for output in outputs]
        self._command = command(one)
        self._run()

    def copy(self) -> None:
        shutil.copytree(self._files, self._copy)

    def strike(self, victim: str) -> None:
        """Kills the store, and the victim with it. The main process stands still meanwhile, because it would
        start the store before its files are the older ones."""
        assert self._main.poll() is None, ("ended before the kill", (self.folder / "log").read_text()[-3000:])
        os.kill(self._main.pid, signal.SIGSTOP)
        pid, workers = store_pid(self.data), children_of(self._main.pid)
        # a worker process ends when it notices that the store is gone
        killed = {"process": workers[:1], "worker": [*workers, self._main.pid]}.get(victim, [])
        struck = [kill(one) for one in (*killed, pid)]
        assert all(struck)
        assert killed or not victim
        until(lambda: _is_dead(pid))
        swap(self._files, self._copy)
        if victim == "worker":
            self._main.wait()
            self._run()
        else:
            os.kill(self._main.pid, signal.SIGCONT)

    def end(self) -> dict[str, Any]:
        code = self._main.wait(LONGEST_S)
        said = (self.folder / "said").read_text()
        assert code == 0, (code, said, (self.folder / "log").read_text()[-3000:])
        found: dict[str, Any] = json.loads(said.splitlines()[-1])
        return found

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def close(self) -> None:
        end_all(self.data)

    def _run(self) -> None:
        with (self.folder / "said").open("w") as said, (self.folder / "log").open("a") as log:
            self._main = begin(self._command, stdout=said, stderr=log)


class OfFleet:
    """A crawl of a fleet with two workers."""

    FILES = "/"

    def __init__(self, folder: Path, options: argparse.Namespace, kind: str) -> None:
        self._stack = contextlib.ExitStack()
        self.delay, self.takeover = options.delay, kind == "takeover"
        broker = self._stack.enter_context(Server(folder / "broker"))
        self._sentinel: Process | None = None
        if kind == "alone":
            self.older = OlderCopy(folder)
            url = f"redis://127.0.0.1:{self.older.server.port}"
        else:
            service = self._stack.enter_context(watched(down_after=1000 if self.takeover else 60_000))
            self.older, self._sentinel = OlderCopy(folder, service.servers[0]), service.sentinels[0]
            url = service.url
        self._stack.callback(self.older.server.kill)
        self.fleet = self._stack.enter_context(Fleet(folder, url, [broker.url(0)]))
        self._workers: dict[str, Worker] = {}

    def start(self, web: Web, outputs: list[str]) -> None:
        for name in ("w0", "w1"):
            self._run(name)
        self.fleet.ready(2)
        words = [word for output in outputs for word in ("-o", output)]
        words += ["--delay", str(self.delay), "--allow-private", "127.0.0.0/8", "--quiet"]
        self.name = self.fleet.run("submit", *web.plan.seeds(), *words).strip()

    def copy(self) -> None:
        shutil.copytree(self.older.server.folder / "appendonlydir", self.older._copy)

    def strike(self, victim: str) -> None:
        self.older.server.kill()
        if victim == "process":
            kill(self._workers["w0"].children()[0])
        elif victim == "worker":
            self._workers["w0"].kill()
        if self.takeover:
            assert self._sentinel is not None
            with self._sentinel.client() as client:
                until(lambda: client.sentinel_master(SERVICE)["port"] != self.older.server.port, 60)
        self.older.back()
        self.older.server.ready(60)
        if victim == "worker":
            self._run("w0")

    def end(self) -> dict[str, Any]:
        deadline = time.monotonic() + LONGEST_S
        while True:
            with contextlib.suppress(AssertionError):  # the store is still away
                if self.fleet.status(self.name)["state"] in ENDS:
                    break
            said = [worker.said()[-2000:] for worker in self._workers.values()]
            assert time.monotonic() < deadline, said
            time.sleep(0.5)
        found: dict[str, Any] = self.fleet.json("status", self.name)
        return found

    def log(self) -> str:
        return "\n".join(worker.said() for worker in self._workers.values())

    def close(self) -> None:
        self._stack.close()

    def _run(self, name: str) -> None:
        self._workers[name] = self.fleet.worker(name, "--data", f"d-{name}")


def _is_dead(pid: int | None) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def once(
    kind: str, victim: str, postgres: Postgres, options: argparse.Namespace, chance: random.Random
) -> Loss:
    """Runs one crawl whose store goes back."""
    # few links, so that many URLs are known from one page only
    plan = preset("tiny", hosts=options.hosts, pages=options.pages, links=4, hrefs=6, fanout=2)
    postgres.ask("DROP SCHEMA public CASCADE")
    postgres.ask("CREATE SCHEMA public")
    with tempfile.TemporaryDirectory(prefix="gt-") as name, serve(plan) as web:
        folder = Path(name)
        (folder / "out").mkdir()
        expected = web.plan.must_fetch(sitemaps=False)
        one = Embedded(folder, options) if kind == "embedded" else OfFleet(folder, options, kind)
        try:
            began = time.monotonic()
            one.start(web, [str(folder / "out") + one.FILES, postgres.url])
            _wait(web, chance.uniform(0.05, 0.35) * len(expected), LONGEST_S)
            one.copy()
            at, age = time.monotonic(), chance.uniform(*options.age)
            _wait(web, 0.9 * len(expected), age)
            age = time.monotonic() - at
            one.strike(victim)
            summary = one.end()
            seconds = time.monotonic() - began
            files, log = Counter(_urls(folder.glob("out/*.jsonl"))), one.log()
        finally:
            one.close()
        asked = Counter((hit.host, hit.path) for hit in web.log() if hit.path != "/robots.txt")
    tables = Counter(url for (url,) in postgres.ask("SELECT requested_url FROM page"))
    wrong = [
        f"{place}: {text}"
        for place, found in (("files", files), ("PostgreSQL", tables))
        for text in _faults(expected, found)
    ]
    numbers = summary["state"], summary["pages"], summary["dead"], summary["pending"]
    if numbers != ("finished", len(expected), 0, 0):
        wrong.append(f"it ended as {numbers}")
    return Loss(age, victim, sum(n > 1 for n in asked.values()), seconds, wrong, log)


def _wait(web: Web, requests: float, seconds: float) -> None:
    """Waits until the web has received the number of requests, but not longer than the number of seconds."""
    deadline = time.monotonic() + seconds
    while web.stats()["requests"] < requests and time.monotonic() < deadline:
        time.sleep(0.02)


def _urls(parts: Iterator[Path]) -> Iterator[str]:
    for part in parts:
        for line in part.read_bytes().splitlines():
            yield json.loads(line)["requested_url"]


def _faults(expected: set[str], found: Counter[str]) -> Iterator[str]:
    missing, double = expected - found.keys(), found.total() - len(found)
    if missing:
        yield f"{len(missing)} pages missing"
    if double:
        yield f"{double} rows double"
    if more := found.keys() - expected:
        yield f"{len(more)} rows of unknown pages"


def span(text: str) -> tuple[float, float]:
    """Returns the two ends of a span such as `0-30`, or a number twice."""
    low, _, high = text.partition("-")
    return float(low), float(high or low)


def main() -> None:
    """Runs all rounds, and prints a line for each."""
    kinds = ("embedded", "alone", "replica", "takeover")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("rounds", 20), ("hosts", 80), ("pages", 100), ("delay", 0.5), ("seed", 1)):
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--age", type=span, default=(0.0, 30.0))
    parser.add_argument("--stores", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()
    chance, bad = random.Random(options.seed), 0
    with running_postgres() as postgres:
        for n in range(options.rounds):
            kind = options.stores[n % len(options.stores)]
            victim = chance.choice(("process", "worker")) if n // len(options.stores) % 2 else ""
            loss = once(kind, victim, postgres, options, chance)
            bad += bool(loss.wrong)
            print(
                f"{n + 1}: {kind}, the copy was {loss.age:.1f} s old, killed: store"
                f"{victim and f' and a {victim}'}; {loss.again} pages fetched again, {loss.seconds:.0f} s: "
                + ("; ".join(loss.wrong) or "0 missing, 0 double"),
                flush=True,
            )
            if loss.wrong:
                print(loss.log, file=sys.stderr)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
