"""Workbooks: times are dates, and only integers that Excel cannot represent are texts."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from gossamer.model.visit import Row
from gossamer.sinks.columns import Column
from gossamer.sinks.output_spec import OpenedOutput, open_output

COLUMNS = (
    Column("at", "time"),
    Column("day", "date"),
    Column("ratio", "float"),
    Column("code", "int"),
    Column("name"),
)


def cells(path: Path) -> dict[str, tuple[str, str]]:
    """Returns the style and the stored value of each cell of the first sheet. A text has the style `text`."""
    with zipfile.ZipFile(path) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    found = {}
    for name, attributes, inside in re.findall(r'<c r="(\w+)"([^>]*)>(.*?)</c>', sheet):
        style = "text" if 't="' in attributes else attributes.strip()
        found[name] = (style, re.sub(r"<[^>]+>", "", inside))
    return found


def written(path: Path, kinds: dict[str, Any], data: dict[str, Any]) -> dict[str, tuple[str, str]]:
    output = open_output(f"{path}/rows.xlsx", kinds, folder=str(path))
    assert isinstance(output, OpenedOutput)
    ((sink, rows),) = output.route([Row("book", "1", data)])
    sink.close(sink.append(sink.prepare(), rows))
    return cells(path / "rows.xlsx")


def test_times_are_dates_and_floats_are_numbers(tmp_path: Path) -> None:
    row = {
        "at": "2026-05-01T10:00:00+02:00",
        "day": "2026-05-01",
        "ratio": 0.1234567890123456789,
        "code": 1234567890123456789,
        "name": "2026-05-01T10:00:00Z",
    }
    found = written(tmp_path, {"book": COLUMNS}, row)
    assert [found[cell] for cell in ("A2", "B2")] == [('s="2"', "46143.33333333334"), ('s="3"', "46143")]
    assert found["C2"] == ("", "0.1234567890123457")
    assert [found[cell][0] for cell in ("D2", "E2")] == ["text", "text"]


def test_complete_times_of_untyped_dicts_are_dates(tmp_path: Path) -> None:
    found = written(
        tmp_path, {}, {"at": "2026-05-01T08:00:00.5Z", "day": "2026-05-01", "old": "0001-01-01T00:00:00Z"}
    )
    assert [found[cell][0] for cell in ("A2", "B2", "C2")] == ['s="2"', "text", "text"]
