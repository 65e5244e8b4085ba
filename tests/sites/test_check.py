"""Tests of the commands `check` and `new`: saved pages and the results expected from them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gossamer import url as urls
from gossamer.errors import ConfigError, UsageError
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.sites.check import check, read_saved_page
from gossamer.sites.failed_pages import MAX_PAGE_BYTES, FailedPages, failure_reasons
from gossamer.sites.loading import load
from gossamer.sites.new import new

SITE = """from decimal import Decimal
from gossamer import Item, Site
site = Site("shop", hosts=["a.example"])
class Book(Item, key="title"):
    title: str
    price: Decimal | None
@site.page()
def book(page):
    yield Book(title=page.css("h1::text").get(), price=page.price(".price"))
"""


def shop(
    folder: Path, html: str = "<h1>One</h1><p class=price>&pound;1.50", url: str = "https://a.example/1"
) -> Path:
    file = folder / "shop.py"
    file.write_text(SITE)
    for name in ("pages", "expected"):
        (folder / "shop" / name).mkdir(parents=True, exist_ok=True)
    (folder / "shop" / "pages" / "one.html").write_text(html)
    (folder / "shop" / "pages" / "one.json").write_text(json.dumps({"url": url}))
    (folder / "shop" / "expected" / "one.json").write_text(
        '[{"_kind": "book", "title": "One", "price": 1.50}]'
    )
    return file


def test_what_is_as_expected(tmp_path: Path) -> None:
    (result,) = check(shop(tmp_path))
    assert (result.ok, result.detail) == (True, "")
    assert result.page.endswith("shop/pages/one.html")
    assert [one.ok for one in check(tmp_path)] == [True]


def test_a_difference_can_be_read(tmp_path: Path) -> None:
    (result,) = check(shop(tmp_path, "<h1>One</h1><p class=price>&pound;2.50"))
    assert not result.ok
    changed = [line for line in result.detail.splitlines() if line.startswith(("-  ", "+  "))]
    assert changed == ['-    "price": 1.50', '+    "price": 2.50']
    assert result.detail.splitlines()[:2] == ["--- expected", "+++ found"]


def test_what_is_missing_or_broken_is_said_and_the_rest_is_checked(tmp_path: Path) -> None:
    file, own = shop(tmp_path), tmp_path / "shop"
    for name, meta, expected in (
        ("bad_meta", "{", "[]"),
        ("no_url", "{}", "[]"),
        ("no_meta", None, "[]"),
        ("no_expected", '{"url": "https://a.example/"}', None),
        ("bad_expected", '{"url": "https://a.example/"}', "["),
        ("stranger", '{"url": "https://b.example/"}', "[]"),
    ):
        (own / "pages" / f"{name}.html").write_text("<h1>T</h1>")
        if meta is not None:
            (own / "pages" / f"{name}.json").write_text(meta)
        if expected is not None:
            (own / "expected" / f"{name}.json").write_text(expected)
    (own / "expected" / "orphan.json").write_text("[]")
    results = {Path(one.page).stem: one for one in check(file)}
    assert {name for name, one in results.items() if one.ok} == {"one"}
    assert "bad_meta.json" in results["bad_meta"].detail
    assert "`url`" in results["no_url"].detail
    assert "write {" in results["no_meta"].detail
    assert "is missing: the items are [" in results["no_expected"].detail
    assert '"title": "T"' in results["no_expected"].detail
    assert "bad_expected.json" in results["bad_expected"].detail
    assert "takes https://b.example/" in results["stranger"].detail
    assert "orphan.html is missing" in results["orphan"].detail


def test_a_function_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    file = shop(tmp_path)
    file.write_text(SITE.replace('page.css("h1::text").get()', "1 / 0"))
    (result,) = check(file)
    assert result.detail.startswith("shop.py:9 in book: ZeroDivisionError")


def test_pages_that_a_crawl_kept_are_read_again(tmp_path: Path) -> None:
    file, kept = shop(tmp_path), tmp_path / "failed"
    failed = FailedPages(kept)
    for n in (1, 2):
        failed.keep(
            page(url=f"https://a.example/{n}"),
            Request("https://a.example/"),
            "shop: shop.py:9 in book: KeyError",
        )
    failed.keep(page(b"<h1>", url="https://a.example/3"), Request("https://a.example/"), "another")
    (kept / "odd.json").write_text("{")
    assert failure_reasons(kept) == [
        ("shop: shop.py:9 in book: KeyError", 2, failure_reasons(kept)[0][2]),
        ("another", 1, "https://a.example/3"),
    ]
    assert failure_reasons(kept, since=time.time() + 9) == failure_reasons(tmp_path / "nowhere") == []
    results = check(file, kept)
    assert sorted(result.ok for result in results) == [False, True, True]
    assert "title: Expected `str`, got `null`" in next(result.detail for result in results if not result.ok)
    assert sum('"title": " Kettle "' in result.detail for result in results) == 2
    file.write_text(SITE.replace('page.css("h1::text").get()', "1 / 0"))
    one = next(kept.glob("*.html"))
    assert [(result.page, result.ok) for result in check(file, one)] == [(str(one), False)]
    assert "shop.py:9 in book: ZeroDivisionError" in check(file, one)[0].detail
    with pytest.raises(ConfigError, match="no saved pages there"):
        check(file, tmp_path / "nowhere")


def test_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SITE)
    with pytest.raises(ConfigError, match="no saved pages"):
        check(tmp_path / "a.py")


HTML = b"""<title>Kettle | Shop</title><meta name=description content="A kettle."><h1> Kettle </h1><p class=price>12.00 &euro;</p>
<a href="/2">2</a>"""


def page(
    body: bytes = HTML, kind: str = "text/html; charset=utf-8", url: str = "https://a.example/kettle"
) -> Page:
    return Page(url, 200, [("content-type", kind)], body, 0.0, 0.0, len(body))


def test_a_new_site_passes_its_own_check(tmp_path: Path) -> None:
    files = new("kettles", "https://a.example/kettle", page(), tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in files] == [
        "kettles.py",
        "kettles/pages/first.html",
        "kettles/pages/first.json",
        "kettles/expected/first.json",
    ]
    assert [one.ok for one in check(tmp_path / "kettles.py")] == [True]
    (item,) = json.loads(files[3].read_text())
    assert (item["url"], item["title"], item["price"]) == ("https://a.example/kettle", "Kettle", 12.0)
    assert read_saved_page(files[1])[0].body == HTML


@pytest.mark.parametrize(
    "one",
    [
        page(b""),
        page(b"\xff\xfe\x00", "text/html"),
        page(b'{"a": 1}', "application/json"),
        page(b"<p>"),
        page(
            "<title>é\"'\\{}</title>".encode("latin-1"),
            "text/html; charset=latin-1",
            "https://a.example/%22%7B?q='\"",
        ),
        page(b"<h1>T</h1>", url="http://127.0.0.1:8080/"),
        page(b"<h1>T</h1>", url="http://[::1]/"),
    ],
)
def test_any_page_makes_a_site(tmp_path: Path, one: Page) -> None:
    new("odd", one.url, one, tmp_path)
    assert [(result.ok, result.detail) for result in check(tmp_path / "odd.py")] == [(True, "")]


@pytest.mark.parametrize("there", ["kettles.py", "kettles/pages/first.html", "kettles/expected/first.json"])
def test_nothing_is_overwritten(tmp_path: Path, there: str) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    with pytest.raises(ConfigError, match="is there already"):
        new("kettles", "https://a.example/", page(), tmp_path)
    assert (tmp_path / there).read_text() == "mine"
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [tmp_path / there]


@pytest.mark.parametrize("name", ["", "a/b", "../x", "1a", "a b", "a-b", "ä"])
def test_bad_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        new(name, "https://a.example/", page(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_failed_pages_are_kept_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.sites.failed_pages.MAX_PAGES", 3)
    failed = FailedPages(tmp_path / "failed")
    for n in (0, 0, 1, 2, 3, 4):
        failed.keep(
            page(url=f"https://a.example/../{n}"),
            Request("https://a.example/", use="book", carry={"n": n}),
            "why",
        )
    failed.keep(page(b"x" * (MAX_PAGE_BYTES + 1)), Request("https://a.example/"), "why")
    kept = sorted((tmp_path / "failed").glob("*.html"))
    assert len(kept) == 3
    assert len(list((tmp_path / "failed").iterdir())) == 6
    metas = [read_saved_page(file)[1] for file in kept]
    assert {(meta.use, meta.why) for meta in metas} == {("book", "why")}
    assert sorted(meta.carry["n"] for meta in metas) == [0, 1, 2]
    failed.keep(
        page(b"new", url="https://a.example/../0"), Request("https://a.example/"), "again"
    )  # the newest page of a URL replaces the older one
    assert [read_saved_page(file)[1].why for file in kept].count("again") == 1


def test_a_folder_that_cannot_be_made_stops_no_crawl(tmp_path: Path) -> None:
    (tmp_path / "failed").write_text("a file")
    FailedPages(tmp_path / "failed").keep(page(), Request("https://a.example/"), "why")


@pytest.mark.parametrize(
    "url",
    ['http://"""+open("ran","w")+"""/', 'http://example.com/"];open("ran","w");["', "http://example.com/\\"],
)
def test_new_writes_no_code_that_a_url_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    new(
        "shop",
        url,
        Page(urls.parse(url) or url, 200, [("content-type", "text/html")], b"<title>t</title>", 0.0, 0.0, 16),
    )
    assert not (tmp_path / "ran").exists()
    (loaded,) = load(tmp_path / "shop.py")
    assert loaded.site.hosts == (urls.host(urls.parse(url) or url),)
