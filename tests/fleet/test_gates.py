"""A gate that is not met pauses a crawl of the fleet. After the site file is corrected, the crawl resumes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from items.changing_shop import Shop, serving
from items.test_crawls import site
from support.fleet_workers import Fleet, until


@pytest.fixture
def shop() -> Iterator[Shop]:
    with serving() as made:
        yield made


def test_a_gate_pauses_the_fleet_and_the_mended_file_goes_on(
    fleet: Fleet, shop: Shop, tmp_path: Path
) -> None:
    shop.pages, shop.changes_at = 300, 120
    site(tmp_path, shop)
    fleet.worker("w", "--sites", ".", processes=2)
    fleet.ready(1)
    name = fleet.submit("shop.py", output="out/", fail_on="pause if coverage.price<0.9", delay="0")
    until("it pauses", lambda: fleet.json("status", name)["state"] == "paused")
    held = fleet.json("status", name)
    assert held["reason"].startswith("gate 'pause if coverage.price<0.9' over the last")
    assert "product.price in" in fleet.run("status", name)
    site(tmp_path, shop, price="cost")
    fleet.run("resume", name)
    end = fleet.ended(name)
    assert (end["state"], end["pages"]) == ("finished", 301)
    assert 0 < end["rejected"] <= 200
    assert len(fleet.rows()) == 300 - end["rejected"]
    assert len({row["_version"] for row in fleet.rows()}) == 2
