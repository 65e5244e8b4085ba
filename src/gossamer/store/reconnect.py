"""Waiting for a store that is away: one prober with a back-off asks, all callers wait for what it finds.

A fleet's worker waits for ever, a door not at all. The log gets one line when an outage begins and one when
it ends.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

from gossamer.store.store_errors import passing

FIRST, LONGEST = 0.1, 1.0
"""Seconds between two probes: they double from the first to the longest, less up to a quarter at random."""
CALM = 5.0
"""Seconds without trouble after which the waits begin from the first again."""
_log = logging.getLogger("gossamer.store")


class Patience:
    """How long one client waits. `probe` raises while the store cannot be worked with; `where` is its URL,
    masked."""

    def __init__(self, seconds: float, probe: Callable[[], Awaitable[None]], where: str) -> None:
        self.seconds = seconds
        self.outages = 0
        """Outages so far."""
        self._probe, self._where = probe, where
        self._prober: asyncio.Task[None] | None = None
        self._since = self._ended = float("-inf")
        self._pause = FIRST
        self._told = False

    @property
    def patient(self) -> bool:
        """Whether an outage is waited for at all."""
        return self.seconds > 0

    @property
    def away(self) -> bool:
        """Whether an outage is going on."""
        return self._prober is not None and not self._prober.done()

    def note(self, error: BaseException) -> None:
        """A call failed: an outage begins, unless one goes on. Raises the error where nobody waits, or not
        any longer."""
        if not passing(error) or not self.patient:
            raise error
        now = time.monotonic()
        if not self.away:
            if now - self._ended > CALM:
                self._since, self._pause = now, FIRST
            self._told = False
            self.outages += 1
            self._prober = asyncio.get_running_loop().create_task(self._until_back(error))
        if now - self._since > self.seconds:
            raise error

    async def wait(self, error: BaseException) -> None:
        """Return when the store can be worked with again; raises the error when patience is over, or is none."""
        self.note(error)
        assert self._prober is not None
        left = self._since + self.seconds - time.monotonic()
        done, _ = await asyncio.wait((self._prober,), timeout=left if left < 1e9 else None)
        if not done:
            raise error
        self._prober.result()

    async def close(self) -> None:
        """Stop asking."""
        if self._prober is not None:
            self._prober.cancel()
            await asyncio.wait((self._prober,))

    async def _until_back(self, error: BaseException) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(self._pause * random.uniform(0.75, 1.0))
            self._pause = min(2 * self._pause, LONGEST)
            try:
                await self._probe()
            except Exception as now:
                if not passing(now):
                    _log.warning("the store at %s %s", self._where, self._short(now))
                    raise
                error = now
            else:
                self._ended = time.monotonic()
                if self._told:
                    _log.warning(
                        "the store at %s answers again after %.1f s", self._where, self._ended - began
                    )
                return
            if not self._told:  # a connection that broke is no outage: the first probe finds all well
                self._told = True
                why = self._short(error).removeprefix("does not answer: ")
                _log.warning("the store at %s does not answer: waiting for it (%s)", self._where, why)

    def _short(self, error: BaseException) -> str:
        """What it says, without the place, which our own errors name."""
        return str(error).removeprefix(f"the store at {self._where}").lstrip(": ")
