"""Items in whole crawls: quality gates that trip, the correction of their cause, rejected items after kills,
history and drift."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import gossamer
from e2e.runs import begin, command, kill
from gossamer.api import job_of
from gossamer.app.job import Job, JobOutput
from gossamer.app.open_store import open_store
from gossamer.app.quality_gate_setup import missed_gates
from gossamer.app.runner import Live, crawl
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.quality_records import GoodRuns
from gossamer.model.summary import Summary
from items.changing_shop import Shop
from support.processes import until

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
        [str(folder / "shop.py")],
        {"data": str(folder / "data"), "delay": 0, "per_host": 16, "name": "c"} | options,
    )
    made.outputs = [JobOutput(str(folder / one)) for one in outputs]
    return made


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute(question).fetchall()


async def resume(folder: Path) -> None:
    """Resume a paused crawl, as `gossamer resume` does."""
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
            # the number of pages no longer changes
            if len(seen) > 3 and len(set(seen[-3:])) == 1 and not paused:
                paused.append(live.summary)
                site(tmp_path, shop, 'gates="pause if coverage.price<0.9"', price="cost")
                asyncio.get_running_loop().create_task(resume(tmp_path))

    end = await crawl(job(tmp_path, "out.jsonl"), watch)
    (held,) = paused
    assert held.reason is not None
    assert held.reason.startswith("gate 'pause if coverage.price<0.9' over the last 1")
    assert 250 < held.pages <= 250 + 200
    lost = held.rejected
    assert 10 <= lost <= 200
    assert (end.state, end.pages, end.rejected) == ("finished", shop.pages + 1, lost)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len({row["_key"] for row in rows}) == len(rows) == shop.pages - lost
    assert len({row["_version"] for row in rows}) == 2
    aside = [
        json.loads(line)
        for line in (tmp_path / "data" / "c" / "rejected-items.jsonl").read_text().splitlines()
    ]
    assert {(row["field"], row["value"], row["reason"]) for row in aside} == {
        ("price", None, "Expected `decimal`, got `null`")
    }
    kept = {
        json.loads(file.read_text())["url"] for file in (tmp_path / "data" / "c" / "failed").glob("*.json")
    }
    # the pages of rejected items are stored, to be parsed again
    assert kept == {row["_url"] for row in aside}
    assert len(aside) == lost
    assert end.sites["shop"].coverage["product.price"] == round((shop.pages - lost) / shop.pages, 4)


def told(folder: Path, *words: str) -> Any:
    """Returns the JSON output of a command, or an empty dict if there is no crawl yet."""
    said, _ = begin([*words, "--data", str(folder / "data"), "--json"]).communicate(timeout=60)
    return json.loads(said or "{}")


def test_eight_processes_pause_within_200_pages_of_all_together_go_on_mended_and_what_they_had_is_read_again(
    tmp_path: Path, shop: Shop
) -> None:
    gate, shop.changes_at = 'gates=("warn if coverage.price<0.95", "pause if coverage.price<0.9")', 250
    site(tmp_path, shop, gate)
    one = job(tmp_path, "pages.warc.gz", "out.jsonl", processes=8, delay=0.01)
    door = begin(command(one))

    seen: dict[int, float] = {}

    def held() -> bool:
        """Returns whether the crawl is paused and all processes have settled their visits, so that no page
        was added for 3 s."""
        assert door.poll() is None, door.communicate()
        look, now = told(tmp_path, "status", "c"), time.monotonic()
        return look.get("state") == "paused" and now - seen.setdefault(look["pages"], now) > 3

    until(held, 60)
    summary, served = told(tmp_path, "status", "c"), shop.served
    assert 250 < summary["pages"] <= 250 + 200
    lost = summary["rejected"]
    assert 10 <= lost <= 200
    site(tmp_path, shop, gate, price="cost")
    assert begin(["resume", "c", "--data", str(tmp_path / "data")]).wait(60) == 0
    said, complaint = door.communicate(timeout=120)
    # one line each, from any of the processes
    assert [complaint.count(f"c: {what}: gate") for what in ("warning", "paused")] == [1, 1]
    end = json.loads(said)
    assert (end["state"], end["pages"], end["rejected"]) == ("finished", 601, lost), complaint
    # the gate also applies to the whole crawl
    assert door.returncode == (30 if lost > 60 else 0), complaint
    assert shop.served == served + 600 - (summary["pages"] - 1)
    site(tmp_path, shop, gate, price="price, .cost")
    read = told(tmp_path, "reparse", "c", "-o", str(tmp_path / "whole.jsonl"), "--processes", "2")
    assert (read["items"], read["rejected"], read["difference"]["added"]) == (600, 0, lost)
    assert (read["difference"]["changed"], read["difference"]["removed"]) == (0, 0)
    rows = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text().splitlines()]
    assert {row["sku"]: row["price"] for row in rows} == {str(n): n + 0.5 for n in range(600)}
    assert shop.served == served + 600 - (summary["pages"] - 1)  # `reparse` makes no requests


async def test_a_warning_is_told_and_a_stop_ends_the_crawl(
    tmp_path: Path, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.price = "cost"
    site(tmp_path, shop, 'gates=["warn if quality<1", "stop if coverage.price<0.5"]')
    end = await crawl(job(tmp_path, gates=["pause if coverage.price<0.1 and success<0.5"]))
    said = capsys.readouterr().err
    assert said.count("c: warning: gate 'warn if quality<1'") == 1
    assert said.count("c: stopping: gate 'stop if coverage.price<0.5'") == 1
    assert (end.state, (end.reason or "")[:30]) == ("stopped", "gate 'stop if coverage.price<0")
    assert 50 <= end.pages < 300
    shop.price = "price"
    end = await crawl(job(tmp_path))  # the same command resumes the crawl
    assert (end.state, end.reason, end.pages) == ("finished", None, shop.pages + 1)
    assert missed_gates(job(tmp_path, gates=["success<0.5", "coverage.prise<0.1"]), end) == [
        "coverage.prise<0.1"
    ]


async def test_runs_are_remembered_and_what_fell_below_them_is_told(tmp_path: Path, shop: Shop) -> None:
    shop.pages = 60
    site(tmp_path, shop, 'gates=["coverage.price<0.9"]', none=" | None")
    good = await crawl(job(tmp_path))
    assert (good.sites["shop"].quality, good.sites["shop"].drift) == (1.0, {})
    shop.priceless = 2
    bad = await crawl(job(tmp_path, fresh=True))
    assert bad.rejected == 0
    assert bad.sites["shop"].coverage == {"product.sku": 1.0, "product.title": 1.0, "product.price": 0.5}
    assert bad.sites["shop"].drift == {"product.price": 0.5}
    assert missed_gates(job(tmp_path), bad) == ["coverage.price<0.9"]
    assert missed_gates(job(tmp_path, gates=["drift.price>0.4", "drift>0.6"]), bad) == [
        "drift.price>0.4",
        "coverage.price<0.9",
    ]
    shop.priceless = 0
    await crawl(job(tmp_path, fresh=True))
    store, embedded = await open_store(job(tmp_path).settings)
    runs = (await GoodRuns(store).load(["shop"]))["shop"]
    await store.close()
    if embedded is not None:
        embedded.leave()
    # later runs are not compared with the bad run
    assert [run.coverage["product.price"] for run in runs] == [1.0, 1.0]


async def test_a_second_crawl_writes_what_changed_keeps_what_was_and_marks_what_is_gone(
    tmp_path: Path, shop: Shop
) -> None:
    shop.pages = 30
    path = tmp_path / "out.sqlite"
    site(tmp_path, shop, "complete=True")
    await crawl(job(tmp_path, "out.sqlite"))
    before = ask(path, "SELECT * FROM product ORDER BY _key")
    assert len(before) == 30
    shop.titles, shop.gone = {"/p/1": "New"}, {"/p/2"}
    await crawl(job(tmp_path, "out.sqlite", fresh=True))
    after = ask(path, "SELECT * FROM product ORDER BY _key")
    assert [old for old, new in zip(before, after, strict=True) if old != new] == [
        old for old in before if old[0] in ("1", "2")
    ]
    assert ask(
        path, "SELECT _key, title, _deleted_at IS NULL FROM product WHERE _key IN ('1', '2') ORDER BY 1"
    ) == [
        ("1", "New", 1),
        ("2", "Pot 2", 0),
    ]
    assert [json.loads(data)["title"] for (data,) in ask(path, "SELECT _data FROM _history")] == ["Pot 1"]
    # the site is no longer complete: unseen items stay, and items whose page answers 404 are removed
    site(tmp_path, shop)
    shop.gone = set()
    await crawl(job(tmp_path, "out.sqlite", fresh=True))
    assert ask(path, "SELECT count(*) FROM product WHERE _deleted_at IS NULL") == [(30,)]
    shop.missing = {"/p/3"}
    end = await crawl(job(tmp_path, "out.sqlite", fresh=True))
    assert end.errors == {"http-4xx": 1}
    assert ask(path, "SELECT _key FROM product WHERE _deleted_at IS NOT NULL") == [("3",)]


def test_rejected_items_are_exact_across_kills(tmp_path: Path, shop: Shop) -> None:
    shop.priceless, shop.pages = 3, 400
    site(tmp_path, shop)
    one = job(tmp_path, "out.jsonl")
    for at in (60, 170, 290):
        door = begin(command(one))
        deadline = time.monotonic() + 60
        while shop.served < at:
            assert door.poll() is None, door.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        kill(door.pid)
        door.communicate()
    end = asyncio.run(crawl(one))
    bad = [n for n in range(400) if n % 3 == 0]
    aside = [
        json.loads(line)
        for line in (tmp_path / "data" / "c" / "rejected-items.jsonl").read_text().splitlines()
    ]
    assert sorted(int(row["item"]["sku"]) for row in aside) == bad
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(int(row["sku"]) for row in rows) == [n for n in range(400) if n % 3]
    assert (end.state, end.rejected, end.items) == ("finished", len(bad), 400 - len(bad))
    told = end.sites["shop"]
    assert (told.pages, told.items, told.rejected, told.unread) == (401, 400, len(bad), 0)


async def test_odd_items_are_stored_or_rejected_and_the_crawl_goes_on(tmp_path: Path, shop: Shop) -> None:
    shop.pages = 5
    (tmp_path / "shop.py").write_text(ODD.format(url=shop.url))
    end = await crawl(job(tmp_path, "out.jsonl", "out.csv", "out.sqlite"))
    assert (end.state, end.items, end.rejected, end.dropped, end.errors) == ("finished", 4, 1, 0, {})
    rows = {row["_key"]: row for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert (rows["0"]["text"], len(rows["1"]["text"]), rows["2"]["n"]) == ("=1+2\ufffd\0", 10_000_000, None)
    assert ask(tmp_path / "out.sqlite", "SELECT _key, length(text) FROM item ORDER BY 1")[1] == (
        "1",
        10_000_000,
    )
    assert "'=1+2" in (tmp_path / "out.item.csv").read_text()
    (aside,) = map(json.loads, (tmp_path / "data" / "c" / "rejected-items.jsonl").read_text().splitlines())
    assert aside["reason"].startswith("it cannot be written")
    found = {row._key: row async for row in gossamer.crawl(str(tmp_path / "shop.py"), delay=0)}
    assert (sorted(found), found["4"].n) == (["0", "1", "2", "4"], 5)


ODD = """
from gossamer import Site
site = Site("shop", seeds=["{url}/"], pace=0)
@site.page("^/p/")
def product(page):
    n = int(page.css(".sku::text").get())
    yield [
        {{"_key": 0, "text": "=1+2\\ud800\\0", "../../x": 1, "": 2, "_hash": 3}}, {{"_key": 1, "text": "x" * 10_000_000}},
        {{"_key": 2, "n": float("nan")}}, {{"_key": 3, "n": object()}}, {{"_key": 4, "n": 5}},
    ][n]
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""
