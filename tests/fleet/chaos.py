"""Injects faults, one after another, into a fleet that crawls the test web.

The test injects a few faults, the benchmark sixty. A supervisor restarts dead processes, as systemd or
Kubernetes would, and nothing else helps the fleet. The seed determines the kind, the time and the target of
each fault.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.app.open_store import open_url
from gossamer.errors import GossamerError
from gossamer.frontier.summary import crawl_counts
from gossamer.state.schedules import Schedules
from support.fleet_workers import Fleet, Server, Worker, until
from support.machines_apart import Machine, Machines, Together
from support.moving_clock import faked
from support.sentinel import Watched
from web import Plan, Web, serve

BACK = 1.5
"""Seconds until the supervisor restarts a dead process."""
ENDS = ("finished", "limited", "stopped", "cancelled", "failed")
SITE = """
from gossamer import Item, Site
site = Site("all", hosts={hosts!r}, seeds={seeds!r})
class Thing(Item, key="url"):
    url: str
@site.page()
def thing(page):
    yield Thing(url=page.url)
    yield from page.follow("a")
"""


class Strike(NamedTuple):
    """One planned fault: the number of requests after which it strikes, its kind, and its target (0 to 1, as
    a fraction of all workers)."""

    requests: int
    kind: str
    whom: float


Hit = Callable[["Chaos", str, float], bool]
"""Injects a fault into a worker or into a part that the worker depends on. Returns whether there was a
target."""


def planned(kinds: Sequence[str], faults: int, requests: int, seed: int) -> list[Strike]:
    """Returns the faults that the seed determines, as many of each kind, ordered by time."""
    rng = random.Random(seed)
    moments = sorted(rng.uniform(0.03, 0.93) * requests for _ in range(faults))
    each = [kinds[n % len(kinds)] for n in range(faults)]
    rng.shuffle(each)
    return [Strike(round(moment), kind, rng.random()) for moment, kind in zip(moments, each, strict=True)]


def machines(workers: int, near: float = 0.0, far: float = 0.0) -> list[Machine]:
    """Returns the machines of the test, with one machine per worker. The delay between a worker and the other
    machines rises from `near` to `far` seconds."""
    step = (far - near) / max(1, workers - 1)
    others = [Machine("desk"), Machine("store"), Machine("broker"), Machine("web", network="10.0.0.0/16")]
    return [*others, *(Machine(f"w{n}", near + n * step) for n in range(workers))]


@contextmanager
def field(folder: Path, places: Machines | Together, plan: Plan, workers: int) -> Iterator[tuple[Chaos, Web]]:
    """Starts the servers, the workers and the web, each on its own machine."""
    with ExitStack() as stack:
        with places.at("store"):
            store = Watched(host=places.address["store"])
        stack.callback(store.close)
        with places.at("broker"):
            broker = stack.enter_context(Server(folder / "broker", host=places.address["broker"]))
        with places.at("web"):
            web = stack.enter_context(serve(plan))
        chaos = Chaos(folder, store, broker, places, workers)
        stack.callback(chaos.close)
        yield chaos, web


class Chaos:
    """A fleet into which faults are injected."""

    def __init__(
        self, folder: Path, store: Watched, broker: Server, places: Machines | Together, workers: int
    ) -> None:
        self.fleet = Fleet(folder, store.url, [broker.url(0)])
        self.store, self.broker, self.places = store, broker, places
        self.parts: dict[str, Worker] = {}
        """Workers and schedulers, keyed by name."""
        self.busy: set[str] = set()
        """Workers and schedulers that must not be struck now, because they are dead or frozen."""
        self.asleep: list[tuple[str, float, float]] = []
        """Workers that were frozen: name, start and end (monotonic)."""
        self.told: list[str] = []
        """The faults, in the order in which they struck."""
        self.clocks = {f"w{n}": folder / f"clock-w{n}" for n in range(workers)}
        self._due: list[tuple[float, Callable[[], object]]] = []
        for name in (*self.clocks, "s0", "s1"):
            self.start(name)

    def start(self, name: str) -> None:
        """Start a worker (`wN`) on its machine, with a clock of its own, or start a scheduler (`sN`)."""
        if name not in self.clocks:
            self.parts[name] = Worker(self.fleet, name, ["-m", "gossamer", "scheduler", "--json"])
            return
        if not self.clocks[name].exists():
            self.clocks[name].write_text("+0\n")
        clock = faked(FAKETIME_TIMESTAMP_FILE=str(self.clocks[name]), FAKETIME_CACHE_DURATION="1")
        before = [
            "env",
            *(f"{key}={value}" for key, value in clock.items() if key[:8] in ("FAKETIME", "LD_PRELO")),
        ]
        with self.places.at(name):
            self.parts[name] = self.fleet.worker(name, "--data", f"d-{name}", before=before)

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        """Call `what` after the given number of seconds."""
        self._due.append((time.monotonic() + seconds, what))

    def supervise(self) -> None:
        """Restart dead processes and make the calls that are due."""
        now = time.monotonic()
        due, self._due = (
            [one for one in self._due if one[0] <= now],
            [one for one in self._due if one[0] > now],
        )
        for _, what in due:
            what()
        for name, part in list(self.parts.items()):
            if part.process.poll() is not None and name not in self.busy:
                self.busy.add(name)
                self.later(BACK, lambda name=name: (self.busy.discard(name), self.start(name)))  # type: ignore[misc]

    def crawl(self, web: Web, kinds: dict[str, Hit], strikes: list[Strike], delay: float) -> dict[str, Any]:
        """Start a run of a schedule, inject the faults at their times, and wait for the end of the run.
        Returns its summary."""
        plan = web.plan
        names = [plan.authority(host) for host in plan.all_hosts()]
        (self.fleet.folder / "all.py").write_text(SITE.format(hosts=names, seeds=plan.seeds()))
        self.fleet.ready(len(self.clocks))
        words = ["-o", "out/", "--delay", str(delay), "--allow-private", f"{plan.first}.0.0.0/8", "--quiet"]
        self.fleet.run("schedule", "add", "chaos", "0 0 1 1 *", "all.py", *words)
        name = self.fleet.run("schedule", "run", "chaos", "--quiet").strip()
        waiting, looked, summary = list(strikes), 0.0, dict[str, Any](state="running")
        began = time.monotonic()
        while summary["state"] not in ENDS:
            assert time.monotonic() - began < 3600, (summary, self.told)
            self.supervise()
            seen = web.stats()["requests"] if waiting else 0
            for strike in [one for one in waiting if one.requests <= seen]:
                if name_of := self._struck(kinds[strike.kind], strike.whom):
                    waiting.remove(strike)
                    self.told.append(
                        f"{time.monotonic() - began:7.1f} s, {seen:.0f} requests: {strike.kind} {name_of}"
                    )
                    break
            if time.monotonic() - looked > 2:
                looked, summary = time.monotonic(), self._status(name) or summary
            time.sleep(0.05)
        outcome = self._outcome(name)
        return self.fleet.json("status", name) | {"unstruck": len(waiting)} | outcome

    def _struck(self, strike: Hit, whom: float) -> str:
        """Strike the chosen worker, or the next live worker after it. Returns the name of that worker, or an
        empty string if no worker could be struck."""
        names = list(self.clocks)
        first = int(whom * len(names))
        return next((name for name in names[first:] + names[:first] if strike(self, name, whom)), "")

    def _status(self, name: str) -> dict[str, Any] | None:
        try:
            return self.fleet.status(name)
        except AssertionError:  # the store is unreachable at the moment
            return None

    def _outcome(self, name: str) -> dict[str, Any]:
        """Returns the states of the schedule's runs, once the schedulers have stored them, and the number of
        expired leases."""

        async def look() -> tuple[list[str], int]:
            store = await open_url(self.fleet.store, embedded=False)
            try:
                return [run.state for run in await Schedules(store).ended("chaos")], (
                    await crawl_counts(store, name)
                )["lapsed"]
            finally:
                await store.close()

        def ended() -> dict[str, Any] | None:
            self.supervise()
            try:
                runs, lapsed = asyncio.run(look())
            except GossamerError:  # the store is unreachable at the moment
                return None
            return {"runs": runs, "lapsed": lapsed} if runs else None

        found: dict[str, Any] = until("the run's end is written down", ended)
        return found

    def close(self) -> None:
        """Kills all processes."""
        for part in (*self.fleet.workers, *self.parts.values()):
            if part.process.poll() is None:
                part.kill()
