# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of output options: a single kind, chosen columns, JSON arrays, Excel, CSV on standard output, and
placeholders in names."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from pyarrow.parquet import ParquetDataset

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from support.answers import answering

SITE = """
from decimal import Decimal
from gossamer import Item, Site


{more}
site = Site("books", seeds=["{web}/0"], pace="1ms")
LAST = {last}


@site.page()
def read(page):
    n = int(page.url.rpartition("/")[2])
    {value}
    if n < LAST:
        yield page.request(f"/{{n + 1}}")
"""
BOOK = 'yield Book(title=f"Book {n}", price=Decimal(n) / 4)'
LOOSE = 'yield {"title": f"Book {n}", "price": n / 4}'
BOTH = BOOK + "\n    yield Shelf(name=f'Shelf {n}')"
BOOK_CLASS = """class Book(Item):
    title: str
    price: Decimal
"""
SHELF = """class Shelf(Item):
    name: str
"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web() -> Iterator[str]:
    with answering(Shop) as port:
        yield f"http://127.0.0.1:{port}"


def write(room: Path, web: str, value: str = BOOK, last: int = 9, name: str = "books") -> None:
    more = BOOK_CLASS * ("Book(" in value) + SHELF * ("Shelf(" in value)
    text = SITE.format(web=web, value=value, last=last, more=more).replace('"books"', f'"{name}"')
    (room / f"{name}.py").write_text(text)


def crawl(room: Path, *words: str, code: int = 0, name: str = "books", error: bool = False) -> str:
    """Returns the standard output, or the standard error if the crawl fails or `error` is true."""
    got, out, err = gossamer(room, "crawl", f"{name}.py", *words)
    assert got == code, err
    return out if code == 0 and not error else err


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


TITLES = [f"Book {n}" for n in range(10)]


@pytest.mark.parametrize("value", [BOOK, LOOSE], ids=["declared", "untyped"])
def test_one_kind_is_read_at_the_name_that_was_given(room: Path, web: str, value: str) -> None:
    write(room, web, value)
    crawl(room, "-o", "books.csv", "--limit", "4")
    crawl(room, "-o", "books.csv")
    assert [row["title"] for row in table(room / "books.csv")] == TITLES
    (own,) = (path for path in room.glob("books.*.csv"))
    assert table(own) == table(room / "books.csv")
    _, out, _ = gossamer(room, "items", "books", "--json")
    assert len(out.splitlines()) == 10, "nothing is read twice"


def test_several_kinds_have_a_file_each_and_no_link(room: Path, web: str) -> None:
    write(room, web, BOOK)
    crawl(room, "-o", "books.csv", "--limit", "3")
    assert (room / "books.csv").is_symlink()
    write(room, web, BOTH)
    crawl(room, "-o", "books.csv")
    assert sorted(path.name for path in room.glob("books*.csv")) == ["books.book.csv", "books.shelf.csv"]


def test_a_file_of_the_given_name_is_never_touched(room: Path, web: str) -> None:
    write(room, web)
    (room / "books.csv").write_text("mine\n")
    assert "stays as it is; the rows are in books.book.csv" in crawl(room, "-o", "books.csv", error=True)
    assert (room / "books.csv").read_text() == "mine\n"
    assert len(table(room / "books.book.csv")) == 10


def test_two_site_files_of_one_name_share_no_crawl(room: Path, web: str) -> None:
    for folder in ("a", "b"):
        (room / folder).mkdir()
        write(room / folder, web, LOOSE.replace("Book", folder))
    crawl(room, "-o", "rows.jsonl", "--limit", "2", name="a/books")
    assert "are two sites called books" in crawl(room, "-o", "rows.jsonl", code=4, name="b/books")
    crawl(room, "-o", "others.jsonl", "--limit", "2", "--name", "others", name="b/books")
    write(room / "a", web, LOOSE.replace("Book", "changed"))
    crawl(room, "-o", "rows.jsonl", "--limit", "3", name="a/books")
    (room / "a").rename(room / "moved")
    crawl(room, "-o", "rows.jsonl", "--limit", "4", name="moved/books")
    rows = [json.loads(line)["title"] for line in (room / "rows.jsonl").read_text().splitlines()]
    assert rows == ["a 0", "a 1", "changed 2", "changed 3"]


@pytest.mark.parametrize("value", [BOOK, LOOSE], ids=["declared", "untyped"])
def test_columns_are_chosen(room: Path, web: str, value: str) -> None:
    write(room, web, value)
    outputs = [
        "named.csv?columns=price,title,_url",
        "own.csv?columns=*",
        "named.jsonl?columns=price,title",
        "own.json?columns=*,_kind",
        "named.parquet?columns=price,title",
    ]
    crawl(room, *(word for one in outputs for word in ("-o", one)))
    assert list(table(room / "named.csv")[0]) == ["price", "title", "_url"]
    assert [name for name in table(room / "own.csv")[0] if name != "_extra"] == ["title", "price"]
    parts = ParquetDataset(str(next(room.glob("named.*.parquet"))))
    for row in parts.read().to_pylist():
        extra = json.loads(row.pop("_extra") or "{}")
        assert {*extra, *(name for name in row if row[name] is not None)} == {"price", "title"}
    rows = [json.loads(line) for line in (room / "named.jsonl").read_text().splitlines()]
    assert {tuple(row) for row in rows} == {("price", "title")}
    assert {tuple(row) for row in json.loads((room / "own.json").read_text())} == {
        ("title", "price", "_kind")
    }
    _, out, _ = gossamer(room, "items", "books", "--json")
    assert "_seen_at" in json.loads(out.splitlines()[0]), "the crawl keeps all columns"


@pytest.mark.parametrize("keep", ["1M", "off"])
@pytest.mark.parametrize("ended", [False, True])
def test_a_parquet_part_that_a_user_deleted_is_written_again_or_named(
    room: Path, web: str, keep: str, ended: bool
) -> None:
    write(room, web)
    words = ("-o", "books.parquet", "--keep", keep)
    for limit in ("3", "6", *(["8"] if not ended else [])):
        crawl(room, *words, "--limit", limit)
    if ended:
        crawl(room, *words)
    lost = sorted((room / "books.book.parquet").glob("part-*"))[1]
    lost.unlink()
    said = crawl(room, *words, code=20 if keep == "off" else 0, error=True)
    (line,) = (line for line in said.splitlines() if lost.name in line)
    assert f"{lost.name} is missing" in line
    if keep != "off":
        rows = ParquetDataset(str(room / "books.book.parquet")).read().to_pylist()
        assert [row["title"] for row in rows] == TITLES


def test_mistakes_in_outputs_are_named(room: Path, web: str) -> None:
    write(room, web)
    for output, reason in {
        "a.csv?columns=tilte": "did you mean title?",
        "a.csv?columns=": "columns= names fields",
        "a.csv?columns=title,title": "columns= names fields",
        "a.csv?colums=title": "parameters are columns=NAME,NAME, guard=no and bom=yes",
        "a.sqlite?columns=title": "columns can be chosen for",
        "postgresql://h/db?columns=title": "columns can be chosen for",
        "valkey://h/0?hash=x&columns=title": "columns can be chosen for",
        "-{day}.csv": "there is no name {day}; there are {date}, {crawl}, {site}",
        "-:xlsx": "write - or -:csv",
        "no/a.json": "does not exist; create it first",
    }.items():
        code, _, err = gossamer(room, "crawl", "books.py", "-o", output)
        assert (code, reason in err) == (2, True), (output, err)
    (room / "mine.json").write_text("{}")
    assert "not an array that gossamer wrote" in crawl(room, "-o", "mine.json", code=2)
    (room / "mine.jsonl").write_text("mine\n")
    assert "does not contain JSON lines" in crawl(room, "-o", "mine.jsonl", code=2)
    (room / "mine.jsonl").write_text('{"id": 1}\n')
    assert "rows that gossamer did not write (with id)" in crawl(room, "-o", "mine.jsonl", error=True)
    assert "did not write" not in crawl(room, "-o", "mine.jsonl", "--name", "other", error=True)
    (room / "mine.xlsx").write_bytes(b"mine")
    assert "rows cannot be added to it" in crawl(room, "-o", "mine.xlsx", code=2)
    assert (room / "mine.xlsx").read_bytes() == b"mine"


def test_a_json_array_is_whole_whenever_no_run_writes_it(room: Path, web: str) -> None:
    write(room, web)
    for limit in ("1", "4", "7"):
        crawl(room, "-o", "books.json", "--limit", limit)
        assert [row["title"] for row in json.loads((room / "books.json").read_text())] == TITLES[: int(limit)]
    crawl(room, "-o", "books.json")
    assert [row["title"] for row in json.loads((room / "books.json").read_text())] == TITLES
    crawl(room, "-o", "books.json", "--name", "again")
    assert [row["title"] for row in json.loads((room / "books.json").read_text())] == TITLES * 2, "-o appends"
    crawl(room, "-O", "books.json", "--name", "other")
    assert [row["title"] for row in json.loads((room / "books.json").read_text())] == TITLES
    write(room, web, "pass", 0, "empty")
    crawl(room, "-o", "empty.json", name="empty")
    assert json.loads((room / "empty.json").read_text()) == []


def test_excel(room: Path, web: str) -> None:
    write(room, web, BOTH)
    crawl(room, "-o", "books.xlsx", "--limit", "4")
    assert len(sheets(room / "books.xlsx")["book"]) == 5
    crawl(room, "-o", "books.xlsx")
    found = sheets(room / "books.xlsx")
    assert list(found) == ["book", "shelf"]
    assert found["book"][0][:2] == ["title", "price"]
    assert found["book"][0][2] == "_url"
    assert [row[:2] for row in found["book"][1:]] == [[f"Book {n}", f"{n / 4:g}"] for n in range(10)]
    assert [row[0] for row in found["shelf"][1:]] == [f"Shelf {n}" for n in range(10)]


def test_excel_holds_odd_values(room: Path, web: str) -> None:
    value = (
        'yield {"title": "=1+1", "long": "x" * 40_000, "big": 12345678901234567890, "bad": "a\\x00b",  "flag": True, "list": [1, 2],'
        ' "link": "https://a.example/" + "y" * 3000, "none": None}'
    )
    write(room, web, value, 0)
    _, _, err = gossamer(room, "crawl", "books.py", "-o", "books.xlsx")
    assert "1 texts are cut" in err
    head, row = sheets(room / "books.xlsx")["item"]
    cells = dict(zip(head, row, strict=False))
    assert cells["title"] == "=1+1"
    assert (cells["big"], cells["flag"], cells["list"]) == ("12345678901234567890", "1", "[1,2]")
    assert len(cells["long"]) == 32_767


def sheets(path: Path) -> dict[str, list[list[str]]]:
    """Return the sheets of a workbook, each as rows of texts."""
    names = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        titles = [
            one.attrib["name"]
            for one in ElementTree.XML(book.read("xl/workbook.xml")).iterfind(".//m:sheet", names)
        ]
        found = {}
        for number, title in enumerate(titles, 1):
            root = ElementTree.XML(book.read(f"xl/worksheets/sheet{number}.xml"))
            found[title] = [
                ["".join(cell.itertext()) for cell in row.iterfind("m:c", names)]
                for row in root.iterfind(".//m:row", names)
            ]
    return found


def test_csv_on_the_standard_output(room: Path, web: str) -> None:
    write(room, web)
    out = crawl(room, "-o", "-:csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["title"] for row in rows] == TITLES
    assert list(rows[0])[:3] == ["title", "price", "_url"]
    out = crawl(room, "-o", "-:csv?columns=price,title", "--name", "two")
    assert out.splitlines()[0] == "price,title"
    assert len(out.splitlines()) == 11
    out = crawl(room, "-o", "-?columns=title", "--name", "three")
    assert [json.loads(line) for line in out.splitlines()] == [{"title": title} for title in TITLES]
    write(room, web, LOOSE, name="loose")
    out = crawl(room, "-o", "-:csv", name="loose")
    assert [row["title"] for row in csv.DictReader(io.StringIO(out))] == TITLES


def test_names_in_outputs(room: Path, web: str) -> None:
    write(room, web)
    write(room, web.replace("127.0.0.1", "localhost"), name="more")
    (room / "sites").mkdir()
    for name in ("books", "more"):
        (room / f"{name}.py").rename(room / "sites" / f"{name}.py")
    words = ("sites/", "--name", "both", "-o", "{crawl}-{date}.jsonl", "-o", "{site}.csv", "-o", "{{x}}.json")
    code, _, err = gossamer(room, "crawl", *words, "--limit", "6")
    assert code == 0, err
    (day,) = (
        found[1]
        for path in room.iterdir()
        if (found := re.fullmatch(r"both-(\d{4}-\d\d-\d\d)\.jsonl", path.name))
    )
    crawl_file = next((room / ".gossamer/both").glob("*.json"))
    known = json.loads(crawl_file.read_text())
    assert known["date"] == day
    # simulate a crawl that started long ago
    crawl_file.write_text(json.dumps({**known, "date": "2020-02-02"}))
    (room / f"both-{day}.jsonl").rename(room / "both-2020-02-02.jsonl")
    code, _, err = gossamer(room, "crawl", *words)
    assert code == 0, err
    assert not (room / f"both-{day}.jsonl").exists(), "a crawl that is continued keeps its outputs"
    assert len((room / "both-2020-02-02.jsonl").read_text().splitlines()) == 20
    assert len(json.loads((room / "{x}.json").read_text())) == 20
    assert len(table(room / "books.csv")) == len(table(room / "more.csv")) == 10
    assert {row["_site"] for row in table(room / "more.csv")} == {"more"}
    code, _, err = gossamer(room, "crawl", *words, "--refresh")
    assert code == 0, err
    assert (room / f"both-{day}.jsonl").exists(), "a new pass has a new date"
    code, _, err = gossamer(room, "crawl", f"{web}/0", "-o", "{site}.jsonl")
    assert (code, "no site file" in err) == (2, True)


def test_the_first_run_of_a_crawl_that_keeps_no_rows_lacks_none(room: Path, web: str) -> None:
    write(room, web)
    assert "only changed rows" not in crawl(
        room, "-o", "books.csv", "--processes", "2", "-s", "keep=off", error=True
    )
