"""Keyword lists: each format, the columns of other tools, and lines without a keyword."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.uses.ranks.keywords import read_keywords

OWN = {"domain": "own.example"}


def listed(path: Path, text: str) -> list[tuple[str, str]]:
    path.write_text(text)
    return [(one.search.keyword, one.domain) for one in read_keywords([str(path)], OWN).keywords]


def test_each_form_of_a_list(tmp_path: Path) -> None:
    due = [("tea pot", "a.example"), ('"milk jug" -tin', "own.example")]
    csv = 'Query,Website\ntea pot,https://www.a.example/x\n"""milk jug"" -tin",\n'.replace("/x", "")
    assert listed(tmp_path / "a.csv", csv) == due
    assert listed(tmp_path / "a.tsv", 'keyword\tdomain\ntea pot\ta.example\n"""milk jug"" -tin"\t\n') == due
    lines = '{"keyword": "tea pot", "domain": "a.example"}\n{"keyword": "\\"milk jug\\" -tin"}\n'
    assert listed(tmp_path / "a.jsonl", lines) == due
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("CREATE TABLE k (keyword, domain)")
        base.executemany("INSERT INTO k VALUES (?, ?)", [due[0], (due[1][0], "")])
    found = read_keywords([" ".join((f"sql:sqlite:{tmp_path}/a.db", "SELECT * FROM k"))], OWN).keywords
    assert [(one.search.keyword, one.domain) for one in found] == due


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_list_without_a_head_is_one_keyword_per_line(tmp_path: Path, name: str) -> None:
    assert listed(
        tmp_path / name, "# mine\ntea pot\nwhat is https://\n" if name == "a.txt" else "tea pot\nb\n"
    ) == [
        ("tea pot", "own.example"),
        ("what is https://" if name == "a.txt" else "b", "own.example"),
    ]


def test_a_bad_line_has_its_number_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "k.csv"
    path.write_text(
        "keyword,domain,volume\ntea,a.example,10\ncups, plates,a.example,3\n,a.example,\ntea,no domain,\n"
    )
    found = read_keywords([str(path)])
    assert len(found.keywords) == 1
    assert [(one.line, one.reason) for one in found.rejected] == [
        (3, "it has 4 columns, and the head has 3: quote a value that contains ','"),
        (4, "the keyword is empty"),
        (5, "'no domain' is not a domain"),
    ]


@pytest.mark.parametrize(
    "source", ["none.csv", "https://a.example/list.csv", "sitemap:https://a.example/s.xml"]
)
def test_what_is_not_a_list_is_refused(source: str) -> None:
    with pytest.raises(UsageError, match="a list"):
        read_keywords([source])


def test_columns_without_a_keyword_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column keyword; its columns are words, domain"):
        listed(tmp_path / "k.csv", "words,domain\na,b.example\n")
