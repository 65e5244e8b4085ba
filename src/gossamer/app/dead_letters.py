"""Requeues and drops dead letters, which are URLs that a crawl gave up."""

from __future__ import annotations

from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.frontier.operator import OperatorCommands
from gossamer.store.store import Store


async def decide(
    store: Store,
    crawl: str,
    verb: str,
    *,
    host: str | None = None,
    reason: str | None = None,
    since: float = 0.0,
    dry_run: bool = False,
) -> tuple[int, bool]:
    """Requeues dead letters (`verb` is `requeue`) or counts them as failed (`drop`). A finished crawl whose dead
    letters are requeued is no longer finished. `since`: seconds since the epoch. `dry_run`: whether only to
    count the letters. Returns the number of letters, and whether the crawl had ended."""
    done = await OperatorCommands(store).letters(
        crawl, verb, host=host, reason=reason, since=since, dry_run=dry_run
    )
    record = await Crawls(store).need(crawl)
    if verb == "requeue" and done and not dry_run and record.state == "finished":
        await Crawls(store).set(crawl, "stopped", f"{done} dead letters were requeued")
    return done, record.state in ENDED
