"""Decides how many visits a worker may run. The number of visits depends on the resources of the worker's
process, on the crawl's share of a process that runs several crawls, and on the fleet's rate caps."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Protocol

from gossamer.config.resources import memory_roomy, thread_busy_seconds
from gossamer.errors import OWN_LIMITS

CUT_S, GROW_S, HOLD_S = 0.5, 2.0, 60.0
"""Times in seconds that control changes of the limit on running visits. CUT_S is the minimum number of
seconds between two reductions of the limit. GROW_S is the number of seconds without a shortage before the
limit rises. For HOLD_S seconds after a shortage, the limit stays below its value at the time of the
shortage."""
TUNE_S, STALE_S = 0.15, 1.0
"""TUNE_S is the minimum number of seconds between two changes of `Limiter.level`. STALE_S is the age in
seconds above which a measurement of the CPU load is ignored."""
FREE_SHARE, FULL_SHARE = 0.75, 0.95
"""Limits for the share of time in which the thread of the event loop is busy. If the thread is busy for less
than FREE_SHARE of the time, the limit on running visits may rise. If the thread is busy for more than
FULL_SHARE of the time, the limit on running visits is reduced."""
GIVE_UP_S = 15.0
"""If a shortage prevents even a single visit at a time, the worker exits after this number of seconds."""
REPEAT_S = 600.0
"""Minimum number of seconds between two log messages about the same shortage."""
RESOURCES = {
    OWN_LIMITS[errno.EMFILE]: "descriptors",
    OWN_LIMITS[errno.ENFILE]: "descriptors",
    OWN_LIMITS[errno.ENOMEM]: "memory",
    OWN_LIMITS[errno.ENOBUFS]: "memory",
    OWN_LIMITS[errno.EAGAIN]: "threads",
    OWN_LIMITS[errno.EADDRNOTAVAIL]: "ports",
}
"""Error messages and the worker's record use different names for resources. Maps each resource name in error
messages to the resource name in the worker's record."""


