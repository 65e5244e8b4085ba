"""Tests of `--if-older`: a crawl that is run again visits only pages whose last good visit is older than a
given time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from e2e.runs import job
from e2e.test_refresh import Shop, run, shop
from gossamer.app.runner import crawl
from gossamer.errors import UsageError
from gossamer.model.visit import KnownLine
from gossamer.recrawl import known_pages

__all__ = ["shop"]
DAY_S = 86_400


def age(folder: Path, is_old: Callable[[str], bool], by: int = 2 * DAY_S) -> None:
    """Moves the visits of some pages back in time."""
    (log,) = folder.glob(f"**/{known_pages.NAME}")
    decode = msgspec.json.Decoder(KnownLine).decode
    lines = [decode(line) for line in log.read_bytes().splitlines()]
    for line in lines:
        if is_old(line.url):
            line.at -= by
    log.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


async def test_pages_that_were_visited_within_the_time_are_not_fetched_again(
    shop: Shop, tmp_path: Path
) -> None:
    first, rows = await run(shop, tmp_path, if_older=DAY_S)
    assert (first.state, first.pages, len(rows)) == ("finished", 22, 22)
    second, rows = await run(shop, tmp_path, if_older=DAY_S)
    assert (second.state, second.pages, rows) == ("finished", 0, [])
    assert second.skipped["recent"] == 22
    assert {path for path, _ in shop.answers} <= {"/robots.txt"}

    age(tmp_path, lambda url: url in (shop.url, f"{shop.url}3", f"{shop.url}old"))
    shop.pages["/3"] += " and more<a href=/4>a page that is known</a><a href=/child>and a new one</a>"
    shop.pages["/child"] = "<title>Child</title>"
    third, rows = await run(shop, tmp_path, if_older=DAY_S)
    assert {row["url"].removeprefix(shop.url) for row in rows} == {"3", "child"}
    assert {path for path, _ in shop.answers} - {"/robots.txt"} == {"/", "/3", "/old", "/new", "/child"}
    assert (third.pages, third.skipped["recent"], third.gone) == (4, 19, 0)
    fourth, _ = await run(shop, tmp_path, if_older=DAY_S)
    assert (fourth.pages, fourth.skipped["recent"]) == (0, 23)
    fifth, _ = await run(shop, tmp_path, refresh=True)
    assert fifth.pages == 23


async def test_a_page_whose_last_visit_failed_is_visited_again(shop: Shop, tmp_path: Path) -> None:
    page = shop.pages.pop("/5")
    await run(shop, tmp_path, if_older=DAY_S)
    shop.pages["/5"] = page
    _, rows = await run(shop, tmp_path, if_older=DAY_S)
    assert [row["url"].removeprefix(shop.url) for row in rows] == ["5"]


async def test_new_lines_of_a_list_are_visited(shop: Shop, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text(f"{shop.url}1\n{shop.url}2\n")
    given = {"targets": [str(urls)], "scope": "page", "name": "list", "if_older": DAY_S}
    first, rows = await run(shop, tmp_path, **given)
    assert (first.pages, len(rows)) == (2, 2)
    urls.write_text(f"{shop.url}1\n{shop.url}3\n{shop.url}2\n")
    second, rows = await run(shop, tmp_path, **given)
    assert [row["url"].removeprefix(shop.url) for row in rows] == ["3"]
    assert (second.pages, second.skipped["recent"], shop.answers["/1", 200]) == (1, 2, 0)


async def test_a_run_that_was_interrupted_is_continued_first(shop: Shop, tmp_path: Path) -> None:
    given = {"if_older": DAY_S}
    first, _ = await run(shop, tmp_path, limit=5, **given)
    assert first.state == "limited"
    second, _ = await run(shop, tmp_path, **given)
    assert (second.state, second.pages, second.skipped.get("recent", 0)) == ("finished", 22, 0)
    age(tmp_path, lambda _: True)
    third, _ = await run(shop, tmp_path, limit=5, **given)
    assert third.state == "limited"
    fourth, _ = await run(shop, tmp_path, **given)
    assert (fourth.state, fourth.pages, fourth.skipped.get("recent", 0)) == ("finished", 22, 0)


async def test_items_of_pages_that_were_not_visited_are_not_gone(shop: Shop, tmp_path: Path) -> None:
    site = tmp_path / "shop.py"
    site.write_text(
        "from gossamer import Site\nimport msgspec\nclass Note(msgspec.Struct):\n    id: str\n    title: str\n"
        f"site = Site('shop', seeds=['{shop.url}'], complete=True, follow=True)\n"
        "@site.page()\ndef page(page):\n    yield Note(page.url, page.title)\n"
    )
    for _ in range(2):
        summary = await crawl(job([str(site)], tmp_path, output="shop.sqlite", name="shop", if_older=DAY_S))
        assert summary.adds_up()
        age(tmp_path, lambda url: not url.endswith(("/3", "/4")))
        shop.pages = {path: f"{text} and more" for path, text in shop.pages.items()}
    assert (summary.pages, summary.skipped["recent"], summary.gone) == (20, 2, 0)
    with sqlite3.connect(tmp_path / "shop.sqlite") as base:
        assert base.execute("SELECT count(*) FROM note WHERE _deleted_at IS NULL").fetchone() == (22,)


async def test_fresh_forgets_the_visits(shop: Shop, tmp_path: Path) -> None:
    await run(shop, tmp_path, if_older=DAY_S)
    summary, _ = await run(shop, tmp_path, if_older=DAY_S, fresh=True)
    assert summary.pages == 22


async def test_revisit_and_if_older_exclude_one_another(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--if-older and --revisit exclude one another"):
        await run(shop, tmp_path, if_older=DAY_S, revisit="auto")


def test_a_visit_that_is_too_old_or_was_not_good_is_not_recent() -> None:
    now = int(time.time())
    line = msgspec.json.decode(
        b'{"url":"https://a.example/","at":%d,"known":{"status":200}}' % now, type=KnownLine
    )
    assert known_pages.is_good_since(line, now - 1)
    assert not known_pages.is_good_since(line, now + 1)
    for known in (b'{"status":404}', b'{"error":"timeout"}', b'{"status":200,"error":"parse"}'):
        bad = msgspec.structs.replace(line, known=msgspec.json.decode(known, type=type(line.known)))
        assert not known_pages.is_good_since(bad, now - 1)
