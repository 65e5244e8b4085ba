"""The keeper is a thread that runs next to Celery in each worker's main process. The keeper sends heartbeats,
obeys orders, keeps the fleet's slots filled, and evaluates the alert rules if no other process leads them.

The fleet does not rely on the redelivery of messages. Instead, the keeper that has the lead checks every two
seconds which slots are free, and sends a message for each free slot. All times come from the store's clock,
and no message contains a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gossamer.app.alert_watch import AlertWatch
from gossamer.app.open_store import open_url
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError
from gossamer.fleet.brokers import format_error
from gossamer.observability.store_events import StoreEvents
from gossamer.state.broker_state import BrokerState
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.malformed_messages import MAX_KEPT, MalformedMessages
from gossamer.state.slots import Slots
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")

HEARTBEAT_INTERVAL_S, RECONCILE_INTERVAL_S = 2.0, 2.0
"""HEARTBEAT_INTERVAL_S is the number of seconds between heartbeats. RECONCILE_INTERVAL_S is the number of
seconds between checks of the slots."""
REPEAT_ERROR_S = 60.0
"""Seconds after which the same error is logged again."""
REPEAT_CLOCK_S = 3600.0
"""Seconds after which a wrong clock is logged again."""
ORDER_INTERVAL_S = 1.0

Send = Callable[[str, int, str], None]
"""A function that sends the message for a slot. The function takes the lane, the slot's number and the
ticket, and raises an error if the broker does not accept the message."""


class WorkerKeeper:
    """The keeper of one worker, which runs in a thread of its own."""

    def __init__(
        self,
        store: str,
        me: WorkerRecord,
        token: str,
        *,
        send: Send,
        weigh: Callable[[], int],
        drain: Callable[[], None],
        stop: Callable[[], None],
        alerts: Settings | None = None,
    ) -> None:
        """`me` is the worker's record. `token` renews the claim on the worker's name. `weigh` returns the
        worker's memory in bytes. `drain` is called when the worker is ordered to drain, and `stop` is called
        when the worker is ordered to stop. `alerts` contains the receivers of alerts and the file of rules; with
        None, the keeper evaluates no rules."""
        self.me = me
        self._url, self._token, self._send, self._alerts = store, token, send, alerts
        self._weigh, self._drain, self._stop = weigh, drain, stop
        self._over, self._woken = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._keep()), name="keeper", daemon=True)
        self._broker_failed = True
        """Whether the broker refused the last message, or may have refused one before this keeper led."""
        self._clock_silent = 0.0
        """The monotonic time until which a wrong clock is not logged again."""
        self._malformed = deque[dict[str, Any]](maxlen=10 * MAX_KEPT)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def keep_aside(self, message: dict[str, Any]) -> None:
        """Counts a malformed message and queues it to be written to the store."""
        self.me.malformed += 1
        self._malformed.append({**message, "worker": self.me.name})

    def end(self, seconds: float) -> None:
        """Ends the keeper and deletes the worker's record. Waits for at most `seconds` until the keeper has
        ended."""
        self._over.set()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the event loop is already closed
                self._loop.call_soon_threadsafe(self._woken.set)
        if self._thread.ident is not None:  # None means that the thread was never started
            self._thread.join(seconds)

    async def _rest(self, seconds: float) -> None:
        """Sleeps for `seconds`, or until the keeper ends."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    async def _keep(self) -> None:
        self._loop, told, silent = asyncio.get_running_loop(), "", 0.0
        watching = asyncio.create_task(self._watch_for_alerts())
        while not self._over.is_set():
            try:
                await asyncio.create_task(
                    self._until_it_breaks()
                )  # a new task each time, because a failed task group may leave its task cancelled
            except* GossamerError as errors:
                said = str(errors.exceptions[0])
                if said != told or time.monotonic() > silent:  # a warning every second would be too often
                    log.warning("%s; trying again", said)
                    told, silent = said, time.monotonic() + REPEAT_ERROR_S
                await self._rest(1)
            except* Exception:  # the keeper must continue, because only keepers fill the slots
                log.exception("the keeper failed because of a bug, and starts again")
                await self._rest(1)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def _watch_for_alerts(self) -> None:
        """Evaluates the alert rules until it is cancelled. The connection to the store is its own, so the watch
        outlives an outage of the store, and reports it."""
        while self._alerts is not None:
            try:
                store = await open_url(self._url, embedded=False)
                try:
                    await AlertWatch(self._alerts, store).run()
                finally:
                    await store.close()
            except GossamerError:  # `_keep` logs that the store cannot be reached
                await self._rest(1)
            except Exception:  # the keeper must continue, because only keepers fill the slots
                log.exception("the evaluation of the alert rules failed because of a bug, and starts again")
                await self._rest(REPEAT_ERROR_S)

    async def _until_it_breaks(self) -> None:
        store = await open_url(self._url, embedded=False)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._beat(store))
                group.create_task(self._lead(store))
        finally:
            await store.close()

    async def _beat(self, store: Store) -> None:
        worker_records = WorkerRecords(store)
        self.me.started = self.me.started or await worker_records.now()
        while not self._over.is_set():
            if not await worker_records.name(self.me.name, self._token):
                log.error("another worker took the name %s: this one stops", self.me.name)
                self._stop()
            self.me.memory = self._weigh()
            self._obey(await worker_records.beat(self.me))
            if (fault := self.me.clock_fault) and time.monotonic() > self._clock_silent:
                log.warning("%s", fault)
                self._clock_silent = time.monotonic() + REPEAT_CLOCK_S
            for _ in range(round(HEARTBEAT_INTERVAL_S / ORDER_INTERVAL_S)):
                if self._over.is_set():
                    break
                await self._rest(ORDER_INTERVAL_S)
                await self._write_malformed(store)
                self._obey(await worker_records.pending_order(self.me.name))
        await worker_records.leave(self.me.name)
        await worker_records.release_name(self.me.name, self._token)

    async def _write_malformed(self, store: Store) -> None:
        """Writes the malformed messages that arrived since the last call. If the store does not answer, the
        messages stay queued."""
        found = list(self._malformed)
        if found:
            await MalformedMessages(store).add(found)
            for _ in found:
                self._malformed.popleft()

    def _obey(self, order: str) -> None:
        if order == "stop" and self.me.state != "stopping":
            self.me.state = "stopping"
            log.info("told to stop")
            self._stop()
        elif order == "drain" and self.me.state == "running":
            self.me.state = "draining"
            log.info("ordered to drain: this worker starts no more slices")
            self._drain()

    async def _lead(self, store: Store) -> None:
        slots, events = Slots(store), StoreEvents(store)
        while not self._over.is_set():
            async with slots.lead("slots") as mine:
                began = time.monotonic()
                while mine and not self._over.is_set():
                    await self._reconcile(store, slots)
                    await events.look()
                    await self._rest(RECONCILE_INTERVAL_S)
                    now = time.monotonic()
                    await self._lasted(store, now - began)
                    began = now
            await self._rest(RECONCILE_INTERVAL_S)

    async def _reconcile(self, store: Store, slots: Slots) -> None:
        broker = BrokerState(store)
        for lane, wanted in (await self._wanted(store)).items():
            for slot in range(wanted):
                ticket = await slots.queue(lane, slot)
                if ticket is None:
                    continue
                try:
                    await asyncio.to_thread(self._send, lane, slot, ticket)
                except Exception as error:  # noqa: BLE001 - each transport has errors of its own
                    log.warning("the broker does not take the message for slot %s:%d: %s", lane, slot, error)
                    with contextlib.suppress(GossamerError):
                        await slots.unqueue(lane, slot, ticket)
                    await broker.report(format_error(error))
                    self._broker_failed = True
                    return
                if self._broker_failed:
                    await broker.report("")
                    self._broker_failed = False

    async def _wanted(self, store: Store) -> dict[str, int]:
        wanted: dict[str, int] = {}
        for worker in await WorkerRecords(store).living():
            for lane in worker.lanes if worker.state == "running" else ():
                wanted[lane] = wanted.get(lane, 0) + worker.processes
        return wanted

    async def _lasted(self, store: Store, seconds: float) -> None:
        tasks = FleetCrawls(store)
        for task in await tasks.tasks():
            if task.state == "running":
                await tasks.count_time(task.name, seconds)
