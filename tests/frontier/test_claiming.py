"""Claims of URLs in a real Valkey: host order, robots.txt, retries, and the operators' commands."""

from __future__ import annotations

from frontier.claims import A, Beds, paths
from gossamer.model.visit import Settle
from gossamer.store.store import Store


async def test_higher_priority_comes_first_and_a_low_one_does_not_starve(bed: Beds) -> None:
    b = bed(delay=1)
    await b.add(*(f"{A}/low{i}" for i in range(5)), priority=-3)
    await b.add(*(f"{A}/high{i}" for i in range(40)), priority=12)
    await b.add(*(f"{A}/mid{i}" for i in range(5)), priority=2)
    order = []
    for _ in range(32):
        (claim,) = await b.claim()
        order += paths([claim])
        await b.end(claim, delay=0)
    assert [path for path in order if "low" in path] == ["/low0", "/low1"], (
        "every 16th claim is the lowest level's"
    )
    assert order[:15] == [f"/high{i}" for i in range(15)]
    assert "mid" not in "".join(order)


async def test_a_child_of_a_redirect_goes_to_the_front(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    await b.add(f"{A}/child", flags="rf")
    assert paths(await b.claim()) == ["/child", "/1", "/2"]


async def test_one_claim_a_host_and_its_next_start(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=1)
    await b.add(f"{A}/1", f"{A}/2", "https://b.example/1")
    claims = await b.claim()
    assert sorted(c.host for c in claims) == ["a.example", "b.example"]
    assert await b.claim() == []
    one = next(c for c in claims if c.host == "a.example")
    await b.end(one, since=1000, delay=60_000)
    got = await b.claimed()
    assert got.claims == []
    assert 55_000 < got.next_at - got.now <= 59_000, "from the start of the request, a second ago"


async def test_the_gap_holds_with_several_at_once(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=3)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    for _ in range(3):
        assert len(await b.claim()) == 1
        assert await b.claim() == [], "its delay has not passed"
        await b.later(30_000)
        assert await b.claim() == []
        await b.later(30_000)
    assert (await b.counts())["open"] == 9
    assert await b.claim() == [], "three are out"


async def test_a_refused_claim_gives_its_turn_back_and_the_next_is_a_gate(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=1)
    await b.add(*(f"{A}/{i}" for i in range(20)))
    (first,) = await b.claim()
    await b.end(first, "k")
    gate = await b.claim()
    assert (len(gate), {c.kind for c in gate}) == (16, {"gate"})
    refused, chosen, rest = gate[:2], gate[2], gate[3:]
    ends = [Settle(c.token, "k") for c in refused] + [Settle(c.token, "b") for c in rest]
    await b.frontier.settle(0, ends, {"skip:robots": 2}, {})
    assert await b.claim() == [], "the one that was allowed is out"
    await b.end(chosen, since=30_000, delay=60_000)
    assert await b.claim() == []
    await b.later(30_000)
    (*_, last) = gate = await b.claim()
    assert paths(gate) == [f"/{i}" for i in range(4, 20)], "what went back keeps its order"
    assert await b.adds_up()
    del last


async def test_refusals_of_a_gate_do_not_open_the_host_while_its_page_is_asked_for(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=4)
    await b.add(*(f"{A}/{i}" for i in range(6)))
    (first,) = await b.claim()
    await b.end(first, "k")
    gate = await b.claim()
    assert len(gate) == 5
    for claim in gate[:3]:
        await b.end(claim, "k")
    await b.end(gate[4], "b")
    got = await b.claimed()  # the fourth URL is still in flight
    assert got.claims == []
    assert got.next_at > got.now + 50_000
    await b.end(gate[3], "k")
    assert paths(await b.claim()) == ["/5"]  # no request was made after all


async def test_robots_come_before_pages_and_are_shared(bed: Beds) -> None:
    b, other = bed(obey_robots=True), bed("other", obey_robots=True)
    await b.add(f"{A}/1", f"{A}/2")
    await other.add(f"{A}/9")
    (claim,) = await b.claim()
    assert (claim.kind, claim.request.url) == ("robots", f"{A}/robots.txt")
    assert await other.claim() == [], "the other crawl waits for the same robots.txt"
    kept = b.frontier.robots
    assert await kept(
        claim, version=7, holds=60_000, crawl_delay=0, settle=Settle(claim.token, "d", since=0), rules=b"R"
    )
    assert [c.robots for c in await b.claim()] == [7, 7]
    assert paths(await other.claim()) == ["/9"]
    assert await b.frontier.rules(0, "a.example", "s") == b"R"
    assert not await kept(claim, version=8, holds=1, crawl_delay=0, settle=Settle(claim.token, "d"))


async def test_each_scheme_has_its_own_robots(bed: Beds) -> None:
    b = bed(obey_robots=True)
    await b.add(f"{A}/1", "http://a.example/1")
    (first,) = await b.claim()
    await b.frontier.robots(
        first, version=7, holds=60_000, crawl_delay=0, settle=Settle(first.token, "d", since=0)
    )
    claims = await b.claim()
    kinds = {c.request.url for c in claims}
    second = [c for c in claims if c.kind == "robots"] or await b.claim()
    assert {c.request.url for c in second} | kinds >= {"http://a.example/robots.txt", f"{A}/1"} or len(
        second
    ) == 1


async def test_a_closed_host_is_asked_again_after_its_wait(bed: Beds) -> None:
    b = bed(obey_robots=True)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    assert claim.robots == 0
    settle = Settle(claim.token, "d", since=0, host_wait=40_000)
    await b.frontier.robots(claim, version=1, holds=0, crawl_delay=0, settle=settle)
    assert await b.claim() == []
    await b.later(40_000)
    (again,) = await b.claim()
    assert (again.kind, again.robots) == ("robots", 1)


async def test_a_crawl_delay_is_a_floor(bed: Beds) -> None:
    b = bed(obey_robots=True, per_host=1)
    await b.add(f"{A}/1", f"{A}/2")
    (claim,) = await b.claim()
    await b.frontier.robots(
        claim, version=7, holds=900_000, crawl_delay=50_000, settle=Settle(claim.token, "d", since=0)
    )
    assert await b.claim() == [], "robots.txt was a request, too"
    await b.later(50_000)
    (page,) = await b.claim()
    assert (page.delay, page.floor) == (50.0, 50.0)


async def test_retries_wait_and_go_behind_fresh_urls(bed: Beds) -> None:
    b = bed(delay=1)
    await b.add(f"{A}/bad")
    (bad,) = await b.claim()
    await b.end(bad, "r", wait=30_000)
    assert (await b.counts())["open"] == 1
    assert await b.claim() == []
    await b.later(30_000)
    await b.add(f"{A}/fresh")
    (fresh,) = await b.claim()
    assert paths([fresh]) == ["/fresh"]
    await b.end(fresh)
    await b.later(1)
    (again,) = await b.claim()
    assert (paths([again]), again.attempt) == (["/bad"], 1)


async def test_retries_come_in_the_order_of_their_time(bed: Beds) -> None:
    b = bed(delay=0)
    await b.add(*(f"{A}/{n}" for n in range(4)))
    for claim, wait in zip(await b.claim(), (60_000, 20_000, 80_000, 40_000), strict=True):
        await b.end(claim, "r", wait=wait)
    await b.later(30_000)
    assert paths(await b.claim()) == ["/1"], "no other is due"
    await b.later(50_000)
    await b.add(f"{A}/fresh")
    assert paths(await b.claim()) == ["/fresh", "/3", "/0", "/2"]


async def test_dead_letters_requeue_and_drop(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    for claim in await b.claim():
        await b.end(claim, "x", reason="dns", detail="no\taddress\n")
    counts = await b.counts()
    assert (counts["dead"], counts["err:dns"], counts["open"]) == (2, 2, 0)
    assert await b.adds_up()
    assert await store.run("dead_letters", 0, "c", "requeue", "", 1, 99) == 1
    assert await store.run("dead_letters", 0, "c", "drop", "", 2) == 1
    (back,) = await b.claim()
    assert (paths([back]), back.attempt, back.crashes) == (["/1"], 0, 0)
    assert (await b.counts())["failed"] == 1
    assert await b.adds_up()


async def test_two_crawls_share_a_host_s_turns(bed: Beds) -> None:
    one, two = bed("one", delay=60_000, per_host=1), bed("two", delay=60_000, per_host=1)
    await one.add(f"{A}/1")
    await two.add(f"{A}/2")
    (claim,) = await one.claim()
    assert await two.claim() == []
    await one.end(claim, since=0, delay=30_000)
    assert await two.claim() == []
    await one.later(30_000)
    assert paths(await two.claim()) == ["/2"], "the settle armed the other crawl as well"


async def test_a_paused_host_waits_and_the_others_go_on(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", "https://b.example/1")
    now = (await b.claimed(0)).now
    await store.run("host_control", 0, "", "a.example", "p", now + 3_600_000)
    assert [c.host for c in await b.claim()] == ["b.example"]
    await store.run("host_control", 0, "", "a.example", "p", "")
    assert [c.host for c in await b.claim()] == ["a.example"]


async def test_an_operator_s_delay_beats_the_crawl_s(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    await store.run("host_control", 0, "", "a.example", "D", 60_000)
    (claim,) = await b.claim()
    assert (claim.delay, claim.rate) == (60.0, 60.0)


async def test_priorities_change_while_urls_wait(bed: Beds, store: Store) -> None:
    b = bed(delay=1)
    await b.add(f"{A}/1", f"{A}/2", f"{A}/3")
    entries = await store.client.lrange("{b:000}c:q:a.example:0", 1, 2)
    assert await store.run("change_priority", 0, "c", "a.example", 0, 9, entries[0], entries[1], b"gone") == 2
    order = []
    for _ in range(3):
        (claim,) = await b.claim()
        order += paths([claim])
        await b.end(claim)
    assert order == ["/2", "/3", "/1"]
    assert not await store.client.exists("{b:000}c:q:a.example:0", "{b:000}c:q:a.example:9")
