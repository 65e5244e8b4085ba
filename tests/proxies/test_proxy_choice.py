"""The choice of a proxy, and the events that suspend a proxy."""

from __future__ import annotations

import random
from collections import Counter

from gossamer.model.proxy import Proxy, Wanted
from gossamer.proxies.proxy_choice import ProxyPool
from gossamer.proxies.proxy_health import HOST, PROXY, ProxyHealth, ProxyReport

ANY, NOW = Wanted(), 1_800_000_000_000
MINUTE = 60_000


def pool(n: int = 4, **more: object) -> ProxyPool:
    proxies = [Proxy("http", f"10.0.{i >> 8}.{i & 255}", 3128, provider=f"p{i % 2}") for i in range(n)]
    return ProxyPool(proxies, draw=random.Random(7), **more)  # type: ignore[arg-type] # the test's own options


def drawn(one: ProxyPool, times: int = 400, domain: str = "e.com", now: int = NOW) -> Counter[int | None]:
    return Counter(one.choose(ANY, domain, now) for _ in range(times))


def test_a_dead_proxy_is_out_after_three_requests_and_back_for_one_try() -> None:
    one = pool(1)
    sent = 0
    for minute in (0, 0, 0, 0, 1, 1, 3, 3):
        place = one.choose(ANY, "e.com", NOW + minute * MINUTE)
        if place is not None:
            sent += 1
            one.book.saw(place, "e.com", NOW + minute * MINUTE, fault=True)
    assert sent == 5  # three at first, one after a minute, one after two more minutes
    assert one.left(ANY, NOW + 3 * MINUTE) == 0


def test_no_more_requests_are_out_through_an_unproven_proxy_than_put_it_out() -> None:
    one = pool(1)
    one.busy[0] = 3
    assert one.choose(ANY, "e.com", NOW) is None
    one.book.saw(0, "e.com", NOW, seconds=0.1)
    assert one.choose(ANY, "e.com", NOW) == 0


def test_the_better_one_is_taken_more_often_but_not_always() -> None:
    one = pool(2)
    for _ in range(10):
        one.book.saw(0, "e.com", NOW, seconds=0.1)
        one.book.saw(1, "e.com", NOW, seconds=4.0)
    found = drawn(one)
    assert found[0] > found[1] > 0


def test_what_was_seen_long_ago_counts_less() -> None:
    good, bad = ProxyHealth(), ProxyHealth()
    good.felt(ProxyReport(20, 0, 2.0), NOW, PROXY)
    bad.felt(ProxyReport(10, 10, 1.0, 1), NOW, PROXY)
    assert good.score(NOW) > 2 * bad.score(NOW)
    assert good.score(NOW + 60 * MINUTE) < 1.4 * bad.score(NOW + 60 * MINUTE)


def test_blocked_at_a_domain_it_cools_down_there_alone() -> None:
    one = pool(2)
    one.book.saw(0, "hard.com", NOW, blocked=True)
    assert set(drawn(one, domain="hard.com")) == {1}
    assert set(drawn(one)) == {0, 1}
    assert set(drawn(one, domain="hard.com", now=NOW + MINUTE)) == {0, 1}
    one.book.saw(0, "hard.com", NOW + MINUTE, blocked=True)
    assert set(drawn(one, domain="hard.com", now=NOW + 2 * MINUTE)) == {1}


def test_a_retry_goes_through_another_provider() -> None:
    assert {pool(40).choose(ANY, "e.com", NOW, {0, 2}) % 2 for _ in range(20)} == {1}  # type: ignore[operator]
    assert pool(4).choose(ANY, "e.com", NOW, {0, 1, 2}) == 3
    assert pool(2).choose(ANY, "e.com", NOW, {0, 1}) is None


def test_a_provider_whose_proxies_all_fail_is_out_with_them() -> None:
    one = pool(40)
    for place in range(0, 20, 2):
        one.book.saw(place, "e.com", NOW, fault=True)
    assert {place % 2 for place in drawn(one) if place is not None} == {1}
    assert one.left(ANY, NOW) == 20


def test_with_a_check_only_what_passed_it_is_chosen() -> None:
    one = pool(3, checked=True)
    assert one.choose(ANY, "e.com", NOW) is None
    one.book.checked(0, NOW, 0.2)
    one.book.checked(1, NOW, None)
    assert set(drawn(one)) == {0}
    assert one.book.due(NOW, MINUTE) == [2]
    assert one.book.due(NOW + MINUTE, MINUTE) == [0, 1, 2]
    assert set(drawn(one, now=NOW + MINUTE)) == {0}  # the check of proxy 0 has expired but was not repeated


def test_most_of_a_large_pool_may_be_out() -> None:
    one = pool(2000)
    for place in range(1990):
        one.book.saw(place, "hard.com", NOW, blocked=True)
    found = drawn(one, 100, "hard.com")
    assert None not in found
    assert set(found) <= set(range(1990, 2000))
    assert len(found) > 5


def test_what_others_saw_counts_with_what_they_have_not_heard_of() -> None:
    one, theirs = pool(2), ProxyHealth()
    one.book.saw(0, "e.com", NOW, fault=True)
    theirs.felt(ProxyReport(0, 2, 0.0, 2), NOW, PROXY)
    one.book.heard({one.book.ids[0]: theirs, "gone:1": ProxyHealth()}, NOW)
    assert one.book.out(0, NOW)
    assert ProxyHealth.of(theirs.text).until == theirs.until > NOW


def test_each_time_it_is_out_for_twice_as_long() -> None:
    one, now = ProxyHealth(), NOW
    lengths = []
    for _ in range(9):
        one.felt(ProxyReport(0, 1, 0.0, 1), now, HOST)
        lengths.append((one.until - now) // MINUTE)
        now = one.until
    assert lengths == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    one.felt(ProxyReport(1, 0, 0.1, 0), now, HOST)
    assert (one.until, one.outs) == (0, 0)
