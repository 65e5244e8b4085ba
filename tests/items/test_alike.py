"""The step `alike` in whole crawls. All processes share one index of near duplicates."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from e2e.runs import job
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from gossamer.model.summary import Summary
from items.changing_shop import Shop

SITE = """
from gossamer import Item, Site
from gossamer.items import alike
site = Site("shop", seeds=["{url}/"], pace=0, steps=(alike("title"{how}),))
class Product(Item, key="sku"):
    sku: str
    title: str
@site.page("^/p/")
def product(page):
    yield Product(sku=page.css(".sku::text").get(), title=page.css("h1::text").get())
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""


async def crawled(folder: Path, shop: Shop, how: str = "", **given: Any) -> Summary:
    (folder / "shop.py").write_text(SITE.format(url=shop.url, how=how))
    one: Job = job([str(folder / "shop.py")], folder, per_host=16, **given)
    one.outputs = [JobOutput(str(folder / "out.sqlite"))]
    return await crawl(one)


def ask(folder: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "out.sqlite")) as base:
        return base.execute(question).fetchall()


async def test_items_that_say_the_same_are_kept_once_by_all_processes(tmp_path: Path, shop: Shop) -> None:
    shop.pages = 60
    shop.titles = {f"/p/{n}": f"Pot {n % 20}" for n in range(60)}
    end = await crawled(tmp_path, shop, ", near=False, drop=True", processes=2)
    assert (end.items, end.dropped) == (20, 40)
    kept = ask(tmp_path, "SELECT count(*), count(DISTINCT title), count(DISTINCT _group_id) FROM product")
    assert kept == [(20, 20, 20)]


async def test_items_that_say_nearly_the_same_are_marked(tmp_path: Path, shop: Shop) -> None:
    shop.pages = 40
    told = [" ".join(f"word{n}of{k}" for n in range(60)) for k in range(20)]
    shop.titles = {f"/p/{n}": f"{told[n % 20]}{' again' if n >= 20 else ''}" for n in range(40)}
    end = await crawled(tmp_path, shop)
    assert (end.items, end.dropped) == (40, 0)
    found = ask(tmp_path, "SELECT count(*), count(_copy), min(_likeness) FROM product GROUP BY _group_id")
    assert {(members, copies) for members, copies, _ in found} == {(2, 1)}
    assert all(0.7 <= likeness <= 1 for *_, likeness in found)
