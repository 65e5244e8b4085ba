"""Verbs that steer a crawl while it takes a step of its own, or belongs to a fleet."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import pytest

from cli.test_verbs import Desk, desk, fill, state
from gossamer.cli import steer
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.store import Store
from gossamer.frontier.tasks import Tasks

__all__ = ["desk"]


@pytest.mark.parametrize("verb", ["pause", "stop", "cancel"])
def test_a_crawl_that_ends_while_a_verb_looks_at_it_stays_ended(desk: Desk, verb: str) -> None:
    async def late(store: Store) -> tuple[str, int]:
        await fill(store, "one", pid=os.getpid())
        seen = await Crawls(store).need("one")
        await Crawls(store).set("one", "cancelled")
        act: Callable[..., Awaitable[tuple[str, int]]] = getattr(steer, f"_{verb}")
        return await act(Crawls(store), seen, True)

    said, code = desk.do(late)
    assert code == 0
    assert "cancelled" in said
    assert "kept" not in said
    assert state(desk) == "cancelled"


def test_a_crawl_of_a_fleet_without_workers_is_stopped_and_named_as_it_was_submitted(desk: Desk) -> None:
    async def submitted(store: Store) -> None:
        await fill(store, "one")
        await Tasks(store).submit("one", b"{}")

    desk.do(submitted)
    _, _, err = desk("stop", "one")
    assert "no worker of the fleet lives. Go on with: gossamer submit https://a.example/ --name one" in err
    assert "gossamer submit" in desk("resume", "one")[2]


def test_top_prints_json_when_it_is_asked_to(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert [crawl["crawl"] for crawl in desk.json("top", "--once")["crawls"]] == ["one"]
