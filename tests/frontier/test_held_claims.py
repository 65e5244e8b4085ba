"""Ledgers of claims. The claims of a dead process are reported to the process that replaces it, and a live or
frozen process is never taken for dead."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gossamer.frontier import held_claims
from gossamer.frontier.held_claims import HeldClaims

OTHER = """
import sys, types; from pathlib import Path; from gossamer.frontier.held_claims import HeldClaims
book = HeldClaims(Path(sys.argv[1]), "other")
book.open()
book.note([types.SimpleNamespace(bucket=3, token=10**15), types.SimpleNamespace(bucket=3, token=7)], ())
print("noted", flush=True)
sys.stdin.read()
"""


def claims(*names: tuple[int, int]) -> Any:
    return [SimpleNamespace(bucket=bucket, token=token) for bucket, token in names]


def dead(book: HeldClaims) -> dict[int, list[int]]:
    with book.of_dead() as found:
        return found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", OTHER, str(tmp_path)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "noted\n"
    yield process
    process.kill()
    process.communicate()


def test_only_the_dead_are_read(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    mine = HeldClaims(tmp_path, "mine")
    mine.open()
    mine.note(claims((1, 2)), ())
    assert dead(mine) == {}
    other.send_signal(signal.SIGSTOP)
    assert dead(mine) == {}
    other.kill()
    other.wait()
    assert dead(mine) == {3: [10**15, 7]}
    assert dead(mine) == {}
    mine.close()


def test_what_failed_is_told_again(tmp_path: Path) -> None:
    gone = HeldClaims(tmp_path, "gone")
    gone.open()
    gone.note(claims((1, 2)), ())
    gone.close()
    mine = HeldClaims(tmp_path, "mine")

    def fails() -> None:
        with mine.of_dead():
            raise OSError

    with pytest.raises(OSError):
        fails()
    assert dead(mine) == {1: [2]}


def test_another_start_of_the_machine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = HeldClaims(tmp_path, "gone")
    gone.open()
    gone.note(claims((1, 2)), ())
    gone.close()
    monkeypatch.setattr(held_claims, "_boot", lambda: "other")
    assert dead(HeldClaims(tmp_path, "mine")) == {}


def test_it_stays_small_and_ends_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_claims, "MAX_NEW_ENTRIES", 10)
    book = HeldClaims(tmp_path, "mine")
    book.open()
    for token in range(25):
        book.note(claims((1, token)), [(1, token)])
    (file,) = tmp_path.glob("held-*")
    assert file.stat().st_size <= 11 * 16
    book.keep([])
    book.close()
    assert list(tmp_path.iterdir()) == []
