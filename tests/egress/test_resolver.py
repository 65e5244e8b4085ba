"""Tests of the resolver, which converts hosts to checked addresses: unusual forms, DNS rebinding, mixed
answers, errors, and one lookup at a time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from gossamer.egress import resolver as room
from gossamer.egress.resolver import Refused, Resolved, Resolver, in_turn

PUBLIC = "93.184.216.34"

ODD = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7F.0x0.0x0.0x1",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "0177.1",
    "0x7f.0x1",
    "127.000.000.001",
    "127.0x0.0.1",
    "127.255.255.255",
    "0",
    "0.0.0.0",
    "0x0",
    "00",
    "0.0",
    "10.1",
    "10.0.0.1",
    "0xa.1",
    "012.1",
    "167772161",
    "0x0a000001",
    "172.16.0.1",
    "0xac.0x10.1",
    "172.1048577",
    "2886729729",
    "192.168.1",
    "192.168.0.1",
    "0xc0a80001",
    "3232235521",
    "0300.0250.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "169.16689662",
    "0251.0376.0251.0376",
    "0xa9.0xfe.0xa9.0xfe",
    "100.64.0.1",
    "198.18.0.1",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[::127.0.0.1]",
    "[fe80::1]",
    "[fc00::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[64:ff9b:1::1]",
    "[2001::1]",
    "[3fff::1]",
    "[5f00::1]",
    "①②⑦.⓪.⓪.①",
    "①27.0.0.1",
    "１２７.０.０.１",
    "127。0。0。1",
    "localhost:80",
    "127.0.0.1:22",
    "[::1]:6379",
]


def stub(*answers: list[str] | Exception) -> Callable[[str, int], object]:
    """Return a lookup function that returns the given answers in turn, and repeats the last one."""
    left = list(answers)

    async def lookup(host: str, port: int) -> list[str]:
        lookup.calls += 1  # type: ignore[attr-defined] # a count on the function keeps the stub one function
        await asyncio.sleep(0)
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    lookup.calls = 0  # type: ignore[attr-defined] # as above
    return lookup


@pytest.mark.parametrize("authority", ODD)
async def test_odd_forms_of_inner_hosts_are_refused_after_resolution(authority: str) -> None:
    resolver = Resolver()
    try:
        found = await resolver.resolve(authority)
    finally:
        await resolver.close()
    assert isinstance(found, Refused)
    # a form that this system's resolver does not accept has no address, so in either case no connection is
    # made
    assert found.reason in ("private", "dns")
    if (
        authority.isascii()
        and not authority.rstrip(".").count("..")
        and authority not in ("localhost.", "127.0.0.1.")
    ):
        assert found.reason == "private", found
    assert found.addresses == ()


@pytest.mark.parametrize(
    "authority",
    [
        "a..b",
        "a" * 64 + ".example",
        "a\0b",
        "exa mple",
        "",
        ".",
        "e.com:99999",
        "e.com:x",
        "[::1",
        "[x]",
        "%",
        "é" * 300,
    ],
)
async def test_what_is_no_host_is_refused_and_raises_nothing(authority: str) -> None:
    resolver = Resolver(lookup=None, patience=5)
    found = await resolver.resolve(authority)
    await resolver.close()
    assert isinstance(found, Refused)


async def test_an_answer_with_one_inner_address_is_refused_whole() -> None:
    for mixed in (
        [PUBLIC, "127.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "::1"],
        [PUBLIC, "64:ff9b::7f00:1"],
        [PUBLIC, "no address"],
    ):
        found = await Resolver(lookup=stub(mixed)).resolve("mixed.example")
        assert isinstance(found, Refused)
        assert (found.reason, found.final) == ("private", True)


async def test_rebinding_is_refused_when_the_answer_changes() -> None:
    lookup = stub([PUBLIC], ["127.0.0.1"])
    resolver = Resolver(lookup=lookup, ttl=0.02)
    assert (await resolver.resolve("e.com")).addresses == (PUBLIC,)
    assert (await resolver.resolve("e.com")).addresses == (PUBLIC,), (
        "the checked address is kept for its time"
    )
    assert lookup.calls == 1
    await asyncio.sleep(0.03)
    assert resolver.known("e.com") is None
    found = await resolver.resolve("e.com")
    assert isinstance(found, Refused)
    assert "127.0.0.1" in found.detail


async def test_typed_seeds_are_allowed_for_themselves_alone() -> None:
    resolver = Resolver(names=["127.0.0.1:8000", "localhost", "inner.example", "[::1]:8000", "10.0.0.1"])
    for allowed in ("127.0.0.1:8000", "localhost", "[::1]:8000", "10.0.0.1"):
        assert isinstance(await resolver.resolve(allowed), Resolved), allowed
    for other in (
        "127.0.0.1",
        "127.0.0.1:8001",
        "127.0.0.2:8000",
        "localhost:80",
        "10.0.0.2",
        "10.0.0.1:81",
        "[::1]",
    ):
        assert isinstance(await resolver.resolve(other), Refused), other
    await resolver.close()
    named = Resolver(names=["inner.example", "localhost"], lookup=stub(["10.0.0.7"]))
    assert isinstance(await named.resolve("inner.example"), Refused), (
        "a name is not an address: it could be led anywhere"
    )
    assert isinstance(await named.resolve("localhost"), Refused), "localhost is this machine or nothing"


async def test_networks_are_allowed() -> None:
    resolver = Resolver(["10.1.0.0/16"], lookup=stub(["10.1.2.3"], ["10.2.0.1"]))
    assert (await resolver.resolve("a")).addresses == ("10.1.2.3",)
    assert isinstance(await resolver.resolve("b"), Refused)


@pytest.mark.parametrize(
    ("code", "final"),
    [
        (socket.EAI_NONAME, True),
        (socket.EAI_AGAIN, False),
        (socket.EAI_FAIL, False),
        (socket.EAI_NODATA, True),
    ],
)
async def test_no_such_name_is_final_a_silent_server_is_not(code: int, final: bool) -> None:
    found = await Resolver(lookup=stub(socket.gaierror(code, "words"))).resolve("e.com")
    assert isinstance(found, Refused)
    assert (found.reason, found.final) == ("dns", final)


async def test_a_name_server_that_failed_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FAILED_TTL_S", 0.01)
    lookup = stub(socket.gaierror(socket.EAI_AGAIN, "try again"), [PUBLIC])
    resolver = Resolver(lookup=lookup)
    assert isinstance(await resolver.resolve("e.com"), Refused)
    await asyncio.sleep(0.02)
    assert (await resolver.resolve("e.com")).addresses == (PUBLIC,)


async def test_one_look_up_at_a_time_and_a_cancelled_waiter_leaves_the_others() -> None:
    gate = asyncio.Event()
    calls = []

    async def lookup(host: str, port: int) -> list[str]:
        calls.append((host, port))
        await gate.wait()
        return [PUBLIC]

    resolver = Resolver(lookup=lookup)
    waiters = [asyncio.create_task(resolver.resolve("e.com:8080")) for _ in range(5)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    await asyncio.sleep(0)
    gate.set()
    found = await asyncio.gather(*waiters[1:])
    assert [one.addresses for one in found] == [(PUBLIC,)] * 4
    assert calls == [("e.com", 8080)]
    assert waiters[0].cancelled()


async def test_a_look_up_that_hangs_ends() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        await asyncio.sleep(60)
        return []

    found = await Resolver(lookup=lookup, patience=0.02).resolve("e.com")
    assert isinstance(found, Refused)
    assert (found.reason, found.final) == ("dns", False)
    resolver = Resolver(lookup=lookup)
    waiting = asyncio.create_task(resolver.resolve("e.com"))
    await asyncio.sleep(0)
    await resolver.close()
    ended = await waiting
    assert isinstance(ended, Refused)
    assert (ended.reason, ended.final) == ("dns", False)


async def test_no_address_is_a_failure_and_room_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_CACHED_HOSTS", 10)
    resolver = Resolver(lookup=stub([]))
    for number in range(25):
        assert isinstance(await resolver.resolve(f"h{number}"), Refused)
    assert len(resolver._known) <= 10


def test_families_take_turns_and_texts_are_those_of_sockets() -> None:
    assert in_turn(["1.1.1.1", "2606:4700:0:0::1", "1.1.1.1", "1.0.0.1"]) == (
        "1.1.1.1",
        "2606:4700::1",
        "1.0.0.1",
    )
    assert in_turn(["2606:4700::1", "1.1.1.1", "1.0.0.1", "1.0.0.2"]) == (
        "2606:4700::1",
        "1.1.1.1",
        "1.0.0.1",
        "1.0.0.2",
    )
    assert in_turn(["::FFFF:1.2.3.4"]) == ("::ffff:1.2.3.4",)
