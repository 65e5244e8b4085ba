"""Tests of unfinished `add --again` commands: which commands count as equal, and what the store contains
about them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gossamer.app.targets import Target
from gossamer.app.unfinished_additions import begin_addition, command_hash, end_addition
from gossamer.app.url_adding import AddOptions
from gossamer.store import keys
from gossamer.store.store import Store, connect


@pytest_asyncio.fixture
async def store(valkey_url: str) -> AsyncIterator[Store]:
    store = connect(valkey_url)
    await store.open(1, "test")
    yield store
    await store.close()


async def test_an_equal_command_continues_until_it_ends(store: Store) -> None:
    first = await begin_addition(store, "c", "x")
    other = await begin_addition(store, "c", "y")
    again = await begin_addition(store, "c", "x")
    assert (first.continued, again.continued, other.continued) == (False, True, False)
    assert again == first._replace(continued=True)
    assert other.token != first.token
    await end_addition(store, "c", first)
    assert await store.client.hlen(keys.additions("c")) == 1
    new = await begin_addition(store, "c", "x")
    assert (new.continued, new.token == first.token) == (False, False)
    assert keys.known(keys.additions("c"))


def test_targets_and_options_make_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, again = Target("url", "http://a.example/"), AddOptions(again=True)
    known = command_hash([url], again)
    assert command_hash([url], AddOptions(again=True)) == known
    assert command_hash([url, url], again) != known
    assert command_hash([url], AddOptions(again=True, id="7")) != known
    monkeypatch.chdir(tmp_path)
    near = command_hash([Target("list", "urls.txt")], again)
    assert near == command_hash([Target("list", str(tmp_path / "urls.txt"))], again)
    monkeypatch.chdir("/")
    assert command_hash([Target("list", "urls.txt")], again) != near
