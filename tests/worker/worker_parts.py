"""A worker for tests: real parts over a real store, and a simulated network that answers by URL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer import url as urls
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.politeness.pace import Delay
from gossamer.sinks.output_spec import open_output
from gossamer.store.store import Store
from gossamer.url.scope import Scope
from gossamer.worker.climbing import NoIdentity, Rung, Rungs
from gossamer.worker.committer import Committer, gather_limits
from gossamer.worker.crawl_scope import CrawlScope, SeedHosts
from gossamer.worker.fetching import Fetching
from gossamer.worker.link_intake import LinkIntake, TakenLinks, UrlPlaces
from gossamer.worker.loop import ClaimLimits, RunControl, Worker
from gossamer.worker.min_depth import MAX_EXACT_DEPTH, MinDepthVisits
from gossamer.worker.outputs import Outputs
from gossamer.worker.reader import Reader, ReadSettings
from gossamer.worker.robots_gate import HostTreatment, RobotsGate
from gossamer.worker.store_watch import StoreWatch
from gossamer.worker.visitor import Visitor, VisitSettings, VisitSteps

SEED = "http://a.example/"
NONE = Delay(0, 0)
Answer = int | str | bytes | Failure | Exception | tuple[int, dict[str, str], bytes]


class Net:
    """A simulated collector. Each URL gives its answers in turn, and the last answer repeats. A text stands
    for a page with that body, and a number for an empty response with that status."""

    name = "net"

    def __init__(self, answers: dict[str, Any] | None = None, wait: float = 0.0) -> None:
        self.answers: dict[str, Any] = answers or {}
        self.wait = wait
        self.asked: list[str] = []
        self.times: list[float] = []

    async def collect(
        self, request: Request, headers: dict[str, str], guise: object = None
    ) -> Page | Failure:
        self.asked.append(request.url)
        self.times.append(time.monotonic())
        if self.wait:
            await asyncio.sleep(self.wait)
        answer = self.answers.get(request.url, 404 if request.url.endswith("/robots.txt") else "")
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Failure) else page(request.url, answer)

    async def close(self) -> None:
        """Does nothing, because the collector holds no resources."""


def page(url: str, answer: Any) -> Page:
    if isinstance(answer, int):
        answer = (answer, {}, b"")
    elif isinstance(answer, str | bytes):
        body = answer.encode() if isinstance(answer, str) else answer
        answer = (200, {"content-type": "text/plain" if url.endswith(".txt") else "text/html"}, body)
    status, headers, body = answer
    return Page(url, status, list(headers.items()), body, time.time(), 0.01, len(body), collector="net")


def failure(reason: str, final: bool = False) -> Failure:
    return Failure(reason, "why", time.time(), 0.01, final=final)


def links(*targets: str) -> str:
    return "<title>t</title>" + "".join(f'<a href="{target}">x</a>' for target in targets)


def only(net: Net) -> Rungs:
    """Returns rungs that use the same collector for all requests."""
    rung = Rung("plain", net, NoIdentity())
    return lambda _: rung


class NoRedirects:
    """Seed redirects that start empty, and to which a test may add."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    async def look(self, name: str) -> tuple[str, list[tuple[str, str]]]:
        return "running", self.pairs

    async def anchor(self, name: str, source: str, target: str) -> None:
        self.pairs.append((source, target))


