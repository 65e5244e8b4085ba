"""Keyword lists in all formats, including lines without a keyword."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.uses.keywords.keyword_list import read_keywords, write_rejected


def read(tmp_path: Path, name: str, text: str) -> list[str]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_keywords([str(path)]).keywords


def test_text_and_csv_and_json_lines(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", "\ufefftea\n\n# a remark\ngreen  tea\n#hashtag\n") == [
        "tea",
        "green tea",
        "#hashtag",
    ]
    assert read(tmp_path, "a.csv", "group;keyword\nx;tea\ny;green tea\n") == ["tea", "green tea"]
    assert read(tmp_path, "b.csv", "tea\nblack tea\n") == ["tea", "black tea"]
    assert read(tmp_path, "a.jsonl", '{"keyword": "tea"}\n"pot"\n') == ["tea", "pot"]


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("volume", "Keyword"), (5, "tea"), (7, "oat milk"), (1, 2026)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert read_keywords([str(tmp_path / "a.xlsx")]).keywords == ["tea", "oat milk", "2026"]


def test_what_is_no_keyword_is_rejected_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("tea\n!!!\nTEA\n" + "x " * 30 + "\n")
    found = read_keywords([str(path)])
    assert (found.keywords, found.repeated) == (["tea"], 1)
    assert [(one.line, one.text[:3]) for one in found.rejected] == [(2, "!!!"), (4, "x x")]
    assert "no letter or digit" in found.rejected[0].reason
    write_rejected(tmp_path / "r.jsonl", found.rejected)
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["line"] == 2


def test_bad_json_line_and_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"keyword": 3}\n{nonsense\n{"term": "tea"}\n')
    found = read_keywords([str(tmp_path / "a.jsonl")])
    assert (found.keywords, [one.line for one in found.rejected]) == (["tea"], [1, 2])
    (tmp_path / "a.txt").write_bytes("Käse\n".encode("cp1252"))
    (tmp_path / "b.txt").write_bytes("チーズ\n".encode("utf-16"))
    assert read_keywords([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]).keywords == ["Käse", "チーズ"]


def test_a_keyword_itself_and_a_missing_file(tmp_path: Path) -> None:
    assert read_keywords(["green tea"]).keywords == ["green tea"]
    with pytest.raises(UsageError, match="no such file"):
        read_keywords([str(tmp_path / "none.txt")])
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\0\0\0")
    with pytest.raises(UsageError, match="not a text file"):
        read_keywords([str(tmp_path / "binary.txt")])


def test_a_hundred_thousand_keywords(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("\n".join(f"word{n} tail{n % 7}" for n in range(100_000)))
    assert len(read_keywords([str(tmp_path / "many.txt")]).keywords) == 100_000
