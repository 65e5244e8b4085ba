"""Lists of targets: JSON lines, Excel and SQL queries, and the required fields of a line."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from gossamer.errors import ConfigError, StoreError, UsageError
from gossamer.uses.prices.targets import TargetList, read_targets
from support.postgres import Postgres

ROWS = [
    {
        "url": "https://a.example/1",
        "key": "one",
        "product": 7,
        "minimum": 9.5,
        "tags": "x y",
        "currency": "eur",
    },
    {"url": "https://www.a.example/2", "key": 2, "rules": "below 5; back in stock"},
]


def check(found: TargetList) -> None:
    one, two = found.targets
    assert (one.key, one.product, one.minimum, one.tags, one.currency) == (
        "one",
        "7",
        Decimal("9.5"),
        ("x", "y"),
        "EUR",
    )
    assert (two.key, two.shop, two.rules) == ("2", "a.example", ("below 5", "back in stock"))


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)) + "\n[1]\n{broken\n")
    found = read_targets([str(path)])
    check(found)
    assert [one.line for one in found.rejected] == [3, 4]


def test_excel(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    names = sorted({name for row in ROWS for name in row})
    book.active.append(names)
    for row in ROWS:
        book.active.append([row.get(name) for name in names])
    book.active.append(["no url here"])
    book.save(tmp_path / "t.xlsx")
    found = read_targets([str(tmp_path / "t.xlsx")])
    check(found)
    assert [one.line for one in found.rejected] == [4]
    (tmp_path / "broken.xlsx").write_bytes(b"no workbook")
    with pytest.raises(UsageError, match=r"broken\.xlsx"):
        read_targets([str(tmp_path / "broken.xlsx")])


def test_queries_of_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE offers (link, sku)")
        base.execute("INSERT INTO offers VALUES ('https://a.example/1', 'one')")
    where = f"sql:sqlite:{tmp_path}/shop.db"
    (target,) = read_targets([" ".join((where, "SELECT link AS url, sku AS key FROM offers"))]).targets
    assert (target.url, target.key) == ("https://a.example/1", "one")
    with pytest.raises(UsageError, match="no column url; its columns are sku"):
        read_targets([" ".join((where, "SELECT sku FROM offers WHERE 0"))])
    for query, words in (("DELETE FROM offers", "readonly"), ("SELECT", "incomplete input")):
        with pytest.raises(ConfigError, match=words):
            read_targets([f"{where} {query}"])


def test_queries_of_postgresql(postgres: Postgres) -> None:
    (target,) = read_targets([f"sql:{postgres.url} SELECT 'https://a.example/1' AS url, 5 AS key"]).targets
    assert target.key == "5"
    with pytest.raises(ConfigError, match="CREATE TABLE"):
        read_targets([f"sql:{postgres.url} CREATE TABLE written (url TEXT)"])
    with pytest.raises(StoreError, match="does not answer") as error:
        read_targets(["sql:postgresql://joe:hidden@127.0.0.1:1/x SELECT 1 AS url"])
    assert "hidden" not in str(error.value)
