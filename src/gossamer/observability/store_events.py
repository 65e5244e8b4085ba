"""Logs events that are visible only in the store: state changes of crawls, workers that start and end, and
circuit breakers that open. In a fleet, one process logs all events of this kind. Without a fleet, the process
of the crawl logs them."""

from __future__ import annotations

from gossamer.frontier.crawls import Crawls
from gossamer.observability.logs import log_event
from gossamer.state.workers import WorkerRecords
from gossamer.store import keys
from gossamer.store.store import Store

MAX_OPENINGS = 100


class StoreEvents:
    """Compares the store's state with its state at the last check, and logs the changes. If the earlier state
    of a crawl or a worker is unknown, the first check logs nothing about this crawl or worker. The last
    logged states of a fleet's crawls are kept in the store. If the process that logs the events is killed,
    the next process compares the store with the states that were logged last, and logs the changes."""

    def __init__(self, store: Store, crawl: str | None = None) -> None:
        """`crawl`: the only crawl whose state changes are logged. If `crawl` is None, the state changes of
        all crawls are logged."""
        self._store, self._crawl = store, crawl
        self._crawls, self._workers = Crawls(store), WorkerRecords(store)
        self._states: dict[str, str] | None = None
        self._living: set[str] | None = None

    async def look(self) -> None:
        """Reads the store and logs what has changed. Raises StoreError."""
        await self._look_at_crawls()
        if self._crawl is None:
            await self._look_at_workers()
        await self._look_at_breakers()

    async def _look_at_crawls(self) -> None:
        names = [self._crawl] if self._crawl is not None else await self._crawls.names()
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hgetall(keys.LOGGED_STATES)
        for name in names:
            pipe.hmget(keys.record(name), ["state", "reason"])
        logged, *found = await self._store.guard(pipe.execute())
        states = {
            name: f"{(state or b'').decode()}\t{(reason or b'').decode('utf-8', 'replace')}"
            for name, (state, reason) in zip(names, found, strict=True)
        }
        before, first = self._states or {}, self._states is None
        if self._crawl is None:
            before = {name.decode(): text.decode("utf-8", "replace") for name, text in logged.items()}
        self._states = states
        changed = {name: text for name, text in states.items() if before.get(name) != text}
        for name, text in changed.items():
            state, _, reason = text.partition("\t")
            if state and (name in before or not first):
                log_event("crawl_state", crawl=name, state=state, text=reason)
        if self._crawl is None:
            await self._note(changed, before.keys() - states.keys())

    async def _note(self, changed: dict[str, str], removed: set[str]) -> None:
        """Records the logged states in the store, so that another process can continue from there."""
        pipe = self._store.client.pipeline(transaction=False)
        for name, text in changed.items():
            pipe.hset(keys.LOGGED_STATES, name, text)
        if removed:
            pipe.hdel(keys.LOGGED_STATES, *removed)
        if changed or removed:
            await self._store.guard(pipe.execute())

    async def _look_at_workers(self) -> None:
        living = {one.name: one for one in await self._workers.living()}
        if self._living is not None:
            for name in living.keys() - self._living:
                one = living[name]
                log_event(
                    "worker_joined", worker=name, lanes=one.lanes, region=one.region, processes=one.processes
                )
            left = self._living - living.keys()
            known = {one.name for one in await self._workers.all()} if left else set()
            for name in left:  # a worker that stops removes its record, and a worker that dies leaves it
                if name in known:
                    log_event(
                        "worker_gone",
                        worker=name,
                        text="it sends no heartbeat: its claims return within 30 s",
                    )
                else:
                    log_event("message", worker=name, text="the worker has stopped")
        self._living = set(living)

    async def _look_at_breakers(self) -> None:
        pipe = self._store.client.pipeline(transaction=False)
        for bucket in range(self._store.buckets):
            pipe.rpop(keys.opened(bucket), MAX_OPENINGS)
        for found in await self._store.guard(pipe.execute()):
            for raw in found or ():
                host, error, until, given_up = raw.decode("utf-8", "replace").split("\t")
                log_event(
                    "breaker_opened",
                    host=host,
                    error=error,
                    text="given up: its URLs end without a request"
                    if given_up
                    else "no request until the next probe",
                    until=int(until) / 1000,
                )
