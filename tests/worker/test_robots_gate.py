"""robots.txt in the gate, over a real store: versions, stale copies, closed hosts, redirects, back-off."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import Drop
from gossamer.model.visit import Claim, Visit
from gossamer.politeness.robots_access import NO_NAME, OPEN, PRIVATE, TOO_SLOW
from gossamer.store.store import Store
from worker.worker_parts import Make, Net, Road, failure

ROBOTS = "http://a.example/robots.txt"
RULES = "User-agent: *\nDisallow: /no\n"


async def robots_claim(road: Road) -> Claim:
    (claim,) = await road.claim()
    assert (claim.kind, claim.request.url) == ("robots", ROBOTS)
    return claim


async def pages(road: Road) -> list[Claim]:
    found: list[Claim] = []
    for _ in range(100):
        found += await road.claim()
        if found:
            break
        await asyncio.sleep(0.02)
    return found


async def forget(store: Store) -> None:
    """Marks the rules as outdated, as after a day."""
    await store.client.hset("{b:000}h:a.example", "eh", 1)


async def test_rules_are_fetched_first_and_then_decide(road: Make) -> None:
    net = Net({ROBOTS: RULES})
    table = road(net, obey=True)
    await table.add("http://a.example/no", "http://a.example/yes")
    await table.gate.fetch(await robots_claim(table))
    refused = {claim.request.url: await table.gate.refuse(claim) for claim in await pages(table)}
    assert refused["http://a.example/yes"] is None
    drop = refused["http://a.example/no"]
    assert isinstance(drop, Drop)
    assert (drop.skip, drop.error) == ("robots", None)
    assert "Disallow: /no" in drop.detail
    assert net.asked == [ROBOTS]


async def test_each_rung_that_robots_txt_was_asked_for_on_is_an_attempt(road: Make) -> None:
    shut = (
        403,
        {"content-type": "text/html"},
        b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
    )
    table = road(Net({ROBOTS: [shut, RULES]}), obey=True)
    table.gate._ladder = lambda request: ("plain", "impersonated")
    await table.add("http://a.example/no")
    made: list[Visit] = []
    await table.visitor.visit([await robots_claim(table)], made.append)
    lines = [(one.outcome, one.status, one.block and one.block.split(" (")[0]) for one in made[0].attempts]
    assert lines == [("climbed", 403, "cloudflare challenge"), ("done", 200, None)]


async def test_who_finds_no_way_to_robots_txt_made_an_attempt_that_is_no_success(road: Make) -> None:
    table = road(Net({ROBOTS: Failure("dns", "no such name", 0.0, 0.0, final=True, sent=False)}), obey=True)
    await table.add("http://a.example/no")
    made: list[Visit] = []
    await table.visitor.visit([await robots_claim(table)], made.append)
    assert [(one.outcome, one.status, one.error) for one in made[0].attempts] == [("dead", None, "dns")]


async def test_another_worker_reads_the_kept_rules_and_not_the_host(road: Make) -> None:
    net = Net({ROBOTS: RULES})
    one, other = road(net, obey=True), road(net, obey=True, output="other.jsonl")
    await one.add("http://a.example/no")
    await one.gate.fetch(await robots_claim(one))
    (claim,) = await pages(other)
    assert await other.gate.refuse(claim) is not None
    assert net.asked == [ROBOTS]


async def test_rules_that_nobody_has_any_more_close_the_host(road: Make, store: Store) -> None:
    one, other = road(Net({ROBOTS: RULES}), obey=True), road(Net({}), obey=True, output="other.jsonl")
    await one.add("http://a.example/no")
    await one.gate.fetch(await robots_claim(one))
    (claim,) = await pages(other)
    await store.client.delete("{b:000}o:h:a.example")
    drop = await other.gate.refuse(claim)
    assert isinstance(drop, Drop)
    assert drop.error == "robots-unreachable"


async def test_a_new_version_replaces_the_parsed_rules(road: Make, store: Store) -> None:
    net = Net({ROBOTS: [RULES, "User-agent: *\nDisallow:\n"]})
    table = road(net, obey=True)
    await table.add("http://a.example/no", "http://a.example/no2")
    await table.gate.fetch(await robots_claim(table))
    first = (await pages(table))[0]
    assert await table.gate.refuse(first) is not None
    await forget(store)
    await table.add("http://a.example/no3")
    await table.gate.fetch(await robots_claim(table))
    later = (await pages(table))[0]
    assert later.robots != first.robots
    assert await table.gate.refuse(later) is None


@pytest.mark.parametrize("answer", [404, 403, 401, 410, (301, {}, b""), failure("content-type")])
async def test_no_robots_txt_opens_the_host(road: Make, answer: object) -> None:
    table = road(Net({ROBOTS: answer}), obey=True)
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    (claim,) = await pages(table)
    assert claim.robots == OPEN
    assert await table.gate.refuse(claim) is None


@pytest.mark.parametrize(
    ("answer", "version", "skip", "error"),
    [
        (500, -9, None, "robots-unreachable"),
        (429, -9, None, "robots-unreachable"),
        (failure("timeout"), -6, None, "robots-unreachable"),
        (failure("dns", final=True), NO_NAME, None, "dns"),
        (failure("private", final=True), PRIVATE, "private", None),
        ("User-agent: *\nCrawl-delay: 1000\n", TOO_SLOW, "budget", None),
    ],
)
async def test_a_closed_host(
    road: Make, answer: object, version: int, skip: str | None, error: str | None
) -> None:
    table = road(Net({ROBOTS: answer}), obey=True)
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    (claim,) = await pages(table)
    assert claim.robots == version
    drop = await table.gate.refuse(claim)
    assert drop is not None
    assert (drop.skip, drop.error) == (skip, error)


@pytest.mark.parametrize("bad", [500, 503, 429, failure("connect"), failure("timeout")])
async def test_unreachable_is_tried_again_and_then_fine(road: Make, bad: object) -> None:
    net = Net({ROBOTS: [bad, bad, RULES]})
    table = road(net, obey=True, retries=(0.05, 0.05))
    await table.add("http://a.example/yes")
    for _ in range(3):
        found = await pages(table)
        assert [claim.kind for claim in found] == ["robots"], "no page while nobody knows"
        await table.gate.fetch(found[0])
        if isinstance(bad, int) and bad in (429, 503):
            await table.store.client.hset(
                "{b:000}h:a.example", "n", 0
            )  # removes the longer delay after the error, to shorten the test
            await table.store.client.zadd("{b:000}c:r:http", {"a.example": 0})
    (claim,) = await pages(table)
    assert claim.kind == "page"
    assert await table.gate.refuse(claim) is None
    assert len(net.asked) == 3


async def test_robots_txt_is_not_asked_again_before_its_wait(road: Make) -> None:
    table = road(Net({ROBOTS: 500}), obey=True, retries=(30.0,))
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    got = await table.frontier.claim(0, 10)
    assert got.claims == []
    assert 29_000 < got.next_at - got.now <= 33_000


async def test_429_with_retry_after_holds_the_host(road: Make) -> None:
    answer = (429, {"retry-after": "20"}, b"")
    table = road(Net({ROBOTS: answer}), obey=True, retries=(0.01,))
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    got = await table.frontier.claim(0, 10)
    assert 19_000 < got.next_at - got.now <= 20_000


@pytest.mark.parametrize("fresh_worker", [False, True])
async def test_a_stale_copy_serves_while_the_host_is_down(
    road: Make, store: Store, fresh_worker: bool
) -> None:
    net = Net({ROBOTS: [RULES, 500]})
    table = road(net, obey=True)
    await table.add("http://a.example/no", "http://a.example/yes")
    await table.gate.fetch(await robots_claim(table))
    await pages(table)
    await forget(store)
    await table.add("http://a.example/no2")
    if fresh_worker:
        table = road(net, obey=True, output="other.jsonl")
    result, _, found = await table.gate.fetch(await robots_claim(table))
    assert (result.status, found.holds) == (500, 3600.0)
    (claim,) = await pages(table)
    refused = await table.gate.refuse(claim)
    assert refused is not None
    assert refused.skip == "robots"


def to(place: str, status: int = 301) -> tuple[int, dict[str, str], bytes]:
    return status, {"location": place}, b""


@pytest.mark.parametrize("hops", [1, 5])
async def test_redirects_are_followed_also_to_other_hosts(road: Make, hops: int) -> None:
    places = [ROBOTS, *(f"http://other{k}.example/r.txt" for k in range(hops))]
    answers = {here: to(there) for here, there in pairwise(places)}
    net = Net({**answers, places[-1]: RULES})
    table = road(net, obey=True)
    await table.add("http://a.example/no")
    await table.gate.fetch(await robots_claim(table))
    assert net.asked == places
    (claim,) = await pages(table)
    assert (await table.gate.refuse(claim) or Drop()).skip == "robots"


async def test_six_redirects_are_as_if_there_were_none(road: Make) -> None:
    table = road(
        net := Net(
            {
                ROBOTS: to("/r/"),
                **{f"http://a.example/r{'/' * k}": to(f"/r{'/' * (k + 1)}") for k in range(1, 9)},
            }
        ),
        obey=True,
    )
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    assert len(net.asked) == 6
    assert (await pages(table))[0].robots == OPEN


@pytest.mark.parametrize(
    "place",
    [
        "file:///etc/passwd",
        "ftp://a.example/",
        "",
        "http://",
        "javascript:1",
        "http://b.example:6379/",
        "//b.example:25/x",
        "http://me:secret@b.example/",
        "http://me@b.example/",
    ],
)
async def test_a_redirect_to_what_no_page_may_lead_to_opens_the_host(road: Make, place: str) -> None:
    table = road(net := Net({ROBOTS: to(place)}), obey=True)
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    assert set(net.asked) == {ROBOTS}
    assert (await pages(table))[0].robots == OPEN


async def test_a_redirect_to_a_refused_address_is_not_made(road: Make) -> None:
    """The collector's guard refuses the redirect target. The host is then closed, because its rules are
    unknown."""
    net = Net(
        {
            ROBOTS: to("http://169.254.169.254/robots.txt"),
            "http://169.254.169.254/robots.txt": failure("private", final=True),
        }
    )
    table = road(net, obey=True)
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    (claim,) = await pages(table)
    assert (claim.robots, (await table.gate.refuse(claim) or Drop()).skip) == (PRIVATE, "private")


async def test_redirects_keep_the_host_s_delay(road: Make) -> None:
    net = Net({ROBOTS: to("/one"), "http://a.example/one": to("/two"), "http://a.example/two": RULES})
    table = road(net, obey=True, delay=100)
    await table.add("http://a.example/x")
    await table.gate.fetch(await robots_claim(table))
    gaps = [later - earlier for earlier, later in pairwise(net.times)]
    assert all(gap >= 0.098 for gap in gaps)
    got = await table.frontier.claim(0, 1)
    if not got.claims:
        assert got.next_at - got.now <= 100


async def test_who_ignores_robots_asks_for_none(road: Make) -> None:
    table = road(net := Net({ROBOTS: "User-agent: *\nDisallow: /\n"}), obey=False)
    await table.add("http://a.example/x")
    (claim,) = await pages(table)
    assert claim.kind == "page"
    assert await table.gate.refuse(claim) is None
    assert net.asked == []


async def test_a_wall_of_cookies_gives_its_rules(road: Make) -> None:
    wall = (302, {"location": ROBOTS, "set-cookie": "seen=1; Path=/"}, b"")

    class Wall(Net):
        async def collect(
            self, request: Request, headers: dict[str, str], guise: object = None
        ) -> Page | Failure:
            self.answers[ROBOTS] = RULES if headers.get("Cookie") == "seen=1" else wall
            return await super().collect(request, headers, guise)

    net = Wall()
    table = road(net, obey=True)
    await table.add("http://a.example/no")
    await table.gate.fetch(await robots_claim(table))
    (claim,) = await pages(table)
    drop = await table.gate.refuse(claim)
    assert isinstance(drop, Drop)
    assert (drop.skip, net.asked) == ("robots", [ROBOTS, ROBOTS])
