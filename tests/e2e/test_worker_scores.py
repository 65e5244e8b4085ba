"""Four workers of one crawl: the healthy worker gets the hard hosts, and the worker without a network and
the banned worker stop claiming."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path

from e2e.four_workers import Seen, Web, plug, serving, unplug, working


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


async def until(said: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.05)


async def test_the_best_gets_the_hard_hosts_and_the_broken_take_themselves_out(
    tmp_path: Path, shared_store: str
) -> None:
    with serving(tmp_path, free()) as web:
        await judged(web, tmp_path, shared_store)


async def judged(web: Web, folder: Path, store: str) -> None:
    async with working(web, folder, store, delay=0.1, turn=0.3) as crew:
        out = {name: crawl_worker.score_keeper for name, crawl_worker in crew.benches.items()}
        await until(lambda: out["dead"].out and out["banned"].out, 300)
        assert not out["good"].out
        assert not out["slow"].out
        claimed = {name: len(web_seen(web, name)) for name in ("banned", "dead")}
        held = crew.benches["dead"].frontier.claim
        made: list[int] = []

        async def counted(bucket: int, k: int) -> object:
            got = await held(bucket, k)
            made.append(len(got.claims))
            return got

        crew.benches["dead"].frontier.claim = counted  # type: ignore[method-assign,assignment] # to see what it claims
        n = len(hard(web))
        await until(lambda: len(hard(web)) >= n + 180, 300)
        last = hard(web)[-100:]
    assert last.count("good") >= 80
    assert sum(made) == 0, "it is out"
    assert len(web_seen(web, "banned")) <= claimed["banned"] + 32, "what was under way ended"
    assert {name for name, line in crew.said if "stops claiming" in line} == {"dead", "banned"}
    assert any("(dns) while others succeed" in line for _, line in crew.said)


def hard(web: Web) -> list[str]:
    """Return the workers that visited the hard hosts, in the order of the visits."""
    return [one.worker for one in web.seen() if one.host in web.hard]


def web_seen(web: Web, worker: str) -> list[Seen]:
    return [one for one in web.seen() if one.worker == worker]


async def test_a_lone_worker_waits_out_a_dead_network_and_comes_back(
    tmp_path: Path, shared_store: str
) -> None:
    with serving(tmp_path, free(), easy=6, hard=0) as web:
        said = await unplugged(web, tmp_path, shared_store)
    assert [line.partition(":")[0] for line in said] == [
        "this worker stops claiming",
        "this worker is back",
    ]


async def unplugged(web: Web, folder: Path, store: str) -> list[str]:
    async with working(web, folder, store, names=["good"], delay=0.05, turn=0.3, probe=0.5) as crew:
        (crawl_worker,) = crew.benches.values()
        await until(lambda: len({one.host for one in web.seen()}) == 6 and len(web.seen()) > 30)
        unplug(crawl_worker)
        crawl_worker.network.resolver._known.clear()
        await until(lambda: crawl_worker.score_keeper.out)
        plug(crawl_worker)
        await until(lambda: not crawl_worker.score_keeper.out)
        n = len(web.seen())
        await until(lambda: len(web.seen()) > n + 20)
    return [line for _, line in crew.said]
