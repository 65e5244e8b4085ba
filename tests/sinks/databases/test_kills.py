"""Each store contains exactly the right rows after the worker and the store got SIGKILL. benchmarks/stores.py
runs ten kills of each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conftest import seen_in_store
from sinks.databases.database_servers import PLACES, running
from sinks.databases.kill_crawl import crawled


@pytest.mark.parametrize("name", [name for name in PLACES if name not in ("jsonb", "hashes")])
def test_worker_and_store_are_killed(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with running(name) as place:
        version = place.version()
        told = crawled(place, tmp_path, 6, 100, 2, random.Random())
        print(told)
        assert (told.workers, told.stores) == (2, 2)
        assert (told.different, told.wrong) == (told.expected, 0), told
        seen_in_store(request, place.name, version, told.expected, told.found)
