"""Tests of the files of items: files are fetched like other URLs, stored by the hash of their content, and
described by rows that join with the items."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import sqlite3
import tracemalloc
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from e2e.item_files.file_server import Web, pdf, png, serving
from e2e.item_files.file_site import SITE, balanced, item, job, lines, rows
from gossamer.app.collector_setup import rungs_for_small_requests
from gossamer.app.runner import crawl
from gossamer.errors import ConfigError, SinkError, UsageError

CAT, DOG, BOOK = png(20, 10), png(30, 30, 7), pdf("How to feed a cat", "Twice a day")


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as found:
        yield found


def shop(web: Web) -> dict[str, bytes]:
    """Set up a site of three items with a few files. Return the content of each file, keyed by its URL."""
    for name in "xy":
        web.put(f"/img/cat.png?utm_source={name}", CAT, "image/png")
    web.put("/img/dog", DOG, "application/octet-stream")
    web.put("/cat.pdf", BOOK, "text/html")  # the media type is detected from the bytes
    web.put(
        "/", item("a", "img/cat.png?utm_source=x", "/img/dog", manual="cat.pdf") + "<a class=next href=/2>"
    )
    web.put("/2", item("b", "/img/cat.png?utm_source=y", manual="/cat.pdf#page=2") + item("c", maker="Brand"))
    return {f"{web.url}/img/cat.png": CAT, f"{web.url}/img/dog": DOG, f"{web.url}/cat.pdf": BOOK}


async def test_each_file_is_fetched_once_wherever_it_lies_and_kept_by_its_hash(
    web: Web, tmp_path: Path
) -> None:
    there = shop(web)
    with serving() as other:
        far = other.put("/far.png", DOG, "image/png")
        web.put("/2", item("b", "/img/cat.png?utm_source=y", far, manual="/cat.pdf"))
        one = job(web, tmp_path, "out.jsonl", pages=str(tmp_path / "pages.jsonl"), allow_port=(other.port,))
        summary = balanced(await crawl(one))
    there[far] = DOG
    assert (summary.state, summary.items, summary.pages, summary.files, summary.dead) == (
        "finished",
        4,
        6,
        4,
        0,
    )
    asked = (
        sum(n for path, n in web.asked.items() if "cat.png" in path),
        web.asked["/img/dog"],
        web.asked["/cat.pdf"],
    )
    assert asked == (1, 1, 1)
    assert_kept(tmp_path, there)
    products = rows(tmp_path / "out.jsonl", "product")
    assert products["a"]["photos"] == [f"{web.url}/img/cat.png", f"{web.url}/img/dog"]
    assert products["b"]["manual"] == f"{web.url}/cat.pdf"
    records = {row["requested_url"]: row for row in lines(tmp_path / "pages.jsonl")}
    assert (len(records), records[far]["content_type"]) == (6, "image/png")


def assert_kept(folder: Path, there: dict[str, bytes]) -> None:
    """Assert that each file has its row and its bytes, that equal contents are stored once, and that no
    stored file has a name from the web."""
    files, kept = rows(folder / "out.jsonl", "file"), folder / "data" / "shop" / "files"
    assert files.keys() == there.keys()
    for url, body in there.items():
        name, row = sha256(body).hexdigest(), files[url]
        kind = "application/pdf" if body is BOOK else "image/png"
        told = (
            row["media_type"],
            row["sha256"],
            row["bytes"],
            row["path"],
            row["status"],
            row["error"],
            row["_site"],
        )
        assert told == (kind, name, len(body), f"{name[:2]}/{name}", 200, None, "shop")
        assert (kept / row["path"]).read_bytes() == body
        assert (row["width"], row["height"]) == {CAT: (20, 10), DOG: (30, 30), BOOK: (None, None)}[body]
        assert row["text"] == ("How to feed a cat\n\nTwice a day" if body is BOOK else None)
    assert {path.name for path in kept.rglob("*") if path.is_file()} == {
        sha256(body).hexdigest() for body in there.values()
    }


async def test_what_an_item_names_that_is_dropped_is_neither_asked_for_nor_told(
    web: Web, tmp_path: Path
) -> None:
    shop(web)
    web.put(
        "/2",
        item("b", "/img/dog", "/img/cat.png?utm_source=y", manual="/no")
        + item("c", "img/dog", maker="Brand"),
    )
    web.put("/", item("a", "img/cat.png?utm_source=x", "mailto:x") + "<a class=next href=/2>")
    once = SITE.replace("site = Site(", "from gossamer.items import alike\n\nsite = Site(").replace(
        'seeds=["{url}/"]', 'seeds=["{url}/"], steps=(alike("maker", near=False, drop=True),)'
    )
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", site=once)))
    assert (summary.dropped, summary.files, summary.skipped) == (1, 2, {"filter": 1})
    out = tmp_path / "out.jsonl"
    assert (rows(out, "product").keys(), web.asked["/no"]) == ({"a", "c"}, 0)
    assert rows(out, "file").keys() == {f"{web.url}/img/cat.png", f"{web.url}/img/dog"}
    told = {(row["key"], row["field"], row["error"]) for row in lines(out) if row["_kind"] == "reference"}
    assert told == {
        ("a", "photos", None),
        ("a", "photos", "filter"),
        ("a", "maker", None),
        ("c", "photos", None),
        ("c", "maker", None),
    }


async def test_files_and_items_are_tables_that_join(web: Web, tmp_path: Path) -> None:
    shop(web)
    await crawl(job(web, tmp_path, "out.sqlite", "out.csv", "out.parquet"))
    with sqlite3.connect(tmp_path / "out.sqlite") as base:
        joined = base.execute(
            "SELECT p.sku, r.field, r.position, f.sha256 FROM product p"
            " JOIN reference r ON r.kind = 'product' AND r.key = p._key AND r.version = p._hash"
            " JOIN file f ON r.to_kind = 'file' AND f.url = r.to_key ORDER BY 1, 2, 3"
        ).fetchall()
        makers = base.execute(
            "SELECT m.name, count(*) FROM maker m JOIN reference r ON r.to_kind = 'maker' AND r.to_key = m._key GROUP BY 1"
        ).fetchall()
    base.close()
    cat, dog, book = (sha256(one).hexdigest() for one in (CAT, DOG, BOOK))
    assert joined == [
        ("a", "manual", 0, book),
        ("a", "photos", 0, cat),
        ("a", "photos", 1, dog),
        ("b", "manual", 0, book),
        ("b", "photos", 0, cat),
    ]
    assert sorted(makers) == [("Brand", 1), ("Mott", 2)]
    found = await asyncio.to_thread(lambda: {path.name for path in tmp_path.glob("out.*.*")})
    assert found == {
        f"out.{kind}.{form}"
        for kind in ("maker", "product", "file", "reference")
        for form in ("csv", "parquet")
    }


def endless(first: bytes) -> Iterator[bytes]:
    return itertools.chain([first], itertools.repeat(bytes(64 << 10)))


async def test_what_is_refused_is_told_and_no_item_is_lost(web: Web, tmp_path: Path) -> None:
    large = BOOK + bytes(300 << 10)
    web.put("/robots.txt", "User-agent: *\nDisallow: /shut/", "text/plain")
    web.put("/lies.png", "<html>log in", "image/png")
    web.put("/tiny.png", png(1, 1), "image/png")
    web.put("/empty.png", b"", "image/png")
    web.put("/large.pdf", large, "application/pdf")
    web.put("/packed.pdf", gzip.compress(bytes(50 << 20)), "application/pdf", Content_Encoding="gzip")
    web.there["/endless.pdf"] = lambda: (200, {"Content-Type": "application/pdf"}, endless(b"%PDF-1.4\n"))
    web.there["/page.pdf"] = lambda: (
        200,
        {"Content-Type": "application/pdf"},
        endless(b"<html>" + bytes(10)),
    )
    web.there["/to"] = (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b"")
    photos = [
        "/lies.png",
        "/tiny.png",
        "/empty.png",
        "/none.png",
        "/shut/a.png",
        "data:image/png;base64,AAAA",
        "javascript:alert(1)",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/x%00y/..;/a.png",
        "http://10.0.0.1/a.png",
        "/to",
        "ftp://h/x.png",
    ]
    html = item("a", *photos, manual="/large.pdf")
    web.put(
        "/",
        html
        + item("b", manual="/endless.pdf")
        + item("c", manual="/page.pdf")
        + item("d", manual="/packed.pdf"),
    )
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl")))
    assert (summary.state, summary.items, summary.files, summary.rejected) == ("finished", 8, 0, 0)
    assert rows(tmp_path / "out.jsonl", "product").keys() == {"a", "b", "c", "d"}
    files = {url.removeprefix(web.url): row for url, row in rows(tmp_path / "out.jsonl", "file").items()}
    assert {url: row["error"] for url, row in files.items()} == {
        "/lies.png": "content-type",
        "/tiny.png": "filter",
        "/empty.png": "filter",
        "/none.png": "http-4xx",
        "/shut/a.png": "robots",
        "/etc/passwd": "http-4xx",
        "/x%00y/..;/a.png": "http-4xx",
        "http://10.0.0.1/a.png": "private",
        "/to": "private",
        "/large.pdf": "too-large",
        "/endless.pdf": "too-large",
        "/page.pdf": "content-type",
        "/packed.pdf": "too-large",
    }
    assert all(row["path"] is None for row in files.values())
    assert files["/tiny.png"]["detail"] == "it has 1x1 pixels"
    refused = {
        row["to_key"]: row["error"]
        for row in rows(tmp_path / "out.jsonl", "reference").values()
        if row["error"]
    }
    assert refused == dict.fromkeys(
        ["data:image/png;base64,AAAA", "javascript:alert(1)", "ftp://h/x.png"], "filter"
    )
    assert not await asyncio.to_thread((tmp_path / "data" / "shop" / "files").exists)


async def test_ten_thousand_files_of_one_item_are_bounded_and_counted(web: Web, tmp_path: Path) -> None:
    names = [f"/{n}.png" for n in range(10_000)]
    for name in names[:100]:
        web.put(name, DOG, "image/png")
    web.put("/", item("a", *names))
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl")))
    product = rows(tmp_path / "out.jsonl", "product")["a"]
    assert len(product["photos"]) == 10_000
    assert (summary.pages, summary.files, summary.skipped) == (101, 100, {"trap": 9900})
    assert len(rows(tmp_path / "out.jsonl", "file")) == 100


async def test_two_rules_of_one_url_are_two_files(web: Web, tmp_path: Path) -> None:
    web.put("/a", CAT, "image/png")
    web.put("/", item("a", "/a", manual="/a"))
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", "out.sqlite")))
    found = [(row["error"], row["limits"]) for row in lines(tmp_path / "out.jsonl") if row["_kind"] == "file"]
    assert sorted(found, key=str) == [
        ("content-type", "application/pdf, 204800 bytes, text"),
        (None, "image/*, 10x0 pixels"),
    ]
    assert (summary.files, summary.skipped, web.asked["/a"]) == (1, {"content-type": 1}, 2)


async def test_several_urls_that_lead_to_one_file_have_a_row_each(web: Web, tmp_path: Path) -> None:
    web.put("/end.png", CAT, "image/png")
    for name in ("/1.png", "/2.png"):
        web.there[name] = (302, {"Location": "/end.png"}, b"")
    web.put("/", item("a", "/1.png", "/2.png", "/end.png"))
    balanced(await crawl(job(web, tmp_path, "out.jsonl")))
    files = rows(tmp_path / "out.jsonl", "file")
    assert files.keys() == {f"{web.url}/{name}.png" for name in ("1", "2", "end")}
    assert {row["sha256"] for row in files.values()} == {sha256(CAT).hexdigest()}


async def test_a_large_file_is_not_held_in_memory(web: Web, tmp_path: Path) -> None:
    size = 48 << 20
    piece = bytes(1 << 20)

    def body() -> Iterator[bytes]:
        yield b"%PDF-1.4\n"
        yield from itertools.repeat(piece, size >> 20)

    web.there["/big.pdf"] = lambda: (200, {"Content-Type": "application/pdf"}, body())
    web.put("/", item("a", manual="/big.pdf"))
    one = job(web, tmp_path, "out.jsonl", site=SITE.replace('size="200k", text=True', 'size="64M"'))
    tracemalloc.start()
    try:
        balanced(await crawl(one))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (row,) = rows(tmp_path / "out.jsonl", "file").values()
    assert (row["bytes"], row["error"]) == (size + 9, None)
    assert (
        await asyncio.to_thread((tmp_path / "data" / "shop" / "files" / row["path"]).stat)
    ).st_size == size + 9
    assert peak < size / 2


async def test_a_pass_asks_for_files_again_and_keeps_what_they_were(web: Web, tmp_path: Path) -> None:
    web.put("/same.png", CAT, "image/png", ETag='"1"')
    web.put("/new.png", CAT, "image/png")
    web.put("/gone.png", DOG, "image/png")
    web.put("/", item("a", "/same.png", "/new.png", "/gone.png"))
    one = job(web, tmp_path, "out.sqlite")
    assert (await crawl(one)).files == 3
    web.put("/new.png", DOG, "image/png")
    del web.there["/gone.png"]
    summary = balanced(await crawl(msgspec.structs.replace(one, refresh=True)))
    assert (summary.files, summary.unchanged, summary.gone) == (1, 2, 1)
    with sqlite3.connect(tmp_path / "out.sqlite") as base:
        found = base.execute("SELECT url, sha256, _deleted_at IS NOT NULL FROM file ORDER BY url").fetchall()
        before = base.execute(
            "SELECT json_extract(_data, '$.sha256') FROM _history WHERE _kind = 'file' ORDER BY _key"
        ).fetchall()
    base.close()
    cat, dog = sha256(CAT).hexdigest(), sha256(DOG).hexdigest()
    assert found == [
        (f"{web.url}/gone.png", None, 1),
        (f"{web.url}/new.png", dog, 0),
        (f"{web.url}/same.png", cat, 0),
    ]
    assert sorted(before) == sorted([(dog,), (cat,)])


@pytest.mark.parametrize("ladder", [("impersonated",), ("browser",), ("unlocker",)])
async def test_files_are_got_without_browser_and_unlocker(
    web: Web, tmp_path: Path, ladder: tuple[str, ...]
) -> None:
    assert rungs_for_small_requests(ladder) == (
        ("impersonated",) if ladder == ("impersonated",) else ("plain",)
    )
    if ladder == ("impersonated",):
        shop(web)
        summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", ladder=ladder)))
        assert (summary.files, summary.state) == (3, "finished")
        assert {row["path"] is None for row in rows(tmp_path / "out.jsonl", "file").values()} == {False}


async def test_what_cannot_be_meant_is_told_before_anything_is_fetched(web: Web, tmp_path: Path) -> None:
    for where in ("ftp://x", "s3://", "gs:///x"):
        with pytest.raises(UsageError, match=f"--files {where}: write a folder"):
            await crawl(job(web, tmp_path, files=where))
    taken = SITE.replace("class Maker(", "class Reference(").replace("Maker", "Reference")
    with pytest.raises(ConfigError, match="may not be called Reference"):
        await crawl(job(web, tmp_path, "out.jsonl", site=taken))
    with pytest.raises(ConfigError, match=r"shop.py:\d+: .*'pdf' is not a media type: write application/pdf"):
        await crawl(job(web, tmp_path, site=SITE.replace('"application/pdf"', '"pdf"')))
    assert not web.asked


async def test_a_place_that_cannot_be_written_ends_the_crawl_and_loses_nothing(
    web: Web, tmp_path: Path
) -> None:
    shop(web)
    (tmp_path / "place").write_text("no folder")
    one = job(web, tmp_path, "out.jsonl", files=str(tmp_path / "place"))
    with pytest.raises(SinkError, match="place"):
        await crawl(one)
    (tmp_path / "place").unlink()
    summary = balanced(await crawl(one))
    assert (summary.state, summary.items, summary.files) == ("finished", 6, 3)
    assert len([row for row in lines(tmp_path / "out.jsonl") if row["_kind"] == "file"]) == 3


async def test_off_fetches_none(web: Web, tmp_path: Path) -> None:
    shop(web)
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", files="off")))
    assert (summary.items, summary.pages, summary.files) == (6, 2, 0)
    assert len(rows(tmp_path / "out.jsonl", "reference")) == 8


async def test_what_waits_is_not_fetched_once_files_are_off(web: Web, tmp_path: Path) -> None:
    shop(web)
    one = job(web, tmp_path, "out.jsonl", limit=1)
    assert (await crawl(one)).state == "limited"
    again = msgspec.structs.replace(
        one, files="off", settings=msgspec.structs.replace(one.settings, limit=None)
    )
    summary = balanced(await crawl(again))
    assert (summary.state, summary.files, summary.pages) == ("finished", 0, 2)
    assert "/img/dog" not in web.asked
