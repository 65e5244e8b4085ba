"""A tight depth limit. Every page within the limit is fetched, in whatever order the paths to it are
found."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, deque

import pytest

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from support.repetitions import repetitions
from worker.worker_parts import SEED, Make, Net, failure, links


class Uneven(Net):
    """A network in which some pages take long."""

    def __init__(self, answers: dict[str, object], waits: dict[str, float]) -> None:
        super().__init__(answers)
        self.waits = waits

    async def collect(
        self, request: Request, headers: dict[str, str], guise: object = None
    ) -> Page | Failure:
        await asyncio.sleep(self.waits.get(request.url, 0.0))
        return await super().collect(request, headers)


def url(name: object) -> str:
    return f"http://a.example/{name}"


# The long path is fast: seed -> a -> b -> w -> beyond. The short path is slow: seed -> slow -> w -> beyond.
SHORT_AND_SLOW = {
    SEED: links("/a", "/slow"),
    url("a"): links("/b"),
    url("b"): links("/w"),
    url("slow"): links("/w"),
    url("w"): links("/beyond"),
    url("beyond"): links("/too-far"),
}


@pytest.mark.parametrize("at_hand", [32 << 20, 0])
async def test_a_page_that_was_read_too_deep_gives_its_links_after_all(road: Make, at_hand: int) -> None:
    table = road(Uneven(SHORT_AND_SLOW, {url("slow"): 0.3}), depth=3, at_hand=at_hand)
    await table.add(SEED)
    assert await table.run() == "finished"
    asked = Counter(table.net.asked)
    assert set(asked) == {SEED, *map(url, ("a", "b", "slow", "w", "beyond"))}
    assert asked[url("w")] == (1 if at_hand else 2), "it is asked for again only where it is not at hand"
    rows = [json.loads(line) for line in table.path.read_text().splitlines()]
    assert sorted(row["url"] for row in rows) == sorted(asked), "and is one row"
    assert {row["url"]: row["depth"] for row in rows}[url("beyond")] == 3
    n = await table.counts()
    assert (n["pages"], n["open"], n["infra"]) == (6, 0, 0)
    assert await table.adds_up()


async def test_one_that_still_waits_is_visited_at_the_lesser_depth(road: Make) -> None:
    table = road(Uneven(SHORT_AND_SLOW, {url("slow"): 0.1}), depth=3, concurrency=1)
    await table.add(SEED, Request(url("w"), depth=3), Request(url("w"), depth=2))
    assert await table.run() == "finished"
    assert url("beyond") in table.net.asked
    assert max(Counter(table.net.asked).values()) == 1


async def test_a_shorter_way_that_is_found_while_a_page_is_asked_for(road: Make) -> None:
    table = road(Uneven(SHORT_AND_SLOW, {url("slow"): 0.1, url("w"): 0.3}), depth=3)
    await table.add(SEED)
    assert await table.run() == "finished"
    assert url("beyond") in table.net.asked
    assert await table.adds_up()


async def test_one_that_cannot_be_read_again_ends_quietly(road: Make) -> None:
    answers = SHORT_AND_SLOW | {url("w"): [links("/beyond"), failure("dns", final=True)]}
    table = road(Uneven(answers, {url("slow"): 0.3}), depth=3, at_hand=0)
    await table.add(SEED)
    assert await table.run() == "finished"
    n = await table.counts()
    assert (n["pages"], n.get("dead", 0), n["open"], n["infra"]) == (5, 0, 0, 0)
    assert await table.adds_up()


@pytest.mark.parametrize("seed", range(repetitions(8, 4)))
async def test_any_web_in_any_order(road: Make, seed: int) -> None:
    """Random webs with slow pages, redirects and retries. The crawl fetches the same pages as a breadth-first
    search, each once."""
    rng = random.Random(seed)
    names, limit = list(range(60)), rng.choice((3, 5, 8, 12))
    ways = {n: [(n + 1) % 60, rng.randrange(60)] for n in names}
    for n in rng.sample(names, 25):
        ways[n].append((n + rng.randrange(2, 12)) % 60)
    hops = {n for n in names if n % 9 == 8}
    answers: dict[str, object] = {SEED: links(*(f"/{n}" for n in names[:2]))}
    for n in names:
        page: object = (
            links(*(f"/{m}" for m in ways[n]))
            if n not in hops
            else (301, {"location": f"/{ways[n][0]}"}, b"")
        )
        answers[url(n)] = [503, page] if n % 29 == 6 else page
    # the pages on short paths are slow
    waits = {url(n): rng.choice((0.02, 0.1)) * (len(ways[n]) > 2) for n in names}
    table = road(
        Uneven(answers, waits), depth=limit, retries=(0.05, 0.05), room=rng.choice((1, 50_000)), concurrency=6
    )
    await table.add(SEED)
    assert await table.run() == "finished"
    least, queue = {0: 1, 1: 1}, deque([0, 1])
    while queue:  # a redirect does not add to the depth
        n = queue.popleft()
        for m in ways[n][:1] if n in hops else ways[n]:
            step = least[n] + (n not in hops)
            if step <= limit and step < least.get(m, 99):
                least[m] = step
                queue.append(m)
    asked = Counter(table.net.asked)
    assert {url(n) for n in least} == set(asked) - {SEED}
    for n in least:
        if n not in hops:
            assert asked[url(n)] == (2 if n % 29 == 6 else 1)
    rows = Counter(json.loads(line)["requested_url"] for line in table.path.read_text().splitlines())
    assert max(rows.values()) == 1
    counts = await table.counts()
    assert (counts["open"], counts.get("infra", 0)) == (0, 0)
    assert await table.adds_up()
