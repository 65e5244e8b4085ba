"""Compares the crawls of a store with what was last reported about them, and appends the differences to the events."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from gossamer.config.settings import Settings
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED, Crawls, Record
from gossamer.frontier.summary import crawl_counts
from gossamer.operations.results import CrawlEvent
from gossamer.state.crawl_events import CrawlEvents, Report
from gossamer.store import keys
from gossamer.store.store import Store


class ReportedCrawl(msgspec.Struct, frozen=True, array_like=True):
    """What was last reported about a crawl."""

    state: str
    reason: str | None
    began: float
    counts: tuple[int, int, int, int, int, int]
    """The numbers of found URLs, pages, items, failures, dead letters and pending URLs."""


async def report_changes(store: Store, settings: Settings) -> dict[str, str]:
    """Appends the differences to the events of the store. Returns the present state of each crawl; a crawl whose
    process died is `stopped`."""
    events, crawls = CrawlEvents(store), Crawls(store)
    known, reports, states = await events.reported(), [], {}
    names = await crawls.names()
    pipe = store.client.pipeline(transaction=False)
    for name in names:
        pipe.hmget(keys.record(name), ["state", "started_at"])
    found = await store.guard(pipe.execute()) if names else []
    for name, (state, began) in zip(names, found, strict=True):
        text = known.get(name, "")
        before = _decoded(text)
        if before is not None and state is not None and began is not None:
            states[name] = state.decode()
            if states[name] in ENDED and (before.state, before.began) == (states[name], float(began)):
                continue
        if (record := await crawls.get(name)) is None:
            continue
        states[name], reason = _state_of(record, settings)
        is_known = before is not None and (before.state, before.began) == (states[name], record.started_at)
        if is_known and states[name] in ENDED:
            continue
        n = await crawl_counts(store, name)
        counts = (n["found"], n["pages"], n["items"], n["failed"], n["dead"], n["open"] - n["infra"])
        now = ReportedCrawl(states[name], reason, record.started_at, counts)
        if now != before:
            event = msgspec.json.encode(_event(name, before, now)).decode()
            reports.append(Report(name, text, msgspec.json.encode(now).decode(), event))
    gone = [Report(name, text, "", "") for name, text in known.items() if name not in names]
    await events.report(reports + gone)
    return states


def _state_of(record: Record, settings: Settings) -> tuple[str, str | None]:
    if record.state in ENDED or is_running(record, settings.data):
        return record.state, record.reason
    return "stopped", "its process died; the same command continues it"


def _decoded(text: str) -> ReportedCrawl | None:
    try:
        return msgspec.json.decode(text, type=ReportedCrawl) if text else None
    except msgspec.MsgspecError:  # another version wrote it
        return None


def _event(crawl: str, before: ReportedCrawl | None, now: ReportedCrawl) -> CrawlEvent:
    found, pages, items, failed, dead, pending = now.counts
    is_same_run = before is not None and before.began == now.began
    anew = not is_same_run or (before is not None and before.state in ENDED and now.state not in ENDED)
    if now.state in ENDED:
        kind = "crawl.ended"
    elif anew:
        kind = "crawl.started"
    else:
        kind = "crawl.updated" if before is not None and before.state == now.state else "crawl.changed"
    return CrawlEvent(
        type=kind,
        at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        crawl=crawl,
        state=now.state,
        before=before.state if before is not None else None,
        reason=now.reason,
        found=found,
        pages=pages,
        items=items,
        new_items=items - (before.counts[2] if before is not None and is_same_run else 0),
        failed=failed,
        dead=dead,
        pending=pending,
    )
