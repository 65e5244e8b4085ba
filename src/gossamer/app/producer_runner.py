"""Runs producers. The URLs of a producer are added in batches, whether or not workers are running. A crawl
ends only after its producers have ended. A producer's position is stored after its batch is in the frontier.
After a kill, at most one batch is therefore added a second time. If a batch is added a second time, the seen
set rejects its URLs. Producers wait while more than MAX_PENDING_URLS URLs are pending, or while the store's
memory is nearly used up.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec

from gossamer import url as urls
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.network_setup import Network
from gossamer.app.open_store import cold_settings
from gossamer.app.producers.source import UrlBatch, UrlProducer
from gossamer.app.targets import Rejected, shorten
from gossamer.config.data_files import make_folder, open_file
from gossamer.config.redaction import mask
from gossamer.errors import CrawlEnded, GossamerError, StoreChanged, StoreError, of_data
from gossamer.frontier.background_task import run_beside
from gossamer.frontier.cold import run_spiller
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.producer_positions import leases_key, position_of, positions_key
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.store.store_check import fullest_share
from gossamer.worker.link_intake import TakenLinks

if TYPE_CHECKING:
    from gossamer.app.revisit_loop import RevisitLoop

MAX_PENDING_URLS = 20_000_000
"""Maximum number of pending URLs of a crawl. Producers wait while the crawl has more pending URLs than this
number."""
MAX_OUTBOX_URLS = 500_000
"""Producers wait while more than this many URLs wait to be moved to the cold store."""
MAX_MEMORY_SHARE = 0.8
"""Producers wait while the store uses more than this share of its `maxmemory`."""
LEASE_MS, RENEW_INTERVAL_S = 30_000, 8.0
"""Duration of a lease in milliseconds, and seconds between its renewals."""
SEARCHED_TAIL_BYTES = 16 << 20
"""Before a rejected line is appended to the file of rejected lines, the last SEARCHED_TAIL_BYTES bytes of the
file are searched for the line. If the line is found, it is not appended again."""
MAX_REJECTED_BYTES = 256 << 20
"""When the file of rejected lines has this size, further rejected lines are only counted."""
MAX_OUTAGE_S = 60.0
"""The maximum number of seconds for which the store may be unreachable."""
ADDED_TO = ("running", "paused")
"""The states in which a crawl accepts new URLs."""
ENDS_WITH = {"limited": 0, "finished": 0, "failed": 9}
"""Maps a crawl's end state to the exit code of `submit`, if the crawl ends while `submit` is still adding
URLs. Any other end state has the exit code 11."""
CHECK_INTERVAL_S, CROWDED_INTERVAL_S, PROGRESS_INTERVAL_S = 1.0, 0.5, 10.0
"""CHECK_INTERVAL_S is the number of seconds between checks of the pending URLs. While too many URLs are
pending, the checks are CROWDED_INTERVAL_S seconds apart. PROGRESS_INTERVAL_S is the number of seconds between
progress messages."""

_KEEP = """
local kept = redis.call('HGET', KEYS[1], ARGV[1]) or ''
for j = 2, #ARGV do
  if kept == ARGV[j] then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    return 1
  end
