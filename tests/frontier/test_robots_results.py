"""Results of robots.txt claims that arrive together share calls to the store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from frontier.claims import Beds
from gossamer.errors import Away
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Settle
from gossamer.store.store import Store


async def stored(b: Any, claim: Claim) -> bool:
    end = Settle(claim.token, ClaimEnd.DONE, since=0)
    return bool(await b.frontier.robots(claim, version=1, holds=60_000, crawl_delay=0, settle=end))


async def test_results_that_arrive_together_are_one_call(
    bed: Beds, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, sizes, send = bed(delay=0, obey_robots=True), list[int](), store.client.send
    await b.add(*(f"https://h{n}.example/" for n in range(40)))
    claims = await b.claim()
    assert {claim.kind for claim in claims} == {"robots"}

    async def counted(commands: Any, **given: Any) -> list[Any]:
        sizes.append(len(commands))
        return await send(commands, **given)

    monkeypatch.setattr(store.client, "send", counted)
    assert all(await asyncio.gather(*(stored(b, claim) for claim in claims)))
    assert set(sizes) == {40}, "all in one call, which is repeated if the server lacks the script"
    assert await stored(b, claims[0]) is False, "its lease is gone"
    assert {claim.kind for claim in await b.claim()} == {"page"}


async def test_a_result_survives_an_outage(bed: Beds, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    b, run_all = bed(delay=0, obey_robots=True), store.run_all
    await b.add("https://a.example/")
    (claim,) = await b.claim()

    async def away(verb: str, calls: Any, confirm: bool = False) -> list[Any]:
        monkeypatch.setattr(store, "run_all", run_all)
        return [Away("the store does not answer")] * len(calls)

    monkeypatch.setattr(store, "run_all", away)
    assert await stored(b, claim)


async def test_a_store_that_stays_away_is_the_caller_s_error(
    bed: Beds, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = bed(delay=0, obey_robots=True)
    await b.add("https://a.example/")
    (claim,) = await b.claim()

    async def away(*_: Any, **__: Any) -> Any:
        raise Away("the store does not answer")

    monkeypatch.setattr(store, "run_all", away)
    monkeypatch.setattr(store, "run", away)
    with pytest.raises(Away):
        await stored(b, claim)
