"""Plain files stay exact when a writer is killed at any point, when a tail is cut, and when processes share a
file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model.interfaces import FileSink
from gossamer.sinks.columns import page_columns
from gossamer.sinks.csv import Csv
from gossamer.sinks.jsonl import JsonLines
from sinks.rows_and_commits import ROWS, URLS, Died, Store, crawl, dying, jsonl, page, urls
from support import fork_server

Make = Callable[[Path], FileSink]


def table(path: Path) -> FileSink:
    return Csv(str(path), page_columns(), owner="crawl@1")


@pytest.mark.parametrize("make", [jsonl, table])
def test_killed_at_every_step_nothing_is_lost_or_twice(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = 0
    for at in range(1, 100):
        path, store = tmp_path / f"out{at}", Store()
        with dying(at, monkeypatch):
            try:
                crawl(make(path), store, ROWS)
            except Died:
                died += 1
            else:
                break
        crawl(make(path), store, ROWS)
        assert urls(path) == URLS, at
    assert died > 12  # prepare, and four batches with a write, an fsync and a settle


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_store_that_lost_its_last_commits_is_followed_back(
    lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(8, 20):
        path, store = tmp_path / f"out{at}", Store()
        with dying(at, monkeypatch), pytest.raises(Died):
            crawl(jsonl(path), store, ROWS, size=1)
        store.lose(lost)
        crawl(jsonl(path), store, ROWS)
        assert sorted(urls(path)) == URLS


def test_a_real_kill_between_write_and_settle(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[2]); from sinks.rows_and_commits import jsonl, urls, marks, URLS, ROWS, page;"
        "from gossamer.sinks.jsonl import JsonLines;"
        "sink = JsonLines(sys.argv[1], owner='crawl@1'); sink.prepare();"
        "length = sink.append(0, [page(0)]); print(length, flush=True);"
        "sink.append(length, [page(1)]); os.kill(os.getpid(), 9)"
    )
    run = fork_server.run(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])],
        stdout=subprocess.PIPE,
        check=False,
    )
    assert run.returncode == -9
    assert len(urls(path)) == 2  # the uncommitted tail is in the file, but does not count
    sink, length = jsonl(path), int(run.stdout)
    length = sink.append(length, [page(2), page(3)])
    assert urls(path) == [URLS[0], URLS[2], URLS[3]]
    assert length == path.stat().st_size


def test_rows_with_stale_tokens_are_cut_and_the_rest_written_again(tmp_path: Path) -> None:
    sink = jsonl(tmp_path / "out")
    base = sink.prepare()
    first = sink.append(base, ROWS[:2])
    sink.append(first, ROWS[2:5])
    last = sink.append(first, [ROWS[2], ROWS[4]])
    sink.close(last)
    assert urls(tmp_path / "out") == [*URLS[:3], URLS[4]]


def test_two_processes_in_turn_share_one_file(tmp_path: Path) -> None:
    one, two = jsonl(tmp_path / "out"), jsonl(tmp_path / "out")
    length = one.prepare()
    for n, row in enumerate(ROWS):
        length = (one, two)[n % 2].append(length, [row])
    one.close(length)
    length = two.append(length, [page(9)])  # the other process still writes
    two.close(length)
    assert urls(tmp_path / "out") == [*URLS, "http://a.test/9"]


def test_append_keeps_what_stood_there_and_ends_its_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b'{"url": "old"}\n{"url": "brok')
    sink = jsonl(path)
    base = sink.prepare()
    assert path.read_bytes() == b'{"url": "old"}\n{"url": "brok\n'
    assert base == path.stat().st_size
    sink.append(base, ROWS[:1])
    assert path.read_bytes().startswith(b'{"url": "old"}\n{"url": "brok\n{')


def test_overwrite_empties(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old\n")
    sink = JsonLines(str(path), overwrite=True)
    assert sink.prepare() == 0
    assert path.read_bytes() == b""
    sink.append(0, ROWS[:1])
    again = JsonLines(str(path), overwrite=True)  # a resumed crawl does not call prepare
    again.append(path.stat().st_size, ROWS[1:2])
    assert urls(path) == URLS[:2]


def test_an_uncommitted_tail_is_cut_when_opened_and_when_closed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = jsonl(path)
    length = sink.append(sink.prepare(), ROWS[:2])
    sink.append(length, ROWS[2:])
    assert jsonl(path).append(length, ()) == length == path.stat().st_size
    sink.append(length, ROWS[2:])
    sink.close(length)
    assert path.stat().st_size == length
