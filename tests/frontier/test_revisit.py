"""Known URLs are queued again although they are in the seen set, and each batch is queued once."""

from __future__ import annotations

from typing import Any

from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import make_entry
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Adds, Settle
from gossamer.store.store import Store

POLICY = Policy(delay=0, per_host=100, obey_robots=False)


def links(frontier: Frontier, numbers: range, flags: str) -> Adds:
    flat: list[Any] = []
    for number in numbers:
        mark = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
        flat += (*frontier.remainder(mark), make_entry("https", f"/{number}", 1, None))
    return {(0, "a.example", 0, "http", flags, ""): flat}


async def visit_all(frontier: Frontier) -> list[str]:
    paths = []
    while claims := (await frontier.claim(0, 64)).claims:
        paths += [one.request.url.removeprefix("https://a.example/") for one in claims]
        await frontier.settle(
            0, [Settle(one.token, ClaimEnd.DONE) for one in claims], {"pages": len(claims)}, {}
        )
    return paths


async def test_known_urls_are_queued_again_and_the_seen_set_stays(store: Store) -> None:
    frontier = Frontier(store, "c", POLICY)
    await frontier.add(links(frontier, range(5), "o"))
    assert len(await visit_all(frontier)) == 5
    assert (await frontier.add(links(frontier, range(5), "o")))[:2] == (0, 5)
    before: Any = await store.client.hgetall("{b:000}c:g")  # type: ignore[misc]
    await frontier.revisit(links(frontier, range(3), "orv"), 1)
    assert sorted(await visit_all(frontier)) == ["0", "1", "2"]
    after: Any = await store.client.hgetall("{b:000}c:g")  # type: ignore[misc]
    assert {**after, b"rv": b""} == {**before, b"rv": b""}


async def test_a_batch_is_queued_once_however_often_it_is_sent(store: Store) -> None:
    frontier = Frontier(store, "c", POLICY)
    for batch, times in ((1, 3), (2, 2), (1, 1)):
        for _ in range(times):
            await frontier.revisit(links(frontier, range(4), "orv"), batch)
    assert len(await visit_all(frontier)) == 8
    counts: Any = await store.client.hgetall("{b:000}c:n")  # type: ignore[misc]
    assert (int(counts[b"open"]), int(counts[b"revisits"]), int(counts[b"added"])) == (0, 8, 8)
