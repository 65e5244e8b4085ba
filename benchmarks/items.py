"""Measures the CPU time of an item between the page function and the sinks, in microseconds.

    python benchmarks/items.py [--items 20000]

The result is the best of five rounds. An item has eight fields, among them a Decimal with a range, a pattern,
a list, and two fields that may be None. `as it was` makes only a dictionary of plain values and the row,
without schema, hash and counts. SQLite writes synced batches of 256 to a file of its own. Its cases are
`new`, `the same again`, and `changed`, in which a tenth of the items has a new price.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from alike import opened, server
from msgspec import Meta

from gossamer import Item, Site
from gossamer.frontier.quality_records import RecentPages
from gossamer.items import clean, deduplicate
from gossamer.items.quality_gates import Window, count_visit, parse
from gossamer.model.item import plain_fields
from gossamer.model.page import Page
from gossamer.model.quality import SiteCounts, SitePart
from gossamer.model.visit import Row
from gossamer.parsing.page_view import PageView
from gossamer.sinks.columns import item_columns
from gossamer.sinks.sqlite import Sqlite
from gossamer.sites.item_builder import ItemBuilder
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.page_functions import PageResult

ROUNDS, BATCH = 5, 256


class Book(Item, key="upc"):
    upc: Annotated[str, Meta(pattern=r"^B\d+$")]
    title: Annotated[str, Meta(min_length=1)]
    price: Annotated[Decimal, Meta(gt=0)]
    author: str
    pages: int | None = None
    stock: int = 0
    tags: list[str] = msgspec.field(default_factory=list)
    blurb: str | None = None


def book(n: int, price: str = "19.90") -> Book:
    return Book(
        upc=f"B{n}",
        title=f"The {n}th book of tea",
        price=Decimal(price),
        author="A. Writer",
        pages=320,
        tags=["tea", "books"],
        blurb="x" * 120,
    )


def timed(work: Callable[[], Any], items: int) -> float:
    """Returns the CPU microseconds per item."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best / items * 1e6


def making(*steps: Any) -> ItemBuilder:
    return ItemBuilder(LoadedSite(Site("s", steps=steps), Path("s.py"), "v", {}, False))


def rows(items: list[Book], seen: str, make: ItemBuilder, view: PageView) -> list[Row]:
    found = []
    for item in items:
        (made,) = make.make(PageResult(items=[item]), view)
        ours = {
            "_url": view.url,
            "_site": "s",
            "_kind": "book",
            "_key": made.key,
            "_seen_at": seen,
            "_version": "v",
            "_hash": made.content,
        }
        found.append(Row("book", made.key, {**made.fields, **ours}))
    return found


def pipeline(count: int) -> dict[str, float]:
    """Measures steps, counts and gates."""
    items = [book(n) for n in range(count)]
    parsed = [PageResult(items=[item]) for item in items]
    view = PageView(Page("https://a.example/", 200, [], b"", time.time(), 0.0, 0))

    def made(maker: ItemBuilder) -> list[Any]:
        return [maker.make(one, view) for one in parsed]

    out = {"as it was": timed(lambda: [{**plain_fields(item), "_key": item.upc} for item in items], count)}
    for name, steps in {
        "schema, hash, key": (),
        "and clean": (clean,),
        "and deduplicate": (clean, deduplicate),
    }.items():
        out[name] = timed(partial(made, making(*steps)), count)
    fields = plain_fields(items[0])
    counting = SiteCounts("s")

    def counts_of() -> None:
        for _ in range(count):
            counts: dict[str, int] = {}
            counting.page(counts, read=True)
            counting.item(counts, "book", fields, good=True)

    out["counts of a page with one item"] = timed(counts_of, count)
    return out


async def gates(count: int, processes: int) -> float:
    """Measures a gate per page while `processes` processes exchange their counts through a real Valkey."""
    counting, counts = SiteCounts("s"), {"pages": 1, "succeeded": 1}
    counting.page(counts, read=True)
    counting.item(counts, "book", plain_fields(book(1)), good=True)
    gate = parse("pause if coverage.price<0.9 or quality<0.9")
    with server() as url:
        store = await opened(url, 1)
        them = [(str(n), RecentPages(store, "c"), Window({"": [gate]}, {})) for n in range(processes)]
        done, start = 0, time.process_time()
        while done < count:
            for name, lately, window in them:
                mine: dict[str, int] = {}
                for _ in range(every := window.every):
                    count_visit(mine, counts, is_page=True, dead=False)
                window.saw(await lately.share(SitePart(name, every, mine)))
                done += every
        spent = time.process_time() - start
        await store.close()
    return spent / done * 1e6


def sqlite(count: int, folder: Path) -> dict[str, float]:
    """Measures upserts and the history."""
    view = PageView(Page("https://a.example/", 200, [], b"", time.time(), 0.0, 0))
    sink, maker, out = Sqlite(str(folder / "out.sqlite"), item_columns([Book])), making(), {}
    sink.prepare()
    items = [book(n) for n in range(count)]
    tenth = [book(n, "21.00") if n % 10 == 0 else one for n, one in enumerate(items)]
    for name, some, seen in (
        ("new", items, "2026-01-01"),
        ("the same again", items, "2026-01-02"),
        ("changed, a tenth", tenth, "2026-01-03"),
    ):
        made = rows(some, f"{seen}T00:00:00.000Z", maker, view)
        start = time.process_time()
        for first in range(0, count, BATCH):
            sink.upsert(made[first : first + BATCH])
        out[f"SQLite, {name}"] = (time.process_time() - start) / count * 1e6
    sink.close()
    return out


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=20_000)
    count = parser.parse_args().items
    print(
        f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {count} items; us of CPU an item"
    )
    found = {f"a gate that is watched by {n}, a page": asyncio.run(gates(count, n)) for n in (1, 8)}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name, us in {**pipeline(count), **found, **sqlite(count, Path(folder))}.items():
            print(f"{name:40} {us:8.2f}")


if __name__ == "__main__":
    main()
