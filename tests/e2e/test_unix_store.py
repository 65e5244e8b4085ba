"""A shared store on a Unix socket has as many buckets as a store on TCP, for one process and for worker
processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from e2e.runs import begin, command, job, rows
from gossamer.store.store import BUCKETS_SERVER
from web import preset, serve


@pytest.mark.parametrize("processes", [1, 2])
def test_a_shared_store_on_a_unix_socket(tmp_path: Path, valkey_url: str, processes: int) -> None:
    with serve(preset("tiny", hosts=3, pages=20)) as web:
        one = job(web.plan.seeds(), tmp_path, per_host=4, processes=processes)
        door = begin(command(one, "--store", valkey_url))
        out, err = door.communicate(timeout=60)
        assert door.returncode == 0, err
        assert json.loads(out)["pages"] == len(rows(tmp_path / "out.jsonl")) == 60
    with redis.Redis.from_url(valkey_url) as client:
        assert int(client.hget("gossamer", "buckets") or 0) == BUCKETS_SERVER
    assert not (tmp_path / "data" / "store").exists()
