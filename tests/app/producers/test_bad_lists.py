"""Tests of faulty lists: truncated files, files that are still being written, invalid lines, endless
lines, and a standard input that stays silent."""

from __future__ import annotations

import gzip
import io
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.producers.feed_crawl import DRIVER, fed, listed, pending, small  # noqa: F401 - a fixture
from e2e.runs import begin, job, rows
from gossamer.app import producer_runner

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("name", ["list.txt", "list.txt.gz"])
async def test_a_last_line_that_is_being_written_is_read_again_when_it_is_whole(
    tmp_path: Path, name: str
) -> None:
    def write(text: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())

    urls = "".join(f"https://h{n % 5}.example/{n}\n" for n in range(30))
    one = job([str(tmp_path / name)], tmp_path)
    write(urls + "bad 1\nhttps://h1.example/half")
    assert (await fed(one))["added"] == 31
    write(urls + "bad 1\nhttps://h1.example/half/of\nhttps://h1.example/next\nbad 2")
    n = await fed(one)
    assert (n["added"], n["found"]) == (33, 33), "half, half/of, next"
    assert await fed(one) == n
    bad = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert [(one["line"], one["text"]) for one in bad] == [(31, "bad 1"), (34, "bad 2")]


async def test_bad_lines_that_come_again_are_rejected_once(tmp_path: Path) -> None:
    path = listed(
        tmp_path / "list.txt", [f"https://h.example/{n}" if n % 3 else f"bad {n}" for n in range(60)]
    )
    one = job([str(path)], tmp_path)
    whole = producer_runner.Feeder.keep
    # simulate a death after each batch, before the position of the batch is stored
    with pytest.MonkeyPatch.context() as patch:
        for n in range(3):
            patch.setattr(producer_runner.Feeder, "keep", _dying(whole, after=n))
            with pytest.raises(ConnectionAbortedError):
                await fed(one)
    n = await fed(one)
    assert (n["added"], n["found"]) == (40, 40)
    assert [one["line"] for one in rows(tmp_path / "data" / "c" / "rejected.jsonl")] == list(range(1, 61, 3))


def _dying(keep: Any, after: int) -> Any:
    """Return a `Feeder.keep` that stores `after` positions and then raises an error instead of storing the
    next one."""
    left = after + 1  # the first call only reports that the producer has started

    async def kept(self: Any, position: Any, *more: Any, **named: Any) -> None:
        nonlocal left
        if position is not None and (left := left - 1) <= 0:
            raise ConnectionAbortedError
        await keep(self, position, *more, **named)

    return kept


LONG = "https://a.example/" + "x" * 5000


@pytest.mark.parametrize("name", ["list.txt", "list.txt.gz", "-"])
async def test_a_line_that_is_too_long_is_one_bad_line(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an overlong line is cut, no part of the line is taken for a URL, and the following lines
    keep their line numbers."""
    for place in ("gossamer.app.list_files", "gossamer.app.producers.lines"):
        monkeypatch.setattr(f"{place}.MAX_LINE_BYTES", 1000)
    urls = [
        "https://a.example/1",
        LONG,
        "https://a.example/2",
        "https://b.example/ " * 400,
        "bad",
        "https://a.example/3",
        LONG,
    ]
    if name == "-":
        text = io.BytesIO("\n".join(urls).encode())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=text))
        target = name
    else:
        target = str(listed(tmp_path / name, urls))
    n = await fed(job([target], tmp_path))
    assert (n["added"], n["found"]) == (3, 3)
    bad = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert [(one["line"], one["reason"][:27]) for one in bad] == [
        (2, "the line has 1 MiB or more"),
        (4, "the line has 1 MiB or more"),
        (5, "'bad' is not an http(s) URL"),
        (7, "the line has 1 MiB or more"),
    ]


def test_a_signal_while_standard_input_says_nothing_is_a_graceful_stop(tmp_path: Path) -> None:
    words = ["crawl", "-", "--name", "c", "--data", str(tmp_path / "data"), "--scope", "page", "--quiet"]
    door = begin(words, DRIVER, stdin=subprocess.PIPE)
    assert door.stdin is not None
    door.stdin.write("https://nowhere.invalid/\n")
    door.stdin.flush()
    deadline = time.monotonic() + 30
    while pending(tmp_path / "data") < 1:
        assert door.poll() is None, door.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    door.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 20
    while door.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert door.returncode == 11
    assert "Fatal" not in door.communicate()[1]


def test_a_list_of_bad_lines_alone_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt.gz"
    path.write_bytes(gzip.compress(b"foo bar\nbaz\n"))
    door = begin(["crawl", str(path), "--name", "c", "--data", str(tmp_path / "data")], DRIVER)
    _, said = door.communicate(timeout=60)
    assert (door.returncode, "not one line of the targets is a request" in said) == (2, True), said


@pytest.mark.parametrize("name", ["list.csv", "list.csv.gz"])
async def test_a_long_table_is_read_by_its_column_and_goes_on_where_it_ended(
    tmp_path: Path, name: str
) -> None:
    def write(text: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())

    text = "n,url\n" + "".join(f"{n},https://h{n % 5}.example/{n}\n" for n in range(30))
    one = job([str(tmp_path / name)], tmp_path)
    write(text + '30,"https://h1.example/stray\n')
    assert (await fed(one))["added"] == 30
    write(text + '30,"https://h1.example/stray\n31,https://h1.example/next\n')
    assert (await fed(one))["added"] == 31
    assert [one["line"] for one in rows(tmp_path / "data" / "c" / "rejected.jsonl")] == [32]
