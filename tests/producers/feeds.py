"""Feeding a crawl with nobody at work."""

from __future__ import annotations

from pathlib import Path

from gossamer import feeding, seeding
from gossamer.assemble import open_store
from gossamer.door import begin
from gossamer.frontier.tally import counts
from gossamer.job import Job


async def fed(one: Job) -> dict[str, int]:
    """Add what a job's producers give, to their ends; the counts."""
    setup, given = seeding.prepare(one)
    (Path(one.settings.data) / setup.crawl).mkdir(parents=True, exist_ok=True)
    store, embedded = await open_store(one.settings)
    try:
        setup.store = store.url
        record, _ = await begin(setup, store, one)
        await seeding.seed(setup, store, given, record)
        await feeding.feed(setup, store, given.sources)
        return dict(await counts(store, setup.crawl))
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()
