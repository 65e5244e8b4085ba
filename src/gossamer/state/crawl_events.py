"""The events of crawls, in a stream of the store. All readers see the same events with the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from gossamer.store import keys
from gossamer.store.store import Store

MAX_EVENTS = 10_000
"""About as many events are kept. A reader that was away for longer misses the older ones, and is told so."""
_REPORT = """
local reported = 0
for i = 2, #ARGV, 4 do
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') == ARGV[i + 1] then
    if ARGV[i + 2] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
    else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
    if ARGV[i + 3] ~= '' then redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[1], '*', 'e', ARGV[i + 3]) end
    reported = reported + 1
  end
end
return reported
"""
"""Appends the events of crawls whose last report is still the one that the caller compared with. Two processes that
compare at the same time therefore report a change once."""


class Report(NamedTuple):
    """A change of a crawl. `before` and `after`: what was and what will be last reported, '' for nothing. `event`:
    the event as JSON, or '' for none."""

    crawl: str
    before: str
    after: str
    event: str


class StoredEvent(NamedTuple):
    """An event of the stream. `number`: its number in the stream, `MS-N`."""

    number: str
    event: bytes


def decode_events(found: Any) -> list[StoredEvent]:
    """Decodes entries of the stream."""
    return [StoredEvent(at.decode(), fields[b"e"]) for at, fields in found]


class CrawlEvents:
    """Reads and appends events of crawls."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def reported(self) -> dict[str, str]:
        """Returns what was last reported about each crawl."""
        found = await self._do(self._store.client.hgetall(keys.REPORTED))
        return {name.decode(): value.decode() for name, value in found.items()}

    async def report(self, reports: Sequence[Report]) -> int:
        """Appends events. Returns how many of the reports were still current."""
        if not reports:
            return 0
        flat = [value for one in reports for value in one]
        return int(
            await self._do(self._store.client.eval(_REPORT, 2, keys.REPORTED, keys.EVENTS, MAX_EVENTS, *flat))
        )

    async def after(self, number: str, count: int = 1000) -> list[StoredEvent]:
        """Returns the events after the event `number`, oldest first."""
        return decode_events(await self._do(self._store.client.xrange(keys.EVENTS, f"({number}", "+", count)))

    async def newest(self) -> str:
        """Returns the number of the newest event, or `0-0`."""
        found = await self._do(self._store.client.xrevrange(keys.EVENTS, count=1))
        return found[0][0].decode() if found else "0-0"

    async def oldest(self) -> str:
        """Returns the number of the oldest event that is kept, or `0-0`."""
        found = await self._do(self._store.client.xrange(keys.EVENTS, count=1))
        return found[0][0].decode() if found else "0-0"

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))
