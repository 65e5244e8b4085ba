"""Limits the number of visits to known pages. Computes how many visits are allowed per day and at this
moment. Also computes how many visits the delay of a host allows."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.recrawl.revisit_rules import DAY_S, RevisitRules
from gossamer.store import keys
from gossamer.store.store import Store

MAX_CATCH_UP_S = 60.0
"""After a pause, the revisit loop may use the budget of the pause later, but at most the budget of this many
seconds."""
UNKNOWN_DELAY_S, MIN_DELAY_S = 1.0, 0.01
"""UNKNOWN_DELAY_S is the delay in seconds that the budget assumes for a host whose delay is not known yet.
MIN_DELAY_S is the shortest delay that the budget assumes for any host."""


class RevisitBudget:
    """A budget that is spent evenly over time."""

    def __init__(self, settings: Settings, rules: RevisitRules) -> None:
        self._settings, self._rules = settings, rules
        self._delays: dict[str, float] = {}
        self._tokens, self._spent, self._given = 0.0, 0, 0.0
        self.visits = 0.0
        """The number of visits per day that the budget allows."""

    async def read(self, store: Store, hosts: Sequence[str]) -> None:
        """Reads the delays of hosts, and computes how many visits a day the budget allows."""
        settings = self._settings
        if settings.delay is not None:
            self._delays = dict.fromkeys(hosts, settings.delay[0])
        elif hosts:
            pipe = store.client.pipeline(transaction=False)
            for name in hosts:
                pipe.hmget(f"{keys.tag(keys.bucket_of(name, store.buckets))}h:{name}", ["d", "cd"])
            for name, found in zip(hosts, await store.guard(pipe.execute()), strict=True):
                waits = [float(one) / 1000 for one in found if one is not None]
                self._delays[name] = max(waits, default=UNKNOWN_DELAY_S)
        if settings.rate is not None:
            capacity = settings.rate * DAY_S
        else:
            capacity = sum(map(self.allowed, hosts)) if hosts else self.allowed("")
        self.visits = self._rules.visits_per_day(capacity)

    def allowed(self, host: str) -> float:
        """Returns how many visits per day the delay of a host allows."""
        return self._settings.per_host * DAY_S / max(MIN_DELAY_S, self._delays.get(host, UNKNOWN_DELAY_S))

    def refusal(self, pages: int, needed: float) -> UsageError:
        """Returns the error to raise if the budget is too small to visit every page within the window.
        `needed`: the number of visits per day that are necessary to visit every page within the window."""
        return UsageError(
            f"--revisit {self._settings.revisit}: {pages:,} pages need {needed:,.0f} visits a day, "
            f"and the budget allows {self.visits:,.0f}: give --revisit-budget {needed:.0f}/d, or a "
            "longer time"
        )

    def pass_time(self, seconds: float) -> None:
        """Adds the visits that the budget allows in `seconds` seconds. More than MAX_CATCH_UP_S seconds count
        as MAX_CATCH_UP_S seconds. A fraction of a visit is carried over to the next call."""
        more = self.visits * min(seconds, MAX_CATCH_UP_S) / DAY_S
        self._given += more
        self._tokens = min(self._tokens + more, 1 + self.visits * MAX_CATCH_UP_S / DAY_S)

    @property
    def available(self) -> int:
        """Returns the number of visits that may begin now."""
        return int(self._tokens)

    def spend(self, visits: int) -> None:
        """Records the start of `visits` visits."""
        self._tokens -= visits
        self._spent += visits

    @property
    def used(self) -> float | None:
        """Returns the used share of the budget, or None if no visit was allowed yet."""
        return min(1.0, self._spent / self._given) if self._given >= 1 else None
