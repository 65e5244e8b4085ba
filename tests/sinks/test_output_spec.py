"""The value of -o: the format, the files, and a clear error line for anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import UsageError
from gossamer.sinks.columns import item_columns, page_columns
from gossamer.sinks.jsonl import Stdout
from gossamer.sinks.output_spec import OpenedOutput, OutputSpec, kind_path, open_output, parse
from gossamer.sinks.sqlite import Sqlite
from sinks.rows_and_commits import Book, book, loose, page

COLUMNS = {"page": page_columns(), **item_columns([Book])}


@pytest.mark.parametrize(
    ("spec", "path", "form"),
    [
        ("out.jsonl", "out.jsonl", "jsonl"),
        ("a/b.csv", "a/b.csv", "csv"),
        ("x.parquet/", "x.parquet", "parquet"),
        ("x.SQLite", "x.SQLite", "sqlite"),
        ("out:csv", "out", "csv"),
        ("out.txt:JSONL", "out.txt", "jsonl"),
        ("a:b.jsonl", "a:b.jsonl", "jsonl"),
        ("out.jsonl:csv", "out.jsonl", "csv"),
        ("a.b.c.csv", "a.b.c.csv", "csv"),
        ("out.warc.gz", "out.warc.gz", "warc"),
        ("raw/:warc", "raw/", "warc"),
        ("objects:raw", "raw", "objects"),
        ("s3://b/p", "s3://b/p", "warc"),
        ("S3://b/p", "s3://b/p", "warc"),
        ("X.WARC.GZ/", "X.WARC.GZ", "warc"),
        ("x.warc/:warc", "x.warc/", "warc"),
        ("./kafka:x.jsonl", "./kafka:x.jsonl", "jsonl"),
        ("csv:csv", "csv", "csv"),
        ("objects:gs://b/p", "gs://b/p", "objects"),
        ("-", "-", "stdout"),
        ("-:jsonl", "-", "stdout"),
        ("/x:y/z.csv", "/x:y/z.csv", "csv"),
        ("ü ü.csv", "ü ü.csv", "csv"),
    ],
)
def test_the_ending_chooses_and_a_format_forces(spec: str, path: str, form: str) -> None:
    assert parse(spec) == OutputSpec(path, form)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("out", "names no format"),
        ("", "names no format"),
        (".csv", "names no format"),
        ("a/.jsonl", "names no format"),
        ("out.ndjson", "did you mean jsonl"),
        ("out.xls", "did you mean xlsx"),
        ("out.cvs", "did you mean csv"),
        ("out:jsnol", "did you mean jsonl"),
        ("out.jsonl:", "no format ''"),
        ("out.jsonl.gz", r"no format for \.gz"),
        (".warc.gz", "names no format"),
        ("postgrsql://h/db", "did you mean postgresql://"),
        ("kafka://h/", "write kafka://HOST:9092/TOPIC"),
        ("s3://b/k.jsonl", "whole pages"),
        ("s3://", "BUCKET"),
        ("objects:ftp://h/x", "BUCKET"),
        (":csv", "names no format"),
        ("/", "names no format"),
        ("-:parquet", "-:csv"),
        ("x.warc", r"write x\.warc\.gz, or x\.warc/:warc"),
        ("X.Warc", r"write X\.warc\.gz"),
        ("x.warc.zst", r"write x\.warc\.gz"),
        ("out.csv.xz", r"not compressed, write out\.csv$"),
        ("x.db", "did you mean sqlite"),
        ("x.ndjson", "did you mean jsonl"),
        ("..", "names no format"),
        ("out.", "names no format"),
        ("x\n.foo", "no format for"),
        ("x.\n", "no format for"),
        ("x:\n", "no format"),
        ("postgres:/joe:hunter2@h/x", r"write postgresql://USER@HOST/DATABASE; a file"),
        ("kafka:h/t", "write kafka://HOST:9092/TOPIC"),
        ("s3:b", "BUCKET"),
        ("s3:///k", "BUCKET"),
        ("S3://b/k.csv/", "whole pages"),
        ("sqlite:x.sqlite", r"write x\.sqlite:sqlite"),
        ("parquet:x", "write x:parquet"),
        ("file:x.jsonl", r"write x\.jsonl;"),
        ("file:///a/b.csv", r"write /a/b\.csv$"),
        ("sqlite:///b.db", r"write /b\.db$"),
        ("d:objects", "write objects:d"),
        ("objects:", "write objects:FOLDER"),
        ("ftp://h/x", "s3://"),
    ],
)
def test_what_is_off_gets_one_line(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        open_output(spec, COLUMNS)
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_passwords_of_stores_are_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse("kafka://joe:hunter2@db/x?sslkey=1&password=hunter2")
    assert "hunter2" not in str(raised.value)


@given(st.text())
def test_any_spec_is_read_or_refused(spec: str) -> None:
    try:
        parse(spec)
    except UsageError as error:
        said = str(error)
    else:
        said = "read"
    assert said


def test_jsonl_takes_all_kinds_in_order(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out.jsonl"), COLUMNS)
    assert isinstance(output, OpenedOutput)
    rows = [page(1), book(2), page(3)]
    assert [(sink.target(), list(part)) for sink, part in output.route(rows)] == [
        (str(tmp_path / "out.jsonl"), rows)
    ]
    assert output.route([]) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_file_a_kind(ending: str, tmp_path: Path) -> None:
    output = open_output(str(tmp_path / f"out.{ending}"), COLUMNS)
    assert isinstance(output, OpenedOutput)
    assert [sink.target() for sink in output.sinks()] == [
        str(tmp_path / f"out.{ending}"),
        str(tmp_path / f"out.book.{ending}"),
    ]
    for sink, part in output.route([page(1), book(2), page(3), loose(4)]):
        sink.close(sink.append(sink.prepare(), part))
    assert {path.name for path in tmp_path.iterdir()} == {
        f"out{kind}.{ending}" for kind in ("", ".book", ".note")
    }
    assert len(output.sinks()) == 3


def test_nothing_is_touched_before_prepare(tmp_path: Path) -> None:
    for spec in ("a.jsonl", "a.csv", "a.parquet", "a.sqlite"):
        open_output(str(tmp_path / spec), COLUMNS, overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_tables_and_stdout(tmp_path: Path) -> None:
    assert isinstance(open_output(str(tmp_path / "a.sqlite"), COLUMNS), Sqlite)
    assert isinstance(open_output("-", COLUMNS), Stdout)


HOSTILE = [
    "../../etc/x",
    "a/b",
    "..",
    "",
    "con",
    "a\0b",
    "%2e%2e",
    "A",
    "a",
    "ä",
    "ö",
    "x" * 300,
    "x" * 301,
    "a\nb",
    "page.x",
]


def test_a_kind_never_leaves_its_folder() -> None:
    paths = {kind: kind_path("dir/out.csv", kind) for kind in HOSTILE if kind}
    assert len(set(paths.values())) == len(paths)  # no two kinds share a file
    for path in paths.values():
        folder, name = os.path.split(path)
        assert folder == "dir"
        assert name.startswith("out.")
        assert name.endswith(".csv")
        assert len(name) < 100
        assert name.isascii()
        assert name.isprintable()


@given(st.text(min_size=1))
def test_any_kind_makes_a_plain_name(kind: str) -> None:
    assert os.path.dirname(kind_path("d/out.csv", kind)) == "d"


def test_names_without_an_ending() -> None:
    assert kind_path("out", "book") == "out.book"
    assert kind_path("a.b/out", "book") == "a.b/out.book"
