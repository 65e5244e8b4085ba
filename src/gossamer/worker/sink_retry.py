"""How the outages of stores of rows are waited for: asked again, told once, never longer than a stop allows."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gossamer.errors import SinkAway

FIRST, LONGEST = 0.1, 5.0
"""Seconds until it is asked again: twice as long each time."""
TOLD = 1.0
"""Seconds of an outage after which it is told of."""

Say = Callable[[str, bool], Awaitable[None]]
"""Hears a line, and whether an outage goes on."""
Result = TypeVar("Result")


class Waiting:
    """The outage of a process's outputs, if there is one. Without `say` nothing is waited for: SinkAway is
    raised; so it is once `stop` is set, or the `deadline` (monotonic) is over, after a last try."""

    def __init__(
        self, say: Say | None, stop: asyncio.Event | None = None, deadline: float | None = None
    ) -> None:
        self._say, self._stop = say, stop or asyncio.Event()
        self._deadline = math.inf if deadline is None else deadline
        self._since = 0.0
        self._pause, self._next = FIRST, 0.0
        self._told = ""

    async def through(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """What the call returns, as soon as its store can be worked with."""
        while True:
            last = self._stop.is_set() or time.monotonic() >= self._deadline
            try:
                result = await call()
            except SinkAway as error:
                await self.away(error)
                if last:
                    raise SinkAway(f"{error}; nothing is lost: run the same command again") from error
                with contextlib.suppress(TimeoutError):
                    until = min(self._next, self._deadline) - time.monotonic()
                    await asyncio.wait_for(self._stop.wait(), max(0.001, until))
            else:
                await self.back()
                return result

    @property
    def early(self) -> bool:
        """Whether it is too early to ask again."""
        return time.monotonic() < self._next

    async def away(self, error: SinkAway) -> None:
        """A store does not answer. Raises the error where nobody waits."""
        if self._say is None:
            raise error
        now = time.monotonic()
        self._since = self._since or now
        self._next = now + self._pause
        self._pause = min(2 * self._pause, LONGEST)
        if not self._told and now - self._since >= TOLD:
            self._told = str(error)
            await self._say(f"{error}: waiting for it", True)

    async def back(self) -> None:
        """It answers."""
        if self._told and self._say is not None:
            await self._say(f"the output answers again after {time.monotonic() - self._since:.0f} s", False)
        self._since, self._pause, self._next, self._told = 0.0, FIRST, 0.0, ""
