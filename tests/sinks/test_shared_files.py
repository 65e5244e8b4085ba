"""Files that several processes of a crawl write in turn, while the store may lose the last commits of any
process."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.interfaces import FileSink
from gossamer.model.visit import Row
from gossamer.sinks.columns import page_columns
from gossamer.sinks.csv import Csv
from gossamer.sinks.jsonl import JsonLines
from gossamer.sinks.object_files import Objects
from gossamer.sinks.parquet import Parquet
from gossamer.sinks.warc import Warc
from sinks.rows_and_commits import loose, marks, page, urls
from sinks.test_warc import raw, responses
from support.repetitions import repetitions

PAGES = page_columns()


def _parts(folder: Path) -> list[str]:
    return [
        url
        for part in sorted(folder.glob("part-*.parquet"))
        for url in parquet.read_table(part)["url"].to_pylist()
    ]


def _loose(path: Path) -> list[str]:
    """Returns the keys of the rows whose field is in the column of its name or in `_extra`."""
    rows = list(csv.DictReader(path.read_text().splitlines(), strict=True))
    return [
        row["_key"]
        for row in rows
        if f"f{int(row['_key']) % 5}" in row["_extra"] or row[f"f{int(row['_key']) % 5}"] == row["_key"]
    ]


def _objects(folder: Path) -> list[str]:
    return [
        json.loads(line)["url"]
        for part in folder.glob("part-*.jsonl")
        for line in part.read_bytes().splitlines()
    ]


def _name(row: Row) -> str:
    return str(row.data["_key"] if isinstance(row.data, dict) else row.data.url)


Kind = tuple[str, Callable[[str], FileSink], Callable[[Path], list[str]], Callable[[int], Row]]
KINDS: list[Kind] = [
    ("o.jsonl", lambda path: JsonLines(path, owner="a@1"), urls, page),
    ("o.csv", lambda path: Csv(path, PAGES, owner="a@1"), urls, page),
    (
        "o.loose.csv",
        lambda path: Csv(path, None, owner="a@1"),
        _loose,
        lambda n: loose(n, **{f"f{n % 5}": n}),
    ),
    ("o.parquet", lambda path: Parquet(path, PAGES, owner="a@1", part_bytes=2000), _parts, page),
    ("o.warc.gz", lambda path: Warc(path, owner="a@1", most=900), responses, raw),
    ("objects", lambda path: Objects(path, owner="a@1", most=900), _objects, raw),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
@given(turns=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=20))
@settings(max_examples=repetitions(40), deadline=None)
def test_what_is_committed_is_there_once(kind: Kind, turns: Sequence[tuple[int, int, int]]) -> None:
    name, make, read, row = kind
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        if not marks(path.parent):
            return
        sinks, count = [make(str(path)) for _ in range(3)], 10
        commits: list[tuple[int, list[str]]] = [(sinks[0].prepare(), [])]
        for who, size, lost in turns:
            rows = [row(count + n) for n in range(size)]
            count += size
            length, done = commits[-1]
            commits.append((sinks[who].append(length, rows), [*done, *map(_name, rows)]))
            del commits[len(commits) - min(lost, len(commits) - 1) :]
        length, done = commits[-1]
        sinks[0].close(sinks[0].append(length, ()))
        assert sorted(read(path) if done else []) == sorted(done)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[3] is page], ids=lambda kind: kind[0])
def test_rows_as_long_as_those_that_were_lost_are_no_change_by_somebody_else(
    kind: Kind, tmp_path: Path
) -> None:
    name, make, read, row = kind
    if not marks(tmp_path):
        return
    one, other = (make(str(tmp_path / name)) for _ in range(2))
    base = one.append(one.prepare(), [row(1)])
    length = one.append(base, [row(2)])
    assert other.append(base, [row(3)]) == length
    one.close(one.append(length, [row(4)]))
    assert read(tmp_path / name) == [row(n).data.url for n in (1, 3, 4)]
