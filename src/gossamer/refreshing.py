"""A pass that visits again what a crawl knows: when it may begin, and how its requests come into the frontier."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gossamer.assemble import Bench
from gossamer.errors import UsageError, of_data
from gossamer.frontier.crawls import Record
from gossamer.frontier.spiller import bound
from gossamer.frontier.store import Store
from gossamer.frontier.tally import counts
from gossamer.job import Setup
from gossamer.revisit import known
from gossamer.road.taker import Taken


async def passes(setup: Setup, store: Store, record: Record | None) -> bool:
    """Whether a pass of `--refresh` is to begin: its log is made ready. One that is under way goes on.

    What a crawl that begins anew without it knew is forgotten. Raises UsageError while URLs still wait, or nothing is known.
    """
    job, folder = setup.job, Path(setup.job.settings.data) / setup.crawl
    try:
        if not job.refresh:
            if record is None or job.fresh:
                (folder / known.NAME).unlink(missing_ok=True)
            return False
        if record is not None:
            n = await counts(store, setup.crawl)
            pending = n["open"] - n["infra"]
            if pending and record.refreshing:
                return False
            if pending:
                raise UsageError(
                    f"{pending} URLs of crawl {setup.crawl} still wait: let it end first, by the same command without --refresh"
                )
        if not (folder / known.NAME).exists() or not await asyncio.to_thread(known.settle, folder):
            raise UsageError(f"crawl {setup.crawl} knows no page yet: run the same command without --refresh first")
    except OSError as error:
        raise of_data(folder.parent, error) from error
    return True


async def visit_again(setup: Setup, store: Store, record: Record) -> None:
    """Add what is known; adding it again, after a kill in the middle, changes nothing."""
    if not record.refreshing or record.seeded:
        return
    bench = Bench(setup, store, "door", asyncio.Event())
    try:
        await bound(store, setup.crawl, bench.hot)
        await bench.anchored()
        for batch in known.requests(bench.folder):
            taken = Taken()
            for request in batch:
                seed = request.depth == 0 and request.referrer is None
                bench.taker.request(request, taken, flags="ors" if seed else "or", beside="*" if setup.open else "")
            await bench.frontier.add(taken.adds)
            if taken.skips:
                await bench.frontier.count({**{f"skip:{k}": n for k, n in taken.skips.items()}, "found": taken.found})
    except OSError as error:
        raise of_data(bench.folder.parent, error) from error
    finally:
        await bench.close()
