"""Faults, one after another, against a fleet that crawls the test web; and a judge of what is left. The test strikes a few times,
the benchmark sixty.

A supervisor starts again what died, as systemd or Kubernetes would; nobody else helps.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from fleet.crews import Fleet, Server, Worker
from servers.sentinel import Watched
from web import Web
from web.judge import delays, fetched, violations

KINDS = ("child", "main", "all", "broker", "master", "freeze", "clock")
"""kill -9 of a process, of a worker, of all workers, of the broker, of the store's master; SIGSTOP of a worker beyond its lease;
a worker whose clock is an hour behind."""
FREEZE = 35.0
"""Seconds that a worker stands still: longer than a lease."""
BACK = 1.5
"""Seconds until a supervisor starts again what died."""


class Chaos:
    """A fleet under fire."""

    def __init__(self, folder: Path, watched: Watched, broker: Server, workers: int, rng: random.Random) -> None:
        self.fleet = Fleet(folder, watched.url, [broker.url(0)])
        self._watched, self._broker, self._rng = watched, broker, rng
        self._workers: dict[str, Worker] = {}
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._frozen: set[str] = set()
        self.struck: Counter[str] = Counter()
        for number in range(workers):
            self._start(f"w{number}")

    def _start(self, name: str, *before: str) -> None:
        self._workers[name] = self.fleet.worker(name, "--data", f"d-{name}", before=before)

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + seconds, what))

    def supervise(self) -> None:
        """Start again what died; carry out what is due."""
        now = time.monotonic()
        due, self._due = [one for one in self._due if one[0] <= now], [one for one in self._due if one[0] > now]
        for _, what in due:
            what()
        for name, worker in list(self._workers.items()):
            if worker.process.poll() is not None and name not in self._frozen:
                self._frozen.add(name)
                self._later(BACK, lambda name=name: (self._frozen.discard(name), self._start(name))[0])  # type: ignore[misc]

    def strike(self, kind: str) -> bool:
        """One fault; whether there was something to strike."""
        alive = [n for n, w in self._workers.items() if w.process.poll() is None and n not in self._frozen]
        if not alive:
            return False
        name = self._rng.choice(alive)
        worker = self._workers[name]
        if kind == "child":
            if not (children := worker.children()):
                return False
            os.kill(self._rng.choice(children), signal.SIGKILL)
        elif kind == "main":
            worker.kill()
        elif kind == "all":
            for one in alive:
                self._workers[one].kill()
        elif kind == "broker":
            if self._broker.process is None or self._broker.process.poll() is not None:
                return False
            self._broker.kill()
            self._later(BACK, self._broker.start)
        elif kind == "master":
            return self._master()
        elif kind == "freeze":
            worker.signal(signal.SIGSTOP)
            self._frozen.add(name)
            self._later(FREEZE, lambda: (worker.signal(signal.SIGCONT), self._frozen.discard(name))[0])
        elif kind == "clock":
            worker.kill()
            self._frozen.add(name)
            self._later(BACK, lambda: (self._frozen.discard(name), self._start(name, "faketime", "-f", "-1h"))[0])
        self.struck[kind] += 1
        return True

    def _master(self) -> bool:
        """Kill the store's master, if it has a replica that follows; Sentinel makes that the master."""
        for server in self._watched.servers:
            if server.process.poll() is not None:
                return False
            try:
                with server.client() as client:
                    info: Any = client.info("replication")
            except redis.RedisError:  # it is just being started
                return False
            if info["role"] == "master" and info["connected_slaves"]:
                server.kill()
                self._later(8.0, lambda server=server: server.start())  # type: ignore[misc]
                self.struck["master"] += 1
                return True
        return False

    def crawl(self, web: Web, strikes: list[str], pages: int, **options: str) -> dict[str, Any]:
        """Submit, strike at random moments of the crawl, wait for its end; its summary."""
        self.fleet.ready(1)
        name = self.fleet.submit(*web.plan.seeds(), output="out/", name="chaos", **options)
        moments = sorted(self._rng.uniform(0.03, 0.93) * pages for _ in strikes)
        waiting = list(zip(moments, strikes, strict=True))
        looked, state = 0.0, "running"
        deadline = time.monotonic() + 3600
        summary: dict[str, Any] = {}
        while state not in ("finished", "limited", "stopped", "failed"):
            assert time.monotonic() < deadline, summary
            self.supervise()
            if waiting and web.stats()["requests"] >= waiting[0][0] and self.strike(waiting[0][1]):
                waiting.pop(0)
            if time.monotonic() - looked > 2:
                looked = time.monotonic()
                try:
                    summary = self.fleet.json("status", name)
                    state = summary["state"]
                except AssertionError:  # the store is away just now
                    pass
            time.sleep(0.05)
        return summary

    def wrong(self, web: Web, summary: dict[str, Any], delay: float) -> list[str]:
        """What a fault broke: pages or rows that are missing or twice, starts too close to each other."""
        log = web.log()
        rows = [row["url"] for row in self.fleet.rows()]
        wanted = set(fetched(log))
        faults = []
        if summary["state"] != "finished" or summary["pending"] or summary["dead"] or summary["failed"]:
            faults.append(f"it ended as {summary}")
        if missing := wanted - set(rows):
            faults.append(f"{len(missing)} pages without a row, such as {min(missing)}")
        if len(rows) != len(set(rows)):
            faults.append(f"{len(rows) - len(set(rows))} rows twice")
        close = violations(log, delays(web.plan, delay))
        if close and not self.struck["freeze"]:
            faults.append(f"{len(close)} starts too close, such as {close[0]}")
        return faults

    def close(self) -> None:
        """End all workers."""
        for worker in self.fleet.workers:
            if worker.process.poll() is None:
                worker.kill()