end
return 0
"""
Result = TypeVar("Result")
Say = Callable[[str], None]


def say_nothing(_: str) -> None:
    """Does nothing."""


RECENT_BATCHES = 8
"""Number of batches that are kept, so that they can be added again, if their source cannot be read again."""
RECENT_S = 60.0
"""Seconds for which the position before a batch is remembered. If the store may have lost its last writes, the
source is read again from the oldest of these positions."""
DURABLE_S = 3.0
"""Seconds for which a producer watches a shared store after its last batch. A server that syncs its append-only
file every second loses at most the last two."""


class ChangeSignals(Protocol):
    """Interface for recording change signals. A change signal for a known page means that the page has
    probably changed."""

    async def signal(self, requests: Sequence[Request]) -> Sequence[bool] | None:
        """Records a change signal for the page of each request. Returns one boolean per request, which is
        true if the page of the request is known. Returns None if this process has no list of known pages. The
        seen set then decides which URLs are new."""
        ...


class RecentBatches:
    """The batches of a producer that the store may lose: the positions before the batches of the last RECENT_S
    seconds, and the last RECENT_BATCHES batches that cannot be read again, because they did not change the
    position of their producer."""

    def __init__(self) -> None:
        self.unreadable = deque[UrlBatch](maxlen=RECENT_BATCHES)
        self._positions = deque[tuple[float, Any]]()

    @property
    def positions(self) -> list[Any]:
        """The remembered positions, oldest first."""
        return [position for _, position in self._positions]

    def note(self, batch: UrlBatch, before: Any) -> None:
        """Remembers a batch that was added. `before`: the position before the batch."""
        now = time.monotonic()
        if batch.position is None or batch.position == before:
            self.unreadable.append(batch)
        else:
            self._positions.append((now, before))
        while self._positions and now - self._positions[0][0] > RECENT_S:
            self._positions.popleft()


class Feeder:
    """Adds the URLs of one producer."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        adds: Enqueuer,
        source: UrlProducer,
        say: Say,
        again: bool,
        warn: Say = say_nothing,
        signals: ChangeSignals | None = None,
    ) -> None:
        """`again`: whether the URLs may have been added before. If `again` is true, known URLs do not count
        as duplicates. `signals`: the object that records changed entries of known pages."""
        self._signals = signals
        self._adds, self.source, self._say, self._again, self._warn = adds, source, say, again, warn
        self._store, self._crawl, self._priority = store, setup.crawl, setup.job.priority
        self._folder = Path(setup.job.settings.data) / setup.crawl
        self._beside = "*" if setup.spec.scope == "page" else source.beside
        self._looked = self._told = time.monotonic()
        self.read = self.rejected = 0
        self._has_room = True
        """Whether the file of rejected lines has room left."""
        self._share: float | None = None
        self._trouble = ""
        self._recent, self._changes = RecentBatches(), store.client.servers.changes
        self._reached: Any = None
        """The position up to which the batches are read for the second time, or None."""

    async def run(self) -> None:
        """Adds the URLs of the producer until the producer ends. Some producers never end. If interrupted,
        reports how many URLs were added."""
        try:
            await self._to_end()
        except asyncio.CancelledError:
            self._say(self._line())
            raise

    async def _to_end(self) -> None:
        while not await self._from_kept_position():
            self._again = True

    async def _from_kept_position(self) -> bool:
        """Adds the batches after the stored position. Returns False if the source must be read again from the
        position that is stored now, because the store may have lost URLs of the batches since."""
        kept = await self._patiently(partial(position_of, self._store, self._crawl, self.source.name))
        at = kept and kept["at"]
        async with contextlib.aclosing(cast(AsyncGenerator[UrlBatch], self.source.batches(at))) as batches:
            async for batch in batches:
                await self._patiently(partial(self.add, batch))
                self._recent.note(batch, at)
                if self._is_changed and not await self._add_again(at):
                    return False
                if not await self._patiently(partial(self.keep, batch.position, at, done=False)):
                    self._reached = at
                    return False
                at = batch.position
                await self.source.added(batch)
                if at is not None and (self._reached is None or at == self._reached):
                    self._again, self._reached = False, None
                self.read += len(batch.requests)
                self._tell_rejected(batch.rejected)
                self._share = batch.share
                self._progress(batch)
                await self._patiently(self._room)
                await asyncio.sleep(0)
        await self._until_durable()
        if self._is_changed and not await self._add_again(at):
            return False
        return await self._patiently(partial(self.keep, at, at, done=True))

    @property
    def _is_changed(self) -> bool:
        """Whether the store may have lost its last writes since the last call of `_add_again`."""
        return self._store.client.servers.changes != self._changes

    async def _until_durable(self) -> None:
        """Waits until a shared store no longer loses the last batch if a server is killed, or until a server has
        changed. Calls each master, because only a call notices that its server is another one."""
        end = time.monotonic() + DURABLE_S
        while not (self._store.client.servers.embedded or self._is_changed) and time.monotonic() < end:
            await asyncio.sleep(CROWDED_INTERVAL_S)
            await self._patiently(partial(crawl_counts, self._store, self._crawl))

    async def _add_again(self, at: Any) -> bool:
        """Adds the recent batches again, after a server of the store restarted or another took over. Each master
        of a Cluster may go back by itself, so the stored position does not tell which URLs the store still has.
        Returns False if the source must be read again from an earlier position, which is then the stored one.
        `at`: the position that was stored last."""
        self._changes = self._store.client.servers.changes
        self._again = True
        for batch in self._recent.unreadable:
            await self._patiently(partial(self.add, batch))
        if self._recent.unreadable:
            self._warn(
                f"{mask(self.source.name)} cannot be read again, and the store restarted: its last "
                f"{sum(len(one.requests) for one in self._recent.unreadable)} URLs were added again. If the store "
                "lost more than its last seconds, give the list again"
            )
        positions = self._recent.positions
        if not positions or self._store.client.servers.address.kind != "cluster":
            return True  # one server loses URLs and positions alike, which `keep` notices
        self._reached = at
        await self._patiently(partial(self._go_back, positions, at))
        return False

    async def _go_back(self, positions: Sequence[Any], at: Any) -> None:
        """Stores the oldest of the recent positions. If the store contains a position that is older than all of
        them, that position stays."""
        known = [json.dumps({"at": one, "done": end}) for one in (*positions, at) for end in (False, True)]
        value = json.dumps({"at": positions[0], "done": False})
        await self._do(
            self._store.client.eval(_KEEP, 1, positions_key(self._crawl), self.source.name, value, *known)
        )

    async def add(self, batch: UrlBatch) -> None:
        """Adds a batch to the frontier."""
        if batch.rejected:
            has_room = keep_aside(self._folder, batch.rejected, "ab", again=self._again or batch.again)
            if self._has_room and not has_room:
                self._warn(
                    f"{self._folder / 'rejected.jsonl'} has {MAX_REJECTED_BYTES >> 20} MiB and is full: further "
                    "rejected lines are only counted"
                )
            self._has_room = has_room
        if self._signals is not None and any(batch.editions):
            batch = await _without_signals(batch, self._signals)
        taken, priority = TakenLinks(), self._priority
        flags = "ors" if self._again or batch.again else "os"
        editions = batch.editions or itertools.repeat("")
        for request, edition in zip(batch.requests, editions, strict=False):
            if "@" in request.url and urls.split_credentials(request.url)[1] is not None:
                taken.skip("filter")
                continue
            request = self._adds.seed_form(request)
            if request.priority == 0 and priority:
                request = msgspec.structs.replace(request, priority=priority)
            self._adds.take(request, taken, flags, self._beside, edition)
        await self._adds.add(taken)

    async def keep(self, position: Any, last: Any, done: bool) -> bool:
        """Stores the producer's position, and whether the producer is done. `last`: the position that was
        stored last. If the store contains another position, stores nothing and returns False."""
        value, before = (json.dumps({"at": at, "done": end}) for at, end in ((position, done), (last, False)))
        known = [json.dumps({"at": last, "done": True}), value, *([] if last is not None else [""])]
        call = self._store.client.eval(
            _KEEP, 1, positions_key(self._crawl), self.source.name, value, before, *known
        )
        return bool(await self._do(call))

    async def _patiently(self, step: Callable[[], Awaitable[Result]]) -> Result:
        """Retries a step while the store is unreachable. For example, the store is unreachable during a
        restart, or until a replica has taken over."""
        deadline = time.monotonic() + MAX_OUTAGE_S
        while True:
            try:
                return await step()
            except StoreError:
                if time.monotonic() > deadline:
                    raise
                self._again = True
                await asyncio.sleep(CROWDED_INTERVAL_S)

    async def _room(self) -> None:
        """Waits while there are too many pending URLs. Checks once per second, and reports a long wait."""
        if (began := time.monotonic()) - self._looked < CHECK_INTERVAL_S:
            return
        told = False
        while why := await why_no_room(self._store, self._crawl):
            if not told and time.monotonic() - began >= PROGRESS_INTERVAL_S:
                told = True
                for tell in (self._say, self._warn):
                    tell(f"{self._line()}; it waits for room: {why}")
            await asyncio.sleep(CROWDED_INTERVAL_S)
        self._looked = time.monotonic()

    def _progress(self, batch: UrlBatch) -> None:
        trouble = batch.trouble
        if trouble and trouble != self._trouble:
            self._warn(f"{mask(self.source.name)}: {trouble}")
        if trouble or batch.position is not None:
            self._trouble = trouble
        if time.monotonic() - self._told >= PROGRESS_INTERVAL_S:
            self._told = time.monotonic()
            self._say(self._line() + (f"; {trouble}" if trouble else ""))

    def _line(self) -> str:
        share = f", {self._share:.0%} of it" if self._share is not None else ""
        rejected = f", {self.rejected} lines rejected" if self.rejected else ""
        return f"{mask(self.source.name)}: {self.read} URLs added{rejected}{share}"

    def _tell_rejected(self, rejected: Sequence[Rejected]) -> None:
        """Counts rejected lines. Reports the first one at once, because a source without an end has no summary."""
        if rejected and not self.rejected:
            self._warn(
                f"{mask(self.source.name)}: {shorten(rejected[0].text)!r} is rejected: {rejected[0].reason}. Rejected "
                f"lines are in {self._folder / 'rejected.jsonl'}"
            )
        self.rejected += len(rejected)

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


