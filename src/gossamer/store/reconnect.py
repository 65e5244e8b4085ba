"""Waits while a store is unreachable. One background probe with backoff checks the store, and all callers
wait for its result.

A slice of a fleet's worker waits at most `fleet.slice_process.MAX_OUTAGE_S` seconds. A command that a user
runs in a terminal does not wait for the end of an outage. One line is logged when an outage begins, and
another line when the outage ends.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

from gossamer.store.store_errors import is_passing

FIRST_INTERVAL_S, MAX_INTERVAL_S = 0.1, 1.0
"""The minimum and the maximum number of seconds between two probes of the store. The interval between two
probes doubles after each probe, and each interval is randomly shortened by up to a quarter."""
CALM_S = 5.0
"""The probe interval starts at FIRST_INTERVAL_S again if an outage begins more than CALM_S seconds after the
end of the previous outage."""
_log = logging.getLogger("gossamer.store")


class OutageWaiter:
    """Waits until an outage of one client's store ends, for at most `seconds` per outage. `probe` raises an
    error while the store is unavailable. `where` is the store's URL with masked passwords."""

    def __init__(self, seconds: float, probe: Callable[[], Awaitable[None]], where: str) -> None:
        self.seconds = seconds
        self.outages = 0
        """Number of outages of the store so far."""
        self._probe, self._where = probe, where
        self._prober: asyncio.Task[None] | None = None
        self._since = self._ended = float("-inf")
        self._pause = FIRST_INTERVAL_S
        self._told = False

    @property
    def patient(self) -> bool:
        """Whether the client waits for the end of an outage. If the client does not wait, a call fails at
        once."""
        return self.seconds > 0

    @property
    def away(self) -> bool:
        """Whether an outage is in progress."""
        return self._prober is not None and not self._prober.done()

    def note(self, error: BaseException) -> None:
        """Records a failed call. Begins an outage unless one is in progress.

        Raises the error if it is not an outage, if the client does not wait, or if the client has waited long
        enough.
        """
        if not is_passing(error) or not self.patient:
            raise error
        now = time.monotonic()
        if not self.away:
            if now - self._ended > CALM_S:
                self._since, self._pause = now, FIRST_INTERVAL_S
            self._told = False
            self.outages += 1
            self._prober = asyncio.get_running_loop().create_task(self._until_back(error))
        if now - self._since > self.seconds:
            raise error

    async def wait(self, error: BaseException) -> None:
        """Waits until the store works again. Raises the error if the client does not wait or has waited long
        enough."""
        self.note(error)
        assert self._prober is not None
        left = self._since + self.seconds - time.monotonic()
        done, _ = await asyncio.wait((self._prober,), timeout=left if left < 1e9 else None)
        if not done:
            raise error
        self._prober.result()

    async def close(self) -> None:
        """Stops the probe."""
        if self._prober is not None:
            self._prober.cancel()
            await asyncio.wait((self._prober,))

    async def _until_back(self, error: BaseException) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(self._pause * random.uniform(0.75, 1.0))
            self._pause = min(2 * self._pause, MAX_INTERVAL_S)
            try:
                await self._probe()
            except Exception as now:
                if not is_passing(now):
                    _log.warning("the store at %s %s", self._where, self._short(now))
                    raise
                error = now
            else:
                self._ended = time.monotonic()
                if self._told:
                    _log.warning(
                        "the store at %s answers again after %.1f s",
                        self._where,
                        self._ended - began,
                        extra={"event": "store_back"},
                    )
                return
            if not self._told:  # if the first probe succeeds, no outage is logged
                self._told = True
                why = self._short(error).removeprefix("does not answer: ")
                _log.warning(
                    "the store at %s does not answer: waiting for it (%s)",
                    self._where,
                    why,
                    extra={"event": "store_away"},
                )

    def _short(self, error: BaseException) -> str:
        """Returns an error's message without the store's address. The messages of gossamer's own errors begin
        with the store's address."""
        return str(error).removeprefix(f"the store at {self._where}").lstrip(": ")
