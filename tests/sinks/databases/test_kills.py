"""Each store contains exactly the right rows after the worker and the store got SIGKILL. benchmarks/stores.py
runs ten kills of each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conftest import seen_in_store
from sinks.databases.database_servers import PLACES, Place
from sinks.databases.kill_crawl import crawled
from support.repetitions import repetitions

KILLS = repetitions(2, 2)


@pytest.mark.parametrize(
    "place", [name for name in PLACES if name not in ("jsonb", "hashes")], indirect=True, scope="session"
)
def test_worker_and_store_are_killed(place: Place, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    version = place.version()
    told = crawled(place, tmp_path, 6, 100, KILLS, random.Random())
    print(told)
    assert (told.workers, told.stores) == (KILLS, KILLS)
    assert (told.different, told.wrong) == (told.expected, 0), told
    seen_in_store(request, place.name, version, told.expected, told.found)
