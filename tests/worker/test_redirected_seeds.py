"""Links to a host that a seed redirects to. They are refused when they are found, and accepted once the
redirect is known."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from gossamer.store.store import Store
from worker.test_min_depth import Uneven
from worker.worker_parts import Make, Net, links

FRONT, OTHER, WWW = "http://example.com/", "http://docs.example.com/", "http://www.example.com/"


@pytest.mark.parametrize("slow", [OTHER, FRONT])
async def test_links_met_before_the_redirect_are_followed_after_it(road: Make, slow: str) -> None:
    web = {
        FRONT: (301, {"location": WWW}, b""),
        WWW: links("/a"),
        OTHER: links(
            f"{WWW}deep", f"{WWW}deep", "http://blog.example.com/", "http://elsewhere.test/", f"{WWW}x/x/x/x/"
        ),
        OTHER + "2": "",
    }
    table = road(Uneven(web, {slow: 0.2}), seeds=(FRONT, OTHER))
    await table.add(FRONT, OTHER, flags="s")
    assert await table.frontier.may_redirect_seeds()
    assert await table.run() == "finished"
    assert not await table.frontier.may_redirect_seeds()
    assert Counter(table.net.asked) == Counter([FRONT, OTHER, WWW, WWW + "a", WWW + "deep"])
    n = await table.counts()
    assert n["skip:scope"] == (3 if slow == FRONT else 2), "the rest stays refused"
    assert await table.adds_up()


async def test_links_that_are_on_their_way_when_the_seed_answers(road: Make, store: Store) -> None:
    """A page is read before the redirect is known, and committed afterwards."""
    table = road(Net(), seeds=(FRONT, OTHER))
    await table.add(OTHER)
    (claim,) = await table.claim()
    taken = table.link_intake.take(OTHER, OTHER, [f"{WWW}deep"], claim)
    assert taken.skips == {"scope": 1}
    assert await table.frontier.admit(0, "www.example.com") == 0
    await table.frontier.settle(0, [], {"skip:scope": 1, "found": 1}, taken.adds)
    assert [one.request.url for one in await table.claim()] == [WWW + "deep"]
    assert (await table.counts())["skip:scope"] == 0
    assert await table.adds_up()


async def test_what_is_held_for_a_host_is_bounded_and_goes_with_the_crawl(road: Make, store: Store) -> None:
    table = road(Net(), seeds=(FRONT,))
    await table.add(FRONT)
    (claim,) = await table.claim()
    taken = table.link_intake.take(FRONT, FRONT, [f"{WWW}{k}" for k in range(1500)], claim)
    await table.frontier.settle(0, [], {"skip:scope": 1500, "found": 1500}, taken.adds)
    assert await table.adds_up()
    assert await table.frontier.admit(0, "www.example.com") == 1000
    assert await table.frontier.admit(0, "www.example.com") == 0
    assert await table.adds_up()
    await asyncio.sleep(0)
    assert not await store.client.exists("{b:000}c:a:www.example.com")
