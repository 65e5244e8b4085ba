"""What whole runs count as new, changed, unchanged, gone and refused, on one machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gossamer.app.job import JobOutput
from gossamer.app.runner import crawl
from gossamer.cli.summaries import summary_rows
from gossamer.model.summary import Summary
from items.changing_shop import Shop, serving
from items.test_crawls import job
from support.postgres import Postgres, running_postgres
from support.processes import Process

SITE = """
from gossamer import Site
site = Site("shop", seeds=["{url}/"], pace=0)
@site.page("^/p/")
def product(page):
    number = int(page.css(".sku::text").get())
    yield {{"_key": "same" if 1 <= number <= 3 else str(number), "title": page.css("h1::text").get()}}
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""
"""A site without item classes. Three of its pages show an item with the same key."""

LARGE = """
from gossamer import Item, Site
site = Site("shop", seeds=["{url}/"], pace=0)
class Pot(Item, key="sku"):
    sku: str
    number: int
@site.page("^/p/")
def product(page):
    number = int(page.css(".sku::text").get())
    yield Pot(sku=str(number), number=number or 10**30)
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""
"""A site with one number that no column can hold."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with serving() as found:
        (tmp_path / "shop.py").write_text(SITE.format(url=found.url))
        yield found


async def told(folder: Path, output: str) -> Summary:
    """Runs the site into an output. Returns the summary."""
    one = job(folder, fresh=True, per_host=1)
    one.outputs = [JobOutput(output)]
    return await crawl(one)


def numbers(end: Summary) -> tuple[int | None, ...]:
    return end.new, end.changed, end.unchanged, end.gone, end.refused


async def test_a_refused_last_row_and_three_versions_of_a_key(
    tmp_path: Path, shop: Shop, postgres: Postgres
) -> None:
    shop.pages = 6
    assert numbers(await told(tmp_path, postgres.url)) == (4, 2, 0, 0, 0)
    with psycopg.connect(postgres.url, autocommit=True) as base:
        base.execute("ALTER TABLE item ADD CONSTRAINT c CHECK (data->>'title' <> 'bad')")
    shop.pages, shop.titles["/p/7"] = 8, "bad"
    assert numbers(await told(tmp_path, postgres.url)) == (1, 3, 3, 0, 1)
    shop.missing = {"/p/0", "/p/6"}
    assert numbers(await told(tmp_path, postgres.url)) == (0, 3, 2, 2, 1)


async def test_a_hash_tells_what_is_new_but_not_what_is_gone(tmp_path: Path, shop: Shop) -> None:
    server = Process(tmp_path / "hashes", "--save", "").ready()
    try:
        output, shop.pages = f"valkey://127.0.0.1:{server.port}/0?hash=all", 1
        assert numbers(await told(tmp_path, output)) == (1, 0, 0, None, 0)
        shop.titles["/p/0"] = "Another"
        assert numbers(await told(tmp_path, output)) == (0, 1, 0, None, 0)
        end = await told(tmp_path, output)
        assert numbers(end) == (0, 0, 1, None, 0)
        assert ("rows", "1 unchanged; unknown: gone") in summary_rows(end)
        assert json.loads(json.dumps(end.dict()))["gone"] is None
    finally:
        server.kill()


async def test_a_file_tells_nothing_of_items_so_pages_are_counted(tmp_path: Path, shop: Shop) -> None:
    shop.pages = 5
    found: Any = await told(tmp_path, str(tmp_path / "out.jsonl"))
    assert numbers(found) == (6, 0, 0, 0, 0)


async def test_rows_that_lose_a_value_in_a_parquet_file_are_counted(tmp_path: Path, shop: Shop) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "shop.py").write_text(LARGE.format(url=shop.url))
    shop.pages = 4
    end = await told(tmp_path, str(tmp_path / "out.parquet"))
    lines = (tmp_path / "data" / "c" / "refused.jsonl").read_text().splitlines()
    assert (end.items, end.refused, end.refused_kinds, len(lines)) == (4, 1, [], 1)
