"""Tests of a crawl's time: the spent time survives `kill -9` (`elapsed`, `--time-limit`), and the estimate
of the remaining time respects the limits."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import redis

from e2e.kill_crawl import fire
from e2e.runs import begin, command, job, socket_of
from gossamer.app.runner import Live, crawl
from web import preset, serve

SPENT = 2.0


def spent(data: Path) -> float:
    """Return the seconds that the crawl has spent, as recorded in the store."""
    try:
        with redis.Redis.from_url(socket_of(data) or "", retry=None) as client:
            return float(client.hget("gossamer:crawl:c", "spent") or 0)
    except (redis.RedisError, ValueError):
        return 0.0


def test_both_stretches_count(tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=1, pages=200, latency=0.01)) as web:
        one, data = job(web.plan.seeds(), tmp_path, delay=(0.2, 0.2)), tmp_path / "data"
        door = begin(command(one))
        deadline = time.monotonic() + 60
        while (before := spent(data)) < SPENT:
            assert door.poll() is None, door.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        fire("all", door, data)
        door.communicate()
        again = begin(command(one, "--time-limit", f"{SPENT + 1}s"))
        said = again.communicate(timeout=60)
        assert again.returncode == 0, said
        first = json.loads(said[0])
        assert (first["state"], first["reason"]) == ("limited", "--time-limit is reached")
        assert before < first["elapsed"]
        assert 0 < first["pages"] < 200
        # earlier runs have already spent more than this limit
        over = begin(command(one, "--time-limit", "1s"))
        said = over.communicate(timeout=60)
        second = json.loads(said[0])
        assert second["state"] == "limited"
        assert second["elapsed"] > first["elapsed"]


@pytest.mark.parametrize("given", [{"limit": 400}, {"time_limit": 3.0}])
async def test_the_time_left_minds_the_limits(tmp_path: Path, given: dict[str, float]) -> None:
    seen: list[Live] = []
    with serve(preset("tiny", hosts=2, pages=500, latency=0.01)) as web:
        summary = await crawl(job(web.plan.seeds(), tmp_path, delay=(0.02, 0.02), **given), seen.append)
    assert summary.state == "limited"
    told = [live for live in seen if live.left is not None]
    assert told
    for live in told:
        s = live.summary
        most = given.get("time_limit", (given.get("limit", 0) - s.pages) / (s.pages_per_second or 1))
        assert 0 <= (live.left or 0) <= most + 1e-9
