"""A copy of an output that is older than the crawl's store is refused, although it has enough bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gossamer.errors import SinkError
from gossamer.model.interfaces import FileSink
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.columns import page_columns
from gossamer.sinks.csv import Csv
from gossamer.sinks.journal import open_journal
from gossamer.sinks.json_array import JsonArray
from gossamer.sinks.jsonl import JsonLines
from gossamer.sinks.parquet import Parquet
from gossamer.sinks.sink_url import SinkUrl
from sinks.rows_and_commits import page

ENDINGS = ("jsonl", "csv", "json", "parquet")


def opened(folder: Path, ending: str) -> FileSink:
    """Returns the sink that a new process of the crawl opens."""
    path, log = f"{folder}/out.{ending}", AppendLog(folder / "appends.jsonl", "c@1", "s")
    match ending:
        case "jsonl":
            return JsonLines(path, owner="c@1", log=log)
        case "csv":
            return Csv(path, page_columns(), owner="c@1", log=log)
        case "json":
            return JsonArray(path, owner="c@1", log=log)
    return Parquet(path, page_columns(), owner="c@1", log=log, keep=0)


def copied(old: Path, new: Path) -> None:
    """Copies a file or a folder over the target."""
    if old.is_dir():
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(old, new)
    else:
        shutil.copy(old, new)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("ending", ENDINGS)
def test_uncommitted_rows_in_place_of_the_committed_ones_are_noticed(
    tmp_path: Path, ending: str, more: int
) -> None:
    """The copy is made after a kill. The uncommitted rows are as long as those that the next process commits
    in their place, or longer by one byte."""
    out = tmp_path / f"out.{ending}"
    first = opened(tmp_path, ending)
    length = first.append(first.prepare(), [page(1)])
    first.append(length, [page(2, title="Page 2" + "!" * more)])
    copied(out, tmp_path / "older")
    last = opened(tmp_path, ending).append(length, [page(3)])
    opened(tmp_path, ending).append(last, ())
    copied(tmp_path / "older", out)
    with pytest.raises(SinkError, match="doctor --repair"):
        opened(tmp_path, ending).append(last, ())


def test_an_older_part_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    """The store loses the commits of a part, so the part is written again with the rows of the next visits."""
    out, first = tmp_path / "out.parquet", opened(tmp_path, "parquet")
    base = first.prepare()
    first.close(first.append(base, [page(1)]))
    copied(out, tmp_path / "older")
    second = opened(tmp_path, "parquet")
    length = second.append(base, [page(2)])
    second.close(length)
    opened(tmp_path, "parquet").append(length, ())
    copied(tmp_path / "older", out)
    with pytest.raises(SinkError, match="doctor --repair"):
        opened(tmp_path, "parquet").append(length, ())


@pytest.mark.parametrize("more", [0, 1, -1])
def test_an_older_journal_of_rows_that_wait_is_noticed(tmp_path: Path, valkey_url: str, more: int) -> None:
    """Rows of a store are sent from a journal. The uncommitted rows of the older journal are as long as the
    committed ones, longer or shorter."""
    given = {"list": "pages", "journal": f"{tmp_path}/out"}
    place = SinkUrl("valkey", valkey_url, given, "valkey://h/0?list=pages")

    def append(committed: int, *rows: Row) -> int:
        log = AppendLog(tmp_path / "appends.jsonl", "c@1", "s")
        journal = open_journal(place, lambda *_: None, owner="c@1", folder=str(tmp_path), log=log)
        try:
            return journal.append(committed or journal.prepare(), rows)
        finally:
            journal.drop()

    length = append(0, page(1))
    append(length, page(2, title="Page 2" + "!" * (1 + more)))
    copied(tmp_path / "out", tmp_path / "older")
    last = append(length, page(3, title="Page 3!"))
    append(last)
    copied(tmp_path / "older", tmp_path / "out")
    with pytest.raises(SinkError, match="older than its crawl"):
        append(last)
