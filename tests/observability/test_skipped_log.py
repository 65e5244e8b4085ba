"""The file of skipped URLs: bounded, shared by processes, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.errors import SinkError
from gossamer.model.visit import SkippedUrl
from gossamer.observability.skipped_log import FULL, NAME, SkippedLog, skipped_urls


def row(n: int) -> SkippedUrl:
    return SkippedUrl(f"http://a.example/{n}", "depth", "deeper than --depth 1", 2, "http://a.example/")


def urls(folder: Path) -> list[str]:
    return [one["url"].rpartition("/")[2] for one in skipped_urls(folder)]


def test_a_full_file_ends_with_a_line_that_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    log = SkippedLog(tmp_path / NAME, 1000, lambda: told.append("full"))
    log.write([row(n) for n in range(3)])
    assert (log.is_full, told) == (False, [])
    log.write([row(n) for n in range(3, 100)])
    log.write([row(100)])
    data = (tmp_path / NAME).read_bytes()
    assert (log.is_full, told, data.endswith(FULL), len(data) <= 1000) == (True, ["full"], True, True)
    found = urls(tmp_path)
    assert found == [str(n) for n in range(len(found))]
    assert len(found) > 3


def test_a_second_process_sees_that_the_file_is_full(tmp_path: Path) -> None:
    first, second = SkippedLog(tmp_path / NAME, 500), SkippedLog(tmp_path / NAME, 500)
    first.write([row(n) for n in range(9)])
    before = (tmp_path / NAME).read_bytes()
    second.write([row(n) for n in range(9, 18)])
    assert second.is_full
    assert (tmp_path / NAME).read_bytes() == before
    assert before.count(FULL) == 1


def test_a_larger_limit_continues_a_full_file(tmp_path: Path) -> None:
    SkippedLog(tmp_path / NAME, 500).write([row(n) for n in range(9)])
    few = len(urls(tmp_path))
    more = SkippedLog(tmp_path / NAME, 100_000)
    more.write([row(n) for n in range(9)])
    assert not more.is_full
    assert FULL not in (tmp_path / NAME).read_bytes()
    assert few < len(urls(tmp_path)) == 9


def test_each_url_is_read_once_and_damage_is_left_out(tmp_path: Path) -> None:
    log = SkippedLog(tmp_path / NAME, 10_000)
    log.write([row(1), row(2)])
    log.close()
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'\x00junk\n{"no": "url"}\n{"url":"http://a.example/3","rea')
    SkippedLog(tmp_path / NAME, 10_000).write([row(2), row(4)])
    assert urls(tmp_path) == ["1", "2", "4"]


def test_secrets_are_masked(tmp_path: Path) -> None:
    one = SkippedUrl("http://joe:pw@a.example/?api_key=abc", "filter", "x", 1, "http://joe:pw@a.example/")
    SkippedLog(tmp_path / NAME, 10_000).write([one])
    text = (tmp_path / NAME).read_text()
    assert "pw" not in text
    assert "abc" not in text


def test_a_file_that_cannot_be_written_is_an_error_of_the_sink(tmp_path: Path) -> None:
    with pytest.raises(SinkError):
        SkippedLog(tmp_path / "none" / NAME, 1000).write([row(1)])
