"""Tests of the guard and the limits of the impersonated rung, which equal those of the plain rung and also
apply through a proxy."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import brotli
import pytest

from collectors.impersonated.conftest import guise
from collectors.impersonated.recording_proxy import Proxy
from collectors.impersonated.recording_server import Recorder
from gossamer.collectors.http.transfer import Transfer
from gossamer.collectors.impersonated import ImpersonatedCollector
from gossamer.egress.resolver import Resolver
from gossamer.identity.browsers import BROWSERS
from gossamer.identity.headers import browser_headers
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request

Make = Callable[..., ImpersonatedCollector]
CHROME = guise("chrome150")


def names(*answers: list[str]) -> Resolver:
    """Return a resolver whose lookups return the given answers in turn. The last answer is repeated, and
    no lookup is cached."""
    left = list(answers)

    async def lookup(host: str, port: int) -> list[str]:
        if host == "127.0.0.1":  # the proxy is given by its address
            return [host]
        return left.pop(0) if len(left) > 1 else left[0]

    return Resolver(["127.0.0.0/8"], lookup=lookup, ttl=0.0)


async def ask(collector: ImpersonatedCollector, url: str, who: Guise = CHROME, **more: str) -> Page | Failure:
    return await collector.collect(Request(url, **more), browser_headers(BROWSERS[who.browser], url), who)


async def test_an_inner_address_is_never_dialled(recorder: Recorder, collect: Make) -> None:
    for address in ("10.0.0.1", "169.254.169.254", "::1", "64:ff9b::a9fe:a9fe"):
        found = await ask(collect(names(["127.0.0.1", address])), recorder.url())
        assert isinstance(found, Failure)
        assert (found.reason, found.final, found.sent, found.collector) == (
            "private",
            True,
            False,
            "impersonated",
        )
    assert recorder.seen == []


async def test_a_name_that_moves_is_refused_and_the_pin_is_dialled(recorder: Recorder, collect: Make) -> None:
    collector = collect(names(["127.0.0.1"], ["192.168.1.1"], ["127.0.0.1"]))
    found = [await ask(collector, recorder.url()) for _ in range(3)]
    assert [getattr(one, "address", None) for one in found] == ["127.0.0.1", None, "127.0.0.1"]
    assert isinstance(found[1], Failure)
    assert found[1].reason == "private"
    assert len(recorder.seen) == 1


async def test_no_other_address_than_the_checked_one(
    recorder: Recorder, collect: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second check: if curl connects to another address for any reason, the socket is refused."""
    dial = Transfer.dial

    def astray(self: Transfer, address: str) -> None:
        dial(self, "127.0.0.1")
        self.pin, self.allowed = address, (address,)

    monkeypatch.setattr(Transfer, "dial", astray)
    found = await ask(collect(names(["127.0.0.2"])), recorder.url())
    assert isinstance(found, Failure)
    assert found.reason == "private"
    assert recorder.seen == []


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_bombs_end_at_the_limit(coding: str, recorder: Recorder, collect: Make) -> None:
    zeros = bytes(8 << 20)
    body = gzip.compress(zeros) if coding == "gzip" else brotli.compress(zeros)
    recorder.bodies["/"] = (body, {"content-type": "text/html", "content-encoding": coding})
    found = await ask(collect(decoded=1 << 20), recorder.url())
    assert isinstance(found, Failure)
    assert (found.reason, found.wire) == ("too-large", len(body))


async def test_sizes_heads_and_content_types_are_bounded(recorder: Recorder, collect: Make) -> None:
    page = {"content-type": "text/html"}
    recorder.bodies |= {
        "/long": (bytes(300_000), page),
        "/picture": (b"x", {"content-type": "image/png"}),
        "/head": (b"x", page | {f"x-{n}": "y" for n in range(1100)}),
        "/fine": (b"fine", page),
    }
    collector = collect(wire=100_000)
    found = [
        await ask(collector, recorder.url(path=path)) for path in ("/long", "/picture", "/head", "/fine")
    ]
    assert [getattr(one, "reason", "") for one in found] == ["too-large", "content-type", "too-large", ""]
    assert found[0].wire < 200_000


async def test_bodies_are_sent(recorder: Recorder, collect: Make) -> None:
    found = await ask(collect(), recorder.url(), method="POST", body="a=1")
    assert isinstance(found, Page)
    assert ("content-length", "3") in recorder.seen[0].requests[0]


async def test_a_session_has_connections_of_its_own(recorder: Recorder, collect: Make) -> None:
    collector = collect()
    for who in (CHROME, CHROME, guise("chrome150", "2"), guise("edge150"), CHROME):
        assert isinstance(await ask(collector, recorder.url(), who), Page)
    assert [len(one.requests) for one in recorder.seen] == [3, 1, 1]
    for one in recorder.seen:  # no connection reuses a session ticket of another session
        assert one.hello is not None
        assert 41 not in one.hello.raw


async def test_through_a_proxy_or_not_at_all(recorder: Recorder, collect: Make) -> None:
    collector = collect()
    async with Proxy({"www.example.test": recorder.port}, credentials="me:s3cret") as proxy:
        who = guise("chrome150", proxy=proxy.url)
        found = await ask(collector, recorder.url(), who)
        assert isinstance(found, Page)
        assert (found.header("x-of-the-proxy"), found.address) == (None, None)
        assert b"Proxy-Authorization: Basic" in proxy.heads[0]
        assert b"user-agent" not in proxy.heads[0].lower()
        found = await ask(collector, recorder.url("other.example.test"), who)
        assert isinstance(found, Failure)
        assert (found.reason, found.sent) == ("proxy", False)
    for place in (proxy.url, "http://127.0.0.1", "ftp://127.0.0.1:1", "direct"):
        found = await ask(collector, recorder.url("third.example.test"), guise("chrome150", proxy=place))
        assert isinstance(found, Failure), place
        assert "s3cret" not in found.detail
    assert len(recorder.seen) == 1
    # a curl handle does not keep the proxy of its previous request
    assert isinstance(await ask(collector, recorder.url("third.example.test")), Page)


async def test_a_proxy_and_its_target_pass_the_guard(recorder: Recorder, collect: Make) -> None:
    async def lookup(host: str, _port: int) -> list[str]:
        return {"proxy.test": ["127.0.0.1"], "inner.test": ["10.0.0.1"]}.get(host, ["93.184.216.34"])

    async with Proxy({"www.example.test": recorder.port, "inner.test": recorder.port}) as proxy:
        place = f"http://proxy.test:{proxy.port}"
        shut = await ask(collect(Resolver(lookup=lookup)), recorder.url(), guise("chrome150", proxy=place))
        collector = collect(Resolver(["127.0.0.0/8"], lookup=lookup))
        inner = await ask(collector, recorder.url("inner.test"), guise("chrome150", proxy=place))
        for found, why in ((shut, "proxy"), (inner, "private")):
            assert isinstance(found, Failure)
            assert (found.reason, found.sent) == (why, False)
        assert proxy.asked == []
        assert isinstance(await ask(collector, recorder.url(), guise("chrome150", proxy=place)), Page)
