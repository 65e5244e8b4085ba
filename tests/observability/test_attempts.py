"""The attempts log contains only whole lines, even if a writer is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.errors import DiskFull, SinkError
from gossamer.model.visit import Attempt
from gossamer.observability import attempts
from gossamer.observability.attempts import AttemptsLog
from support import fork_server

FIELDS = [
    "ts",
    "crawl",
    "url",
    "host",
    "attempt",
    "rung",
    "collector",
    "status",
    "outcome",
    "seconds",
    "bytes_wire",
    "bytes_decoded",
    "proxy",
    "session",
    "worker",
    "block",
    "credits",
    "error",
]


def attempt(n: int, **changes: Any) -> Attempt:
    fields: dict[str, Any] = {
        "ts": "2024-05-01T12:00:00Z",
        "crawl": "c",
        "url": f"http://a.test/{n}",
        "host": "a.test",
        "attempt": 0,
        "rung": "plain",
        "collector": "http",
        "status": 200,
        "outcome": "done",
        "seconds": 0.25,
        "bytes_wire": 10,
        "bytes_decoded": 20,
        "proxy": None,
        "session": None,
        "worker": "w",
        "block": None,
        "credits": None,
        "error": None,
    }
    return Attempt(**{**fields, **changes})


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_line_is_the_record_of_the_contract(tmp_path: Path) -> None:
    log = AttemptsLog(tmp_path / "attempts.jsonl")
    log.write([attempt(1, error="Ünïcode\n"), attempt(2)])
    log.write([])
    log.close()
    first, second = read(tmp_path / "attempts.jsonl")
    assert list(first) == FIELDS
    assert first == msgspec.to_builtins(attempt(1, error="Ünïcode\n"))
    assert second["url"] == "http://a.test/2"


@pytest.mark.parametrize("broken", [b'{"ts":"2024', b"x" * 200_000])
def test_a_broken_tail_is_cut(broken: bytes, tmp_path: Path) -> None:
    path = tmp_path / "attempts.jsonl"
    log = AttemptsLog(path)
    log.write([attempt(1), attempt(2)])
    with path.open("ab") as file:
        file.write(broken)
    log.write([attempt(3)])  # another process was killed in the middle of a line
    with path.open("ab") as file:
        file.write(broken)
    AttemptsLog(path).write([attempt(4)])
    assert [row["url"][-1] for row in read(path)] == ["1", "2", "3", "4"]


def test_a_file_that_is_one_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(b"x" * 100_000)
    AttemptsLog(path).write([attempt(1)])
    assert len(read(path)) == 1


def test_processes_share_it_and_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "attempts.jsonl"
    code = (
        "import sys; sys.path.insert(0, sys.argv[3]); from observability.test_attempts import attempt;"
        "from gossamer.observability.attempts import AttemptsLog\n"
        "log = AttemptsLog(sys.argv[1]); n = 0\n"
        "while sys.argv[2] == 'endless' or n < 40:\n"
        "    log.write([attempt(n, error='x' * 3000) for n in range(50)]); n += 1\n"
        "    if n == 3: print('going', flush=True)"
    )
    tests = str(Path(__file__).parents[1])

    def start(how: str) -> subprocess.Popen[bytes]:
        return fork_server.Popen([sys.executable, "-c", code, str(path), how, tests], stdout=subprocess.PIPE)

    with start("endless") as victim, start("some") as other:
        assert victim.stdout is not None
        victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        assert other.wait(60) == 0
        assert victim.wait(60) == -9
    AttemptsLog(path).write([attempt(1)])
    assert len(read(path)) >= 40 * 50 + 3 * 50 + 1  # each line is whole, otherwise json would raise an error


def test_a_log_with_a_limit_keeps_the_newest_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MIN_LIMIT_BYTES", 8000)
    path = tmp_path / "attempts.jsonl"
    logs = [AttemptsLog(path, limit=1), AttemptsLog(path, limit=1)]
    logs[0].write([attempt(0)])
    reader = path.open("rb")
    for number in range(1, 200):  # the log that did not shorten the file opens the new file
        logs[number % 2].write([attempt(number)])
        assert path.stat().st_size <= 8000
    numbers = [int(row["url"].rpartition("/")[2]) for row in read(path)]
    assert numbers == list(range(numbers[0], 200)), "no line is lost between the oldest and the newest"
    assert len(numbers) >= 5
    assert b"/0" in reader.readline(), "a reader keeps its file"
    reader.close()
    assert [one.name for one in tmp_path.iterdir()] == ["attempts.jsonl"]


def test_a_log_stays_whole_if_it_cannot_be_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MIN_LIMIT_BYTES", 1000)
    path = tmp_path / "attempts.jsonl"
    log = AttemptsLog(path, limit=1)
    (tmp_path / "attempts.jsonl.new").mkdir()  # a folder where the new file would be written
    for number in range(20):
        log.write([attempt(number)])
    assert len(read(path)) == 20
    (tmp_path / "attempts.jsonl.new").rmdir()
    log.write([attempt(20)])
    assert 0 < len(read(path)) < 20


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "attempts.jsonl"
    log = AttemptsLog(path)
    log.write([attempt(1)])
    real, calls = os.write, []

    def full(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data)[:10])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(DiskFull, match=r"attempts\.jsonl"):
            log.write([attempt(2), attempt(3)])
    assert len(read(path)) == 1
    log.write([attempt(2)])
    assert len(read(path)) == 2


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="cannot write"):
        AttemptsLog(tmp_path / "none" / "attempts.jsonl").write([attempt(1)])
