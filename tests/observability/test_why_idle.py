"""The words of `status` for a crawl that gets no pages, on a real store."""

from __future__ import annotations

import asyncio

from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.stats import CrawlStatistics
from gossamer.observability.why_idle import why_idle
from gossamer.store.store import connect
from support.frontiers import Bed

A, B = "https://a.example", "https://b.example"


async def test_hosts_that_no_worker_claims_and_waits_for_retries_are_named(valkey_url: str) -> None:
    store = connect(valkey_url)
    await store.open(1, "test")
    crawls, statistics = Crawls(store), CrawlStatistics(store)
    await crawls.begin("c", Spec([f"{A}/"]), [])

    async def said() -> tuple[str, str]:
        found = await why_idle(statistics, await crawls.need("c"), await statistics.summary("c"))
        assert found is not None
        return found.reason, found.text

    bed = Bed(store)
    await bed.add(f"{A}/1")
    assert await said() == (
        "not-claimed",
        "1 host is ready, but no worker claims it: its workers are full, or hang",
    )
    await bed.add(f"{B}/1")
    for _ in range(500):  # on a busy machine, the second host was once not ready yet
        if (await said())[1].startswith("2 hosts are ready, but no worker claims them: "):
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError(await said())
    for claim in await bed.claim():
        await bed.end(claim, "r", wait=60_000, reason="timeout")
    reason, text = await said()
    assert (reason, text.split(":")[0]) == ("retries", "all 2 pending pages wait for a retry")
    assert text.endswith("; gossamer finish c ends the wait")
    await crawls.finish_in("c", 100.0)
    assert "; the crawl ends in at most " in (await said())[1]
    assert (await said())[1].endswith(" s, or at once with gossamer finish c")
    await store.close()
