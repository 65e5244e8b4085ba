"""Tests of `gossamer new` and `gossamer check --update` as commands, on a listing, a product page and a
table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.bookshop import Bookshop
from gossamer.cli.commands import run
from support.answers import answering


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with answering(Bookshop) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_listing_gives_a_site_that_crawls_all_its_products(
    room: Path, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", f"{shop}/"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "site.py"
    assert err.splitlines() == [
        (
            "gossamer: found a listing with 6 links to detail pages (article.product_pod a), a next page (li.next a); "
            "the first is a product with title, price, currency, availability, details"
        ),
        "gossamer: next: gossamer check site.py, then gossamer crawl site.py -o site.jsonl",
    ]
    text = (room / "site.py").read_text()
    assert "    price: Decimal | None\n" in text
    assert '@site.page(r"^/book-' not in text  # path patterns contain only whole path segments
    assert 'yield from page.follow("article.product_pod a")' in text
    assert run(["check", "site.py"]) == 0
    (item,) = json.loads((room / "site" / "expected" / "detail.json").read_text())
    assert (item["title"], item["price"], item["currency"]) == ("The Book of 0", 10.5, "GBP")
    assert item["details"] == {"UPC": "a897", "Tax": "£0.00"}
    assert run(["crawl", "site.py", "--delay", "0", "-o", "books.jsonl", "--quiet"]) == 0
    rows = [json.loads(line) for line in (room / "books.jsonl").read_text().splitlines()]
    assert sorted(row["title"] for row in rows) == [f"The Book of {n}" for n in range(9)]


def test_a_product_page_with_a_name(room: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "kettle", f"{shop}/book-5/index.html", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["site"], found["kind"], found["links"]) == ("kettle", "product", None)
    assert found["fields"] == ["title", "price", "currency", "availability", "details"]
    assert run(["check", "kettle.py"]) == 0


def test_the_rows_of_a_table_become_items(room: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "cities", f"{shop}/cities"]) == 0
    assert "found a table of 2 rows: each row becomes an item" in capsys.readouterr().err
    items = json.loads((room / "cities" / "expected" / "first.json").read_text())
    assert [(one["city"], one["area_km"]) for one in items] == [("Rome", "1285"), ("Bari", "117")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shop"], "give the site's URL, too: gossamer new shop https://..."),
        (["a", "b", "c"], "give a URL, or a name and a URL"),
        (["a-b", "https://a.example/"], "a site is named with letters"),
    ],
)
def test_what_is_missing_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", *words]) == 2
    assert said in capsys.readouterr().err


def test_update_writes_the_new_items(room: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "kettle", f"{shop}/book-5/index.html"]) == 0
    expected = room / "kettle" / "expected" / "first.json"
    right = expected.read_text()
    expected.write_text(right.replace("15.50", "99"))
    capsys.readouterr()
    assert run(["check", "kettle.py"]) == 4
    out, err = capsys.readouterr()
    assert "@@ item 1 of 1: price @@" in out
    assert '-    "price": 99,' in out
    assert '+    "price": 15.50,' in out
    assert err == (
        "gossamer: if the new items are right: gossamer check kettle.py --update writes them as the expected ones\n"
    )
    assert run(["check", "kettle.py", "--update"]) == 0
    assert "updated  1 item written to kettle/expected/first.json" in capsys.readouterr().out
    assert expected.read_text() == right
    expected.unlink()
    assert run(["check", "kettle.py"]) == 4
    assert run(["check", "kettle.py", "--update"]) == 0
    assert expected.read_text() == right


def test_update_leaves_a_page_that_cannot_be_read(
    room: Path, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "kettle", f"{shop}/book-5/index.html"]) == 0
    expected = room / "kettle" / "expected" / "first.json"
    right = expected.read_text()
    site = room / "kettle.py"
    site.write_text(site.read_text().replace("url=page.url", "url=1 / 0"))
    assert run(["check", "kettle.py", "--update"]) == 4
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert expected.read_text() == right
    assert run(["check", "kettle.py", "--update", "--pages", "kettle/pages"]) == 2


def test_a_page_that_is_not_there_makes_no_site(
    room: Path, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "shop", f"{shop}/none"]) == 4
    assert f"{shop}/none: its status is 404" in capsys.readouterr().err
    assert run(["new", "shop", f"{shop}/secret/x"]) == 9
    assert "robots.txt disallows" in capsys.readouterr().err
    assert list(room.glob("*.py")) == []


@pytest.mark.parametrize(("what", "where"), [("q.py", "into q/pages;"), (".", "in the folder of each site;")])
def test_check_without_saved_pages_says_where_to_put_them(
    room: Path, what: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (room / "q.py").write_text("from gossamer import Site\nsite = Site('q', seeds=['http://a.example/'])\n")
    assert run(["check", what]) == 4
    err = capsys.readouterr().err
    assert "no saved pages: put NAME.html" in err
    assert where in err
