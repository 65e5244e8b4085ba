"""The attempts table of a crawl on a shared store."""

from __future__ import annotations

from gossamer.state.attempts_table import AttemptsTable
from gossamer.store.store import Store


async def test_a_full_table_drops_its_oldest_batches(store: Store) -> None:
    table = AttemptsTable(store, "c", 20)
    for n in range(5):
        await table.add(n.to_bytes(4, "big") + b"12345", n)
    assert await table.size() == (10, 3, 18)
