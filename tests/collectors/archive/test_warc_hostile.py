"""Tests of WARC files that are made to slow the reader down. Whatever the layout of the records, the
reader's work is limited by the size of the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gossamer.collectors.archive import warc
from gossamer.collectors.archive.warc import Stream, WarcArchive

GOOD = (
    b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://e.com/%d\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 4\r\n\r\ngood\r\n\r\n"
)
FALSE = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 999999999999999999\r\n\r\n"


class Counting(Stream):
    """Counts the calls of `take` and the bytes that they return, because these calls are the costly part."""

    taken = 0
    pieces = 0

    def take(self, count: int) -> bytes:
        Counting.pieces += 1
        out = super().take(count)
        Counting.taken += len(out)
        return out


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setattr(warc, "Stream", Counting)
    Counting.taken = Counting.pieces = 0
    return Counting


@pytest.mark.parametrize("packed", [True, False])
def test_millions_of_empty_lines_are_passed_at_once(
    packed: bool, tmp_path: Path, counted: type[Counting]
) -> None:
    data = GOOD % 1 + b"\r\n" * 4_000_000 + GOOD % 2 + b"\n" * 300_000
    path = tmp_path / "a.warc"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    found = WarcArchive(path)
    assert found.urls() == ["http://e.com/1", "http://e.com/2"]
    assert [kept.body for url in found.urls() if (kept := found.find(url, 100))] == [b"good", b"good"]
    found.close()
    assert counted.pieces < 1000


def test_false_lengths_are_not_read_to_the_end_of_the_file(tmp_path: Path, counted: type[Counting]) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(FALSE + b"\r\n" + GOOD % n for n in range(1000)))
    found = WarcArchive(path)
    assert len(found.urls()) == 1000
    assert all((kept := found.find(url, 100)) is not None and kept.body == b"good" for url in found.urls())
    assert len(found.skipped) == 1000
    assert "cut off" in found.skipped[0]
    found.close()
    assert counted.taken < 1_000_000


def test_long_records_of_a_plain_file_are_passed_over_unread(tmp_path: Path, counted: type[Counting]) -> None:
    long = (
        b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 3000000\r\n\r\n" + bytes(3_000_000) + b"\r\n\r\n"
    )
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(GOOD % n + long for n in range(5)) + long[:-1000])
    found = WarcArchive(path)
    assert len(found.urls()) == 5
    assert len(found.skipped) == 1
    found.close()
    assert counted.taken < 10_000
