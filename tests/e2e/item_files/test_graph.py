"""Tests of links as rows: every link has a row, the rows join with the page records, and reading stored
pages again produces the same references."""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from e2e.item_files.file_server import Web, png, serving
from e2e.item_files.file_site import balanced, item, job, lines
from gossamer.app.runner import crawl
from gossamer.cli.commands import run
from gossamer.errors import ConfigError


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as found:
        yield found


def linked(web: Web) -> None:
    """Set up four pages, one of which no page links to."""
    web.put(
        "/",
        "<a href=/a>A page</a><a href='/b?utm_source=x' rel=nofollow>B</a><a href=https://far.example/x>far</a><a href=/a>again</a>",
    )
    web.put("/a", "<a href=/b>B</a><a href=/>home</a><a href=/none>gone</a>")
    web.put("/b", "<a href=/a#part>A</a><a href=mailto:x@y.example>write</a>")
    web.put("/lost", "nothing")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "sqlite"])
async def test_every_link_is_a_row_in_each_format(web: Web, tmp_path: Path, ending: str) -> None:
    import duckdb

    linked(web)
    targets = [f"{web.url}/", f"{web.url}/lost"]
    one = job(web, tmp_path, "pages.sqlite", graph=str(tmp_path / f"links.{ending}"))
    one.targets = targets
    balanced(await crawl(one))
    file = tmp_path / f"links.{ending}"
    if ending == "jsonl":
        found = [(row["source"], row["target"], row["text"], row["nofollow"]) for row in lines(file)]
    elif ending == "csv":
        with file.open(newline="", encoding="utf-8-sig") as opened:
            found = [
                (row["source"], row["target"], row["text"], row["nofollow"].lower() == "true")
                for row in csv.DictReader(opened)
            ]
    elif ending == "sqlite":
        with closing(sqlite3.connect(file)) as base:
            found = [
                (*row[:3], bool(row[3]))
                for row in base.execute("SELECT source, target, text, nofollow FROM page_link")
            ]
    else:
        found = duckdb.sql(f"SELECT source, target, text, nofollow FROM '{file}/*.parquet'").fetchall()  # noqa: S608 - a path of ours
    here = web.url
    assert sorted(found) == sorted(
        [
            (f"{here}/", f"{here}/a", "A page", False),
            (f"{here}/", f"{here}/b", "B", True),
            (f"{here}/", "https://far.example/x", "far", False),
            (f"{here}/a", f"{here}/b", "B", False),
            (f"{here}/a", f"{here}/", "home", False),
            (f"{here}/a", f"{here}/none", "gone", False),
            (f"{here}/b", f"{here}/a", "A", False),
        ]
    )


async def test_links_join_with_pages_in_one_database(web: Web, tmp_path: Path) -> None:
    linked(web)
    one = job(web, tmp_path, "pages.sqlite", graph=str(tmp_path / "links.sqlite"))
    one.targets = [f"{web.url}/", f"{web.url}/lost"]
    await crawl(one)
    with sqlite3.connect(tmp_path / "pages.sqlite") as base:
        base.execute("ATTACH ? AS l", (str(tmp_path / "links.sqlite"),))
        orphans = base.execute(
            "SELECT p.url FROM page p LEFT JOIN l.page_link k ON k.target = p._key AND k.source <> k.target WHERE k.target IS NULL"
        ).fetchall()
        broken = base.execute(
            "SELECT k.source, p.status FROM l.page_link k JOIN page p ON p._key = k.target WHERE p.status >= 400"
        ).fetchall()
        most = base.execute(
            "SELECT target, count(*) FROM l.page_link GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
        ).fetchall()
    base.close()
    assert orphans == [(f"{web.url}/lost",)]
    assert broken == [(f"{web.url}/a", 404)]
    assert most == [(f"{web.url}/a", 2)]


async def test_reading_stored_pages_again_gives_references_and_no_file(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        web.put(f"/{n}.png", png(20 + n, 20), "image/png")
    web.put("/", item("a", "/0.png", "/1.png") + item("b", "/2.png"))
    monkeypatch.chdir(tmp_path)
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", "pages.warc.gz")))
    assert (summary.files, summary.pages) == (3, 4)
    asked = web.asked.total()
    words = ["--data", str(tmp_path / "data"), "--processes", "1", "-o", str(tmp_path / "new.sqlite")]
    assert run(["reparse", "shop", *words]) == 0
    with sqlite3.connect(tmp_path / "new.sqlite") as base:
        counts = {
            kind: base.execute(f'SELECT count(*) FROM "{kind}"').fetchone()[0]  # noqa: S608 - kinds of ours
            for kind in ("product", "maker", "reference", "file")
        }
    base.close()
    assert counts == {"product": 2, "maker": 1, "reference": 5, "file": 0}
    assert web.asked.total() == asked
    assert "0 added, 0 changed, 0 removed, 3 the same" in capsys.readouterr().out


async def test_a_replayed_crawl_keeps_its_files_from_the_archive(web: Web, tmp_path: Path) -> None:
    web.put("/0.png", png(20, 20), "image/png")
    web.put("/", item("a", "/0.png"))
    one = job(web, tmp_path, "out.jsonl", "pages.warc.gz")
    await crawl(one)
    asked = web.asked.total()
    (tmp_path / "again").mkdir()
    again = job(web, tmp_path / "again", "out.jsonl", archive=str(tmp_path / "pages.warc.gz"))
    assert (await crawl(again)).files == 1
    assert web.asked.total() == asked
    hashes = [
        [row["sha256"] for row in lines(path / "out.jsonl") if row["_kind"] == "file"]
        for path in (tmp_path, tmp_path / "again")
    ]
    assert hashes[0] == hashes[1]


def test_what_is_told_of_files(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web.put("/0.png", png(20, 20), "image/png")
    web.put("/", item("a", "/0.png"))
    asyncio.run(crawl(job(web, tmp_path, "out.jsonl")))
    data = ["--data", str(tmp_path / "data")]

    def said(*words: str) -> str:
        assert run([*words, *data]) == 0
        return capsys.readouterr().out

    assert "requested as a file of an item" in said("explain", f"{web.url}/0.png", "--crawl", "shop")
    assert "1 kept" in said("status", "shop")
    assert {json.loads(line)["_kind"] for line in said("items", "shop", "--json").splitlines()} == {
        "maker",
        "product",
    }
    assert [
        json.loads(line)["bytes"] for line in said("items", "shop", "--kind", "file", "--json").splitlines()
    ] == [len(png(20, 20))]


async def test_a_fleet_needs_a_place_for_files(web: Web, tmp_path: Path) -> None:
    from gossamer.app.sink_setup import open_file_store
    from gossamer.sites import load_all

    one = job(web, tmp_path)
    reader = type("R", (), {"sites": load_all(one.targets, {}), "key": str, "rows": None, "fetches": True})()
    setup = type("S", (), {"job": one, "segment": "0123456789ab", "crawl": "c"})()
    with pytest.raises(ConfigError, match="on a fleet files need a place"):
        open_file_store(setup, reader, tmp_path, None, None)  # type: ignore[arg-type] # what it looks at
