"""The webhooks of a store. Each has an outbox of events that wait for delivery, and a list of events that were given up.

Events are put into the outboxes once: one script compares and moves the number of the last event. A delivery leaves its
outbox after the receiver has accepted it, so a process that is killed meanwhile delivers it again with the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.store import keys
from gossamer.store.store import Store

MAX_WAITING = 10_000
"""The maximum number of deliveries that wait for one webhook. More are given up at once."""
MAX_DEAD = 10_000
"""The maximum length of the dead list of a webhook. The oldest entries are removed."""
FULL = f"more than {MAX_WAITING} deliveries wait"
_PRELUDE = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function bury(due, dead, box, number, text, most)
  redis.call('ZREM', due, number)
  redis.call('ZADD', dead, now, number)
  redis.call('HSET', box, number, text)
  local surplus = redis.call('ZCARD', dead) - tonumber(most)
  if surplus > 0 then
    for _, old in ipairs(redis.call('ZRANGE', dead, 0, surplus - 1)) do
      redis.call('ZREM', dead, old)
      redis.call('HDEL', box, old)
    end
  end
end
"""
_PUT = (
    _PRELUDE
    + """
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
for i = 5, #ARGV, 4 do
  local hook, number = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', KEYS[1], hook) == 1 then
    local due, dead = KEYS[1] .. ':due:' .. hook, KEYS[1] .. ':dead:' .. hook
    local box = KEYS[1] .. ':box:' .. hook
    if redis.call('ZCARD', due) < tonumber(ARGV[3]) then
      redis.call('ZADD', due, now, number)
      redis.call('HSET', box, number, ARGV[i + 2])
    else bury(due, dead, box, number, ARGV[i + 3], ARGV[4]) end
  end
end
return 1
"""
)
_DUE = (
    _PRELUDE
    + """
local found = {}
for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])) do
  found[#found + 1] = number
  found[#found + 1] = redis.call('HGET', KEYS[3], number) or ''
end
return found
"""
)
_FAILED = (
    _PRELUDE
    + """
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if ARGV[3] == '' then bury(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[4])
else
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
end
return 1
"""
)
_RESEND = (
    _PRELUDE
    + """
local done = 0
for i = 1, #ARGV, 2 do
  if redis.call('ZREM', KEYS[2], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[1], now, ARGV[i])
    redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
    done = done + 1
  end
end
return done
"""
)
_ADD = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'NX')
return 1
"""
_REMOVE = """
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5])
if redis.call('HLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
return 1
"""


class StoredWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A receiver of events. `url`: its address without secrets. `events`: the words that select events. `prefix`: only
    crawls whose names begin with it. `sealed`: the address and the secret, encrypted if there is a key. `after`: the
    number of the last event before the webhook was made. `is_setting`: whether the setting `webhooks` names it."""

    id: str
    url: str
    events: list[str]
    prefix: str
    created_at: float
    sealed: bytes
    after: str
    is_setting: bool = False


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """An event on its way to a webhook. `event`: the event as JSON. `error`: why the last attempt failed, or ''."""

    event: str
    attempts: int = 0
    error: str = ""


class PlacedDelivery(NamedTuple):
    """A delivery in an outbox or a dead list. `number`: the number of the event. `at`: the time of the end in seconds since
    the epoch, or 0 for a delivery that waits."""

    number: str
    at: float
    delivery: Delivery


class Webhooks:
    """Reads and changes the webhooks of a store, and their outboxes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, webhook: StoredWebhook) -> None:
        """Adds a webhook, or replaces the one with the same id."""
        names = (keys.WEBHOOKS, keys.WEBHOOKS_AT)
        await self._run(_ADD, names, webhook.id, msgspec.json.encode(webhook), webhook.after)

    async def all(self) -> dict[str, StoredWebhook]:
        """Returns all webhooks by their ids, the oldest first."""
        raw = await self._do(self._store.client.hgetall(keys.WEBHOOKS))
        found = [msgspec.json.decode(text, type=StoredWebhook) for text in raw.values()]
        return {one.id: one for one in sorted(found, key=lambda one: (one.created_at, one.id))}

    async def remove(self, webhook: str) -> bool:
        """Removes a webhook with its deliveries. Returns whether it existed."""
        names = (keys.WEBHOOKS, keys.WEBHOOKS_AT, *keys.webhook_outbox(webhook))
        return bool(await self._run(_REMOVE, names, webhook))

    async def at(self) -> str:
        """Returns the number of the last event that was put into the outboxes, or '' without webhooks."""
        found = await self._do(self._store.client.get(keys.WEBHOOKS_AT))
        return found.decode() if found else ""

    async def put(self, before: str, after: str, entries: Iterable[tuple[str, str, str]]) -> bool:
        """Puts events into outboxes, and moves the number of the last event from `before` to `after`. `entries`: triples
        of a webhook's id, the number of an event, and the event. Returns False and does nothing if another process has
        moved the number."""
        flat: list[Any] = []
        for webhook, number, event in entries:
            texts = [msgspec.json.encode(Delivery(event=event, error=error)) for error in ("", FULL)]
            flat += [webhook, number, *texts]
        names = (keys.WEBHOOKS, keys.WEBHOOKS_AT)
        return bool(await self._run(_PUT, names, before, after, MAX_WAITING, MAX_DEAD, *flat))

    async def due(self, webhook: str, count: int) -> list[PlacedDelivery]:
        """Returns deliveries whose time has come, the most urgent first."""
        flat = await self._run(_DUE, keys.webhook_outbox(webhook), count)
        return [_read(number, text, 0.0) for number, text in zip(flat[::2], flat[1::2], strict=True) if text]

    async def delivered(self, webhook: str, number: str) -> None:
        """Removes a delivery that the receiver has accepted."""
        due, _, box = keys.webhook_outbox(webhook)
        pipe = self._store.client.pipeline(transaction=True)
        pipe.zrem(due, number)
        pipe.hdel(box, number)
        await self._do(pipe.execute())

    async def failed(self, webhook: str, one: PlacedDelivery, error: str, wait: float | None) -> None:
        """Records a failed attempt. `wait`: seconds until the next one, or None to give the delivery up."""
        delivery = Delivery(event=one.delivery.event, attempts=one.delivery.attempts + 1, error=error)
        given = (one.number, msgspec.json.encode(delivery), "" if wait is None else int(wait * 1000))
        await self._run(_FAILED, keys.webhook_outbox(webhook), *given, MAX_DEAD)

    async def sizes(self, webhook: str) -> tuple[int, int]:
        """Returns the number of deliveries that wait, and of those that were given up."""
        due, dead, _ = keys.webhook_outbox(webhook)
        pipe = self._store.client.pipeline(transaction=False)
        pipe.zcard(due)
        pipe.zcard(dead)
        waiting, given_up = await self._do(pipe.execute())
        return int(waiting), int(given_up)

    async def dead(self, webhook: str) -> list[PlacedDelivery]:
        """Returns the deliveries that were given up, by the numbers of their events."""
        _, dead, box = keys.webhook_outbox(webhook)
        found = await self._do(self._store.client.zrange(dead, 0, -1, withscores=True))
        if not found:
            return []
        texts = await self._do(self._store.client.hmget(box, [number for number, _ in found]))
        placed = [
            _read(number, text, at / 1000) for (number, at), text in zip(found, texts, strict=True) if text
        ]
        return sorted(placed, key=lambda one: event_order(one.number))

    async def resend(self, webhook: str, dead: Sequence[PlacedDelivery]) -> int:
        """Puts deliveries that were given up into the outbox again. Returns their number."""
        flat = [
            text
            for one in dead
            for text in (one.number, msgspec.json.encode(Delivery(event=one.delivery.event)))
        ]
        return int(await self._run(_RESEND, keys.webhook_outbox(webhook), *flat)) if flat else 0

    async def _run(self, script: str, names: Sequence[str], *given: Any) -> Any:
        return await self._do(self._store.client.eval(script, len(names), *names, *given))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))


def event_order(number: str) -> tuple[int, int]:
    """Returns the number of an event as a pair that can be compared. '' comes before all numbers."""
    first, _, second = number.partition("-")
    return int(first or 0), int(second or 0)


def _read(number: bytes, text: bytes, at: float) -> PlacedDelivery:
    return PlacedDelivery(number.decode(), at, msgspec.json.decode(text, type=Delivery))
