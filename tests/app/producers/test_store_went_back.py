"""Producers whose store loses its last writes."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.producers.feed_crawl import fed, listed, small  # noqa: F401 - a fixture
from e2e.runs import job
from gossamer.app import producer_runner
from gossamer.app.producer_runner import Feeder
from gossamer.app.producers.source import UrlBatch
from gossamer.frontier.producer_positions import positions_key
from support.cluster import Cluster
from support.frontiers import cluster_url, whole_cluster  # noqa: F401 - fixtures
from support.older_copy import OlderCopy, older_copy


@pytest.fixture
def older(tmp_path: Path) -> Iterator[OlderCopy]:
    with older_copy(tmp_path) as one:
        yield one


@pytest.mark.usefixtures("small")
async def test_urls_of_a_list_that_the_store_forgot_are_read_again(
    tmp_path: Path, older: OlderCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Feeder.add
    steps = {2: older.copy, 5: older.go_back}
    turns = itertools.count(1)

    async def add(self: Feeder, batch: UrlBatch) -> None:
        await added(self, batch)
        if step := steps.get(next(turns)):
            await step()

    monkeypatch.setattr(Feeder, "add", add)
    path = listed(tmp_path / "list.txt", [f"https://h.example/{n}" for n in range(100)])
    url = f"redis://127.0.0.1:{older.server.port}"
    assert (await fed(job([str(path)], tmp_path, store=url)))["added"] == 100


@pytest.mark.usefixtures("small")
async def test_urls_of_standard_input_that_the_store_forgot_are_added_again(
    tmp_path: Path, older: OlderCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    added, made = Feeder.add, Feeder.__init__
    steps, lines = {2: older.copy, 5: older.go_back}, list[str]()
    turns = itertools.count(1)

    async def add(self: Feeder, batch: UrlBatch) -> None:
        await added(self, batch)
        if step := steps.get(next(turns)):
            await step()

    def make(self: Feeder, *args: Any, **more: Any) -> None:
        made(self, *args, **more)
        self._warn = lines.append

    monkeypatch.setattr(Feeder, "add", add)
    monkeypatch.setattr(Feeder, "__init__", make)
    text = "".join(f"https://h.example/{n}\n" for n in range(100))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    url = f"redis://127.0.0.1:{older.server.port}"
    assert (await fed(job(["-"], tmp_path, store=url)))["added"] == 100
    (line,) = lines
    assert line.startswith("stdin cannot be read again, and the store restarted")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("read", [50, 100])
async def test_urls_of_a_list_that_another_master_forgot_are_added_again(
    tmp_path: Path,
    whole_cluster: Cluster,  # noqa: F811
    cluster_url: str,  # noqa: F811
    read: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The master goes back that does not hold the positions, after half of the list or after the whole list."""
    added, total = Feeder.add, itertools.count(10, 10)
    other = next(one for one in whole_cluster.nodes if one is not whole_cluster.master_of(positions_key("c")))
    older = OlderCopy(tmp_path / "older", other)
    steps = {20: older.copy, read: older.go_back}

    async def add(self: Feeder, batch: UrlBatch) -> None:
        await added(self, batch)
        if step := steps.pop(next(total), None):
            await step()

    monkeypatch.setattr(Feeder, "add", add)
    monkeypatch.setattr(producer_runner, "DURABLE_S", 3.0)
    path = listed(tmp_path / "list.txt", [f"https://h{n:02}.example/" for n in range(100)])
    assert (await fed(job([str(path)], tmp_path, store=cluster_url)))["added"] == 100
