"""Links that a worker adds to the frontier: the accepted links, and the refused ones with their reasons,
independent of the worker's memory."""

from __future__ import annotations

import random

import pytest

from gossamer import url as urls
from gossamer.model.request import Request, unpack
from gossamer.model.visit import Claim
from gossamer.store.store import Store
from gossamer.url.scope import Scope
from gossamer.worker.link_intake import LinkIntake, TakenLinks, UrlPlaces
from worker.worker_parts import SEED, Make, Net, links

CLAIM = Claim(1, 0, "a.example", Request(SEED, depth=3, priority=7))


def link_intake(room: int = 50_000, cap: int = 5000, mode: str = "host", depth: int = 50) -> LinkIntake:
    return LinkIntake(
        Scope.of([SEED], mode, depth=depth),
        UrlPlaces(5, lambda mark: (mark >> 32, mark & 0xFFFFFFFF), lambda _: 0, urls.key),
        own=lambda host: host.endswith("a.example"),
        cap=cap,
        room=room,
    )


def found(taken: TakenLinks) -> list[Request]:
    return [
        unpack(group[1], flat[k + 2], group[2])
        for group, flat in taken.adds.items()
        for k in range(0, len(flat), 3)
    ]


def take(one: LinkIntake, *hrefs: str, page: str = SEED, base: str = "") -> TakenLinks:
    return one.take(page, base or page, list(hrefs), CLAIM)


def test_a_link_keeps_depth_priority_and_referrer() -> None:
    taken = take(link_intake(), "x/y?q=1", page="http://a.example/d/")
    assert found(taken) == [
        Request("http://a.example/d/x/y?q=1", depth=4, priority=7, referrer="http://a.example/d/")
    ]
    assert (taken.distinct, taken.skips) == (1, {})


def test_links_of_the_crawl_are_returned_if_they_are_counted() -> None:
    one = link_intake()
    assert take(one, "/a").links == set()
    one.keeps_links = True
    hrefs = ["/a", "/a#top", "/b", "https://other.example/", "mailto:a@b"]
    taken = take(one, *hrefs)
    assert taken.links == {one.mark(Request(f"http://a.example/{name}")) for name in "ab"}
    one.request(Request("http://a.example/c"), taken)
    one.request(Request("https://other.example/c"), taken)
    assert len(taken.links) == 3
    assert take(one, *hrefs).links == take(taker_of_links(), *hrefs).links, "known links count, too"


def taker_of_links() -> LinkIntake:
    one = link_intake()
    one.keeps_links = True
    return one


def test_writings_of_one_url_are_one_link_and_the_first_is_fetched() -> None:
    taken = take(
        link_intake(),
        "/l?b=2&a=1&utm_source=x",
        "/l?a=1&b=2",
        "/l?a=1&b=2#top",
        "/./l?b=2&a=1",
        "http://A.example:80/l?a=1&b=2",
    )
    assert [one.url for one in found(taken)] == ["http://a.example/l?b=2&a=1&utm_source=x"]
    assert taken.distinct == 1


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("http://b.example/", "scope"),
        ("http://u:p@a.example/", "filter"),
        ("/a/b/a/b/a/b/", "trap"),
        ("/" + "x" * 3000, "trap"),
        ("http://a.example:9999/", "scope"),
    ],
)
def test_refusals_are_counted_by_reason(href: str, reason: str) -> None:
    one = link_intake()
    for _ in range(2):  # the worker remembers the link the second time
        taken = take(one, href)
        assert taken.skips == {reason: 1}
        assert (taken.found, taken.distinct, taken.adds) == (1, 1, {})


def test_depth_is_judged_each_time() -> None:
    one = link_intake(depth=3)
    assert take(one, "/x").skips == {"depth": 1}
    shallow = Claim(1, 0, "a.example", Request(SEED, depth=0))
    assert len(found(one.take(SEED, SEED, ["/x"], shallow))) == 1


def test_what_is_no_link_is_not_counted() -> None:
    taken = take(link_intake(), "mailto:a@b", "javascript:void(0)", "http://", "tel:1", "data:,x")
    assert (taken.found, taken.adds, taken.distinct) == (0, {}, 0)