class Limiter:
    """Limits the number of running visits of a process, so that the process does not run short of CPU time,
    memory, file descriptors, threads or ports.

    `level` is the limit that applies while there is no shortage. At the start, `level` equals `least`. Later,
    `need_more` changes `level`, which always stays between `least` and `most`. If `least` is not given,
    `level` is always `most`. `visits` is the limit that applies now. A shortage halves `visits` immediately.
    After a shortage, `visits` rises by an eighth every two seconds, up to `level`.

    `log(line)` is called for each kind of shortage, at most once per ten minutes. `begins` is the message
    that `begin` logs. `most_by` names the limit that determines `most`: `fixed`, `descriptors` or `maximum`.
    `busy_seconds` returns for how many seconds this thread has used or waited for a CPU. `roomy` returns
    whether the machine has enough free memory for more visits.
    """

    def __init__(
        self,
        most: int,
        log: Callable[[str], None] = lambda _: None,
        *,
        least: int | None = None,
        begins: str = "",
        most_by: str = "fixed",
        clock: Callable[[], float] = time.monotonic,
        busy_seconds: Callable[[], float] = thread_busy_seconds,
        roomy: Callable[[], bool] = memory_roomy,
    ) -> None:
        self.most = self._ceiling = most
        self.level = self.visits = self._least = min(most, least or most)
        self._busy_seconds, self._roomy = busy_seconds, roomy
        self._measured: tuple[float, float] | None = None
        self.over = ""
        """The resource that was too scarce for even one running visit, or ''. The worker exits when `over` is
        set."""
        self.load: Callable[[], tuple[float, str]] = lambda: (1.0, "")
        """A function that returns a factor and the name of a scarce resource. The limit on running visits is
        multiplied by the factor, which is below 1 if the load of the process is too high. If no resource is
        scarce, the name is ''."""
        self._log, self._clock, self._begins = log, clock, begins
        self._most_by, self._scarce = most_by, ""
        self._held_by = most_by if self._least == most else "latency"
        self._cut_at = self._grown_at = self._hit_at = -REPEAT_S
        self._told: dict[str, float] = {}
        self._since: float | None = None

    def begin(self) -> None:
        """Logs the message `begins` at the first call. This message explains why the process starts with
        fewer visits than configured."""
        if self._begins:
            self._log(self._begins)
            self._begins = ""

    @property
    def is_calm(self) -> bool:
        """Returns whether the limit has recovered from the last shortage."""
        return self.visits >= self.level and self._since is None

    @property
    def bound(self) -> str:
        """Returns the name of the resource or setting that keeps the limit from rising
        (`worker.concurrency_level`)."""
        return self._scarce if self.visits < self.level else self._held_by

    def need_more(self) -> None:
        """Called if hosts are due and the limit on running visits is reached. Raises the level if the process
        has CPU time and memory for more visits. Lowers the level towards `least` if the process has no CPU
        time left."""
        if self._least == self.most or not self.is_calm:
            return
        now = self._clock()
        if self._measured is not None and now - self._measured[0] < TUNE_S:
            return
        busy = self._busy_seconds()
        before, self._measured = self._measured, (now, busy)
        if before is None or now - before[0] > STALE_S:
            return
        share = (busy - before[1]) / (now - before[0])
        if share > FULL_SHARE:
            self.level = self.visits = max(self._least, self.level - self.level // 8)
        most = min(self.most, self._ceiling)
        if share >= FREE_SHARE:
            self._held_by = "processor"
        elif self.level >= most:
            self._held_by = self._most_by if most == self.most else self._scarce
        elif not self._roomy():
            self._held_by = "memory"
        else:
            self._held_by = "latency"
            self.level = self.visits = min(most, self.level + self.level // 4 + 1)

    def short(self, what: str, measured: bool = False) -> None:
        """Records a shortage of the resource `what` and lowers the limit. `measured`: true if a measurement
        found the shortage before a visit failed."""
        now = self._clock()
        self._grown_at, self._scarce = now, RESOURCES.get(what, what)
        if now - self._cut_at >= CUT_S:
            if self.visits > 1 or self._ceiling > 1:
                self._ceiling, self._hit_at = max(1, self.visits * 3 // 4), now
            self.visits, self._cut_at = max(1, self.visits // 2), now
        if now - self._told.get(what, -REPEAT_S) >= REPEAT_S:
            self._told[what] = now
            self._log(
                f"short of {what}: {self.visits} pages at once for now instead of {self.level}; no "
                "page is counted as failed for it"
            )
        if self.visits == 1 and not measured:
            self._since = self._since or now
            if now - self._since >= GIVE_UP_S:
                self.over = what

    def record_success(self) -> None:
        """Records that a visit ended without a shortage, and raises the limit if the last shortage was long
        enough ago."""
        self._since = None
        if self.visits >= self.level:
            return
        now = self._clock()
        if now - self._hit_at >= HOLD_S:
            self._ceiling = self.most
        goal = min(self.level, self._ceiling)
        if now - self._grown_at >= GROW_S and self.visits < goal:
            self.visits, self._grown_at = min(goal, self.visits + max(1, self.visits // 8)), now


class ClaimAllowance(Protocol):
    """Limits the claims of one crawl in a process that may work on several crawls. `busy`: the number of
    claims that the crawl currently holds."""

    def ask(self, busy: int) -> int:
        """Returns how many more claims the crawl may make now, or 0 if this number is too small to be worth a
        call."""

    def took(self, claims: int) -> None:
        """Records the number of claims made."""

    def rests(self, busy: int) -> None:
        """Records that the crawl currently requests no further claims."""


class FleetCaps(Protocol):
    """The fleet's caps on requests per second (`state.rates.Caps`). `take(n)` requests n permits, one per
    claim, and returns the number of permits granted. `back(n)` releases n unused permits."""

    async def take(self, n: int) -> int: ...
    async def back(self, n: int) -> None: ...


class SoleCrawlAllowance:
    """The `ClaimAllowance` of a worker that is alone in its process. The worker claims a quarter more URLs
    than it can visit at once, so that the next visit can begin as soon as a visit ends."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def ask(self, busy: int) -> int:
        """See `ClaimAllowance`."""
        visits = self._limiter.visits
        free = visits + visits // 4 - busy
        return free if free >= max(1, visits // 8) else 0

    def took(self, claims: int) -> None:
        """See `ClaimAllowance`."""

    def rests(self, busy: int) -> None:
        """See `ClaimAllowance`."""
