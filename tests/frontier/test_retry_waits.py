"""URLs that wait for a retry in a real Valkey: when nothing else is left, and how their wait is ended."""

from __future__ import annotations

from frontier.claims import A, Beds, paths
from gossamer.frontier.retry_waits import hasten, only_retries
from gossamer.politeness.breaker import HostTrouble

B = "https://b.example"


async def test_only_retries_are_left_when_every_other_url_has_ended(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/bad", f"{A}/good", f"{B}/bad")
    assert await only_retries(b.store, "c") is None, "queued"
    claims = {claim.request.url: claim for claim in await b.claim()}
    await b.end(claims[f"{A}/bad"], "r", wait=30_000, reason="http-5xx", detail="HTTP 500")
    await b.end(claims[f"{B}/bad"], "r", wait=60_000, reason="timeout")
    assert await only_retries(b.store, "c") is None, "in flight"
    await b.end(claims[f"{A}/good"])
    left = await only_retries(b.store, "c")
    assert left is not None
    assert left.urls == 2
    assert 25 < left.next <= 30 < 55 < left.last <= 60
    await b.later(30_000)
    (again,) = await b.claim()
    left = await only_retries(b.store, "c")
    assert left is not None
    assert (left.urls, left.next) == (2, 0.0), "a retry in flight is still a retry"
    await b.end(again)
    await b.add(f"{A}/new")
    assert await only_retries(b.store, "c") is None


async def test_an_ended_wait_gives_the_last_reason_and_takes_no_slot(bed: Beds) -> None:
    b = bed(per_host=1)
    await b.add(f"{A}/low", priority=-2)
    await b.add(f"{A}/high", priority=3)
    for reason in ("timeout", "http-5xx"):
        (claim,) = await b.claim()
        await b.end(claim, "r", wait=60_000, reason="reset")
        await b.later(60_000)
        (claim,) = await b.claim()
        await b.end(claim, "r", wait=600_000, reason=reason, detail=f"of {claim.request.priority}")
    await b.add(f"{A}/fresh")
    found = [claim for one in await b.frontier.all_buckets.end_waits(10) for claim in one.claims]
    assert sorted(
        (path, HostTrouble.of(one.trouble).given_up) for path, one in zip(paths(found), found, strict=True)
    ) == [
        ("/high", "timeout\tof 3"),
        ("/low", "http-5xx\tof -2"),
    ]
    assert paths(await b.claim()) == ["/fresh"], "the host is still free"
    for claim in found:
        await b.end(claim, "x", since=-1, reason="timeout")
    counts = await b.counts()
    assert (counts["open"], counts["dead"]) == (1, 2)
    assert [page async for page in b.store.scan("{b:000}c:w:*")] == []


async def test_a_shorter_schedule_brings_retries_forward(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{B}/1")
    for claim in await b.claim():
        await b.end(claim, "r", wait=3_600_000)
    assert await hasten(b.store, "c", lambda host: (60.0, 90.0)) == 2
    assert await hasten(b.store, "c", lambda host: (7200.0,)) == 0, "never later"
    await b.later(50_000)
    assert await b.claim() == []
    await b.later(10_000)
    assert sorted(paths(await b.claim())) == ["/1", "/1"]
