"""Pages on which the text, the tables or the date was wrong, from the shared data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.parsing.pagedates import dates
from gossamer.parsing.tables import tables
from gossamer.parsing.text import main_text

FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "trial-pages.jsonl.gz"


def _is_right(row: dict[str, Any]) -> bool:
    page, check, expected, got = row["html"].encode(), row["check"], row["expected"], row["got"]
    if check == "missing from main_text":
        return all(one in main_text(page) for one in got)
    if check == "must not be in main_text":
        return not any(one in main_text(page) for one in got)
    if check == "rows":
        return [one.rows for one in tables(page)] == [expected]
    return dates(page).published == expected


def test_the_pages_of_the_trials() -> None:
    if not FILE.is_file():
        pytest.skip("../shared/data is not here")
    with gzip.open(FILE, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    checks = ("missing from main_text", "must not be in main_text", "rows", "published")
    mine = [row for row in rows if row["check"] in checks]
    assert len(mine) >= 18
    assert [row["id"] for row in mine if not _is_right(row)] == []
