"""The append-only files of the embedded store. The valid part is kept, and a broken part is found and cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.errors import StoreError
from gossamer.store.append_only import FOLDER, MANIFEST, check_files, find_faults, mend_files, whole_commands

BASE, INCREMENT = "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"


def said(*words: str) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)


ONE, TWO = said("SET", "a", "1"), said("HSET", "gossamer", "id", "x" * 500)
MANY = said("MULTI") + ONE + TWO + said("EXEC")


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"", 0),
        (ONE + TWO, len(ONE + TWO)),
        (ONE + TWO[:-1], len(ONE)),
        (ONE + MANY[:-3], len(ONE)),
        (ONE + MANY, len(ONE + MANY)),
        (ONE + bytes(4096), len(ONE)),
        (b"#TS:1700000000\r\n" + ONE, len(b"#TS:1700000000\r\n" + ONE)),
        (ONE + b"*3\r\n$3\r\nSET\r\n$9999999999\r\nx", len(ONE)),
        (ONE.replace(b"*3", b"*\xb3") + TWO, 0),
        (ONE + b"*1000000000\r\n", len(ONE)),
    ],
)
def test_whole_commands_are_counted(tmp_path: Path, data: bytes, whole: int) -> None:
    (tmp_path / "a").write_bytes(data)
    assert whole_commands(tmp_path / "a") == whole


def test_a_torn_increment_is_cut_and_a_missing_manifest_is_written(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / BASE).write_bytes(b"REDIS")
    (folder / INCREMENT).write_bytes(ONE + TWO[:20])
    with pytest.raises(StoreError, match="doctor --repair"):
        check_files(tmp_path, served=False)
    assert len(find_faults(tmp_path)) == 2
    mend_files(tmp_path)
    assert (folder / INCREMENT).read_bytes() == ONE
    assert (folder / MANIFEST).read_text() == f"file {BASE} seq 1 type b\nfile {INCREMENT} seq 1 type i\n"
    assert find_faults(tmp_path) == []
    check_files(tmp_path, served=False)


def test_a_store_that_was_never_made_is_no_fault(tmp_path: Path) -> None:
    check_files(tmp_path, served=False)
    assert find_faults(tmp_path) == []
