"""Scores this worker by its visits (`politeness.scores`), shares the score with the fleet, and limits the
worker's claims accordingly."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from gossamer.errors import GossamerError
from gossamer.model.verdict import HostHealth
from gossamer.model.visit import Visit
from gossamer.politeness.breaker import HostTrouble
from gossamer.politeness.scores import (
    NETWORK,
    PROBE_INTERVAL_S,
    LastVisits,
    MovingMeans,
    WorkerScore,
    read,
    wait_times,
)

EXCHANGE_INTERVAL_S = 2.0
"""The number of seconds between two exchanges of scores with the other workers."""
SCORE_TTL_S = 60.0
"""If a worker has not updated its score for this number of seconds, the score is removed."""


class ScoreStore(Protocol):
    """The interface to the store of all workers' scores (`state.scores`). `tell` stores this worker's score,
    and returns the store's time in seconds and the scores of all workers. `drop` removes a score. `now`
    returns the store's time."""

    async def tell(self, name: str, record: bytes) -> tuple[float, list[bytes]]: ...
    async def drop(self, name: str) -> None: ...
    async def now(self) -> float: ...


class ScoreKeeper:
    """Keeps the score of one worker, which measures how often and how fast the worker's recent visits
    succeeded.

    - `patience`: a function that is called with two waiting times in milliseconds, one for easy hosts and one
      for hard hosts. This worker may claim a host only after the host has waited for its waiting time.
    - `tell`: a function that is called with a message for the operator. - `serves`: the queues from which
      this worker claims URLs. Scores are compared only between workers with the same queues. - `probe`: the
      number of seconds between two test visits of a worker that has excluded itself. `turn`: the number of
      seconds between two exchanges of scores.
    """

    def __init__(
        self,
        name: str,
        scores: ScoreStore,
        patience: Callable[[tuple[int, int]], None],
        tell: Callable[[str], None],
        *,
        serves: str = "",
        probe: float = PROBE_INTERVAL_S,
        turn: float = EXCHANGE_INTERVAL_S,
    ) -> None:
        self.mine = WorkerScore(name, serves)
        self.others: list[WorkerScore] = []
        self._scores, self._patience, self._tell = scores, patience, tell
        self._probe, self._turn = probe, turn
        self._streak = LastVisits()
        self._clock = 0.0
        """The store's clock minus the monotonic clock of this machine, in seconds."""
        self._probe_at = 0.0
        self._counted = (0, 0)

    @property
    def out(self) -> bool:
        """Whether the worker has excluded itself from regular claiming because its visits fail."""
        return bool(self.mine.out)

    def allowed(self, want: int) -> int:
        """Returns how many of `want` claims the worker may make now. A worker that excluded itself may make
        one claim per `probe` seconds, for a test visit."""
        if not self.mine.out:
            return want
        if time.monotonic() < self._probe_at:
            return 0
        return min(want, 1)

    def claimed(self, n: int) -> None:
        """Records that `n` claims were made. If the worker has excluded itself, its next test visit is
        scheduled."""
        if self.mine.out and n:
            self._probe_at = time.monotonic() + self._probe

    def saw(self, visit: Visit) -> None:
        """Updates the score with the result of a visit."""
        said, reason = visit.settle.health, visit.settle.reason
        if not said:
            return
        hard = bool(visit.claim.trouble) and HostTrouble.of(visit.claim.trouble).hard
        (self.mine.hard if hard else self.mine.easy).saw(said == HostHealth.GOOD, visit.elapsed)
        if said == HostHealth.GOOD:
            self.mine.good_at = time.time() if not self._clock else time.monotonic() + self._clock
            self._streak.saw(visit.claim.host, "")
            if self.mine.out:
                self._come_back()
            return
        failed = "blocked" if said == HostHealth.BLOCKED else reason if reason in NETWORK else ""
        if not failed:
            self._streak.clear()  # the host was reachable, but answered with an error
        elif not visit.settle.final:
            self._streak.saw(visit.claim.host, failed)
            if not self.mine.out and (why := self._streak.out(self.others, time.monotonic() + self._clock)):
                self.mine.out = why
                self._probe_at = time.monotonic() + self._probe
                self._tell(f"this worker stops claiming: {why}; it tries one URL every {self._probe:g} s")

    def _come_back(self) -> None:
        self.mine.out = ""
        self._streak.clear()
        self._tell("this worker is back: a visit succeeded")

    async def keep(self, room: Callable[[], bool], level: Callable[[], tuple[int, str]]) -> None:
        """Exchanges scores with the other workers until cancelled. `room` returns whether this worker has
        capacity for more visits. `level` returns how many visits the worker's process may run at once, and
        the limit that applies."""
        while True:
            self.mine.concurrency, self.mine.limit = level()
            # if the store is unavailable, the next exchange is tried anyway
            with contextlib.suppress(GossamerError):
                await self.look(room())
            await asyncio.sleep(self._turn)

    async def look(self, room: bool) -> None:
        """Stores this worker's score, and reads the scores of the other workers."""
        now = time.monotonic() + self._clock if self._clock else await self._scores.now()
        counted = (self.mine.easy.n, self.mine.hard.n)
        if self.mine.at:
            for means, was, n in zip((self.mine.easy, self.mine.hard), self._counted, counted, strict=True):
                update_rate(means, n - was, now - self.mine.at)
        self._counted = counted
        self.mine.at, self.mine.room = now, room
        now, records = await self._scores.tell(self.mine.name, msgspec.json.encode(self.mine))
        self._clock = now - time.monotonic()
        self.others = [one for one in read(records) if one.name != self.mine.name]
        for one in self.others:
            if now - one.at > SCORE_TTL_S:
                await self._scores.drop(one.name)
        self._patience(wait_times(self.mine, self.others, now))

    async def close(self) -> None:
        """Removes this worker's score from the store."""
        await self._scores.drop(self.mine.name)


def update_rate(means: MovingMeans, visits: int, seconds: float) -> None:
    """Updates the moving mean of visits per second with the number of visits in the last `seconds`."""
    if seconds > 0:
        means.rate += 0.5 * (visits / seconds - means.rate)
