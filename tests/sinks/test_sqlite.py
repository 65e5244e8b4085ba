"""SQLite output: a table per kind, upserts, several writers, new columns, full disks."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import ConfigError, DiskFull, SinkError, UsageError
from gossamer.sinks.columns import MAX_COLUMNS, Column, item_columns, page_columns
from gossamer.sinks.sqlite import Sqlite
from sinks.rows_and_commits import Book, book, loose, page
from support import fork_server

COLUMNS = {"page": page_columns(), **item_columns([Book])}


@contextmanager
def opened(path: Path, columns: Any = COLUMNS, **options: Any) -> Iterator[Sqlite]:
    sink = Sqlite(str(path), columns, **options)
    assert sink.prepare() == 0
    try:
        yield sink
    finally:
        sink.close()


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute(question).fetchall()


def test_rows_are_upserted_by_kind_and_key(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([page(1), book(1), page(2)])
        sink.upsert([page(2, title="new"), book(1, title="newer")])
    assert ask(path, "SELECT _key, title, status, redirects, error FROM page ORDER BY 1") == [
        ("k1", "Page 1", 200, "[]", None),
        ("k2", "new", 200, "[]", None),
    ]
    assert ask(path, "SELECT _key, upc, title, _site FROM book") == [("1", "1", "newer", "a")]
    assert [row[1] for row in ask(path, "PRAGMA table_info(page)")][1:-1] == [
        column.name for column in page_columns()
    ]


def test_values_have_their_types(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([book(1, price=Decimal("19.90"), tags=["a"], more={"x": None}), book(2, price=None)])
    assert ask(path, "SELECT price, typeof(price), tags, more, stock FROM book") == [
        (19.9, "real", '["a"]', '{"x":null}', 0),
        (None, "null", "[]", "{}", 0),
    ]


def test_a_batch_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([book(1)])
        ask(
            path,
            "CREATE TRIGGER no BEFORE INSERT ON book WHEN NEW.upc = '3' BEGIN INSERT INTO nowhere VALUES (1); END",
        )
        with pytest.raises(SinkError, match="nowhere"):
            sink.upsert([book(2), book(3), loose(1)])
        ask(path, "DROP TRIGGER no")
        assert ask(path, "SELECT upc FROM book") == [("1",)]
        sink.upsert([book(2), book(3), loose(1)])  # the connection still works
    assert ask(path, "SELECT count(*) FROM book") == [(3,)]


def test_a_later_run_adds_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([book(1)])
    wider = {"book": (*COLUMNS["book"], Column("colour"))}
    with opened(path, wider) as sink:
        row = book(2)
        row.data["colour"] = "red"
        sink.upsert([row])
    assert ask(path, "SELECT upc, colour FROM book ORDER BY 1") == [("1", None), ("2", "red")]


def test_undeclared_fields_go_to_extra(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    row = book(1)
    row.data["colour"] = "red"
    with opened(path) as sink:
        sink.upsert([row, loose(1, a=1)])
    assert ask(path, "SELECT _extra FROM book") == [('{"colour":"red"}',)]


def test_columns_of_untyped_items_come_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink, opened(path) as other:
        sink.upsert([loose(1, a=1, b=[1]), loose(2, A="x", **{"=y": 2})])
        other.upsert([loose(1, c=1.5)])  # another process: fields that its row lacks are removed
        sink.upsert([loose(3, a=3)])
    assert ask(path, "SELECT _key, a, b, c, _extra FROM note ORDER BY 1") == [
        ("1", None, None, 1.5, None),
        ("2", None, None, None, '{"A":"x","=y":2}'),
        ("3", 3, None, None, None),
    ]
    with opened(path) as sink:
        sink.upsert([loose(4, **{f"n{n}": n for n in range(MAX_COLUMNS)})])
    assert len(ask(path, "SELECT * FROM note")[0]) == MAX_COLUMNS + 11
    assert json.loads(ask(path, "SELECT _extra FROM note WHERE _key = '4'")[0][0]) == {
        f"n{n}": n for n in range(MAX_COLUMNS - 3, MAX_COLUMNS)
    }


def test_a_table_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    ask(path, "CREATE TABLE book (id, title)")
    with pytest.raises(UsageError, match="has a table book that is not gossamer's"), opened(path):
        pass
    assert ask(path, "SELECT count(*) FROM pragma_table_info('book')") == [(2,)]


def test_all_digits_of_a_wide_integer_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    row = book(1, stock=2**70)
    row.data["colour"] = "\ud800"
    with opened(path) as sink:
        sink.upsert([row, book(2, stock=2**63 - 1), book(3, stock=-(2**63) - 1)])
    assert ask(path, "SELECT stock, _extra FROM book ORDER BY _key") == [
        (None, f'{{"stock":{2**70},"colour":"\ufffd"}}'),
        (2**63 - 1, None),
        (None, f'{{"stock":{-(2**63) - 1}}}'),
    ]


@pytest.mark.parametrize("kind", ['no"te', "sqlite_x", "select", "a; DROP TABLE page", "ü.x", "\0"])
def test_any_kind_is_a_table(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([loose(1, kind, a=1), page(1)])
        sink.upsert([loose(1, kind, a=2)])
    tables = [name for (name,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert len(tables) == 6
    assert {"page", "book"} <= set(tables)


@pytest.mark.parametrize("odd", ["\ud800", 10**30, "'); DROP TABLE book; --", "\0a", float("nan")], ids=repr)
def test_odd_values_keep_the_batch_going(odd: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([book(1, title=odd), book(2)])
    assert len(ask(path, "SELECT title FROM book")) == 2


def test_fields_that_differ_by_case_only_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="name of thing"),
        opened(tmp_path / "out.sqlite", {"thing": (Column("name"), Column("Name"))}),
    ):
        pass


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    code = (
        "import sys; sys.path.insert(0, sys.argv[3]); from sinks.rows_and_commits import page;"
        "from gossamer.sinks.columns import page_columns; from gossamer.sinks.sqlite import Sqlite\n"
        "sink = Sqlite(sys.argv[1], {'page': page_columns()}); sink.prepare()\n"
        "for n in range(20): sink.upsert([page(20 * int(sys.argv[2]) + n), page(0)])\n"
        "sink.close()"
    )
    tests = str(Path(__file__).parents[1])
    runs = [fork_server.Popen([sys.executable, "-c", code, str(path), str(n), tests]) for n in range(3)]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    assert ask(path, "SELECT count(*) FROM page") == [(60,)]


def test_a_new_file_is_opened_while_another_process_writes_to_it(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # not yet WAL, so the change of mode fails at once instead of waiting
    later = threading.Timer(0.2, other.execute, ("COMMIT",))
    later.start()
    with opened(path) as sink:
        sink.upsert([page(1)])
    later.join()
    other.close()
    assert ask(path, "SELECT count(*) FROM page") == [(1,)]


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[2]); from sinks.rows_and_commits import page;"
        "from gossamer.sinks.columns import page_columns; from gossamer.sinks.sqlite import Sqlite\n"
        "sink = Sqlite(sys.argv[1], {'page': page_columns()}); sink.prepare(); sink.upsert([page(1)])\n"
        "sink._base.execute('BEGIN'); sink._base.execute('DELETE FROM page'); os.kill(os.getpid(), 9)"
    )
    run = fork_server.run(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])], check=False
    )
    assert run.returncode == -9
    with opened(path) as sink:
        sink.upsert([page(1), page(2)])
    assert ask(path, "SELECT _key FROM page ORDER BY 1") == [("k1",), ("k2",)]


def test_it_is_durable_before_it_returns(tmp_path: Path) -> None:
    with opened(tmp_path / "out.sqlite") as sink:
        base = sink._connect()
        assert base.execute("PRAGMA synchronous").fetchone() == (2,)
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([page(1)])
        base = sink._connect()
        (pages,) = base.execute("PRAGMA page_count").fetchone()
        base.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(DiskFull, match=r"out\.sqlite") as raised:
            sink.upsert([page(n, title="x" * 1000) for n in range(50)])
        assert raised.value.exit_code == 16
        base.execute("PRAGMA max_page_count=1000000")
        assert ask(path, "SELECT count(*) FROM page") == [(1,)]
        sink.upsert([page(2)])


def test_overwrite_begins_a_new_file_and_append_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path) as sink:
        sink.upsert([page(1)])
    with opened(path) as sink:
        sink.upsert([page(2)])
    assert ask(path, "SELECT count(*) FROM page") == [(2,)]
    with opened(path, overwrite=True) as sink:
        sink.upsert([page(3)])
    assert ask(path, "SELECT _key FROM page") == [("k3",)]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        Sqlite(str(tmp_path / "none" / "a.sqlite"), COLUMNS).prepare()
    with pytest.raises(UsageError, match="not a regular file"):
        Sqlite(str(tmp_path), COLUMNS).prepare()
    text = tmp_path / "text.sqlite"
    text.write_text("no database, but long enough to be taken for one" * 40)
    with pytest.raises(SinkError, match="is not an SQLite database"):
        Sqlite(str(text), COLUMNS).prepare()


def test_a_lock_that_stays_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path, wait=0.05) as sink, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match="locked"):
            sink.upsert([page(1)])
        other.execute("ROLLBACK")
        sink.upsert([page(1)])


def test_what_a_killed_process_left_is_folded_into_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    code = (
        "import os, sys; from gossamer.sinks.sqlite import Sqlite; from sinks.rows_and_commits import loose\n"
        "sink = Sqlite(sys.argv[1], {}); sink.prepare(); sink.upsert([loose(1, a=1)]); os._exit(9)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    fork_server.run([sys.executable, "-c", code, str(path)], check=False, env=env)
    assert path.with_name("out.sqlite-wal").exists()
    Sqlite(str(path), {}).close()  # as the main process does at the end
    assert [file.name for file in tmp_path.iterdir()] == ["out.sqlite"]
    assert ask(path, "SELECT _key, a FROM note") == [("1", 1)]
