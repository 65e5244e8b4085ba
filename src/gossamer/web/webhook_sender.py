"""Delivers events to webhooks. Of several `serve` on one store, one delivers."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from gossamer.config.redaction import mask, register
from gossamer.config.settings import Settings
from gossamer.egress.guarded_post import GuardedPost, signing_key, webhook_headers
from gossamer.errors import DeliveryError, GossamerError
from gossamer.operations.results import CrawlEvent
from gossamer.operations.webhooks import WebhookAddress, opened
from gossamer.state.crawl_events import CrawlEvents, StoredEvent
from gossamer.state.slots import Slots
from gossamer.state.webhooks import PlacedDelivery, StoredWebhook, Webhooks, event_order
from gossamer.store.store import Store
from gossamer.web.event_hub import EventHub

WAITS_S = (5.0, 30.0, 120.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0)
"""Seconds between the attempts to deliver an event. After the last one, the event is given up."""
MAX_PAUSE_S = 60.0
"""After a failed attempt, other events of the same webhook wait at most this many seconds."""
CHECK_INTERVAL_S = 1.0
BATCH = 50
GONE = 410
"""The status with which a receiver refuses all further messages."""


class WebhookSender:
    """Puts events into the outboxes of webhooks, and delivers them. `waits`: see WAITS_S."""

    def __init__(
        self, store: Store, settings: Settings, hub: EventHub, waits: Sequence[float] = WAITS_S
    ) -> None:
        self._store, self._settings, self._hub, self._waits = store, settings, hub, tuple(waits)
        self._hooks, self._events = Webhooks(store), CrawlEvents(store)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._pauses: dict[str, float] = {}
        self._addresses: dict[tuple[str, bytes], WebhookAddress] = {}

    async def run(self) -> None:
        """Delivers until it is cancelled."""
        try:
            while True:
                with contextlib.suppress(GossamerError):  # an outage ends, and the outbox is in the store
                    # while somebody waits for events, the hub knows whether there are webhooks
                    if self._hub.has_webhooks is not False and await self._hooks.all():
                        await self._lead()
                await asyncio.sleep(CHECK_INTERVAL_S)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _lead(self) -> None:
        """Delivers while this process leads and there are webhooks. Returns at once if another process leads."""
        async with Slots(self._store).lead("webhooks") as mine:
            if mine:
                async with self._hub.reading():
                    while mine and (hooks := await self._hooks.all()):
                        await self._look(list(hooks.values()))
                        await asyncio.sleep(CHECK_INTERVAL_S)

    async def _look(self, hooks: Sequence[StoredWebhook]) -> None:
        """Puts new events into the outboxes, and begins the deliveries that are due."""
        await self._put(hooks)
        for one in hooks:
            task = self._tasks.get(one.id)
            if (task is None or task.done()) and self._pauses.get(one.id, 0.0) <= time.monotonic():
                self._tasks[one.id] = asyncio.create_task(self._deliver(one))

    async def _put(self, hooks: Sequence[StoredWebhook]) -> None:
        """Puts new events into the outboxes of the webhooks that want them."""
        before = await self._hooks.at()
        found = await self._events.after(before or "0-0")
        if not found:
            return
        entries = [
            (hook.id, event.number, event.event.decode())
            for event in found
            for hook in hooks
            if is_wanted(hook, event)
        ]
        await self._hooks.put(before, found[-1].number, entries)

    async def _deliver(self, hook: StoredWebhook) -> None:
        """Delivers the events of one webhook that are due, one after another. After a failure, the others wait."""
        try:
            post, key = self._receiver(hook)
        except GossamerError as error:
            post, key, refused = None, b"", str(error)
        with contextlib.suppress(GossamerError):
            while due := await self._hooks.due(hook.id, BATCH):
                for one in due:
                    body = one.delivery.event.encode()
                    try:
                        if post is None:
                            raise DeliveryError(refused)
                        await post(body, webhook_headers(key, f"evt_{one.number}", body))
                    except DeliveryError as error:
                        await self._failed(hook, one, error)
                        return
                    await self._hooks.delivered(hook.id, one.number)

    async def _failed(self, hook: StoredWebhook, one: PlacedDelivery, error: DeliveryError) -> None:
        tried = one.delivery.attempts
        is_last = tried >= len(self._waits) or error.status == GONE
        wait = None if is_last else self._waits[tried] * random.uniform(0.8, 1.2)
        await self._hooks.failed(hook.id, one, mask(str(error))[:500], wait)
        if is_last:
            print(
                f"gossamer: webhook {hook.id} did not accept event {one.number} ({mask(str(error))}): it is in "
                f"gossamer webhooks dead {hook.id}",
                file=sys.stderr,
                flush=True,
            )
        self._pauses[hook.id] = time.monotonic() + min(wait or 0.0, MAX_PAUSE_S)

    def _receiver(self, hook: StoredWebhook) -> tuple[GuardedPost, bytes]:
        """Returns what posts to a webhook, and its key. Raises ConfigError if its address cannot be decrypted."""
        if (hook.id, hook.sealed) not in self._addresses:
            self._addresses[hook.id, hook.sealed] = opened(self._store, self._settings, hook)
        address = self._addresses[hook.id, hook.sealed]
        register(address.secret)
        parts = urlsplit(address.url)
        scheme, host = parts.scheme.lower(), parts.hostname or ""
        port = parts.port or (443 if scheme == "https" else 80)
        post = GuardedPost(
            address.url,
            host,
            port,
            f"{scheme}://{host}:{port}",
            self._settings.allow_private,
            is_typed=False,
        )
        return post, signing_key(address.secret)


def is_wanted(hook: StoredWebhook, one: StoredEvent) -> bool:
    """Returns whether a webhook gets an event."""
    if event_order(one.number) <= event_order(hook.after):
        return False
    event = msgspec.json.decode(one.event, type=CrawlEvent)
    return event.crawl.startswith(hook.prefix) and (
        event.type in hook.events or ("items" in hook.events and event.new_items > 0)
    )
