"""The keeper of a worker: renews its leases, returns those of the dead, frees the hosts of visits that wait
for a slow sink.

Its calls fail alone: while the store is away nothing is lost but time, and when it is back, who lives renews
before anybody sweeps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from gossamer.model.interfaces import ClaimLedger, FrontierVerbs
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.worker.claim_poller import TICK, Asking
from gossamer.worker.committer import Committer

RENEW, SWEEP = 10.0, 5.0
"""Seconds between renewals of all leases, and between sweeps; its turns come every TICK."""
LATE, MORE = 0.5, 0.1
"""Seconds after which what waits for its commit frees its host by a call of its own: at least so many, and
more than a worker gathers."""
BACK = 3.0
"""Seconds after an outage in which it does not sweep."""


class LeaseKeeper:
    """Keeps the claims `held`, by bucket and token; `held` loses those that were lost."""

    def __init__(
        self,
        frontier: FrontierVerbs,
        held: dict[tuple[int, int], Claim],
        committer: Committer,
        asking: Asking,
        ledger: ClaimLedger | None = None,
    ) -> None:
        self._frontier, self._held, self._committer, self._asking = frontier, held, committer, asking
        self._ledger = ledger
        self.landed: set[tuple[int, int]] = set()
        """Claims whose hosts are free already."""

    async def run(self, wake: Callable[[], None]) -> None:
        """Keep, for ever; `wake` is called after each turn that changed something."""
        renewed = time.monotonic()
        swept = renewed if self._ledger is None else renewed - SWEEP  # who comes after a crash need not wait
        patience = self._frontier.patience
        outages = patience.outages
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            changed = False
            if not patience.away and (outages != patience.outages or now - renewed >= RENEW):
                if outages != patience.outages:
                    outages, swept = patience.outages, now - SWEEP + BACK
                renewed, changed = now, True
                await self._renew()
            if not patience.away and now - swept >= SWEEP:
                swept, changed = now, True
                await self._sweep()
            if not patience.away:
                changed = await self._free_hosts() or changed
            if changed:
                wake()

    async def _sweep(self) -> None:
        """Return the claims whose lease ran out, and before that of those who died here."""
        if self._ledger is not None:
            with self._ledger.of_dead() as dead:
                if dead:
                    await self._frontier.everywhere.renew(dead, dead=True)
        await self._frontier.everywhere.sweep()

    async def _renew(self) -> None:
        tokens: dict[int, list[int]] = {}
        for bucket, token in self._held:
            tokens.setdefault(bucket, []).append(token)
        for lost in await self._frontier.everywhere.renew(tokens):
            self._held.pop(lost, None)

    async def _free_hosts(self) -> bool:
        """What is over but not durable for a while keeps no host waiting; whether there was some."""
        late = time.monotonic() - max(LATE, self._committer.company.seconds + MORE)
        over: dict[int, list[Visit]] = {}
        for visit in self._committer.unsettled():
            name = visit.claim.bucket, visit.claim.token
            if visit.settle.action and visit.put_at < late and name not in self.landed:
                over.setdefault(visit.claim.bucket, []).append(visit)
                self.landed.add(name)
                self._asking.touch(visit.claim.bucket)
        if over:
            await self._frontier.everywhere.landed(_ends(over))
        return bool(over)


def _ends(over: Mapping[int, list[Visit]]) -> dict[int, list[Settle]]:
    now = time.monotonic()
    return {bucket: [visit.ends(now) for visit in visits] for bucket, visits in over.items()}
