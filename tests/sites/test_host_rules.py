"""The settings that the sites of a host require from a crawl, as values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer import Site
from gossamer.app.visitor_setup import host_treatment
from gossamer.config.settings import Settings
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.request import Request
from gossamer.model.site import Pace
from gossamer.politeness.pace import Delay
from gossamer.sites import LoadedSite
from gossamer.sites.host_rules import HostNeeds, has_rules, host_needs, hosts_of_site


def made(**given: Any) -> LoadedSite:
    default = given.pop("default", False)
    return LoadedSite(Site(given.pop("name", "s"), **given), Path("s.py"), "v", {}, default)


def test_needs_of_a_host() -> None:
    shop = made(name="shop", hosts=["*.a.example"], paths=["/shop/"], pace=2, retries=[1])
    blog = made(name="blog", hosts=["a.example"], paths=["/blog/"], headers={"X": "1"}, robots=False)
    rest = made(name="rest", default=True, pace=Pace(None, 4))
    sites = [rest, shop, blog]
    assert host_needs(sites, "a.example:8080") == HostNeeds(Pace(2.0), {"X": "1"}, (1.0,), True)
    assert host_needs(sites, "www.a.example") == HostNeeds(Pace(2.0), {}, (1.0,), True)
    assert host_needs(sites, "b.example") == HostNeeds(Pace(None, 4), {}, None, True)
    assert host_needs([shop], "b.example") == HostNeeds()
    assert has_rules(sites)
    assert not has_rules([made(hosts=["a.example"], must_have=["h1"])])
    assert hosts_of_site(made(hosts=["*.a.example", "b.example"], seeds=["https://c.example:8443/x"])) == [
        "b.example",
        "c.example:8443",
    ]


def test_the_closest_site_speaks_first() -> None:
    wide, near = (
        made(name="wide", hosts=["*.a.example"], pace=9, headers={"X": "wide"}),
        made(hosts=["b.a.example"], pace=1),
    )
    for sites in ([wide, near], [near, wide]):
        assert host_needs(sites, "b.a.example") == HostNeeds(Pace(1.0), {"X": "wide"})
        assert host_needs(sites, "c.a.example") == HostNeeds(Pace(9.0), {"X": "wide"})


def test_robots_are_ignored_where_every_site_of_the_host_says_so() -> None:
    one, other = (made(name=name, hosts=["a.example"], paths=[name], robots=False) for name in "xy")
    obeying = made(name="z", hosts=["a.example"], paths=["z"])
    assert not host_needs([one, other], "a.example").robots
    assert host_needs([one, obeying, other], "a.example").robots
    assert host_needs([], "a.example").robots


def test_blocks_are_those_of_the_closest_site_that_speaks_of_them() -> None:
    usual, own = made(name="x", hosts=["a.example"]), made(name="y", hosts=["*.a.example"], blocks=False)
    assert host_needs([usual, own], "a.example").blocks is False
    assert host_needs([usual], "a.example").blocks is True
    assert has_rules([usual, own])
    assert not has_rules([usual])


def test_treatment_of_a_host() -> None:
    settings = Settings(delay=(5.0, 10.0), retries=(60.0,))
    assert host_treatment(HostNeeds(), settings) == ((60.0,), Delay(5.0, 10.0), True, True)
    assert host_treatment(HostNeeds(Pace(0.0), {}, (1.0, 2.0), False), settings) == (
        (1.0, 2.0),
        Delay(0.0, 0.0),
        False,
        True,
    )
    assert host_treatment(HostNeeds(blocks=False), settings).blocks is False
    assert host_treatment(HostNeeds(retries=()), settings).retries == ()
    # `--retries none` applies to all hosts
    assert host_treatment(HostNeeds(retries=(1.0,)), Settings(retries=())).retries == ()
    assert not host_treatment(HostNeeds(), Settings(ignore_robots=True)).obey


def test_headers_meet_whatever_their_case() -> None:
    plain = PlainIdentity(
        {"Accept": "crawl"}, {}, [], lambda host: host, lambda host: {"ACCEPT": "site", "X-Site": "1"}
    )
    assert plain.headers(Request("https://a.example/")) == {"X-Site": "1", "Accept": "crawl"}
    own = Request("https://a.example/", headers={"accept": "own"})
    assert plain.headers(own) == {"X-Site": "1", "accept": "own"}
