"""Crawls with weights and precedences. The tests check each crawl's share of a process's slots, also on real
workers, where the web server counts the requests. A benchmark runs the same check for longer."""

from __future__ import annotations

from gossamer.fleet.fair_share import CrawlShare, FairShares
from support.fleet_workers import Fleet, until
from web import Web, preset, serve

ROOM = 8
"""Concurrent visits of a process. The crawls have more hosts than that."""


def visits(web: Web, hosts: set[str]) -> list[int]:
    """Returns the times, in ns, at which the server received requests for pages of these hosts."""
    return sorted(hit.start for hit in web.log() if hit.host in hosts and hit.path != "/robots.txt")


def share(fleet: Fleet, web: Web, weights: tuple[int, int], least: int) -> tuple[int, int]:
    """Returns how many visits each of two crawls makes while both have work. Each crawl has half of the
    hosts. Counting starts when each crawl has made `least` visits with its weight set. Counting ends when one
    crawl finishes, or when both together have made ten times `least` visits."""
    seeds = web.plan.seeds()
    half = len(seeds) // 2
    fleet.worker(f"w{len(fleet.workers)}", "--setting", f"concurrency={ROOM}", processes=2)
    crawls, hosts = [], []
    for weight, own in zip(weights, (seeds[:half], seeds[half:]), strict=True):
        crawls.append(fleet.submit(*own, name=f"weight-{weight}", delay="0", per_host="4"))
        fleet.run("weight", crawls[-1], str(weight))
        hosts.append({seed.split("/")[2] for seed in own})
    before = [len(visits(web, own)) for own in hosts]  # both weights are set by then
    until(
        "both are under way",
        lambda: all(len(visits(web, own)) >= n + least for own, n in zip(hosts, before, strict=True)),
        120,
    )
    begin = max(visits(web, own)[n + least - 1] for own, n in zip(hosts, before, strict=True))

    def enough() -> bool:
        made = sum(len([at for at in visits(web, own) if at >= begin]) for own in hosts)
        return made >= 10 * least or any(fleet.status(name)["state"] == "finished" for name in crawls)

    until("enough visits", enough, 300)
    end = min(visits(web, own)[-1] for own in hosts)
    small, large = (len([at for at in visits(web, own) if begin <= at <= end]) for own in hosts)
    return small, large


def test_crawls_get_their_shares(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=40, pages=100, latency=0.15, robots=("allow",))) as web:
        small, large = share(fleet, web, (1, 3), 60)
    assert small + large > 500
    assert 2.4 < large / small < 3.6, (small, large)


class Crawl:
    """A simulated crawl with its share. Each visit takes ten steps of the clock, and a claim takes one step,
    because the claim asks the store."""

    def __init__(self, share: CrawlShare, wants: int = 1000) -> None:
        self.share, self.wants, self.made, self.asked, self.under_way = share, wants, 0, 0, list[float]()

    def step(self, now: float) -> None:
        self.under_way = [end for end in self.under_way if end > now]
        if self.asked:
            claims = min(self.asked, max(0, self.wants - len(self.under_way)))
            self.share.took(claims)
            self.under_way += [now + 0.1] * claims
            self.made += claims
        self.asked = self.share.ask(len(self.under_way))
        if not self.asked and len(self.under_way) >= self.wants:
            self.share.rests(len(self.under_way))  # as a worker does when none of its hosts is due


def shared(wants: tuple[int, int], room: int = 20) -> tuple[int, int]:
    """Returns the number of visits that two crawls with weights 1 and 3 make in a process within 100 s.
    `wants` limits the concurrent visits of each crawl."""
    now = 0.0
    fair = FairShares(lambda: room, lambda: now)
    light, heavy = (
        Crawl(fair.share(name, weight), most) for name, weight, most in zip("lh", (1, 3), wants, strict=True)
    )
    while now < 100:
        now += 0.01
        for crawl in (light, heavy):
            crawl.step(now)
    return light.made, heavy.made


