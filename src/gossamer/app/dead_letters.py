"""Requeues and drops dead letters, which are URLs that a crawl gave up."""

from __future__ import annotations

from gossamer.errors import UsageError
from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.frontier.operator import UNDO_S, OperatorCommands, UndoneChange
from gossamer.frontier.summary import crawl_counts
from gossamer.store.store import Store

REQUEUED = "dead letters were requeued"


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
        await Crawls(store).set(crawl, "stopped", f"{done} {REQUEUED}")
    return done, record.state in ENDED


async def undo(store: Store, crawl: str) -> UndoneChange:
    """Undoes the last `decide` of the last 10 minutes: its URLs are dead letters again. A crawl that was finished before
    is finished again. Raises UsageError if there is nothing to undo."""
    done = await OperatorCommands(store).undo_letters(crawl)
    if done is None:
        raise UsageError(
            f"crawl {crawl} has no change of dead letters to undo: only the last one of the last {UNDO_S // 60} minutes "
            "can be undone"
        )
    crawls = Crawls(store)
    record = await crawls.need(crawl)
    if (
        record.state == "stopped"
        and (record.reason or "").endswith(REQUEUED)
        and not (await crawl_counts(store, crawl))["open"]
    ):
        await crawls.set(crawl, "finished", "")
    return done
