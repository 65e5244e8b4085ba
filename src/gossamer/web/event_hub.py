"""Sends the changes of crawls as server-sent events. All viewers of a server share one read of the store a second."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec

from gossamer.config.settings import Settings
from gossamer.errors import GossamerError
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED, Crawls, Record
from gossamer.frontier.summary import crawl_counts
from gossamer.operations.context import Caller
from gossamer.operations.results import CrawlEvent
from gossamer.state.crawl_events import CrawlEvents, Report, StoredEvent
from gossamer.store.store import Store

INTERVAL_S = 1.0
HEARTBEAT_S = 15.0
MAX_RECENT = 1000


class ReportedCrawl(msgspec.Struct, frozen=True, array_like=True):
    """What was last reported about a crawl."""

    state: str
    reason: str | None
    began: float
    counts: tuple[int, int, int, int, int, int]
    """The numbers of found URLs, pages, items, failures, dead letters and pending URLs."""


class EventHub:
    """Compares the crawls every second while somebody watches, and passes the events of the store on."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._events, self._crawls = CrawlEvents(store), Crawls(store)
        self._recent: deque[StoredEvent] = deque(maxlen=MAX_RECENT)
        self._newest = ""
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self.closing = asyncio.Event()

    async def watch(self, caller: Caller, crawl: str | None, after: str) -> AsyncIterator[bytes]:
        """Yields the lines of the stream of events. `after`: the number of the last event that the viewer has seen,
        or '' for new events alone."""
        self._viewers += 1
        try:
            if self._task is None:
                self._newest = await self._events.newest()
                self._recent.clear()
                self._task = asyncio.create_task(self._run())
            at = after or self._newest
            yield b": events of gossamer\nretry: 1000\n\n"
            if after and _order(await self._events.oldest()) > _order(after) > (0, 0):
                yield b'event: gap\ndata: {"detail":"older events are no longer kept"}\n\n'
            while not self.closing.is_set():
                for one in await self._after(at):
                    at = one.number
                    if line := _line(one, caller, crawl):
                        yield line
                if not await self._wait(at):
                    yield b": nothing new\n\n"
        finally:
            self._viewers -= 1
            if not self._viewers and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _after(self, at: str) -> list[StoredEvent]:
        """Returns the events after the event `at`: those in memory, or those of the store if older ones are missing."""
        if at == self._newest:
            return []
        if self._recent and _order(self._recent[0].number) <= _order(at):
            return [one for one in self._recent if _order(one.number) > _order(at)]
        return await self._events.after(at)

    async def _wait(self, at: str) -> bool:
        """Waits for an event after `at`. Returns False after HEARTBEAT_S without one."""
        try:
            async with asyncio.timeout(HEARTBEAT_S), self._news:
                await self._news.wait_for(lambda: _order(self._newest) > _order(at) or self.closing.is_set())
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Ends all streams."""
        self.closing.set()
        async with self._news:
            self._news.notify_all()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(GossamerError):  # an outage ends, and nothing is lost meanwhile
                await self._events.report(await self._compare())
                found = await self._events.after(self._newest or "0-0")
                if found:
                    self._recent.extend(found)
                    async with self._news:
                        self._newest = found[-1].number
                        self._news.notify_all()
            await asyncio.sleep(INTERVAL_S)

    async def _compare(self) -> list[Report]:
        """Returns the differences between the crawls and what was last reported."""
        known, reports = await self._events.reported(), []
        names = await self._crawls.names()
        for name in names:
            record = await self._crawls.get(name)
            if record is None:
                continue
            text = known.get(name, "")
            before = _decoded(text)
            state, reason = self._state_of(record)
            if (
                before is not None
                and (before.state, before.began) == (state, record.started_at)
                and state in ENDED
            ):
                continue
            n = await crawl_counts(self._store, name)
            counts = (n["found"], n["pages"], n["items"], n["failed"], n["dead"], n["open"] - n["infra"])
            now = ReportedCrawl(state, reason, record.started_at, counts)
            if now != before:
                event = msgspec.json.encode(_event(name, before, now)).decode()
                reports.append(Report(name, text, msgspec.json.encode(now).decode(), event))
        return reports + [Report(name, text, "", "") for name, text in known.items() if name not in names]

    def _state_of(self, record: Record) -> tuple[str, str | None]:
        if record.state in ENDED or is_running(record, self._settings.data):
            return record.state, record.reason
        return "stopped", "its process died; the same command continues it"


def _decoded(text: str) -> ReportedCrawl | None:
    try:
        return msgspec.json.decode(text, type=ReportedCrawl) if text else None
    except msgspec.MsgspecError:  # another version wrote it
        return None


def _event(crawl: str, before: ReportedCrawl | None, now: ReportedCrawl) -> CrawlEvent:
    found, pages, items, failed, dead, pending = now.counts
    anew = before is None or before.began != now.began or (before.state in ENDED and now.state not in ENDED)
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
        failed=failed,
        dead=dead,
        pending=pending,
    )


def _order(number: str) -> tuple[int, int]:
    first, _, second = number.partition("-")
    return int(first or 0), int(second or 0)


def _line(one: StoredEvent, caller: Caller, crawl: str | None) -> bytes:
    """Returns the lines of an event, or b'' if the viewer does not see it."""
    event = msgspec.json.decode(one.event, type=CrawlEvent)
    if not caller.sees(event.crawl) or crawl not in (None, event.crawl):
        return b""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (one.number.encode(), event.type.encode(), one.event)
