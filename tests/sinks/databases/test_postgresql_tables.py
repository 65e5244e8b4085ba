"""Tables of PostgreSQL: created by several processes at once, with columns that others added, and with the
JSON and date values of items."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.visit import Row
from gossamer.sinks.columns import OURS, Column
from gossamer.sinks.output_spec import open_output
from gossamer.sinks.postgresql import cut_name
from sinks.databases.database_servers import PostgresPlace, running
from sinks.databases.test_trouble import opened
from sinks.rows_and_commits import book, loose, ours, page


@pytest.fixture(scope="module")
def base() -> Iterator[PostgresPlace]:
    """A PostgreSQL server for these tests."""
    with running("postgresql") as found:
        assert isinstance(found, PostgresPlace)
        yield found


def shed(key: str, at: int = 1, **fields: Any) -> Row:
    return Row(
        "shed", key, {**fields, **ours("shed", key, fields), "_seen_at": f"2024-05-0{at}T12:00:00.000Z"}
    )


def kept(
    base: PostgresPlace, called: str, more: list[Column], folder: Path, *rows: Row, spec: str = ""
) -> None:
    columns = {"shed": (Column("sku"), *more, *OURS)}
    table: Any = open_output(f"{spec or base.spec}?table={called}", columns, folder=str(folder), owner="c@1")
    table.prepare()
    table.upsert(rows)
    table.close()
    assert (
        not (folder / "refused.jsonl").exists() or '"reason":"day: ' in (folder / "refused.jsonl").read_text()
    )


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "of an older gossamer"])
def test_columns_that_others_added_stay_as_they_are(
    listed: bool, base: PostgresPlace, tmp_path: Path
) -> None:
    called, long = f"own{listed}".lower(), "é" * 40
    kept(base, called, [Column("old"), Column(long)], tmp_path, shed("1", sku="a", old="x", **{long: "y"}))
    base.server.ask(f"ALTER TABLE {called} ADD COLUMN note text")
    base.server.ask(f"UPDATE {called} SET note = 'mine'")  # noqa: S608
    if not listed:
        base.server.ask("DROP TABLE _columns")
    kept(base, called, [Column("old"), Column(long)], tmp_path, shed("1", 2, sku="b", old="z", **{long: "w"}))
    asked = f'SELECT sku, old, "{cut_name(long)}", note FROM {called}'  # noqa: S608
    assert base.server.ask(asked) == [("b", "z", "w", "mine")]
    kept(base, called, [], tmp_path, shed("1", 3, sku="c"))
    assert base.server.ask(asked) == [("c", None, None, "mine")]


def test_who_may_make_no_table_beside_ours_goes_on(base: PostgresPlace, tmp_path: Path) -> None:
    kept(base, "lent", [Column("old")], tmp_path, shed("1", sku="a", old="x"))
    base.server.ask("DROP TABLE _columns; DROP ROLE IF EXISTS guest; CREATE USER guest")
    base.server.ask("GRANT ALL ON lent, _history, _sightings TO guest")
    kept(base, "lent", [], tmp_path, shed("1", 2, sku="b"), spec=base.spec.replace("//u@", "//guest@"))
    assert base.server.ask("SELECT sku, old FROM lent") == [("b", "x")]


def test_many_begin_in_an_empty_database_at_once(base: PostgresPlace, tmp_path: Path) -> None:
    base.server.ask("CREATE SCHEMA many")
    sinks = [opened(f"{base.spec}?table=many.{{kind}}", tmp_path) for _ in range(6)]
    gate, failed = threading.Barrier(len(sinks)), []

    def begin(n: int, sink: Any) -> None:
        gate.wait()
        try:
            sink.prepare()
            sink.upsert([book(n), page(n), loose(n, a=1)])
        except Exception as error:  # noqa: BLE001  any is told below
            failed.append(error)
        sink.close()

    threads = [threading.Thread(target=begin, args=one) for one in enumerate(sinks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert base.server.ask("SELECT count(*) FROM many.book UNION ALL SELECT count(*) FROM many.note") == [
        (6,),
        (6,),
    ]


def test_dates_and_texts_in_columns_of_json_are_held(base: PostgresPlace, tmp_path: Path) -> None:
    more = [Column("day", "date"), Column("any", "json")]
    said = ["2026-01-02", "seven", "true", 'a "b"', "", [1, None], {"a": "b"}, 7, True]
    rows = [shed(str(n), sku="a", day="2026-01-02", any=value) for n, value in enumerate(said)]
    kept(base, "dated", more, tmp_path, *rows, shed("x", day="soon"))
    found = base.server.ask("SELECT \"any\" FROM dated WHERE _key <> 'x' ORDER BY _key")
    assert [value for (value,) in found] == said
    assert base.server.ask("SELECT DISTINCT day FROM dated WHERE day IS NOT NULL") == [(date(2026, 1, 2),)]
    assert base.server.ask("SELECT day, _extra FROM dated WHERE _key = 'x'") == [(None, {"day": "soon"})]
