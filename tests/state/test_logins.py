"""Log-ins in the store: one at a time, in turns, with cookies of two workers and refused credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gossamer.state.logins import KnownAccount, Logins
from gossamer.store.store import connect

ANN, BOB = KnownAccount("ann", "aaaa"), KnownAccount("bob", "bbbb")


@pytest.fixture
async def logins(valkey_url: str) -> AsyncIterator[Logins]:
    store = connect(valkey_url)
    await store.open(64, "psl")
    yield Logins(store)
    await store.close()


async def test_one_logs_in_and_all_are_in(logins: Logins) -> None:
    turns = await asyncio.gather(*(logins.turn("s", f"w{n}", 0, [ANN]) for n in range(20)))
    (first,) = [f"w{n}" for n, turn in enumerate(turns) if turn.what == "enter"]
    assert [turn.what for turn in turns].count("wait") == 19
    assert await logins.renew("s", "ann", first)
    assert not await logins.entered("s", "ann", "somebody", b"theirs", "aaaa")
    assert await logins.entered("s", "ann", first, b"state", "aaaa") == 1
    assert not await logins.renew("s", "ann", first)
    turn = await logins.turn("s", "w", 0, [ANN])
    assert (turn.what, turn.version, turn.revision, turn.state) == ("go", 1, 1, b"state")
    assert (await logins.turn("s", "w", 0, [ANN._replace(version=1, revision=1)])).state == b""
    assert (await logins.turn("s", "w", 0, [ANN._replace(told="cccc")])).what == "enter", "other credentials"


async def test_accounts_take_turns_and_one_waits_for_its_time(logins: Logins) -> None:
    for one in (ANN, BOB):
        await logins.turn("s", "w", 0, [one])
        await logins.entered("s", one.name, "w", b"x", one.told)
    names = [(await logins.turn("s", "w", 0, [ANN, BOB])).name for _ in range(4)]
    assert names == ["ann", "bob", "ann", "bob"]
    assert [(await logins.turn("s", "w", 60, [ANN, BOB])).what for _ in range(3)] == ["go", "go", "wait"]


async def test_cookies_of_two_workers_are_both_kept(logins: Logins) -> None:
    await logins.turn("s", "w", 0, [ANN])
    await logins.entered("s", "ann", "w", b"0", "aaaa")
    one = ANN._replace(version=1, revision=1)
    assert await logins.keep("s", one, b"1") == (True, 1, 2, b"")
    assert await logins.keep("s", one, b"2") == (False, 1, 2, b"1"), "another one is kept"
    assert await logins.lost("s", "ann", 1)
    assert await logins.keep("s", one._replace(revision=2), b"3") == (False, 1, 2, b""), "it is over"
    assert (await logins.turn("s", "w", 0, [ANN])).what == "enter"


async def test_log_ins_that_help_nothing_become_rare(logins: Logins) -> None:
    for version in range(1, 5):
        assert (await logins.turn("s", "w", 0, [ANN])).what == "enter"
        assert await logins.entered("s", "ann", "w", b"x", "aaaa") == version
        assert await logins.lost("s", "ann", version - 1), "an older one: there is a newer already"
        assert await logins.lost("s", "ann", version) is (version < 4)
    await logins.helped("s", "ann")
    assert await logins.lost("s", "ann", 4)


async def test_refused_credentials_are_left_alone_until_they_change(logins: Logins) -> None:
    await logins.met("s", ["s.example"])
    await logins.turn("s", "w", 0, [ANN])
    await logins.refused("s", "ann", "w", "aaaa", "wrong\npassword")
    turn = await logins.turn("s", "w", 0, [ANN])
    assert (turn.what, turn.name, turn.why) == ("refused", "ann", "wrong password")
    (told,) = await logins.told("s")
    assert (told.account, told.state, told.why) == ("ann", "refused", "wrong password")
    assert (await logins.turn("s", "w", 0, [ANN, BOB])).name == "bob"
    assert (await logins.turn("s", "v", 0, [ANN._replace(told="cccc")])).what == "enter"
    await logins.failed("s", "ann", "v")
    assert (await logins.turn("s", "v", 0, [ANN._replace(told="cccc")])).what == "wait"
    assert await logins.forget("s", "ann") == 1
    assert (await logins.turn("s", "v", 0, [ANN])).what == "enter"
    assert await logins.forget("s") == 2
    assert await logins.sites() == {}