def test_what_was_taken_before_counts_as_known() -> None:
    one = link_intake()
    take(one, "/x", "/y")
    taken = take(one, "/y", "/z")
    assert [request.url for request in found(taken)] == ["http://a.example/z"]
    assert taken.skips == {"duplicate": 1}


def test_what_left_the_recent_links_is_known_by_its_fingerprint() -> None:
    one = link_intake(room=1)
    take(one, *(f"/{k}" for k in range(50)))
    again = take(one, *(f"/{k}" for k in range(50)))
    assert (again.adds, again.skips) == ({}, {"duplicate": 50})


def test_after_forgetting_it_is_taken_again() -> None:
    one = link_intake()
    take(one, "/x")
    one.forget()
    assert len(found(take(one, "/x"))) == 1


def test_a_wider_scope_takes_what_was_refused() -> None:
    one = link_intake()
    assert take(one, "http://b.example/").skips == {"scope": 1}
    one.widen(one.scope.re_anchored(SEED, "http://b.example/"))  # type: ignore[attr-defined] # it is a Scope
    assert len(found(take(one, "http://b.example/"))) == 1


def test_a_page_gives_at_most_so_many_distinct_links() -> None:
    taken = take(link_intake(cap=50), *(f"/{k}" for k in range(60) for _ in range(3)))
    assert len(found(taken)) == 50
    assert taken.skips == {"trap": 10}
    assert taken.distinct == 60


def test_a_page_of_very_many_links_by_default() -> None:
    taken = take(link_intake(), *(f"/{k}" for k in range(5100)))
    assert (len(found(taken)), taken.skips) == (5000, {"trap": 100})


async def test_a_small_memory_finds_the_same(road: Make, store: Store) -> None:
    """The frontier contains the same URLs and the sums are equal, however much the worker remembers."""
    rng = random.Random(4)
    pages = [
        [f"/{rng.randrange(300)}" for _ in range(40)] + ["http://b.example/", "/x?utm_source=1"]
        for _ in range(60)
    ]
    seen: list[tuple[set[str], dict[str, int]]] = []
    for room in (1, 10, 50_000):
        await store.client.flushdb()
        await store.open(1, "test")
        table = road(Net(), room=room, output=f"{room}.jsonl", per_host=1000)
        for hrefs in pages:
            taken = take(table.link_intake, *hrefs)
            await table.frontier.add(taken.adds)
            await table.frontier.count(
                {f"skip:{k}": n for k, n in taken.skips.items()} | {"found": taken.found}
            )
        assert await table.adds_up()
        seen.append(({claim.request.url for claim in await table.claim(1000)}, await table.counts()))
    for counts in (n for _, n in seen):
        for name in ("token", "letter"):
            counts.pop(name, None)
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0][0]) > 200


async def test_a_crawl_with_a_memory_of_one_link_is_the_same_crawl(road: Make) -> None:
    urls_ = [f"http://a.example/{k}" for k in range(30)]
    net = Net({one: links(*urls_) for one in [SEED, *urls_]})
    table = road(net, room=1)
    await table.add(SEED)
    assert await table.run() == "finished"
    assert sorted(net.asked) == sorted([SEED, *urls_])
    n = await table.counts()
    assert (n["found"], n["skip:duplicate"]) == (31 + 31 * 30 - 30, 31 * 30 - 30)


def test_only_domains_in_good_standing_vouch() -> None:
    one = link_intake(mode="any")
    assert one.voucher(CLAIM)
    stranger = Claim(1, 0, "s.test", Request("http://s.test/"), vouchers=1)
    assert one.voucher(stranger) == ""
    stranger.vouchers = 2
    assert one.voucher(stranger) != ""
    groups = take(one, "/x", "http://s.test/").adds
    assert {(group[1], group[4], bool(group[5])) for group in groups} == {
        ("a.example", "o", False),
        ("s.test", "", True),
    }


def test_methods_and_bodies_are_requests_of_their_own() -> None:
    taken, one = TakenLinks(), link_intake()
    for request in (
        Request(SEED),
        Request(SEED, method="POST", body="a"),
        Request(SEED, method="POST", body="b"),
        Request(SEED),
    ):
        assert one.request(request, taken) is None
    (flat,) = taken.adds.values()
    assert len({tuple(flat[k : k + 2]) for k in range(0, len(flat), 3)}) == 3
