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
    until("it pauses", lambda: fleet.status(name)["state"] == "paused")
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


def test_a_run_of_the_fleet_that_is_unlike_the_good_ones_concludes_nothing_until_it_is_accepted(
    fleet: Fleet, shop: Shop, tmp_path: Path
) -> None:
    shop.pages = 60
    site(tmp_path, shop, none=" | None")
    words = ("shop.py", "-o", "out/", "--name", "c", "--delay", "0", "--fresh", "--wait", "--quiet")
    words = ("submit", *words, "--allow-private", "127.0.0.0/8")
    fleet.worker("w", "--sites", ".", processes=2)
    fleet.ready(1)
    for _ in range(3):
        fleet.run(*words)
    shop.price = "cost"
    fleet.run(*words, code=31)
    end = fleet.status("c")
    assert end["state"] == "finished"
    assert "good runs: shop: field product.price in 0% of 60 items, 100% usually, template " in end["reason"]
    assert f", for example {shop.url}/p/" in end["reason"]
    fleet.run("accept", "c", "--quiet")
    assert fleet.status("c")["reason"] is None
    fleet.run(*words)