async def why_no_room(store: Store, crawl: str) -> str:
    """Returns the reason why no more URLs can be added at the moment, or '' if URLs can be added."""
    if (await crawl_counts(store, crawl))["open"] > MAX_PENDING_URLS:
        return f"more than {MAX_PENDING_URLS:,} URLs are pending"
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.llen(f"{keys.tag(bucket)}{crawl}:o")
    if sum(await store.guard(pipe.execute())) > MAX_OUTBOX_URLS:
        return f"more than {MAX_OUTBOX_URLS:,} URLs wait to be moved to the cold store"
    used = await store.guard(fullest_share(store))
    return f"the store uses {used:.0%} of its maxmemory" if used > MAX_MEMORY_SHARE else ""


@contextlib.asynccontextmanager
async def keep_open(store: Store, crawl: str) -> AsyncIterator[None]:
    """Keeps a crawl from finishing while the body of the `with` statement adds URLs to it. If this process is
    killed, its lease expires within 30 s, and the crawl can then finish."""
    name = _lease_name()
    await _hold(store, crawl, name)
    try:
        async with run_beside(_renewed(store, crawl, name)):
            yield
    finally:
        await _release(store, crawl, name)


async def _without_signals(batch: UrlBatch, signals: ChangeSignals) -> UrlBatch:
    """Records a change signal for each changed entry of the batch. If the page of a changed entry is known,
    the returned batch does not contain the entry."""
    pairs = list(zip(batch.requests, batch.editions, strict=True))
    changed = [request for request, edition in pairs if edition]
    answers = await signals.signal(changed)
    if answers is None:
        return batch._replace(editions=())
    known = dict(zip(map(id, changed), answers, strict=True))
    left = [pair for pair in pairs if not known.get(id(pair[0]), False)]
    return batch._replace(
        requests=[request for request, _ in left], editions=tuple(edition for _, edition in left)
    )