class Road:
    """The parts of one worker, connected as `assemble` does. A test may replace each part before `run`."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        net: Net,
        *,
        retries: tuple[float, ...] = (),
        output: str = "out.jsonl",
        obey: bool = False,
        fixed: Delay | None = NONE,
        room: int = 50_000,
        cap: int = 5000,
        concurrency: int = 8,
        seeds: tuple[str, ...] = (SEED,),
        deadline: float | None = None,
        tables: tuple[Any, ...] = (),
        depth: int = 50,
        at_hand: int = 32 << 20,
        held_claims: Any = None,
        **policy: Any,
    ) -> None:
        self.store, self.net, self.folder = store, net, folder
        given = {
            "delay": -1 if fixed is None else round(fixed.low * 1000),
            "per_host": 100,
            "obey_robots": obey,
            "depths": depth < MAX_EXACT_DEPTH,
        } | policy
        self.frontier = Frontier(store, "c", Policy(**given))
        own = {urls.host(seed) for seed in seeds}
        self.link_intake = LinkIntake(
            Scope.of(list(seeds), "host", depth=depth),
            UrlPlaces(store.seed, self.frontier.remainder, lambda host: 0, urls.key),
            own=own.__contains__,
            cap=cap,
            room=room,
            depths=depth < MAX_EXACT_DEPTH,
        )
        self.reader = Reader([], self.link_intake, urls.key, ReadSettings(pages=True))
        self.gate = RobotsGate(
            self.frontier,
            only(net),
            agent="gossamer",
            usual=HostTreatment(retries, fixed, obey),
            opens=self.link_intake.scope.allows_port,
        )
        self.surprises: list[tuple[Claim, Exception]] = []
        self.stop, self.state = asyncio.Event(), "running"
        self.scope = CrawlScope(
            "c",
            self.link_intake.scope,
            self.link_intake,
            SeedHosts(seeds, anywhere=False),
            NoRedirects(),
            self.frontier,
            lambda host: 0,
            admits=True,
        )
        fetching = Fetching(
            only(net),
            self.gate.treat,
            self.reader,
            same=self.link_intake.same,
        )
        self.visitor = Visitor(
            VisitSettings("c", "w"),
            self.gate,
            fetching,
            self.reader,
            self.scope,
            VisitSteps(
                MinDepthVisits(self.frontier, self.link_intake, at_hand) if depth < MAX_EXACT_DEPTH else None
            ),
        )
        self.path = folder / output
        files: Any = [open_output(str(self.path), {"page": []}, owner="c")]
        self.outputs = Outputs(self.frontier, lock=folder / "lock", files=files, tables=tables)
        self.committer = Committer(
            self.frontier, self.outputs, limits=gather_limits(1, 1, counted="size_limit" in policy)
        )
        self.worker = Worker(
            self.frontier,
            self.visitor,
            self.committer,
            limits=ClaimLimits(1, concurrency),
            control=RunControl(
                self._state,
                self.stop,
                lambda claim, error: self.surprises.append((claim, error)),
                lambda: deadline,
            ),
            held_claims=held_claims,
            store_watch=StoreWatch(self.frontier, self.scope.repeat),
        )

    async def _state(self) -> str:
        return self.state

    async def add(self, *found: str | Request, flags: str = "") -> None:
        taken = TakenLinks()
        for one in found:
            self.link_intake.request(one if isinstance(one, Request) else Request(one), taken, flags=flags)
        await self.frontier.add(taken.adds)

    async def claim(self, k: int = 10) -> list[Claim]:
        return (await self.frontier.claim(0, k)).claims

    async def run(self) -> str:
        """Opens the outputs, works to the end, and releases the outputs."""
        await self.outputs.open()
        try:
            return await self.worker.run()
        finally:
            self.outputs.release()

    async def counts(self) -> dict[str, int]:
        raw = await self.store.client.hgetall("{b:000}c:n")
        return {k.decode(): int(v) for k, v in raw.items() if k != b"tat"}

    async def leases(self) -> int:
        return int(await self.store.client.zcard("{b:000}c:l"))

    async def adds_up(self) -> bool:
        n = await self.counts()
        skipped = sum(v for k, v in n.items() if k.startswith("skip:"))
        ended = sum(n.get(k, 0) for k in ("pages", "redirected", "failed", "dead"))
        return n.get("found", 0) == ended + n.get("open", 0) - n.get("infra", 0) + skipped


Make = Callable[..., Road]


async def until(said: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until `said()` returns something true."""
    deadline = time.monotonic() + seconds
    while True:
        found = said()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.01)
