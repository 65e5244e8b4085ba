"""What a host's sites want of a crawl, as values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer import Site
from gossamer.app.wiring import treatment
from gossamer.config.settings import Settings
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.request import Request
from gossamer.model.site import Pace
from gossamer.politeness.pace import Delay
from gossamer.sites import LoadedSite
from gossamer.sites.host_rules import HostNeeds, acts, hosts, needs


def made(**given: Any) -> LoadedSite:
    default = given.pop("default", False)
    return LoadedSite(Site(given.pop("name", "s"), **given), Path("s.py"), "v", {}, default)


def test_needs_of_a_host() -> None:
    shop = made(name="shop", hosts=["*.a.example"], paths=["/shop/"], pace=2, retries=[1])
    blog = made(name="blog", hosts=["a.example"], paths=["/blog/"], headers={"X": "1"}, robots=False)
    rest = made(name="rest", default=True, pace=Pace(None, 4))
    sites = [rest, shop, blog]
    assert needs(sites, "a.example:8080") == HostNeeds(Pace(2.0), {"X": "1"}, (1.0,), True)
    assert needs(sites, "www.a.example") == HostNeeds(Pace(2.0), {}, (1.0,), True)
    assert needs(sites, "b.example") == HostNeeds(Pace(None, 4), {}, None, True)
    assert needs([shop], "b.example") == HostNeeds()
    assert acts(sites)
    assert not acts([made(hosts=["a.example"], must_have=["h1"])])
    assert hosts(made(hosts=["*.a.example", "b.example"], seeds=["https://c.example:8443/x"])) == [
        "b.example",
        "c.example:8443",
    ]


def test_the_closest_site_speaks_first() -> None:
    wide, near = (
        made(name="wide", hosts=["*.a.example"], pace=9, headers={"X": "wide"}),
        made(hosts=["b.a.example"], pace=1),
    )
    for sites in ([wide, near], [near, wide]):
        assert needs(sites, "b.a.example") == HostNeeds(Pace(1.0), {"X": "wide"})
        assert needs(sites, "c.a.example") == HostNeeds(Pace(9.0), {"X": "wide"})


def test_robots_are_ignored_where_every_site_of_the_host_says_so() -> None:
    one, other = (made(name=name, hosts=["a.example"], paths=[name], robots=False) for name in "xy")
    obeying = made(name="z", hosts=["a.example"], paths=["z"])
    assert not needs([one, other], "a.example").robots
    assert needs([one, obeying, other], "a.example").robots
    assert needs([], "a.example").robots


def test_blocks_are_those_of_the_closest_site_that_speaks_of_them() -> None:
    usual, own = made(name="x", hosts=["a.example"]), made(name="y", hosts=["*.a.example"], blocks=False)
    assert needs([usual, own], "a.example").blocks is False
    assert needs([usual], "a.example").blocks is True
    assert acts([usual, own])
    assert not acts([usual])


def test_treatment_of_a_host() -> None:
    settings = Settings(delay=(5.0, 10.0), retries=(60.0,))
    assert treatment(HostNeeds(), settings) == ((60.0,), Delay(5.0, 10.0), True, True)
    assert treatment(HostNeeds(Pace(0.0), {}, (1.0, 2.0), False), settings) == (
        (1.0, 2.0),
        Delay(0.0, 0.0),
        False,
        True,
    )
    assert treatment(HostNeeds(blocks=False), settings).blocks is False
    assert treatment(HostNeeds(retries=()), settings).retries == ()
    # --retries none is said for all
    assert treatment(HostNeeds(retries=(1.0,)), Settings(retries=())).retries == ()
    assert not treatment(HostNeeds(), Settings(ignore_robots=True)).obey


def test_headers_meet_whatever_their_case() -> None:
    plain = PlainIdentity(
        {"Accept": "crawl"}, {}, [], lambda host: host, lambda host: {"ACCEPT": "site", "X-Site": "1"}
    )
    assert plain.headers(Request("https://a.example/")) == {"X-Site": "1", "Accept": "crawl"}
    own = Request("https://a.example/", headers={"accept": "own"})
    assert plain.headers(own) == {"X-Site": "1", "accept": "own"}
