"""Tests of targets: how the arguments of `gossamer crawl` are interpreted, and how seeds are read from
lists of every format."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gossamer.app.targets import (
    MAX_CARRY_BYTES,
    Rejected,
    SeedLine,
    Target,
    crawl_name,
    requests,
    target_kind,
)
from gossamer.errors import UsageError
from gossamer.model.request import Request


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("https://example.com", Target("url", "https://example.com/")),
        ("HTTP://Example.COM:80/a b#top", Target("url", "http://example.com/a%20b")),
        ("https://u:p@example.com/", Target("url", "https://u:p@example.com/")),
        ("example.com", Target("url", "https://example.com/")),
        ("example.com/a.b?c=d", Target("url", "https://example.com/a.b?c=d")),
        ("localhost:8000", Target("url", "https://localhost:8000/")),
        ("http://127.0.0.1:8000/", Target("url", "http://127.0.0.1:8000/")),
        ("http://[::1]:8000/x", Target("url", "http://[::1]:8000/x")),
        ("https://bücher.example/", Target("url", "https://xn--bcher-kva.example/")),
        ("sitemap:https://example.com/s.xml", Target("sitemap", "https://example.com/s.xml")),
        ("feed:https://example.com/feed", Target("feed", "https://example.com/feed")),
        ("-", Target("stdin", "-")),
    ],
)
def test_a_word_is_told_by_its_form(text: str, target: Target) -> None:
    assert target_kind(text) == target


@pytest.mark.parametrize(
    ("text", "urls", "bad"),
    [
        ("url,name\nhttps://a.example/1,first\nx,y\n", ["https://a.example/1"], [3]),
        (
            "https://a.example/a,first\nhttps://a.example/b,second\n",
            ["https://a.example/a", "https://a.example/b"],
            [],
        ),
        (
            "https://a.example/a\n# no\nhttps://a.example/b,c\n",
            ["https://a.example/a", "https://a.example/b,c"],
            [],
        ),
        (
            'n;Landing page\n1;https://a.example/1\n"2;https://a.example/2\n3;https://a.example/3\n',
            ["https://a.example/1", "https://a.example/3"],
            [3],
        ),
    ],
)
def test_a_table_is_read_by_its_column_of_urls(
    tmp_path: Path, text: str, urls: list[str], bad: list[int]
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text)
    rejected: list[Rejected] = []
    assert [one.url for one in requests(target_kind(str(path)), rejected)] == urls
    assert [(one.source, one.line) for one in rejected] == [(str(path), line) for line in bad]


def test_a_table_without_urls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("name,price\na,1\n")
    with pytest.raises(UsageError, match=r"no column url; its columns are name, price"):
        list(requests(target_kind(str(path)), []))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ftp://example.com/", "not an http(s) URL"),
        ("mailto://x", "not an http(s) URL"),
        ("https://", "not an http(s) URL"),
        ("http://exa mple.com/", "not an http(s) URL"),
        ("sitemap:s.xml", "not an http(s) URL"),
        ("feed:", "not an http(s) URL"),
        ("missing.txt", "no such file"),
        ("./missing", "no such file"),
        ("missing.py", "no such file"),
        ("word", "not a URL, file or folder"),
        ("x" * 5000, "not a URL, file or folder"),
        ("a\0b", "not a URL, file or folder"),
        ("", "not a URL, file or folder"),
        ("http://256.1.1.1/", "not an http(s) URL"),
        ("mailto:a@b.example", "not a URL, file or folder"),
        ("a@b.example", "not a URL, file or folder"),
        ("/dev/null", "send its content to stdin"),
    ],
)
def test_what_is_nothing_we_know_is_said_in_one_line(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=r".") as error:
        target_kind(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("https://a.example/\n")
    (tmp_path / "shop.py").write_text("")
    assert target_kind(str(tmp_path / "list.txt")).kind == "list"
    assert target_kind(str(tmp_path / "shop.py")).kind == "site"
    assert target_kind(str(tmp_path)).kind == "site"


def seeds(tmp_path: Path, text: str | bytes) -> tuple[list[Request], list[Rejected]]:
    path = tmp_path / "list.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    rejected: list[Rejected] = []
    return list(requests(target_kind(str(path)), rejected)), rejected


def test_what_was_given_is_shown_in_part(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        target_kind("ftp://" + "x" * 100_000)
    assert len(str(error.value)) < 400
    _, rejected = seeds(tmp_path, "[" * 100_000)
    assert len(rejected[0].reason) < 400


def test_two_columns_or_lines_are_no_url(tmp_path: Path) -> None:
    found, rejected = seeds(
        tmp_path, "https://a.example/\thttps://b.example/\nhttps://c.example/\rhttps://d.example/\n"
    )
    assert found == []
    assert [("a tab or a carriage return" in one.reason, one.line) for one in rejected] == [
        (True, 1),
        (True, 2),
    ]


def test_a_plain_list(tmp_path: Path) -> None:
    text = "\ufeffhttps://a.example\r\n\r\n# a remark\n  HTTPS://B.example/x#y  \nhttps://c.example/\u00e4"
    found, rejected = seeds(tmp_path, text)
    assert [one.url for one in found] == [
        "https://a.example/",
        "https://b.example/x",
        "https://c.example/%C3%A4",
    ]
    assert rejected == []


FULL = {
    "url": "https://a.example/x",
    "priority": 5,
    "method": "post",
    "headers": {"X-A": "1"},
    "body": "b",
    "id": "7",
    "country": "de",
    "region": "eu",
    "proxy": "mobile",
    "rung": "plain",
    "use": "book",
    "carry": {"k": [1, None]},
    "depth": 3,
    "added_at": 12.5,
    "key": "product 7",
}


def test_a_json_line_with_every_field(tmp_path: Path) -> None:
    assert set(FULL) == set(SeedLine.__struct_fields__) - {"json"}  # which becomes the body
    found, rejected = seeds(tmp_path, json.dumps(FULL))
    assert rejected == []
    (one,) = found
    want = FULL | {"method": "POST"}
    assert {name: getattr(one, name) for name in want} == want


@pytest.mark.parametrize("name", sorted(FULL.keys() - {"url"}))
def test_each_field_alone(tmp_path: Path, name: str) -> None:
    found, rejected = seeds(tmp_path, json.dumps({"url": "https://a.example/", name: FULL[name]}))
    assert rejected == []
    assert getattr(found[0], name) == (FULL[name] if name != "method" else "POST")


@pytest.mark.parametrize(
    "line",
    [
        "no url",
        "ftp://a.example/",
        "https://",
        "{",
        "{}",
        '{"url": 5}',
        '{"url": "x"}',
        '{"url": "https://a.example/", "strange": 1}',
        '{"url": "https://a.example/", "priority": "high"}',
        '{"url": "https://a.example/", "priority": 1000001}',
        '{"url": "https://a.example/", "method": "GET /"}',
        '{"url": "https://a.example/", "headers": {"a": 1}}',
        '{"url": "https://a.example/", "carry": "' + "x" * MAX_CARRY_BYTES + '"}',
        '{"url": "https://a.example/"} x',
        "[]",
        b"https://a.example/\xff",
        b'{"url": "https://a.example/\xff"}',
        '{"url": "https://a.example/", "method": ""}',
        '{"url": "https://a.example/", "depth": 1.5}',
        '{"url": "https://a.example/", "depth": -1}',
    ],
)
def test_a_bad_line_is_rejected_and_the_rest_goes_on(tmp_path: Path, line: str | bytes) -> None:
    raw = line.encode() if isinstance(line, str) else line
    found, rejected = seeds(tmp_path, b"https://one.example/\n" + raw + b"\nhttps://two.example/\n")
    assert [one.url for one in found] == ["https://one.example/", "https://two.example/"]
    (bad,) = rejected
    assert (bad.line, bad.source) == (2, str(tmp_path / "list.txt"))
    assert bad.reason
    assert bad.text == raw[:500].decode("utf-8", "replace")


def test_stdin_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"https://a.example/\nbad\n")))
    rejected: list[Rejected] = []
    assert [one.url for one in requests(target_kind("-"), rejected)] == ["https://a.example/"]
    assert [(bad.source, bad.line) for bad in rejected] == [("stdin", 2)]


def test_sitemaps_and_feeds_are_requests_for_the_infrastructure() -> None:
    for kind in ("sitemap", "feed"):
        (one,) = requests(target_kind(f"{kind}:https://a.example/x.xml"), [])
        assert (one.url, one.use) == ("https://a.example/x.xml", "@sitemap")


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"list\.txt cannot be read"):
        list(requests(Target("list", str(tmp_path / "list.txt")), []))


def test_the_name_of_a_crawl() -> None:
    one, two = target_kind("https://example.com/a"), target_kind("https://example.org:8080/")
    assert crawl_name([one], []).startswith("example.com-")
    assert crawl_name([two], []).startswith("example.org-8080-")
    assert crawl_name([one, two], [])[-6:] == crawl_name([two, one], [])[-6:]
    assert crawl_name([one], []) != crawl_name([target_kind("https://example.com/b")], [])
    assert crawl_name([target_kind("https://u:pw@example.com/")], [])[:12] == "example.com-"
    assert crawl_name([Target("site", "shop.py")], ["shop"]) == "shop"
    assert crawl_name([Target("stdin", "-")], []).startswith("stdin-")
    assert len(crawl_name([target_kind(f"https://{'a' * 60}.{'b' * 60}.example/")], [])) <= 80
