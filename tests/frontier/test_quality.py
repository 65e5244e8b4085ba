"""What is remembered of a site's runs: the last ten, each once; what cannot be read is left out."""

from __future__ import annotations

from gossamer.frontier import keys
from gossamer.frontier.quality import Runs
from gossamer.frontier.store import Store
from gossamer.quality import KEPT, Run


async def test_the_last_good_runs_of_a_site(store: Store) -> None:
    runs = Runs(store)
    for n in (*range(KEPT + 2), KEPT + 1):
        await runs.keep("shop", Run("c", f"2026-01-{n + 1:02}T00:00:00Z", 20, 1.0, 0.5, {"book.price": 0.9}))
    await store.guard(store.client.lpush(keys.quality("odd"), b"{"))
    found = await runs.load(["shop", "odd", "none"])
    assert [run.at[8:10] for run in found["shop"]] == [f"{n:02}" for n in range(KEPT + 2, 2, -1)]
    assert (found["odd"], found["none"], await runs.load([])) == ([], [], {})
    assert 0 < await store.guard(store.client.ttl(keys.quality("shop"))) <= 400 * 86_400
