"""On a fleet, each worker's machine lists the URLs that its workers skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.fleet_workers import Fleet
from web import Web, preset, serve


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=2, pages=30, latency=0.01)) as web:
        yield web


def test_the_machine_of_a_worker_has_its_list(fleet: Fleet, web: Web) -> None:
    fleet.worker("w", "--data", "d1", processes=2)
    fleet.ready(1)
    seed = web.plan.seeds()[0]
    name = fleet.submit(seed, name="one", delay="0.01", depth="1", output="one/")
    counted = fleet.ended(name)["skipped"]
    lines = fleet.run("skipped", name, "--data", "d1", "--json").splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert len({row["url"] for row in found}) == len(found)
    reasons = {row["reason"] for row in found}
    assert reasons == set(counted) - {"duplicate", "budget", "recent"}
    assert "depth" in reasons
    elsewhere = fleet.run("skipped", name, "--data", "d2")
    assert not [line for line in elsewhere.splitlines() if line.startswith("depth")]
