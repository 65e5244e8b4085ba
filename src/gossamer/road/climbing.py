"""The ladder at work: where the visits of a host begin, when one climbs, and what is learned of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec

from gossamer.page import Failure, Page
from gossamer.politeness import ladder
from gossamer.politeness.blocks import Block, needs_rendering
from gossamer.politeness.ladder import Ladder, Learned
from gossamer.request import Request, split
from gossamer.road.rungs import Allowed
from gossamer.verdict import Verdict

RENDERING = "rendering"
TO_PEOPLE = ("login", "decoy")
"""Blocks that no rung helps against."""
TO_OWNERS = (407, 451)
"""Bare statuses that speak of a proxy or of the law, not of us."""


class Memory(Protocol):
    """What the fleet learned of hosts, as texts (`frontier.learning`)."""

    async def known(self, host: str) -> str: ...

    async def learn(self, host: str, change: Callable[[str], str]) -> str: ...


class Climb:
    """One visit on its way up. `request` names the rung that it is made on."""

    def __init__(self, request: Request, rungs: tuple[str, ...], known: Learned) -> None:
        self.began, self.probes = ladder.start(known, rungs)
        self.request = msgspec.structs.replace(request, rung=self.began)
        self.kind = self.why = ""
        self.below: tuple[Page | Failure, Verdict] | None = None
        """What the rung below brought."""
        self._rungs, self._known = rungs, known

    def higher(self, result: Page | Failure, block: Block | None, waits: float) -> bool:
        """Whether the visit goes on one rung higher after this answer; an error does not climb, nor who is told to wait `waits` seconds."""
        self.kind = told(result, block, self._rungs)
        if not self.kind:
            return False
        rung = self.request.rung or self.began
        self.why = f"{rung}: {block.line() if block is not None else 'the page is empty without scripts'}"
        up = ladder.climb(self._known, self._rungs, rung, self.kind) if not waits or self.probes else None
        if up is None:
            return False
        self.request = msgspec.structs.replace(self.request, rung=up)
        return True

    def instead(self, result: Page | Failure) -> tuple[Page | Failure, Verdict] | None:
        """What counts when the higher rung was not to be had: what the lower one brought."""
        had = not isinstance(result, Failure) or (result.later is None and result.sent)
        return None if had else self.below


class Climbing:
    """Climbs for the crawls that have more than one rung."""

    def __init__(self, memory: Memory, allowed: Allowed) -> None:
        self._memory, self._allowed = memory, allowed

    async def begin(self, request: Request, host: str) -> Climb | None:
        """A visit's climb; None where there is but one rung."""
        rungs = self._allowed(request)
        if len(rungs) < 2:
            return None
        held = Ladder.of(await self._memory.known(host))
        if held.fixed in rungs:
            rungs = (held.fixed,)
        return Climb(request, rungs, held.known(split(request.url)[2]))

    async def end(self, climb: Climb, host: str, result: Page | Failure) -> None:
        """Learn from a visit; from an error nothing."""
        if isinstance(result, Failure):
            return
        got = None if climb.kind and climb.kind != RENDERING else climb.request.rung
        learned = partial(
            ladder.after, path=split(climb.request.url)[2], began=climb.began, got=got, block=climb.kind, why=climb.why
        )
        await self._memory.learn(host, lambda text: learned(Ladder.of(text)).text())


def told(result: Page | Failure, block: Block | None, rungs: tuple[str, ...]) -> str:
    """The kind of block that an answer is, '' for none, `rendering` for a page that only a browser can fill."""
    if isinstance(result, Failure):
        return ""
    if block is not None and block.kind not in TO_PEOPLE:
        return block.kind if not block.bare or result.status not in TO_OWNERS else ""
    renders = "browser" in rungs and block is None
    return RENDERING if renders and needs_rendering(result.status, result.headers, result.body, result.url) else ""
