"""Orders for workers and crawls: from two operators at once, and for a name that another worker had
before."""

from __future__ import annotations

import time

import pytest

from gossamer.cli.doctor import clocks
from gossamer.errors import InUse
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.workers import WorkerRecord, WorkerRecords, take_name
from gossamer.store.store import Store

NAME = "w@here"


def worker(**fields: str) -> WorkerRecord:
    return WorkerRecord(name=NAME, host="here", pid=1, lanes=["http"], processes=1, version="1", **fields)  # type: ignore[arg-type] # texts alone


async def test_who_is_to_stop_is_not_told_to_drain_instead(store: Store) -> None:
    crew = WorkerRecords(store)
    await crew.beat(worker())
    assert await crew.order("w", "stop") == await crew.order("all", "drain") == [NAME]
    assert await crew.pending_order(NAME) == "stop"
    await crew.leave(NAME)
    await crew.beat(worker())
    await crew.order("w", "drain")
    await crew.order("w", "stop")
    assert await crew.pending_order(NAME) == "stop"


async def test_an_order_ends_with_the_worker_that_it_was_for(store: Store) -> None:
    """The worker was killed while it drained, and was started again under the same name."""
    crew = WorkerRecords(store)
    name, token = await take_name(crew, NAME, fixed=True)
    await crew.beat(worker())
    await crew.order(name, "drain")
    await crew.release_name(name, token)  # as it happens after some time
    await take_name(crew, NAME, fixed=True)
    assert await crew.beat(worker()) == ""


@pytest.mark.parametrize(("seconds", "side"), [(7200, "ahead of"), (-7200, "behind"), (2, "")])
async def test_a_worker_whose_clock_is_wrong_is_known_everywhere(
    store: Store, monkeypatch: pytest.MonkeyPatch, seconds: int, side: str
) -> None:
    crew = WorkerRecords(store)
    right = time.time
    monkeypatch.setattr("gossamer.state.workers.time.time", lambda: right() + seconds)
    await crew.beat(worker())
    monkeypatch.undo()
    (one,) = await crew.all()
    said = [finding.found for finding in await clocks(store)]
    assert abs(one.clock_off - seconds) < 2
    assert said == ([one.clock_fault] if side else [])
    assert f"the clock of here is {abs(seconds)} s {side}" in one.clock_fault or not side


@pytest.mark.parametrize("state", ["stopping", "stopped", "cancelling", "cancelled", "ending"])
async def test_what_somebody_ended_is_not_begun_by_who_was_submitting_it(store: Store, state: str) -> None:
    crawls, tasks = Crawls(store), FleetCrawls(store)
    await crawls.begin("c", Spec(["https://a.example/"]), [], state="paused")
    await crawls.set("c", state)
    with pytest.raises(InUse, match=f"it is {state}"):
        await tasks.submit("c", b"{}")
    assert ((await crawls.state("c"))[0], await tasks.job("c")) == (state, None)
    await crawls.set("c", "paused")
    await tasks.submit("c", b"{}")
    assert (await crawls.state("c"))[0] == "running"


async def test_a_crawl_whose_queue_is_being_dropped_is_not_taken_up(store: Store) -> None:
    crawls, spec = Crawls(store), Spec(["https://a.example/"])
    await crawls.begin("c", spec, [])
    await FleetCrawls(store).submit("c", b"{}")
    await crawls.set("c", "cancelling")
    with pytest.raises(InUse, match="is being cancelled"):
        await crawls.begin("c", spec, [], state="paused")
    assert (await crawls.state("c"))[0] == "cancelling"
