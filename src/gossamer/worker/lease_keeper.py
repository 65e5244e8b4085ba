"""Renews a worker's leases, requeues the claims of dead workers (a sweep), and frees the host slots of visits
whose commit waits for a slow sink.

A failed call does not stop the worker. An outage of the store loses no claims of live workers, because after
the outage, all live workers renew their leases before any worker sweeps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gossamer.model.interfaces import ClaimLedger, FrontierVerbs
from gossamer.model.visit import Claim, Visit
from gossamer.worker.claim_poller import TICK_S, ClaimPoller
from gossamer.worker.committer import Committer
from gossamer.worker.uncommitted_visits import UncommittedVisits, ends

RENEW_INTERVAL_S, SWEEP_INTERVAL_S = 10.0, 5.0
"""RENEW_INTERVAL_S is the number of seconds between two renewals of all leases. SWEEP_INTERVAL_S is the
number of seconds between two sweeps. The lease keeper checks every TICK_S seconds whether a renewal or a
sweep is due."""
LATE, MORE = 0.5, 0.1
"""LATE and MORE determine when a separate call frees the slot of a visit that waits for its commit. The slot
is freed only if the visit has waited for its commit longer than LATE seconds, and also longer than
`GatherLimits.seconds` + MORE seconds."""
NO_SWEEP_AFTER_OUTAGE_S = 3.0
"""After an outage of the store, this worker does not sweep for this number of seconds."""


class LeaseKeeper:
    """Renews the leases of the claims in `held`, which is keyed by bucket and token. Removes claims with a
    lost lease from `held`."""

    def __init__(
        self,
        frontier: FrontierVerbs,
        held: dict[tuple[int, int], Claim],
        committer: Committer,
        claim_poller: ClaimPoller,
        uncommitted: UncommittedVisits,
        held_claims: ClaimLedger | None = None,
    ) -> None:
        self._frontier, self._held, self._committer, self._claim_poller = (
            frontier,
            held,
            committer,
            claim_poller,
        )
        self._held_claims, self._uncommitted = held_claims, uncommitted

    async def run(self, wake: Callable[[], None]) -> None:
        """Runs until cancelled. Calls `wake` after each iteration that renewed leases, swept or freed
        slots."""
        renewed = time.monotonic()
        # the first sweep is immediate, because the worker may have been restarted after a crash
        swept = renewed if self._held_claims is None else renewed - SWEEP_INTERVAL_S
        patience = self._frontier.patience
        outages = patience.outages
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            changed = False
            if not patience.away and (outages != patience.outages or now - renewed >= RENEW_INTERVAL_S):
                if outages != patience.outages:
                    outages, swept = patience.outages, now - SWEEP_INTERVAL_S + NO_SWEEP_AFTER_OUTAGE_S
                renewed, changed = now, True
                await self._renew()
            if not patience.away and now - swept >= SWEEP_INTERVAL_S:
                swept, changed = now, True
                await self._sweep()
            if not patience.away:
                changed = await self._free_hosts() or changed
            if changed:
                wake()

    async def _sweep(self) -> None:
        """Requeues the claims of workers that died on this machine, then all claims with expired leases."""
        if self._held_claims is not None:
            with self._held_claims.of_dead() as dead:
                if dead:
                    await self._frontier.all_buckets.renew(dead, dead=True)
        await self._frontier.all_buckets.requeue_expired()

    async def _renew(self) -> None:
        tokens: dict[int, list[int]] = {}
        for bucket, token in self._held:
            tokens.setdefault(bucket, []).append(token)
        for lost in await self._frontier.all_buckets.renew(tokens):
            self._held.pop(lost, None)

    async def _free_hosts(self) -> bool:
        """Frees the host slots of visits that have waited too long for their commit. Returns whether any slot
        was freed."""
        late = time.monotonic() - max(LATE, self._committer.limits.seconds + MORE)
        over: dict[int, list[Visit]] = {}
        for visit in self._committer.unsettled_visits():
            name = visit.claim.bucket, visit.claim.token
            if visit.settle.end and visit.put_at < late and name not in self._uncommitted.freed:
                over.setdefault(visit.claim.bucket, []).append(visit)
                self._uncommitted.freed.add(name)
                self._claim_poller.touch(visit.claim.bucket)
        if over:
            await self._frontier.all_buckets.free_slots(ends(over))
        return bool(over)
