"""The log of appends identifies the bytes that the crawl wrote itself, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gossamer.errors import ConfigError, SinkError
from gossamer.sinks import append_log
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import ExactFile

ROWS = [b"".join(b"%d %d %s\n" % (batch, n, b"x" * 90) for n in range(100)) for batch in range(3)]


def made(folder: Path, *, store: str = "s", owner: str = "c@1", fresh: bool = False) -> ExactFile:
    log = AppendLog(folder / "appends.jsonl", owner, store, fresh=fresh)
    return ExactFile(str(folder / "out.jsonl"), owner=owner, log=log)


def written(folder: Path) -> list[int]:
    """Makes three appends and returns the length before them and after each of them."""
    file, lengths = made(folder), [made(folder).prepare()]
    for data in ROWS:
        lengths.append(file.append(lengths[-1], data))
    return lengths


@pytest.mark.parametrize("committed", [0, 1, 2])
@pytest.mark.parametrize("cut", [0, 1, 50, 4096, 9000])
def test_a_tail_of_ours_is_cut_wherever_a_kill_ended_it(tmp_path: Path, committed: int, cut: int) -> None:
    lengths = written(tmp_path)
    size = lengths[-1] - cut
    if cut == 4096:
        size -= size % 4096  # the kernel ends a write at a page boundary
    os.truncate(tmp_path / "out.jsonl", size)
    made(tmp_path).append(lengths[committed], b"")
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(ROWS[:committed])


@pytest.mark.parametrize("attributes", [True, False])
def test_an_output_that_its_store_forgot_is_refused(tmp_path: Path, attributes: bool) -> None:
    written(tmp_path)
    path = tmp_path / "out.jsonl"
    for name in () if attributes else os.listxattr(path):
        os.removexattr(path, name)
    with pytest.raises(SinkError, match="does not know"):
        made(tmp_path, store="t", owner="c@2").prepare()


def test_an_output_that_begins_like_another_one_is_no_copy_of_it(tmp_path: Path) -> None:
    """A pass with `--refresh` forgets the lengths, so both outputs are new to the store."""
    lengths = written(tmp_path)
    log = AppendLog(tmp_path / "appends.jsonl", "c@1", "s")
    other = ExactFile(str(tmp_path / "other.jsonl"), owner="c@1", log=log)
    other.append(other.prepare(), ROWS[0])
    again = ExactFile(str(tmp_path / "other.jsonl"), owner="c@2", log=log)
    assert again.find({str(tmp_path / "out.jsonl"): lengths[-1]}) is None
    moved = (tmp_path / "out.jsonl").rename(tmp_path / "moved.jsonl")
    there = ExactFile(str(moved), owner="c@1", log=log)
    assert there.find({str(tmp_path / "out.jsonl"): lengths[-1]}) == str(tmp_path / "out.jsonl")


@pytest.mark.parametrize("committed", [1, 2, 3])
@pytest.mark.parametrize("foreign", [b"theirs\n", b"theirs", b"\n", b"x" * 5000, ROWS[0]])
def test_a_tail_of_others_is_kept(tmp_path: Path, committed: int, foreign: bytes) -> None:
    lengths = written(tmp_path)
    path = tmp_path / "out.jsonl"
    path.write_bytes(path.read_bytes() + foreign)
    before = path.read_bytes()
    with pytest.raises(SinkError, match="they are kept"):
        made(tmp_path).append(lengths[committed], b"")
    assert path.read_bytes() == before


def test_what_others_write_between_look_and_write_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(tmp_path)
    length, real, path = file.append(file.prepare(), ROWS[0]), os.pwrite, tmp_path / "out.jsonl"

    def late(fd: int, data: bytes, offset: int) -> int:
        with open(path, "ab") as other:
            other.write(b"theirs\n")
        return real(fd, data, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", late)
        with pytest.raises(SinkError, match="at the same time"):
            file.append(length, ROWS[1])
    assert path.read_bytes() == ROWS[0] + b"theirs\n" + ROWS[1]


def test_a_store_that_lost_long_ago_is_no_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, length = made(tmp_path), made(tmp_path).prepare()
    for n, data in enumerate(ROWS):
        monkeypatch.setattr(append_log.time, "time", lambda n=n: 1e9 + 600 * n)
        length = file.append(length, data)
    with pytest.raises(SinkError, match="doctor --repair"):
        made(tmp_path).append(len(ROWS[0]), b"")


def test_another_store_is_noticed_unless_it_is_to_begin_anew(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(SinkError, match="gossamer doctor --repair c "):
        made(tmp_path, store="other", owner="c@2").prepare()
    # the same store, which has deleted the crawl
    assert made(tmp_path, owner="c@2").prepare() == len(b"".join(ROWS))
    assert made(tmp_path, store="other", owner="c@3", fresh=True).prepare() == len(b"".join(ROWS))


def test_an_append_after_the_log_was_removed_continues_the_file(tmp_path: Path) -> None:
    lengths = written(tmp_path)
    (tmp_path / "appends.jsonl").unlink()
    made(tmp_path).append(lengths[2], b"")
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(ROWS[:2])


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "appends.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError):
        made(tmp_path).prepare()
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_long_log_is_shortened_and_still_proves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append_log, "MAX_BYTES", 20_000)
    monkeypatch.setattr(append_log, "KEPT_BYTES", 5_000)
    file, lengths = made(tmp_path), [made(tmp_path).prepare()]
    for n in range(300):
        lengths.append(file.append(lengths[-1], b"%d\n" % n))
    assert (tmp_path / "appends.jsonl").stat().st_size < 21_000
    (tmp_path / "new").mkdir()
    os.rename(tmp_path / "out.jsonl", tmp_path / "new" / "out.jsonl")
    os.rename(tmp_path / "appends.jsonl", tmp_path / "new" / "appends.jsonl")
    moved = made(tmp_path / "new")
    assert moved.find({str(tmp_path / "out.jsonl"): lengths[-3]}) == str(tmp_path / "out.jsonl")
    moved.adopt(str(tmp_path / "out.jsonl"))
    moved.append(lengths[-3], b"")
    assert (tmp_path / "new" / "out.jsonl").stat().st_size == lengths[-3]


def test_a_fresh_start_says_that_it_appends_to_rows_of_earlier_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, fresh=True).prepare()
    written(tmp_path)
    assert capsys.readouterr().err == ""
    made(tmp_path, owner="c@3", fresh=True).prepare()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "out.jsonl has rows of earlier runs; this crawl appends its rows to them. -O overwrites the file"
    )
