"""Items in whole crawls: gates that trip and are mended, items kept aside across kills, history, drift."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from gossamer.api import job_of
from gossamer.assemble import open_store
from gossamer.door import Live, crawl
from gossamer.frontier.crawls import Crawls
from gossamer.job import Job, Output
from gossamer.summary import Summary
from pipeline.conftest import Shop

SITE = """
from decimal import Decimal
from typing import Annotated
import msgspec
from gossamer import Item, Site
site = Site("shop", seeds=["{url}/"], pace=0, {more})
class Product(Item, key="sku"):
    sku: str
    title: str
    price: Annotated[Decimal{none}, msgspec.Meta(gt=0)]
@site.page("^/p/")
def product(page):
    yield Product(sku=page.css(".sku::text").get(), title=page.css("h1::text").get(), price=page.price(".{price}"))
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""


def site(folder: Path, shop: Shop, more: str = "", price: str = "price", none: str = "") -> Path:
    path = folder / "shop.py"
    path.write_text(SITE.format(url=shop.url, more=more, price=price, none=none))
    return path


def job(folder: Path, *outputs: str, **options: Any) -> Job:
    made = job_of(
        [str(folder / "shop.py")], {"data": str(folder / "data"), "delay": 0, "per_host": 16, "name": "c"} | options
    )
    made.outputs = [Output(str(folder / one)) for one in outputs]
    return made


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute(question).fetchall()


async def resume(folder: Path) -> None:
    """As `gossamer resume` does."""
    store, embedded = await open_store(job(folder).settings)
    await Crawls(store).set("c", "running")
    await store.close()
    if embedded is not None:
        embedded.leave()


async def test_a_gate_pauses_a_crawl_whose_markup_changes_and_it_goes_on_when_the_parser_is_mended(
    tmp_path: Path, shop: Shop
) -> None:
    site(tmp_path, shop, 'gates="pause if coverage.price<0.9"')
    shop.changes_at = 250
    paused: list[Summary] = []
    seen: list[int] = []

    def watch(live: Live) -> None:
        if live.summary.state == "paused" and not live.in_flight:
            seen.append(live.summary.pages)
            if len(seen) > 3 and len(set(seen[-3:])) == 1 and not paused:  # it stands still
                paused.append(live.summary)
                site(tmp_path, shop, 'gates="pause if coverage.price<0.9"', price="cost")
                asyncio.get_running_loop().create_task(resume(tmp_path))

    end = await crawl(job(tmp_path, "out.jsonl"), watch)
    (held,) = paused
    assert held.reason is not None
    assert held.reason.startswith("gate 'pause if coverage.price<0.9' over the last 100 pages (shop: quality")
    assert 250 < held.pages <= 250 + 200
    lost = held.rejected
    assert 10 <= lost <= 200
    assert (end.state, end.pages, end.rejected) == ("finished", shop.pages + 1, lost)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len({row["_key"] for row in rows}) == len(rows) == shop.pages - lost
    assert len({row["_version"] for row in rows}) == 2
    aside = [json.loads(line) for line in (tmp_path / "data" / "c" / "rejected-items.jsonl").read_text().splitlines()]
    assert {(row["field"], row["value"], row["reason"]) for row in aside} == {
        ("price", None, "Expected `decimal`, got `null`")
    }
    kept = {json.loads(file.read_text())["url"] for file in (tmp_path / "data" / "c" / "failed").glob("*.json")}
    assert kept == {row["_url"] for row in aside}  # what it had is there to be read again
    assert len(aside) == lost
    assert end.sites["shop"].coverage["product.price"] == round((shop.pages - lost) / shop.pages, 4)