@contextlib.asynccontextmanager
async def run_producers(
    setup: Setup,
    store: Store,
    sources: Sequence[UrlProducer],
    say: Say = say_nothing,
    warn: Say = say_nothing,
    revisits: RevisitLoop | None = None,
    signals: ChangeSignals | None = None,
) -> AsyncIterator[asyncio.Task[None] | None]:
    """Runs producers while the body of the `async with` statement runs. A lease keeps the crawl from ending
    before the body has run. Yields the task that runs the producers. If a producer fails, the body of the
    statement is cancelled, and the producer's error is raised. `revisits`: the loop that visits known pages
    again. With `revisits`, the crawl does not end until a user stops it. If `revisits` is None, `signals`
    records the changed entries of sitemaps and feeds."""
    if not sources and revisits is None:
        yield None
        return
    adds = Enqueuer(setup, store, "producer")
    network = Network(setup, adds.sites, store)
    name = _lease_name()
    try:
        for source in sources:
            await source.open(network.collectors)
        if revisits is not None:
            await revisits.open(adds)
        await _hold(store, setup.crawl, name)
        async with run_beside(
            _leased(setup, store, adds, sources, say, warn, name, revisits, signals)
        ) as work:
            yield work
    finally:
        if revisits is not None:
            await revisits.close()
        for source in sources:
            await source.close()
        await network.close()


