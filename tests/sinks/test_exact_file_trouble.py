"""Plain files under bad conditions: changed by other programs, a full disk, and paths that cannot be
written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.errors import DiskFull, GossamerError, SinkError, UsageError
from gossamer.model.interfaces import FileSink
from gossamer.sinks.crash_safe_file import ExactFile, Mark, read_mark
from gossamer.sinks.jsonl import JsonLines
from sinks.rows_and_commits import ROWS, URLS, jsonl, marks, page, urls
from support import fork_server


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


@pytest.mark.parametrize(
    "change", [shorten, replace, edit, shift, Path.unlink], ids=lambda change: change.__name__
)
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
    assert (path.read_bytes() if path.exists() else None) == before  # the foreign file is unchanged


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
        sink.append(0, ROWS[:1])  # prepared, but the store lost the length
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
def test_a_full_disk_leaves_nothing_half_written(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    sink, length = begun(path)
    real, calls = os.pwrite, []

    def full(fd: int, data: bytes, offset: int) -> int:
        calls.append(offset)
        if len(calls) > 1:
            raise OSError(code, os.strerror(code))
        return real(fd, bytes(data)[:10], offset)  # a part of the data still fits

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
        "import resource, sys; sys.path.insert(0, sys.argv[2]); from sinks.rows_and_commits import jsonl, urls, marks, URLS, ROWS, page;"
        "from gossamer.errors import DiskFull; from gossamer.sinks.jsonl import JsonLines;"
        "sink = JsonLines(sys.argv[1]); length = sink.append(sink.prepare(), [page(0)]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (length + 100, length + 100));\n"
        "try: sink.append(length, [page(1)])\n"
        "except DiskFull: print(length)"
    )
    path = tmp_path / "out"
    run = fork_server.run(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])],
        stdout=subprocess.PIPE,
        check=True,
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
def test_a_place_that_cannot_be_written_is_said_before_the_crawl(
    where: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = where(tmp_path)
    with pytest.raises(UsageError, match=str(path)):
        jsonl(path).prepare()


def test_a_refused_file_is_a_sink_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # patched, because root may write anywhere
    with pytest.raises(SinkError, match="Permission denied"):
        jsonl(tmp_path / "out").prepare()


def test_data_is_on_the_disk_before_the_length_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