def test_room_goes_by_weight_and_none_is_idle() -> None:
    light, heavy = shared((1000, 1000))
    assert 2.9 < heavy / light < 3.1
    assert light + heavy > 0.8 * 20 * 1000
    light, heavy = shared((1000, 5))
    assert heavy > 4000
    assert light > 0.7 * 15 * 1000, "what one leaves is the other's"


def test_a_crawl_that_rests_holds_nobody_back() -> None:
    now = 0.0
    fair = FairShares(lambda: 20, lambda: now)
    paused, other = fair.share("p", 1), Crawl(fair.share("o", 1))
    while now < 10:
        now += 0.01
        paused.rests(0)
        other.step(now)
    assert other.made > 0.8 * 20 * 100


def before(wants: tuple[int, int], seconds: float = 100.0, room: int = 20) -> tuple[int, int]:
    """Returns the number of visits that a crawl with weight 1 and precedence 1 and a crawl with weight 1000
    make in a process. `wants` limits the concurrent visits of each crawl."""
    now = 0.0
    fair = FairShares(lambda: room, lambda: now)
    first, other = Crawl(fair.share("f", 1, 1), wants[0]), Crawl(fair.share("o", 1000), wants[1])
    while now < seconds:
        now += 0.01
        for crawl in (other, first):
            crawl.step(now)
    return first.made, other.made


def test_a_crawl_of_higher_precedence_gets_all_that_it_can_use() -> None:
    first, other = before((1000, 1000))
    assert first > 0.8 * 20 * 1000
    assert other <= 20, "before the first of the other asked"


def test_what_it_leaves_goes_to_the_others() -> None:
    first, other = before((5, 1000))
    assert first > 0.9 * 5 * 900, "claims take a step"
    assert other > 0.7 * 15 * 1000
    first, other = before((0, 1000))
    assert other > 0.8 * 20 * 1000


def test_a_precedence_is_changed_while_both_run() -> None:
    now = 0.0
    fair = FairShares(lambda: 20, lambda: now)
    one, two = Crawl(fair.share("1", 1)), Crawl(fair.share("2", 1))
    made = []
    for precedence in (0, 2, -2, 0):
        fair.share("1", 1, precedence)
        since = one.made, two.made
        for _ in range(3000):
            now += 0.01
            for crawl in (one, two):
                crawl.step(now)
        made.append((one.made - since[0], two.made - since[1]))
    even, ahead, behind, again = made
    assert 0.9 < even[0] / even[1] < 1.1
    assert ahead[1] < 0.02 * ahead[0]
    assert behind[0] < 0.02 * behind[1]
    assert 0.9 < again[0] / again[1] < 1.1


def test_precedence_on_real_workers(fleet: Fleet) -> None:
    """Each of the two crawls has more hosts than the worker has slots. The second crawl has the higher
    precedence."""
    with serve(preset("tiny", hosts=40, pages=60, latency=0.15, robots=("allow",))) as web:
        seeds = web.plan.seeds()
        fleet.worker("w", "--setting", f"concurrency={ROOM}")
        hosts = [{seed.split("/")[2] for seed in part} for part in (seeds[:20], seeds[20:])]
        usual = fleet.submit(*seeds[:20], name="usual", delay="0", per_host="4")
        until("pages of the usual one", lambda: len(visits(web, hosts[0])) > 30)
        first = fleet.submit(*seeds[20:], name="first", delay="0", per_host="4")
        fleet.run("weight", first, "--precedence", "1")
        had = len(visits(web, hosts[1])) + 120  # the new precedence reaches the workers within two seconds
        until("the first one has all", lambda: len(visits(web, hosts[1])) > had + 300, 120)
        begin, end = visits(web, hosts[1])[had], visits(web, hosts[1])[had + 300]
        shown = fleet.json("status", first)
        low, high = (len([at for at in visits(web, own) if begin <= at <= end]) for own in hosts)
        assert (shown["precedence"], shown["weight"]) == (1, 1)
        assert low < 0.1 * high, (low, high)
        fleet.run("weight", first, "--precedence", "0")
        fleet.run("cancel", first)
        had = len(visits(web, hosts[0]))
        until("the usual one goes on", lambda: len(visits(web, hosts[0])) > had + 30)
        fleet.run("cancel", usual)
