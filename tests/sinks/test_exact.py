"""Plain files stay exact: killed anywhere, cut again, full disks, foreign hands."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.errors import DiskFull, GossamerError, SinkError, UsageError
from gossamer.parts import FileSink
from gossamer.sinks.columns import page_columns
from gossamer.sinks.csv import Csv
from gossamer.sinks.exact import ExactFile, Mark, read_mark
from gossamer.sinks.jsonl import JsonLines
from sinks.made import Died, Store, crawl, dying, page

ROWS = [page(n) for n in range(7)]
URLS = [row.data.url for row in ROWS]
Make = Callable[[Path], FileSink]


def jsonl(path: Path) -> FileSink:
    return JsonLines(str(path), owner="crawl@1")


def table(path: Path) -> FileSink:
    return Csv(str(path), page_columns(), owner="crawl@1")


def urls(path: Path) -> list[str]:
    """The URLs of a finished output; raises when a line is broken."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    if data.startswith(b"{"):
        return [json.loads(line)["url"] for line in data.splitlines()]
    return [row["url"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True)]


def marks(folder: Path) -> bool:
    """Whether this file system can hold the owner's mark."""
    probe = folder / "probe"
    probe.touch()
    with probe.open() as file:
        return read_mark(file.fileno()) is not None


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
    assert died > 12  # prepare, four batches of writing, syncing and settling


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
        "import os, sys; sys.path.insert(0, sys.argv[2]); from sinks.made import page;"
        "from gossamer.sinks.jsonl import JsonLines;"
        "sink = JsonLines(sys.argv[1], owner='crawl@1'); sink.prepare();"
        "length = sink.append(0, [page(0)]); print(length, flush=True);"
        "sink.append(length, [page(1)]); os.kill(os.getpid(), 9)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])], stdout=subprocess.PIPE, check=False
    )
    assert run.returncode == -9
    assert len(urls(path)) == 2  # the tail is there, and does not count
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
    length = two.append(length, [page(9)])  # the other still writes
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
    again = JsonLines(str(path), overwrite=True)  # a resumed crawl prepares nothing
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


def begun(path: Path) -> tuple[FileSink, int]:
    sink = jsonl(path)
    return sink, sink.append(sink.prepare(), ROWS[:3])


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def replace(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def edit(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-20] + b"x" + data[-19:])


def shift(path: Path) -> None:
    path.write_bytes(b"a line more\n" + path.read_bytes())


@pytest.mark.parametrize("change", [shorten, replace, edit, shift, Path.unlink], ids=lambda change: change.__name__)
def test_a_file_that_somebody_changed_is_exit_20(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink, length = begun(path)
    change(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(SinkError) as raised:
        sink.append(length, ROWS[3:])
    assert raised.value.exit_code == 20
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert (path.read_bytes() if path.exists() else None) == before  # and nothing of theirs was touched


@pytest.mark.parametrize("change", [shorten, shift, Path.unlink], ids=lambda change: change.__name__)
def test_a_change_while_nobody_ran_is_seen_on_resume(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink, length = begun(path)
    sink.close(length)
    change(path)
    with pytest.raises(SinkError):
        jsonl(path).append(length, ())


def test_lines_added_after_the_end_are_not_cut(tmp_path: Path) -> None:
    if not marks(tmp_path):
        return
    path = tmp_path / "out"
    sink, length = begun(path)
    sink.close(length)
    with path.open("ab") as file:
        file.write(b"mine\n")
    with pytest.raises(SinkError, match="has grown by 5 bytes"):
        jsonl(path).append(length, ())
    assert path.read_bytes().endswith(b"mine\n")


def test_rows_of_another_crawl_are_not_cut(tmp_path: Path) -> None:
    if not marks(tmp_path):
        return
    path = tmp_path / "out"
    sink, length = begun(path)
    other = JsonLines(str(path), owner="other@1")
    longer = other.append(other.prepare(), [page(9)])
    for first in (sink, jsonl(path)):  # while both run, and after a restart
        with pytest.raises(SinkError, match="another crawl"):
            first.append(length, ROWS[3:])
    assert urls(path) == [*URLS[:3], "http://a.test/9"]
    assert other.append(longer, ()) == longer


def test_what_stood_before_the_crawl_is_never_cut(tmp_path: Path) -> None:
    if not marks(tmp_path):
        return
    path = tmp_path / "out"
    path.write_bytes(b'{"url": "old"}\n')
    with pytest.raises(SinkError, match="before this crawl"):
        jsonl(path).append(0, ROWS[:1])  # never prepared
    sink = jsonl(path)
    sink.prepare()
    with pytest.raises(SinkError, match="before this crawl"):
        sink.append(0, ROWS[:1])  # prepared, but the length was not kept
    assert path.read_bytes() == b'{"url": "old"}\n'


def test_mark_names_owner_base_and_end(tmp_path: Path) -> None:
    if not marks(tmp_path):
        return
    path = tmp_path / "out"
    path.write_bytes(b"old\n")
    sink = ExactFile(str(path), owner="a crawl@1")
    length = sink.append(sink.prepare(), b"new\n")
    with path.open() as file:
        assert read_mark(file.fileno()) == Mark("a_crawl@1", 4)
        sink.close(length)
        assert read_mark(file.fileno()) == Mark("a_crawl@1", 4, 8)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing_half_written(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    sink, length = begun(path)
    real, calls = os.pwrite, []

    def full(fd: int, data: bytes, offset: int) -> int:
        calls.append(offset)
        if len(calls) > 1:
            raise OSError(code, os.strerror(code))
        return real(fd, bytes(data)[:10], offset)  # some of it still fits

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(DiskFull, match=str(path)) as raised:
            sink.append(length, ROWS[3:])
    assert raised.value.exit_code == 16
    assert path.stat().st_size == length
    sink.append(length, ROWS[3:])  # room again
    assert urls(path) == URLS


def test_a_real_limit_on_the_file_is_a_full_disk(tmp_path: Path) -> None:
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[2]); from sinks.made import page;"
        "from gossamer.errors import DiskFull; from gossamer.sinks.jsonl import JsonLines;"
        "sink = JsonLines(sys.argv[1]); length = sink.append(sink.prepare(), [page(0)]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (length + 100, length + 100));\n"
        "try: sink.append(length, [page(1)])\n"
        "except DiskFull: print(length)"
    )
    path = tmp_path / "out"
    run = subprocess.run(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])], stdout=subprocess.PIPE, check=True
    )
    assert int(run.stdout) == path.stat().st_size


def no_folder(at: Path) -> Path:
    return at / "none" / "out"


def a_folder(at: Path) -> Path:
    return at


def a_pipe(at: Path) -> Path:
    os.mkfifo(at / "pipe")
    return at / "pipe"


@pytest.mark.parametrize("where", [no_folder, a_folder, a_pipe])
def test_a_place_that_cannot_be_written_is_said_before_the_crawl(where: Callable[[Path], Path], tmp_path: Path) -> None:
    path = where(tmp_path)
    with pytest.raises(UsageError, match=str(path)):
        jsonl(path).prepare()


def test_a_refused_file_is_a_sink_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # root may write anywhere
    with pytest.raises(SinkError, match="Permission denied"):
        jsonl(tmp_path / "out").prepare()


def test_data_is_on_the_disk_before_the_length_is_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, length = begun(tmp_path / "out")
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size), raising=False)
    assert [sink.append(length, ROWS[3:])] == synced


def test_a_failed_sync_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, length = begun(tmp_path / "out")

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail, raising=False)
    with pytest.raises(GossamerError) as raised:
        sink.append(length, ROWS[3:])
    assert raised.value.exit_code == 20
