"""Rows as a Parquet file, through a real `gossamer serve`: the same values as in JSON, with the types of an export."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

import gossamer
from cli.command_line import PAGES
from cli.command_line import gossamer as run
from gossamer.app.query.writing import parquet_stream
from gossamer.errors import InvalidField, UsageError
from operations.conftest import server, web
from operations.service_process import Serving

__all__ = ["server", "web"]
TYPE = "application/vnd.apache.parquet"
SITE = r"""
import gossamer


class Book(gossamer.Item, key="n"):
    n: str
    pages: int
    tags: list[str]


class Shelf(gossamer.Item, key="name"):
    name: str


site = gossamer.Site("kinds", seeds=["WEB/"])


@site.page(r"/$")
def home(page):
    yield Shelf(name="all")
    yield from page.follow("a")


@site.page(r"/\d+$")
def book(page):
    n = page.url.rpartition("/")[2]
    yield Book(n=n, pages=int(n), tags=["a", n])
"""


@pytest.fixture(scope="module")
def kinds(server: Serving, web: str) -> str:
    (server.folder / "sites" / "kinds.py").write_text(SITE.replace("WEB", web))
    client = gossamer.Client(server.url)
    assert client.wait(client.start(sites=["kinds"], name="kinds").crawl, 60).state == "finished"
    return "kinds"


def test_pages_and_attempts_are_those_of_an_export(server: Serving, tmp_path: Path) -> None:
    for what, ours in (("pages", f"{tmp_path}/pages.parquet"), ("attempts", f"{tmp_path}/attempts.parquet")):
        size = gossamer.Client(server.url).export("books", ours, what)
        assert (size, Path(ours).stat().st_size) == (size, size)
        code, _, err = run(
            server.folder, "export", "books", f"{tmp_path}/theirs-{what}.parquet", "--what", what
        )
        assert code == 0, err
        mine, other = (
            pyarrow.parquet.read_table(path) for path in (ours, f"{tmp_path}/theirs-{what}.parquet")
        )
        assert mine.schema == other.schema
        assert mine.to_pylist() == other.to_pylist()
    assert mine.num_rows > PAGES


def test_items_have_types_and_one_kind(server: Serving, kinds: str, tmp_path: Path) -> None:
    client = gossamer.Client(server.url)
    file = tmp_path / "books.parquet"
    with pytest.raises(InvalidField, match="name one of book, shelf") as several:
        client.export(kinds, file)
    assert (several.value.pointer, list(tmp_path.iterdir())) == ("/kind", [])
    client.export(kinds, file, kind="book", where=["pages>=3"])
    table = pyarrow.parquet.read_table(file)
    assert [str(table.schema.field(name).type) for name in ("n", "pages")] == ["string", "int64"]
    rows = {row["n"]: row for row in table.to_pylist()}
    assert rows.keys() == {str(n) for n in range(3, PAGES)}
    assert (rows["7"]["pages"], list(rows["7"]["tags"])) == (7, ["a", "7"])
    jsonl = tmp_path / "books.jsonl"
    client.export(kinds, jsonl, kind="book")
    assert len([json.loads(line) for line in jsonl.read_text().splitlines()]) == PAGES
    with pytest.raises(UsageError, match=r"the endings are .jsonl, .csv, .parquet"):
        client.export(kinds, tmp_path / "books.xlsx")


def test_an_empty_result_is_a_file_with_columns(server: Serving, tmp_path: Path) -> None:
    gossamer.Client(server.url).export("books", tmp_path / "none.parquet", "pages", where=["status=404"])
    table = pyarrow.parquet.read_table(tmp_path / "none.parquet")
    assert (table.num_rows, "url" in table.schema.names) == (0, True)


def test_many_rows_are_streamed_in_pieces(tmp_path: Path) -> None:
    """A row group is written when 4 MiB of rows have come, so the memory does not grow with the result."""
    many = (
        {"requested_url": f"https://a.example/{n}", "url": f"https://a.example/{n}" + "x" * 200, "status": n}
        for n in range(50_000)
    )
    sizes, file = [], tmp_path / "many.parquet"
    with file.open("wb") as out:
        for piece in parquet_stream("pages", many, {}):
            sizes.append(len(piece))
            out.write(piece)
    found = pyarrow.parquet.ParquetFile(file)
    assert found.metadata.num_rows == 50_000
    assert found.metadata.num_row_groups == len(sizes) - 1 >= 3
    assert found.read(columns=["status"])["status"].to_pylist() == list(range(50_000))