async def feed(
    setup: Setup,
    store: Store,
    sources: Sequence[UrlProducer],
    say: Say = say_nothing,
    begun: Callable[[], Awaitable[None]] | None = None,
    signals: ChangeSignals | None = None,
    warn: Say = say_nothing,
) -> None:
    """Adds all URLs of the producers, whether or not workers are running. `begun` is called as soon as a
    lease prevents the crawl from ending before its producers have ended. `signals`: the object that records
    changed entries of known pages."""
    async with run_producers(setup, store, sources, say, warn, signals=signals) as work:
        if begun is not None:
            await begun()
        if work is not None:
            cold, hot = cold_settings(setup.job.settings, setup.crawl)
            ended = asyncio.create_task(_ended(store, setup.crawl))
            try:
                async with run_spiller(store, setup.crawl, cold, hot):
                    await asyncio.wait((work, ended), return_when=asyncio.FIRST_COMPLETED)
                if ended.done() and not work.done():
                    raise ended.result()
            finally:
                ended.cancel()
                await asyncio.gather(ended, return_exceptions=True)
                if cold is not None:
                    await cold.close()


async def _ended(store: Store, crawl: str) -> GossamerError:
    """Waits until the crawl has ended, while other tasks add URLs to it. Returns an error that describes how
    the crawl ended."""
    crawls = Crawls(store)
    while True:
        await asyncio.sleep(CROWDED_INTERVAL_S)
        try:
            record = await crawls.get(crawl)
            if record is None:
                await store.check_same()
        except StoreChanged as error:
            return error
        except StoreError:  # the store may recover; if not, the producers' next write reports the outage
            continue
        state = record.state if record is not None else "removed"
        if state in ADDED_TO:
            continue
        if record is not None and state == "ending":  # "ending" is a transition that may take minutes
            state = record.ends_as or "finished"
        why = f" ({record.reason})" if record is not None and record.reason else ""
        line = (
            f"crawl {crawl} is {state}{why} while its lists were being added: what was not "
            "read yet is not added"
        )
        return CrawlEnded(line, ENDS_WITH.get(state, 11))


async def _leased(
    setup: Setup,
    store: Store,
    adds: Enqueuer,
    sources: Sequence[UrlProducer],
    say: Say,
    warn: Say,
    name: str,
    revisits: RevisitLoop | None,
    signals: ChangeSignals | None,
) -> None:
    """Runs all producers until they end. Renews the crawl's lease as long as the producers run."""
    crawl = setup.crawl
    tasks = [asyncio.create_task(_renewed(store, crawl, name))]
    if revisits is not None:
        tasks.append(asyncio.create_task(revisits.run()))
    try:
        for source in sources:
            begun = await position_of(store, crawl, source.name) is not None
            feeder = Feeder(setup, store, adds, source, say, begun, warn, revisits or signals)
            if not begun:
                await feeder.keep(None, None, done=False)
            tasks.append(asyncio.create_task(feeder.run()))
        await asyncio.gather(*tasks[1:])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _release(store, crawl, name)


def _lease_name() -> str:
    return f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"


async def _release(store: Store, crawl: str, name: str) -> None:
    with contextlib.suppress(GossamerError):
        await store.guard(cast(Awaitable[Any], store.client.zrem(leases_key(crawl), name)))


async def _renewed(store: Store, crawl: str, name: str) -> None:
    while True:
        await asyncio.sleep(RENEW_INTERVAL_S)
        with contextlib.suppress(StoreError):  # the producers' next write reports the outage
            await _hold(store, crawl, name)


async def _hold(store: Store, crawl: str, name: str) -> None:
    seconds, micros = await store.guard(store.client.time())
    until = seconds * 1000 + micros // 1000 + LEASE_MS
    await store.guard(cast(Awaitable[Any], store.client.zadd(leases_key(crawl), {name: until})))


def keep_aside(folder: Path, rejected: list[Rejected], mode: str = "wb", *, again: bool = False) -> bool:
    """Writes rejected seed lines to a file of the crawl, until the file has MAX_REJECTED_BYTES. Returns whether the
    file has room left. `again`: whether the file may already contain some of the lines."""
    path = folder / "rejected.jsonl"
    try:
        make_folder(folder)
        with open(path, mode, opener=open_file) as file:
            if file.tell() >= MAX_REJECTED_BYTES:
                return False
            lines = [msgspec.json.encode(line) + b"\n" for line in rejected]
            known = _last(path) if again else ()
            for line in lines:
                if line not in known:
                    file.write(line)
            return file.tell() < MAX_REJECTED_BYTES
    except OSError as error:
        raise of_data(folder.parent, error) from error


def _last(path: Path) -> set[bytes]:
    """Returns the lines in the last SEARCHED_TAIL_BYTES bytes of a file. The lines of one batch always fit
    into this many bytes."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - SEARCHED_TAIL_BYTES))
        return set(file)
    return set()
