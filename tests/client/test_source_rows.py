"""Tests of rows of lists, sitemaps and queries with arbitrary columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from gossamer.client.source_rows import SourceRow, read_rows
from gossamer.errors import UsageError
from support.web_shops import make_shop, serving

HEADS: list[Sequence[str]] = []


def rows(source: str) -> list[SourceRow]:
    HEADS.clear()
    return list(read_rows(source, HEADS.append, {"allow_private": "127.0.0.0/8"}))


def test_csv_with_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("word;n\nbär;1\n\nx;2;3\n".encode("cp1252"))
    assert rows(str(path)) == [
        SourceRow(2, {"word": "bär", "n": "1"}),
        SourceRow(4, None, "it has 3 columns, and the head has 2: quote a value that contains ';'", "x;2;3"),
    ]
    assert HEADS == [["word", "n"]]


def test_text_and_a_csv_without_a_head(tmp_path: Path) -> None:
    for name in ("a.txt", "a.csv"):
        path = tmp_path / name
        path.write_text("https://a.example/1\n\n# a remark\nhttps://a.example/2\n")
        assert [(one.line, one.columns) for one in rows(str(path))] == [
            (1, {"url": "https://a.example/1"}),
            (4, {"url": "https://a.example/2"}),
        ]
    assert rows("https://a.example/") == [SourceRow(1, {"url": "https://a.example/"})]


def test_query_with_any_columns(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("CREATE TABLE words (word, volume)")
        base.executemany("INSERT INTO words VALUES (?, ?)", [("tea", 5), ("tea pot", None)])
    where = f"sql:sqlite:{tmp_path}/a.db"
    found = rows(" ".join((where, "SELECT word, volume FROM words ORDER BY word")))
    assert [one.columns for one in found] == [
        {"word": "tea", "volume": 5},
        {"word": "tea pot", "volume": None},
    ]
    assert rows(" ".join((where, "SELECT word FROM words WHERE 0"))) == []
    assert HEADS == [["word"]]


def test_sitemap_index() -> None:
    shop = make_shop(0, 1)
    with serving([shop]):
        entry = "<loc>{}</loc>"
        shop.extra["/sitemap.xml"] = (
            f"<sitemapindex><sitemap>{entry.format(shop.address('/s1.xml'))}</sitemap></sitemapindex>"
        )
        shop.extra["/s1.xml"] = f"<urlset><url>{entry.format(shop.address('/p/0'))}</url></urlset>"
        assert rows(f"sitemap:{shop.address('/sitemap.xml')}") == [
            SourceRow(1, {"url": shop.address("/p/0")})
        ]
        with pytest.raises(UsageError, match="status 404"):
            rows(f"sitemap:{shop.address('/none.xml')}")


def test_a_source_that_is_none() -> None:
    for source in ("no.csv", "sql:mysql://x SELECT 1", "sitemap:nowhere"):
        with pytest.raises(UsageError):
            rows(source)


PRICES = """key,url,name
1,https://a.example/1,Screen 24"
2,https://a.example/2,"Chair
3,https://a.example/3,Table 12"
4,https://a.example/4,"a ""big"" lamp,
with a shade"
"5,https://a.example/5,x
6,https://a.example/6,"so" called
7,https://a.example/7,"last
8,https://a.example/8,y
"""


def test_a_stray_quote_loses_its_own_line_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(PRICES)
    found = rows(str(path))
    read = [(one.line, one.columns["key"], one.columns["name"]) for one in found if one.columns]
    assert read == [
        (2, "1", 'Screen 24"'),
        (4, "3", 'Table 12"'),
        (5, "4", 'a "big" lamp,\nwith a shade'),
        (10, "8", "y"),
    ]
    assert [(one.line, one.text[:3]) for one in found if one.reason] == [
        *((3, "2,h"), (7, '"5,'), (8, "6,h"), (9, "7,h")),
    ]
    path.write_text('keyword;volume\n"garden chair;50\noak table;20\nred";5\n"two\nlines";7\n')
    assert [one.line for one in rows(str(path)) if one.columns] == [3, 4, 5]


def test_lines_end_where_an_editor_ends_them(tmp_path: Path) -> None:
    """U+2028, U+0085 and form feeds do not end a line. A list of an old spreadsheet has only \\r."""
    (tmp_path / "a.jsonl").write_text('{"n": "a\u2028b"}\n{"n": "\u0085"}\n[1]\n', "utf-8")
    assert [(one.line, one.columns and one.columns["n"]) for one in rows(f"{tmp_path}/a.jsonl")] == [
        *((1, "a\u2028b"), (2, "\u0085"), (3, None)),
    ]
    (tmp_path / "a.csv").write_bytes("sep=;\rurl;n\rhttps://a.example/;1\r".encode("utf-16"))
    assert rows(f"{tmp_path}/a.csv") == [SourceRow(3, {"url": "https://a.example/", "n": "1"})]
