"""Tests of `gossamer try`: the function that reads a page, its requests, and the crawl's decision on each
link."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.bookshop import SITE, Bookshop
from gossamer.cli.commands import run
from support.answers import answering


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with answering(Bookshop) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def site(tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "books.py"
    path.write_text(SITE.format(host=shop.partition("://")[2]))
    return path


def tried(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["try", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_links_have_the_decision_of_the_crawl(
    site: Path, shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tried(capsys, f"{shop}/", "--site", "books.py")
    assert (found["site"], found["function"]) == ("books", "listing")
    followed = {one["url"] for one in found["requests"] if one["followed"]}
    assert followed == {f"{shop}/book-{n}/index.html" for n in range(6)} | {f"{shop}/page-2.html"}
    reasons = {one["url"]: one["reason"] for one in found["links"] if not one["followed"]}
    assert reasons.pop("https://other.example/") == reasons.pop(f"{shop}/secret/x") == "not yielded"
    assert reasons.pop(f"{shop}/nf") == "nofollow"
    assert set(reasons.values()) == {"not yielded"}  # the function does not yield the links to the shelves
    assert found["skipped"] == {"scope": 1, "robots": 1, "nofollow": 1}
    assert run(["crawl", "books.py", "--delay", "0", "--pages", "pages.jsonl", "--quiet"]) == 0
    crawled = {json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()}
    assert followed <= crawled


def test_a_request_names_its_function_and_its_carry(
    site: Path, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = {one["url"]: one for one in tried(capsys, f"{shop}/", "--site", "books.py")["requests"]}
    first = requests[f"{shop}/book-0/index.html"]
    assert (first["use"], first["read_by"], first["carry"]) == ("book", "book", {"shelf": "Books"})
    assert requests[f"{shop}/page-2.html"]["read_by"] == "listing"
    outside = requests["https://other.example/x"]
    host = shop.partition("://")[2]
    assert (outside["reason"], outside["rule"]) == ("scope", f"--scope host: other.example is not in {host}")
    assert "line 5, 'Disallow: /secret/'" in requests[f"{shop}/secret/z"]["rule"]


def test_without_a_site_the_links_of_the_host_are_followed(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    links = {one["url"]: one["reason"] for one in tried(capsys, f"{shop}/")["links"]}
    assert (links[f"{shop}/shelf/1"], links["https://other.example/"]) == ("", "scope")
    assert (links[f"{shop}/secret/x"], links[f"{shop}/nf"]) == ("robots", "nofollow")


def test_use_and_carry_call_the_function(site: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = tried(
        capsys,
        f"{shop}/book-3/index.html",
        "--site",
        "books.py",
        "--use",
        "book",
        "--carry",
        '{"shelf": "A"}',
    )
    (item,) = found["items"]
    assert (item["title"], item["price"], item["shelf"]) == ("The Book of 3", 13.5, "A")
    assert (found["function"], found["carry"]) == ("book", {"shelf": "A"})
    assert tried(capsys, f"{shop}/cities", "--site", "books.py", "--use", "nothing")["function"] == "nothing"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--use", "bock"], "the page functions are book, nothing, listing"),
        (["--carry", "{shelf"], "is not JSON"),
        (["--carry", json.dumps("x" * 5000)], "more than 4096 bytes"),
    ],
)
def test_wrong_use_and_carry_are_refused_before_the_request(
    site: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["try", "http://127.0.0.1:9/", "--site", "books.py", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_function_that_yields_nothing_is_named(
    site: Path, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["try", f"{shop}/nothing", "--site", "books.py"]) == 0
    assert "nothing() yields nothing for this page: no item and no request" in capsys.readouterr().out


def test_the_tables_show_what_is_followed(site: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["try", f"{shop}/", "--site", "books.py"]) == 0
    out = capsys.readouterr().out
    assert "listing() of site books (books.py) reads this page" in out
    assert "listing() yields 0 items and 9 requests" in out
    (line,) = [line for line in out.splitlines() if line.startswith(f"{shop}/book-0/")]
    assert line.split() == [f"{shop}/book-0/index.html", "follows", "book()", '{"shelf":"Books"}']


@pytest.mark.parametrize("path", ["/secret/y", "/moved"])
def test_a_disallowed_url_names_the_line(
    shop: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = {"url": f"{shop}/secret/y", "file": f"{shop}/robots.txt", "group": "*", "line": 5}
    found = tried(capsys, f"{shop}{path}")
    assert found["robots"] == {**line, "rule": "Disallow: /secret/"}
    assert run(["try", f"{shop}{path}"]) == 0
    said = f"robots.txt disallows {shop}/secret/y: {shop}/robots.txt line 5, 'Disallow: /secret/' in the group for '*'"
    assert said in capsys.readouterr().err


def test_a_page_that_is_empty_without_scripts_names_the_browser(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tried(capsys, f"{shop}/app")["empty_without_scripts"]
    assert not tried(capsys, f"{shop}/")["empty_without_scripts"]
    assert run(["try", f"{shop}/app"]) == 0
    assert "--ladder browser" in capsys.readouterr().err


def test_a_page_of_another_host_is_named(
    site: Path, shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.write_text(SITE.format(host="a.example"))
    assert run(["try", f"{shop}/", "--site", "books.py"]) == 0
    assert f"no site takes {shop}/: look at hosts= and paths= of books (books.py)" in capsys.readouterr().out


def test_a_rejected_item_is_counted(site: Path, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    site.write_text(site.read_text().replace("title: str", "title: int"))
    assert run(["try", f"{shop}/book-1/index.html", "--site", "books.py"]) == 4
    out, err = capsys.readouterr()
    assert "book() yields 0 items and 0 requests" in out
    assert "1 more item rejected" in out
    assert "title: Expected `int`, got `str`" in err


def test_a_url_without_its_path_is_completed(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(capsys, shop)["page"]["url"] == f"{shop}/"


@pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("CI") != "true", reason="needs chromium"
)
@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_show_writes_a_picture_before_and_after_each_step(
    site: Path, shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], browser: str
) -> None:
    if browser == "firefox" and shutil.which("firefox-esr") is None and os.environ.get("CI") != "true":
        pytest.skip("needs firefox-esr")
    steps = "[{'hover': 'a[href=\"/nf\"]'}, {'click': '#no'}]"
    text = site.read_text().replace(
        ", seeds=", f", browser='{browser}', render={{'steps': {steps}}}, seeds=", 1
    )
    site.write_text(text)
    words = ["try", f"{shop}/", "--site", "books.py", "--ladder", "browser", "--show", "-s", "timeout=6"]
    assert run(words) == 9
    said = capsys.readouterr().err
    assert f'step 2 of 2 (click #no): the page has no #no; the page is {shop}/ "' in said
    folder = tmp_path.resolve() / ".gossamer" / "try" / "steps"
    names = ["01-hover-before", "01-hover-after", "02-click-before", "02-click-after"]
    for name in names:
        assert f"picture: {folder / name}.png" in said
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    site.write_text(text.replace("'#no'", "'nothing'"))
    assert run([*words[:4], "--ladder", "plain", "--show"]) == 0
    assert "no pictures: the page was not loaded by a browser" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
