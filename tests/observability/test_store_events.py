"""Store events in the log of a fleet."""

from __future__ import annotations

import pytest

from gossamer.frontier.crawls import Crawls, Spec
from gossamer.observability import store_events
from gossamer.observability.store_events import StoreEvents
from gossamer.store import keys
from gossamer.store.store import connect


async def test_a_change_is_logged_once_though_the_process_that_logs_is_killed(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(
        store_events, "log_event", lambda event, **fields: told.append((fields["crawl"], fields["state"]))
    )
    store = connect(valkey_url)
    await store.open(64, "test")
    crawls = Crawls(store)
    await crawls.begin("old", Spec(["http://a.test/"]), [])
    first, second = StoreEvents(store), StoreEvents(store)
    await first.look()
    assert told == [], "the state before is unknown"
    await crawls.begin("c", Spec(["http://a.test/"]), [])
    await first.look()
    assert told == [("c", "running")]
    await crawls.set("c", "finished", "")
    await second.look()  # the process of `first` was killed
    assert told == [("c", "running"), ("c", "finished")]
    await first.look()
    assert len(told) == 2
    await store.client.srem(keys.CRAWLS, "old")
    await second.look()
    assert await store.client.hkeys(keys.LOGGED_STATES) == [b"c"]
    await store.close()
