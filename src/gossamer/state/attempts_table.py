"""Keeps the attempts of each crawl in a shared store. The attempts are in a table of limited size. Every
worker writes to the table, and every machine can read the table. Each entry is a compressed batch of lines.
The oldest entries are dropped when a crawl's table is full."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.model.visit import Attempt
from gossamer.store import keys
from gossamer.store.store import Store

PAGE_ENTRIES = 50
_ADD = """
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'lines', ARGV[2])
local bytes = redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[1])
while bytes > tonumber(ARGV[3]) and redis.call('LLEN', KEYS[1]) > 1 do
  local old = redis.call('LPOP', KEYS[1])
  bytes = redis.call('HINCRBY', KEYS[2], 'bytes', -#old)
  redis.call('HINCRBY', KEYS[2], 'dropped', (struct.unpack('>I4', old)))
end
return bytes
"""


class TableSize(NamedTuple):
    """The size of a crawl's table. `lines`: the number of lines written so far. `dropped`: the number of
    these lines that were later dropped because the table was full. `bytes`: the current size."""

    lines: int
    dropped: int
    bytes: int


def pack_lines(lines: Sequence[Attempt]) -> bytes:
    """Encodes a batch as the number of lines (4 bytes, big-endian), followed by the compressed JSON lines."""
    text = msgspec.json.Encoder().encode_lines(lines)
    return len(lines).to_bytes(4, "big") + zlib.compress(text, 1)


class AttemptsTable:
    """The attempts table of one crawl."""

    def __init__(self, store: Store, crawl: str, most: int = 0) -> None:
        """`most`: the maximum size of the table in bytes. Only the method `add` uses this limit."""
        self._store, self._keys, self._most = store, keys.attempts(crawl), most

    async def add(self, entry: bytes, lines: int) -> None:
        """Adds one batch. `entry` is the batch as encoded by `pack_lines`. `lines` is the number of lines in
        the batch. During an outage of the store, waits for the end of the outage if the client is configured
        to wait."""
        call = self._store.client.eval(_ADD, 2, *self._keys, entry, str(lines), str(self._most))
        await self._store.guard(cast(Any, call))

    async def size(self) -> TableSize:
        """Returns the size of the table."""
        found = await self._store.guard(
            cast(Any, self._store.client.hmget(self._keys[1], ["lines", "dropped", "bytes"]))
        )
        return TableSize(*(int(one or 0) for one in found))

    async def batches(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yields the lines in batches, oldest first."""
        first = 0
        while True:
            call = self._store.client.lrange(self._keys[0], first, first + PAGE_ENTRIES - 1)
            entries = await self._store.guard(cast(Any, call))
            for entry in entries:
                yield msgspec.json.Decoder(dict[str, Any]).decode_lines(zlib.decompress(entry[4:]))
            if len(entries) < PAGE_ENTRIES:
                return
            first += PAGE_ENTRIES
