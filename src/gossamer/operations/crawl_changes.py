"""Compares the crawls of a store with what was last reported about them, and appends the differences to the events."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from gossamer.config.settings import Settings
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED, Crawls, Record
from gossamer.frontier.summary import crawl_counts
from gossamer.operations.results import CrawlEvent
from gossamer.state.crawl_events import CrawlEvents, Report, StoredEvent, decode_events
from gossamer.store import keys
from gossamer.store.store import Store

MAX_READ_EVENTS = 1000
COMMIT_TIME_S = 30.0
"""An item has the time of its visit, and counts when the visit is committed, at most this many seconds later as a rule."""


class ReportedCrawl(msgspec.Struct, frozen=True, array_like=True):
    """What was last reported about a crawl."""

    state: str
    reason: str | None
    began: float
    counts: tuple[int, int, int, int, int, int]
    """The numbers of found URLs, pages, items, failures, dead letters and pending URLs."""
    at: float = 0.0
    """When the number of items was last reported as changed, in seconds since the epoch."""


class Comparison(NamedTuple):
    """The present state of each crawl (of a crawl whose process died: `stopped`), the new events, and whether there are
    webhooks."""

    states: dict[str, str]
    events: list[StoredEvent]
    has_webhooks: bool


async def report_changes(
    store: Store, settings: Settings, guess: Iterable[str] = (), after: str = "0-0"
) -> Comparison:
    """Appends the differences to the events of the store, and returns the events after the event `after`. `guess`: the
    names of the crawls at the last call; if no crawl has come or changed, everything is one read of the store."""
    events, crawls = CrawlEvents(store), Crawls(store)
    asked, reports, states = list(guess), [], {}
    pipe = store.client.pipeline(transaction=False)
    pipe.smembers(keys.CRAWLS)
    pipe.hgetall(keys.REPORTED)
    pipe.xrange(keys.EVENTS, f"({after}", "+", MAX_READ_EVENTS)
    pipe.hlen(keys.WEBHOOKS)
    members, reported, appended, hooks, *found = await _states(store, pipe, asked)
    names = sorted(name.decode() for name in members)
    known = {name.decode(): text.decode() for name, text in reported.items()}
    records = dict(zip(asked, found, strict=True))
    if unknown := [name for name in names if name not in records]:
        found = await _states(store, store.client.pipeline(transaction=False), unknown)
        records |= zip(unknown, found, strict=True)
    for name in names:
        (state, began), text = records[name], known.get(name, "")
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
        at = (before.at if before is not None else 0.0) or record.started_at
        now = ReportedCrawl(states[name], reason, record.started_at, counts, at)
        if now != before:
            event = msgspec.json.encode(_event(name, before, now)).decode()
            if before is None or before.counts[2] != n["items"]:
                now = msgspec.structs.replace(now, at=time.time())
            reports.append(Report(name, text, msgspec.json.encode(now).decode(), event))
    gone = [Report(name, text, "", "") for name, text in known.items() if name not in names]
    if await events.report(reports + gone):
        return Comparison(states, await events.after(after, MAX_READ_EVENTS), bool(hooks))
    return Comparison(states, decode_events(appended), bool(hooks))


async def _states(store: Store, pipe: Any, names: Iterable[str]) -> list[Any]:
    """Runs a pipeline, to which the state and the beginning of each crawl are added."""
    for name in names:
        pipe.hmget(keys.record(name), ["state", "started_at"])
    found: list[Any] = await store.guard(pipe.execute())
    return found


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
    new_items = items - (before.counts[2] if before is not None and is_same_run else 0)
    since = datetime.fromtimestamp(max(0.0, now.at - COMMIT_TIME_S), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
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
        new_items=new_items,
        new_items_at=f"/v1/crawls/{crawl}/items?since={since}" if new_items > 0 else None,
        failed=failed,
        dead=dead,
        pending=pending,
    )
