"""The factor that limits the concurrent visits of a worker: its hosts, their response times, the caps of the
fleet, or its process."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.observability import logs
from gossamer.politeness.pace import Delay
from gossamer.worker.capacity import Limiter
from gossamer.worker.claim_poller import ClaimPoller
from gossamer.worker.concurrency_level import ConcurrencyLevel, LevelLog, current_level
from worker.worker_parts import SEED, Make, Net, links, until


async def test_a_worker_tells_hosts_answers_and_its_own_number_apart(road: Make) -> None:
    table = road(Net({SEED: links(*(f"http://a.example/{k}" for k in range(40)))}, wait=0.2), concurrency=8)
    await table.add(SEED)
    run = asyncio.create_task(table.run())
    seen: set[tuple[int, str]] = set()

    def is_over() -> bool:
        if table.worker.busy:
            seen.add(table.worker.level())
        return run.done()

    await until(is_over)
    assert await run == "finished"
    # one visit runs at the beginning, then as many as allowed
    assert {(8, "latency"), (8, "fixed")} <= seen


async def test_a_host_that_waits_for_its_delay_is_the_limit(road: Make) -> None:
    pages = (f"http://a.example/{k}" for k in range(40))
    table = road(Net({SEED: links(*pages)}), concurrency=8, fixed=Delay(60.0, 60.0))
    await table.add(SEED)
    run = asyncio.create_task(table.run())
    await until(lambda: table.net.asked and not table.worker.busy)
    await until(lambda: table.worker.level() == (8, "hosts"))
    table.stop.set()
    assert await run == "stopped"


@pytest.mark.parametrize("scarce", ["memory", "processor"])
def test_the_load_of_a_process_lowers_its_level(scarce: str, road: Make) -> None:
    limiter = Limiter(64)
    limiter.load = lambda: (0.5, scarce)
    assert current_level(limiter, ClaimPoller(road(Net()).frontier, 1)) == (32, scarce)


def test_only_changes_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(
        "gossamer.worker.concurrency_level.log_event", lambda event, **fields: said.append(fields["text"])
    )
    assert "concurrency" in logs.EVENTS
    level = ConcurrencyLevel(64, "hosts")
    log = LevelLog("c", "w", lambda: level)
    assert log() == log() == (64, "hosts")
    level = ConcurrencyLevel(81, "latency")
    log()
    assert said == ["64 pages at once, limited by hosts", "81 pages at once, limited by latency"]
